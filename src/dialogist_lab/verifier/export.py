"""The trained verifier as the tool reads it: calibrated, in ONNX, its weights in 8 bits."""

import json
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn

from dialogist.grounding.local_verifier import LABELS, MODEL, EncodedStatements
from dialogist_lab.onnx_files import write_onnx
from dialogist_lab.verifier.verifier_training import VerifierNetwork

PRECISION = 0.95
"""Of what is called supported so much is true, and of what is refused false, where half of all
statements are true."""
_PRIOR = 1e-4  # few statements tell little


class Calibration(NamedTuple):
    """What the log-odds of being true are multiplied by and what is added (Platt 1999); and the
    chances from which on a statement is called supported, and up to which it is refused."""

    scale: float
    shift: float
    supported: float
    refused: float

    def chances(self, logits: Tensor) -> Tensor:
        """(S, `LABELS`) of as many logits."""
        against = logits[:, 1:]
        odds = logits[:, :1] - against.logsumexp(-1, keepdim=True)
        true = torch.sigmoid(self.scale * odds + self.shift)
        return torch.cat([true, (1 - true) * against.softmax(-1)], -1)


def calibrated(logits: Tensor, labels: Tensor) -> Calibration:
    """By logits (S, `LABELS`) of statements that training did not see, and their labels (S,).

    Statements that are true in part are left out.
    """
    whole = labels != list(LABELS).index("partial")
    logits, true = logits[whole].double(), (labels[whole] == 0).double()
    odds = logits[:, 0] - logits[:, 1:].logsumexp(-1)
    fit = torch.tensor([1.0, 0.0], dtype=torch.double, requires_grad=True)
    optimizer = torch.optim.LBFGS([fit], max_iter=50)

    def loss() -> Tensor:
        optimizer.zero_grad()
        value = nn.functional.binary_cross_entropy_with_logits(fit[0] * odds + fit[1], true)
        value = value + _PRIOR * ((fit[0] - 1) ** 2 + fit[1] ** 2)
        value.backward()  # type: ignore[no-untyped-call]
        return value

    optimizer.step(loss)  # type: ignore[no-untyped-call]
    scale, shift = (float(value) for value in fit.detach())
    chances = torch.sigmoid(scale * odds + shift)
    order = chances.argsort(descending=True)
    supported = _threshold(chances[order], true[order])
    order = order.flip(0)
    refused = _threshold(chances[order], 1 - true[order])
    return Calibration(scale, shift, supported, refused)


def _threshold(chances: Tensor, right: Tensor) -> float:
    """The last of the chances up to which `PRECISION` are right."""
    share = right.cumsum(0) / torch.arange(1, len(right) + 1)
    good = (share >= PRECISION).nonzero()
    return round(float(chances[int(good[-1]) if len(good) else 0]), 4)


class _Exported(nn.Module):
    """One pass to chances (S, `LABELS`)."""

    def __init__(self, network: VerifierNetwork, calibration: Calibration) -> None:
        super().__init__()
        self.network, self.calibration = network, calibration

    def forward(
        self, ids: Tensor, positions: Tensor, blocks: Tensor, types: Tensor, firsts: Tensor
    ) -> Tensor:
        inputs = (ids, positions, blocks, types, firsts)
        logits = self.network(*(values[None] for values in inputs))[0]
        return self.calibration.chances(logits)


def export_verifier(
    network: VerifierNetwork, calibration: Calibration, start: Path, folder: Path
) -> None:
    """Write `MODEL` into a folder. ``start``: the folder of its encoder."""
    plain = VerifierNetwork(start, attention="eager")  # the only one that the exporter knows
    plain.load_state_dict(network.state_dict())
    values = ([5, 6, 7, 8], [2, 0, 1, 0], [0, 1, 1, 2], [0, 1, 2, 1], [1, 3])
    counted = ("tokens", "tokens", "tokens", "tokens", "statements")
    sample = {
        name: (torch.tensor(value), {0: what})
        for name, value, what in zip(EncodedStatements._fields, values, counted, strict=True)
    }
    about = {"thresholds": json.dumps(calibration[2:])}
    write_onnx(_Exported(plain, calibration), sample, ("chances",), folder / MODEL, about)
