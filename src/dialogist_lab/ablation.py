"""Ablations: the variants of a recipe, and how each differs from its base."""

import json
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field, model_validator

from dialogist.config import Config
from dialogist.decoding import DecodingOptions
from dialogist.errors import ConfigError, DataError
from dialogist.files import write_text_atomically
from dialogist.model_folder.options import MEASURED
from dialogist.recipe.corpus import Note
from dialogist.recipe.recipe_config import Recipe, RunPlace, read_recipe
from dialogist.recipe.systems import System
from dialogist.recipe.training_run import train_recipe
from dialogist.language.tokens import counted
from dialogist.training.base import Progress

BASE = "base"
_NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"
_WARMUP, _TIMED = 5, 20  # updates: the first ones find no memory kept and are slower
_EPOCHS = 1_000_000  # so many that the updates end the run
_BUDGETS = "budgets.json"


class Budget(Config):
    """What every row may use: ``minutes`` of training, or ``updates``.

    ``minutes``: of training, by the clock. ``updates``: of the weights.
    """

    minutes: float | None = Field(None, gt=0)
    updates: int | None = Field(None, ge=1)

    @model_validator(mode="after")
    def _one(self) -> "Budget":
        if (self.minutes is None) == (self.updates is None):
            raise ValueError("say either 'minutes' or 'updates'")
        return self

    def __str__(self) -> str:
        """For people."""
        if self.minutes is None:
            return counted(self.updates or 0, "updates")
        return f"{self.minutes:g} minutes of training"


class AblationConfig(Config):
    """See the module. ``settings`` and rows hold ``key.key=value``, as ``--set`` does.

    ``base``: the recipe that every row starts from. ``budget``: what every row may use.
    ``settings``: what holds for all rows. ``rows``: by name, what each row changes.
    """

    base: str = Field(min_length=1)
    budget: Budget
    settings: list[str] = Field(default_factory=list)
    rows: dict[str, list[str]] = Field(min_length=1)

    @model_validator(mode="after")
    def _consistent(self) -> "AblationConfig":
        for name, settings in self.rows.items():
            if name == BASE:
                raise ValueError(f"'{BASE}' is the row without changes: name that row otherwise")
            if not settings:
                raise ValueError(f"row '{name}' changes nothing")
        return self


@dataclass(frozen=True, slots=True)
class Variant:
    """A row: what it changes, its recipe before the budget, and its run folder.

    ``searches``: it changes the search alone, and asks the base's model.
    """

    name: str
    settings: tuple[str, ...]
    recipe: Recipe
    run: Path
    searches: bool = False

    @property
    def decoding(self) -> DecodingOptions | None:
        """How the base's model is searched; None: as it was trained to be."""
        if not self.searches:
            return None
        return self.recipe.decoding.model_copy(update=MEASURED)


def variants(config: AblationConfig, runs: Path) -> list[Variant]:
    """The base and all rows, each looked at before anything is trained.

    Raises:
        ConfigError: a setting of a row is wrong; names it.
    """
    same = [*config.settings, "training.patience=null", f"training.epochs={_EPOCHS}"]
    found = []
    for name, settings in {BASE: list[str](), **config.rows}.items():
        try:
            recipe = read_recipe(config.base, [*same, *settings, f"name={json.dumps(name)}"])
        except ConfigError as error:
            raise ConfigError(f"row '{name}': {str(error).removeprefix('--set ')}") from None
        searches = bool(settings) and all(one.startswith("decoding.") for one in settings)
        run = runs / (BASE if searches else name)
        found.append(Variant(name, tuple(settings), recipe, run, searches))
    return found


def budgeted(variant: Variant, config: AblationConfig, place: RunPlace, note: Note) -> System:
    """The row as a system to be trained, its updates settled; minutes are timed at first.

    Raises:
        DataError: the folder of runs cannot be written.
    """
    if variant.searches:
        return System(variant.name, folder=variant.run)
    updates = config.budget.updates or _timed_updates(variant, config, place, note)
    training = variant.recipe.training.model_copy(update={"max_steps": updates})
    recipe = variant.recipe.model_copy(update={"training": training})
    return System(variant.name, recipe, variant.run)


def _timed_updates(variant: Variant, config: AblationConfig, place: RunPlace, note: Note) -> int:
    """How many updates the row makes in the minutes; written down, so that it stays so."""
    path = variant.run.parent / _BUDGETS
    known: dict[str, dict[str, float]] = {}
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read: {error}; remove it to time anew") from None
    minutes = config.budget.minutes
    assert minutes is not None
    found = known.get(variant.name)
    if found is None or found["minutes"] != minutes:
        seconds = _seconds_an_update(variant, place, note)
        updates = max(1, round(minutes * 60 / seconds))
        found = {"minutes": minutes, "seconds_an_update": seconds, "updates": updates}
        write_text_atomically(path, json.dumps(known | {variant.name: found}, indent=1) + "\n")
        note(f"{variant.name}: {seconds:.2f} s an update, so {counted(updates, 'updates')}")
    return int(found["updates"])


class _Enough(Exception):
    """The updates that were to be timed are done."""


class _Stopwatch:
    """A reporter that times updates, and ends the run."""

    _since = seconds = 0.0

    def update(self, progress: Progress, updates: int, loss: float) -> None:
        if progress.step == _WARMUP:
            self._since = time.perf_counter()
        if progress.step == _WARMUP + _TIMED:
            self.seconds = (time.perf_counter() - self._since) / _TIMED
            raise _Enough

    def epoch(self, record: object) -> None:
        """Epochs of a few updates: validations are no part of the time."""

    def note(self, text: str) -> None:
        """It is no run that anybody follows."""


def _seconds_an_update(variant: Variant, place: RunPlace, note: Note) -> float:
    """Train the first updates in a folder that is removed afterwards."""
    folder = variant.run.with_name(f".timing-{variant.name}")
    shutil.rmtree(folder, ignore_errors=True)
    quiet = variant.recipe.data.model_copy(update={"dev": []})
    recipe = variant.recipe.model_copy(update={"data": quiet})
    watch = _Stopwatch()
    note(f"{variant.name}: timing {_TIMED} updates")
    try:
        train_recipe(recipe, RunPlace(place.data, folder, place.device), watch)
    except _Enough:
        pass
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return watch.seconds
