"""``dialogist data entities``: what entity masking would replace, before training on it."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dialogist.cli.destination import form_of, output_to
from dialogist.cli.flags import (
    FactsForm,
    OutputFile,
    Quiet,
)
from dialogist.cli.forms import Facts
from dialogist.cli.read_flags import with_read_flags
from dialogist.cli.reading import Reading
from dialogist.data.readers import ReadOptions
from dialogist.text.listing import counted

if TYPE_CHECKING:
    from dialogist.data.entity_report import EntityReport


@with_read_flags()
def entities(
    files: Annotated[list[Path], typer.Argument(help="Dialogue files, or - for stdin.")],
    read: ReadOptions = ReadOptions(),
    quiet: Quiet = False,
    examples: Annotated[int, typer.Option(help="Examples of each kind.", min=0)] = 3,
    output: OutputFile = None,
    format: FactsForm = None,
) -> int:
    """Show what `preparation.entities: masked` would mask: counts by kind, and examples."""
    from dialogist.data.entity_report import entity_report  # pydantic: not for --help

    form = form_of(output, format, Facts.text)
    reading = Reading(read)
    report = entity_report(reading.dialogues(files), examples)
    with output_to(output):
        if form is Facts.json:
            typer.echo(json.dumps(report.to_json(), ensure_ascii=False, indent=2))
        else:
            _print(report)
    return reading.finish()


def _print(report: "EntityReport") -> None:
    typer.echo(
        f"{counted(report.dialogues, 'dialogues')}, {report.with_entities} of them with entities"
    )
    typer.echo(
        f"\n{'':10}{'mentions':>9}{'values':>8}{'dialogues':>11}{'no mask left':>14}"
        f"{'in summaries':>14}{'supported':>11}"
    )
    for kind, counts in report.kinds.items():
        if not counts.mentions and not counts.in_summaries:
            continue
        typer.echo(
            f"{kind:10}{counts.mentions:9}{counts.values:8}{counts.dialogues:11}"
            f"{counts.beyond:14}{counts.in_summaries:14}{counts.supported:11}"
        )
        for example in counts.examples:
            typer.echo(f"    {_printable(example)}")


def _printable(text: str) -> str:
    """Control characters out: file contents must not steer a terminal."""
    return "".join(c if c.isprintable() else " " for c in text)
