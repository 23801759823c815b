"""``dialogist rate``: blind comparison of two systems by people: make the page, sum up answers."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dialogist.cli.console import note
from dialogist.cli.destination import form_of, output_to
from dialogist.cli.flags import (
    OutputFile,
    TableForm,
)
from dialogist.cli.forms import Table
from dialogist.cli.naming import short_names
from dialogist.cli.read_flags import with_read_flags
from dialogist.cli.reading import Reading
from dialogist.data.readers import ReadOptions
from dialogist.errors import DataError
from dialogist.text.listing import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dialogist.evaluation.outputs.joining import Choice
    from dialogist.evaluation.outputs.reading import Placed
    from dialogist.records import Dialogue
    from dialogist_lab.rating.page import Pair

app = typer.Typer(
    help="Let people compare two systems' summaries blindly, and sum up what they say.",
    no_args_is_help=True,
)


@app.command()
@with_read_flags()
def make(
    a: Annotated[Path, typer.Argument(metavar="A", help="One system's predictions file.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="The other system's.")],
    on: Annotated[Path, typer.Option(help="The dialogues that the predictions are of.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the page goes (HTML).")],
    count: Annotated[int, typer.Option(min=1, help="How many dialogues to show.")] = 50,
    seed: Annotated[int, typer.Option(min=0, help="Draws the dialogues and the sides.")] = 1,
    prediction_key: Annotated[
        str, typer.Option(help="The key or column of the predictions (without: the usual names).")
    ] = "",
    by_order: Annotated[
        bool, typer.Option("--by-order", help="Predictions follow the dialogues line by line.")
    ] = False,
    read: ReadOptions = ReadOptions(),
) -> int:
    """Make one HTML page on which raters see a dialogue beside both summaries, in random order."""
    from dialogist_lab.rating.page import draw, make_page

    reading = Reading(read)
    pairs = _pairs((a, b), reading, on, (prediction_key, by_order))
    drawn = draw(pairs, count, seed)
    if not drawn.pairs:
        raise DataError(f"{a} and {b}: say the same about every dialogue: nothing to compare")
    first, second = short_names([str(a), str(b)])
    page = make_page(drawn, (first, second), seed)
    try:
        output.write_text(page, encoding="utf-8")
    except OSError as error:
        raise DataError(f"{output}: cannot be written: {error.strerror}") from None
    shown = len(drawn.pairs)
    fewer = "" if shown == count else f" (no more of the {len(pairs)} pairs differ)"
    note(
        f"{output}: {counted(shown, 'dialogues')}{fewer}; open it in any browser, or send it "
        f"to raters"
    )
    if drawn.identical:
        note(f"{drawn.identical} pairs drawn are identical: not shown, but told in the report")
    return reading.finish()


@app.command()
def report(
    files: Annotated[list[Path], typer.Argument(help="Answers that raters saved from the page.")],
    output: OutputFile = None,
    format: TableForm = None,
) -> int:
    """Print which system is preferred, with intervals, and how far the raters agree."""
    from dialogist_lab.cli.rating_table import FORMS
    from dialogist_lab.rating.answers import read_answers
    from dialogist_lab.rating.preference import rate

    form = form_of(output, format, Table.text)
    with output_to(output):
        typer.echo(FORMS[form](rate(read_answers(files))))
    return 0


def _pairs(
    files: tuple[Path, Path], reading: Reading, on: Path, how: tuple[str, bool]
) -> "list[Pair]":
    """What both systems say about the dialogues that both have an output for."""
    from dialogist.evaluation.outputs.joining import How, join
    from dialogist_lab.rating.page import Pair

    prediction_key, by_order = how
    dialogues = list(reading.dialogues([on]))
    found = [_read(path, prediction_key) for path in files]
    choice = _shared(on, dialogues, [placed for placed, _ in found], by_order)
    outputs = []
    for path, (placed, bad) in zip(files, found, strict=True):
        joined = join(str(path), placed, choice, How(order=by_order), bad)
        outputs.append(joined.outputs)
        for text in joined.notes:
            note(text)
    return [
        Pair(dialogue, (one.prediction, other.prediction))
        for dialogue, one, other in zip(choice.wanted, *outputs, strict=True)
    ]


def _read(path: Path, prediction_key: str) -> "tuple[list[Placed], int]":
    """The outputs of a file, and how many of its records could not be read."""
    from dialogist.evaluation.outputs.reading import read_outputs

    problems: list[str] = []
    placed = list(read_outputs(path, lambda p: problems.append(str(p)), prediction_key, False))
    for problem in problems:
        note(problem)
    return placed, len(problems)


def _shared(
    on: Path, dialogues: "Sequence[Dialogue]", found: "Sequence[list[Placed]]", by_order: bool
) -> "Choice":
    """The dialogues that both files have an output for. Which those are, ids alone can tell."""
    from dialogist.evaluation.outputs.joining import Choice

    every = range(len(dialogues))
    chosen = list(every)
    if not by_order:
        said = [{p.output.id for p in placed if not p.output.missing} for placed in found]
        chosen = [i for i in every if all(dialogues[i].id in ids for ids in said)] or chosen
    if len(chosen) < len(dialogues):
        note(
            f"{len(chosen)} of {counted(len(dialogues), 'dialogues')} have a summary of both "
            f"systems"
        )
    return Choice(str(on), dialogues, chosen)
