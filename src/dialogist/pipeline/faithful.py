"""Summaries in faithful style: statements that are reported by rules or quoted, none written.

It needs neither torch nor a model: a small selector says what matters (`dialogist.selection`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from dialogist.checks.profile import ProfileNotes
from dialogist.data.normalise import Shortened, readable_in_place, without_long_runs
from dialogist.model_folder.options import SummaryOptions
from dialogist.pipeline.isolation import Clock, failed, refusal, shortness
from dialogist.records import (
    Coverage,
    Dialogue,
    Dropped,
    EvidenceSpan,
    Length,
    Statement,
    Status,
    Summary,
    Utterance,
    Warning,
)
from dialogist.highlights.network import bundled_network
from dialogist.highlights.select import MOST, USUAL, Chosen, select
from dialogist.highlights.units import Unit
from dialogist.language.tokens import counted

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
    refused = refusal(dialogue, LANGUAGE)
    if refused is not None:
        return _refused(dialogue, *refused, model)
    read = [without_long_runs(_words(one)) for one in dialogue.utterances]
    spoken = [
        (_name(one.speaker), own.text) for one, own in zip(dialogue.utterances, read, strict=False)
    ]
    # What says nothing is no turn: a reply behind it is still the reply to what is before it.
    numbers = [i for i, (_, words) in enumerate(spoken) if words.strip()]
    turns = [spoken[i] for i in numbers]
    budget, usual = _room(dialogue, options)
    is_short, about = options.length == "short", options.focus or ""
    chosen = _once(select(turns, bundled_network(), budget, is_short, about, usual))
    places = [(i, read[i]) for i in numbers]
    statements = tuple(_statements(chosen, dialogue, places, options.words))
    count = len(dialogue.utterances)
    words = sum(len(one.text.split()) for one in dialogue.utterances)
    summary = Summary(
        " ".join(one.text for one in statements),
        dialogue.id,
        model=model,
        licence=_LICENCE,
        sentences=statements if options.evidence else _bare(statements),
        coverage=Coverage(count, count, words, words),
    )
    return _assign_status(summary, dialogue, options)


def _refused(dialogue: Dialogue, status: Status, reason: str, model: str) -> Summary:
    """The summary of a dialogue that is not read."""
    reason = _OTHER_LANGUAGE if status == "unsupported_language" else reason
    count = len(dialogue.utterances)
    said = [i for i, one in enumerate(dialogue.utterances) if one.text.strip()]
    return Summary(
        "",
        dialogue.id,
        model=model,
        licence=_LICENCE,
        status=status,
        reason=reason,
        coverage=Coverage(
            count, count - len(said), dropped=tuple(Dropped(i, 0, reason) for i in said)
        ),
        warnings=(Warning("not_read", reason),),
    )


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
    kept: dict[tuple[str, int], Chosen] = {}
    for place, one in enumerate(found):
        key = one.candidate.text, place * (len(one.candidate.text.split()) <= _BRIEF)
        if (before := kept.pop(key, None)) is not None:
            one = replace(one, units=(*one.units, *before.units))
        kept[key] = one
    return list(kept.values())


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
        text, probability = one.candidate.text, round(one.probability, 4)
        spans = tuple(_span(*turns[u.turn], u, probability) for u in one.units)
        text, fields = notes.note(text, spans) if notes is not None else (text, ())
        # "When it started: “Saturday”" holds the words themselves, too.
        kind, end = "quoted" if ": “" in text else one.candidate.kind, place + len(text)
        yield Statement(text, place, end, "", spans, probability, "passed", kind, fields)
        place = end + 1


def _span(number: int, said: Shortened, unit: Unit, probability: float) -> EvidenceSpan:
    """Where a unit stands in an utterance as it was read."""
    return EvidenceSpan(number, said.place(unit.start), said.place(unit.end - 1) + 1, probability)


def _bare(statements: Sequence[Statement]) -> tuple[Statement, ...]:
    return tuple(replace(one, evidence=()) for one in statements)


def _assign_status(summary: Summary, dialogue: Dialogue, options: SummaryOptions) -> Summary:
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
