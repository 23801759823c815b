"""``dialogist ablate``: train the variants of a recipe and compare them."""

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dialogist.cli.console import note
from dialogist.cli.flags import Data, Device, OutputFile, TableForm, Threads, choose_device
from dialogist.cli.output_formats import Table, output_format_of, output_to
from dialogist.config import read_yaml
from dialogist.errors import ConfigError, UsageError, nearest
from dialogist_lab.cli.compare import run_system
from dialogist_lab.cli.compare_output import Ablation, Comparison, comparison_as

if TYPE_CHECKING:  # they are torch's: not for --help
    from dialogist_lab.ablation import AblationConfig, Variant
    from dialogist_lab.comparison import ComparisonRequest


_KEYS = (
    *("rouge1.f1", "rouge2.f1", "rougeL.f1"),
    *("faithfulness.any", "faithfulness.swap", "copying.repeats4"),
)


def ablate(
    file: Annotated[Path, typer.Argument(help="The base recipe, the budget and the rows (YAML).")],
    on: Annotated[
        Path | None,
        typer.Option(help="Dialogues with references (without: the base's development data)."),
    ] = None,
    only: Annotated[str, typer.Option(help="Rows with commas: train and show no others.")] = "",
    limit: Annotated[int | None, typer.Option(min=1, help="The first so many dialogues.")] = None,
    runs: Annotated[
        Path | None, typer.Option(help="Rows are trained in RUNS/ROW (runs/FILE unless given).")
    ] = None,
    data: Data = None,
    output: OutputFile = None,
    format: TableForm = None,
    device: Device = "auto",
    threads: Threads = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say errors only.")] = False,
) -> int:
    """Train every row of an ablation on an equal budget, and show what it gains over the base.

    The same command goes on after a stop. RUNS/ablation.md and .json hold the table so far.
    """
    from dialogist.recipe.recipe_config import DataSet, data_folder
    from dialogist.recipe.systems import System
    from dialogist_lab.ablation import AblationConfig, variants
    from dialogist_lab.comparison import ComparisonRequest, settle_comparison

    form = output_format_of(output, format, Table.text)
    config = AblationConfig.parse(read_yaml(file), str(file))
    runs = runs or Path("runs") / file.stem
    try:
        rows = _chosen(variants(config, runs), only)
    except ConfigError as error:
        raise ConfigError(f"{file}, {error}") from None
    wanted = ComparisonRequest(
        on=None if on is None else DataSet(path=str(on.absolute())),
        limit=limit,
        pack="none",
        data=data_folder(data),
        predictions=runs / "predictions",
        device=choose_device(device, threads),
        metrics=("faithfulness", "copying"),
        floors=False,
    )
    systems = [System(row.name, row.recipe, row.run) for row in rows]
    about = Ablation(
        base=config.base,
        budget=str(config.budget),
        machine=_machine(wanted),
        settings={row.name: list(row.settings) for row in rows},
    )
    comparison = Comparison(settle_comparison(systems, wanted, note), ablation=about)
    _work(rows, config, comparison, runs, quiet)
    with output_to(output):
        typer.echo(comparison_as(form, comparison, _KEYS))
    failed = comparison.failed
    return failed[0].exit_code if failed else 3 if comparison.setting.bad else 0


def _chosen(rows: "list[Variant]", only: str) -> "list[Variant]":
    """The base, and the rows that are wanted."""
    names = [name.strip() for name in only.split(",") if name.strip()]
    known = [row.name for row in rows]
    for name in names:
        if name not in known:
            raise UsageError(f"--only {name}: is no row{nearest(name, known)}")
    return [row for row in rows if not names or row.name in (known[0], *names)]


def _machine(wanted: "ComparisonRequest") -> str:
    import torch

    if wanted.device.type == "cuda":
        return str(torch.cuda.get_device_name(wanted.device))
    return f"{torch.get_num_threads()} threads of {os.cpu_count()} cores"


def _work(
    rows: "Sequence[Variant]",
    config: "AblationConfig",
    comparison: Comparison,
    runs: Path,
    quiet: bool,
) -> None:
    """Row after row; after each the table so far is written."""
    from dialogist.files import write_text_atomically
    from dialogist.recipe.evaluation_run import reference_entry
    from dialogist.recipe.recipe_config import RunPlace
    from dialogist.recipe.systems import System
    from dialogist_lab.ablation import budgeted
    from dialogist_lab.comparison import comparison_card

    setting = comparison.setting
    assert comparison.ablation is not None
    people = reference_entry(setting.choice.silent(), setting.metrics)
    comparison.floors = [] if people is None else [people]
    for number, row in enumerate(rows, 1):
        if not quiet:
            note(f"[{number}/{len(rows)}] {row.name}: {', '.join(row.settings) or 'as it is'}")
        place = RunPlace(setting.wanted.data, row.run, setting.wanted.device)
        prepare = partial(budgeted, row, config, place, note)
        system = System(row.name, row.recipe, row.run)
        run_system(comparison, system, quiet, row.decoding, prepare)
        comparison.ablation.waiting = [left.name for left in rows[number:]]
        if comparison.rows:
            comparison.card = comparison_card(comparison.entries, setting)
        for one in ("md", "json"):
            table = comparison_as(one, comparison, _KEYS)
            write_text_atomically(runs / f"ablation.{one}", f"{table}\n")
