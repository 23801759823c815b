"""``dialogist evaluate``: what a model's, a baseline's or anyone's summaries are worth."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dialogist.cli.console import note
from dialogist.cli.flags import (
    AllowNetwork,
    CardForm,
    HeldOutFlags,
    Long,
    OutputFile,
    Quiet,
    Safe,
    SearchFlags,
)
from dialogist.cli.inputs import InputReading, with_flags
from dialogist.cli.output_formats import CardFormat, card_csv, output_format_of, output_to
from dialogist.formats import ReadOptions
from dialogist.errors import UsageError
from dialogist.records import Style

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dialogist.cli.evaluate_run import Result
    from dialogist.evaluation.report_card import Card, CardRow
    from dialogist.records import JSON


@with_flags()
def evaluate(
    system: Annotated[
        str,
        typer.Argument(
            help="A model (name, folder, run), a baseline (lead-3 ...), a file of predictions, "
            "or a filled reading sheet."
        ),
    ],
    data: Annotated[
        Path | None,
        typer.Argument(help="Dialogues with reference summaries (without: those of the file)."),
    ] = None,
    on: Annotated[Path | None, typer.Option(help="The same as DATA.")] = None,
    metrics: Annotated[
        str, typer.Option(help="Names with commas; all: every one that can be measured here.")
    ] = "",
    references: Annotated[
        str, typer.Option(help="Several references: average, maximum or concatenated.")
    ] = "average",
    pack: Annotated[
        str | None, typer.Option("--pack", "-p", help="Rule pack, for key-points.")
    ] = None,
    train_sample: Annotated[
        Path | None,
        typer.Option(help="Training data: a fixed sample of it is scored beside the data."),
    ] = None,
    columns: Annotated[
        str, typer.Option(help="Keys of the table's columns with commas, see --format json.")
    ] = "",
    scores: Annotated[
        Path | None, typer.Option(help="Where the numbers of every output go, to be read again.")
    ] = None,
    predictions: Annotated[
        Path | None,
        typer.Option(help="Where the summaries go (default: MODEL.DATA.predictions.jsonl)."),
    ] = None,
    output: OutputFile = None,
    format: CardForm = None,
    reading: Annotated[
        int | None,
        typer.Option(
            "--read",
            min=1,
            help="Measure nothing: write so many statements with their dialogues as --output.csv "
            "and .html, to be read by a person.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Draws the dialogues of --read.")] = 1,
    scoring: HeldOutFlags = HeldOutFlags(),
    style: Annotated[
        Style | None,
        typer.Option(
            help="What to measure: the words of the network (free), or faithful style. Without: "
            "free; for --read the model's own style."
        ),
    ] = None,
    long: Long = None,
    safe: Safe = None,
    decoding: SearchFlags = SearchFlags(),
    read: ReadOptions = ReadOptions(),
    allow_network: AllowNetwork = False,
    quiet: Quiet = False,
) -> int:
    """Score a system: ROUGE, faithfulness and more, with intervals, baselines and warnings.

    A model is measured in free style, by what its network writes.

    Example, by reading: dialogist evaluate default chats.jsonl --read 100 --output sheet
    """
    from dialogist.cli.evaluate_run import Call, EvaluationInputs, evaluate_call
    from dialogist.evaluation.annotation import is_sheet

    form = CardFormat.text if reading else output_format_of(output, format, CardFormat.text)
    if reading and format is not None:
        raise UsageError("--read writes CSV and HTML: leave --format out")
    if data is not None and on is not None:
        raise UsageError("DATA and --on are the same: give one of them")
    if is_sheet(Path(system)):
        from dialogist.cli.reading_sheet import sum_up

        with output_to(output):
            typer.echo(sum_up(Path(system), form))
        return 0
    search = {
        "style": style if style == "faithful" or (reading and style) else None,
        "long": long,
        "safe": safe,
        **vars(decoding),
    }
    asking = EvaluationInputs(
        data=data or on,
        reading=InputReading(read),
        flags=scoring,
        search={name: value for name, value in search.items() if value is not None},
    )
    if reading is not None:
        from dialogist.cli.reading_sheet import make_sheet

        return make_sheet(system, asking, output or Path("sheet"), reading, seed)
    call = Call(
        system=system,
        asking=asking,
        metrics=metrics,
        references=references,
        pack=pack,
        train_sample=train_sample,
        columns=columns,
        predictions=predictions,
    )
    result = evaluate_call(call)
    with output_to(output):
        typer.echo(card_in_form(result, form))
    if scores is not None:
        keep_scores(scores, result)
    return result.finish()


# What ``dialogist evaluate`` prints: a report card as text, Markdown or JSON.


CARD_SCHEMA_VERSION = 1

_AT_MOST = 4  # columns beside a name on a phone
_TYPES = ("rouge1", "rouge2", "rougeL", "rougeLsum")


def card_in_form(result: "Result", form: CardFormat) -> str:
    """The card."""
    from dialogist.evaluation.report_card import card_markdown, card_text

    if form is CardFormat.json:
        return json.dumps(_to_json(result), ensure_ascii=False, indent=2)
    card = result.evaluated.card
    if form is CardFormat.csv:
        return card_csv(card).rstrip("\n")
    return (card_markdown if form is CardFormat.md else card_text)(card, _headline(card, result))


def keep_scores(path: Path, result: "Result") -> None:
    """Write what was measured of every output of the system.

    Raises:
        DataError: it cannot be written.
    """
    from dialogist.evaluation.scoring import write_scores

    write_scores(path, result.evaluated.entries[0].scores)
    note(f"the numbers of every output are in {path}")


def _headline(card: "Card", result: "Result") -> "Sequence[str]":
    """The columns of the table: those asked for, ROUGE, or what was measured first."""
    usual = [result.wanted.key(f"{kind}.f1") for kind in _TYPES]
    known = [column.key for column in card.columns]
    return result.columns or [key for key in usual if key in known] or known[:_AT_MOST]


def _to_json(result: "Result") -> dict[str, "JSON"]:
    card = result.evaluated.card
    row = card.rows[0]
    return {
        "schema_version": CARD_SCHEMA_VERSION,
        "system": row.name,
        "dialogues": card.dialogues,
        "skipped": result.skipped,
        "references": card.references,
        "words": row.words,
        "reference_words": card.words,
        "average": _rouge(row, ""),
        "maximum": _rouge(row, "max."),
        "empty": row.empty,
        "cut": row.cut,
        "partial": row.partial,
        "predictions": [str(path) for path in result.files],
        "notes": list(result.evaluated.notes),
        "card": card.to_json(),
    }


def _rouge(row: "CardRow", best: str) -> dict[str, "JSON"]:
    keys = {kind: f"{kind}.{best}f1" for kind in _TYPES}
    return {kind: row.figures[key].figure for kind, key in keys.items() if key in row.figures}
