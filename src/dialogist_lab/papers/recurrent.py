"""Recurrent encoder-decoders: plain (Sutskever et al. 2014), with attention, with a pointer.

Without attention the decoder starts from the encoder's final states and sees no more of the
dialogue (in Cho et al. 2014 they enter every step). With it (Nallapati et al. 2016, See et al.
2017; `recurrent_decoder`) its state s_t attends to every position, and V [s_t; context_t] + b goes
to the vocabulary (See et al., equation 4). With a pointer it can also say the word it attends to
(See et al., section 2.2).
"""

from dataclasses import dataclass, replace
from typing import Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from dialogist.models.base import GeneratorModule, ModelConfig, Outputs, TokenDistribution
from dialogist.nn.attention import WantedWeights
from dialogist.nn.kv_cache import State, selected
from dialogist.nn.layers import Dropout, initialise_module
from dialogist.nn.output_layer import (
    Copies,
    GeneratorGate,
    LogProbs,
    PointerLogProbs,
    VocabularyProjection,
)
from dialogist.nn.packing import Packing
from dialogist.tensors import Batch
from dialogist_lab.papers.recurrent_decoder import (
    AttentionMemory,
    RecurrentCells,
    RecurrentDecoder,
    RecurrentOutputs,
)
from dialogist_lab.papers.recurrent_layers import (
    Bridge,
    CellKind,
    RecurrentEncoder,
    StackShape,
    initialise_as_keras,
)


class RecurrentConfig(ModelConfig):
    """Options of the recurrent models.

    ``hidden``: the width of the decoder's states, of each of the encoder's directions, and of the
    attention's inner layer. ``coverage``: the attention is told the sum of its weights so far.
    ``pointer``: words of the source can be copied, by the attention's weights.
    ``initialisation``: ``keras`` (embeddings uniform +-0.05, Glorot uniform, recurrent matrices
    orthogonal, forget gates open) or ``uniform`` (all +-0.08: Sutskever et al. 2014).

    ``cell``: GRU or LSTM. ``embedding``: width of the table. ``layers``: of encoder and decoder.
    ``bidirectional``: the encoder reads in both directions. ``attention``: over the source, or none
    (Bahdanau et al. 2015). ``dropout``: on embeddings, between layers and before the vocabulary
    (Zaremba et al. 2014).
    """

    kind: Literal["recurrent"] = "recurrent"
    cell: CellKind = "lstm"
    embedding: int = Field(256, ge=1, le=8192)
    hidden: int = Field(256, ge=1, le=8192)
    layers: int = Field(1, ge=1, le=64)
    bidirectional: bool = True
    attention: Literal["none", "additive"] = "additive"
    coverage: bool = False
    pointer: bool = False
    dropout: float = Field(0.1, ge=0, lt=1)
    share_embeddings: bool = True
    tie_output: bool = False
    initialisation: Literal["keras", "uniform"] = "keras"

    @model_validator(mode="after")
    def _consistent(self) -> "RecurrentConfig":
        for option in ("coverage", "pointer"):
            if getattr(self, option) and self.attention == "none":
                raise ValueError(f"'{option}' needs attention: set 'attention' to additive")
        return self

    def build(self, vocabulary: int) -> "Recurrent":
        """A new model with fresh weights (drawn from torch's generator)."""
        return Recurrent(self, vocabulary)


@dataclass(frozen=True, slots=True)
class RecurrentState:
    """N rows of search: what changes, what is attended to, and whose memory each row has."""

    cells: RecurrentCells
    memory: AttentionMemory | None
    owner: Tensor  # (N,) the dialogue behind each row
    copy_ids: Tensor | None = None  # (N, S) what copying each position would say
    extra: int = 0  # E

    def select(self, rows: Tensor) -> "RecurrentState":
        """The given rows; memories are copied only when rows change between dialogues."""
        owner, shared = self.owner.index_select(0, rows), (self.memory, self.copy_ids)
        memory, ids = shared if torch.equal(owner, self.owner) else selected(shared, rows)
        return RecurrentState(self.cells.select(rows), memory, owner, ids, self.extra)


class Recurrent(GeneratorModule):
    """Encoder-decoder of recurrent layers; a `GeneratorModule`."""

    config: RecurrentConfig

    def __init__(self, config: RecurrentConfig, vocabulary: int) -> None:
        super().__init__()
        self.config = config
        embedding, hidden = config.embedding, config.hidden
        self.source_embedding = nn.Embedding(vocabulary, embedding)
        self.target_embedding = (
            self.source_embedding
            if config.share_embeddings
            else nn.Embedding(vocabulary, embedding)
        )
        shape = StackShape(config.cell, embedding, hidden, config.layers, config.dropout)
        self.encoder = RecurrentEncoder(shape, config.bidirectional)
        self.bridge = Bridge(self.encoder.width, shape)
        attended = self.encoder.width if config.attention == "additive" else 0
        self.decoder = RecurrentDecoder(shape, attended, config.coverage)
        self.gate = GeneratorGate(attended, hidden, embedding) if config.pointer else None
        width = embedding if config.tie_output else hidden
        self.readout = nn.Linear(hidden + attended, width) if attended or width != hidden else None
        self.dropout = Dropout(config.dropout)
        self.output = VocabularyProjection(width, vocabulary)
        self._initialise()
        if config.tie_output:
            self.output.weight = self.target_embedding.weight

    def _initialise(self) -> None:
        if self.config.initialisation == "uniform":
            for parameter in self.parameters():
                nn.init.uniform_(parameter, -0.08, 0.08)
            return
        for module in self.modules():
            if isinstance(module, nn.RNNBase):
                initialise_as_keras(module)
            else:
                initialise_module(module, "keras")

    def force(self, batch: Batch, state: State, need_weights: WantedWeights = False) -> Outputs:
        """Teacher forcing; ``attention["decoder_attention"]`` is (B, T, S), if it attends."""
        assert isinstance(state, RecurrentState)
        x = self.dropout(self.target_embedding(batch.target_in))  # (B, T, E)
        wanted = None if need_weights and state.memory else batch.target_mask
        decoded, _ = self.decoder(x, state.cells, state.memory, wanted)
        target = Packing.of(batch.target_mask)
        packed = decoded.pack(target)
        shown = decoded.weights if need_weights else None
        maps = {} if shown is None else {"decoder_attention": shown}
        targets = target.pack(batch.target_out)[: target.count]
        return Outputs(self._distribution(packed, target, state), targets, maps, packed.overlap)

    def start(self, batch: Batch) -> RecurrentState:
        """Encode, and project what is attended to once; B rows."""
        x = self.dropout(self.source_embedding(batch.source))  # (B, S, E)
        states, finals = self.encoder(x, batch.source_mask)
        cells, memory = self.decoder.start(self.bridge(finals), states, batch.source_mask)
        owner = torch.arange(len(batch), device=x.device)
        ids = batch.copy_ids if self.config.pointer else None
        return RecurrentState(cells, memory, owner, ids, batch.extra if self.config.pointer else 0)

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, RecurrentState]:
        """One token per row (N,) -> log-probabilities (N, X) of the next one, and the new state."""
        assert isinstance(state, RecurrentState)
        x = self.dropout(self.target_embedding(tokens[:, None]))  # (N, 1, E)
        decoded, cells = self.decoder(x, state.cells, state.memory)
        single = Packing.single(tokens.shape[0], tokens.device)
        found = self._distribution(decoded.pack(single), single, state)
        return found.all(), replace(state, cells=cells)

    def _distribution(
        self, decoded: RecurrentOutputs, packing: Packing, state: RecurrentState
    ) -> TokenDistribution:
        """The next token's, at the decoder's M positions, which lie as ``packing``."""
        hidden = decoded.hidden.to(self.bridge.dtype)
        if decoded.context is not None:
            hidden = torch.cat([hidden, decoded.context], dim=1)
        if self.readout is not None:
            hidden = self.readout(hidden)
        generated = LogProbs(self.output, self.dropout(hidden))
        if self.gate is None:
            return generated
        assert decoded.context is not None
        assert decoded.weights is not None
        assert state.copy_ids is not None
        odds = self.gate(decoded.context, decoded.hidden, decoded.embedded)
        owner = packing.rows[: packing.count] // packing.shape[1]  # (M,)
        ids = state.copy_ids.index_select(0, owner)
        return PointerLogProbs(generated, Copies(odds, decoded.weights, ids, state.extra))
