"""Tests of nn.output_layer."""

import math
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from dialogist.nn import output_layer
from dialogist.nn.output_layer import (
    Copies,
    GeneratorGate,
    LogProbs,
    Pointer,
    PointerLogProbs,
    TokenLogProbs,
    VocabularyProjection,
)
from dialogist.nn.packing import Packing
from dialogist.tensors import Batch

# Log-probabilities of targets in pieces against softmax over everything, with their gradients.

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


# The pointer: equations 16-18 with numbers by hand; what the loss takes is what is said.

POINTER_WORDS, POINTER_WIDTH = 6, 4


def mixture(copies: Copies, bias: Tensor | None = None) -> PointerLogProbs:
    """A vocabulary distribution softmax(``bias``) at every position, and ``copies``."""
    projection = VocabularyProjection(POINTER_WIDTH, POINTER_WORDS)
    torch.nn.init.zeros_(projection.weight)
    with torch.no_grad():
        projection.bias.copy_(torch.zeros(POINTER_WORDS) if bias is None else bias)
    return PointerLogProbs(
        LogProbs(projection, torch.ones(len(copies.gate), POINTER_WIDTH)), copies
    )


def test_equation_18_by_hand() -> None:
    """Word 2 stands twice in the source: .5 + .3; p_gen = .25, every word 1/6 in the vocabulary."""
    copies = Copies(
        torch.tensor([math.log(0.25 / 0.75)]),
        torch.tensor([[0.5, 0.2, 0.3]]),
        torch.tensor([[2, 5, 2]]),
    )
    said = mixture(copies).all().exp()[0]
    generated = 0.25 / 6
    expected = [generated] * POINTER_WORDS
    expected[2] += 0.75 * 0.8
    expected[5] += 0.75 * 0.2
    torch.testing.assert_close(said, torch.tensor(expected))


@pytest.mark.parametrize("with_mean", [False, True])
def test_of_is_all_at_the_targets(with_mean: bool) -> None:
    torch.manual_seed(0)
    copies = Copies(
        torch.randn(20), torch.randn(20, 7).softmax(1), torch.randint(0, POINTER_WORDS, (20, 7))
    )
    found = mixture(copies, torch.randn(POINTER_WORDS))
    targets = torch.randint(0, POINTER_WORDS, (20,))
    expected = found.all().gather(1, targets[:, None]).squeeze(1)
    torch.testing.assert_close(found.of(targets, with_mean).target, expected)
    assert (found.of(targets, with_mean).mean is not None) == with_mean
    torch.testing.assert_close(found.all().exp().sum(1), torch.ones(20))


@pytest.mark.parametrize("gate", [-200.0, 0.0, 200.0])
def test_gradients_are_finite_whatever_is_impossible(gate: float) -> None:
    """The target is nowhere in the source, or the vocabulary never says it."""
    gates = torch.full((2,), gate, requires_grad=True)
    weights = torch.tensor([[0.0, 1.0], [1.0, 0.0]], requires_grad=True)
    copies = Copies(gates, weights, torch.tensor([[1, 2], [1, 2]]))
    bias = torch.tensor([500.0, 0, 0, 0, 0, 0])
    found = mixture(copies, bias).of(torch.tensor([4, 1])).target
    assert torch.isfinite(found).all()
    found.sum().backward()
    assert torch.isfinite(gates.grad).all()
    assert torch.isfinite(weights.grad).all()


def batch_of(ids: torch.Tensor) -> Batch:
    nothing = ids[:, :0]
    return Batch(ids, ids > 0, nothing, nothing, nothing.bool())


def test_equations_16_and_17_by_hand() -> None:
    torch.manual_seed(0)
    pointer = Pointer(POINTER_WIDTH)
    real = torch.tensor([[True, True, True], [True, False, False]])
    source, target = Packing.of(real), Packing.of(torch.tensor([[True, True], [True, False]]))
    encoded, hidden = torch.randn(4, POINTER_WIDTH), torch.randn(3, POINTER_WIDTH)
    ids = torch.tensor([[7, 8, 9], [5, 0, 0]])
    copies = pointer(hidden, target, pointer.memory(encoded, batch_of(ids), source))
    for row, own in enumerate([encoded[:3], encoded[:3], encoded[3:]]):
        query, keys = pointer.query(hidden[row]), pointer.key(own)
        weights = torch.softmax(keys @ query / math.sqrt(POINTER_WIDTH), dim=0)
        torch.testing.assert_close(copies.weights[row, : len(own)], weights)
        assert (copies.weights[row, len(own) :] == 0).all()
        gate = pointer.gate(torch.cat([hidden[row], weights @ own]))
        torch.testing.assert_close(copies.gate[row : row + 1], gate)
    assert copies.ids[:, :3].tolist() == [[7, 8, 9], [7, 8, 9], [5, 0, 0]]


def test_a_step_is_a_row_of_teacher_forcing() -> None:
    torch.manual_seed(0)
    pointer = Pointer(POINTER_WIDTH)
    encoded, hidden, ids = (
        torch.randn(6, POINTER_WIDTH),
        torch.randn(4, POINTER_WIDTH),
        torch.arange(6).view(2, 3),
    )
    every = torch.ones(2, 3, dtype=torch.bool)
    memory = pointer.memory(encoded, batch_of(ids), Packing.of(every))
    whole = pointer(hidden, Packing.of(torch.ones(2, 2, dtype=torch.bool)), memory)
    one = pointer(hidden[[1, 3]], Packing.single(2, hidden.device), memory)
    torch.testing.assert_close(one.weights, whole.weights[[1, 3]])
    torch.testing.assert_close(one.gate, whole.gate[[1, 3]])
    turned = pointer(
        hidden[[3, 1]], Packing.single(2, hidden.device), memory.select(torch.tensor([1, 0]))
    )
    torch.testing.assert_close(turned.weights, one.weights[[1, 0]])
    assert torch.equal(turned.ids, one.ids[[1, 0]])


# See et al. 2017, equations 8 and 9, with numbers by hand.


def gate_of(weights: list[float], bias: float) -> GeneratorGate:
    """Context of 2, state of 1, embedding of 1."""
    gate = GeneratorGate(2, 1, 1)
    with torch.no_grad():
        gate.gate.weight.copy_(torch.tensor([weights]))
        gate.gate.bias.fill_(bias)
    return gate


def test_equation_8_by_hand() -> None:
    """0.5 x 2 - 1 x 1 + 3 x 0.2 + 2 x 0.1 - 1 = -0.2; and, all inputs being 0, the bias."""
    gate = gate_of([0.5, -1.0, 3.0, 2.0], -1.0)
    context, state = torch.tensor([[2.0, 1.0], [0.0, 0.0]]), torch.tensor([[0.2], [0.0]])
    odds = gate(context, state, torch.tensor([[0.1], [0.0]]))
    torch.testing.assert_close(odds, torch.tensor([-0.2, -1.0]))
    p_gen = [1 / (1 + math.exp(0.2)), 1 / (1 + math.e)]
    torch.testing.assert_close(torch.sigmoid(odds), torch.tensor(p_gen))


def test_inputs_of_other_formats_give_fp32() -> None:
    gate = gate_of([0.5, -1.0, 3.0, 2.0], -1.0).to(torch.bfloat16)
    odds = gate(torch.tensor([[2.0, 1.0]]).bfloat16(), torch.tensor([[0.2]]), torch.tensor([[0.1]]))
    assert odds.dtype == torch.float32
    torch.testing.assert_close(odds, torch.tensor([-0.2]), atol=0.02, rtol=0)


def test_equation_9_by_hand_with_a_word_beyond_the_vocabulary() -> None:
    """Three words of probability 1/2, 1/4, 1/4, p_gen 0.6; the source says 1, 3, 3: 3 is unknown.

    p(0) = .3, p(1) = .15 + .4 x .2, p(2) = .15, p(3) = .4 x .8; the other unknown word, 4, is not
    in this dialogue.
    """
    projection = VocabularyProjection(1, 3)
    with torch.no_grad():
        projection.weight.zero_()
        projection.bias.copy_(torch.tensor([0.5, 0.25, 0.25]).log())
    odds = torch.tensor([math.log(0.6 / 0.4)], requires_grad=True)
    weights = torch.tensor([[0.2, 0.5, 0.3]], requires_grad=True)
    copies = Copies(odds, weights, torch.tensor([[1, 3, 3]]), extra=2)
    found = PointerLogProbs(LogProbs(projection, torch.zeros(1, 1)), copies)
    said = found.all().exp()[0]
    torch.testing.assert_close(said, torch.tensor([0.3, 0.23, 0.15, 0.32, 0.0]))
    for target, probability in enumerate([0.3, 0.23, 0.15, 0.32]):
        of = found.of(torch.tensor([target])).target
        torch.testing.assert_close(of.exp(), torch.tensor([probability]))
    # d log p(3) / d odds = -p_gen; d / d a = 0.4 / p(3) where the word stands
    found.of(torch.tensor([3])).target.sum().backward()
    torch.testing.assert_close(odds.grad, torch.tensor([-0.6]))
    torch.testing.assert_close(weights.grad, torch.tensor([[0.0, 1.25, 1.25]]))


@pytest.mark.parametrize("odds", [-300.0, 300.0])
def test_a_copied_word_at_either_end_of_the_gate(odds: float) -> None:
    """What is impossible costs a finite loss."""
    projection = VocabularyProjection(1, 3)
    gates = torch.tensor([odds], requires_grad=True)
    copies = Copies(gates, torch.tensor([[0.0, 1.0]]), torch.tensor([[0, 3]]), extra=1)
    found = PointerLogProbs(LogProbs(projection, torch.zeros(1, 1)), copies)
    for target in (3, 2):
        loss = -found.of(torch.tensor([target])).target.sum()
        assert torch.isfinite(loss)
        (gradient,) = torch.autograd.grad(loss, gates)
        assert torch.isfinite(gradient).all()
