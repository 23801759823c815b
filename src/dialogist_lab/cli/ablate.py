"""``dialogist ablate``: what each change to a recipe gains, all rows on the same budget."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dialogist.cli.console import TrainingDisplay, note
from dialogist.cli.destination import form_of, output_to
from dialogist.cli.flags import Data, Device, OutputFile, TableForm, Threads
from dialogist.cli.forms import DeviceKind, Table
from dialogist.cli.progress import progress
from dialogist.errors import DialogistError, UsageError, nearest
from dialogist_lab.cli.ablate_table import Ablation, as_json, as_markdown, as_text
from dialogist_lab.cli.compare_table import Failure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dialogist_lab.comparison.ablation import AblationConfig, Variant
    from dialogist_lab.comparison.compare import Row, Setting, Wanted
    from dialogist_lab.comparison.run_facts import RunFacts

_SHOWN = {Table.text: as_text, Table.md: as_markdown, Table.json: as_json}


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
    device: Device = DeviceKind.auto,
    threads: Threads = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say errors only.")] = False,
) -> int:
    """Train every row of an ablation on an equal budget, and show what it gains over the base.

    The same command goes on after a stop. RUNS/ablation.md and .json hold the table so far.
    """
    import torch

    from dialogist.nn.quantization import pick_device
    from dialogist.recipe.config import DataSet, data_folder
    from dialogist.recipe.systems import System
    from dialogist_lab.comparison.ablation import read_ablation, variants
    from dialogist_lab.comparison.compare import Wanted, settle

    form = form_of(output, format, Table.text)
    if threads is not None:
        torch.set_num_threads(threads)
    config = read_ablation(file)
    runs = runs or Path("runs") / file.stem
    rows = _chosen(variants(config, runs), only)
    wanted = Wanted(
        on=None if on is None else DataSet(path=str(on.absolute())),
        limit=limit,
        pack="none",
        data=data_folder(data),
        predictions=runs / "predictions",
        device=pick_device(device),
        metrics=("faithfulness", "copying"),
        floors=False,
    )
    systems = [System(row.name, row.recipe, row.run) for row in rows]
    setting = settle(systems, wanted, note)
    shown = Ablation(config.base, str(config.budget), _machine(wanted))
    _work(rows, config, setting, shown, runs, quiet)
    with output_to(output):
        typer.echo(_SHOWN[form](shown))
    return shown.failed[0].exit_code if shown.failed else 3 if setting.bad else 0


def _chosen(rows: "list[Variant]", only: str) -> "list[Variant]":
    """The base, and the rows that are wanted."""
    names = [name.strip() for name in only.split(",") if name.strip()]
    known = [row.name for row in rows]
    for name in names:
        if name not in known:
            raise UsageError(f"--only {name}: is no row{nearest(name, known)}")
    return [row for row in rows if not names or row.name in (known[0], *names)]


def _machine(wanted: "Wanted") -> str:
    import torch

    if wanted.device.type == "cuda":
        return str(torch.cuda.get_device_name(wanted.device))
    return f"{torch.get_num_threads()} threads of {os.cpu_count()} cores"


def _work(
    rows: "Sequence[Variant]",
    config: "AblationConfig",
    setting: "Setting",
    shown: Ablation,
    runs: Path,
    quiet: bool,
) -> None:
    """Row after row; after each the table so far is written."""
    from dialogist.files import write_text_atomically
    from dialogist_lab.comparison.compare import reference_row

    done: list[Row] = []
    for number, row in enumerate(rows, 1):
        if not quiet:
            note(f"[{number}/{len(rows)}] {row.name}: {', '.join(row.settings) or 'as it is'}")
        outcome = _outcome(row, config, setting, quiet)
        if isinstance(outcome, Failure):
            shown.failed.append(outcome)
        else:
            done.append(outcome)
        shown.waiting = [left.name for left in rows[number:]]
        _fill(shown, [*done, reference_row(setting)] if done else [], rows, setting)
        write_text_atomically(runs / "ablation.md", as_markdown(shown) + "\n")
        write_text_atomically(runs / "ablation.json", as_json(shown) + "\n")


def _fill(
    shown: Ablation, done: "Sequence[Row]", rows: "Sequence[Variant]", setting: "Setting"
) -> None:
    from dialogist_lab.comparison.ablation_row import rows_of
    from dialogist_lab.comparison.compare import card_of

    if not done:
        return
    runs: dict[str, RunFacts] = {row.name: row.run for row in done}
    shown.card = card_of(done, setting)
    shown.rows = rows_of(shown.card, {row.name: row.settings for row in rows}, runs)


def _outcome(
    row: "Variant", config: "AblationConfig", setting: "Setting", quiet: bool
) -> "Row | Failure":
    """A row that fails is told in one line, and the others still run."""
    from dialogist.recipe.config import Place
    from dialogist_lab.comparison.ablation import budgeted
    from dialogist_lab.comparison.compare import assess, is_trained, train

    place = Place(setting.wanted.data, row.run, setting.wanted.device)
    try:
        system = budgeted(row, config, place, note)
        if not is_trained(system):
            with TrainingDisplay(quiet) as display:
                train(system, setting, display)
        tell = progress(f"{row.name}:", len(setting.judge.dialogues), quiet)
        return assess(system, setting, tell, row.decoding)
    except DialogistError as error:
        note(f"{row.name}: failed: {error}")
        return Failure(row.name, " ".join(str(error).split()), error.exit_code)
