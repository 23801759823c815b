"""``dialogist report``: what systems are worth, as a page to look at."""

from pathlib import Path
from typing import Annotated

import typer

from dialogist.cli.flags import Baseline, HeldOutFlags, Quiet
from dialogist.cli.inputs import InputReading, with_flags
from dialogist.formats import ReadOptions
from dialogist.errors import UsageError


@with_flags()
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
    baseline: Baseline = "",
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
    scoring: HeldOutFlags = HeldOutFlags(),
    read: ReadOptions = ReadOptions(),
    quiet: Quiet = False,
) -> int:
    """Write one self-contained page about systems: figures, cautions, examples, training."""
    from dialogist.cli.evaluate_run import EvaluationInputs
    from dialogist_lab.cli.report_inputs import ReportRun

    if on is None and (scoring.limit is not None or scoring.exclude or scoring.by_order):
        raise UsageError("--limit, --exclude and --by-order are about --on DATA: give that, too")
    return ReportRun(
        names=systems,
        output=output,
        asking=EvaluationInputs(data=on, reading=InputReading(read), flags=scoring, search={}),
        folders=run or [],
        metrics=metrics,
        pack=pack,
        train_sample=train_sample or [],
        baseline=baseline,
        examples=examples,
        title=title,
        stated=date,
        predictions=predictions or output / "predictions",
    ).report()
