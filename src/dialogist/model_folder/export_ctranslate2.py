"""A flat Transformer as a model of CTranslate2, for people who serve with that engine.

CTranslate2's Transformer has everything of ours but copying, and embeddings that are narrower
than the model; such models are refused. Its search is its own: it knows neither our filters nor
our length penalty, and begins with the vocabulary's begin symbol as ours does.
"""

import shutil
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from dialogist.errors import ModelError, needs_extra
from dialogist.files import write_folder_atomically
from dialogist.model_folder.bundle import Bundle
from dialogist.model_folder.model_files import carry_licence
from dialogist.models.transformer import Transformer
from dialogist.nn.attention import MultiHeadAttention
from dialogist.nn.layers import Positions
from dialogist.nn.transformer_layers import DecoderLayer, EncoderLayer, FeedForward, LayerShape
from dialogist.tokenizers.base import TOKENIZER_FILES

Spec: TypeAlias = Any
"""A node of CTranslate2's description of a model; its attributes are arrays and nodes."""


def export_ctranslate2(
    bundle: Bundle, source: Path, folder: Path, quantization: str = "int8"
) -> None:
    """Write a folder that ``ctranslate2.Translator`` loads, with our tokenizer beside it.

    ``bundle``: loaded without a precision from the model folder ``source``. Sources are given as
    ``tokenizer.token(i)`` for each id of an encoded dialogue, begin and end symbols included.
    ``quantization``: CTranslate2's name of what weights are stored as: int8, float16, float32 ...

    Raises:
        MissingExtraError: CTranslate2 is not installed.
        ModelError: CTranslate2 cannot express this model.
    """
    with needs_extra("export to CTranslate2", "fast"):
        from ctranslate2.specs import common_spec, transformer_spec
    model = _exportable(bundle, source)
    shapes = model.config.layer_shape(), model.config.decoder_shape()
    activations = {"relu": common_spec.Activation.RELU, "gelu": common_spec.Activation.GELU}
    kinds = transformer_spec.TransformerEncoderSpec, transformer_spec.TransformerDecoderSpec
    counts = model.config.encoder_layers, model.config.decoder_layers
    specs = [
        kind(
            count,
            shape.heads,
            pre_norm=shape.norm == "pre",
            activation=activations[shape.activation],
            layernorm_embedding=model.config.embedding_norm,
            head_dim=shape.key_width,
        )
        for kind, shape, count in zip(kinds, shapes, counts, strict=True)
    ]
    spec = transformer_spec.TransformerSpec(*specs)
    _fill(spec, model)
    _name(spec, bundle, shapes[0])
    spec.validate()
    spec.optimize(quantization=quantization)
    write_folder_atomically(folder, lambda into: _save(spec, source, into))


def _exportable(bundle: Bundle, source: Path) -> Transformer:
    """The model, if CTranslate2 can compute it."""
    assert bundle.precision is None
    model = bundle.model
    reason = ""
    if not isinstance(model, Transformer):
        reason = f"it is of kind '{model.config.kind}'"
    elif model.config.pointer:
        reason = "it copies words (pointer: true)"
    elif model.config.speaker_attention:
        reason = "its attention knows who speaks (speaker_attention: true)"
    elif bundle.tokenizer.plan is not None:
        reason = "it writes a plan first (preparation.plan: prefix)"
    elif model.source_embedding.projection is not None:
        reason = f"its embeddings are narrower than the model ({model.config.embedding})"
    elif model.config.decoder_shape().norm_eps != model.config.norm_eps:
        reason = "encoder and decoder normalise with different norm_eps"
    if reason:
        raise ModelError(
            f"{source}: cannot be exported to CTranslate2: {reason}; flat Transformers without "
            "pointer and plan can"
        )
    return cast(Transformer, model)


def _fill(spec: Spec, model: Transformer) -> None:
    """Give the description its weights."""
    sides = (
        (spec.encoder, model.source_embedding, model.source_positions, model.encoder),
        (spec.decoder, model.target_embedding, model.target_positions, model.decoder),
    )
    for side, embedding, positions, stack in sides:
        tables = side.embeddings if isinstance(side.embeddings, list) else [side.embeddings]
        tables[0].weight = _array(embedding.weight)
        side.scale_embeddings = model.config.scale_embeddings
        _positions(side, positions)
        if isinstance(stack.final_norm, nn.LayerNorm):
            _norm(side.layer_norm, stack.final_norm)
        for layer_spec, layer in zip(side.layer, stack.layers, strict=True):
            if isinstance(layer, EncoderLayer):
                _encoder_layer(layer_spec, layer)
            else:
                _decoder_layer(layer_spec, cast(DecoderLayer, layer))
    _linear(spec.decoder.projection, model.output)


def _positions(side: Spec, positions: Positions) -> None:
    side.position_encodings.encodings = _array(positions.table)
    if positions.norm is not None:
        _norm(side.layernorm_embedding, positions.norm)


def _encoder_layer(spec: Spec, layer: EncoderLayer) -> None:
    _self_attention(spec.self_attention, layer.attention)
    _norm(spec.self_attention.layer_norm, layer.norm1)
    _feed_forward(spec.ffn, layer.feed_forward)
    _norm(spec.ffn.layer_norm, layer.norm2)


def _decoder_layer(spec: Spec, layer: DecoderLayer) -> None:
    _self_attention(spec.self_attention, layer.self_attention)
    _norm(spec.self_attention.layer_norm, layer.norm1)
    cross = layer.cross_attention
    _linear(spec.attention.linear[0], cross.query)
    _linear(spec.attention.linear[1], cross.key, cross.value)
    _linear(spec.attention.linear[2], cross.output)
    _norm(spec.attention.layer_norm, layer.norm2)
    _feed_forward(spec.ffn, layer.feed_forward)
    _norm(spec.ffn.layer_norm, layer.norm3 or layer.norm2)  # (the reports use the second twice)


def _self_attention(spec: Spec, attention: MultiHeadAttention) -> None:
    _linear(spec.linear[0], attention.query, attention.key, attention.value)
    _linear(spec.linear[1], attention.output)


def _feed_forward(spec: Spec, network: FeedForward) -> None:
    _linear(spec.linear_0, network.inner)
    _linear(spec.linear_1, network.outer)


def _linear(spec: Spec, *layers: nn.Linear) -> None:
    """One layer of those given, whose outputs stand beside each other."""
    spec.weight = np.concatenate([_array(layer.weight) for layer in layers])
    spec.bias = np.concatenate([_array(layer.bias) for layer in layers])


def _norm(spec: Spec, norm: nn.LayerNorm) -> None:
    spec.gamma, spec.beta = _array(norm.weight), _array(norm.bias)


def _array(weight: Tensor) -> NDArray[np.float32]:
    return np.ascontiguousarray(weight.detach().float().numpy())


def _name(spec: Spec, bundle: Bundle, shape: LayerShape) -> None:
    """Vocabulary, control symbols, and what layer norms add to the variance."""
    tokenizer = bundle.tokenizer
    tokens = [tokenizer.token(index) for index in range(len(tokenizer))]
    spec.register_source_vocabulary(tokens)
    spec.register_target_vocabulary(tokens)
    controls = tokenizer.controls
    spec.config.unk_token, spec.config.eos_token = controls.unk, controls.eos
    spec.config.bos_token = spec.config.decoder_start_token = controls.bos
    spec.config.add_source_bos = spec.config.add_source_eos = False
    spec.config.layer_norm_epsilon = shape.norm_eps


def _save(spec: Spec, source: Path, folder: Path) -> None:
    spec.save(str(folder))
    for name in TOKENIZER_FILES:
        shutil.copyfile(source / name, folder / name)
    carry_licence([source], folder)
    card = source / "README.md"
    if card.is_file():
        shutil.copyfile(card, folder / card.name)
