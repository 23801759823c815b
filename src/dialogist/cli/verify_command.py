"""``dialogist verify``: what of summaries that anybody wrote their dialogues support."""

import html
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dialogist.cli.console import code_of, note, tell_failures
from dialogist.cli.flags import (
    AllowNetwork,
    OutputFile,
    Quiet,
    ReadFlags,
    Strict,
    format_option,
    grouped,
)
from dialogist.cli.streams import InputReading, check_apart, output_format_of, output_to, sources_of
from dialogist.language.tokens import counted
from dialogist.plain_text import printable
from dialogist.records import SummaryOptions
from dialogist.render import csv_row

if TYPE_CHECKING:
    from dialogist.summarizer import Result

Verified = StrEnum("Verified", ["text", "csv", "jsonl", "html"])
_COLUMNS = ("dialogue", "statement", "verdict", "probability", "reason", "lines", "said")
_WORST_FIRST = ("contradicted", "doubtful", "unverified", "supported", "quoted")
_PAGE = Path(__file__).parent.parent / "assets" / "verifier" / "statements.html"


@grouped
def verify(
    read: ReadFlags,
    summaries: Annotated[
        Path, typer.Argument(help="Summaries: JSON lines with id and summary, or a text.")
    ],
    on: Annotated[list[Path], typer.Option(help="Their dialogues. Repeatable.")],
    verifier: Annotated[
        str,
        typer.Option(
            help="Who judges: local (this machine's own), rules, nli:FOLDER, or a language model, "
            "named as for --writer."
        ),
    ] = "local",
    allow_network: AllowNetwork = False,
    output: OutputFile = None,
    format: Annotated[Verified | None, format_option()] = None,
    quiet: Quiet = False,
    strict: Strict = False,
) -> int:
    """Judge each statement of summaries by its dialogue: a table with the lines, worst first."""
    from dialogist.summarizer import Summarizer
    from dialogist.writers.written_file import WrittenFile

    kind = output_format_of(output, format, Verified.text)
    check_apart(output, [summaries])
    written = WrittenFile(str(summaries))
    summarizer = Summarizer(written, verifier)
    tell_failures(lines=not strict)
    reading = InputReading(read.options(strict))
    dialogues = reading.dialogues(sources_of(on, output))
    rows: list[dict[str, Any]] = []
    failed, left = 0, set(written.ids)
    for result in summarizer.results(dialogues, SummaryOptions(unsupported="mark")):
        failed += result.summary.status == "error"
        rows += _rows(result)
        left -= {result.summary.id, os.path.splitext(result.summary.id)[0], ""}
    for id_ in sorted(left):
        note(f"{summaries}: no dialogue has the id {id_!r}")
    failed += len(left)
    rows.sort(key=_worst)
    counts = Counter(row["verdict"] for row in rows)
    verdicts = ", ".join(f"{counts[v]} {v}" for v in _WORST_FIRST if counts[v])
    with output_to(output, mark=kind is Verified.csv):
        if kind is Verified.html:
            typer.echo(_page(rows, f"{counted(len(rows), 'statements')}: {verdicts}"), nl=False)
        elif kind is Verified.csv:
            sys.stdout.write(csv_row(_COLUMNS))
            sys.stdout.writelines(csv_row(map(_in_cell, row.values())) for row in rows)
        else:
            for row in rows:
                typer.echo(json.dumps(row, ensure_ascii=False) if kind == "jsonl" else _text(row))
    note(f"{counted(len(rows), 'statements')}: {verdicts or 'none'}", own=True)
    return max(code_of(failed, "summaries", "could not be verified"), reading.finish())


def _rows(result: "Result") -> Iterator[dict[str, Any]]:
    for statement in result.summary.statements:
        numbers = sorted({span.utterance for span in statement.evidence})
        cited = [result.dialogue.utterances[number] for number in numbers]
        values = (
            *(result.summary.id, statement.text, statement.verdict, statement.probability),
            *("; ".join(statement.reasons), [number + 1 for number in numbers]),
            [f"{u.speaker}: {u.text}" if u.speaker else u.text for u in cited],
        )
        yield dict(zip(_COLUMNS, values, strict=True))


def _worst(row: dict[str, Any]) -> tuple[int, float]:
    chance = row["probability"]
    return _WORST_FIRST.index(row["verdict"]), 0.5 if chance is None else chance


def _in_cell(value: object) -> object:
    return " | ".join(map(str, value)) if isinstance(value, list) else value


def _text(row: dict[str, Any]) -> str:
    chance = "" if row["probability"] is None else f" {row['probability']:.2f}"
    reason = f": {row['reason']}" if row["reason"] else ""
    lines = (f"[{n}] {words}" for n, words in zip(row["lines"], row["said"], strict=True))
    head = f"{row['verdict']}{chance}{reason}", f"{row['dialogue']}: {row['statement']}"
    return "\n    ".join(map(printable, (*head, *lines)))


def _page(rows: Sequence[dict[str, Any]], counts: str) -> str:
    cells = []
    for row in rows:
        chance = "" if row["probability"] is None else f" {row['probability']:.2f}"
        quotes = "".join(
            f"<blockquote>[{number}] {html.escape(text)}</blockquote>"
            for number, text in zip(row["lines"], row["said"], strict=True)
        )
        cells.append(
            f'<tr class="{row["verdict"]}"><td>{html.escape(row["statement"])}'
            f"<td><b>{row['verdict']}</b>{chance}<br><small>{html.escape(row['reason'])}</small>"
            f"<td>{quotes}<td><small>{html.escape(row['dialogue'])}</small>"
        )
    page = Template(_PAGE.read_text(encoding="utf-8"))
    return page.substitute(counts=html.escape(counts), rows="\n".join(cells))
