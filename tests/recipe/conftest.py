"""A corpus with every kind of row, and a recipe for it that trains in a second or two."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from dialogist.config import override
from dialogist.recipe.recipe_config import Recipe

RECIPE: dict[str, Any] = {
    "name": "small",
    "data": {
        "train": [
            {"path": "one.jsonl", "format": "jsonl", "exclude": "out.txt"},
            {"path": "two.jsonl", "format": "jsonl"},
        ],
        "dev": [{"path": "dev.jsonl", "format": "jsonl"}],
    },
    "preparation": {"merge_below": 15, "limits": {"source_tokens": 24, "summary_tokens": 12}},
    "tokenizer": {"kind": "bpe", "size": 330},
    "model": {
        "d_model": 16,
        "heads": 2,
        "feed_forward": 32,
        "encoder_layers": 1,
        "decoder_layers": 1,
        "source_positions": 24,
        "target_positions": 12,
        "dropout": 0.1,
    },
    "training": {
        "epochs": 2,
        "precision": "fp32",
        "sampler": {"kind": "token-bucket", "tokens": 200},
        "log_every": 1,
        "checkpoint_every": 5,
    },
    "validation": {
        "rouge_every": 1,
        "train_examples": 4,
        "decoding": {"strategy": "greedy", "max_tokens": 4},
    },
    "decoding": {"max_tokens": 11},
}


@dataclass
class Notes:
    """A reporter that keeps what it is told."""

    notes: list[str] = field(default_factory=list)

    def update(self, progress: object, batches: int, loss: float) -> None: ...

    def epoch(self, record: object) -> None: ...

    def note(self, text: str) -> None:
        self.notes.append(text)


def row(n: int, summaries: int = 1) -> str:
    turns = [["Ann", f"Shall we meet at {n}? " * (1 + n % 4)], ["Bo", "Yes, gladly, at Luigi's."]]
    texts = [f"Ann and Bo meet at {n}, variant {k}." for k in range(summaries)]
    return json.dumps({"id": f"d{n}", "turns": turns, "summaries": texts}) + "\n"


def write_corpus(folder: Path) -> Path:
    """Bad lines, an excluded row, dialogues with two summaries and with none."""
    one = [row(n) for n in range(12)]
    one.insert(3, "{broken\n")
    one += [row(n, summaries=2) for n in range(12, 16)]
    two = [row(n, summaries=n % 2) for n in range(20, 28)] + ["[1, 2]\n"]
    (folder / "one.jsonl").write_text("".join(one))
    (folder / "two.jsonl").write_text("".join(two))
    (folder / "out.txt").write_text("d5\n")
    (folder / "dev.jsonl").write_text("".join(row(n) for n in range(40, 44)))
    return folder


def small_recipe(*settings: str) -> Recipe:
    return Recipe.parse(override(RECIPE, settings))


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a folder by its path below it."""
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    return write_corpus(tmp_path / "data")


@pytest.fixture
def notes() -> Notes:
    return Notes()


@pytest.fixture
def recipe() -> Callable[..., Recipe]:
    return small_recipe


@pytest.fixture(scope="module", autouse=True)
def _no_plots() -> Iterator[None]:
    """A second for each run; tests/cli has a run that draws them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dialogist.recipe.training_run.plot_run", lambda run: None)
        yield
