"""A run of a pointer model: unknown words in its batches, from memory or disk; resumed."""

from pathlib import Path
from typing import Any

import pytest
import torch

from dialogist.data.collate import EncodedPair
from dialogist.data.encode import Encoded
from dialogist.data.shard_writer import ShardWriter
from dialogist.data.shards import Manifest, ShardedPairs, token_type
from dialogist.objectives.cross_entropy import CrossEntropy
from dialogist.records import Coverage
from dialogist.tokenizers import Symbols
from dialogist.training.base import TrainingData, Validation
from dialogist_lab.papers.recurrent import Recurrent, RecurrentConfig

VOCABULARY = 12
SYMBOLS = Symbols(pad=0, bos=1, eos=2, unk=3, size=VOCABULARY)


def model() -> Recurrent:
    torch.manual_seed(7)
    options = {"embedding": 8, "hidden": 8, "dropout": 0.2, "pointer": True, "coverage": True}
    return RecurrentConfig.parse(options).build(VOCABULARY)


def pairs() -> list[EncodedPair]:
    """A word, an unknown one (sometimes two), a word; the summary wants the unknown ones."""
    chance = torch.Generator().manual_seed(0)
    words = torch.randint(4, VOCABULARY, (12, 2), generator=chance).tolist()
    found = []
    for number, (one, other) in enumerate(words):
        new = range(VOCABULARY, VOCABULARY + 1 + number % 2)
        found.append(EncodedPair((1, one, *new, other, 2), (1, *new, 2), f"p{number}"))
    return found


def nothing(epoch: int) -> Validation:
    return Validation({})


def on_disk(folder: Path) -> ShardedPairs:
    folder.mkdir()
    kind = token_type(VOCABULARY, bounded=False)
    manifest = Manifest(settings={}, vocabulary=VOCABULARY, token_type=kind)
    with ShardWriter(folder, manifest, shard_tokens=30) as writer:
        for pair in pairs():
            read = Coverage(tokens_read=len(pair.source))
            writer.add(Encoded(pair.source, (), (pair.target,), coverage=read, id=pair.id))
        writer.finish([], None)
    return ShardedPairs(folder)


@pytest.mark.parametrize("where", ["memory", "disk"])
def test_a_resumed_run_ends_with_the_same_bits(where: str, another: Any, tmp_path: Path) -> None:
    held = pairs() if where == "memory" else on_disk(tmp_path / "encoded")
    data = TrainingData(held, SYMBOLS)
    assert data.batch(range(4)).extra == 2
    objective = CrossEntropy(coverage_weight=0.5)
    cut, straight = another("cut"), another("straight")
    for epochs in (1, 3):
        resumed = cut.trainer(data, objective, model=model(), epochs=epochs)
        resumed.fit(nothing)
    assert any("resumed at update 3 " in note for note in cut.watcher.notes)
    plain = TrainingData(pairs(), SYMBOLS)
    whole = straight.trainer(plain, objective, model=model(), epochs=3)
    assert whole.fit(nothing).step == 9
    for one, other in zip(resumed.model.parameters(), whole.model.parameters(), strict=True):
        assert torch.equal(one, other)
    assert cut.watcher.losses == straight.watcher.losses
    logged = whole.logs.metrics.path.read_bytes()
    assert resumed.logs.metrics.path.read_bytes() == logged
    assert b'"coverage"' in logged
