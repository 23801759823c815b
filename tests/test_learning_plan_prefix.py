"""Flat models learn to plan first in seconds, through the real trainer and search.

The toy customer service of `tests.test_learning_plans`, each target behind its plan: whatever
network writes it, the plan is right, and so is what is said about each of its key points.
"""

from collections.abc import Sequence
from dataclasses import replace
from operator import gt
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.learning import Silent, fit
from tests.test_learning_plans import MATTERS, talks
from tests.test_learning_plans import SYMBOLS as WITHOUT

from dialogist.data.collate import EncodedPair, collate
from dialogist.decoding import DecodingOptions
from dialogist.models import SequenceModel
from dialogist.models.transformer import TransformerConfig
from dialogist.objectives.cross_entropy import CrossEntropy
from dialogist.pipeline.drafts import write_drafts
from dialogist.tensors import FIRST_KEY_POINT
from dialogist.tokenizers import PlanTokens
from dialogist.training.base import TrainingConfig, TrainingData
from dialogist.training.trainer import Trainer
from dialogist_lab.papers.hierarchical import HierarchicalConfig
from dialogist_lab.papers.recurrent import RecurrentConfig

PLAN = PlanTokens(border=WITHOUT.size, count=len(MATTERS))
SYMBOLS = replace(WITHOUT, size=WITHOUT.size + 1 + len(MATTERS), plan=PLAN)
LONGEST = 2 + 4 * 3  # of three key points
GREEDY = DecodingOptions(strategy="greedy", max_tokens=LONGEST, no_repeat_ngram=3)

_TRANSFORMER = {"d_model": 32, "heads": 4, "feed_forward": 64, "encoder_layers": 1}
_TRANSFORMER |= {"decoder_layers": 1, "source_positions": 12, "target_positions": LONGEST + 3}
_HIERARCHICAL = {"embedding": 32, "width": 32, "heads": 4, "feed_forward": 64, "token_layers": 1}
_HIERARCHICAL |= {"utterance_layers": 1, "decoder_layers": 1, "target_tokens": LONGEST + 3}
FORMS: dict[str, Any] = {
    "transformer": TransformerConfig.parse(
        {**_TRANSFORMER, "norm": "pre", "dropout": 0.0, "attention_output_dropout": 0.0}
    ),
    "recurrent": RecurrentConfig.parse({"embedding": 32, "hidden": 48, "dropout": 0.0}),
    "hierarchical": HierarchicalConfig.parse(
        {**_HIERARCHICAL, "utterance_tokens": 4, "dropout": 0.0}
    ),
}


def prefixed(pair: EncodedPair) -> EncodedPair:
    """The same dialogue with a target that begins with its plan."""
    labels = [index - FIRST_KEY_POINT for index in pair.key_points]
    starts = (1, *pair.ends)
    parts = [pair.target[a:b] for a, b in zip(starts, pair.ends, strict=False)]
    return EncodedPair(pair.source, (1, *PLAN.written(labels, parts), 2), pair.id, pair.starts)


def unseen(seed: int) -> list[EncodedPair]:
    """Without equal neighbours among the key points: the rules would have it that they differ."""
    return [
        pair
        for pair in talks(300, seed)
        if all(a != b for a, b in zip(pair.key_points, pair.key_points[1:], strict=False))
    ]


def trained(folder: Path, form: str, steps: int) -> SequenceModel:
    torch.manual_seed(0)
    model: SequenceModel = FORMS[form].build(SYMBOLS.size)
    config = TrainingConfig.parse(
        {
            "epochs": 100,
            "max_steps": steps,
            "precision": "fp32",
            "sampler": {"kind": "shuffle-buffer", "examples": 64},
            "schedule": {"kind": "linear", "peak": 0.005, "warmup": 50},
            "checkpoint_every": 10_000,
        }
    )
    data = TrainingData([prefixed(pair) for pair in talks(3200, 1)], SYMBOLS)
    trainer = Trainer(model, CrossEntropy(), data, config, folder, Silent())
    fit(trainer, lambda: all(map(gt, right(model, unseen(3), GREEDY), (0.98, 0.95))))
    return model


def right(
    model: SequenceModel, pairs: Sequence[EncodedPair], options: DecodingOptions
) -> tuple[float, float]:
    """Shares of dialogues whose plan is right, and whose every sub-summary is, too."""
    found = write_drafts(model, collate(list(map(prefixed, pairs)), SYMBOLS), options, SYMBOLS)
    plans = texts = 0
    for pair, (draft, *_) in zip(pairs, found, strict=True):
        assert draft.whole is not None
        plans += draft.labels == tuple(index - FIRST_KEY_POINT for index in pair.key_points)
        texts += (1, *draft.whole.tokens, 2) == prefixed(pair).target
    return plans / len(pairs), texts / len(pairs)


@pytest.mark.parametrize(
    "form", [f if f == "transformer" else pytest.param(f, marks=pytest.mark.slow) for f in FORMS]
)
def test_a_toy_task_is_learned(form: str, tmp_path: Path) -> None:
    model = trained(tmp_path, form, steps=400)
    for options in (GREEDY, GREEDY.model_copy(update={"strategy": "beam"})):
        plans, texts = right(model, unseen(2), options)
        assert plans > 0.95
        assert texts > 0.9
