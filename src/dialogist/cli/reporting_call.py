"""The flags of ``dialogist report``, and what they name: systems, runs, dialogues, metrics."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dialogist.cli.console import note
from dialogist.cli.naming import short_names
from dialogist.cli.reading import Reading
from dialogist.errors import DataError, UsageError
from dialogist.evaluation.choosing import Wanted, names_of
from dialogist.evaluation.outputs.joining import Choice, How
from dialogist.evaluation.report.model import Run
from dialogist.recipe.config import DataSet
from dialogist.recipe.evaluate import Part, Said, choose_dialogues
from dialogist.recipe.speaking import Written
from dialogist.recipe.systems import System, choose_pack, find_systems

_LOG = "metrics.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """The flags: see `report`."""

    systems: tuple[str, ...]
    output: Path
    data: Path | None
    runs: tuple[Path, ...]
    reading: Reading
    metrics: str
    encoder: Path | None
    pack: str | None
    train_sample: tuple[str, ...]
    train: tuple[Path, ...]
    baseline: str
    floors: bool
    examples: int
    title: str
    stated: str
    predictions: Path
    prediction_key: str
    missing_as_empty: bool
    by_order: bool
    exclude: Path | None
    limit: int | None
    processes: int | None
    device: str
    threads: int | None

    @property
    def written(self) -> Written:
        """How to read files of outputs."""
        return Written(self.prediction_key, How(self.missing_as_empty, self.by_order))


def systems_of(call: Call) -> list[System]:
    """Those that are to be evaluated, under short names."""
    names = [name for name in call.systems if call.data is not None or not _is_run(Path(name))]
    systems = find_systems(names, Path(), [], {})
    for system in systems:
        if system.recipe is not None:
            raise UsageError(f"{system.name}: is a recipe: give its run folder")
        if call.data is None and system.outputs is None:
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
    lone = [Path(name) for name in call.systems if call.data is None]
    folders = {
        folder.resolve(): folder for folder in (*lone, *of_models, *call.runs) if _is_run(folder)
    }
    names = short_names([str(folder) for folder in folders])
    return tuple(map(Run, names, folders.values()))


def wanted_of(call: Call, systems: Sequence[System]) -> Wanted:
    """The metrics.

    Raises:
        ConfigError: the rule pack is at fault.
        UsageError: there is no metric of such a name, or the systems have different rule packs.
    """
    names = names_of(call.metrics)
    sets = []
    if call.data is not None:
        path, options = str(call.data.absolute()), call.reading.options
        sets.append(DataSet(path=path, format=options.format))
    pack = choose_pack(call.pack, systems, sets, Path())
    return Wanted(names, encoder=call.encoder, pack=pack)


def choice_of(call: Call) -> Choice | None:
    """The dialogues that systems are evaluated on; None: their files say which."""
    if call.data is None:
        return None
    part = Part(_ids(call.exclude), call.limit)
    dialogues = call.reading.dialogues([call.data])
    choice, skipped = choose_dialogues(call.data.name, dialogues, part, whole=True)
    if not choice.chosen:
        raise DataError("nothing to report: no dialogue in the data has a reference summary")
    if skipped:
        note(f"{skipped} dialogues without a reference were left out")
    return choice


def _ids(exclude: Path | None) -> frozenset[str]:
    try:
        return frozenset(exclude.read_text(encoding="utf-8").split() if exclude else ())
    except (OSError, ValueError) as error:
        raise DataError(f"{exclude}: cannot be read: {error}") from None


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
