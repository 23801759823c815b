"""Training runs of pretrained models: read from their source once, then kept in the run folder.

RUN/pretrained/config.json           the model's configuration with all that its source says
RUN/pretrained/frozen.safetensors    weights that training does not change, and so no checkpoint has
"""

import json
from collections.abc import Iterable
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from dialogist.data.prepare import Preparation
from dialogist.data.shards import TOKENIZER
from dialogist.errors import ConfigError, ModelError
from dialogist.files import is_pretrained_source, write_folder_atomically
from dialogist.models import ModelConfig, SequenceModel
from dialogist.models.model_weights import weights_of
from dialogist.models.pretrained.pretrained_sources import free_memory
from dialogist.pipeline.options import find_model, read_json
from dialogist.recipe.corpus import Corpus, Note
from dialogist.recipe.recipe_config import Recipe, RunPlace
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
