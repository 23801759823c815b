"""Recurrent layers: GRU and LSTM, encoder, decoder stack, bridge between the two."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal, TypeAlias, cast

import torch
from torch import Tensor, nn

from dialogist.nn.layers import Dropout

# Recurrent layers over sequences of unlike lengths, without work on padding.
#
# torch's packed sequences leave padding out, too, but not by oneDNN's kernels: forward and backward
# of a bidirectional LSTM on (16, 250, 256) took one core 1,060 ms so, 175 ms as padded layers. Here
# the rows are sorted, the longest first, and the layer runs piece by piece, a few steps at a time,
# on the rows that are not over yet.

_PIECE = 32
"""Steps of a piece. All have as many: oneDNN makes, and keeps, kernels for each size there is."""


@dataclass(frozen=True, slots=True)
class PackedSteps:
    """Which of B rows of S steps are real, for layers that go from step to step.

    ``order``: (B,) the rows, the longest first, and ``back``, which undoes it. ``pieces``: how many
    rows go on in each piece, in that order; they may end before S. None: all at once.
    """

    width: int
    pieces: tuple[int, ...] | None = None
    order: Tensor | None = None
    back: Tensor | None = None

    @classmethod
    def of(cls, lengths: Tensor, width: int) -> "PackedSteps":
        """Of (B,) lengths, each up to S. On a GPU all at once: nothing waits for the CPU."""
        if lengths.is_cuda:
            return cls(width)
        found = torch.sort(lengths, descending=True, stable=True)
        # Of padding alone there is something to run as well: (B, 1) at least.
        ends = [max(length, 1) for length in found.values.tolist()]
        pieces = tuple(sum(end > start for end in ends) for start in range(0, max(ends), _PIECE))
        return cls(width, pieces, found.indices, found.indices.argsort())

    def sort(self, x: Tensor) -> Tensor:
        """(B, ...) as `run` takes them."""
        return x if self.order is None else x.index_select(0, self.order)

    def unsort(self, x: Tensor) -> Tensor:
        """(B, ...) as they were."""
        return x if self.back is None else x.index_select(0, self.back)

    def run(self, layer: nn.RNNBase, x: Tensor, before: tuple[Tensor, ...] | None = None) -> Tensor:
        """(B, S, E) sorted, and the layer's state before (N, D) -> (B, S, D).

        What stands at padding has no meaning; zero behind a row's last piece.
        """
        if self.pieces is None:
            found: Tensor = layer(x, _given(layer, before, len(x)))[0]
            return found
        steps = _PIECE * len(self.pieces)
        x = nn.functional.pad(x, (0, 0, 0, steps - self.width))  # cut where that is negative
        outputs = []
        for part, rows in zip(torch.split(x, _PIECE, dim=1), self.pieces, strict=True):
            y, after = layer(part[:rows], _given(layer, before, rows))
            before = tuple(state[0] for state in (after if isinstance(after, tuple) else (after,)))
            outputs.append(nn.functional.pad(y, (0, 0, 0, 0, 0, len(x) - rows)))
        return nn.functional.pad(torch.cat(outputs, dim=1), (0, 0, 0, self.width - steps))


def _given(
    layer: nn.RNNBase, before: tuple[Tensor, ...] | None, rows: int
) -> Tensor | tuple[Tensor, ...] | None:
    """The state before, of the first rows, as torch wants it: (1, N, D)."""
    if before is None:
        return None
    states = tuple(state[None, :rows].contiguous() for state in before)
    return states if isinstance(layer, nn.LSTM) else states[0]


# Recurrent layers (GRU: Cho et al. 2014; LSTM: Hochreiter and Schmidhuber 1997) over padding.
#
# Sequences are padded at the right; `PackedSteps` says how work on padding is spared.
# What stands at padding comes after all that is real, in both directions, and so changes nothing.
# torch keeps no memory cell but the last: a sequence's final state is its hidden state alone, which
# is also what Cho et al. start their decoder from.
#
# These layers stay fp32 in a bf16 model; what they give and take is cast by their users.

CellKind = Literal["gru", "lstm"]

LayerHidden: TypeAlias = tuple[Tensor, ...]
"""The state of one layer: (hidden,) of a GRU, (hidden, memory cell) of an LSTM; (N, D) each."""

Hidden: TypeAlias = tuple[LayerHidden, ...]
"""The state of every layer, lowest first."""


class Layers(nn.ModuleList):
    """Layers of torch, lowest first."""

    def __iter__(self) -> Iterator[nn.RNNBase]:
        """One after the other."""
        return cast("Iterator[nn.RNNBase]", super().__iter__())


@dataclass(frozen=True, slots=True)
class StackShape:
    """Options of a stack of layers; ``input`` is the width of what the lowest one reads."""

    cell: CellKind
    input: int
    hidden: int
    layers: int
    dropout: float

    @property
    def states(self) -> int:
        """How many tensors the state of a layer has."""
        return 2 if self.cell == "lstm" else 1

    def build(self, inputs: int) -> "Layers":
        """``layers`` layers; all but the lowest read ``inputs`` columns."""
        kind = nn.LSTM if self.cell == "lstm" else nn.GRU
        widths = [self.input, *[inputs] * (self.layers - 1)]
        return Layers(kind(width, self.hidden, batch_first=True) for width in widths)


class RecurrentEncoder(nn.Module):
    """Reads whole sequences, from the left alone or (Schuster and Paliwal 1997) from both ends.

    Dropout acts between layers (Zaremba et al. 2014).

    Attributes:
        width: columns of a state: ``hidden``, twice that with both directions.
    """

    def __init__(self, shape: StackShape, bidirectional: bool) -> None:
        super().__init__()
        self.width = shape.hidden * (2 if bidirectional else 1)
        self.from_left = shape.build(self.width)
        self.from_right = shape.build(self.width) if bidirectional else Layers()
        self.dropout = Dropout(shape.dropout)

    def forward(self, x: Tensor, real: Tensor) -> tuple[Tensor, list[Tensor]]:
        """Every position's state in the top layer, and every layer's final state.

        Args:
            x: (B, S, E) fp32. real: (B, S) True at real positions, which come first.

        Returns:
            (B, S, width) states, without meaning at padding; (B, width) of each layer: where the
            forward direction ends beside where the backward direction ends.
        """
        steps = PackedSteps.of(real.sum(dim=1), real.shape[1])
        x, lengths = steps.sort(x), steps.sort(real.sum(dim=1))
        backwards = _backwards(lengths, real.shape[1])
        last = (lengths - 1).clamp_(min=0)
        finals = []
        for i, (layer, right) in enumerate(zip_longest(self.from_left, self.from_right)):
            x = self.dropout(x) if i else x
            y = steps.run(layer, x)
            final = y[torch.arange(y.shape[0], device=y.device), last]
            if right is not None:
                other = steps.run(right, _reordered(x, backwards))
                other = _reordered(other, backwards)
                final = torch.cat([final, other[:, 0]], dim=1)
                y = torch.cat([y, other], dim=2)
            x = y
            finals.append(steps.unsort(final))
        return steps.unsort(x), finals


class RecurrentStack(nn.Module):
    """Layers that go on from a given state: one step, or many at once where nothing feeds back.

    Dropout acts between layers.
    """

    def __init__(self, shape: StackShape) -> None:
        super().__init__()
        self.layers = shape.build(shape.hidden)
        self.dropout = Dropout(shape.dropout)

    def forward(self, x: Tensor, before: Hidden, real: Tensor) -> Tensor:
        """(N, T, E) fp32 and the state before it -> (N, T, D) top states.

        Of real steps (N, T) alone, which come first; others get no meaning.
        """
        steps = PackedSteps.of(real.sum(dim=1), real.shape[1])
        x = steps.sort(x)
        for i, (layer, state) in enumerate(zip(self.layers, before, strict=True)):
            first = tuple(steps.sort(part) for part in state)
            x = steps.run(layer, self.dropout(x) if i else x, first)
        return steps.unsort(x)

    def step(self, x: Tensor, before: Hidden) -> tuple[Tensor, Hidden]:
        """(N, E) fp32 and the state before it -> (N, D) top states, and the state after."""
        after = []
        for i, (layer, state) in enumerate(zip(self.layers, before, strict=True)):
            state = _run_cell(layer, self.dropout(x) if i else x, state)
            x = state[0]
            after.append(state)
        return x, tuple(after)


class Bridge(nn.Module):
    """An encoder's final states to a decoder's first: tanh(V h) (Cho et al. 2014, appendix A.1.2).

    Encoder and decoder have the same number of layers; each has a V of its own, for an LSTM's
    memory cell as well.
    """

    def __init__(self, encoder_width: int, shape: StackShape) -> None:
        super().__init__()
        self.states = shape.states
        self.layers = nn.ModuleList(
            nn.Linear(encoder_width, shape.hidden * shape.states) for _ in range(shape.layers)
        )

    @property
    def dtype(self) -> torch.dtype:
        """The number format that the model's linear layers compute in."""
        return next(self.parameters()).dtype

    def forward(self, finals: list[Tensor]) -> Hidden:
        """(B, encoder width) of each layer -> the state of each layer, fp32."""
        mapped = [
            torch.tanh(layer(final.to(self.dtype))).float()
            for layer, final in zip(self.layers, finals, strict=True)
        ]
        return tuple(tuple(state.chunk(self.states, dim=1)) for state in mapped)


@torch.no_grad()
def initialise_as_keras(layer: nn.RNNBase) -> None:
    """Glorot uniform from the input, orthogonal from the state, zero biases; forget gate open.

    The forget gate's bias is 1 (Jozefowicz et al. 2015, section 2.2). Every gate's matrix counts as
    one, where Keras takes an LSTM's four as one matrix.
    """
    gates = 4 if isinstance(layer, nn.LSTM) else 3
    for name, weight in layer.named_parameters():
        for gate, part in enumerate(weight.chunk(gates)):
            if name.startswith("weight_ih"):
                nn.init.xavier_uniform_(part)
            elif name.startswith("weight_hh"):
                nn.init.orthogonal_(part)
            else:  # torch orders an LSTM's gates: input, forget, cell, output
                nn.init.constant_(part, float(gates == 4 and gate == 1 and "_ih" in name))


def _run_cell(layer: nn.RNNBase, x: Tensor, before: LayerHidden) -> LayerHidden:
    """(N, E) through one layer's weights: one step."""
    weights = layer.all_weights[0]
    if isinstance(layer, nn.LSTM):
        return torch.lstm_cell(x, before, *weights)
    return (torch.gru_cell(x, before[0], *weights),)


def _backwards(lengths: Tensor, width: int) -> Tensor:
    """(B, S) the order that puts what is real back to front and leaves padding in its place."""
    places = torch.arange(width, device=lengths.device).expand(lengths.shape[0], -1)
    mirrored = lengths[:, None] - 1 - places
    return torch.where(mirrored >= 0, mirrored, places)


def _reordered(x: Tensor, order: Tensor) -> Tensor:
    """(B, S, E) and (B, S) -> (B, S, E)."""
    return x.gather(1, order[:, :, None].expand(-1, -1, x.shape[2]))
