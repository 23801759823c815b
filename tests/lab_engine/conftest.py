"""A batch, a data folder, and recipes for it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.lab_engine.samples import SMALL, SYMBOLS, copying_pairs

from dialogist_lab.data.batching import collate
from dialogist_lab.models.generator import Batch


@pytest.fixture
def batch() -> Batch:
    """Three dialogues of different lengths."""
    return collate(copying_pairs(3), SYMBOLS)


TURNS = (
    ("Ann", "Shall we meet at noon?", "Bo", "Yes, at the station.", "Ann and Bo meet at noon."),
    ("Cy", "I lost my keys.", "Di", "They are on the table.", "Di tells Cy where his keys are."),
    ("Ann", "The printer is broken.", "Di", "I will call support.", "Di will call support."),
    ("Bo", "How was the film?", "Cy", "Too long, I fell asleep.", "Cy fell asleep in the film."),
)


@pytest.fixture
def data_folder(tmp_path: Path) -> Path:
    """A data folder with train.jsonl and dev.jsonl of tiny dialogues."""
    folder = tmp_path / "data"
    folder.mkdir()
    for name, repeats in (("train", 6), ("dev", 1)):
        rows = [
            {"id": f"{name}-{i}", "turns": [[first, said], [second, answer]], "summary": summary}
            for i, (first, said, second, answer, summary) in enumerate(TURNS * repeats)
        ]
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def write_recipe(tmp_path: Path) -> Callable[..., Path]:
    """Write a recipe for `data_folder`; keyword arguments replace its parts."""

    def write(**parts: Any) -> Path:
        values: dict[str, Any] = {
            "name": "tiny",
            "data": {"train": [{"path": "train.jsonl"}], "dev": [{"path": "dev.jsonl"}]},
            "preparation": {"limits": {"source_tokens": 60, "summary_tokens": 20}},
            "tokenizer": {"kind": "word", "size": None},
            "model": {**SMALL, "source_positions": 64, "target_positions": 24},
            "training": {
                "epochs": 2,
                "seed": 3,
                "precision": "fp32",
                "sampler": {"kind": "shuffle-buffer", "examples": 4, "buffer": 100},
                "schedule": {"kind": "constant", "peak": 3e-3},
                "log_every": 2,
                "checkpoint_every": 3,
            },
            "validation": {"rouge_every": 1, "decoding": {"strategy": "greedy", "max_tokens": 12}},
            "decoding": {"strategy": "beam", "beam_size": 2, "max_tokens": 12},
        }
        for name, part in parts.items():
            values[name] = {**values.get(name, {}), **part} if isinstance(part, dict) else part
        path = tmp_path / "tiny.yaml"
        path.write_text(json.dumps(values), encoding="utf-8")  # JSON is YAML
        return path

    return write
