"""Recurrent encoder-decoders: plain, with attention, with a pointer.

Without attention the decoder starts from the encoder's final states and sees no more of the
dialogue (Sutskever et al. 2014). With it (Nallapati et al. 2016, See et al. 2017) its state s_t
attends to every position, and V [s_t; context_t] + b goes to the vocabulary (See et al., equation
4). With a pointer it can also write the word it attends to (See et al., section 2.2).

LSTMs (Hochreiter and Schmidhuber 1997) and attention compute in fp32, also in a bf16 autocast.
"""

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeAlias

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from dialogist_lab.decoding import Rows
from dialogist_lab.models.generator import AttentionMaps, Batch, Decoded, Generator, ModelConfig
from dialogist_lab.models.transformer_blocks import BLOCKED, Dropout, initialise_module
from dialogist_lab.models.vocabulary_output import (
    Copies,
    LogProbs,
    PointerLogProbs,
)

LayerHidden: TypeAlias = tuple[Tensor, Tensor]
"""The state of one LSTM: hidden state and memory cell, (N, D) each."""


class RecurrentConfig(ModelConfig):
    """Options of the recurrent models.

    ``embedding``: width of the table, which dialogue and summary share. ``hidden``: of the
    decoder's states, of each of the encoder's two directions, and of the attention's inner layer.
    ``layers``: of encoder and decoder. ``attention``: over the source (Bahdanau et al. 2015).
    ``pointer``: words of the source can be copied, by the attention's weights. ``dropout``: on
    embeddings, between layers and before the vocabulary (Zaremba et al. 2014).
    """

    kind: Literal["recurrent"] = "recurrent"
    embedding: int = Field(256, ge=1, le=8192)
    hidden: int = Field(256, ge=1, le=8192)
    layers: int = Field(1, ge=1, le=64)
    attention: bool = True
    pointer: bool = False
    dropout: float = Field(0.1, ge=0, lt=1)

    @model_validator(mode="after")
    def _consistent(self) -> "RecurrentConfig":
        if self.pointer and not self.attention:
            raise ValueError("'pointer' needs 'attention': set it to true")
        return self

    def build(self, vocabulary: int) -> "Recurrent":
        return Recurrent(self, vocabulary)


@torch.no_grad()
def initialise_lstm(layer: nn.LSTM) -> None:
    """Glorot uniform from the input, orthogonal from the state, zero biases; forget gate open.

    The forget gate's bias is 1 (Jozefowicz et al. 2015, section 2.2). Every gate's matrix counts as
    one, where Keras takes all four as one matrix.
    """
    for name, weight in layer.named_parameters():
        for gate, part in enumerate(weight.chunk(4)):  # input, forget, cell, output
            if name.startswith("weight_ih"):
                nn.init.xavier_uniform_(part)
            elif name.startswith("weight_hh"):
                nn.init.orthogonal_(part)
            else:
                nn.init.constant_(part, float(gate == 1 and "_ih" in name))


class RecurrentEncoder(nn.Module):
    """Reads whole sequences from both ends (Schuster and Paliwal 1997); dropout between layers."""

    def __init__(self, config: RecurrentConfig) -> None:
        super().__init__()
        widths = [config.embedding, *[2 * config.hidden] * (config.layers - 1)]
        self.from_left, self.from_right = (
            nn.ModuleList(nn.LSTM(width, config.hidden, batch_first=True) for width in widths)
            for _ in range(2)
        )
        self.dropout = Dropout(config.dropout)

    def forward(self, x: Tensor, real: Tensor) -> tuple[Tensor, list[Tensor]]:
        """(B, S, E), True where real (B, S), which come first -> every position's top state
        (B, S, 2 D), without meaning at padding, and every layer's final one (B, 2 D).
        """
        lengths, places = real.sum(dim=1), torch.arange(x.shape[1], device=x.device)
        mirrored = lengths[:, None] - 1 - places
        # What is real back to front. Padding stays behind it, and so changes nothing.
        backwards = torch.where(mirrored >= 0, mirrored, places)[:, :, None]
        rows, last = torch.arange(len(x), device=x.device), (lengths - 1).clamp(min=0)
        finals = []
        for i, (left, right) in enumerate(zip(self.from_left, self.from_right, strict=True)):
            x = self.dropout(x) if i else x
            y = left(x)[0]
            z = right(x.gather(1, backwards.expand(x.shape)))[0]
            z = z.gather(1, backwards.expand(z.shape))
            finals.append(torch.cat([y[rows, last], z[:, 0]], dim=1))
            x = torch.cat([y, z], dim=2)
        return x, finals


@dataclass(frozen=True, slots=True)
class AttentionMemory(Rows):
    """What is attended to, its part of the energies computed once: N rows of S positions."""

    values: Tensor  # (N, S, C) h_i
    features: Tensor  # (N, S, A) W_h h_i + b
    mask: Tensor  # (N, S) added to the energies


class AdditiveAttention(nn.Module):
    """e_i = v . tanh(W_h h_i + W_s s + b), a = softmax(e), context = sum_i a_i h_i.

    (Bahdanau et al. 2015; See et al. 2017, equations 1 to 3.)
    """

    def __init__(self, memory: int, query: int, width: int) -> None:
        super().__init__()
        self.memory = nn.Linear(memory, width)  # W_h and b
        self.query = nn.Linear(query, width, bias=False)  # W_s
        self.energy = nn.Linear(width, 1, bias=False)  # v

    def remember(self, states: Tensor, real: Tensor) -> AttentionMemory:
        """(B, S, C) states and (B, S) True at real ones."""
        mask = torch.zeros_like(real, dtype=states.dtype).masked_fill(~real, BLOCKED)
        return AttentionMemory(states, self.memory(states), mask)

    def forward(self, query: Tensor, memory: AttentionMemory) -> tuple[Tensor, Tensor]:
        """(N, D) -> context (N, C) and weights (N, S)."""
        inputs = memory.features, self.query(query)
        # There is one inner layer (N, S, A) per target position: it is not kept but made again.
        energies = checkpoint(
            self._energies, *inputs, use_reentrant=False, preserve_rng_state=False
        )
        weights = torch.softmax(energies + memory.mask, dim=-1)
        return (weights[:, None] @ memory.values)[:, 0], weights

    def _energies(self, features: Tensor, query: Tensor) -> Tensor:
        return (features + query[:, None]).tanh_() @ self.energy.weight[0]


@dataclass(frozen=True, slots=True)
class RecurrentState(Rows):
    """What each of N rows carries from one target position to the next."""

    hidden: tuple[LayerHidden, ...]  # of every layer, lowest first
    memory: AttentionMemory | None  # what is attended to, with attention
    context: Tensor | None  # (N, C) the last one, zero at first
    ids: Tensor  # (N, S) what copying each position would write
    extra: int  # E


class DecodedSteps(NamedTuple):
    """What the decoder makes of T target positions, (N, T, ...)."""

    embedded: Tensor  # (..., E) its input x_t
    hidden: Tensor  # (..., D) its state s_t
    context: Tensor | None = None  # (..., C)
    weights: Tensor | None = None  # (..., S) of the attention


class RecurrentDecoder(nn.Module):
    """A stack of LSTMs whose top state attends, where ``attended``, the width of h_i, is not 0."""

    def __init__(self, config: RecurrentConfig, attended: int) -> None:
        super().__init__()
        width = config.hidden
        widths = [config.embedding + attended, *[width] * (config.layers - 1)]
        self.layers = nn.ModuleList(nn.LSTM(each, width, batch_first=True) for each in widths)
        self.dropout = Dropout(config.dropout)
        self.attention = AdditiveAttention(attended, width, width) if attended else None

    def forward(self, x: Tensor, state: RecurrentState) -> tuple[DecodedSteps, RecurrentState]:
        """(N, T, E): all at once without attention, else one after the other."""
        hidden, context, memory = state.hidden, state.context, state.memory
        if self.attention is None or memory is None or context is None:
            y, cells = x, []
            for i, (layer, before) in enumerate(zip(self.layers, hidden, strict=True)):
                h, c = (part[None].contiguous() for part in before)
                y, (h, c) = layer(self.dropout(y) if i else y, (h, c))
                cells.append((h[0], c[0]))
            return DecodedSteps(x, y), replace(state, hidden=tuple(cells))
        steps = []
        for fed in x.unbind(dim=1):  # the cells read the token before and the context before
            y, cells = torch.cat([fed, context], dim=1), []
            for i, (layer, before) in enumerate(zip(self.layers, hidden, strict=True)):
                assert isinstance(layer, nn.LSTM)
                cell = torch.lstm_cell(self.dropout(y) if i else y, before, *layer.all_weights[0])
                cells.append(cell)
                y = cell[0]
            hidden = tuple(cells)
            context, weights = self.attention(y, memory)  # the new state attends
            steps.append((y, context, weights))
        stacked = (torch.stack(parts, dim=1) for parts in zip(*steps, strict=True))
        return DecodedSteps(x, *stacked), replace(state, hidden=hidden, context=context)


class Recurrent(Generator):
    """Encoder-decoder of recurrent layers."""

    config: RecurrentConfig

    def __init__(self, config: RecurrentConfig, vocabulary: int) -> None:
        super().__init__()
        self.config = config
        embedding, hidden = config.embedding, config.hidden
        self.embedding = nn.Embedding(vocabulary, embedding)
        self.encoder = RecurrentEncoder(config)
        # The decoder's first states: tanh(V h) of the final ones (Cho et al. 2014, appendix
        # A.1.2); each layer has a V of its own, for its memory cell as well.
        sizes = 2 * hidden, 2 * hidden
        self.bridge = nn.ModuleList(nn.Linear(*sizes) for _ in range(config.layers))
        attended = 2 * hidden if config.attention else 0
        self.decoder = RecurrentDecoder(config, attended)
        # p_gen = sigmoid(w_h . context + w_s . state + w_x . input + b): See et al., equation 8.
        self.gate = nn.Linear(attended + hidden + embedding, 1) if config.pointer else None
        self.readout = nn.Linear(hidden + attended, hidden) if attended else None
        self.dropout = Dropout(config.dropout)
        self.output = nn.Linear(hidden, vocabulary)
        for module in self.modules():
            if isinstance(module, nn.LSTM):
                initialise_lstm(module)
            else:
                initialise_module(module, "keras")

    def encode(
        self, batch: Batch, need_weights: bool = False
    ) -> tuple[RecurrentState, AttentionMaps]:
        """What is attended to is projected once; there are no attention weights."""
        real, attention = batch.source_mask, self.decoder.attention
        with torch.autocast(batch.source.device.type, enabled=False):
            states, finals = self.encoder(self.dropout(self.embedding(batch.source)), real)
            memory, context = None, None
            if attention is not None:
                memory, context = attention.remember(states, real), torch.zeros_like(states[:, 0])
            bridged = [torch.tanh(v(h)) for v, h in zip(self.bridge, finals, strict=True)]
            halves = [both.chunk(2, dim=1) for both in bridged]
            hidden = tuple((h, c) for h, c in halves)
        return RecurrentState(hidden, memory, context, batch.copy_ids, batch.extra), {}

    def decode(
        self, tokens: Tensor, state: RecurrentState, real: Tensor, need_weights: bool = False
    ) -> Decoded:
        """``attention["decoder_attention"]`` is (N, T, S), if it attends."""
        with torch.autocast(tokens.device.type, enabled=False):
            steps, after = self.decoder(self.dropout(self.embedding(tokens)), state)
        hidden = steps.hidden[real]
        if self.readout is None:
            return Decoded(LogProbs(self.output, self.dropout(hidden)), after)
        attention = {"decoder_attention": steps.weights} if need_weights else {}
        context = steps.context[real]
        readout = self.readout(torch.cat([hidden, context], dim=1))
        generated = LogProbs(self.output, self.dropout(readout))
        if self.gate is None:
            return Decoded(generated, after, attention)
        odds = self.gate(torch.cat([context, hidden, steps.embedded[real]], dim=1))[:, 0]
        ids = state.ids[:, None].expand(-1, real.shape[1], -1)[real]
        copies = Copies(odds.float(), steps.weights[real], ids, state.extra)
        return Decoded(PointerLogProbs(generated, copies), after, attention)
