"""Cross-entropy by hand on three tokens, padding, label smoothing against torch."""

import math
from typing import Self

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from dialogist.batch import Batch
from dialogist.errors import ConfigError
from dialogist.models.base import Outputs
from dialogist.models.transformer import TransformerConfig
from dialogist.nn.output_layer import TokenLogProbs
from dialogist.objectives.cross_entropy import CrossEntropy, CrossEntropyConfig
from dialogist.tokenizers import Symbols

NOTHING = torch.zeros(1, 0, dtype=torch.long)
EMPTY = Batch(NOTHING, NOTHING.bool(), NOTHING, NOTHING, NOTHING.bool())


class Table:
    """A `Distribution` that is there already: (M, X) log-probabilities."""

    def __init__(self, log_probs: Tensor) -> None:
        self.log_probs = log_probs
        self.means_asked_for = 0

    def of(self, targets: Tensor, with_mean: bool = False) -> TokenLogProbs:
        self.means_asked_for += with_mean
        chosen = self.log_probs.gather(1, targets[:, None]).squeeze(1)
        return TokenLogProbs(chosen, self.log_probs.mean(1) if with_mean else None)

    def all(self) -> Tensor:
        raise AssertionError("the loss needs two numbers per target, not the distribution")


class Fixed:
    """A model that says the same whatever it is given."""

    longest_target = None

    def __init__(self, log_probs: Tensor, targets: Tensor) -> None:
        self.table = Table(log_probs)
        self.outputs = Outputs(self.table, targets)

    def forward(self, batch: Batch, need_weights: bool = False) -> Outputs:
        assert not need_weights
        return self.outputs

    def start(self, batch: Batch) -> None:
        raise NotImplementedError

    def step(self, tokens: Tensor, state: object) -> None:
        raise NotImplementedError

    def train(self, mode: bool = True) -> Self:
        return self

    def eval(self) -> Self:
        return self


def by_hand() -> Fixed:
    return Fixed(torch.tensor([[0.5, 0.25, 0.25], [0.1, 0.1, 0.8]]).log(), torch.tensor([0, 1]))


def test_by_hand() -> None:
    loss = CrossEntropy()(by_hand(), EMPTY)
    assert loss.value.item() == pytest.approx(math.log(2) + math.log(10))
    assert loss.count == 2
    assert loss.terms == {"nll": pytest.approx(math.log(20))}


def test_label_smoothing_by_hand() -> None:
    loss = CrossEntropy(0.3)(by_hand(), EMPTY)
    uniform = (math.log(2) + 2 * math.log(4) + 2 * math.log(10) + math.log(1.25)) / 3
    assert loss.value.item() == pytest.approx(0.7 * math.log(20) + 0.3 * uniform)
    assert loss.terms["nll"] == pytest.approx(math.log(20))


def test_the_mean_is_computed_only_for_smoothing() -> None:
    for smoothing, times in ((0.0, 0), (0.1, 1)):
        model = by_hand()
        CrossEntropy(smoothing)(model, EMPTY)
        assert model.table.means_asked_for == times


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
def test_same_as_torch_with_gradients(smoothing: float) -> None:
    torch.manual_seed(0)
    logits = torch.randn(9, 7, requires_grad=True)
    targets = torch.randint(0, 7, (9,))
    loss = CrossEntropy(smoothing)(Fixed(logits.log_softmax(-1), targets), EMPTY)
    (gradient,) = torch.autograd.grad(loss.value, logits)
    expected = functional.cross_entropy(logits, targets, reduction="sum", label_smoothing=smoothing)
    torch.testing.assert_close(loss.value, expected)
    torch.testing.assert_close(gradient, torch.autograd.grad(expected, logits)[0])


def test_padding_is_ignored_and_tokens_are_counted() -> None:
    torch.manual_seed(0)
    model = TransformerConfig(
        d_model=8,
        heads=2,
        feed_forward=8,
        encoder_layers=1,
        decoder_layers=1,
        dropout=0.0,
        attention_output_dropout=0.0,
    ).build(9)

    def batch(padding: int, tokens: list[int]) -> Batch:
        ids = torch.tensor([[*tokens, *[0] * padding]])
        mask = torch.arange(ids.shape[1])[None] < len(tokens)
        source = torch.tensor([[1, 5, 2]])
        return Batch(source, source > 0, ids, ids.roll(-1), mask)

    short = CrossEntropy(0.1)(model, batch(0, [1, 4, 6]))
    long = CrossEntropy(0.1)(model, batch(5, [1, 4, 6]))
    # the target of the last real place differs through the roll: compare the first two places
    assert short.count == long.count == 3
    outputs = model.forward(batch(5, [1, 4, 6]))
    table = outputs.log_probs.all()
    assert table.shape[0] == 3
    expected = functional.cross_entropy(
        table, outputs.targets, reduction="sum", label_smoothing=0.1
    )
    torch.testing.assert_close(long.value, expected)
    parameters = list(model.parameters())
    ours = torch.autograd.grad(long.value, parameters)
    for one, other in zip(ours, torch.autograd.grad(expected, parameters), strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)


def test_losses_of_batches_add_up() -> None:
    torch.manual_seed(0)
    log_probs, targets = torch.randn(6, 5).log_softmax(-1), torch.randint(0, 5, (6,))
    whole = CrossEntropy(0.1)(Fixed(log_probs, targets), EMPTY)
    parts = [
        CrossEntropy(0.1)(Fixed(log_probs[s], targets[s]), EMPTY)
        for s in (slice(0, 2), slice(2, 6))
    ]
    torch.testing.assert_close(sum(p.value for p in parts), whole.value)
    assert sum(p.count for p in parts) == whole.count
    assert sum(p.terms["nll"] for p in parts) == pytest.approx(whole.terms["nll"])


def test_configuration() -> None:
    assert CrossEntropyConfig(label_smoothing=0.2).build(Symbols(0, 1, 2)).label_smoothing == 0.2
    for wrong in (1.0, -0.1):
        with pytest.raises(ConfigError, match="label_smoothing"):
            CrossEntropyConfig.parse({"label_smoothing": wrong})
