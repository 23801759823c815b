"""Pretraining by a recipe: windows, noise, going on, shards, weights of data sets, and from it."""

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from dialogist.data.shards import ShardedPairs, read_manifest
from dialogist.errors import ConfigError, DataError, UsageError
from dialogist.recipe.recipe_config import Recipe, RunPlace, read_recipe
from dialogist.recipe.training_run import train_recipe
from dialogist.recipe.training_set import encode_recipe, training_set
from dialogist.training.runtime import Interrupted
from dialogist_lab.pretraining import NOISE_MASK, noise_examples

SAME = ("metrics.jsonl", "config.yaml", "model/model.safetensors")
DENOISING = (
    "objective={kind: denoising, noise: {writes: all}}",
    "preparation.limits={source_tokens: 24, summary_tokens: 24}",
    "model.target_positions=24",
    "training.select_by=dev_loss",
    "training.moving_average=0.9",
)

Make = Callable[..., Recipe]


def place(data: Path, run: str, encoded: Path | None = None) -> RunPlace:
    (data.parent / run).mkdir(exist_ok=True)
    return RunPlace(data, data.parent / run, torch.device("cpu"), encoded)


def assert_same(one: Path, other: Path) -> None:
    for name in SAME:
        assert (one / name).read_bytes() == (other / name).read_bytes(), name


def stop_at(step: int) -> Callable[..., None]:
    def update(progress: Any, batches: int, loss: float) -> None:
        if progress.step == step:
            os.kill(os.getpid(), signal.SIGTERM)

    return update


def test_windows_hold_all_that_is_said(data, recipe, notes):
    """Dialogues with summaries and without, each token once, none of the summaries'."""
    found = training_set(recipe(*DENOISING), place(data, "run"), notes.note)
    assert all(pair.target == () for pair in found.data.pairs)
    told = next(note for note in notes.notes if note.startswith("train: "))
    assert "23 dialogues as" in told  # 15 of one.jsonl without the excluded row, 8 of two.jsonl
    text = found.tokenizer.decode([t for pair in found.data.pairs for t in pair.source])
    for n in (10, 15, 20, 27):
        assert text.count(f" at {n}?") == 1 + n % 4
    assert "variant" not in text
    assert max(len(pair.source) for pair in found.data.pairs) <= 24


def test_the_same_from_shards_and_after_a_stop(tmp_path, data, recipe, notes, monkeypatch):
    wanted = recipe(*DENOISING)
    train_recipe(wanted, place(data, "memory"), notes)
    encode_recipe(wanted, data, tmp_path / "encoded", notes.note, shard_tokens=100)
    monkeypatch.setattr(notes, "update", stop_at(5), raising=False)
    with pytest.raises(Interrupted):
        train_recipe(wanted, place(data, "cut", tmp_path / "encoded"), notes)
    monkeypatch.undo()
    train_recipe(wanted, place(data, "cut", tmp_path / "encoded"), notes)
    assert any("resumed at update 5 " in note for note in notes.notes)
    assert_same(tmp_path / "cut", tmp_path / "memory")
    lines = (tmp_path / "cut" / "metrics.jsonl").read_text().splitlines()
    epochs = [json.loads(line) for line in lines if '"epoch"' in line and '"kind": "epoch"' in line]
    assert all("dev_loss" in one and "dev_rougeL" not in one for one in epochs)


def test_encoding_goes_on_and_knows_whose_pairs_are_whose(tmp_path, data, recipe, notes):
    wanted = recipe(*DENOISING)
    encode_recipe(wanted, data, tmp_path / "whole", notes.note, shard_tokens=100)
    manifest = read_manifest(tmp_path / "whole")
    found = training_set(wanted, place(data, "run"), notes.note)
    assert list(ShardedPairs(tmp_path / "whole")) == list(found.data.pairs)
    counts = manifest.pairs_by_set(2)
    assert sum(counts) == len(found.data.pairs)
    of_two = [pair for pair in found.data.pairs if pair.id.split("#")[0] in TWO]
    assert counts[1] == len(of_two)
    summaries = recipe("data.train=" + json.dumps(wanted.model_dump()["data"]["train"]))
    with pytest.raises(DataError, match=r"windows: True there, False now|preparation"):
        training_set(summaries, place(data, "other", tmp_path / "whole"), notes.note)


TWO = {f"d{n}" for n in range(20, 28)}


def test_data_sets_by_weight(tmp_path, data, recipe, notes):
    """In memory and from shards, which need not be encoded again for another weight."""
    plain = recipe()
    encode_recipe(plain, data, tmp_path / "encoded", notes.note, shard_tokens=100)
    sets = plain.model_dump()["data"]["train"]
    weighed = recipe(
        "data.train=" + json.dumps([{**sets[0], "weight": 0.5}, sets[1] | {"weight": 3}])
    )
    memory = training_set(weighed, place(data, "a"), notes.note).data
    shards = training_set(weighed, place(data, "b", tmp_path / "encoded"), notes.note).data
    for epoch in (0, 1):
        pairs = memory.of_epoch(epoch).pairs
        assert list(pairs) == list(shards.of_epoch(epoch).pairs)
        assert sum(pair.id in TWO for pair in pairs) == 3 * 4  # 8 dialogues, 4 with a summary
        assert sum(pair.id not in TWO for pair in pairs) == 10  # 19 pairs, half of them
    one, other = (sorted(p.id for p in memory.of_epoch(e).pairs) for e in (0, 1))
    assert one != other
    assert (
        memory.fingerprint() == training_set(plain, place(data, "c"), notes.note).data.fingerprint()
    )
    train_recipe(weighed, place(data, "run"), notes)


def test_a_data_set_apart(tmp_path, data, recipe, notes):
    """In memory and from shards, which hold its summaries as they are; and it trains."""
    plain = recipe()
    encode_recipe(plain, data, tmp_path / "encoded", notes.note, shard_tokens=100)
    sets = plain.model_dump()["data"]["train"]
    apart = recipe("data.train=" + json.dumps([sets[0], sets[1] | {"apart": True}]))
    memory = training_set(apart, place(data, "a"), notes.note)
    shards = training_set(apart, place(data, "b", tmp_path / "encoded"), notes.note)
    begin, end = memory.tokenizer.bos_id, memory.tokenizer.eos_id
    pairs = memory.data.of_epoch(0).pairs
    assert list(pairs) == list(shards.data.of_epoch(0).pairs)
    begun = {pair.id in TWO: {pair.target[0]} for pair in pairs}
    assert begun == {False: {begin}, True: {end}}
    assert all(pair.target[-1] == end for pair in pairs)
    train_recipe(apart, place(data, "run"), notes)


def test_fine_tuning_starts_from_it(tmp_path, data, recipe, notes):
    train_recipe(recipe(*DENOISING), place(data, "pretrained"), notes)
    start = json.dumps(str(tmp_path / "pretrained"))
    tuned = recipe(f"start={start}", "model.target_positions=24")
    train_recipe(tuned, place(data, "tuned"), notes)
    about = json.loads((tmp_path / "tuned" / "start.json").read_text())
    assert (about["new"], about["left"]) == ([], [])
    one, other = (
        tmp_path / name / "tokenizer" / "tokenizer.json" for name in ("pretrained", "tuned")
    )
    assert one.read_bytes() == other.read_bytes()


def test_examples_of_each_kind(data, recipe, notes):
    found = noise_examples(recipe(*DENOISING), data, None, 2, notes.note)
    assert [one.kind for one in found][:4] == ["infilling", "infilling", "utterances", "utterances"]
    infilled = found[0]
    assert NOISE_MASK in " ".join(infilled.reads)
    assert NOISE_MASK not in infilled.writes
    assert infilled.writes.startswith("[")
    with pytest.raises(UsageError, match="not denoising"):
        noise_examples(recipe(), data, None, 1, notes.note)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        (("tokenizer={kind: word, size: 400}",), "subwords"),
        (("preparation.speakers=inline",), "objective.noise.speakers"),
        (("preparation.limits.summary_tokens=12",), "or set it to lost"),
    ],
)
def test_refusals(recipe, settings, named):
    with pytest.raises(ConfigError, match=named) as caught:
        recipe(*DENOISING, *settings)
    assert "\n" not in str(caught.value)


def test_the_bundled_recipe_builds():
    wanted = read_recipe("pretrain-dialogue")
    assert wanted.objective.kind == "denoising"
    assert wanted.model.build(500) is not None
    allowed = {"sgd", "taskmaster", "camrest", "primock57", "woz", "topical_chat", "dailydialog"}
    allowed |= {"dialogsum", "mts_dialog", "aci_bench", "qmsum"}  # licences that let a model ship
    names = {
        Path(one.path).stem.split(".")[0] for one in wanted.data.train if "pretrain/" in one.path
    }
    names |= {
        Path(one.path).parent.name for one in wanted.data.train if "pretrain/" not in one.path
    }
    assert names == allowed
