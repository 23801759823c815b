"""`Bundle`: a trained model with everything it needs, as one folder.

    config.json              format version, model, preparation, vocabulary size, origin
    generation_config.json   the decoding options it was tuned for
    model.safetensors        weights (fp16 or int8 when shipped: `dialogist.models.model_weights`)
    tokenizer.json, tokenizer_config.json
    key_points.yaml          the rule pack that its key points come from, if it has any
    README.md                the model card

Later releases keep loading earlier format versions; a newer one is refused with a clear line.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import torch
from pydantic import Field, SerializeAsAny
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save
from torch import nn

from dialogist.config import Config
from dialogist.data.key_points import RulePack, load_pack
from dialogist.data.prepare import Preparation, PreparationConfig
from dialogist.decoding import DecodingOptions
from dialogist.engine.options import (
    GENERATION,
    MEASURED,
    MODEL_FORMAT_VERSION,
    SummaryOptions,
    check_format,
    licence_of,
    model_options,
    parse_file,
)
from dialogist.engine.precision import Format, Precision, resolve_precision, use_precision
from dialogist.errors import ConfigError, ModelError
from dialogist.models import ModelConfig, SequenceModel
from dialogist.models.model_weights import (
    SCALE,
    STORED,
    Undrawn,
    fill_weights,
    pack_weights,
    unpack_weights,
    weights_of,
)
from dialogist.records import JSON
from dialogist.tokenizers import Tokenizer, read_tokenizer

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

    ``precision``: what it was brought to for use (`dialogist.engine.precision`); None: its weights
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

    Raises:
        ModelError: as `load_bundle`.
    """
    config = _read_config(folder)
    path = folder / "model.safetensors"
    try:
        with safe_open(path, framework="pt") as file:
            slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        raise ModelError(f"{path}: is no whole weights file: {error}") from None
    size = sum(p.stat().st_size for p in folder.iterdir() if p.is_file())
    return {
        "path": str(folder),
        "format_version": config.format_version,
        "kind": config.model.kind,
        "parameters": sum(
            math.prod(s.get_shape()) for name, s in slices.items() if not name.endswith(SCALE)
        ),
        "stored_as": sorted({s.get_dtype() for s in slices.values()}),
        "bytes": size,
        "vocabulary": config.vocabulary,
        "model": config.model.model_dump(),
        "preparation": config.preparation.model_dump(),
        "style": model_options(folder).style,
        "licence": licence_of(folder, config.about),
        "about": config.about,
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
    check_format(folder)
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
