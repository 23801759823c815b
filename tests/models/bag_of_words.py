"""A model family that nobody but its registration knows of: what a new one has to be."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from dialogist.models import GeneratorModule, ModelConfig
from dialogist.models.base import Outputs
from dialogist.nn.kv_cache import State
from dialogist.nn.output_layer import LogProbs, VocabularyProjection
from dialogist.tensors import Batch


class BagConfig(ModelConfig):
    kind: Literal["bag"] = "bag"
    width: int = 8

    def build(self, vocabulary: int) -> "BagOfWords":
        return BagOfWords(self, vocabulary)


@dataclass
class BagState:
    read: Tensor  # (N, D) the mean of the dialogue's tokens

    def select(self, rows: Tensor) -> "BagState":
        return BagState(self.read[rows])


class BagOfWords(GeneratorModule):
    """The next token by the mean of the dialogue's tokens and the token before; no attention."""

    longest_target = None

    def __init__(self, config: BagConfig, vocabulary: int) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(vocabulary, config.width)
        self.output = VocabularyProjection(config.width, vocabulary)

    def start(self, batch: Batch) -> State:
        words = self.embedding(batch.source) * batch.source_mask[:, :, None]
        return BagState(words.sum(dim=1) / batch.source_mask.sum(dim=1, keepdim=True))

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        assert isinstance(state, BagState)
        return self.output.log_probs(torch.tanh(state.read + self.embedding(tokens))), state

    def force(self, batch: Batch, state: State, need_weights: object = False) -> Outputs:
        assert isinstance(state, BagState)
        hidden = torch.tanh(state.read[:, None] + self.embedding(batch.target_in))  # (B, T, D)
        real = batch.target_mask
        return Outputs(LogProbs(self.output, hidden[real]), batch.target_out[real])

    def forward(self, batch: Batch, need_weights: object = False) -> Outputs:
        return self.force(batch, self.start(batch), need_weights)


class Attentive(BagOfWords):
    """It says that it looks at all tokens alike."""

    def force(self, batch: Batch, state: State, need_weights: object = False) -> Outputs:
        outputs = super().force(batch, state, need_weights)
        if need_weights:
            shares = batch.source_mask / batch.source_mask.sum(dim=1, keepdim=True)
            outputs.attention["mine"] = shares[:, None].expand(-1, batch.target_in.shape[1], -1)
        return outputs

    def cross_attention(self, outputs: Outputs) -> Tensor | None:
        return outputs.attention["mine"]


class AttentiveConfig(BagConfig):
    kind: Literal["attentive bag"] = "attentive bag"  # type: ignore[assignment]

    def build(self, vocabulary: int) -> Attentive:
        return Attentive(self, vocabulary)
