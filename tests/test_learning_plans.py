"""Planning models learn a toy customer service in seconds, through the real trainer and search.

A dialogue is a few utterances, each a kind of matter (one of three words) and an object; the
summary has a key point per utterance, whose text names the object. In half of the dialogues a
matter comes twice. In the task with order numbers the object is a word that no vocabulary has.
"""

import random
from collections.abc import Sequence
from operator import gt
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.learning import Silent, fit

from dialogist.data.collate import EncodedPair, collate
from dialogist.decoding import DecodingOptions
from dialogist.decoding.generation import generate_plan
from dialogist.tensors import FIRST_KEY_POINT
from dialogist.tokenizers import Symbols
from dialogist.training.base import TrainingConfig, TrainingData
from dialogist.training.trainer import Trainer
from dialogist_lab.papers.leader_writer import (
    LeaderWriter,
    LeaderWriterConfig,
    LeaderWriterLossConfig,
)

SYMBOLS = Symbols(pad=0, bos=1, eos=2, unk=3, size=16)
MATTERS, OBJECTS, ABOUT = range(4, 7), range(7, 15), 15
GREEDY = DecodingOptions(strategy="greedy", max_tokens=4, max_key_points=4)


def talk(chance: random.Random, unknown: bool) -> EncodedPair:
    matters = [chance.choice(MATTERS) for _ in range(chance.randint(1, 3))]
    if len(matters) > 1 and chance.random() < 0.5:
        matters[-1] = matters[0]
    objects = chance.sample(range(16, 19) if unknown else OBJECTS, len(matters))
    source, starts, target, ends = [1], [], [1], []
    for matter, thing in zip(matters, objects, strict=True):
        starts.append(len(source))
        source += [matter, ABOUT, thing]
        target += [ABOUT, thing]
        ends.append(len(target))
    key_points = tuple(FIRST_KEY_POINT + m - MATTERS[0] for m in matters)
    return EncodedPair((*source, 2), (*target, 2), "", tuple(starts), key_points, tuple(ends))


def talks(count: int, seed: int, unknown: bool = False) -> list[EncodedPair]:
    chance = random.Random(seed)
    return [talk(chance, unknown) for _ in range(count)]


def trained(
    folder: Path, pairs: Sequence[EncodedPair], texts: float, unknown: bool = False, **options: Any
) -> LeaderWriter:
    """To where nearly all plans, and so large a share of texts, are right; 400 updates at most."""
    torch.manual_seed(0)
    sizes = {"embedding": 32, "width": 32, "heads": 4, "feed_forward": 64, "key_points": 3}
    layers = {"token_layers": 1, "utterance_layers": 1, "decoder_layers": 1, "leader_layers": 1}
    limits = {"utterance_tokens": 4, "target_tokens": 6, "longest_plan": 5}
    values = {**sizes, **layers, **limits, "dropout": 0.0, **options}
    model = LeaderWriterConfig.parse(values).build(SYMBOLS.size)
    config = TrainingConfig.parse(
        {
            "epochs": 100,
            "max_steps": 400,
            "precision": "fp32",
            "sampler": {"kind": "shuffle-buffer", "examples": 64},
            "schedule": {"kind": "linear", "peak": 0.005, "warmup": 50},
            "checkpoint_every": 10_000,
        }
    )
    data = TrainingData(pairs, SYMBOLS)
    objective = LeaderWriterLossConfig().build(SYMBOLS)
    trainer = Trainer(model, objective, data, config, folder, Silent())
    fit(trainer, lambda: all(map(gt, right(model, talks(200, 3, unknown)), (0.98, texts))))
    return model


def right(model: LeaderWriter, pairs: Sequence[EncodedPair]) -> tuple[float, float]:
    """Shares of dialogues whose plan is right, and whose every sub-summary is, too."""
    found = generate_plan(model, collate(pairs, SYMBOLS), GREEDY, SYMBOLS)
    plans = texts = 0
    for pair, text in zip(pairs, found, strict=True):
        plans += text.plan.tokens == pair.key_points
        texts += tuple(t for part in text.parts for t in part.tokens) == pair.target[1:-1]
    return plans / len(pairs), texts / len(pairs)


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> LeaderWriter:
    return trained(tmp_path_factory.mktemp("learned"), talks(3200, 1), texts=0.95)


def test_a_toy_task_is_learned(learned: LeaderWriter) -> None:
    plans, texts = right(learned, talks(200, 2))
    assert plans > 0.95
    assert texts > 0.9


def test_a_writer_that_starts_from_the_embedding_says_the_same_twice(
    learned: LeaderWriter, tmp_path: Path
) -> None:
    """Section 3.4.3 of the KDD 2019 paper, on dialogues in which a key point comes twice."""
    twice = [pair for pair in talks(400, 2) if len(set(pair.key_points)) < len(pair.key_points)]
    assert right(learned, twice)[1] > 0.9
    model = trained(tmp_path, talks(3200, 1), texts=0.3, writer_start="embedding")
    plans, texts = right(model, twice)
    assert plans > 0.95
    assert texts == 0  # objects of one dialogue differ: the same text twice is always wrong


@pytest.mark.parametrize("pointer", [True, False])
def test_unseen_order_numbers_are_copied_by_pointer_models_only(
    tmp_path: Path, pointer: bool
) -> None:
    """Words that no vocabulary has; without a pointer they are the unknown token at best."""
    pairs = talks(3200, 1, unknown=True)
    if not pointer:
        pairs = [EncodedPair(known(p.source), known(p.target), "", *p.sequences[2:]) for p in pairs]
    model = trained(tmp_path, pairs, 0.95 if pointer else -1, unknown=True, pointer=pointer)
    plans, texts = right(model, talks(200, 2, unknown=True))
    assert plans > 0.95
    assert texts > 0.9 if pointer else texts == 0


def known(ids: Sequence[int]) -> tuple[int, ...]:
    """As a model without a pointer is given it."""
    return tuple(i if i < SYMBOLS.size else SYMBOLS.unk for i in ids)
