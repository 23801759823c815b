"""The settings of a run folder: written at its first start, and compared at every further one.

A run may be made longer (``training.epochs``, ``training.max_steps``); everything else stays.
Pretrained models are read from their source once, then kept in the run folder:

RUN/pretrained/config.json           the model's configuration with all that its source says
RUN/pretrained/frozen.safetensors    weights that training does not change, and so no checkpoint has
"""

import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from dialogist.config import differences, read_yaml, to_yaml
from dialogist.data.prepare import Preparation
from dialogist.data.shards import TOKENIZER
from dialogist.errors import CheckpointError, ConfigError, ModelError
from dialogist.files import (
    is_pretrained_source,
    json_object,
    write_folder_atomically,
    write_text_atomically,
)
from dialogist.model_folder.model_files import find_model, read_json
from dialogist.models import ModelConfig, SequenceModel
from dialogist.models.model_weights import weights_of
from dialogist.models.pretrained.pretrained_sources import free_memory
from dialogist.recipe.corpus import Corpus, Note
from dialogist.recipe.recipe_config import Recipe, RunPlace
from dialogist.recipe.start import STARTED, VECTORS
from dialogist.tokenizers import read_tokenizer
from dialogist.training.checkpoints import checkpoint_folders

PRETRAINED = "pretrained"

_TRAINING_BYTES = 14
"""Of a trained weight, beside itself: gradient, two moments, a bf16 copy; no activations."""

_CONFIG, _FROZEN = "config.json", "frozen.safetensors"


def with_source(recipe: Recipe) -> Recipe:
    """The recipe of a pretrained model whose ``start`` (``--from``) is its source instead.

    A model folder or run of ours brings its architecture and prompt along; what the recipe says
    about adapters and memory holds.

    Raises:
        ModelError: there is no such model.
    """
    if not (recipe.model.is_unread and isinstance(recipe.start, str)):
        return recipe
    if is_pretrained_source(recipe.start):
        model = recipe.model.model_copy(update={"source": recipe.start})
        return recipe.model_copy(update={"model": model, "start": None})
    there = ModelConfig.parse(read_json(find_model(recipe.start) / _CONFIG)["model"], recipe.start)
    own = {name: getattr(recipe.model, name) for name in ("lora", "checkpointing")}
    return recipe.model_copy(update={"model": there.model_copy(update=own)})


def begin_pretrained(recipe: Recipe, place: RunPlace, note: Note, first: bool) -> SequenceModel:
    """The model of a recipe that names a source; RUN/tokenizer is made with it.

    A run that has a checkpoint takes its weights from there, and the frozen ones from RUN: the
    source is not read again.

    Raises:
        MissingExtraError, ModelError, ConfigError: as `ModelConfig.load`.
    """
    folder = place.run / PRETRAINED
    torch.manual_seed(recipe.training.seed)  # adapters start at random
    if not first or (checkpoint_folders(place.run / "checkpoints") and folder.exists()):
        return _rebuilt(folder, place)
    model, tokenizer = recipe.model.load(lambda: _texts(recipe, place))
    _check(recipe, model)
    note(f"model: {recipe.model.kind}, vocabulary {len(tokenizer):,}")
    write_folder_atomically(place.run / TOKENIZER, tokenizer.save)
    frozen = {n: p.detach() for n, p in model.named_parameters() if not p.requires_grad}

    def write(new: Path) -> None:
        text = json.dumps(model.config.model_dump(mode="json"), ensure_ascii=False, indent=2)
        (new / _CONFIG).write_text(text + "\n", encoding="utf-8")
        save_file({name: weight.contiguous() for name, weight in frozen.items()}, new / _FROZEN)

    write_folder_atomically(folder, write)
    return model.to(place.device)


def _check(recipe: Recipe, model: SequenceModel) -> None:
    """What could not be known of a model before its source was read.

    Raises:
        ConfigError: the recipe asks for more than its tables of positions hold.
        ModelError: there is too little memory to train it.
    """
    trained = sum(p.numel() for p in model.parameters() if p.requires_grad)
    free, needed = free_memory(), trained * _TRAINING_BYTES * min(1, recipe.training.epochs)
    if free is not None and needed > free:
        raise ModelError(
            f"{recipe.name}: training takes about {needed / 1e9:.1f} GB more memory, "
            f"{free / 1e9:.1f} GB are free: set model.prune or model.lora, or take a smaller model"
        )
    longest, wanted = model.longest_source, recipe.preparation.limits.source_tokens
    if longest is not None and (wanted is None or wanted > longest):
        raise ConfigError(
            f"preparation.limits.source_tokens must be at most {longest}: so much this model reads "
            "beside its prompt"
        )
    written = max(recipe.longest_decoded, recipe.preparation.limits.summary_tokens or 0)
    longest = model.longest_target
    if longest is not None and written > longest:
        raise ConfigError(
            f"preparation.limits.summary_tokens and every decoding.max_tokens + 1 must be at most "
            f"{longest}: so much this model writes"
        )


def _rebuilt(folder: Path, place: RunPlace) -> SequenceModel:
    """The model as it was read, its trained weights still to come."""
    tokenizer = read_tokenizer(place.run / TOKENIZER)
    config = ModelConfig.parse(read_json(folder / _CONFIG), str(folder / _CONFIG))
    model = config.build(len(tokenizer)).to(place.device)
    model.attach(tokenizer)
    own = weights_of(model)
    for name, weight in load_file(folder / _FROZEN).items():
        own[name].copy_(weight)
    return model


def _texts(recipe: Recipe, place: RunPlace) -> Iterable[str]:
    """What the vocabulary is pruned to: the training texts as they are prepared."""
    preparation = Preparation(recipe.preparation)
    corpus = Corpus(recipe.data.train, place.data, lambda text: None)
    for example in map(preparation.prepare, corpus):
        yield from (utterance.text for utterance in example.utterances)
        yield from example.targets


_WORDS = {"description", "licence", "card", "continues"}
"""What a recipe says about itself: it may change without changing the run."""

_LENGTH = ("epochs", "max_steps")
_PLANNED = ("linear", "cosine")
"""Schedules whose rates depend on the length of the whole run."""


def settle_config(recipe: Recipe, run: Path, note: Note) -> None:
    """Write the effective recipe, or see that the run's own is the same, or a shorter one.

    Before the first checkpoint nothing is lost by changing it: the run starts anew.

    Raises:
        CheckpointError: the run has other settings, or cannot be made longer.
    """
    path = run / "config.yaml"
    changed = changed_settings(recipe, run) if path.exists() else []
    if changed and not checkpoint_folders(run / "checkpoints"):
        for name in (TOKENIZER, VECTORS, PRETRAINED):
            shutil.rmtree(run / name, ignore_errors=True)
        (run / STARTED).unlink(missing_ok=True)
    elif changed:
        if not _is_longer(recipe, run):
            raise CheckpointError(
                f"{run}: holds a run with other settings ({'; '.join(changed[:3])}): give another "
                "folder with --output, or start over there with --resume never; only "
                "training.epochs and training.max_steps can be raised"
            )
        _extend(recipe, run, changed, note)
    write_text_atomically(path, to_yaml(recipe))


def changed_settings(recipe: Recipe, run: Path) -> list[str]:
    """Where ``recipe`` is another run than the one that the folder ``run`` holds, one line each."""
    return differences(_settings(_recipe_in(run)), _settings(recipe))


def _recipe_in(run: Path) -> Recipe:
    path = run / "config.yaml"
    return Recipe.parse(read_yaml(path), str(path))


def _settings(recipe: Recipe) -> dict[str, Any]:
    return recipe.model_dump(mode="json", exclude=_WORDS)


def _is_longer(recipe: Recipe, run: Path) -> bool:
    """Whether nothing changed but the length of the run, which may only grow."""
    there, now = _settings(_recipe_in(run)), _settings(recipe)
    old, new = ([one["training"].pop(name) for name in _LENGTH] for one in (there, now))
    if there != now or new[0] < old[0]:
        return False
    return new[1] is None or (old[1] is not None and new[1] >= old[1])


def _extend(recipe: Recipe, run: Path, changed: list[str], note: Note) -> None:
    """Say what happens to a run that is made longer.

    Raises:
        CheckpointError: early stopping ended it.
    """
    newest = checkpoint_folders(run / "checkpoints")[-1]  # (the trainer sees whether it is whole)
    state = json_object(newest / "state.json")
    if state.get("stopped"):
        raise CheckpointError(
            f"{run}: early stopping ended this run after epoch {state.get('epoch')}, so more "
            "epochs would not be trained: begin another run from it with --from"
        )
    kind, step = recipe.training.schedule.kind, state.get("step")
    note(f"the run is made longer ({'; '.join(changed)}) and goes on from update {step}")
    if kind in _PLANNED:
        note(
            f"the {kind} schedule depends on the length of the run: from update {step} on the "
            "learning rate is that of the longer run, higher than where the shorter one ended, so "
            "the model will not be the same as that of one run of this length"
        )
