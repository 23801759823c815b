"""What the checks say of each sentence that a network wrote, and of the summary as a whole.

A sentence has ``failed`` where a check complains about words of it. All others are ``unchecked``:
the checks find errors, and most errors they do not find (bench/reading).
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from dialogist.engine.claims import claims
from dialogist.engine.evidence.index import Index, index_of
from dialogist.engine.options import SummaryOptions
from dialogist.records import (
    Dialogue,
    Statement,
    Status,
    Summary,
    Warning,
    WarningKind,
)
from dialogist.text.clauses import clauses_of

_COMPLAINTS: frozenset[WarningKind] = frozenset(
    (
        "name",
        "speaker",
        "number",
        "entity",
        "swap",
        "negation",
        "speaker_mismatch",
        "uncited",
        "repeated",
        "contradiction",
        "declined",
    )
)
_TO_KNOW: frozenset[WarningKind] = frozenset(("removed", "cut", "plan_cut"))
"""Kinds that are about no sentence but that a reader must know: something is missing."""

NOT_VERIFIED = "the network wrote this and nothing verifies it: compare it with the quotes"

# What somebody answers to or is helped with, somebody else said.
_OF_OTHERS = frozenset(("answer", "help"))


def with_checks(summary: Summary, dialogue: Dialogue, options: SummaryOptions) -> Summary:
    """The summary with the result of every check: warnings, its statements' and its status."""
    if not summary.text:
        return summary
    found = tuple(_of_evidence(summary, dialogue, options)) if options.evidence else ()
    warnings = (*summary.warnings, *found)
    sentences = tuple(_checked(one, warnings) for one in summary.sentences)
    points = tuple(_checked(one, warnings) for one in summary.key_points)
    checked = replace(summary, warnings=warnings, sentences=sentences, key_points=points)
    if summary.status != "ok":
        return checked
    status, reason = _status(checked)
    return replace(checked, status=status, reason=reason)


def _of_evidence(
    summary: Summary, dialogue: Dialogue, options: SummaryOptions
) -> Iterator[Warning]:
    """What the model's confidence and the utterances behind each sentence tell."""
    index = index_of(dialogue)
    for sentence in summary.sentences:
        place = (sentence.start, sentence.end, sentence.text)
        other = _other_speaker(sentence, index)
        if other:
            told = f"{other} says the line behind this sentence: check who does what"
            yield Warning("speaker_mismatch", told, *place)
        sure, least = sentence.confidence, options.min_confidence
        if sure is not None and least is not None and sure < least:
            told = f"the model was unsure of this sentence (confidence {_below(sure, least)})"
            yield Warning("unsure", told, *place)
        yield from claims(sentence, index)
        if not sentence.evidence:
            told = "no line of the dialogue was found that supports this sentence"
            yield Warning("no_evidence", told, *place)


def _below(sure: float, least: float) -> str:
    """A confidence and the bar, with as many digits as it takes to tell them apart."""
    for digits in (2, 3):
        if f"{sure:.{digits}f}" != f"{least:.{digits}f}":
            return f"{sure:.{digits}f}, below {least:g}"
    return f"just below {least:g}"


def _other_speaker(sentence: Statement, index: Index) -> str:
    """Who says a sentence's best evidence, where it is not its first subject; else empty.

    Who tells, answers or helps may speak another cited line, or the one behind it.
    """
    if index.language != "en" or not sentence.evidence:
        return ""
    voices = index.voices
    clauses = [clause for own in clauses_of(sentence.text, voices.who) for clause in own]
    if not clauses:
        return ""
    subject, kind = clauses[0].subject, clauses[0].kind
    best = sentence.evidence[0].utterance
    speaker = voices.spoken[best]
    if speaker < 0 or speaker == subject:
        return ""
    if kind == "tell" and any(voices.spoken[e.utterance] == subject for e in sentence.evidence):
        return "" if index.questions[best] else index.dialogue.speakers[speaker]
    if kind in _OF_OTHERS and subject in voices.spoken[best + 1 : best + 2]:
        return ""
    return index.dialogue.speakers[speaker]


def _checked(statement: Statement, warnings: Sequence[Warning]) -> Statement:
    """The statement with the result of its checks. They find errors; they verify nothing."""
    complaints = (one for one in warnings if one.kind in _COMPLAINTS)
    failed = any(one.start < statement.end and statement.start < one.end for one in complaints)
    return replace(statement, check="failed" if failed else "unchecked")


def _status(summary: Summary) -> tuple[Status, str]:
    """``warning`` or ``unchecked``, and why."""
    told = [w for w in summary.warnings if w.kind in _COMPLAINTS | _TO_KNOW]
    if told:
        more = f" (and {len(told) - 1} more)" if len(told) > 1 else ""
        return "warning", told[0].message + more
    return "unchecked", NOT_VERIFIED
