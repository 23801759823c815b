"""Models for search: a table without any network, and a small random Transformer."""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import pytest
import torch
from torch import Tensor

from dialogist.decoding import DecodingOptions
from dialogist.models.base import Outputs
from dialogist.models.transformer import Transformer, TransformerConfig
from dialogist.tensors import Batch
from dialogist.tokenizers import Symbols

PAD, BOS, EOS = 0, 1, 2


@dataclass(frozen=True)
class TableState:
    """What each row has been fed, and its dialogue's number."""

    rows: tuple[tuple[int, tuple[int, ...]], ...]

    def select(self, rows: Tensor) -> "TableState":
        return TableState(tuple(self.rows[i] for i in rows.tolist()))


class TableModel:
    """A `Generator` whose log-probabilities are a pure function of (dialogue, prefix).

    ``steps`` records how many rows each step was given.
    """

    longest_target = None

    def __init__(self, vocabulary: int = 7, spread: float = 1.5) -> None:
        self.vocabulary = vocabulary
        self.spread = spread
        self.steps: list[int] = []

    def log_probs(self, dialogue: int, prefix: tuple[int, ...]) -> list[float]:
        """Of the next token; ``prefix`` without the begin symbol."""
        chance = random.Random(f"{dialogue} {prefix}")
        logits = [chance.gauss(0, self.spread) for _ in range(self.vocabulary)]
        total = math.log(sum(math.exp(x) for x in logits))
        return [x - total for x in logits]

    def start(self, batch: Batch) -> TableState:
        return TableState(tuple((row[0], ()) for row in batch.source.tolist()))

    def step(self, tokens: Tensor, state: TableState) -> tuple[Tensor, TableState]:
        self.steps.append(len(tokens))
        fed = zip(state.rows, tokens.tolist(), strict=True)
        rows = tuple((dialogue, (*prefix, token)) for (dialogue, prefix), token in fed)
        assert all(prefix[0] == BOS for _, prefix in rows)
        table = [self.log_probs(dialogue, prefix[1:]) for dialogue, prefix in rows]
        return torch.tensor(table), TableState(rows)

    def forward(self, batch: Batch) -> Outputs:
        raise NotImplementedError

    def train(self, mode: bool = True) -> Self:
        return self

    def eval(self) -> Self:
        return self


def serving_batch(rows: list[list[int]]) -> Batch:
    """Source rows, padded."""
    width = max(map(len, rows))
    source = torch.tensor([row + [PAD] * (width - len(row)) for row in rows])
    mask = torch.arange(width) < torch.tensor([len(row) for row in rows])[:, None]
    nothing = source.new_empty((len(rows), 0))
    return Batch(source, mask, nothing, nothing, nothing.bool())


def tiny_transformer(norm: str = "pre", seed: int = 0) -> Transformer:
    torch.manual_seed(seed)
    config = TransformerConfig(
        d_model=16,
        heads=2,
        feed_forward=32,
        encoder_layers=2,
        decoder_layers=2,
        norm="pre" if norm == "pointer" else norm,
        pointer=norm == "pointer",
        source_positions=16,
        target_positions=16,
        share_embeddings=False,
        tie_output=False,
    )
    model = config.build(13)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.startswith("output") or "cross_attention" in name:
                parameter.mul_(2.0)  # decided, and by the source
        model.output.bias[EOS] = 1.0
    return model.eval()


@pytest.fixture
def symbols() -> Symbols:
    return Symbols(PAD, BOS, EOS)


@pytest.fixture
def table() -> type[TableModel]:
    return TableModel


@pytest.fixture
def rows() -> Callable[[list[list[int]]], Batch]:
    return serving_batch


@pytest.fixture
def transformer() -> Callable[..., Transformer]:
    return tiny_transformer


@pytest.fixture(params=["greedy", "beam", "sample"])
def strategy(request: pytest.FixtureRequest) -> DecodingOptions:
    """Options of every strategy, for what must hold of all three."""
    return DecodingOptions(strategy=request.param, beam_size=3, max_tokens=8, temperature=1.3)
