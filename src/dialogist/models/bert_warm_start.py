"""Warm start: our encoder (and decoder) from the folder of a BERT-like encoder."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from pydantic import ConfigDict, Field, ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from dialogist.config import Config
from dialogist.errors import ConfigError, ModelError
from dialogist.files import sha256_of
from dialogist.models.base import ModelConfig
from dialogist.models.transformer import TransformerConfig
from dialogist.tokenizers import PLACEHOLDERS, Tokenizer, placeholder
from dialogist.tokenizers.special_tokens import (
    MOST_LABELS,
    entity_kind,
    entity_placeholders,
    plan_characters,
)
from dialogist.tokenizers.wordpiece_codec import extra_tokens

# The folder of a BERT-like encoder: its shape and weights, checked before anything is computed.
#
# ``config.json`` and ``model.safetensors`` are read, nothing of the folder is run and nothing is
# downloaded. (`dialogist.metrics.bertscore` runs encoders of any kind with ``transformers``, for
# BERTScore; here the weights become ours, and only BERT's own architecture can.)

WEIGHTS = "model.safetensors"

_OLD = {"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"}


class BertShape(Config):
    """What a BERT computes, from its ``config.json``; names and defaults are theirs."""

    model_config = ConfigDict(frozen=True, extra="ignore", protected_namespaces=())

    model_type: str
    hidden_size: int = Field(768, ge=1, le=8192)
    num_hidden_layers: int = Field(12, ge=1, le=64)
    num_attention_heads: int = Field(12, ge=1, le=256)
    intermediate_size: int = Field(3072, ge=1, le=65536)
    hidden_act: str = "gelu"
    layer_norm_eps: float = Field(1e-12, gt=0)
    max_position_embeddings: int = Field(512, ge=1)
    position_embedding_type: str | None = "absolute"


@dataclass(frozen=True, slots=True)
class BertFolder:
    """An encoder's shape, and its weights by their names there (a prefix ``bert.`` taken off)."""

    folder: Path
    shape: BertShape
    sha256: str
    weights: Mapping[str, Tensor]

    def weight(self, name: str) -> Tensor:
        """One weight, fp32.

        Raises:
            ModelError: there is none of that name.
        """
        if name not in self.weights:
            raise ModelError(f"{self.folder / WEIGHTS}: has no weight '{name}': it is no BERT's")
        return self.weights[name].float()


def read_bert(folder: Path, sha256: str | None = None) -> BertFolder:
    """Read the folder; ``sha256`` is what its weights file must have.

    Raises:
        ModelError: no such folder, damaged, another file than wanted, or no BERT.
    """
    shape = _read_shape(folder)
    path = folder / WEIGHTS
    if not path.is_file():
        pickled = "; convert its pytorch_model.bin to safetensors" if _is_pickled(folder) else ""
        raise ModelError(f"{folder}: has no {WEIGHTS}{pickled}")
    found = sha256_of(path)
    if sha256 is not None and found != sha256:
        raise ModelError(f"{path}: its sha256 is {found}, not {sha256}: these are other weights")
    try:
        weights = load_file(path)
    except (OSError, SafetensorError) as error:
        raise ModelError(f"{path}: is no whole weights file: {error}") from None
    return BertFolder(folder, shape, found, {_our_spelling(n): w for n, w in weights.items()})


def _read_shape(folder: Path) -> BertShape:
    path = folder / "config.json"
    try:
        values: Any = json.loads(path.read_text(encoding="utf-8"))
        shape = BertShape.model_validate(values)
    except FileNotFoundError:
        raise ModelError(f"{folder}: holds no encoder: it has no config.json") from None
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        raise ModelError(f"{path}: '{key}': {first['msg']}: it is no encoder's") from None
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{path}: cannot be read: {error}") from None
    if shape.model_type != "bert":
        raise ModelError(f"{path}: is a {shape.model_type}; only model_type bert will do")
    if shape.position_embedding_type not in ("absolute", None):
        raise ModelError(
            f"{path}: position_embedding_type {shape.position_embedding_type} is not ours: only "
            "absolute can be started from"
        )
    if shape.hidden_act not in ("gelu", "relu"):
        raise ModelError(f"{path}: hidden_act {shape.hidden_act} is not ours (gelu or relu)")
    return shape


def _our_spelling(name: str) -> str:
    name = name.removeprefix("bert.")
    for old, new in _OLD.items():
        name = name.replace(old, new)
    return name


def _is_pickled(folder: Path) -> bool:
    return (folder / "pytorch_model.bin").is_file()


# Our encoder (and decoder) from a pretrained BERT-like encoder's weights.
#
# BERT (Devlin et al. 2019) is our post-norm encoder with learned positions and a layer norm behind
# the embeddings. Its token type 0, which every token of ours has, is added to the positions once. A
# decoder may begin with copies of the encoder's last layers (Rothe et al. 2020, BERT2BERT).

_NOISE = 0.02
"""Deviation of what is added to rows that start alike (BERT's own initial deviation)."""

_ENTITY_WORDS = {"PLATE_NUM": "plate", "IP": "address", "IBAN": "account", "AMOUNT": "money"}
"""What stands for a kind of entity whose own name is no good description."""

_OURS = frozenset(
    (
        *map(placeholder, range(PLACEHOLDERS)),
        *entity_placeholders(),
        *extra_tokens(),
        *plan_characters(MOST_LABELS),
    )
)


def _attention(ours: str) -> dict[str, str]:
    inner = {f"{ours}.{part}": f"attention.self.{part}" for part in ("query", "key", "value")}
    return {**inner, f"{ours}.output": "attention.output.dense"}


_ATTENDED, _FED = "attention.output.LayerNorm", "output.LayerNorm"
_FEED_FORWARD = {
    "feed_forward.inner": "intermediate.dense",
    "feed_forward.outer": "output.dense",
    "norm1": _ATTENDED,
}
_ENCODER_LAYER = {**_attention("attention"), **_FEED_FORWARD, "norm2": _FED}
_DECODER_LAYER = {
    **_attention("self_attention"),
    **_FEED_FORWARD,
    "norm2": _ATTENDED,
    "norm3": _FED,
}
"""What the parts of our layers are called in a layer of theirs."""


class EncoderStart(Config):
    """A pretrained encoder to start from, as a recipe's ``start``.

    ``encoder``: its folder, or ``package:NAME/...`` in an installed Python package. ``sha256``: of
    its model.safetensors, checked if given. ``decoder``: ``random``, or ``layers``: self-attention
    and feed-forward of the encoder's last layers, with ``cross_attention`` ``random`` or
    ``copied`` from the same layers' attention. ``licence``: the encoder's, for the record.

    ``cross_attention``: how its weights start.
    """

    encoder: str = Field(min_length=1)
    sha256: str | None = Field(None, pattern="^[0-9a-f]{64}$")
    decoder: Literal["random", "layers"] = "random"
    cross_attention: Literal["random", "copied"] = "random"
    licence: str = ""

    def __str__(self) -> str:
        return self.encoder


def encoder_weights(
    bert: BertFolder, start: EncoderStart, config: ModelConfig
) -> dict[str, Tensor]:
    """All but the table of tokens, by our names: encoder, positions, and what the decoder copies.

    Nothing for a model that is no Transformer.

    Raises:
        ConfigError: the model's configuration has another shape; names every setting.
        ModelError: the folder lacks a weight.
    """
    if not isinstance(config, TransformerConfig):
        if start.decoder != "random":
            raise ConfigError("start.decoder: layers is for model.kind transformer")
        return {}
    _require_shape(bert, config)
    found = dict(_positions(bert, "source", config.source_positions))
    for i in range(config.encoder_layers):
        found |= _layer(bert, _ENCODER_LAYER, f"encoder.layers.{i}", i)
    if start.decoder == "layers":
        _require_same_layers(config)
        found |= _positions(bert, "target", config.target_positions)
        first = config.encoder_layers - config.decoder_layers
        crossed = _attention("cross_attention") if start.cross_attention == "copied" else {}
        names = _DECODER_LAYER | crossed
        for j in range(config.decoder_layers):
            found |= _layer(bert, names, f"decoder.layers.{j}", first + j)
    return found


def _positions(bert: BertFolder, side: str, count: int) -> Iterator[tuple[str, Tensor]]:
    """The first ``count`` positions with token type 0 added, and the layer norm behind them."""
    table = bert.weight("embeddings.position_embeddings.weight")[:count]
    types = bert.weight("embeddings.token_type_embeddings.weight")
    yield f"{side}_positions.table", table + types[0]
    yield from _linear(bert, "embeddings.LayerNorm", f"{side}_positions.norm")


def _layer(
    bert: BertFolder, names: Mapping[str, str], ours: str, theirs: int
) -> Iterator[tuple[str, Tensor]]:
    for own, name in names.items():
        yield from _linear(bert, f"encoder.layer.{theirs}.{name}", f"{ours}.{own}")


def _linear(bert: BertFolder, theirs: str, ours: str) -> Iterator[tuple[str, Tensor]]:
    for kind in ("weight", "bias"):
        yield f"{ours}.{kind}", bert.weight(f"{theirs}.{kind}")


def _require_shape(bert: BertFolder, config: TransformerConfig) -> None:
    there = _settings(bert.shape)
    here = {name: getattr(config, name) for name in there}
    wrong = [f"{name}: {value}" for name, value in there.items() if here[name] != value]
    if config.key_width not in (None, config.d_model // config.heads):
        wrong.append("key_width: null")
    if config.embedding not in (None, config.d_model):
        wrong.append("embedding: null")
    wrong += [
        f"{name}: {most} (or fewer)"
        for name, most in (
            ("encoder_layers", bert.shape.num_hidden_layers),
            ("source_positions", bert.shape.max_position_embeddings),
        )
        if getattr(config, name) > most
    ]
    if wrong:
        raise ConfigError(f"start: {bert.folder} needs of the recipe's model: {', '.join(wrong)}")


def _settings(shape: BertShape) -> Mapping[str, object]:
    """The settings of ours that make a BERT of that shape."""
    return {
        "d_model": shape.hidden_size,
        "heads": shape.num_attention_heads,
        "feed_forward": shape.intermediate_size,
        "activation": shape.hidden_act,
        "norm": "post",
        "norm_eps": shape.layer_norm_eps,
        "positions": "learned",
        "embedding_norm": True,
        "scale_embeddings": False,
        "reuse_second_norm": False,
    }


def _require_same_layers(config: TransformerConfig) -> None:
    """See that encoder layers can become decoder layers."""
    if config.decoder_shape() != config.layer_shape():
        raise ConfigError(
            "start.decoder: layers needs decoder layers like the encoder's: leave model.decoder out"
        )
    if config.decoder_layers > config.encoder_layers:
        raise ConfigError(
            f"start.decoder: layers: there are no {config.decoder_layers} layers to copy: set "
            f"model.decoder_layers to {config.encoder_layers} or fewer"
        )
    if config.target_positions > config.source_positions:
        raise ConfigError("start.decoder: layers needs model.target_positions <= source_positions")


def token_rows(
    bert: BertFolder, pieces: Sequence[str], tokenizer: Tokenizer, labels: Sequence[str] = ()
) -> tuple[Tensor, int]:
    """A row (V, D) for each entry of our vocabulary, and how many are the encoder's own.

    ``pieces`` are the encoder's, in the order of its rows. A speaker's placeholder starts as the
    mean of "person" and the speaker's number, an entity's as the word for its kind, a plan's label
    as the mean of the words of its name (``labels``), what else is new as the unknown token; a
    little noise (torch's generator) tells them apart.

    Raises:
        ConfigError: hardly any entry of the tokenizer is a piece of the encoder.
        ModelError: the table has not as many rows as there are pieces.
    """
    table = bert.weight("embeddings.word_embeddings.weight")
    if len(pieces) > table.shape[0]:
        raise ModelError(
            f"{bert.folder}: its tokenizer has {len(pieces)} pieces, its table only "
            f"{table.shape[0]} rows"
        )
    place = {piece: i for i, piece in enumerate(pieces)}
    entries = [tokenizer.token(i) for i in range(len(tokenizer))]
    own = sum(entry in place for entry in entries)
    if 2 * own < sum(entry not in _OURS for entry in entries):
        raise ConfigError(
            f"start: {bert.folder}: only {own} of the tokenizer's {len(entries)} entries are "
            "pieces of it: set tokenizer.kind to wordpiece and tokenizer.path to that folder"
        )
    described = _descriptions() | _label_words(labels)
    rows = []
    for entry in entries:
        if entry in place:
            rows.append(table[place[entry]])
            continue
        words = [place[w] for w in described.get(entry, ()) if w in place] or [place["[UNK]"]]
        rows.append(table[words].mean(0) + _NOISE * torch.randn(table.shape[1]))
    return torch.stack(rows), own


def _descriptions() -> dict[str, tuple[str, ...]]:
    """Pieces that describe what a placeholder stands for."""
    speakers = {placeholder(i): ("person", str(i + 1)) for i in range(PLACEHOLDERS)}
    kinds = {c: entity_kind(c) for c in entity_placeholders()}
    return speakers | {c: (_ENTITY_WORDS.get(kind, kind.lower()),) for c, kind in kinds.items()}


def _label_words(labels: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The words of each label's name, by its character; the border has none."""
    characters = plan_characters(len(labels))[1:]
    return {c: tuple(name.lower().split()) for c, name in zip(characters, labels, strict=True)}
