"""Summaries as text, JSON, JSON lines or Markdown, written as they come."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice

from dialogist.cli.forms import Output
from dialogist.cli.shaping import Shaped
from dialogist.records import EvidenceSpan, Statement
from dialogist.template.as_json import filled_to_json
from dialogist.template.render import as_markdown, as_text


def shown_to_json(shown: Shaped) -> dict[str, object]:
    """A summary, with its template under ``filled`` if it has one."""
    written: dict[str, object] = {**shown.summary.to_json()}
    if shown.filled is not None:
        written["filled"] = filled_to_json(shown.filled)
    return written


def _text(summaries: Iterable[Shaped]) -> Iterator[str]:
    """One summary: its text alone. Several: each under a line with its id."""
    remaining = iter(summaries)
    first = list(islice(remaining, 2))
    several = len(first) > 1
    for number, shown in enumerate(chain(first, remaining)):
        summary = shown.summary
        if several:
            yield f"{'' if number == 0 else chr(10)}== {_printable(summary.id)} ==\n"
        if shown.filled is not None:
            yield as_text(shown.filled).rstrip("\n") + "\n"
        elif summary.key_points:
            yield from (f"[{p.label}] {_referred(p)}\n" for p in summary.key_points)
        elif any(sentence.evidence for sentence in summary.sentences):
            yield " ".join(map(_referred, summary.sentences)) + "\n"
        else:
            yield f"{_printable(summary.text)}\n"
        for text in summary.alternatives:
            yield f"{_printable(text)}\n"


def _markdown(summaries: Iterable[Shaped]) -> Iterator[str]:
    for shown in summaries:
        summary = shown.summary
        yield f"## {_printable(summary.id) or 'Dialogue'}\n\n"
        if shown.filled is not None:
            yield as_markdown(shown.filled).rstrip("\n") + "\n\n"
        elif summary.key_points:
            yield from (f"**{p.label}**: {_referred(p)}\n\n" for p in summary.key_points)
        elif summary.sentences:
            yield " ".join(map(_referred, summary.sentences)) + "\n\n"
        for text in summary.alternatives:
            yield f"*or:* {_printable(text)}\n\n"
        if summary.status != "ok":
            yield f"> **{summary.status.replace('_', ' ')}**: {_printable(summary.reason)}\n\n"
        for warning in summary.warnings:
            yield f"> **Note:** {_printable(warning.message)}\n\n"


def _referred(statement: Statement) -> str:
    """A statement with the numbers, from 1, of the utterances it rests on."""
    text = _printable(statement.text).strip()
    numbers = _numbers(statement.evidence)
    return f"{text} [{', '.join(map(str, numbers))}]" if numbers else text


def _numbers(evidence: Sequence[EvidenceSpan]) -> list[int]:
    return sorted({span.utterance + 1 for span in evidence})


def _json(summaries: Iterable[Shaped]) -> Iterator[str]:
    separator = "[\n"
    for summary in summaries:
        yield separator + json.dumps(shown_to_json(summary), ensure_ascii=False)
        separator = ",\n"
    yield "[]\n" if separator == "[\n" else "\n]\n"


def _jsonl(summaries: Iterable[Shaped]) -> Iterator[str]:
    for summary in summaries:
        yield json.dumps(shown_to_json(summary), ensure_ascii=False) + "\n"


_FORMS: dict[Output, Callable[[Iterable[Shaped]], Iterator[str]]] = {
    Output.text: _text,
    Output.json: _json,
    Output.jsonl: _jsonl,
    Output.md: _markdown,
}


def write_summaries(summaries: Iterable[Shaped], form: Output) -> None:
    """Write to stdout, UTF-8 whatever the locale, each summary as soon as it is there."""
    for piece in _FORMS[form](summaries):
        sys.stdout.buffer.write(piece.encode("utf-8", errors="backslashreplace"))
        sys.stdout.buffer.flush()


def _printable(text: str) -> str:
    """No control characters: text must not steer a terminal."""
    return "".join(c if c.isprintable() or c == "\n" else " " for c in text)
