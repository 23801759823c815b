"""``dialogist rate``: blind comparison of two systems by people: make the page, sum up answers."""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dialogist.cli.console import note
from dialogist.cli.flags import OutputFile, TableForm
from dialogist.cli.inputs import InputReading, with_flags
from dialogist.cli.output_formats import Table, output_format_of, output_to, tables_text
from dialogist.formats import ReadOptions
from dialogist.errors import DataError
from dialogist.files import short_names, writing
from dialogist.forms.filled import printable
from dialogist.language.tokens import counted

if TYPE_CHECKING:
    from dialogist_lab.rating import Falsehood, Preference, RatedPair, Rating


_HEADS = ("question", "A", "equal", "B", "A's share", "95%", "items A:B", "p", "alpha", "same")
_FALSE_HEADS = ("says something false", "marked", "answers", "share", "95%", "alpha", "same")
_NONE = "-"


def rating_as(form: Table, rating: "Rating") -> str:
    """Who is who, tables of figures, and what they mean; or all there is, as JSON."""
    from dialogist.evaluation.report_card import tables_markdown
    from dialogist_lab.report.contents import escape_markdown

    if form is Table.json:
        return json.dumps(rating.to_json(), ensure_ascii=False, indent=2)
    about, said = _about(rating), _said(rating)
    tables = [
        [_HEADS, *map(_preference, rating.preferences)],
        [_FALSE_HEADS, *map(_falsehood, rating.falsehoods)],
    ]
    if form is Table.md:
        about, said = map(escape_markdown, about), map(escape_markdown, said)
        return "\n\n".join(["  \n".join(about), tables_markdown(tables, said)])
    return "\n\n".join(["\n".join(about), tables_text(tables, said)])


def _about(rating: "Rating") -> Iterator[str]:
    a, b = rating.systems
    yield f"A is {printable(a)}, B is {printable(b)}"
    raters = ", ".join(f"{printable(name)} {count}" for name, count in rating.answered.items())
    yield f"{counted(rating.items, 'dialogues')}; answered whole: {raters}"
    if rating.identical:
        yield (
            f"{rating.identical} more were drawn whose summaries are identical: not shown, not "
            "counted below"
        )


def _preference(one: "Preference") -> tuple[str, ...]:
    return (
        one.question,
        *(str(count) for count in (one.a, one.equal, one.b)),
        _number(one.share, 1),
        _interval(one.interval),
        f"{one.items_a}:{one.items_b}",
        _p(one.p),
        _number(one.agreement.alpha, 2),
        _number(one.agreement.same, 0, "%"),
    )


def _falsehood(one: "Falsehood") -> tuple[str, ...]:
    return (
        printable(one.system),
        str(one.marked),
        str(one.answers),
        _number(one.share, 1, "%"),
        _interval(one.interval),
        _number(one.agreement.alpha, 2),
        _number(one.agreement.same, 0, "%"),
    )


def _said(rating: "Rating") -> Iterator[str]:
    yield (
        "A's share: how often A is preferred, equals being half each; interval: bootstrap over "
        "dialogues; items A:B and p: sign test, each dialogue once, by most of its raters"
    )
    if len(rating.answered) > 1:
        yield (
            "alpha: Krippendorff's (0 is chance, 0.8 and more is reliable); same: equal answers of "
            "two raters"
        )
    else:
        yield "one rater: how far people agree is not known"
    if rating.first + rating.second:
        yield (
            f"of {rating.first + rating.second} overall preferences {rating.first} are for the "
            f"summary shown first (p {_p(rating.place_p)})"
        )
    for remark in rating.remarks:
        rater, name, text = map(printable, (remark.rater, remark.id, remark.text))
        yield f"{rater} on {remark.item} ({name}): {text}"


def _interval(bounds: tuple[float, float]) -> str:
    low, high = bounds
    return _NONE if math.isnan(low) else f"{low:.1f} to {high:.1f}"


def _number(value: float, digits: int, unit: str = "") -> str:
    return _NONE if math.isnan(value) else f"{value:.{digits}f}{unit}"


def _p(value: float) -> str:
    return "<0.001" if value < 0.001 else f"{value:.3f}"


app = typer.Typer(
    help="Let people compare two systems' summaries blindly, and sum up what they say.",
    no_args_is_help=True,
)


@app.command()
@with_flags()
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
    from dialogist_lab.rating import make_rating_page, sample_pairs

    reading = InputReading(read)
    pairs = _pairs((a, b), reading, on, prediction_key, by_order)
    drawn = sample_pairs(pairs, count, seed)
    if not drawn.pairs:
        raise DataError(f"{a} and {b}: say the same about every dialogue: nothing to compare")
    first, second = short_names([str(a), str(b)])
    page = make_rating_page(drawn, (first, second), seed)
    with writing(output):
        output.write_text(page, encoding="utf-8")
    shown = len(drawn.pairs)
    fewer = "" if shown == count else f" (no more of the {len(pairs)} pairs differ)"
    note(
        f"{output}: {counted(shown, 'dialogues')}{fewer}; open it in any browser, or send it "
        f"to raters"
    )
    if drawn.identical:
        same = counted(drawn.identical, "identical pairs")
        note(f"{same} drawn: not shown, but told in the report")
    return reading.finish()


@app.command("report")
def report_ratings(
    files: Annotated[list[Path], typer.Argument(help="Answers that raters saved from the page.")],
    output: OutputFile = None,
    format: TableForm = None,
) -> int:
    """Print which system is preferred, with intervals, and how far the raters agree."""
    from dialogist_lab.rating import rate, read_answers

    form = output_format_of(output, format, Table.text)
    with output_to(output):
        typer.echo(rating_as(form, rate(read_answers(files))))
    return 0


@app.command("preferred")
def preferred_summaries(
    page: Annotated[Path, typer.Argument(help="The page that the raters had.")],
    files: Annotated[list[Path], typer.Argument(help="Answers that raters saved from the page.")],
    output: OutputFile = None,
) -> int:
    """Write the summaries that raters prefer, with their dialogues, as data for ``finetune``.

    A summary counts where more raters prefer it overall and nobody marks it as false.
    """
    from dialogist.formats.fields import dialogue_to_line
    from dialogist_lab.rating import preferred_dialogues, read_answers

    sheets = read_answers(files)
    found = list(preferred_dialogues(page, sheets))
    if not found:
        raise DataError(f"{page}: of no dialogue a summary is preferred that nobody marks as false")
    with output_to(output):
        for dialogue in found:
            typer.echo(dialogue_to_line(dialogue))
    note(f"{len(found)} of {counted(len(sheets.key.ids), 'dialogues')} have a preferred summary")
    return 0


def _pairs(
    files: tuple[Path, Path], reading: InputReading, on: Path, prediction_key: str, by_order: bool
) -> "list[RatedPair]":
    """What both systems say about the dialogues that both have an output for."""
    from dialogist.evaluation.system_outputs import DialogueChoice, JoinOptions, join_outputs
    from dialogist.recipe.predictions import read_located
    from dialogist_lab.rating import RatedPair

    dialogues = list(reading.dialogues([on]))
    found = [read_located(path, prediction_key, note) for path in files]
    every = range(len(dialogues))
    chosen = list(every)
    if not by_order:  # which dialogues both have an output for, ids alone can tell
        said = [{p.output.id for p in placed if not p.output.missing} for placed, _ in found]
        chosen = [i for i in every if all(dialogues[i].id in ids for ids in said)] or chosen
    if len(chosen) < len(dialogues):
        whole = counted(len(dialogues), "dialogues")
        note(f"{len(chosen)} of {whole} have a summary of both systems")
    choice = DialogueChoice(str(on), dialogues, chosen)
    outputs = []
    for path, (placed, bad) in zip(files, found, strict=True):
        joined = join_outputs(str(path), placed, choice, JoinOptions(order=by_order), bad)
        outputs.append(joined.outputs)
        for text in joined.notes:
            note(text)
    return [
        RatedPair(dialogue, (one.prediction, other.prediction))
        for dialogue, one, other in zip(choice.wanted, *outputs, strict=True)
    ]
