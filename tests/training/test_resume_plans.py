"""A planning model with reinforcement and dropout goes on after an interruption bit by bit."""

import random
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from dialogist.data.collate import EncodedPair
from dialogist.tokenizers import Symbols
from dialogist.training import master_weights as training_precision
from dialogist.training.base import TrainingConfig, TrainingData, Validation
from dialogist.training.trainer import Trainer
from dialogist_lab.papers.leader_writer import LeaderWriterConfig, LeaderWriterLossConfig

SYMBOLS = Symbols(0, 1, 2, 3, 20)


@pytest.fixture(autouse=True)
def _any_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without units for it bf16 is slow, not wrong."""
    monkeypatch.setattr(training_precision, "has_bf16", lambda device: True)


class Stopped(Exception):
    pass


class Watcher:
    """A reporter that stops a run like kill -9 does: nothing is saved."""

    def __init__(self, last: int | None) -> None:
        self.last = last

    def update(self, progress: Any, batches: int, loss: float) -> None:
        if progress.step == self.last:
            raise Stopped

    def epoch(self, record: object) -> None: ...

    def note(self, text: str) -> None: ...


def talks() -> list[EncodedPair]:
    chance = random.Random(1)
    made = []
    for number in range(24):
        said = [chance.randrange(4, 23) for _ in range(6)]
        told = [chance.choice(said) for _ in range(5)]
        plan = tuple(chance.randrange(3, 6) for _ in range(2))
        made.append(EncodedPair((1, *said, 2), (1, *told, 2), f"d{number}", (1, 4), plan, (3, 6)))
    return made


def run(folder: Path, precision: str, last: int | None = None) -> dict[str, Tensor]:
    torch.manual_seed(0)
    sizes = {"embedding": 8, "width": 8, "heads": 2, "feed_forward": 8, "key_points": 3}
    layers = {"token_layers": 1, "utterance_layers": 1, "decoder_layers": 1, "leader_layers": 1}
    limits = {"utterance_tokens": 8, "target_tokens": 8, "pointer": True, "dropout": 0.2}
    model = LeaderWriterConfig.parse({**sizes, **layers, **limits}).build(SYMBOLS.size)
    weights = {"key_points": 0.25, "sub_summaries": 0.25, "key_points_reward": 0.25}
    objective = LeaderWriterLossConfig.parse(
        {**weights, "sub_summaries_reward": 0.25, "longest_plan": 4, "longest_text": 5}
    ).build(SYMBOLS)
    sampler = {"kind": "shuffle-buffer", "examples": 4}
    config = TrainingConfig.parse(
        {"epochs": 2, "precision": precision, "sampler": sampler, "checkpoint_every": 3}
        | {"accumulate": 2, "schedule": {"kind": "constant", "peak": 0.01}}
    )
    data = TrainingData(talks(), SYMBOLS)
    trainer = Trainer(model, objective, data, config, folder, Watcher(last))
    trainer.fit(lambda epoch: Validation({}))
    return {name: p.detach().clone() for name, p in model.named_parameters()}


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_the_same_bits_after_an_interruption(tmp_path: Path, precision: str) -> None:
    for name in ("whole", "broken"):
        (tmp_path / name).mkdir()
    whole = run(tmp_path / "whole", precision)
    with pytest.raises(Stopped):
        run(tmp_path / "broken", precision, last=5)
    again = run(tmp_path / "broken", precision)
    assert all(torch.equal(again[name], weight) for name, weight in whole.items())
    logs = [(tmp_path / name / "metrics.jsonl").read_bytes() for name in ("whole", "broken")]
    assert logs[0] == logs[1]
