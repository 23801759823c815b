"""A training run small enough to repeat many times: model, pairs, and who watches it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import torch

from dialogist.data.collate import EncodedPair
from dialogist.models.transformer import Transformer, TransformerConfig
from dialogist.objectives.cross_entropy import CrossEntropy
from dialogist.records import JSON
from dialogist.tokenizers import Symbols
from dialogist.training.base import Progress, TrainingConfig, TrainingData
from dialogist.training.trainer import Trainer


@dataclass
class Watcher:
    """A `Reporter` that keeps what it is told; ``on_update`` may interfere."""

    losses: list[float] = field(default_factory=list)
    records: list[Mapping[str, JSON]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    on_update: Callable[[Progress], None] = lambda progress: None

    def update(self, progress: Progress, batches: int, loss: float) -> None:
        self.losses.append(loss)
        self.on_update(progress)

    def epoch(self, record: Mapping[str, JSON]) -> None:
        self.records.append(record)

    def note(self, text: str) -> None:
        self.notes.append(text)


def tiny_model(dropout: float = 0.0) -> Transformer:
    torch.manual_seed(7)
    return TransformerConfig(
        d_model=16,
        heads=2,
        feed_forward=16,
        encoder_layers=1,
        decoder_layers=1,
        dropout=dropout,
        attention_output_dropout=dropout,
        source_positions=16,
        target_positions=16,
    ).build(12)


def tiny_data(count: int = 12, seed: int = 0) -> TrainingData:
    """Pairs of uneven lengths, named p0, p1, ..."""
    chance = torch.Generator().manual_seed(seed)

    def ids(shortest: int) -> tuple[int, ...]:
        length = int(torch.randint(shortest, shortest + 5, (1,), generator=chance))
        return (1, *torch.randint(3, 12, (length,), generator=chance).tolist(), 2)

    return TrainingData(
        [EncodedPair(ids(2), ids(1), f"p{i}") for i in range(count)], Symbols(0, 1, 2)
    )


@dataclass
class Setup:
    """Makes trainers over the same folder, as starts of the same run."""

    folder: Path
    watcher: Watcher = field(default_factory=Watcher)

    def trainer(
        self,
        data: TrainingData | None = None,
        objective: object | None = None,
        dropout: float = 0.0,
        model: Transformer | None = None,
        **options: object,
    ) -> Trainer:
        values = {
            "epochs": 2,
            "precision": "fp32",
            "sampler": {"kind": "shuffle-buffer", "examples": 4},
            "schedule": {"kind": "constant", "peak": 0.01},
            "log_every": 1,
            "checkpoint_every": 1000,
            **options,
        }
        return Trainer(
            model or tiny_model(dropout),
            objective or CrossEntropy(),
            data or tiny_data(),
            TrainingConfig.parse(values),
            self.folder,
            self.watcher,
        )


@pytest.fixture
def setup(tmp_path: Path) -> Setup:
    return Setup(tmp_path)


@pytest.fixture
def another(tmp_path: Path) -> Callable[[str], Setup]:
    def make(name: str) -> Setup:
        (tmp_path / name).mkdir()
        return Setup(tmp_path / name)

    return make


@pytest.fixture
def data() -> Callable[..., TrainingData]:
    return tiny_data
