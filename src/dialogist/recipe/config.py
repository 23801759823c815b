"""`Recipe`: one YAML file that says everything about a training run; it only composes.

Each part is the configuration of the code that does the work, and is documented there.
"""

import os
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import torch
from pydantic import Field, model_validator

from dialogist.config import Config, override, read_yaml
from dialogist.data.prepare import PreparationConfig
from dialogist.decoding.options import DecodingOptions
from dialogist.errors import ConfigError, nearest
from dialogist.models.table import ModelConfig
from dialogist.models.transformer import TransformerConfig
from dialogist.objectives.cross_entropy import CrossEntropyConfig
from dialogist.tokenizers import TokenizerConfig
from dialogist.training.config import TrainingConfig


class DataSet(Config):
    """One data file (below the data folder, or absolute) and which of its rows to leave out.

    ``format`` as `dialogist.data.readers`; ``exclude`` names a file with one dialogue id a line.
    ``columns`` maps the reader's names (dialogue, summary, speaker ...) to the file's.
    """

    path: str
    format: str = "auto"
    exclude: str | None = None
    columns: dict[str, str] = Field(default_factory=dict)


class DataConfig(Config):
    """The training data and, for validation, the development data."""

    train: list[DataSet] = Field(min_length=1)
    dev: list[DataSet] = Field(default_factory=list)


class ValidationConfig(Config):
    """What is measured while training.

    The loss on dev after every epoch; every ``rouge_every`` epochs (and after the last) ROUGE of
    real summaries of the first ``dev_examples`` dev dialogues (None: all) and of
    ``train_examples`` training dialogues drawn once; ``samples`` of each are written out.
    """

    rouge_every: int = Field(2, ge=1)
    dev_examples: int | None = Field(200, ge=1)
    train_examples: int = Field(100, ge=0)
    samples: int = Field(3, ge=0)
    decoding: DecodingOptions = DecodingOptions(strategy="greedy")


class Recipe(Config):
    """A whole training run.

    ``decoding`` is saved with the model as its default; ``licence`` and ``card`` go into its card.
    """

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    description: str = ""
    data: DataConfig
    preparation: PreparationConfig = PreparationConfig()
    tokenizer: TokenizerConfig = TokenizerConfig()
    model: ModelConfig = TransformerConfig()
    objective: CrossEntropyConfig = CrossEntropyConfig()
    training: TrainingConfig = TrainingConfig()
    validation: ValidationConfig = ValidationConfig()
    decoding: DecodingOptions = DecodingOptions()
    licence: str = ""
    card: str = ""

    @model_validator(mode="after")
    def _consistent(self) -> "Recipe":
        limits = self.preparation.limits
        if self.tokenizer.kind == "word" and self.preparation.speakers == "atomic":
            raise ValueError(
                "tokenizer 'word' has no speaker tokens: set preparation.speakers to inline"
            )
        source, target = self.model.longest_source, self.model.longest_target
        if source is not None and (limits.source_tokens is None or limits.source_tokens > source):
            raise ValueError(
                f"preparation.limits.source_tokens must be at most model.source_positions "
                f"({source})"
            )
        longest = max(
            limits.summary_tokens or 0,
            self.decoding.max_tokens + 1,
            self.validation.decoding.max_tokens + 1,
        )
        if target is not None and (limits.summary_tokens is None or longest > target):
            raise ValueError(
                "preparation.limits.summary_tokens and every decoding.max_tokens + 1 must be at "
                f"most model.target_positions ({target})"
            )
        return self


def bundled_recipes() -> dict[str, Path]:
    """The recipes that come with Dialogist, by name."""
    folder = Path(str(resources.files("dialogist") / "assets" / "recipes"))
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}


def find_recipe(name_or_path: str) -> Path:
    """A recipe file by path, or a bundled one by name.

    Raises:
        ConfigError: there is none; names the nearest.
    """
    path = Path(name_or_path)
    if path.is_file():
        return path
    recipes = bundled_recipes()
    if name_or_path in recipes:
        return recipes[name_or_path]
    raise ConfigError(
        f"recipe '{name_or_path}': no such file and no recipe of that name"
        f"{nearest(name_or_path, recipes)} (there are: {', '.join(recipes)})"
    )


def read_recipe(name_or_path: str, assignments: list[str] | None = None) -> Recipe:
    """Read a recipe and apply ``key.key=value`` assignments.

    Raises:
        ConfigError: no such recipe, or a key or value in it is wrong.
    """
    path = find_recipe(name_or_path)
    values: dict[str, Any] = override(read_yaml(path), assignments or [])
    return Recipe.parse({"name": path.stem, **values}, str(path))


@dataclass(frozen=True, slots=True)
class Place:
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
