"""`Recipe`: one YAML file that says everything about a training run; it only composes."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import torch
from pydantic import Field, SerializeAsAny, model_validator

from dialogist.config import Config, find_file, override, read_yaml
from dialogist.data.changes import UNNAMED, AugmentationConfig
from dialogist.data.prepare import Preparation, PreparationConfig
from dialogist.decoding import DecodingOptions
from dialogist.errors import ConfigError, nearest
from dialogist.metrics.rouge import ROUGE_TYPES
from dialogist.model_folder.options import SummaryOptions
from dialogist.models import ModelConfig
from dialogist.models.bert_warm_start import EncoderStart
from dialogist.models.transformer import TransformerConfig
from dialogist.objectives import ObjectiveConfig
from dialogist.objectives.cross_entropy import CrossEntropyConfig, DenoisingConfig
from dialogist.records import Status, WarningKind
from dialogist.tokenizers import MOST_LABELS, TokenizerConfig
from dialogist.training.base import TrainingConfig

# What a recipe needs that puts other names and errors into its pairs: text that ids give back.


def changed_words(recipe: "Recipe") -> Iterator[str]:
    """What is wrong, one line each."""
    if recipe.augmentation.speakers and recipe.preparation.speakers != "atomic":
        yield "augmentation.speakers needs preparation.speakers: atomic"
    plans = recipe.preparation.plan == "prefix" or recipe.model.plans
    for key, looks_for_names in _asked(recipe):
        if recipe.tokenizer.kind == "word":
            yield f"{key} needs subwords, which give text back: tokenizer.kind word does not"
        lowering = _lowering(recipe)
        if looks_for_names and lowering:
            others = f"; its corruption.errors can be [{', '.join(UNNAMED)}]"
            hint = others if key == "objective.contrast" else ""
            yield f"{key} needs names with capitals, {lowering} leaves none{hint}"
        if plans:
            yield f"{key} cannot go with a model that plans its key points"


def _asked(recipe: "Recipe") -> Iterator[tuple[str, bool]]:
    """The keys that ask for it, and whether names are found by their capitals for it."""
    if recipe.augmentation.names:
        yield "augmentation.names", True
    yield from recipe.objective.text_keys()


def _lowering(recipe: "Recipe") -> str:
    """The key that makes all letters small, if any."""
    preparation = recipe.preparation
    if preparation.case == "restored":
        return "preparation.case restored"
    if preparation.profile in ("dialogsum-keras", "xsum-report"):
        return f"preparation.profile {preparation.profile}"
    return ""


# Each part is the configuration of the code that does the work, and is documented there.


_SHORTEST_PLANNED = 5
"""Tokens of the shortest target with a plan prefix: begin, a label, a border, a word, end."""


class TeacherConfig(Config):
    """References that another system wrote (`dialogist.recipe.corpus`).

    ``outputs``: its file of outputs, joined to the dialogues by id. ``key``: what they are called
    there (empty: as usual). ``statuses``: that are kept. ``refuse``: findings that bar a summary.
    ``words``: the fewest and the most of a summary. ``system``: who wrote them, for the card.
    ``licence``: what that binds the new model to, for the card.
    """

    outputs: str = Field(min_length=1)
    key: str = ""
    statuses: tuple[Status, ...] = ("ok", "unchecked")
    refuse: tuple[WarningKind, ...] = get_args(WarningKind)
    words: tuple[int, int] = (3, 200)
    system: str = ""
    licence: str = ""


class DataSet(Config):
    """One data file (below the data folder, or absolute) and which of its rows to leave out.

    ``path``: the file or folder. ``format``: its input format (docs/reference/formats.md).
    ``exclude``: a file with one dialogue id a line to leave out. ``columns``: the file's names for
    the reader's (dialogue, summary, speaker ...). ``encoding``: of its text. ``where``:
    ``column=value`` that rows must have. ``one_dialogue``: the whole file is one.
    ``by_neighbours``: rows belong together while the id stays the same. ``internal_notes``: read
    what only agents saw, too. ``weight``: how often an epoch takes each of its pairs; of a fraction
    as many are drawn anew each time.
    ``references``: the file's ``own``, or ``reported``: summaries made by rules of what two
    speakers say, in the third person (`dialogist.recipe.corpus`; for training). ``teacher``:
    those of another system; dialogues without one that passes its filters are left out.
    ``apart``: its summaries begin with the end symbol in training, so that the model can tell their
    manner from that of the others, which is what it is asked for later (as a tag on what is made by
    machine: Caswell et al. 2019, section 3).
    """

    path: str
    format: str = "auto"
    exclude: str | None = None
    columns: dict[str, str] = Field(default_factory=dict)
    encoding: str = ""
    where: list[str] = Field(default_factory=list)
    one_dialogue: bool = False
    by_neighbours: bool = False
    internal_notes: bool = False
    weight: float = Field(1.0, gt=0, le=1000)
    references: Literal["own", "reported"] = "own"
    teacher: TeacherConfig | None = None
    apart: bool = False


class DataConfig(Config):
    """The training data and, for validation, the development data.

    ``train``: sets to learn from. ``dev``: sets to validate on.
    """

    train: list[DataSet] = Field(min_length=1)
    dev: list[DataSet] = Field(default_factory=list)


class ValidationConfig(Config):
    """What is measured while training.

    The loss on dev after every epoch, and ROUGE of real summaries now and then and after the last.
    ``rouge_every``: epochs between these. ``metrics``: measured beside ROUGE, for the log and
    ``training.select_by: dev_bleu``. ``dev_examples``: the first so many dev dialogues are
    summarised (None: all). ``train_examples``: so many training dialogues, drawn once. ``samples``:
    summaries of each that are written out. ``decoding``: how they are searched for.
    """

    rouge_every: int = Field(2, ge=1)
    metrics: tuple[Literal["bleu", "chrf", "meteor"], ...] = ()
    dev_examples: int | None = Field(200, ge=1)
    train_examples: int = Field(100, ge=0)
    samples: int = Field(3, ge=0)
    decoding: DecodingOptions = DecodingOptions(strategy="greedy")


class VectorsConfig(Config):
    """Which file the token embeddings start from (below the data folder, or absolute).

    See `tokenizers.word_vectors` for its format, and for which row an entry of the vocabulary
    takes. ``path``: the file of vectors. ``frozen``: rows that have a vector keep it; the others,
    which start random, are learned. ``rescale``: multiply all of them by one number, so that their
    deviation is that of the values the model would start from otherwise; what comes after the
    embeddings is made for these.
    """

    path: str = Field(min_length=1)
    frozen: bool = False
    rescale: bool = False


class Recipe(Config):
    """A whole training run.

    ``name``, ``description``: for lists and the model's card. ``data``: files to train on and to
    validate on. ``preparation``: what a model is given of a dialogue. ``tokenizer``: trained at the
    start of the run. ``start``: the model folder or run that it begins from, or a pretrained
    encoder's folder (`dialogist.recipe.start`). ``continues``: the recipe of the model that this
    one is a further stage of; it is trained with a ``start`` only. ``vectors``: word vectors to
    begin with. ``model``: the network. ``augmentation``: changes of dialogues from epoch to epoch.
    ``objective``: what training minimizes. ``training``: how long and how it is trained.
    ``validation``: what is measured on the way. ``decoding``: saved with the model as its default.
    ``licence``, ``card``: go into the model's card.
    """

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    description: str = ""
    data: DataConfig
    preparation: PreparationConfig = PreparationConfig()
    tokenizer: TokenizerConfig = TokenizerConfig()
    model: SerializeAsAny[ModelConfig] = TransformerConfig()
    vectors: VectorsConfig | None = None
    start: Annotated[str, Field(min_length=1)] | EncoderStart | None = None
    continues: str | None = None
    augmentation: AugmentationConfig = AugmentationConfig()
    objective: SerializeAsAny[ObjectiveConfig] = CrossEntropyConfig()
    training: TrainingConfig = TrainingConfig()
    validation: ValidationConfig = ValidationConfig()
    decoding: SummaryOptions = SummaryOptions()
    licence: str = ""
    card: str = ""

    @model_validator(mode="after")
    def _consistent(self) -> "Recipe":
        for problem in (
            *self._beginning(),
            *self.objective.check(self.model),
            *self.model.check(self),
            *self._plan(),
            *self._unknown_words(),
            *self._denoising(),
            *self._ranking(),
            *changed_words(self),
        ):
            raise ValueError(problem)
        return self

    def _beginning(self) -> Iterator[str]:
        if self.vectors is not None and self.start is not None:
            yield "'start' brings embeddings along: leave 'vectors' out (vectors: null)"

    @property
    def longest_decoded(self) -> int:
        """Tokens of the longest text that search may be asked for, begin symbol in."""
        return 1 + max(self.decoding.max_tokens, self.validation.decoding.max_tokens)

    def _plan(self) -> Iterator[str]:
        """What a plan prefix needs: a flat model that learns its targets, and room for a word."""
        if self.preparation.plan == "none":
            return
        if not isinstance(self.objective, CrossEntropyConfig):
            yield (
                "preparation.plan: prefix needs objective.kind cross-entropy, not "
                f"{self.objective.kind}"
            )
        longest = self.preparation.limits.summary_tokens
        if longest is not None and longest < _SHORTEST_PLANNED:
            yield (
                "preparation.plan: prefix needs preparation.limits.summary_tokens of at least "
                f"{_SHORTEST_PLANNED}"
            )
        labels = len(Preparation(self.preparation).planned_labels)
        if labels > MOST_LABELS:
            yield f"preparation.plan: prefix can have {MOST_LABELS} labels, not {labels}"

    def _unknown_words(self) -> Iterator[str]:
        if self.preparation.unknown == "copied" and not (
            self.model.copies and self.tokenizer.kind == "word"
        ):
            yield "preparation.unknown: copied needs a model with a pointer and tokenizer.kind word"

    def _ranking(self) -> Iterator[str]:
        """The metric that ranks checkpoints is one that validation measures."""
        measured = (*ROUGE_TYPES, *self.validation.metrics)
        known = [
            "dev_loss",
            *(f"{split}_{name}" for split in ("dev", "train") for name in measured),
        ]
        wanted = self.training.select_by
        if wanted not in known:
            yield (
                f"training.select_by '{wanted}' is not measured{nearest(wanted, known)} "
                f"(there are: {', '.join(known)})"
            )

    def _denoising(self) -> Iterator[str]:
        """What noise needs: a mask, somebody who speaks, room for what is written."""
        if not isinstance(self.objective, DenoisingConfig):
            return
        noise, limits = self.objective.noise, self.preparation.limits
        if self.tokenizer.kind == "word":
            yield "objective.kind denoising needs subwords: tokenizer.kind word has no mask"
        if noise.speakers and self.preparation.speakers == "inline":
            yield "objective.noise.speakers needs preparation.speakers atomic or role, or must be 0"
        longest, source = limits.summary_tokens, limits.source_tokens
        if noise.writes == "all" and longest is not None and (source is None or source > longest):
            yield (
                "objective.noise.writes all needs room for a window: preparation.limits."
                f"summary_tokens ({longest}) must be at least source_tokens ({source}); or set it "
                "to lost"
            )


def bundled_recipes() -> dict[str, Path]:
    """The recipes that come with Dialogist, by name; those of the papers lie in the laboratory."""
    folders = [Path(str(resources.files("dialogist") / "assets" / "recipes"))]
    laboratory = find_spec("dialogist_lab")
    for place in (laboratory and laboratory.submodule_search_locations) or ():
        folders.append(Path(place) / "papers" / "recipes")
    found = (path for folder in folders for path in folder.glob("*.yaml"))
    return {path.stem: path for path in sorted(found, key=lambda path: path.stem)}


def find_recipe(name_or_path: str) -> Path:
    """A recipe file by path, or a bundled one by name.

    Raises:
        ConfigError: there is none; names the nearest.
    """
    return find_file("recipe", name_or_path, bundled_recipes())


def read_recipe(name_or_path: str, assignments: list[str] | None = None) -> Recipe:
    """Read a recipe and apply ``key.key=value`` assignments.

    Raises:
        ConfigError: no such recipe, or a key or value in it is wrong.
    """
    path, given = find_recipe(name_or_path), assignments or []
    alone: dict[str, Any] = {"name": path.stem, **read_yaml(path)}
    try:
        return Recipe.parse(override(alone, given), str(path))
    except ConfigError as error:
        problem = str(error).removeprefix(f"{path}: ")
    try:
        Recipe.parse(alone, str(path))
    except ConfigError:
        given = []  # the file is wrong by itself
    guilty = [one for one in given if one.partition("=")[0] in problem] or given
    raise ConfigError(f"{' '.join(f'--set {one}' for one in guilty) or path}: {problem}")


@dataclass(frozen=True, slots=True)
class RunPlace:
    """Where a run reads and writes: the data folder, the run folder, the device.

    ``encoded``: the folder of the training data where they are encoded already; None reads and
    encodes the recipe's own files.
    """

    data: Path
    run: Path
    device: torch.device
    encoded: Path | None = None


def data_folder(wanted: Path | None = None) -> Path:
    """Where relative data paths start: the argument, ``$DIALOGIST_DATA``, or ``data``."""
    return wanted or Path(os.environ.get("DIALOGIST_DATA") or "data")
