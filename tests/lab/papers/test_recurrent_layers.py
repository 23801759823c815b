"""Tests of nn.recurrent_layers."""

from typing import Literal

import pytest
import torch
from torch import Tensor, nn

from dialogist.nn.kv_cache import selected
from dialogist_lab.papers.recurrent_layers import (
    Bridge,
    PackedSteps,
    RecurrentEncoder,
    RecurrentStack,
    StackShape,
    initialise_as_keras,
)

# Pieces of steps: what they leave out, and what they do not.

EXAMPLES = [
    # lengths, width, rows of each piece of 32 steps
    ([10, 10], 10, (2,)),
    ([40, 40], 40, (2, 2)),
    ([3, 40], 40, (2, 1)),
    ([100, 70, 64], 100, (3, 3, 2, 1)),
    ([20, 5], 50, (2,)),  # padding behind the longest is not run
    ([0, 33], 33, (2, 1)),
    ([0, 0], 4, (2,)),
]


@pytest.mark.parametrize(("lengths", "width", "pieces"), EXAMPLES)
def test_pieces(lengths, width, pieces):
    steps = PackedSteps.of(torch.tensor(lengths), width)
    assert steps.pieces == pieces
    x = torch.arange(len(lengths))
    assert steps.unsort(steps.sort(x)).tolist() == x.tolist()
    layer = torch.nn.LSTM(2, 3, batch_first=True)
    assert steps.run(layer, torch.randn(len(lengths), width, 2)).shape == (len(lengths), width, 3)


def test_few_steps_of_padding_are_run():
    torch.manual_seed(0)
    lengths = torch.randint(1, 500, (16,))
    steps = PackedSteps.of(lengths, 500)
    run = 32 * sum(steps.pieces)
    assert int(lengths.sum()) <= run < int(lengths.sum()) + 16 * 32


# Recurrent layers: the equations written out, padding without effect, steps equal to sequences.

KINDS = ["gru", "lstm"]
LENGTHS = [[7, 1, 5], [33, 90, 0, 64, 65]]  # one piece of steps; several, rows out of order


def shape_of(cell: Literal["gru", "lstm"], layers: int = 2, dropout: float = 0.0) -> StackShape:
    return StackShape(cell, input=6, hidden=4, layers=layers, dropout=dropout)


def encoder_of(
    cell: Literal["gru", "lstm"], bidirectional: bool = True, layers: int = 2
) -> RecurrentEncoder:
    torch.manual_seed(0)
    return RecurrentEncoder(shape_of(cell, layers), bidirectional)


def real_places(lengths: list[int], more: int = 0) -> Tensor:
    """(B, longest + more) True at the first places of every row."""
    return torch.arange(max(lengths) + more) < torch.tensor(lengths)[:, None]


def parameters_of(layer: nn.RNNBase) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    return layer.weight_ih_l0, layer.weight_hh_l0, layer.bias_ih_l0, layer.bias_hh_l0


def by_hand(layer: nn.RNNBase, rows: Tensor) -> Tensor:
    """(T, E) -> (T, D), gate by gate, from a zero state (Cho et al. 2014; Hochreiter et al.)."""
    w, u, b, c = parameters_of(layer)
    h = cell = torch.zeros(layer.hidden_size)
    states = []
    for x in rows:
        if isinstance(layer, nn.LSTM):
            i, f, g, o = (w @ x + b + u @ h + c).chunk(4)
            cell = f.sigmoid() * cell + i.sigmoid() * g.tanh()
            h = o.sigmoid() * cell.tanh()
        else:
            (xr, xz, xn), (hr, hz, hn) = (w @ x + b).chunk(3), (u @ h + c).chunk(3)
            r, z = (xr + hr).sigmoid(), (xz + hz).sigmoid()
            h = (1 - z) * (xn + r * hn).tanh() + z * h
        states.append(h)
    return torch.stack(states)


@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize("cell", KINDS)
def test_the_encoder_by_hand(
    cell: Literal["gru", "lstm"], bidirectional: bool, lengths: list[int]
) -> None:
    """Each dialogue alone, unpadded, layer after layer, from both ends."""
    encoder = encoder_of(cell, bidirectional)
    real = real_places(lengths)
    x = torch.randn(*real.shape, 6)
    states, finals = encoder(x, real)
    assert encoder.width == states.shape[2] == (8 if bidirectional else 4)
    for row, length in enumerate(lengths):
        if not length:
            continue
        rows = x[row, :length]
        for i, left in enumerate(encoder.from_left):
            ends = [by_hand(left, rows)]
            final = ends[0][-1]
            if bidirectional:
                ends.append(by_hand(encoder.from_right[i], rows.flip(0)).flip(0))
                final = torch.cat([final, ends[1][0]])
            rows = torch.cat(ends, dim=1)
            torch.testing.assert_close(finals[i][row], final, atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(states[row, :length], rows, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("lengths", [LENGTHS[0], [33, 90, 1, 64, 65]], ids=str)
@pytest.mark.parametrize("cell", KINDS)
def test_same_as_torchs_packed_layers(cell: Literal["gru", "lstm"], lengths: list[int]) -> None:
    """Values and gradients of `pack_padded_sequence`, which we do not use: it is slow."""
    encoder = encoder_of(cell)
    kind = nn.LSTM if cell == "lstm" else nn.GRU
    theirs = kind(6, 4, num_layers=2, batch_first=True, bidirectional=True)
    names = ["weight_ih", "weight_hh", "bias_ih", "bias_hh"]
    for i in range(2):
        for layer, suffix in ((encoder.from_left[i], ""), (encoder.from_right[i], "_reverse")):
            for name, weight in zip(names, parameters_of(layer), strict=True):
                getattr(theirs, f"{name}_l{i}{suffix}").data.copy_(weight)
    real = real_places(lengths)
    x = torch.randn(*real.shape, 6, requires_grad=True)
    packed = nn.utils.rnn.pack_padded_sequence(x, torch.tensor(lengths), True, False)
    expected = nn.utils.rnn.pad_packed_sequence(theirs(packed)[0], batch_first=True)[0]
    states = encoder(x, real)[0] * real[:, :, None]
    torch.testing.assert_close(states, expected, atol=1e-5, rtol=1e-5)
    goal = torch.randn_like(states)
    (ours,) = torch.autograd.grad((states * goal).sum(), x)
    (gradient,) = torch.autograd.grad((expected * goal).sum(), x)
    torch.testing.assert_close(ours, gradient, atol=1e-5, rtol=1e-4)
    assert (ours[~real] == 0).all()


@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
@pytest.mark.parametrize("cell", KINDS)
def test_padding_changes_nothing(cell: Literal["gru", "lstm"], lengths: list[int]) -> None:
    encoder = encoder_of(cell)
    real, wide_real = real_places(lengths), real_places(lengths, more=5)
    x, wide = torch.randn(*real.shape, 6), torch.full((*wide_real.shape, 6), 50.0)
    states, finals = encoder(x, real)
    wide[wide_real] = x[real]
    wide_states, wide_finals = encoder(wide, wide_real)
    torch.testing.assert_close(wide_states[wide_real], states[real], atol=1e-6, rtol=1e-5)
    some = real.any(dim=1)
    for wide_final, final in zip(wide_finals, finals, strict=True):
        torch.testing.assert_close(wide_final[some], final[some], atol=1e-6, rtol=1e-5)


def started(
    cell: Literal["gru", "lstm"], rows: int
) -> tuple[RecurrentStack, tuple[tuple[Tensor, ...], ...]]:
    """A stack of three layers, and a state of each to start from."""
    torch.manual_seed(0)
    shape = shape_of(cell, layers=3)
    start = tuple(
        tuple(torch.randn(rows, 4, requires_grad=True) for _ in range(shape.states))
        for _ in range(3)
    )
    return RecurrentStack(shape), start


@pytest.mark.parametrize("cell", KINDS)
def test_one_step_at_a_time_is_all_at_once(cell: Literal["gru", "lstm"]) -> None:
    """The states that are real, and the gradients of all there is."""
    real = real_places(LENGTHS[1])
    stack, start = started(cell, rows=len(real))
    x = torch.randn(*real.shape, 6, requires_grad=True)
    hidden, steps = start, []
    for fed in x.unbind(dim=1):
        y, hidden = stack.step(fed, hidden)
        steps.append(y)
    stepwise, whole = torch.stack(steps, dim=1)[real], stack(x, start, real)[real]
    torch.testing.assert_close(stepwise, whole, atol=1e-6, rtol=1e-5)
    goal = torch.randn_like(whole)
    wanted = (x, *(part for layer in start for part in layer), *stack.parameters())
    one = torch.autograd.grad((whole * goal).sum(), wanted)
    other = torch.autograd.grad((stepwise * goal).sum(), wanted)
    torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-4)


def test_bridge_by_hand() -> None:
    """tanh(V h) for each layer; an LSTM's memory cell has rows of its own."""
    bridge = Bridge(2, StackShape("lstm", input=1, hidden=1, layers=2, dropout=0.0))
    matrices = [[1.0, 2.0], [0.5, 0.0]], [[0.0, 1.0], [1.0, 1.0]]
    for layer, weight in zip(bridge.layers, matrices, strict=True):
        layer.weight.data = torch.tensor(weight)
        layer.bias.data.zero_()
    hidden = bridge([torch.tensor([[0.2, -0.3]]), torch.tensor([[0.2, -0.3]])])
    found = [[round(state.item(), 4) for state in layer] for layer in hidden]
    assert found == [[-0.3799, 0.0997], [-0.2913, -0.0997]]


def test_selected() -> None:
    state = torch.arange(6.0).view(3, 2)
    (found,) = selected(((state, state + 10),), torch.tensor([2, 0, 2]))
    assert found[0][:, 0].tolist() == [4, 0, 4]
    assert found[1][:, 0].tolist() == [14, 10, 14]


def test_initial_values() -> None:
    torch.manual_seed(0)
    lstm, gru = nn.LSTM(5, 8), nn.GRU(5, 8)
    for layer, gates in ((lstm, 4), (gru, 3)):
        initialise_as_keras(layer)
        assert layer.weight_ih_l0.abs().max() <= (6 / (5 + 8)) ** 0.5
        for part in layer.weight_hh_l0.chunk(gates):
            torch.testing.assert_close(part @ part.T, torch.eye(8), atol=1e-5, rtol=0)
    assert lstm.bias_ih_l0.tolist() == [0.0] * 8 + [1.0] * 8 + [0.0] * 16
    for bias in (lstm.bias_hh_l0, gru.bias_ih_l0, gru.bias_hh_l0):
        assert (bias == 0).all()


def test_dropout_acts_between_layers_while_training_only() -> None:
    torch.manual_seed(0)
    encoder = RecurrentEncoder(shape_of("gru", dropout=0.5), bidirectional=True)
    single = RecurrentEncoder(shape_of("gru", layers=1, dropout=0.5), bidirectional=True)
    x, real = torch.randn(3, 7, 6), real_places(LENGTHS[0])
    assert not torch.equal(encoder(x, real)[0], encoder(x, real)[0])
    assert torch.equal(single(x, real)[0], single(x, real)[0])
    encoder.eval()
    assert torch.equal(encoder(x, real)[0], encoder(x, real)[0])
