"""The folder of a BERT-like encoder: its shape and weights, checked before anything is computed.

``config.json`` and ``model.safetensors`` are read, nothing of the folder is run and nothing is
downloaded. (`dialogist.metrics.encoder` runs encoders of any kind with ``transformers``, for
BERTScore; here the weights become ours, and only BERT's own architecture can.)
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, Field, ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from dialogist.config import Config
from dialogist.errors import ModelError
from dialogist.files import sha256_of

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
