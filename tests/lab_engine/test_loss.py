"""The loss over the vocabulary in pieces against the plain one, and what objectives count."""

import pytest
import torch
from tests.lab_engine.samples import SYMBOLS, copying_pairs, small_model
from torch import Tensor, nn

from dialogist_lab.data.batching import collate
from dialogist_lab.models import vocabulary_output
from dialogist_lab.models.generator import Batch
from dialogist_lab.models.vocabulary_output import LogProbs
from dialogist_lab.training.objective import CrossEntropy


def gradients(loss: Tensor, layer: nn.Linear, hidden: Tensor) -> list[Tensor]:
    return list(torch.autograd.grad(loss, [hidden, layer.weight, layer.bias]))


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("format", [torch.float32, torch.bfloat16])
def test_own_loss_and_gradients_are_those_of_log_softmax(
    smoothing: float, format: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vocabulary_output, "_PIECE", 1)  # many pieces
    torch.manual_seed(1)
    layer = nn.Linear(32, 300)
    hidden = (3 * torch.randn(150, 32)).requires_grad_()
    targets = torch.randint(300, (150,))
    weights = torch.rand(150)
    weights[5] = 0  # a pointer can leave nothing to the vocabulary
    with torch.no_grad():
        layer.bias[targets[7]] += 30  # the model is sure of this one
    plain = torch.log_softmax(layer(hidden), dim=1)
    wanted = (weights * plain.gather(1, targets[:, None])[:, 0]).sum()
    wanted = (1 - smoothing) * wanted + smoothing * plain.mean(dim=1).sum()
    with torch.autocast("cpu", torch.bfloat16, enabled=format == torch.bfloat16):
        own = LogProbs(layer, hidden).of(targets, with_mean=smoothing > 0)
    found = (1 - smoothing) * (weights * own.target).sum()
    if own.mean is not None:
        found = found + smoothing * own.mean.sum()
    close = {"rtol": 1e-4, "atol": 1e-4} if format == torch.float32 else {"rtol": 0.02, "atol": 0.1}
    torch.testing.assert_close(found, wanted, **close)
    pairs = zip(gradients(found, layer, hidden), gradients(wanted, layer, hidden), strict=True)
    for one, other in pairs:
        distance = (one.float() - other).norm() / other.norm()
        assert distance < (1e-5 if format == torch.float32 else 0.02)


def test_padding_never_counts_and_halves_add_up(batch: Batch) -> None:
    model, objective = small_model().requires_grad_(False), CrossEntropy(label_smoothing=0.1)
    whole = objective(model, batch, SYMBOLS)
    pairs = copying_pairs(3)
    parts = [objective(model, collate(part, SYMBOLS), SYMBOLS) for part in (pairs[:1], pairs[1:])]
    assert whole.count == sum(part.count for part in parts) == int(batch.target.mask.sum())
    assert float(whole.value) == pytest.approx(sum(float(part.value) for part in parts), rel=1e-5)
    plain = CrossEntropy()(model, batch, SYMBOLS)
    assert float(plain.value) == pytest.approx(whole.terms["nll"], rel=1e-6)
    assert float(plain.value) != pytest.approx(float(whole.value), rel=1e-3)
