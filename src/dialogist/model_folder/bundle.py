"""`Bundle`: a trained model as one folder; its number format; the mean of several."""

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

import torch
from pydantic import Field, SerializeAsAny
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save
from torch import Tensor, nn

from dialogist.config import Config, differences
from dialogist.data.key_points import RulePack, load_pack
from dialogist.data.prepare import Preparation, PreparationConfig
from dialogist.decoding import DecodingOptions
from dialogist.errors import ConfigError, ModelError, UsageError
from dialogist.model_folder.model_files import (
    MODEL_FORMAT_VERSION,
    combined_licence,
    has_network,
    licence_of,
    no_network,
    parse_file,
    read_json,
)
from dialogist.model_folder.options import GENERATION, MEASURED, SummaryOptions, model_options
from dialogist.models import ModelConfig, SequenceModel
from dialogist.models.model_weights import (
    SCALE,
    STORED,
    Undrawn,
    average_weights,
    copy_weights,
    fill_weights,
    pack_weights,
    unpack_weights,
    weights_of,
)
from dialogist.nn.output_layer import VocabularyProjection
from dialogist.nn.quantization import Bf16Linear, FixedLinear, Int8Linear, has_bf16, has_int8
from dialogist.nn.transformer_layers import (
    DecoderLayer,
    EncoderLayer,
    FeedForward,
)
from dialogist.records import JSON
from dialogist.highlights.network import BUNDLED
from dialogist.tokenizers import Tokenizer, read_tokenizer

# Which number format a model computes in once it is in use, and bringing it there.
#
# Weights are cast (and those of one input joined) once, at loading. What sums over many numbers
# stays fp32 in every format: softmax over the vocabulary, layer norms, scores of hypotheses.
#
#     fp32  as trained, on any machine
#     bf16  linear layers and attention, as in training with bf16
#     int8  linear layers of the Transformer's stacks and the output layer, the encoder's attention
#           in bf16 where the machine has that, all the rest in fp32
#
# How the layers compute in them: `dialogist.nn.quantization`.


Precision = Literal["auto", "fp32", "bf16", "int8"]
Format = Literal["fp32", "bf16", "int8"]

_Linear = Callable[[Tensor, Tensor], nn.Module]


def resolve_precision(wanted: str, device: torch.device) -> Format:
    """What ``wanted`` means on this machine; ``auto`` is what is fastest there.

    Measured in docs/notes/2026-11-24-summary-speed.md.

    Raises:
        UsageError: no such format, or the device has no units for it (it would be slow).
    """
    if wanted == "auto":
        return _best(device)
    if wanted not in get_args(Format):
        raise UsageError(f"precision '{wanted}': use {', '.join(get_args(Precision))}")
    if wanted == "bf16" and not has_bf16(device):
        raise UsageError(f"precision bf16: this {device.type} has no bf16 units; use fp32 or auto")
    if wanted == "int8" and not has_int8(device):
        raise UsageError(f"precision int8: this {device.type} has no int8 units; use fp32 or auto")
    return wanted  # type: ignore[return-value]


def _best(device: torch.device) -> Format:
    """On a GPU fp32: a model this small waits for its kernels to start, whatever their format."""
    if has_int8(device):
        return "int8"
    return "bf16" if device.type == "cpu" and has_bf16(device) else "fp32"


def use_precision(model: nn.Module, format: Format) -> None:
    """Bring a model's weights to the format, in place and for good: it is not to be trained on."""
    halves = format == "int8" and has_bf16(next(model.parameters()).device)
    for module in list(model.modules()):
        if isinstance(module, EncoderLayer):
            module.attention.merge(_LINEAR[format], torch.bfloat16 if halves else None)
        elif isinstance(module, DecoderLayer):
            module.self_attention.merge(_LINEAR[format])
    if format != "fp32":
        _change_linears(model, format)
    model.requires_grad_(False)


def _change_linears(model: nn.Module, format: Format) -> None:
    """All linear layers to bf16, which is what training in bf16 does; or the stacks' to int8."""
    for module in list(model.modules()):
        if isinstance(module, VocabularyProjection):
            module.working = _LINEAR[format](module.weight, module.bias)
        elif format == "bf16" and type(module) is nn.Linear:
            module.to(torch.bfloat16)
        elif format == "bf16" and isinstance(module, FeedForward):
            long = module.outer
            module.register_module("outer", Bf16Linear(long.weight, long.bias))
        elif format == "int8" and getattr(module, "int8_layers", False):
            _replace_linears(module)


def _replace_linears(stack: nn.Module) -> None:
    for parent in list(stack.modules()):
        for name, child in list(parent.named_children()):
            if type(child) is nn.Linear:
                setattr(parent, name, Int8Linear(child.weight, child.bias))


_LINEAR: dict[Format, _Linear] = {"fp32": FixedLinear, "bf16": Bf16Linear, "int8": Int8Linear}
"""What makes the layers of each format."""


# `Bundle`: a trained model with everything it needs, as one folder.
#
#     config.json              format version, model, preparation, vocabulary size, origin
#     generation_config.json   the decoding options it was tuned for
#     model.safetensors        weights (fp16 or int8 when shipped: `dialogist.models.model_weights`)
#     tokenizer.json, tokenizer_config.json
#     key_points.yaml          the rule pack that its key points come from, if it has any
#     README.md                the model card
#
# Later releases keep loading earlier format versions; a newer one is refused with a clear line.


KEY_POINTS_FILE = "key_points.yaml"

Stored = Literal["fp32", "fp16", "bf16", "int8"]


class BundleConfig(Config):
    """What ``config.json`` holds."""

    format: str = "dialogist"
    format_version: int = MODEL_FORMAT_VERSION
    weights: Stored | None = None  # what they are stored as; older files do not say
    vocabulary: int
    model: SerializeAsAny[ModelConfig]
    preparation: PreparationConfig
    about: dict[str, Any] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Bundle:
    """A model ready to use.

    ``precision``: what it was brought to for use; None: its weights
    are as trained, in fp32, and can be saved.
    """

    model: SequenceModel
    tokenizer: Tokenizer
    preparation: Preparation
    decoding: DecodingOptions
    name: str = ""
    about: Mapping[str, JSON] = field(default_factory=dict)
    precision: Format | None = None

    def as_measured(self) -> "Bundle":
        """Return the same model with the options of `MEASURED`."""
        options = SummaryOptions.of(self.decoding).model_copy(update=MEASURED)
        return replace(self, decoding=options)


def save_bundle(folder: Path, bundle: Bundle, card: str, dtype: torch.dtype) -> None:
    """Write a model folder; weights are stored as ``dtype``: fp32, fp16, bf16 or int8."""
    assert bundle.precision is None, "its weights were changed for use: load it without a precision"
    folder.mkdir(parents=True, exist_ok=True)
    config = BundleConfig(
        weights=STORED[dtype],
        vocabulary=len(bundle.tokenizer),
        model=bundle.model.config,
        preparation=bundle.preparation.config,
        about=dict(bundle.about),
    )
    _write_json(folder / "config.json", config)
    _write_json(folder / GENERATION, bundle.decoding)
    weights = pack_weights(weights_of(bundle.model), dtype)
    # Not save_file: it makes files that nobody but their owner can read.
    (folder / "model.safetensors").write_bytes(save(weights, metadata={"format": "pt"}))
    bundle.tokenizer.save(folder)
    pack = bundle.preparation.pack
    if pack is not None:
        (folder / KEY_POINTS_FILE).write_text(pack.text, encoding="utf-8")
    (folder / "README.md").write_text(card, encoding="utf-8")


def load_bundle(
    folder: Path, device: torch.device, name: str = "", precision: Precision | None = None
) -> Bundle:
    """Load a model folder.

    ``precision``: what it shall compute in; None: fp32 with the weights as trained, to be saved
    or trained on.

    Raises:
        ModelError: something is missing, damaged, inconsistent, or of a newer format.
        UsageError: the device does not have this precision.
    """
    chosen = None if precision is None else resolve_precision(precision, device)
    config = _read_config(folder)
    tokenizer = read_tokenizer(folder)
    if len(tokenizer) != config.vocabulary:
        raise ModelError(
            f"{folder}: its tokenizer has {len(tokenizer)} entries, "
            f"config.json says {config.vocabulary}"
        )
    path = folder / "model.safetensors"
    try:
        # Shapes are compared before anything of the model's size is allocated.
        with torch.device("meta"), Undrawn():
            model = config.model.build(config.vocabulary)
        _check_shapes(model, path)
        fill_weights(model, unpack_weights(load_file(path), str(path)), device, str(path))
        model.attach(tokenizer)
    except (OSError, SafetensorError) as error:
        raise ModelError(f"{path}: is no whole weights file: {error}") from None
    decoding = model_options(folder)
    preparation = Preparation(config.preparation, _read_pack(folder, config.preparation))
    if max(0, len(tokenizer.plan_ids()) - 1) != len(preparation.planned_labels):
        raise ModelError(f"{folder}: its tokenizer and {KEY_POINTS_FILE} have not the same labels")
    model.eval()
    if chosen is not None:
        use_precision(model, chosen)
    called = name or folder.name
    return Bundle(model, tokenizer, preparation, decoding, called, config.about, chosen)


def describe(folder: Path) -> dict[str, Any]:
    """The facts of a model folder without loading its weights: for ``models info``.

    Of a model without a network these are the selector's; there is no ``vocabulary`` then.

    Raises:
        ModelError: as `load_bundle`.
    """
    config = _read_config(folder) if has_network(folder) else None
    path = folder / "model.safetensors" if config else BUNDLED
    try:
        with safe_open(path, framework="pt") as file:
            slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        raise ModelError(f"{path}: is no whole weights file: {error}") from None
    files = {path, *(p for p in folder.iterdir() if p.is_file())}
    about = config.about if config else read_json(folder / "config.json").get("about", {})
    network = {} if config is None else config.model_dump(include={"vocabulary", "preparation"})
    return {
        "path": str(folder),
        "format_version": config.format_version if config else MODEL_FORMAT_VERSION,
        "kind": config.model.kind if config else "selector",
        "parameters": sum(
            math.prod(s.get_shape()) for name, s in slices.items() if not name.endswith(SCALE)
        ),
        "stored_as": sorted({s.get_dtype() for s in slices.values()}),
        "bytes": sum(file.stat().st_size for file in files),
        **network,
        "model": config and config.model.model_dump(),
        "style": model_options(folder).style,
        "licence": licence_of(folder, about),
        "about": about,
    }


def _read_pack(folder: Path, preparation: PreparationConfig) -> RulePack | None:
    """The rule pack as it was in training: another of that name may have other labels."""
    if preparation.key_points is None:
        return None
    try:
        return load_pack(folder / KEY_POINTS_FILE)
    except ConfigError as error:
        raise ModelError(str(error)) from None


def _read_config(folder: Path) -> BundleConfig:
    if not has_network(folder):
        raise ModelError(no_network(folder.name))
    return parse_file(BundleConfig, folder / "config.json")


def _write_json(path: Path, config: Config) -> None:
    text = json.dumps(config.model_dump(mode="json"), ensure_ascii=False, indent=2) + "\n"
    path.write_text(text, encoding="utf-8")


def _check_shapes(model: nn.Module, path: Path) -> None:
    with safe_open(path, framework="pt") as file:
        found = {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118
    for name, parameter in model.named_parameters():
        if found.get(name) != tuple(parameter.shape):
            raise ModelError(
                f"{path}: the weight '{name}' has shape {found.get(name, 'none: it is missing')}, "
                f"config.json says {tuple(parameter.shape)}"
            )


# The mean of several models that began alike: a soup (Wortsman et al. 2022, uniform).
#
# Runs that go out from one model and differ in their seeds, data order or settings end so near
# each other that the mean of their weights is a model again, often a better one than each of
# them, and as small and fast. Runs that began with different weights do not. The model that they
# went out from can be one of the models: the mean keeps more of what it knew (WiSE-FT: Wortsman
# et al. 2022b).


_LICENCE = re.compile(r"^license:.*$", re.MULTILINE)


def average(bundles: Sequence[Bundle]) -> Bundle:
    """The first of them (two or more) with the mean of all weights.

    The first that knows who speaks, if any does; its numbers (`nn.attention`) are the mean
    of those that have them.

    Raises:
        ModelError: one has another network, vocabulary or preparation than the first; names both.
    """
    first, *others = bundles
    for other in others:
        if part := _difference(first, other):
            raise ModelError(
                f"{other.name} has another {part} than {first.name}: only runs of one recipe "
                "that began with the same weights have a mean"
            )
    into = next((bundle for bundle in bundles if _knows_speakers(bundle)), first)
    mean = average_weights([weights_of(bundle.model) for bundle in bundles])
    copy_weights(weights_of(into.model), mean, "the mean")
    names: list[JSON] = [bundle.name for bundle in bundles]
    licence = combined_licence(str(bundle.about.get("licence", "")) for bundle in bundles)
    return replace(into, about={**into.about, "licence": licence, "mean_of": names})


def _knows_speakers(bundle: Bundle) -> bool:
    return bundle.model.config.knows_speakers


def card_of_mean(name: str, models: Sequence[str], first: str, licence: str = "") -> str:
    """The card of the mean of ``models``: its name, its parts, the ``first`` card.

    ``licence``: that of the mean, instead of the first card's.
    """
    head, card = "", first
    if first.startswith("---\n"):
        front, _, card = first[4:].partition("\n---\n")
        if licence:
            front = _LICENCE.sub(f"license: {licence}", front)
        head = f"---\n{front}\n---\n"
    listed = "".join(f"* {model}\n" for model in models)
    return (
        f"{head}# {name}\n\nThe mean of the weights of {len(models)} models:\n\n{listed}\n"
        f"What follows is the card of the first of them, its figures included.\n\n{card}"
    )


def _difference(one: Bundle, other: Bundle) -> str | None:
    """What keeps two models from having a mean; None: nothing that can be seen."""
    configs = [bundle.model.config.model_dump(mode="json") for bundle in (one, other)]
    unlike = differences(configs[0], configs[1])
    if any(not text.startswith("speaker_attention") for text in unlike):
        return "network (config.json: model)"
    if _entries(one.tokenizer) != _entries(other.tokenizer):
        return "vocabulary (tokenizer.json)"
    if one.preparation.config != other.preparation.config:
        return "preparation (config.json: preparation)"
    return None


def _entries(tokenizer: Tokenizer) -> list[str]:
    return [tokenizer.token(index) for index in range(len(tokenizer))]
