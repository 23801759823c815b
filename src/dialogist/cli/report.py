"""``dialogist report``: what systems are worth, as a page to look at."""

from pathlib import Path
from typing import Annotated

import typer

from dialogist.cli.flags import Columns, Device, Format, Strict, Threads, read_options
from dialogist.cli.reading import Reading
from dialogist.errors import UsageError


def report(
    systems: Annotated[
        list[str],
        typer.Argument(
            help="Runs, models, baselines (lead-3 ...), files of predictions; the first is what "
            "examples are chosen by."
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for report.html, report.md, figures/.")
    ],
    on: Annotated[
        Path | None,
        typer.Option(
            help="Dialogues with reference summaries (without: those of the files; of runs only "
            "their training is shown)."
        ),
    ] = None,
    run: Annotated[
        list[Path] | None,
        typer.Option(help="A run folder whose training is shown, too. Repeatable."),
    ] = None,
    metrics: Annotated[
        str, typer.Option(help="Names with commas; all: every one that can be measured here.")
    ] = "all",
    encoder: Annotated[
        Path | None, typer.Option(help="The encoder's folder, for bertscore.")
    ] = None,
    pack: Annotated[
        str | None, typer.Option("--pack", "-p", help="Rule pack, for key points.")
    ] = None,
    train_sample: Annotated[
        list[str] | None,
        typer.Option(
            help="Training data, of which models summarise a fixed sample; SYSTEM=FILE for one "
            "system (its predictions, where it is a file). Repeatable."
        ),
    ] = None,
    train: Annotated[
        list[Path] | None,
        typer.Option(help="Training data: is any of it in the data, too? Repeatable."),
    ] = None,
    baseline: Annotated[
        str, typer.Option(help="The system that differences are from (without: the first).")
    ] = "",
    floors: Annotated[
        bool, typer.Option("--floors/--no-floors", help="Floors and ceilings beside the systems.")
    ] = True,
    examples: Annotated[
        int, typer.Option(min=0, help="How many best, median, worst, most different.")
    ] = 3,
    title: Annotated[str, typer.Option(help="The report's title.")] = "Evaluation report",
    date: Annotated[
        str, typer.Option(help="A date or the like to be stated: the report knows no clock.")
    ] = "",
    predictions: Annotated[
        Path | None,
        typer.Option(help="Folder for the summaries of models (without: OUTPUT/predictions)."),
    ] = None,
    prediction_key: Annotated[
        str, typer.Option(help="The key or column of files' predictions (default: as usual).")
    ] = "",
    missing_as_empty: Annotated[
        bool, typer.Option("--missing-as-empty", help="Missing predictions count as empty ones.")
    ] = False,
    by_order: Annotated[
        bool, typer.Option("--by-order", help="Files' predictions follow the dialogues by line.")
    ] = False,
    exclude: Annotated[Path | None, typer.Option(help="File of ids to leave out.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N dialogues.")] = None,
    processes: Annotated[
        int | None, typer.Option(min=1, help="Processes that score (without: as it pays).")
    ] = None,
    format: Format = "auto",
    column: Columns = None,
    strict: Strict = False,
    device: Device = "auto",
    threads: Threads = None,
) -> int:
    """Write one self-contained page about systems: figures, cautions, examples, training."""
    from dialogist.cli.reporting import report_call
    from dialogist.cli.reporting_call import Call

    if on is None and (limit is not None or exclude is not None or by_order):
        raise UsageError("--limit, --exclude and --by-order are about --on DATA: give that, too")
    return report_call(
        Call(
            systems=tuple(systems),
            output=output,
            data=on,
            runs=tuple(run or ()),
            reading=Reading(read_options(format, column, strict)),
            metrics=metrics,
            encoder=encoder,
            pack=pack,
            train_sample=tuple(train_sample or ()),
            train=tuple(train or ()),
            baseline=baseline,
            floors=floors,
            examples=examples,
            title=title,
            stated=date,
            predictions=predictions or output / "predictions",
            prediction_key=prediction_key,
            missing_as_empty=missing_as_empty,
            by_order=by_order,
            exclude=exclude,
            limit=limit,
            processes=processes,
            device=device,
            threads=threads,
        )
    )
