"""Vectors for the pieces of words, from a pretrained encoder that reads each piece alone.

Such vectors carry much of what the encoder knows of words, and need no network in use (Model2Vec,
Tulkens and van Dongen 2024). The selector learns on top of them; they are not trained.
"""

import importlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from dialogist.errors import MissingExtraError
from dialogist.nn.quantization import Rows8
from dialogist.tokenizers.wordpiece_vocabulary import read_vocabulary

_PIECES = 16_000
"""The first of BERT's pieces, which are by custom the frequent ones; rare words become several."""

_WIDTH = 64
_COMMON = 8_000  # pieces whose directions count
_BATCH = 2_000
_RARE = 1e-3  # share of all pieces: what is as frequent has half of the weight


def piece_vectors(folder: Path) -> dict[str, np.ndarray]:
    """The pieces and vectors of a BERT-like encoder's folder, without weights.

    Raises:
        MissingExtraError: transformers are not installed.
        ModelError: the folder has no WordPiece vocabulary.
    """
    found = read_vocabulary(folder).pieces[:_PIECES]
    pieces = ["" if piece.startswith("[unused") else piece for piece in found]
    states = _states(folder, len(pieces), [found.index(mark) for mark in ("[CLS]", "[SEP]")])
    states -= states.mean(axis=0)
    directions = np.linalg.svd(states[:_COMMON], full_matrices=False)[2][:_WIDTH]
    vectors = states @ directions.T
    vectors /= vectors[:_COMMON].std(axis=0).mean()
    values, scales = Rows8.of(torch.from_numpy(vectors))
    text = "\n".join(pieces).encode("utf-8")
    return {
        "pieces": np.frombuffer(text, dtype=np.uint8),
        "piece_values": values.numpy(),
        "piece_scales": scales.numpy(),
    }


def _states(folder: Path, count: int, ends: list[int]) -> Any:
    """(V, H): the mean of what the encoder makes of each piece between its two ends."""
    try:
        transformers: Any = importlib.import_module("transformers")
    except ImportError:
        raise MissingExtraError("vectors of pieces", "pretrained") from None
    encoder = transformers.AutoModel.from_pretrained(folder, local_files_only=True).eval()
    first, last = ends
    found = []
    with torch.no_grad():
        for ids in torch.split(torch.arange(count), _BATCH):
            rows = torch.stack([torch.full_like(ids, first), ids, torch.full_like(ids, last)], 1)
            found.append(encoder(input_ids=rows).last_hidden_state.mean(dim=1))
    return torch.cat(found).numpy()


def piece_weights(ids: Iterable[np.ndarray], count: int) -> np.ndarray:
    """(V,): less for frequent pieces (SIF, Arora et al. 2017)."""
    counts = np.bincount(np.concatenate(list(ids)), minlength=count)
    found: np.ndarray = _RARE / (_RARE + counts / counts.sum())
    return found.astype(np.float32)
