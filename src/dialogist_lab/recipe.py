"""`Recipe`: one YAML file that says everything about a training run; it only composes."""

import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BeforeValidator, Field, SerializeAsAny, model_validator

from dialogist.config import Config, find_file, read_yaml
from dialogist.errors import ConfigError
from dialogist_lab.data.preparation import PreparationConfig
from dialogist_lab.data.vocabulary import TokenizerConfig
from dialogist_lab.decoding import DecodingOptions
from dialogist_lab.models.generator import MODELS, ModelConfig, RecipeLimits, config_of_kind
from dialogist_lab.models.transformer import TransformerConfig
from dialogist_lab.training.objective import OBJECTIVES, CrossEntropy, Objective
from dialogist_lab.training.trainer import TrainingConfig

_EXPONENT = re.compile(r"[+-]?\d+(\.\d*)?[eE][+-]?\d+")


class DataSet(Config):
    """One data file (below the data folder, or absolute) and which of its rows to leave out.

    ``path``: the file or folder. ``format``: its input format (docs/reference/formats.md).
    ``first``: take so many dialogues. ``exclude``: a file with one dialogue id a line to leave out.
    """

    path: str
    format: str = "auto"
    first: int | None = Field(None, ge=1)
    exclude: str | None = None


class DataConfig(Config):
    """``train``: sets to learn from. ``dev``: sets to validate on."""

    train: list[DataSet] = Field(min_length=1)
    dev: list[DataSet] = Field(default_factory=list)


class ValidationConfig(Config):
    """What is measured while training.

    The loss on dev after every epoch, and ROUGE of real summaries now and then and after the last.
    ``rouge_every``: epochs between these. ``dev_examples``: the first so many dev dialogues are
    summarised (None: all). ``samples``: summaries that are written into the log. ``decoding``: how
    they are searched for.
    """

    rouge_every: int = Field(2, ge=1)
    dev_examples: int | None = Field(200, ge=1)
    samples: int = Field(3, ge=0)
    decoding: DecodingOptions = DecodingOptions(strategy="greedy")


class VectorsConfig(Config):
    """Which file of word vectors the token embeddings start from.

    ``path``: lines of a word and its numbers (GloVe, word2vec), below the data folder or absolute.
    """

    path: str = Field(min_length=1)


class Recipe(Config):
    """A whole training run.

    ``name``, ``description``: for lists. ``data``: files to train on and to validate on.
    ``preparation``: what a model is given of a dialogue. ``tokenizer``: trained at the start of the
    run. ``continues``: the recipe of the run that this one is a further stage of; ``start``: that
    run's folder, whose tokenizer and weights it begins with. ``vectors``: word vectors to begin
    with. ``model``: the network. ``objective``: what training minimizes. ``training``: how long and
    how it is trained. ``validation``: what is measured on the way. ``decoding``: how the trained
    model writes. ``licence``, ``card``: what users of the model have to know.
    """

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    description: str = ""
    data: DataConfig
    preparation: PreparationConfig = PreparationConfig()
    tokenizer: TokenizerConfig = TokenizerConfig()
    model: Annotated[
        SerializeAsAny[ModelConfig],
        BeforeValidator(config_of_kind(ModelConfig, MODELS, "transformer")),
    ] = TransformerConfig()
    vectors: VectorsConfig | None = None
    start: str | None = None
    continues: str | None = None
    objective: Annotated[
        SerializeAsAny[Objective],
        BeforeValidator(config_of_kind(Objective, OBJECTIVES, "cross-entropy")),
    ] = CrossEntropy()
    training: TrainingConfig = TrainingConfig()
    validation: ValidationConfig = ValidationConfig()
    decoding: DecodingOptions = DecodingOptions()
    licence: str = ""
    card: str = ""

    @model_validator(mode="after")
    def _consistent(self) -> "Recipe":
        problems = [*self.objective.check(self.model), *self.model.check(self._limits())]
        with_copies = self.model.copies and self.tokenizer.kind == "word"
        if self.preparation.unknown == "copied" and not with_copies:
            problems.append(
                "preparation.unknown: copied needs a model with a pointer and tokenizer.kind word"
            )
        measured = ("dev_loss", "dev_rouge1", "dev_rouge2", "dev_rougeL")
        if self.training.select_by not in measured:
            problems.append(f"training.select_by must be one of {', '.join(measured)}")
        if problems:
            raise ValueError(problems[0])
        return self

    def _limits(self) -> RecipeLimits:
        limits, pack = self.preparation.limits, self.preparation.pack
        written = limits.summary_tokens
        if pack is not None and limits.sub_summary_tokens is not None:
            written = limits.sub_summary_tokens + 1
        decoded = max(self.decoding.max_tokens, self.validation.decoding.max_tokens)
        return RecipeLimits(
            limits.source_tokens,
            limits.utterance_tokens,
            None if written is None else max(written, 1 + decoded),
            0 if pack is None else len(pack.labels),
        )


def bundled_recipes() -> dict[str, Path]:
    """The recipes that come with the laboratory, by name."""
    paths = Path(str(resources.files("dialogist_lab"))).glob("*/recipes/*.yaml")
    return {path.stem: path for path in sorted(paths, key=lambda path: path.stem)}


def read_recipe(name_or_path: str, assignments: Sequence[str] = ()) -> Recipe:
    """Read a recipe, bundled or a file, and apply ``key.key=value`` assignments.

    Raises ConfigError: no such recipe, or a key or value in it is wrong.
    """
    path = find_file("recipe", name_or_path, bundled_recipes())
    values: dict[str, Any] = {"name": path.stem, **read_yaml(path)}
    try:
        return Recipe.parse(override(values, assignments), str(path))
    except ConfigError as error:
        settings = " ".join(f"--set {assignment}" for assignment in assignments)
        raise ConfigError(f"{error}{f' (with {settings})' if settings else ''}") from None


def override(values: Mapping[str, Any], assignments: Sequence[str]) -> dict[str, Any]:
    """Apply ``a.b=c`` assignments; the value is read as YAML (``1e-4``, ``true``, ``[1, 2]``).

    Raises:
        ConfigError: an assignment without ``=``, or a path through something that is no mapping.
    """
    result = deepcopy(dict(values))
    for assignment in assignments:
        path, equals, text = assignment.partition("=")
        if not equals or not path:
            raise ConfigError(f"--set {assignment}: write it as key.key=value")
        *parents, last = path.split(".")
        here = result
        for part in parents:
            here = here.setdefault(part, {})
            if not isinstance(here, dict):
                raise ConfigError(f"--set {assignment}: '{part}' is a value, it has no keys")
        here[last] = _scalar(text)
    return result


def _scalar(text: str) -> Any:
    """YAML's reading of a value, and ``1e-4`` as a number (YAML 1.1 wants ``1.0e-4``)."""
    if text.startswith("#"):  # to YAML a comment, to whoever typed it a value
        return text
    if _EXPONENT.fullmatch(text):
        return float(text)
    try:
        return yaml.safe_load(text)
    except (ValueError, yaml.YAMLError):
        return text


def to_yaml(config: Config) -> str:
    """The effective configuration as YAML text, every default spelled out."""
    return yaml.safe_dump(
        config.model_dump(mode="json"), sort_keys=False, allow_unicode=True, width=100
    )
