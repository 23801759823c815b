"""Coverage of recurrent models (See et al. 2017, equations 10 to 12)."""

from dataclasses import replace

import pytest
import torch
from tests.models.pointer_samples import BATCH, COVERED, PAIRS, model_of
from torch import Tensor, nn

from dialogist.tensors import Batch
from dialogist_lab.papers.recurrent import Recurrent


def padded(batch: Batch, source: int, target: int) -> Batch:
    """Further columns of padding."""

    def wider(ids: Tensor, more: int) -> Tensor:
        return nn.functional.pad(ids, (0, more))

    assert batch.copied is not None
    return replace(
        batch,
        source=wider(batch.source, source),
        source_mask=wider(batch.source_mask, source),
        copied=wider(batch.copied, source),
        target_in=wider(batch.target_in, target),
        target_out=wider(batch.target_out, target),
        target_mask=wider(batch.target_mask, target),
    )


def wandering(form: str) -> Recurrent:
    """A model whose attention leaves the places where it has been."""
    model = model_of(form)
    attention = model.decoder.attention
    assert attention is not None
    assert attention.coverage is not None
    nn.init.constant_(attention.energy.weight, 2.0)
    nn.init.constant_(attention.coverage.weight, -3.0)
    return model


@pytest.mark.parametrize("form", COVERED)
def test_equation_12(form: str) -> None:
    """sum_i min(a_i, c_i), c being the sum of the weights before; nothing at the first position."""
    model = wandering(form)
    outputs = model.forward(BATCH, need_weights=True)
    weights = outputs.attention["decoder_attention"].detach()
    expected = [
        sum(min(float(weights[row, t, i]), float(weights[row, :t, i].sum())) for i in range(8))
        for row, pair in enumerate(PAIRS)
        for t in range(len(pair.target) - 1)
    ]
    assert outputs.coverage is not None
    torch.testing.assert_close(outputs.coverage, torch.tensor(expected), atol=1e-6, rtol=1e-5)
    assert expected[0] == 0
    assert 0.01 < min(expected[1:5]) < 0.9
    more = model.forward(padded(BATCH, 4, 3)).coverage
    torch.testing.assert_close(more, outputs.coverage)


def test_a_model_without_coverage_keeps_no_count() -> None:
    assert model_of("lstm").forward(BATCH).coverage is None


@pytest.mark.parametrize("form", COVERED)
def test_the_gradient_of_coverage_reaches_all_weights_before(form: str) -> None:
    """Step by step it is that of the formula over all positions at once."""
    model = wandering(form)
    parameters = [p for name, p in model.named_parameters() if name.startswith(("enc", "dec"))]
    outputs = model.forward(BATCH, need_weights=True)
    weights = outputs.attention["decoder_attention"]
    before = torch.cat([torch.zeros_like(weights[:, :1]), weights[:, :-1].cumsum(dim=1)], dim=1)
    formula = torch.minimum(weights, before).sum(dim=2)[BATCH.target_mask].sum()
    assert outputs.coverage is not None
    found = torch.autograd.grad(outputs.coverage.sum(), parameters, retain_graph=True)
    expected = torch.autograd.grad(formula, parameters)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, atol=1e-6, rtol=1e-4)
    assert min(gradient.abs().max() for gradient in found) > 0


def test_coverage_loss_spreads_the_attention() -> None:
    """Trained on it alone, the model stops attending twice to one place."""
    model = model_of("coverage")
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
    found = []
    for _ in range(40):
        coverage = model.forward(BATCH).coverage
        assert coverage is not None
        optimizer.zero_grad()
        coverage.sum().backward()
        optimizer.step()
        found.append(float(coverage.detach().sum()))
    assert found[-1] < 0.5 * found[0]
