"""Word vectors in a run: matched once, told, kept; frozen or learned; bad files are one line."""

import gzip
import json
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from dialogist.errors import CheckpointError, ConfigError, DataError
from dialogist.models.transformer import TransformerConfig
from dialogist.recipe.recipe_config import Recipe, RunPlace
from dialogist.recipe.start import settle_vectors, token_tables, use_vectors
from dialogist.recipe.training_run import train_recipe
from dialogist.tokenizers import read_tokenizer
from dialogist.tokenizers.word_vectors import words_of_entries
from dialogist.training import master_weights
from dialogist.training.checkpoints import checkpoint_folders, load_checkpoint
from dialogist.training.runtime import Interrupted
from dialogist_lab.papers.hierarchical import HierarchicalConfig
from dialogist_lab.papers.leader_writer import LeaderWriterConfig
from dialogist_lab.papers.recurrent import RecurrentConfig

WORDS = ("meet", "gladly", "yes", "shall", "at", "we", "unheard-of")
WIDTH = 16
VECTORS = (
    "preparation.profile=dialogsum-keras",
    "tokenizer={kind: word, size: null}",
    "vectors.path=some.txt",
)
SEPARATE = ("model.share_embeddings=false", "model.tie_output=false")

Make = Callable[..., Recipe]


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(master_weights, "has_bf16", lambda device: True)


def write_vectors(path: Path, width: int = WIDTH, words: tuple[str, ...] = WORDS) -> dict[str, Any]:
    """A file of vectors, and what each word has there."""
    drawn = np.random.default_rng(5).normal(0, 0.4, (len(words), width)).astype(np.float32)
    lines = (
        f"{w} {' '.join(map(repr, map(float, v)))}\n" for w, v in zip(words, drawn, strict=True)
    )
    path.write_text("".join(lines))
    return dict(zip(words, torch.from_numpy(drawn), strict=True))


@pytest.fixture
def known(data: Path) -> dict[str, Any]:
    return write_vectors(data / "some.txt")


def train(recipe: Recipe, run: Path, notes: Any) -> Path:
    return train_recipe(recipe, RunPlace(run.parent / "data", run, torch.device("cpu")), notes)


def refusal(recipe: Recipe, run: Path, notes: Any, kind: type[Exception] = DataError) -> str:
    with pytest.raises(kind) as caught:
        train(recipe, run, notes)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def ids_of(run: Path, known: dict[str, Any]) -> dict[int, Tensor]:
    """The rows of the vocabulary that have a vector."""
    words = words_of_entries(read_tokenizer(run / "tokenizer"))
    return {i: known[word] for i, word in enumerate(words) if word in known}


def weights(run: Path, number: int = -1) -> dict[str, Tensor]:
    folder = checkpoint_folders(run / "checkpoints")[number]
    return dict(load_checkpoint(folder).tensors["weights"])


def stop_at(step: int) -> Callable[..., None]:
    def update(progress: Any, batches: int, loss: float) -> None:
        if progress.step == step:
            os.kill(os.getpid(), signal.SIGTERM)

    return update


# --- what a run makes of them ---


@pytest.mark.parametrize("number_format", ["fp32", "bf16"])
@pytest.mark.parametrize("tables", ["shared", "separate"])
def test_frozen_vectors_are_those_of_the_file_to_the_end(
    tmp_path: Path, recipe: Make, notes: Any, known: Any, tables: str, number_format: str
) -> None:
    decay = "training.optimizer={weight_decay: 0.1}"
    options = ("vectors.frozen=true", f"training.precision={number_format}", decay)
    separate = SEPARATE if tables == "separate" else ()
    run = tmp_path / "run"
    train(recipe(*VECTORS, *options, "training.accumulate=2", *separate), run, notes)
    rows, end = ids_of(run, known), weights(run)
    assert len(rows) == len(WORDS) - 1
    names = {"shared": ["source"], "separate": ["source", "target"]}[tables]
    for name in (f"{side}_embedding.weight" for side in names):
        for i, vector in rows.items():
            assert torch.equal(end[name][i], vector)
    kept = load_file(run / "vectors" / "vectors.safetensors")
    others = ~kept["found"]  # learned: decay alone moves the rows of tokens that never occur
    assert (end["source_embedding.weight"] != kept["vectors"]).any(dim=1)[others].all()


def test_learned_vectors_start_from_the_file(
    tmp_path: Path, recipe: Make, notes: Any, known: Any
) -> None:
    slow = "training.schedule={kind: constant, peak: 1e-3}"
    train(recipe(*VECTORS, slow, "training.max_steps=1"), tmp_path / "run", notes)
    rows, end = ids_of(tmp_path / "run", known), weights(tmp_path / "run")
    moved = torch.stack([end["source_embedding.weight"][i] - rows[i] for i in rows]).abs()
    assert 0 < moved.max() < 2e-3  # one step of Adam


def test_coverage_is_told_and_kept(tmp_path: Path, recipe: Make, notes: Any, known: Any) -> None:
    train(recipe(*VECTORS, "training.max_steps=1"), tmp_path / "run", notes)
    said = [note for note in notes.notes if note.startswith("vectors: ")]
    size = len(read_tokenizer(tmp_path / "run" / "tokenizer"))
    assert "7 rows of width 16; 6 of " in said[0]
    assert said[1] == f"vectors: 6 of {size} rows of source_embedding start from it"
    about = json.loads((tmp_path / "run" / "vectors" / "coverage.json").read_text())
    assert (about["exact"], about["rows"], about["factor"]) == (6, 7, 1.0)
    assert 0 < about["coverage"] < 1
    kept = load_file(tmp_path / "run" / "vectors" / "vectors.safetensors")
    assert kept["vectors"].shape == (size, WIDTH)
    assert set(kept["found"].nonzero()[:, 0].tolist()) == set(ids_of(tmp_path / "run", known))


def test_rescaled_they_have_the_deviation_of_the_models_own(
    tmp_path: Path, recipe: Make, notes: Any, known: Any
) -> None:
    """sqrt(1 / 16) for this model; directions stay."""
    options = ("vectors.rescale=true", "vectors.frozen=true", "training.max_steps=1")
    train(recipe(*VECTORS, *options), tmp_path / "run", notes)
    rows, end = ids_of(tmp_path / "run", known), weights(tmp_path / "run")
    found = torch.stack([end["source_embedding.weight"][i] for i in rows])
    asked = torch.stack(list(rows.values()))
    assert float(found.std()) == pytest.approx(0.25, rel=0.1)
    factor = json.loads((tmp_path / "run" / "vectors" / "coverage.json").read_text())["factor"]
    torch.testing.assert_close(found, asked * factor)
    assert f"keep it (x {factor:.3g})" in "".join(notes.notes)


# --- going on ---


@pytest.mark.parametrize("frozen", ["true", "false"])
def test_a_run_goes_on_to_the_same_bits_without_the_file(
    tmp_path: Path, recipe: Make, notes: Any, known: Any, monkeypatch: Any, frozen: str
) -> None:
    chosen = recipe(*VECTORS, f"vectors.frozen={frozen}", "training.accumulate=2")
    straight, cut = tmp_path / "straight", tmp_path / "cut"
    train(chosen, straight, notes)
    monkeypatch.setattr(notes, "update", stop_at(3), raising=False)
    with pytest.raises(Interrupted):
        train(chosen, cut, notes)
    monkeypatch.setattr(notes, "update", lambda *a: None, raising=False)
    (tmp_path / "data" / "some.txt").unlink()
    notes.notes.clear()
    train(chosen, cut, notes)
    assert any("resumed at update 3 " in note for note in notes.notes)
    assert not any("vectors" in note for note in notes.notes)
    for name in ("metrics.jsonl", "samples.jsonl", "model/model.safetensors"):
        assert (cut / name).read_bytes() == (straight / name).read_bytes(), name
    one, other = (checkpoint_folders(run / "checkpoints")[-1] for run in (cut, straight))
    for name in ("weights.safetensors", "optimizer.safetensors"):
        assert (one / name).read_bytes() == (other / name).read_bytes(), name


def test_vectors_that_are_gone_or_damaged_are_not_made_up(
    tmp_path: Path, recipe: Make, notes: Any, known: Any
) -> None:
    run = tmp_path / "run"
    train(recipe(*VECTORS), run, notes)
    path = run / "vectors" / "vectors.safetensors"
    content = path.read_bytes()
    path.write_bytes(content[:-1] + b"\xff")
    said = refusal(recipe(*VECTORS), run, notes, CheckpointError)
    assert "vectors: is damaged: its checksum differs" in said
    shutil.rmtree(run / "vectors")
    said = refusal(recipe(*VECTORS), run, notes, CheckpointError)
    assert "vectors: is missing, and the run has begun with it" in said


def test_before_the_first_checkpoint_other_vectors_can_be_chosen(
    tmp_path: Path, recipe: Make, notes: Any, known: Any
) -> None:
    run = tmp_path / "run"
    train(recipe(*VECTORS, "training.max_steps=1"), tmp_path / "other", notes)
    run.mkdir()
    for name in ("tokenizer", "vectors"):  # as a run leaves it that failed before it could save
        shutil.copytree(tmp_path / "other" / name, run / name)
    shutil.copy(tmp_path / "other" / "config.yaml", run / "config.yaml")
    more = write_vectors(tmp_path / "data" / "more.txt", words=("meet", "yes"))
    chosen = recipe(*VECTORS, "vectors.path=more.txt", "vectors.frozen=true")
    train(chosen, run, notes)
    rows = ids_of(run, more)
    assert len(rows) == 2
    end = weights(run)["source_embedding.weight"]
    assert all(torch.equal(end[i], vector) for i, vector in rows.items())


# --- every kind of model ---

MODELS = {
    "transformer": TransformerConfig(d_model=WIDTH, heads=2, feed_forward=8),
    "separate": TransformerConfig(
        d_model=WIDTH, heads=2, feed_forward=8, share_embeddings=False, tie_output=False
    ),
    "recurrent": RecurrentConfig(embedding=WIDTH, hidden=8),
    "hierarchical": HierarchicalConfig(embedding=WIDTH, width=8, heads=2, feed_forward=8),
    "leader-writer": LeaderWriterConfig(
        embedding=WIDTH, width=8, heads=2, feed_forward=8, key_points=5
    ),
}


@pytest.mark.parametrize("kind", MODELS)
def test_each_kind_of_model_takes_them(
    tmp_path: Path, recipe: Make, notes: Any, known: Any, kind: str
) -> None:
    train(recipe(*VECTORS, "vectors=null", "training.max_steps=1"), tmp_path / "made", notes)
    tokenizer = read_tokenizer(tmp_path / "made" / "tokenizer")
    place = RunPlace(tmp_path / "data", tmp_path, torch.device("cpu"))
    model = MODELS[kind].build(len(tokenizer))
    own = {name: table.weight.clone() for name, table in token_tables(model).items()}
    settle_vectors(recipe(*VECTORS), place, tokenizer, model, notes.note)
    use_vectors(recipe(*VECTORS).vectors, tmp_path, model)
    assert len(own) == (2 if kind == "separate" else 1)
    rows = ids_of(tmp_path / "made", known)
    for name, table in token_tables(model).items():
        assert table.num_embeddings == len(tokenizer)
        assert all(torch.equal(table.weight[i], vector) for i, vector in rows.items())
        assert not torch.equal(table.weight, own[name])


# --- bad input ---


def test_a_file_that_is_not_there(tmp_path: Path, recipe: Make, notes: Any, data: Path) -> None:
    said = refusal(recipe(*VECTORS), tmp_path / "run", notes)
    assert said.endswith("some.txt: no such file of word vectors")
    assert not (tmp_path / "run" / "vectors").exists()
    known = write_vectors(data / "some.txt")  # the same command, once it is there
    train(recipe(*VECTORS), tmp_path / "run", notes)
    assert ids_of(tmp_path / "run", known)


def test_another_width(tmp_path: Path, recipe: Make, notes: Any, data: Path) -> None:
    write_vectors(data / "some.txt", width=12)
    said = refusal(recipe(*VECTORS), tmp_path / "run", notes)
    assert "vectors for tables of width 16: " in said
    assert said.endswith("some.txt: has vectors of width 12, not 16")


def test_a_damaged_file(tmp_path: Path, recipe: Make, notes: Any, data: Path) -> None:
    write_vectors(data / "some.txt")
    whole = gzip.compress((data / "some.txt").read_bytes())
    (data / "some.txt").write_bytes(whole[: len(whole) // 2])
    said = refusal(recipe(*VECTORS), tmp_path / "run", notes)
    assert "some.txt: cannot be read beyond" in said


def test_no_word_of_ours(tmp_path: Path, recipe: Make, notes: Any, data: Path) -> None:
    write_vectors(data / "some.txt", words=("xylophon", "quartett"))
    said = refusal(recipe(*VECTORS), tmp_path / "run", notes)
    assert said.endswith("some.txt: has no word of the vocabulary")


@pytest.mark.parametrize(
    ("setting", "named"),
    [
        ("vectors={path: a, froze: true}", "did you mean 'frozen'?"),
        ("vectors={frozen: true}", "key 'vectors.path' is missing"),
        ("vectors={path: ''}", "key 'vectors.path'"),
        ("start=runs/other", "leave 'vectors' out (vectors: null)"),
    ],
)
def test_settings_that_are_wrong(recipe: Make, setting: str, named: str) -> None:
    with pytest.raises(ConfigError) as caught:
        recipe(*VECTORS, setting)
    assert named in str(caught.value)
    assert "\n" not in str(caught.value)
