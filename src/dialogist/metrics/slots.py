"""Slot values of a summary beside the true dialogue state: whether facts are right and complete.

For data with a state (TODSum, Zhao et al. 2021: ``dst_str``). Precision is the share of the
summary's slot values that the state holds, in the same domain where the sentence names one; recall
the share of the state's values that the summary mentions. ``dont care`` binds nobody: such a slot
counts for neither. An empty value is none.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dialogist.metrics.base import Case, Column, Floats, percentage, ratio
from dialogist.metrics.slot_mentions import TIMES, Mention, mentions_of, normalised
from dialogist.records import JSON

STATE = "dst_str"
"""Where a dialogue's metadata keep the state."""

_ACT = re.compile(r"\w+ \( (.*) \)")
_ANY = frozenset(("dontcare", "do nt care", "dont care"))
# What is said of a place beside its name, or left out.
_GENERIC = re.compile(r"\b(?:the|restaurant|hotel|guest ?house|attraction)\b")
_NAMED = frozenset(("name", "departure", "destination", "type"))


def _f1(sums: Floats) -> Floats:
    """(R, 4) -> (R,) from the numbers of precision, then those of recall."""
    precision, recall = percentage(sums[:, :2]), percentage(sums[:, 2:])
    return ratio(np.stack([2 * precision * recall, precision + recall], axis=1))


def state_of(metadata: Mapping[str, JSON]) -> tuple[Mention, ...] | None:
    """The values of a dialogue's state, ``dont care`` among them; None where there is none.

    The form is TODSum's: ``{"hotel": ["book ( people = 3 ; day = monday )", ...], ...}``.
    """
    state = metadata.get(STATE)
    if not isinstance(state, dict):
        return None
    return tuple(dict.fromkeys(_values(state)))


def _values(state: Mapping[str, JSON]) -> Iterator[Mention]:
    for domain, acts in state.items():
        for act in acts if isinstance(acts, list) else ():
            form = _ACT.fullmatch(act) if isinstance(act, str) else None
            for part in form[1].split(" ; ") if form else ():
                slot, _, value = part.partition(" = ")
                if value.strip():
                    yield Mention(domain, slot.strip(), normalised(slot.strip(), value))


@dataclass(frozen=True, slots=True)
class Compared:
    """A summary beside a state.

    ``right`` and ``wrong``: mentions that the state holds, and that it does not. ``found`` and
    ``missing``: values of the state that the summary mentions, and that it does not.
    """

    right: tuple[Mention, ...]
    wrong: tuple[Mention, ...]
    found: tuple[Mention, ...]
    missing: tuple[Mention, ...]


def compared(summary: str, state: Sequence[Mention]) -> Compared:
    """Which values are right, wrong, found and missing."""
    free = [one for one in state if one.value in _ANY]
    wanted = [one for one in state if one.value not in _ANY]
    mentions = [one for one in mentions_of(summary) if not any(_same_slot(one, f) for f in free)]
    right = [one for one in mentions if any(_same(one, true) for true in wanted)]
    text = _core(summary)
    found = []
    for true in wanted:
        if any(_same(one, true) for one in right):
            found.append(true)
        elif true.slot in _NAMED and f" {_core(true.value).strip()} " in text:
            found.append(true)
            right.append(true)
    return Compared(
        tuple(right),
        tuple(one for one in mentions if one not in right),
        tuple(found),
        tuple(true for true in wanted if true not in found),
    )


def _same_slot(mention: Mention, true: Mention) -> bool:
    if mention.domain and mention.domain != true.domain:
        return False
    either = {mention.slot, true.slot}
    return len(either) == 1 or ("time" in either and either <= TIMES)


def _same(mention: Mention, true: Mention) -> bool:
    if not _same_slot(mention, true):
        return False
    if mention.value == true.value:
        return True
    if mention.slot != "name":
        return False
    said, meant = _core(mention.value), _core(true.value)
    return meant in said or said in meant


def _core(text: str) -> str:
    """The telling words of a name, spaces around them."""
    words = " ".join(re.findall(r"[^\W_]+", text.lower().replace("'", "")))
    telling = " ".join(_GENERIC.sub(" ", words).split())
    return f" {telling or words} "


class Slots:
    """Precision, recall and F1 of slot values; no value where a dialogue has no state."""

    name = "slots"
    signature = "slots 1 | by domain and slot | times, days, numbers by value; dont care left out"
    columns = (
        Column("slots.precision", "Slot P", "higher", 2, percentage),
        Column("slots.recall", "Slot R", "higher", 2, percentage),
        Column("slots.f1", "Slot F1", "higher", 4, _f1),
    )

    def measure(self, case: Case) -> Sequence[float]:
        """The numbers of one output."""
        state = state_of(case.dialogue.metadata) if case.dialogue is not None else None
        if state is None:
            return (0.0,) * 8
        beside = compared(case.prediction, state)
        precision = (float(len(beside.right)), float(len(beside.right) + len(beside.wrong)))
        recall = (float(len(beside.found)), float(len(beside.found) + len(beside.missing)))
        return (*precision, *recall, *precision, *recall)
