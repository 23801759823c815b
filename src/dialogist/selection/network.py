"""The selector's network: a few small perceptrons on a unit and its neighbours, in NumPy."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

from dialogist.selection.features import Matrix
from dialogist.selection.terms import Rarity

BUNDLED = Path(__file__).resolve().parents[1] / "assets" / "selection" / "open.safetensors"
"""The selector that the package holds."""

_CLIP = 4.0  # standard deviations
_ROOT = np.float32(0.7978845608)


@dataclass(frozen=True, slots=True)
class Network:
    """``hidden`` (N, 3F, H) and ``out`` (N, H) of N perceptrons; their mean counts."""

    mean: Matrix
    deviation: Matrix
    hidden: Matrix
    hidden_bias: Matrix
    out: Matrix
    out_bias: Matrix
    rarity: Rarity

    def probabilities(self, features: Matrix) -> NDArray[np.float32]:
        """(U,) of features (U, F): how likely a summary must hold each unit."""
        if not len(features):
            return np.zeros(0, dtype=np.float32)
        x = around(np.clip((features - self.mean) / self.deviation, -_CLIP, _CLIP))
        hidden = _gelu(np.einsum("uf,nfh->nuh", x, self.hidden) + self.hidden_bias[:, None])
        logits = np.einsum("nuh,nh->nu", hidden, self.out) + self.out_bias
        found: NDArray[np.float32] = (1 / (1 + np.exp(-logits))).mean(axis=0)
        return found


def around(x: Matrix) -> Matrix:
    """(U, 3F): each row with the one before and the one behind it, zeros beyond the ends."""
    none = np.zeros_like(x[:1])
    return np.concatenate([x, np.vstack([none, x[:-1]]), np.vstack([x[1:], none])], axis=1)


def _gelu(x: Matrix) -> Matrix:
    found: Matrix = 0.5 * x * (1 + np.tanh(_ROOT * (x + np.float32(0.044715) * x**3)))
    return found


def read_network(path: Path) -> Network:
    """The network of a safetensors file, as `dialogist.recipe.selector` writes it."""
    stored: Mapping[str, NDArray[np.generic]] = load_file(path)
    stems = stored["stems"].tobytes().decode("utf-8").split("\n")
    counts = dict(zip(stems, stored["counts"].tolist(), strict=True))
    weights = {
        name: stored[name].astype(np.float32)
        for name in ("mean", "deviation", "hidden", "hidden_bias", "out", "out_bias")
    }
    return Network(**weights, rarity=Rarity(counts, int(stored["dialogues"][0])))


@cache
def bundled_network() -> Network:
    """The network that the package holds: trained on the project's own dialogues."""
    return read_network(BUNDLED)
