"""Log-probabilities of targets in pieces against softmax over everything, with their gradients."""

from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from dialogist.nn import output_layer
from dialogist.nn.output_layer import LogProbs, TokenLogProbs, VocabularyProjection

WIDTH, WORDS, POSITIONS = 24, 37, 150


@dataclass
class Case:
    """A projection, hidden states and targets; ``upstream`` weighs what is found per position."""

    projection: VocabularyProjection
    hidden: Tensor
    targets: Tensor
    upstream: tuple[Tensor, Tensor]

    def found(self, with_mean: bool) -> TokenLogProbs:
        return self.projection.token_log_probs(self.hidden, self.targets, with_mean)

    def plainly(self) -> TokenLogProbs:
        """By autograd over the whole distribution, in fp32."""
        projection, hidden = self.projection, self.hidden.float()
        table = (hidden @ projection.weight.T + projection.bias).log_softmax(-1)
        return TokenLogProbs(table.gather(1, self.targets[:, None]).squeeze(1), table.mean(1))

    def gradients(self, found: TokenLogProbs) -> tuple[Tensor, ...]:
        """Of hidden, weight and bias."""
        loss = (found.target * self.upstream[0]).sum()
        if found.mean is not None:
            loss = loss + (found.mean * self.upstream[1]).sum()
        of = (self.hidden, self.projection.weight, self.projection.bias)
        return torch.autograd.grad(loss, of)


def case(dtype: torch.dtype = torch.float32, seed: int = 0) -> Case:
    """Random numbers; every third position's upstream gradient is zero, in part or altogether."""
    torch.manual_seed(seed)
    projection = VocabularyProjection(WIDTH, WORDS)
    nn.init.normal_(projection.weight, std=0.5)
    nn.init.normal_(projection.bias)
    hidden = torch.randn(POSITIONS, WIDTH).to(dtype).requires_grad_()
    of_target, of_mean = torch.randn(POSITIONS), torch.randn(POSITIONS)
    of_target[::3] = 0
    of_mean[::6] = 0
    of_mean[1::7] = 0
    of_mean[2] = -of_target[2]  # their sum is zero, they are not
    return Case(projection, hidden, torch.randint(0, WORDS, (POSITIONS,)), (of_target, of_mean))


@pytest.fixture(params=["one piece", "several pieces"])
def _pieces(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "several pieces":
        monkeypatch.setattr(output_layer, "_PIECE", 1)
        pieces = output_layer._pieces(POSITIONS, torch.empty(WORDS, WIDTH))
        assert [s.stop - s.start for s in pieces] == [64, 64, 22]


def relative(one: Tensor, other: Tensor) -> float:
    """How far apart, measured by the larger's norm."""
    return ((one.float() - other.float()).norm() / other.float().norm()).item()


# --- fp32: the very numbers ---


@pytest.mark.usefixtures("_pieces")
@pytest.mark.parametrize("with_mean", [False, True])
def test_values_and_gradients_are_those_of_plain_autograd(with_mean: bool) -> None:
    made = case()
    found, expected = made.found(with_mean), made.plainly()
    assert found.target.dtype == torch.float32
    torch.testing.assert_close(found.target, expected.target, atol=1e-5, rtol=1e-5)
    if with_mean:
        torch.testing.assert_close(found.mean, expected.mean, atol=1e-5, rtol=1e-5)
    else:
        assert found.mean is None
        expected = TokenLogProbs(expected.target, None)
    theirs = made.gradients(expected)
    for one, other in zip(made.gradients(found), theirs, strict=True):
        assert one.dtype == torch.float32
        assert relative(one, other) < 1e-5
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-4)


@pytest.mark.usefixtures("_pieces")
@pytest.mark.parametrize("which", [0, 1], ids=["target", "mean"])
def test_one_of_the_two_alone(which: int) -> None:
    """What is not used downstream has no gradient, not a wrong one."""
    made = case()
    of = (made.hidden, made.projection.weight, made.projection.bias)
    goal = torch.randn(POSITIONS)
    ours = torch.autograd.grad((made.found(True)[which] * goal).sum(), of)
    theirs = torch.autograd.grad((made.plainly()[which] * goal).sum(), of)
    for one, other in zip(ours, theirs, strict=True):
        assert relative(one, other) < 1e-5


@pytest.mark.parametrize("with_mean", [False, True])
def test_no_weight_anywhere_is_no_gradient(with_mean: bool) -> None:
    made = case()
    made.upstream = (torch.zeros(POSITIONS), torch.zeros(POSITIONS))
    assert all((gradient == 0).all() for gradient in made.gradients(made.found(with_mean)))


def test_positions_of_no_weight_take_no_part() -> None:
    """A hidden state of weight zero may be anything: neither table nor bias feels it."""
    made = case()
    _, *before = made.gradients(made.found(True))
    silent = (made.upstream[0] == 0) & (made.upstream[1] == 0)
    assert silent.sum() > 10
    with torch.no_grad():
        made.hidden[silent] = 50.0
    hidden, *after = made.gradients(made.found(True))
    assert (hidden[silent] == 0).all()
    for one, other in zip(after, before, strict=True):
        torch.testing.assert_close(one, other, atol=1e-6, rtol=1e-5)


def test_all_and_of_by_the_distribution() -> None:
    made = case()
    log_probs = LogProbs(made.projection, made.hidden)
    table = log_probs.all()
    assert table.shape == (POSITIONS, WORDS)
    torch.testing.assert_close(table.exp().sum(-1), torch.ones(POSITIONS))
    found = log_probs.of(made.targets, with_mean=True)
    chosen = table.gather(1, made.targets[:, None]).squeeze(1)
    torch.testing.assert_close(found.target, chosen, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(found.mean, table.mean(1), atol=1e-5, rtol=1e-5)
    assert log_probs.of(made.targets).mean is None


def test_no_positions() -> None:
    made = case()
    nothing = torch.zeros(0, dtype=torch.long)
    found = made.projection.token_log_probs(made.hidden[:0], nothing, True)
    assert found.target.shape == found.mean.shape == (0,)
    found.target.sum().backward()
    assert (made.projection.weight.grad == 0).all()


# --- bf16 ---


@pytest.mark.usefixtures("_pieces")
@pytest.mark.parametrize("with_mean", [False, True])
def test_bf16_is_close_to_fp32(with_mean: bool) -> None:
    """Logits have 8 significant bits (1 / 256 of numbers up to 8); gradients: 1 in 100."""
    made = case(torch.bfloat16)
    found, expected = made.found(with_mean), made.plainly()
    assert found.target.dtype == torch.float32
    torch.testing.assert_close(found.target, expected.target, atol=0.05, rtol=0)
    if with_mean:
        torch.testing.assert_close(found.mean, expected.mean, atol=0.05, rtol=0)
    else:
        expected = TokenLogProbs(expected.target, None)
    hidden, weight, bias = made.gradients(found)
    assert (hidden.dtype, weight.dtype, bias.dtype) == (torch.bfloat16, *[torch.float32] * 2)
    for one, other in zip((hidden, weight, bias), made.gradients(expected), strict=True):
        assert relative(one, other) < 0.01


def test_a_small_error_is_not_lost_in_bf16() -> None:
    """At p = 0.999, 1 - p is a quarter of bf16's last place: it must not become 0 or 1 / 256."""
    projection = VocabularyProjection(1, 2)
    with torch.no_grad():
        projection.weight.copy_(torch.tensor([[7.0], [0.0]]))
        projection.bias.zero_()
    hidden = torch.ones(1, 1, dtype=torch.bfloat16, requires_grad=True)
    found = projection.token_log_probs(hidden, torch.tensor([0]), False)
    found.target.sum().backward()
    error = 1 / (1 + torch.tensor(7.0).exp()).item()  # 0.00091
    assert projection.bias.grad.tolist() == pytest.approx([error, -error], rel=0.01)
    assert hidden.grad.item() == pytest.approx(7 * error, rel=0.01)


def test_the_table_itself_stays_fp32() -> None:
    made = case(torch.bfloat16)
    table = LogProbs(made.projection, made.hidden).all()
    assert table.dtype == made.projection.weight.dtype == torch.float32
    torch.testing.assert_close(table.exp().sum(-1), torch.ones(POSITIONS), atol=1e-5, rtol=0)


# --- what is held ---


class Largest(TorchDispatchMode):
    """The new blocks of memory of at least ``elements``: (format, elements) of each."""

    def __init__(self, elements: int) -> None:
        super().__init__()
        self.elements = elements
        self.known: set[int] = set()
        self.made: list[tuple[torch.dtype, int]] = []
        self.alive: list[Tensor] = []  # so that no address is given out twice

    def __torch_dispatch__(
        self, operation: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        result = operation(*args, **(kwargs or {}))
        for tensor in result if isinstance(result, tuple | list) else (result,):
            if isinstance(tensor, Tensor) and tensor.numel() >= self.elements:
                address = tensor.untyped_storage().data_ptr()
                if address not in self.known:
                    self.known.add(address)
                    self.alive.append(tensor)
                    self.made.append((tensor.dtype, tensor.numel()))
        return result


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("with_mean", [False, True])
def test_the_distribution_is_held_once_in_the_models_format(
    dtype: torch.dtype, with_mean: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output_layer, "_PIECE", 1)
    made = case(dtype)
    with Largest(POSITIONS * WORDS) as watch:
        found = made.found(with_mean)
        ((held_in, elements),) = watch.made
        assert held_in == dtype
        assert elements < (POSITIONS + 256) * WORDS  # like sizes are rounded to the same
        if not with_mean:
            found = TokenLogProbs(found.target, None)
        made.gradients(found)
        assert len(watch.made) == 1  # the backward pass makes nothing of that size


@pytest.mark.parametrize("without", [torch.no_grad, torch.inference_mode])
def test_without_gradients_it_is_not_held_at_all(
    without: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output_layer, "_PIECE", 1)
    made = case()
    expected = made.plainly()
    with without(), Largest(POSITIONS * WORDS) as watch:
        found = made.found(True)
    assert watch.made == []
    assert not found.target.requires_grad
    torch.testing.assert_close(found.target, expected.target.detach(), atol=1e-5, rtol=1e-5)


def test_a_second_backward_is_refused() -> None:
    """The first one has overwritten what it needs: an error, never a wrong gradient."""
    found = case().found(True)
    loss = found.target.sum() + found.mean.sum()
    loss.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


# --- extremes ---


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("with_mean", [False, True])
def test_extreme_logits_stay_finite(dtype: torch.dtype, with_mean: bool) -> None:
    """Targets that are certain, impossible, and one of two; logits of up to 30,000."""
    projection = VocabularyProjection(1, 4)
    with torch.no_grad():
        projection.weight.copy_(torch.tensor([[3e4], [-3e4], [3e4], [0.0]]))
        projection.bias.zero_()
    hidden = torch.tensor([[1.0], [1.0], [-1.0], [-1.0], [0.0]], dtype=dtype, requires_grad=True)
    targets = torch.tensor([0, 1, 1, 0, 3])
    found = projection.token_log_probs(hidden, targets, with_mean)
    expected = projection.log_probs(hidden).gather(1, targets[:, None]).squeeze(1)
    assert expected.min() < -5e4
    torch.testing.assert_close(found.target, expected, atol=0.01, rtol=0)
    loss = found.target.sum() + (found.mean.sum() if with_mean else 0)
    loss.backward()
    for gradient in (hidden.grad, projection.weight.grad, projection.bias.grad):
        assert torch.isfinite(gradient).all()
    if not with_mean:  # p of (0, 2) is a half each where h = 1, of 1 is one where h = -1
        # d log p(t) / d logits = onehot(t) - p, summed over the positions, by h for the weight
        p = torch.tensor([[0.5, 0, 0.5, 0]] * 2 + [[0, 1.0, 0, 0]] * 2 + [[0.25] * 4])
        logits = nn.functional.one_hot(targets, 4) - p
        torch.testing.assert_close(projection.bias.grad, logits.sum(0), atol=0.01, rtol=0)
        by_hidden = logits.T @ hidden.detach().float()
        torch.testing.assert_close(projection.weight.grad, by_hidden, atol=0.01, rtol=0)


def test_the_mean_is_right_where_the_target_is_impossible() -> None:
    """Its probability is 0 in fp32: neither its logarithm nor the mean may suffer from it."""
    projection = VocabularyProjection(1, 3)
    with torch.no_grad():
        projection.weight.copy_(torch.tensor([[1.0], [0.0], [0.9]]))
        projection.bias.zero_()
    hidden = torch.full((1, 1), 300.0)
    found = projection.token_log_probs(hidden, torch.tensor([1]), True)
    expected = projection.log_probs(hidden).mean()  # -110
    assert found.mean.item() == pytest.approx(expected.item(), rel=1e-3)
