"""Systems by the names people give them: recipes, models, baselines; and what they ask for.

`dialogist compare` sees to everything here before it trains anything: a wrong name, setting or
pack, or data without references, are told at once and not after hours.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from dialogist.baselines.extractive import BASELINES, find_baseline
from dialogist.data.key_points import RulePack, load_pack
from dialogist.formats import detect_format
from dialogist.errors import DataError, UsageError, nearest
from dialogist.evaluation.system_outputs import DialogueChoice, nonblank
from dialogist.files import bare_name, is_pretrained_source
from dialogist.model_folder.bundle import KEY_POINTS_FILE
from dialogist.model_folder.model_files import find_model, known_models
from dialogist.recipe.corpus import Corpus, Note
from dialogist.recipe.recipe_config import DataSet, Recipe, bundled_recipes, read_recipe
from dialogist.language.tokens import counted

_PACKS = {
    "dialogsum": "dialogsum",
    "mts_dialog": "clinical",
    "aci_bench": "clinical",
    "tweetsumm": "customer-service-en",
    "todsum": "customer-service-en",
    "csds": "customer-service-zh",
}
"""The rule pack that was made for a corpus, by the corpus' format."""

_RECIPES = (".yaml", ".yml")
_LONGEST_NAME = 70  # characters, of up to three bytes: a file system takes 255 bytes


@dataclass(frozen=True, slots=True)
class System:
    """What is compared: a recipe with its run folder, a model folder, outputs, or a baseline.

    ``outputs`` is a file that somebody has written; a baseline has nothing but its name.
    """

    name: str
    recipe: Recipe | None = None
    folder: Path | None = None
    outputs: Path | None = None

    @property
    def file_name(self) -> str:
        """The name as a file may have it."""
        return file_name_of(self.name)

    @property
    def pack(self) -> RulePack | None:
        """The rule pack that it writes by, if it does.

        Raises:
            ConfigError: it is at fault.
        """
        if self.recipe is not None:
            wanted = self.recipe.preparation.key_points
            return None if wanted is None else load_pack(wanted)
        path = None if self.folder is None else self.folder / KEY_POINTS_FILE
        return load_pack(path) if path is not None and path.is_file() else None


def file_name_of(name: str) -> str:
    """A system's name without what a file name cannot have: it may be a path, or a sentence."""
    kept = "".join(c if c.isalnum() or c in "-_." else "-" for c in name).strip("-.")
    if len(kept) <= _LONGEST_NAME:
        return kept
    digest = sha256(name.encode("utf-8", "replace")).hexdigest()[:8]
    return f"{kept[:_LONGEST_NAME]}-{digest}"


def find_systems(
    names: Sequence[str], runs: Path, settings: Sequence[str], starts: Mapping[str, str]
) -> list[System]:
    """The systems in the order of their names; nothing is read but recipes and packs.

    A baseline's name goes before a path, a path before a recipe's name, that before a model's. A
    file is a recipe where its name ends with .yaml or .yml; else it holds outputs.
    ``settings`` (``key=value``) are put over every recipe. ``starts`` gives recipes, by name, the
    model each begins from; the name of a recipe further up stands for its run.

    Raises:
        UsageError: a name is nothing, or there twice; a start is of no recipe here.
        ConfigError: a recipe is wrong.
        ModelError: a folder is no model's.
    """
    systems: list[System] = []
    for name in names:
        system = _find(name, runs, settings, starts)
        if system.outputs is not None and system.name in [other.name for other in systems]:
            system = replace(system, name=name)  # folders tell such files apart
        if system.recipe is not None:
            system = _with_start(system, system.recipe, systems, names)
        if any(system.file_name == other.file_name for other in systems):
            raise UsageError(f"'{system.name}' is there twice: a system has one row of the table")
        systems.append(system)
    for name in starts:
        if not any(system.name == name and system.recipe for system in systems):
            raise UsageError(f"--from {name}=...: '{name}' is no recipe of this comparison")
    return systems


def _find(name: str, runs: Path, settings: Sequence[str], starts: Mapping[str, str]) -> System:
    models = [known for known, _ in known_models()]
    if find_baseline(name) is not None:
        return System(name)
    if Path(name).is_dir() or (is_pretrained_source(name) and name not in bundled_recipes()):
        return System(name.rstrip("/"), folder=find_model(name))
    if Path(name).is_file() and Path(name).suffix.lower() not in _RECIPES:
        return System(bare_name(Path(name).name), outputs=Path(name))
    if Path(name).is_file() or name in bundled_recipes():
        recipe = read_recipe(name, list(settings))
        if recipe.name in starts:
            start = json.dumps(starts[recipe.name], ensure_ascii=False)  # a folder may be 2024
            recipe = read_recipe(name, [*settings, f"start={start}"])
        return System(recipe.name, recipe, runs / recipe.name)
    if name in models:
        return System(name, folder=find_model(name))
    hint = nearest(name, [*BASELINES, *bundled_recipes(), *models])
    expected = "expected a baseline, recipe, model name, file or folder"
    raise UsageError(f"unknown system '{name}' ({expected}){hint}")


def _with_start(
    system: System, recipe: Recipe, before: Sequence[System], names: Sequence[str]
) -> System:
    """The start of a recipe, if it is another recipe's name, as the path of that one's run."""
    runs = {other.name: other.folder for other in before if other.recipe is not None}
    start = recipe.start
    if not isinstance(start, str):
        return system
    if start in runs:
        return System(
            system.name, recipe.model_copy(update={"start": str(runs[start])}), system.folder
        )
    if start in names and not Path(start).is_dir():  # a folder is there already
        raise UsageError(f"{system.name} starts from {start}: name that one before it")
    return system


def evaluation_sets(systems: Sequence[System], on: DataSet | None) -> list[DataSet]:
    """What all systems are evaluated on: the given file, or the recipes' own development data.

    Raises:
        UsageError: neither is there, or recipes have different ones.
    """
    if on is not None:
        return [on]
    found = [system.recipe.data.dev for system in systems if system.recipe is not None]
    if not any(found):
        raise UsageError("no recipe with development data among the systems: say --on FILE")
    if any(sets != found[0] for sets in found):
        raise UsageError("the recipes have different development data: say --on FILE")
    return found[0]


def read_evaluation_data(
    sets: Sequence[DataSet], folder: Path, limit: int | None, note: Note
) -> tuple[DialogueChoice, int]:
    """All dialogues, the first ``limit`` chosen if they have a reference; and the bad records.

    Raises:
        DataError: no dialogue has a reference, or a file cannot be read.
    """
    corpus = Corpus(sets, folder, note)
    every = list(corpus)
    first = range(len(every))[:limit]
    chosen = [i for i in first if nonblank(every[i].references)]
    if not chosen:
        raise DataError("nothing to compare: no dialogue in the data has a reference summary")
    if len(chosen) < len(first):
        note(f"{counted(len(first) - len(chosen), 'dialogues')} without a reference left out")
    names = ", ".join(one.path for one in sets)
    return DialogueChoice(names, every, chosen), sum(counts.bad for counts in corpus.counts)


def choose_pack(
    wanted: str | None, systems: Sequence[System], sets: Sequence[DataSet], folder: Path
) -> RulePack | None:
    """The rule pack that key points come from: the one wanted, the systems', or the data's.

    ``wanted`` may be ``none``. None also where neither a system nor the data has one.

    Raises:
        ConfigError: the pack is at fault, or there is none of that name.
        UsageError: systems have different ones.
    """
    if wanted is not None:
        return None if wanted == "none" else load_pack(wanted)
    packs = {pack.text: pack for system in systems if (pack := system.pack) is not None}
    if not packs:
        formats = {_format(one, folder) for one in sets}
        packs = {name: load_pack(_PACKS[name]) for name in formats if name in _PACKS}
    if len({pack.text for pack in packs.values()}) > 1:
        names = ", ".join(sorted(pack.name for pack in packs.values()))
        raise UsageError(f"there are different rule packs ({names}): choose one with --pack")
    return next(iter(packs.values()), None)


def _format(one: DataSet, folder: Path) -> str:
    return detect_format(folder / one.path) if one.format == "auto" else one.format
