"""Summaries in faithful style: statements that are reported by rules or quoted, none written."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from dialogist.data.normalise import Shortened, readable_in_place, without_long_runs
from dialogist.data.readers.fields import role_of
from dialogist.model_folder.options import Length, SummaryOptions
from dialogist.pipeline.isolation import Clock, failed, refusal, shortness
from dialogist.records import (
    PROFILE_PREFIX,
    Coverage,
    Dialogue,
    Dropped,
    EvidenceSpan,
    Statement,
    Summary,
    Utterance,
    Warning,
    title_of_field,
)
from dialogist.selection.network import bundled_network
from dialogist.selection.select import MOST, USUAL, Chosen, select
from dialogist.selection.units import Unit
from dialogist.text.tokens import counted, words_in

# Statements that use the user profile: which fields they rest on, and told apart from utterances.
#
# In free style a network reads the fields as the first utterances (`data.profile`); here they are
# taken out of the summary again. In faithful style nobody said them: where a customer speaks of "my
# plan", and never says which, a note behind the statement gives the field.


_CUSTOMERS = frozenset(("customer", "user", "patient", "caller", "client"))
_FEWEST_LETTERS = 4  # of a word that a statement and a field may have in common


def without_profile_turns(summary: Summary, dialogue: Dialogue) -> Summary:
    """The summary of `with_profile_turns`, in the numbers of the dialogue itself."""
    count = len(dialogue.profile)
    if not count:
        return summary
    coverage = summary.coverage
    use = coverage.use[count:]
    total = sum(use)
    return replace(
        summary,
        sentences=tuple(_apart(one, dialogue) for one in summary.sentences),
        key_points=tuple(_apart(one, dialogue) for one in summary.key_points),
        entities=tuple(
            replace(one, utterance=one.utterance - count)
            for one in summary.entities
            if one.utterance >= count
        ),
        coverage=replace(
            coverage,
            utterances=max(0, coverage.utterances - count),
            utterances_read=max(0, coverage.utterances_read - count),
            windows=tuple((max(0, a - count), max(0, b - count)) for a, b in coverage.windows),
            dropped=tuple(
                replace(one, utterance=one.utterance - count)
                for one in coverage.dropped
                if one.utterance >= count
            ),
            use=tuple(round(one / total, 4) for one in use) if total else (),
        ),
    )


def _apart(statement: Statement, dialogue: Dialogue) -> Statement:
    """Evidence in the profile becomes the names of its fields."""
    fields = list(dialogue.profile.items())
    cited = {span.utterance for span in statement.evidence}
    found = tuple(
        f"{PROFILE_PREFIX}{name}"
        for number, (name, value) in enumerate(fields)
        if _rests_on(statement.text, value, number in cited, dialogue)
    )
    said = tuple(
        replace(one, utterance=one.utterance - len(fields))
        for one in statement.evidence
        if one.utterance >= len(fields)
    )
    return replace(statement, evidence=said, profile=found)


def _rests_on(text: str, value: str, is_cited: bool, dialogue: Dialogue) -> bool:
    """Whether a statement has a value that nobody says, or cites the field and shares a word."""
    if _stands_in(value, text):
        return is_cited or not _is_said(value, dialogue)
    words = {word for word in words_in(value.lower()) if len(word) >= _FEWEST_LETTERS}
    return is_cited and not words.isdisjoint(words_in(text.lower()))


def _stands_in(value: str, text: str) -> bool:
    """Whether a text has a value, as whole words in any case."""
    pattern = rf"(?<!\w){re.escape(value)}(?!\w)"
    return re.search(pattern, text, re.IGNORECASE) is not None


def _is_said(value: str, dialogue: Dialogue) -> bool:
    """Whether somebody says a value in the dialogue."""
    return any(_stands_in(value, one.text) for one in dialogue.utterances)


class ProfileNotes:
    """Notes from a dialogue's profile behind statements about its customer's own things."""

    def __init__(self, dialogue: Dialogue) -> None:
        self._dialogue = dialogue
        self._owner = _owner_of(dialogue)
        self._left = {
            name: value
            for name, value in dialogue.profile.items()
            if self._owner and not _is_said(value, dialogue) and not self._is_told(name)
        }

    def note(self, text: str, evidence: Sequence[EvidenceSpan]) -> tuple[str, tuple[str, ...]]:
        """A statement with a note of the fields that it mentions first, and their names."""
        found = [name for name in self._left if self._mentions(name, text, evidence)]
        if not found:
            return text, ()
        told = "; ".join(f"{title_of_field(name)} {self._left.pop(name)}" for name in found)
        end = text[-1] if text[-1] in ".!?" else ""
        noted = f"{text.removesuffix(end)} (profile: {told}){end}"
        return noted, tuple(f"{PROFILE_PREFIX}{name}" for name in found)

    def _mentions(self, name: str, text: str, evidence: Sequence[EvidenceSpan]) -> bool:
        title = title_of_field(name)
        if not _stands_in(title, text):
            return False
        for span in evidence:
            turn = self._dialogue.utterances[span.utterance]
            whose = "my" if turn.speaker == self._owner else "your"
            if re.search(_of(whose, title), turn.text[span.start : span.end], re.IGNORECASE):
                return True
        return False

    def _is_told(self, name: str) -> bool:
        """Whether somebody says what the field is: "my plan is Silver"."""
        told = rf"{_of('(?:my|your|the)', title_of_field(name))}(?:['’]s| is| was|:)"
        return any(re.search(told, u.text, re.IGNORECASE) for u in self._dialogue.utterances)


def _of(whose: str, title: str) -> str:
    return rf"\b{whose}\s+(?:\w+\s+)?{re.escape(title)}\b"


def _owner_of(dialogue: Dialogue) -> str:
    """The speaker that the profile is of; empty where there is not exactly one, or of many."""
    if len(dialogue.speakers) != 2:
        return ""
    name = dialogue.profile.get("name", "").casefold()
    named = [one for one in dialogue.speakers if name and one.casefold() == name]
    roles = {one.speaker: one.role or role_of(one.speaker) for one in dialogue.utterances}
    found = named or [one for one in dialogue.speakers if roles[one].lower() in _CUSTOMERS]
    return found[0] if len(found) == 1 else ""


# Summaries in faithful style: statements that are reported by rules or quoted, none written.
#
# It needs neither torch nor a model: a small selector says what matters (`dialogist.selection`).


LANGUAGE = "en"
"""The language that the rules of reported speech know."""

_OTHER_LANGUAGE = (
    "faithful style reads English only: use --style free with a model of this language"
)
_LICENCE = "Apache-2.0"
_BRIEF = 3  # words of a statement such as "Ann agrees."


class _Budget(NamedTuple):
    """The most words as a share of the dialogue's, within bounds; ``usual``: see `select`."""

    share: float
    fewest: int
    most: int
    usual: float = 0.0


_BUDGETS: dict[Length, _Budget] = {
    "short": _Budget(0.25, 18, 60),
    "medium": _Budget(MOST, 25, 150, USUAL),
    "long": _Budget(0.65, 40, 400),
}


def faithful_summaries(
    dialogues: Sequence[Dialogue], options: SummaryOptions, model: str
) -> list[Summary]:
    """One summary per dialogue, in order; what goes wrong with one leaves the others."""
    return [_tried(dialogue, options, model) for dialogue in dialogues]


def _tried(dialogue: Dialogue, options: SummaryOptions, model: str) -> Summary:
    clock = Clock()
    try:
        with clock.of("select"):
            summary = _summary(dialogue, options, model)
    except Exception as error:  # a bug of ours: the others go on
        return failed(dialogue, error, model)
    return clock.on(summary, 1)


def _summary(dialogue: Dialogue, options: SummaryOptions, model: str) -> Summary:
    blank = Summary("", dialogue.id, model=model, licence=_LICENCE)
    count = len(dialogue.utterances)
    refused = refusal(dialogue, LANGUAGE)
    if refused is not None:
        status, reason = refused
        reason = _OTHER_LANGUAGE if status == "unsupported_language" else reason
        said = [i for i, one in enumerate(dialogue.utterances) if one.text.strip()]
        dropped = tuple(Dropped(i, 0, reason) for i in said)
        coverage = Coverage(count, count - len(said), dropped=dropped)
        warnings = (Warning("not_read", reason),)
        return replace(blank, status=status, reason=reason, coverage=coverage, warnings=warnings)
    short = [without_long_runs(_words(one)) for one in dialogue.utterances]
    spoken = [
        (_name(one.speaker), own.text) for one, own in zip(dialogue.utterances, short, strict=False)
    ]
    # What says nothing is no turn: a reply behind it is still the reply to what is before it.
    numbers = [i for i, (_, words) in enumerate(spoken) if words.strip()]
    turns = [spoken[i] for i in numbers]
    is_short = options.length == "short"
    about = options.focus or ""
    budget, usual = _room(dialogue, options)
    found = select(turns, bundled_network(), budget, is_short, about, usual)
    heard = [(i, short[i]) for i in numbers]
    statements = tuple(_statements(_once(found), dialogue, heard, options.words))
    words = sum(len(one.text.split()) for one in dialogue.utterances)
    summary = replace(
        blank,
        text=" ".join(one.text for one in statements),
        sentences=statements if options.evidence else _bare(statements),
        coverage=Coverage(count, count, words, words),
    )
    return _judged(summary, dialogue, options)


def _name(speaker: str) -> str:
    return " ".join(without_long_runs(readable_in_place(speaker)).text.split())


def _words(utterance: Utterance) -> str:
    """What can be told of an utterance: of a notice or a heading, which nobody said, nothing."""
    if utterance.role == "system" and not utterance.speaker:
        return ""
    return readable_in_place(utterance.text)


def _room(dialogue: Dialogue, options: SummaryOptions) -> tuple[int, float]:
    """The most words of a summary, and the share that it usually has."""
    if options.words is not None:
        return options.words, 0.0
    share, fewest, most, usual = _BUDGETS[options.length]
    said = [u for u in dialogue.utterances if options.focus in (None, u.speaker)]
    budget = int(share * sum(len(one.text.split()) for one in said))
    return min(max(budget, fewest), most), usual if fewest < budget <= most else 0.0


def _once(found: Sequence[Chosen]) -> list[Chosen]:
    """Each statement once, where it is said last; a brief one rests on what is before it."""
    last = {one.candidate.text: place for place, one in enumerate(found)}
    return [
        one
        for place, one in enumerate(found)
        if last[one.candidate.text] == place or len(one.candidate.text.split()) <= _BRIEF
    ]


def _statements(
    found: Sequence[Chosen],
    dialogue: Dialogue,
    turns: Sequence[tuple[int, Shortened]],
    most: int | None,
) -> Iterator[Statement]:
    """The statements, with notes from the user profile; these are left out under a limit.

    ``turns``: the number and the text of the utterance that each turn of the units is.
    """
    notes = ProfileNotes(dialogue) if dialogue.profile and most is None else None
    place = 0
    for one in found:
        text, chance = one.candidate.text, round(one.chance, 4)
        spans = tuple(_span(*turns[u.turn], u, chance) for u in one.units)
        text, fields = notes.note(text, spans) if notes is not None else (text, ())
        kind, end = one.candidate.kind, place + len(text)
        yield Statement(text, place, end, "", spans, chance, "passed", kind, fields)
        place = end + 1


def _span(number: int, said: Shortened, unit: Unit, chance: float) -> EvidenceSpan:
    """Where a unit stands in an utterance as it was read."""
    return EvidenceSpan(number, said.place(unit.start), said.place(unit.end - 1) + 1, chance)


def _bare(statements: Sequence[Statement]) -> tuple[Statement, ...]:
    return tuple(replace(one, evidence=()) for one in statements)


def _judged(summary: Summary, dialogue: Dialogue, options: SummaryOptions) -> Summary:
    """The summary with its status: ``ok``, unless hardly anything was said or could be told."""
    if short := shortness(dialogue):
        return replace(summary, status="too_short", reason=short)
    if summary.text:
        return summary
    if options.words is not None:
        reason = (
            f"no statement has {counted(options.words, 'words')} or fewer: ask for more with words"
        )
        warnings = (Warning("length", reason),)
        return replace(summary, status="low_confidence", reason=reason, warnings=warnings)
    about = "" if options.focus is None else f" about {options.focus}"
    reason = f"nothing was said that matters{about}"
    return replace(summary, status="low_confidence", reason=reason)
