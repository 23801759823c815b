"""``dialogist compare``: train or load systems and put them into one table (KDD'19, Table 4)."""

import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dialogist.cli.console import TrainingDisplay, note, progress
from dialogist.cli.flags import (
    AllowNetwork,
    Baseline,
    CardForm,
    Data,
    OutputFile,
    ScoringFlags,
    choose_device,
    tell_measured_style,
)
from dialogist.cli.inputs import with_flags
from dialogist.cli.output_formats import CardFormat, output_format_of, output_to
from dialogist.formats import ReadOptions
from dialogist.errors import DataError, DialogistError, MissingExtraError, UsageError
from dialogist.files import writing
from dialogist.forms.filled import printable
from dialogist_lab.cli.compare_output import (
    Comparison,
    SystemFailure,
    comparison_as,
    comparison_line,
)

if TYPE_CHECKING:
    from dialogist.decoding import DecodingOptions
    from dialogist.recipe.recipe_config import DataSet
    from dialogist.recipe.systems import System


@with_flags(strict=False)
def compare(
    systems: Annotated[
        list[str],
        typer.Argument(
            help="Recipes (names or files), models (folders, runs, names), baselines (lead-3 ...), "
            "files of predictions."
        ),
    ],
    on: Annotated[
        Path | None,
        typer.Option(help="Dialogues with references (without: the recipes' development data)."),
    ] = None,
    read: ReadOptions = ReadOptions(),
    pack: Annotated[
        str | None,
        typer.Option(
            "--pack",
            "-p",
            help="Rule pack for key points, a name or a file; none: no key points (without: "
            "that of the systems, or of the data's format).",
        ),
    ] = None,
    runs: Annotated[Path, typer.Option(help="Recipes are trained in RUNS/NAME.")] = Path(
        "runs/compare"
    ),
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", "-s", help="KEY.KEY=VALUE over every recipe. Repeatable."),
    ] = None,
    start: Annotated[
        list[str] | None,
        typer.Option(
            "--from",
            help="RECIPE=MODEL: that recipe begins with the weights of a model, a run, or a recipe "
            "named before it. Repeatable.",
        ),
    ] = None,
    data: Data = None,
    predictions: Annotated[
        Path | None,
        typer.Option(help="Folder for the summaries (without: RUNS/predictions)."),
    ] = None,
    metrics: Annotated[
        str, typer.Option(help="More metrics, names with commas; see dialogist evaluate.")
    ] = "",
    columns: Annotated[
        str,
        typer.Option(help="Keys of the figures with intervals, with commas; see --format json."),
    ] = "",
    baseline: Baseline = "",
    scores: Annotated[
        Path | None, typer.Option(help="Folder for the numbers of every output, to be read again.")
    ] = None,
    scoring: ScoringFlags = ScoringFlags(),
    output: OutputFile = None,
    format: CardForm = None,
    plot: Annotated[
        Path | None, typer.Option(help="Figures 2 to 4 of the paper as a PNG file.")
    ] = None,
    allow_network: AllowNetwork = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say errors only.")] = False,
) -> int:
    """Compare systems on the same dialogues. The same command goes on after an interruption."""
    from dialogist.evaluation.metric_selection import (
        check_columns,
        column_keys,
        select_names,
        split_names,
    )
    from dialogist.model_folder.model_files import find_model
    from dialogist.recipe.recipe_config import data_folder
    from dialogist.recipe.systems import find_systems
    from dialogist_lab.comparison import ComparisonRequest, settle_comparison

    form = output_format_of(output, format, CardFormat.text)
    if plot is not None:
        _require_plots(plot)
    wanted = ComparisonRequest(
        on=_data_set(on, read),
        limit=scoring.limit,
        pack=pack,
        data=data_folder(data),
        predictions=predictions or runs / "predictions",
        device=choose_device(scoring.device, scoring.threads),
        metrics=select_names(metrics, (), {"bertscore": scoring.encoder is not None}),
        encoder=scoring.encoder,
        baseline=baseline,
        floors=scoring.floors,
        written=scoring.written,
        processes=scoring.processes,
    )
    found = find_systems(systems, runs, assignments or [], _starts(start or []))
    for one in found:
        if one.recipe is None and one.folder is not None:
            tell_measured_style(one.name, find_model(str(one.folder)))
    setting = settle_comparison(found, wanted, note)
    keys = split_names(columns)
    check_columns(keys, column_keys(setting.every))
    comparison = Comparison(setting)
    for number, system in enumerate(found, 1):
        if not quiet:
            note(f"[{number}/{len(found)}] {system.name}")
        run_system(comparison, system, quiet)
    _add_floors(comparison)
    with output_to(output):
        typer.echo(comparison_as(form, comparison, keys))
    if scores is not None:
        _keep(comparison, scores)
    if plot is not None:
        _plot(comparison, found, plot)
    return comparison.failed[0].exit_code if comparison.failed else 3 if setting.bad else 0


def run_system(
    comparison: Comparison,
    system: "System",
    quiet: bool,
    options: "DecodingOptions | None" = None,
    prepare: "Callable[[], System] | None" = None,
) -> None:
    """Add the row of a system. One that fails is told in one line, and the others still run.

    ``prepare`` settles what is still open of it before it is trained.
    """
    from dialogist.recipe.recipe_config import RunPlace
    from dialogist.recipe.training_run import train_recipe
    from dialogist.training.runtime import Interrupted
    from dialogist_lab.comparison import assess, is_trained

    setting = comparison.setting
    try:
        system = system if prepare is None else prepare()
        if system.recipe is not None and system.folder is not None and not is_trained(system):
            place = RunPlace(setting.wanted.data, system.folder, setting.wanted.device)
            with TrainingDisplay(quiet) as display:
                train_recipe(system.recipe, place, display)
        total = len(setting.choice.chosen)
        row = assess(system, setting, progress(f"{system.name}:", total, quiet), options)
    except Interrupted:
        raise
    except Exception as error:
        _add_failure(comparison, system.name, error)
        return
    comparison.rows.append(row)
    if not quiet:
        note(comparison_line(row))


def _add_failure(comparison: Comparison, name: str, error: Exception) -> None:
    """Tell of it. Even a bug of ours, or no memory left, is no reason to stop the others."""
    if isinstance(error, DialogistError):
        failure = SystemFailure(name, printable(str(error)), error.exit_code)
    elif os.environ.get("DIALOGIST_DEBUG"):
        raise error
    else:
        what = f"unexpected {type(error).__name__}: {error} (DIALOGIST_DEBUG=1 stops there)"
        failure = SystemFailure(name, printable(what), 1)
    note(f"{failure.name}: failed: {failure.error}")
    comparison.failed.append(failure)


def _add_floors(comparison: Comparison) -> None:
    """Floors and ceilings, and the card of all; without a system there is nothing to compare."""
    from dialogist.recipe.evaluation_run import floors_and_ceilings
    from dialogist_lab.comparison import comparison_card

    if not comparison.rows:
        return
    setting = comparison.setting
    try:
        if setting.wanted.floors:
            silent, names = setting.choice.silent(), [row.name for row in comparison.rows]
            for entry in floors_and_ceilings(silent, names, setting.score, setting.metrics):
                comparison.floors.append(entry)
    except Exception as error:
        _add_failure(comparison, "floors and ceilings", error)
    comparison.card = comparison_card(comparison.entries, setting)


def _keep(comparison: Comparison, folder: Path) -> None:
    """Write what was measured of every system's outputs."""
    from dialogist.evaluation.scoring import write_scores
    from dialogist.recipe.systems import file_name_of

    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    for row in comparison.rows:
        name = file_name_of(row.name)
        write_scores(folder / f"{name}.scores.jsonl", row.entry.scores)
    note(f"the numbers of every output are in {folder}")


def _data_set(on: Path | None, read: ReadOptions) -> "DataSet | None":
    """``--on`` with the flags about it as the data set of a recipe.

    Raises:
        DataError: there is no such file.
        UsageError: there are flags about it, and no ``--on``.
    """
    from dialogist.recipe.recipe_config import DataSet

    if on is None:
        if read != ReadOptions():
            raise UsageError("--input-format, --column ... say how to read --on: give that, too")
        return None
    if not on.is_file():
        raise DataError(f"{on}: no such file")
    named = ("format", "encoding", "one_dialogue", "by_neighbours", "internal_notes")
    options = {name: getattr(read, name) for name in named}
    where = [str(condition) for condition in read.where]
    path = str(on.absolute())
    return DataSet.parse({**options, "path": path, "columns": dict(read.columns), "where": where})


def _starts(entries: Iterable[str]) -> dict[str, str]:
    """``--from`` as recipe: model."""
    starts: dict[str, str] = {}
    for entry in entries:
        recipe, equals, model = entry.partition("=")
        if not (recipe and equals and model):
            raise UsageError(f"--from {entry}: write it as RECIPE=MODEL")
        starts[recipe] = model
    return starts


def _require_plots(path: Path) -> None:
    """See beforehand that the plot can be drawn: at the end it may be hours later."""
    if path.suffix.lower() != ".png":
        raise UsageError(f"--plot {path}: name it .png")
    if not path.absolute().parent.is_dir():
        raise DataError(f"--plot {path}: there is no folder {path.parent}")
    if find_spec("matplotlib") is None:
        raise MissingExtraError("--plot", "eval")


def _plot(comparison: Comparison, found: "list[System]", path: Path) -> None:
    from dialogist_lab.report.plots import overview
    from dialogist_lab.report.subject import Run, is_run

    subject = comparison.subject()
    if subject is not None:
        runs = (Run(one.name, one.folder) for one in found if one.folder and is_run(one.folder))
        path.write_bytes(overview(replace(subject, runs=tuple(runs))).png())
        note(f"figures are in {path}")
