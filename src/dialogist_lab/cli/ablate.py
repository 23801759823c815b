"""``dialogist ablate``: train the variants of a recipe and compare them."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dialogist.cli.console import note
from dialogist.cli.flags import Data, Device, OutputFile, TableForm, Threads
from dialogist.cli.forms import Table, form_of, output_to, tables_text
from dialogist.errors import ConfigError, UsageError, nearest
from dialogist.text.tokens import counted
from dialogist_lab.cli.compare import run_system
from dialogist_lab.cli.compare_output import SystemFailure, clock_time

if TYPE_CHECKING:  # they are torch's: not for --help
    from dialogist.evaluation.report_card import Card
    from dialogist_lab.ablation import AblationConfig, AblationFigure, AblationRow, Variant
    from dialogist_lab.comparison import (
        ComparisonRequest,
        ComparisonRow,
        ComparisonSetting,
        RunFacts,
    )


ABLATION_VERSION = 1
_NONE = "-"
_CHANCE = 0.05


@dataclass(slots=True)
class Ablation:
    """All there is to show; ``waiting`` rows have not been trained yet."""

    base: str
    budget: str
    machine: str
    rows: "Sequence[AblationRow]" = ()
    waiting: Sequence[str] = ()
    card: "Card | None" = None
    failed: list[SystemFailure] = field(default_factory=list)


def ablation_json(shown: Ablation) -> str:
    """One object; see docs/reference/evaluation-files.md for its fields."""
    values = {
        "schema_version": ABLATION_VERSION,
        "base": shown.base,
        "budget": shown.budget,
        "machine": shown.machine,
        "rows": [row.to_json() for row in shown.rows],
        "waiting": list(shown.waiting),
        "failed": [{"row": one.name, "error": one.error} for one in shown.failed],
        "card": None if shown.card is None else shown.card.to_json(),
    }
    return json.dumps(values, ensure_ascii=False, indent=2)


def ablation_text(shown: Ablation) -> str:
    """Aligned columns, then remarks."""
    cells = list(_cells(shown))
    return tables_text([cells], _remarks(shown), (0, len(cells[0]) - 1))


def ablation_markdown(shown: Ablation) -> str:
    """A Markdown table and a list."""
    from dialogist.evaluation.report_card import tables_markdown

    cells = list(_cells(shown))
    return tables_markdown([cells], _remarks(shown), (0, len(cells[0]) - 1))


def _cells(shown: Ablation) -> Iterator[list[str]]:
    names: Mapping[str, AblationFigure] = shown.rows[0].figures if shown.rows else {}
    yield ["row", *names, "length", "cut", "updates", "time", "changes"]
    for row in shown.rows:
        yield [
            row.name,
            *map(_figure, row.figures.values()),
            f"{row.length:.2f}",
            str(row.cut),
            _NONE if row.run.updates is None else str(row.run.updates),
            clock_time(row.seconds),
            ", ".join(row.settings),
        ]


def _figure(found: "AblationFigure") -> str:
    """``43.2 (+1.1*)``: the figure, its gain, and a star where that is more than chance."""
    if found.value is None:
        return _NONE
    if found.gain is None:
        return f"{found.value:.1f}"
    star = "*" if found.chance is not None and found.chance < _CHANCE else ""
    return f"{found.value:.1f} ({found.gain:+.1f}{star})"


def _remarks(shown: Ablation) -> Iterator[str]:
    card = shown.card
    if card is not None:
        yield (
            f"{counted(card.dialogues, 'dialogues')} of {card.data}, {card.references:.2f} "
            f"references each; "
            "R1, R2, RL: F1 x 100; in brackets the gain over the base, * p < 0.05 over dialogues, "
            "corrected for all rows and knowing nothing of other seeds"
        )
        yield (
            "unsupported: summaries with a name, speaker, number or other entity that the "
            "dialogue does not bear out; roles: those in which rules see who did what mixed up; "
            "repeating: those that say four words twice; length: words to those of a reference"
        )
    yield f"{shown.base}, {shown.budget} for each row, on {shown.machine}; time: training alone"
    for row in shown.rows:
        if row.run.started_from is not None:
            yield f"{row.name}: began with {row.run.started_from}, whose time is not in its own"
    for failure in shown.failed:
        yield f"{failure.name}: failed: {failure.error}"
    if shown.waiting:
        yield f"still to come: {', '.join(shown.waiting)}"


_SHOWN = {Table.text: ablation_text, Table.md: ablation_markdown, Table.json: ablation_json}


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
    import torch

    from dialogist.nn.quantization import pick_device
    from dialogist.recipe.recipe_config import DataSet, data_folder
    from dialogist.recipe.systems import System
    from dialogist_lab.ablation import read_ablation, variants
    from dialogist_lab.comparison import ComparisonRequest, settle_comparison

    form = form_of(output, format, Table.text)
    if threads is not None:
        torch.set_num_threads(threads)
    config = read_ablation(file)
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
        device=pick_device(device),
        metrics=("faithfulness", "copying"),
        floors=False,
    )
    systems = [System(row.name, row.recipe, row.run) for row in rows]
    setting = settle_comparison(systems, wanted, note)
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


def _machine(wanted: "ComparisonRequest") -> str:
    import torch

    if wanted.device.type == "cuda":
        return str(torch.cuda.get_device_name(wanted.device))
    return f"{torch.get_num_threads()} threads of {os.cpu_count()} cores"


def _work(
    rows: "Sequence[Variant]",
    config: "AblationConfig",
    setting: "ComparisonSetting",
    shown: Ablation,
    runs: Path,
    quiet: bool,
) -> None:
    """ComparisonRow after row; after each the table so far is written."""
    from dialogist.files import write_text_atomically
    from dialogist.recipe.recipe_config import RunPlace
    from dialogist.recipe.systems import System
    from dialogist_lab.ablation import budgeted
    from dialogist_lab.comparison import reference_row

    done: list[ComparisonRow] = []
    for number, row in enumerate(rows, 1):
        if not quiet:
            note(f"[{number}/{len(rows)}] {row.name}: {', '.join(row.settings) or 'as it is'}")
        place = RunPlace(setting.wanted.data, row.run, setting.wanted.device)
        prepare = partial(budgeted, row, config, place, note)
        system = System(row.name, row.recipe, row.run)
        outcome = run_system(system, setting, quiet, row.decoding, prepare)
        if isinstance(outcome, SystemFailure):
            shown.failed.append(outcome)
        else:
            done.append(outcome)
        shown.waiting = [left.name for left in rows[number:]]
        _fill(shown, [*done, reference_row(setting)] if done else [], rows, setting)
        write_text_atomically(runs / "ablation.md", ablation_markdown(shown) + "\n")
        write_text_atomically(runs / "ablation.json", ablation_json(shown) + "\n")


def _fill(
    shown: Ablation,
    done: "Sequence[ComparisonRow]",
    rows: "Sequence[Variant]",
    setting: "ComparisonSetting",
) -> None:
    from dialogist_lab.ablation import ablation_rows
    from dialogist_lab.comparison import comparison_card

    if not done:
        return
    runs: dict[str, RunFacts] = {row.name: row.run for row in done}
    shown.card = comparison_card(done, setting)
    shown.rows = ablation_rows(shown.card, {row.name: row.settings for row in rows}, runs)
