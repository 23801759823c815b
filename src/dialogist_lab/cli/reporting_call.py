"""The flags of ``dialogist report``, and what they name: systems, runs, dialogues, metrics."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dialogist.cli.asking import Asking
from dialogist.cli.console import note
from dialogist.cli.naming import short_names
from dialogist.errors import DataError, UsageError
from dialogist.evaluation.metric_selection import MetricSelection, metric_names
from dialogist.recipe.evaluate import Said
from dialogist.recipe.systems import System, choose_pack, find_systems
from dialogist_lab.report.model import Run

_LOG = "metrics.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """The flags: see `report`."""

    systems: tuple[str, ...]
    output: Path
    asking: Asking
    runs: tuple[Path, ...]
    metrics: str
    encoder: Path | None
    pack: str | None
    train_sample: tuple[str, ...]
    baseline: str
    floors: bool
    examples: int
    title: str
    stated: str
    predictions: Path
    processes: int | None


def systems_of(call: Call) -> list[System]:
    """Those that are to be evaluated, under short names."""
    names = [
        name for name in call.systems if call.asking.data is not None or not _is_run(Path(name))
    ]
    systems = find_systems(names, Path(), [], {})
    for system in systems:
        if system.recipe is not None:
            raise UsageError(f"{system.name}: is a recipe: give its run folder")
        if call.asking.data is None and system.outputs is None:
            raise UsageError(f"{system.name}: say which dialogues it shall summarise: --on DATA")
    paths = [system.name for system in systems if system.folder or system.outputs]
    short = dict(zip(paths, short_names(paths), strict=True))
    return [replace(system, name=short.get(system.name, system.name)) for system in systems]


def _is_run(folder: Path) -> bool:
    return (folder / _LOG).is_file()


def runs_of(call: Call, systems: Sequence[System]) -> tuple[Run, ...]:
    """The run folders whose training is shown."""
    for folder in call.runs:
        if not _is_run(folder):
            raise DataError(f"{folder}: holds no {_LOG}: it is no run folder")
    of_models = [
        folder for one in systems if one.folder for folder in (one.folder, one.folder.parent)
    ]
    lone = [Path(name) for name in call.systems if call.asking.data is None]
    folders = {
        folder.resolve(): folder for folder in (*lone, *of_models, *call.runs) if _is_run(folder)
    }
    names = short_names([str(folder) for folder in folders])
    return tuple(map(Run, names, folders.values()))


def wanted_of(call: Call, systems: Sequence[System]) -> MetricSelection:
    """The metrics.

    Raises:
        ConfigError: the rule pack is at fault.
        UsageError: there is no metric of such a name, or the systems have different rule packs.
    """
    pack = choose_pack(call.pack, systems, call.asking.sets, Path())
    return MetricSelection(metric_names(call.metrics), encoder=call.encoder, pack=pack)


def samples_of(call: Call, systems: Sequence[System]) -> dict[str, Path]:
    """The file of the train sample by system: ``SYSTEM=FILE``, or one for all that can be asked."""
    names = dict(zip(call.systems, (system.name for system in systems), strict=False))
    found: dict[str, Path] = {}
    for entry in call.train_sample:
        name, equals, file = entry.partition("=")
        if equals and (name in names or name in names.values()):
            found[names.get(name, name)] = Path(file)
            continue
        for system in systems:
            if system.outputs is None:
                found.setdefault(system.name, Path(entry))
            else:
                note(f"{system.name}: for a train sample say --train-sample {system.name}=FILE")
    return found


def aligned(said: Sequence[Said]) -> list[Said]:
    """All with the order of the first, each from a file of its own.

    Raises:
        UsageError: they do not hold the same dialogues, or an id is there twice.
    """
    ids = [output.id for output in said[0].outputs]
    found = []
    for one in said:
        own = {output.id: output for output in one.outputs}
        if [output.id for output in one.outputs] == ids:
            found.append(one)
        elif len(own) < len(one.outputs) or own.keys() != set(ids) or len(set(ids)) < len(ids):
            raise UsageError(
                f"{said[0].name} and {one.name} do not hold the same dialogues: say --on DATA"
            )
        else:
            found.append(replace(one, outputs=tuple(own[name] for name in ids)))
    return found
