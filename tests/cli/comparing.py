"""What the tests of ``dialogist compare`` share: a corpus, small recipes, and a way to call it."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from tests.command import CommandLine

from dialogist.formats.fields import dialogue_to_line
from dialogist_lab.synth import CorpusConfig, generate_pairs

DATA = {
    "train": [{"path": "train.jsonl", "format": "jsonl"}],
    "dev": [{"path": "dev.jsonl", "format": "jsonl"}],
}
SMALL = {
    "data": DATA,
    "tokenizer": {"kind": "bpe", "size": 400},
    "training": {
        "epochs": 2,
        "precision": "fp32",
        "sampler": {"kind": "shuffle-buffer", "examples": 8},
        "schedule": {"kind": "constant", "peak": 0.003},
        "checkpoint_every": 2,
        "log_every": 1,
    },
    "validation": {
        "dev_examples": 2,
        "train_examples": 0,
        "decoding": {"strategy": "greedy", "max_tokens": 5},
    },
}
FLAT = {
    **SMALL,
    "preparation": {"limits": {"source_tokens": 96, "summary_tokens": 24}},
    "model": {
        "d_model": 16,
        "heads": 2,
        "feed_forward": 16,
        "encoder_layers": 1,
        "decoder_layers": 1,
        "source_positions": 96,
        "target_positions": 24,
    },
    "decoding": {"strategy": "greedy", "max_tokens": 20},
}
PLANNING = {
    **SMALL,
    "preparation": {
        "speakers": "role",
        "key_points": "customer-service-en",
        "limits": {"utterance_tokens": 16, "utterances": 8, "sub_summary_tokens": 12},
    },
    "model": {
        "kind": "leader-writer",
        "key_points": 51,
        "embedding": 8,
        "width": 16,
        "heads": 2,
        "feed_forward": 16,
        "token_layers": 1,
        "utterance_layers": 1,
        "leader_layers": 1,
        "decoder_layers": 1,
        "utterance_tokens": 16,
        "target_tokens": 13,
    },
    "objective": {"kind": "leader-writer"},
    "decoding": {"strategy": "greedy", "max_key_points": 3, "max_tokens": 6},
}


@dataclass
class Done:
    """What a command left."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def rows(self) -> dict[str, Any]:
        return {row["system"]: row for row in self.json["systems"]}

    def figure(self, system: str, key: str) -> float:
        """A figure of the card."""
        [row] = [row for row in self.json["card"]["rows"] if row["system"] == system]
        figure: float = row["figures"][key]["figure"]
        return figure


def call(*arguments: object, folder: Path | None = None) -> Done:
    """Run a command in this process, in a folder or where the test is."""
    called = CommandLine(folder or Path.cwd())(*arguments)
    return Done(called.returncode, called.stdout.decode(), called.stderr.decode())


def compare(*arguments: object) -> Done:
    return call("compare", *arguments)


def write(folder: Path, name: str, values: dict[str, Any], **more: Any) -> Path:
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump({**values, "name": name, **more}))
    return path


def corpus(folder: Path, language: str, train: int = 24, dev: int = 6) -> None:
    for part, count in (("train", train), ("dev", dev)):
        pairs = generate_pairs(CorpusConfig(language, 1, part), count)
        text = "".join(dialogue_to_line(dialogue) + "\n" for dialogue in pairs)
        (folder / f"{part}.jsonl").write_text(text, encoding="utf-8")


def furnish(folder: Path) -> Path:
    """Data and two recipes."""
    corpus(folder, "en")
    write(folder, "flat", FLAT)
    write(folder, "planning", PLANNING)
    return folder


def base(place: Path) -> tuple[object, ...]:
    return "--data", place, "--runs", place / "runs"
