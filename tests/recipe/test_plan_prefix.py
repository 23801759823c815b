"""Recipes with a plan prefix: what they refuse, a run to its model, and what can start from it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from dialogist.config import override
from dialogist.errors import ConfigError
from dialogist.pipeline.summarizer import Summarizer
from dialogist.recipe.recipe_config import Recipe, RunPlace, read_recipe
from dialogist.recipe.training_run import train_recipe
from dialogist.recipe.training_set import encode_recipe
from dialogist.records import Dialogue, Utterance
from dialogist.tokenizers import PlanTokens

Make = Callable[..., Recipe]

PLAN = (
    "preparation.key_points=dialogsum",
    "preparation.plan=prefix",
    "preparation.limits.summary_tokens=30",
    "tokenizer.size=400",
    "model.target_positions=30",
    "training.epochs=1",
)
DENOISING = "{kind: denoising}"
LEADER = "{kind: leader-writer, embedding: 8, width: 8, heads: 2, feed_forward: 8, key_points: 20}"


def train(recipe: Recipe, run: Path, notes: Any, encoded: Path | None = None) -> Path:
    place = RunPlace(run.parent / "data", run, torch.device("cpu"), encoded)
    return train_recipe(recipe, place, notes)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        (("preparation.key_points=null",), "'plan' prefix needs 'key_points'"),
        (("objective={kind: self-critical}",), "needs objective.kind cross-entropy, not self-"),
        ((f"objective={DENOISING}",), "needs objective.kind cross-entropy, not denoising"),
        (
            ("objective={kind: leader-writer}", f"model={LEADER}"),
            "preparation.plan: prefix is not for model.kind leader-writer",
        ),
        (("preparation.limits.summary_tokens=4",), "summary_tokens of at least 5"),
        (("preparation.plan=first",), "preparation.plan"),
    ],
)
def test_what_cannot_be_is_one_line(recipe: Make, settings: tuple[str, ...], named: str) -> None:
    with pytest.raises(ConfigError) as caught:
        recipe(*PLAN, *settings)
    assert named in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_pack_with_more_labels_than_tokens(tmp_path: Path, recipe: Make) -> None:
    rules = "".join(
        f"  - {{label: l{i}, pattern: 'x{i}y', examples: ['x{i}y']}}\n" for i in range(1024)
    )
    path = tmp_path / "large.yaml"
    path.write_text(f"name: large\nlanguage: en\nversion: 1\ndefault: l0\nrules:\n{rules}")
    with pytest.raises(ConfigError, match="can have 1023 labels, not 1024"):
        recipe(*PLAN, f"preparation.key_points={path}")


def test_too_small_a_tokenizer_is_refused(
    tmp_path: Path, data: Path, recipe: Make, notes: Any
) -> None:
    with pytest.raises(ConfigError, match=r"at least 341 with preparation\.plan on"):
        train(recipe(*PLAN, "tokenizer.size=330"), tmp_path / "run", notes)


def test_a_run_and_its_model(tmp_path: Path, data: Path, recipe: Make, notes: Any) -> None:
    model = train(recipe(*PLAN), tmp_path / "run", notes)
    lines = (tmp_path / "run" / "samples.jsonl").read_text(encoding="utf-8").splitlines()
    assert lines
    assert not any("\U0010f400" <= c <= "\U0010f7ff" for line in lines for c in line)
    assert "dev_rougeL" in (tmp_path / "run" / "metrics.jsonl").read_text(encoding="utf-8")
    summarizer = Summarizer.load(str(model), "cpu")
    tokenizer, pack = summarizer.bundle.tokenizer, summarizer.bundle.preparation.pack
    assert pack is not None
    assert tokenizer.plan == PlanTokens(len(tokenizer) - 21, 20)
    talk = Dialogue((Utterance("Ann", "Shall we meet at 7?"), Utterance("Bo", "Yes, gladly.")))
    [summary] = summarizer.summarize([talk])
    assert {part.label for part in summary.key_points} <= set(pack.labels)
    assert "".join(part.text for part in summary.key_points) == summary.text


def test_encoded_data_are_the_same(tmp_path: Path, data: Path, recipe: Make, notes: Any) -> None:
    wanted = recipe(*PLAN)
    encode_recipe(wanted, data, tmp_path / "encoded", notes.note)
    train(wanted, tmp_path / "one", notes)
    train(wanted, tmp_path / "other", notes, tmp_path / "encoded")
    one, other = (
        (tmp_path / run / "model" / "model.safetensors").read_bytes() for run in ("one", "other")
    )
    assert one == other


def test_tokens_must_mean_the_same_where_a_run_starts(
    tmp_path: Path, data: Path, recipe: Make, notes: Any
) -> None:
    train(recipe(*PLAN), tmp_path / "planned", notes)
    without = recipe(*PLAN, "preparation.plan=none")
    train(without, tmp_path / "flat", notes)
    for start, settings, said in (
        ("flat", PLAN, "preparation.plan: 'none' there, 'prefix' now"),
        ("planned", (*PLAN, "preparation.plan=none"), "preparation.plan: 'prefix' there, 'none'"),
    ):
        with pytest.raises(ConfigError) as caught:
            train(recipe(*settings, f"start={tmp_path / start}"), tmp_path / "second", notes)
        assert said in str(caught.value)
        assert "\n" not in str(caught.value)
    again = recipe(*PLAN, f"start={tmp_path / 'planned'}")
    train(again, tmp_path / "third", notes)
    told = json.loads((tmp_path / "third" / "start.json").read_text())
    assert not told["new"]


def test_the_bundled_recipe_is_the_other_with_a_plan() -> None:
    planned, other = read_recipe("dialogsum-minilm-plan"), read_recipe("dialogsum-minilm")
    assert planned.preparation.plan == "prefix"
    words = {"name", "description", "card"}
    values = other.model_dump(mode="json", exclude=words)
    # How sure a model that also writes plans is, is another number.
    assert planned.model_dump(mode="json", exclude=words) == override(
        values, ["preparation.plan=prefix", "decoding.low_confidence=null"]
    )
