"""Summaries as text, JSON, JSON lines or Markdown, written as they come."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice

from dialogist.cli.csv_output import summaries_as_csv
from dialogist.cli.forms import Output
from dialogist.present.plain_text import markdown_of, text_of
from dialogist.present.shaping import Shaped
from dialogist.template.kinds import legend
from dialogist.template.render import plain, printable


def _text(summaries: Iterable[Shaped]) -> Iterator[str]:
    """One summary: its lines alone. Several: each under a line with its id."""
    remaining = iter(summaries)
    first = list(islice(remaining, 2))
    several = len(first) > 1
    kinds: set[str] = set()
    for number, shown in enumerate(chain(first, remaining)):
        if several:
            yield f"{'' if number == 0 else chr(10)}== {printable(shown.summary.id)} ==\n"
        yield from text_of(shown)
        kinds |= shown.kinds if shown.with_evidence or shown.filled else set()
    if told := legend(kinds):
        yield f"\n{told}\n"


def _markdown(summaries: Iterable[Shaped]) -> Iterator[str]:
    kinds: set[str] = set()
    for shown in summaries:
        yield from markdown_of(shown)
        kinds |= shown.kinds
    if told := legend(kinds):
        yield f"*{plain(told)}*\n"


def _json(summaries: Iterable[Shaped]) -> Iterator[str]:
    separator = "[\n"
    for summary in summaries:
        yield separator + json.dumps(summary.to_json(), ensure_ascii=False)
        separator = ",\n"
    yield "[]\n" if separator == "[\n" else "\n]\n"


def _jsonl(summaries: Iterable[Shaped]) -> Iterator[str]:
    for summary in summaries:
        yield json.dumps(summary.to_json(), ensure_ascii=False) + "\n"


_FORMS: dict[Output, Callable[[Iterable[Shaped]], Iterator[str]]] = {
    Output.text: _text,
    Output.json: _json,
    Output.jsonl: _jsonl,
    Output.md: _markdown,
}


def pieces_of(
    summaries: Iterable[Shaped], form: Output, columns: Sequence[str] = ()
) -> Iterator[str]:
    """Yield the text of each summary as soon as it is there; ``columns``: those of CSV."""
    if form is Output.csv:
        return summaries_as_csv(summaries, columns)
    return _FORMS[form](summaries)


def write_summaries(summaries: Iterable[Shaped], form: Output, columns: Sequence[str] = ()) -> None:
    """Write `pieces_of` to stdout, UTF-8 whatever the locale."""
    for piece in pieces_of(summaries, form, columns):
        sys.stdout.buffer.write(piece.encode("utf-8", errors="backslashreplace"))
        sys.stdout.buffer.flush()
