"""Which statements are not told without another: a condition, a change, what "it" means.

Rules that are sure tie two statements: the first is then never chosen without the second.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from dialogist.selection.candidate_features import REACH
from dialogist.selection.cues import CUES
from dialogist.selection.statements import Candidate
from dialogist.selection.terms import terms_of
from dialogist.selection.units import Unit
from dialogist.text.agreeing import agrees, declines
from dialogist.text.superseding import asks_for_change, kinds_in, takes_back, values_in

_START = r"(?i)^\W*(?:(?:and|but|so|or|well|ok(?:ay)?|yes|yeah|no|hm+|oh|ah|uh|um)\W+)*"
# What is said under a condition that the clause before names.
_HANGS = re.compile(_START + r"(?:otherwise|or else|if (?:not|so|it does(?:n['’]t)?)|in (?:that|which) case)\b")
_THEN = re.compile(_START + r"then\b")
_CONDITION = re.compile(r"(?i)\b(?:if|unless|in case|once|as soon as|as long as)\b")
# What limits the clause before.
_LIMITS = re.compile(
    _START + r"(?:unless|only (?:if|when|after|on|with|until)|as long as|provided|except|not (?:if|on|before|until|when)"
    r"|on (?:one )?condition)\b"
)
_REFUSES = re.compile(
    r"(?i)^\W*(?:(?:well|oh|ah|hm+|uh|um|sorry|look|but|and|actually|yes|yeah|ok(?:ay)?)\W+)*"
    r"(?:no(?!t bad| problem| worries| need| doubt)\b|nope|nah|never\b|don['’]?t\b|not (?!bad)|(?:i|we|he|she|they) (?:can['’]?t|cannot|won['’]?t"
    r"|don['’]?t|wouldn['’]?t|couldn['’]?t)\b|(?:i|we)['’]?(?:d| would) rather\b|unfortunately\b|i['’]?m afraid\b"
    r"|(?:that|this|it)(?:['’]?s| is| would be| was| won['’]?t be| isn['’]?t| doesn['’]?t| won['’]?t) (?:too|not|no|full|closed|sold|gone|impossible"
    r"|work|going to work|far|a long)|too (?:\w+)|i['’]?m (?:off|away|at work|working|busy|on)\b|i['’]?ve (?:got )?(?:no|a|to)\b|can['’]?t\b)"
)
_TENTATIVE = tuple(CUES[name] for name in ("offer", "commit", "imperative", "advise", "please", "must", "will"))
_TOLD = re.compile(r"\b(?:suggests?|offers?|asks?|tells|should|will|would|can|could)\b")
_REMARK = 3  # words before a refusal that say nothing: "Hm."
_SOON = 3  # turns in which a time is changed
_SHARED = 2  # stems of what is taken back
_BARE = 3  # words of "never mind": it is about what was said just before


@dataclass(slots=True)
class Ties:
    """``pairs``: the first candidate of each is told with the second only; ``barred``: never."""

    pairs: set[tuple[int, int]] = field(default_factory=set)
    barred: set[int] = field(default_factory=set)

    def tie(self, one: int, other: int | None) -> None:
        """Let a candidate not be told without another; None: there is none that tells it."""
        if one == other:
            return
        if other is None or abs(one - other) > REACH:
            self.barred.add(one)
        else:
            self.pairs.add((one, other))


def ties_of(candidates: Sequence[Candidate], units: Sequence[Unit]) -> Ties:
    """What binds the candidates of a dialogue."""
    ties = Ties()
    holding = {unit: i for i, one in enumerate(candidates) for unit in one.units}
    starts: dict[int, int] = {}
    for j, unit in enumerate(units):
        starts.setdefault(unit.turn, j)
    for i, one in enumerate(candidates):
        first = one.units[0]
        condition = _condition(units, first)
        if condition is not None:
            ties.tie(i, _holder(holding, condition, -1))
        if first and _LIMITS.match(units[first].text) and first - 1 in holding:
            ties.tie(i, holding[first - 1])
            ties.tie(holding[first - 1], i)
        for change in _changes(units, one, starts):
            if change not in one.units:
                ties.tie(i, _holder(holding, change, 1))
    return ties


def _holder(holding: dict[int, int], unit: int, step: int) -> int | None:
    """The candidate that holds a unit, or one of the two next to it in a direction."""
    found = (holding.get(unit + step * n) for n in range(3))
    return next((one for one in found if one is not None), None)


def _condition(units: Sequence[Unit], i: int) -> int | None:
    """The unit that names the condition of unit ``i``; None: it has none, or names it itself."""
    if not i:
        return None
    text = units[i].text
    if _HANGS.match(text):
        return i - 1
    before = units[i - 1].text
    is_under = _CONDITION.search(before) is not None and not _CONDITION.search(text)
    return i - 1 if is_under and _THEN.match(text) else None


def _changes(units: Sequence[Unit], one: Candidate, starts: dict[int, int]) -> Iterator[int]:
    """The units that refuse, take back or change what a candidate says."""
    last = one.units[-1]
    unit = units[last]
    values, kinds = values_in(unit.text), kinds_in(unit.text)
    reply = starts.get(unit.turn + 1)
    if reply is not None and units[reply].speaker != unit.speaker:
        is_open = _TOLD.search(one.text) or any(cue.search(unit.text) for cue in _TENTATIVE)
        refusal = _refusal(units, reply) if is_open else None
        if refusal is None and values:
            refusal = _counter(units, reply, values, kinds)
        if refusal is not None:
            yield refusal
    if last + 1 < len(units) and units[last + 1].turn == unit.turn and _corrects(units[last + 1].text):
        yield last + 1
    terms = set(terms_of(unit.text))
    for j in range(last + 1, len(units)):
        text = units[j].text
        near = units[j].turn - unit.turn <= _SOON
        if takes_back(text):
            shared = len(terms & set(terms_of(text)))
            if shared >= min(_SHARED, len(terms)) > 0 or (near and units[j].words <= _BARE):
                yield j
        elif near and values and kinds and asks_for_change(text) and kinds & kinds_in(text):
            others, answer = values_in(text), starts.get(units[j].turn + 1)
            if others and others.isdisjoint(values) and answer is not None and agrees(units[answer].text):
                yield j


def _refusal(units: Sequence[Unit], reply: int) -> int | None:
    """The unit of a reply that refuses; a remark may stand before it."""
    for j in (reply, reply + 1):
        if j >= len(units) or units[j].turn != units[reply].turn:
            return None
        if _REFUSES.match(units[j].text) or declines(units[j].text):
            return j
        if units[j].words > _REMARK:
            return None
    return None


def _counter(
    units: Sequence[Unit], reply: int, values: frozenset[str], kinds: set[str]
) -> int | None:
    """The unit of a reply that asks for another value of the same kind, or for another one."""
    for j in range(reply, len(units)):
        text = units[j].text
        if units[j].turn != units[reply].turn:
            return None
        if _OTHER.search(text):
            return j
        others = values_in(text)
        asks = "?" in text or asks_for_change(text)
        if asks and kinds & kinds_in(text) and others and others.isdisjoint(values):
            return j
    return None


_OTHER = re.compile(
    r"(?i)\b(?:any(?:thing)?|something|nothing) (?:earlier|later|else|cheaper|sooner|smaller|bigger|other)\b"
    r"|\b(?:instead|rather)\b"
)
_CORRECTION = re.compile(r"(?i)^\W*(?:no,? (?:wait|sorry|actually|not|don['’]?t|that)|wait|hold on|actually|sorry,? (?:no|i|it)|oh no|scratch that|i mean\b)")


def _corrects(text: str) -> bool:
    return _CORRECTION.match(text) is not None
