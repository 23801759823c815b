"""What must hold of every summary, whatever the dialogue."""

import json
import unicodedata
from collections.abc import Iterator
from functools import cache

import jsonschema
from bench.summary_schema import summary_schema

from dialogist import Dialogue, Summary
from dialogist.records import Statement

RESERVED = range(0x10F000, 0x10F500)
"""Private characters that stand for speakers and entities inside the model."""


def faults(dialogue: Dialogue, summary: Summary) -> Iterator[str]:
    """What does not hold, one line each."""
    if summary.status == "error":
        yield f"status error: {summary.reason}"
        return
    if summary.id != dialogue.id:
        yield f"id {dialogue.id!r} came back as {summary.id!r}"
    yield from _coverage(dialogue, summary)
    yield from _characters(dialogue, summary)
    yield from _places(dialogue, summary)
    yield from _json(summary)


def _coverage(dialogue: Dialogue, summary: Summary) -> Iterator[str]:
    found = summary.coverage
    if found.utterances != len(dialogue.utterances):
        yield f"{found.utterances} utterances of {len(dialogue.utterances)}"
    if not 0 <= found.utterances_read <= found.utterances:
        yield f"{found.utterances_read} of {found.utterances} utterances were read"
    if not 0 <= found.tokens_read <= found.tokens:
        yield f"{found.tokens_read} of {found.tokens} tokens were read"
    if summary.status == "truncated":
        yield f"truncated, and nobody asked for it: {summary.reason}"


def _characters(dialogue: Dialogue, summary: Summary) -> Iterator[str]:
    own = {c for u in dialogue.utterances for c in u.text + u.speaker}
    said = [summary.text, *summary.alternatives]
    said += [part.text for part in (*summary.sentences, *summary.key_points)]
    for character in {c for text in said for c in text}:
        category = unicodedata.category(character)
        if category in ("Cc", "Cs") or ord(character) in RESERVED:
            yield f"U+{ord(character):04X} ({category}) in the summary"
        elif character == "\ufffd" and character not in own and not _replaced(own):
            yield "a replacement character in the summary"


def _replaced(own: set[str]) -> bool:
    """Whether the dialogue has characters that reading replaces."""
    return any("\ud800" <= c <= "\udfff" or ord(c) in RESERVED for c in own)


def _places(dialogue: Dialogue, summary: Summary) -> Iterator[str]:
    for part in (*summary.sentences, *summary.key_points):
        if summary.text[part.start : part.end] != part.text:
            yield f"{part.text!r} does not stand at {part.start} to {part.end}"
        yield from _evidence(dialogue, part)
    for warning in summary.warnings:
        if warning.start >= 0 and summary.text[warning.start : warning.end] != warning.text:
            yield f"the warning {warning.message!r} is about another place"
    for one in summary.entities:
        if dialogue.utterances[one.utterance].text[one.start : one.end] != one.text:
            yield f"the entity {one.text!r} does not stand where it says"


def _evidence(dialogue: Dialogue, part: Statement) -> Iterator[str]:
    for span in part.evidence:
        inside = 0 <= span.utterance < len(dialogue.utterances)
        if not inside or not 0 <= span.start <= span.end <= len(
            dialogue.utterances[span.utterance].text
        ):
            yield f"evidence out of range: {span}"
        if not 0 <= span.score <= 1:
            yield f"evidence with a score of {span.score}"


def _json(summary: Summary) -> Iterator[str]:
    text = json.dumps(summary.to_json(), ensure_ascii=False, allow_nan=False)
    values = json.loads(text.encode("utf-8", errors="backslashreplace"))
    if values["id"] != summary.id:
        yield f"the id {summary.id!r} is {values['id']!r} in JSON"
    if Summary.from_json(summary.to_json()) != summary:
        yield "JSON does not give the summary back"
    yield from (f"schema: {error.message}" for error in _validator().iter_errors(values))


@cache
def _validator() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(summary_schema())
