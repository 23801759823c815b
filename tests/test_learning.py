"""Small networks of every kind learn to say a sequence backwards, in seconds.

Everything takes part: sampler, collate, trainer, schedule, loss, cache, greedy search.
"""

import random
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from tests.learning import Silent, fit

from dialogist.data.collate import EncodedPair, collate
from dialogist.decoding import DecodingOptions
from dialogist.decoding.generation import generate
from dialogist.models import SequenceModel
from dialogist.models.transformer import TransformerConfig
from dialogist.objectives.cross_entropy import CrossEntropy
from dialogist.tokenizers import Symbols
from dialogist.training.base import TrainingConfig, TrainingData
from dialogist.training.trainer import Trainer
from dialogist_lab.papers.recurrent import RecurrentConfig

PAD, BOS, EOS = 0, 1, 2
SYMBOLS = Symbols(PAD, BOS, EOS)
WORDS = range(3, 11)
TRANSFORMER = {
    "d_model": 32,
    "heads": 4,
    "feed_forward": 64,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "dropout": 0.0,
    "attention_output_dropout": 0.0,
    "source_positions": 10,
    "target_positions": 10,
}
REPORTS = {
    "norm": "post",
    "activation": "relu",
    "key_width": 32,
    "share_embeddings": False,
    "tie_output": False,
    "initialisation": "keras",
}
RECURRENT = {"embedding": 32, "hidden": 32, "dropout": 0.0}
FORMS = {
    "transformer, reports": TransformerConfig.parse({**TRANSFORMER, **REPORTS}),
    "transformer, modern": TransformerConfig.parse(
        {**TRANSFORMER, "norm": "pre", "activation": "gelu"}
    ),
    "recurrent": RecurrentConfig.parse({**RECURRENT, "hidden": 64, "attention": "none"}),
    "recurrent, attention": RecurrentConfig.parse(RECURRENT),
    "recurrent, coverage": RecurrentConfig.parse({**RECURRENT, "cell": "gru", "coverage": True}),
}


def reversed_pairs(count: int, seed: int) -> list[EncodedPair]:
    chance = random.Random(seed)
    rows = [[chance.choice(WORDS) for _ in range(chance.randint(2, 5))] for _ in range(count)]
    return [EncodedPair((BOS, *row, EOS), (BOS, *reversed(row), EOS)) for row in rows]


def accuracy(model: SequenceModel, pairs: Sequence[EncodedPair]) -> float:
    """Share of target tokens that greedy search says in their place."""
    options = DecodingOptions(strategy="greedy", max_tokens=8)
    found = generate(model, collate(pairs, SYMBOLS), options, SYMBOLS)
    right = total = 0
    for pair, (hypothesis,) in zip(pairs, found, strict=True):
        wanted = pair.target[1:-1]
        right += sum(a == b for a, b in zip(wanted, hypothesis.tokens, strict=False))
        total += max(len(wanted), len(hypothesis.tokens))
    return right / total


# A family's largest form at each change, the others with the long checks.
USUAL = ("transformer, modern", "recurrent, coverage")


@pytest.mark.parametrize(
    "form", [f if f in USUAL else pytest.param(f, marks=pytest.mark.slow) for f in FORMS]
)
def test_a_toy_task_is_learned(form: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = FORMS[form].build(len(WORDS) + 3)
    unseen = reversed_pairs(100, seed=2)
    assert accuracy(model, unseen) < 0.3
    config = TrainingConfig.parse(
        {
            "epochs": 100,
            "max_steps": 500,
            "precision": "fp32",
            "sampler": {"kind": "shuffle-buffer", "examples": 64},
            "schedule": {"kind": "linear", "peak": 0.005, "warmup": 50},
            "checkpoint_every": 10_000,
        }
    )
    data = TrainingData(reversed_pairs(3200, seed=1), SYMBOLS)
    trainer = Trainer(model, CrossEntropy(), data, config, tmp_path, Silent())
    fit(trainer, lambda: accuracy(model, unseen) > 0.95)
    assert accuracy(model, unseen) > 0.95
