"""Runs of pretrained models: trained, stopped and gone on with, kept, asked and explained."""

import json
import os
import shutil
import signal
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

pytest.importorskip("transformers")

from tests.models.tiny_pretrained import save_tiny
from tests.recipe.conftest import Notes, small_recipe

from dialogist import Dialogue, Summarizer, Utterance, __version__
from dialogist.config import override
from dialogist.errors import ConfigError, ModelError
from dialogist.model_folder.bundle import load_bundle
from dialogist.recipe.recipe_config import Recipe, RunPlace
from dialogist.recipe.run_settings import PRETRAINED
from dialogist.recipe.training_run import train_recipe
from dialogist.training.checkpoints import checkpoint_folders, load_checkpoint
from dialogist.training.runtime import Interrupted
from dialogist_lab.explain.tracing import explain_dialogue

CPU = torch.device("cpu")

TALK = Dialogue(
    (Utterance("Ann", "Shall we meet at 7? Shall we?"), Utterance("Bo", "Yes, at Luigi's.")),
    id="talk",
)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    base = tmp_path_factory.mktemp("tiny")

    def folder(kind: str, **more: Any) -> Path:
        place = base / "-".join((kind, *more))
        return place if place.exists() else save_tiny(kind, place, **more)

    return folder


def recipe_for(source: Path, *settings: str, **model: Any) -> Recipe:
    limits = {"source_tokens": 64, "summary_tokens": 24}
    values = small_recipe(*settings).model_dump(mode="json") | {
        "preparation": {"speakers": "inline", "limits": limits},
        "model": {"kind": "pretrained", "source": str(source), **model},
        "tokenizer": {},
        "objective": {"label_smoothing": 0.0},
    }
    return Recipe.parse(values)


def train(recipe: Recipe, data: Path, run: Path, notes: Any = None) -> Path:
    return train_recipe(recipe, RunPlace(data, run, CPU), notes or Notes())


class StopAt(Notes):
    """A reporter that stops the run after an update."""

    def __init__(self, step: int) -> None:
        super().__init__()
        self.step = step

    def update(self, progress: Any, batches: int, loss: float) -> None:
        if progress.step == self.step:
            os.kill(os.getpid(), signal.SIGTERM)


def losses(run: Path) -> list[float]:
    lines = map(json.loads, (run / "metrics.jsonl").read_text().splitlines())
    return [line["loss"] for line in lines if line["kind"] == "train"]


@pytest.mark.parametrize("kind", ["bart", "gemma3_text"])
def test_a_stopped_run_ends_with_the_same_bits(
    kind: str, tiny: Callable[[str], Path], data: Path, tmp_path: Path
) -> None:
    """And the source is not read again: it is gone by then."""
    source = tmp_path / "source"
    shutil.copytree(tiny(kind), source)
    fast = "training.schedule={kind: constant, peak: 3e-3}"
    recipe = recipe_for(source, fast, prune=True, checkpointing=kind == "bart")
    straight = train(recipe, data, tmp_path / "straight")
    with pytest.raises(Interrupted):
        train(recipe, data, tmp_path / "stopped", StopAt(3))
    shutil.rmtree(source)
    torch.manual_seed(99)  # nothing may hang on what was drawn before
    stopped = train(recipe, data, tmp_path / "stopped")
    for name in ("model.safetensors", "config.json", "tokenizer.json"):
        assert (straight / name).read_bytes() == (stopped / name).read_bytes(), name
    found = losses(tmp_path / "straight")
    assert found == losses(tmp_path / "stopped")
    assert min(found[-3:]) < 0.8 * found[0]


def test_it_runs_from_a_folder_that_no_installer_knows(
    tiny: Callable[[str], Path],
    data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def version(name: str) -> str:
        if name in ("dialogist", "nltk"):
            raise PackageNotFoundError(name)
        return "1"

    monkeypatch.setattr("importlib.metadata.version", version)
    train(recipe_for(tiny("t5"), "training.max_steps=1"), data, tmp_path / "run")
    found = json.loads((tmp_path / "run" / "environment.json").read_text())["packages"]
    assert (found["dialogist"], found["nltk"], found["torch"]) == (__version__, None, "1")


def test_what_was_trained_is_what_is_loaded(
    tiny: Callable[[str], Path], data: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    folder = train(recipe_for(tiny("t5")), data, run)
    bundle = load_bundle(folder, CPU)
    trained = load_checkpoint(checkpoint_folders(run / "checkpoints")[-1]).tensors["weights"]
    before = load_file(run / PRETRAINED / "frozen.safetensors")
    loaded = dict(bundle.model.named_parameters())
    assert loaded.keys() == trained.keys() | before.keys()
    assert not loaded.keys() & {"network.lm_head.bias"} - before.keys()
    config: Any = bundle.model.config
    assert config.prompt.before == "summarize: "
    assert config.architecture["model_type"] == "t5"


def test_adapters_alone_are_trained_and_then_merged(
    tiny: Callable[[str], Path], data: Path, tmp_path: Path
) -> None:
    pytest.importorskip("peft")
    recipe = recipe_for(
        tiny("llama"),
        "training.schedule={kind: constant, peak: 1e-2}",
        lora={"rank": 2, "alpha": 4},
    )
    with pytest.raises(Interrupted):
        train(recipe, data, tmp_path / "run", StopAt(4))
    folder = train(recipe, data, tmp_path / "run")
    straight = train(recipe, data, tmp_path / "straight")
    assert (folder / "model.safetensors").read_bytes() == (
        straight / "model.safetensors"
    ).read_bytes()
    held = load_checkpoint(checkpoint_folders(tmp_path / "run" / "checkpoints")[-1])
    assert all("lora_" in name for name in held.tensors["weights"])
    kept, first = load_file(folder / "model.safetensors"), tmp_path / "first"
    train(recipe_for(tiny("llama"), "training.epochs=0"), data, first)
    before = load_file(first / "model" / "model.safetensors")
    assert kept.keys() == before.keys()
    changed = [name for name in kept if not torch.equal(kept[name], before[name])]
    assert changed
    assert all("_proj" in name for name in changed)
    assert losses(tmp_path / "run")[-1] < losses(tmp_path / "run")[0]


def test_a_recipe_of_no_epoch_keeps_the_model_as_it_is(
    tiny: Callable[[str], Path], data: Path, tmp_path: Path
) -> None:
    recipe = recipe_for(tiny("bart"), "training.epochs=0")
    folder = train(recipe, data / "nowhere", tmp_path / "run")  # no data are read
    own = load_file(folder / "model.safetensors")
    theirs = load_file(tiny("bart") / "model.safetensors")
    size = len(theirs["model.shared.weight"])
    half = theirs["model.shared.weight"].half()
    assert torch.equal(own["network.model.shared.weight"][:size], half)
    with pytest.raises(ConfigError, match=r"training\.epochs 0 is for a pretrained model"):
        train(small_recipe("training.epochs=0"), data, tmp_path / "other")


def test_a_start_is_the_source_instead(
    tiny: Callable[[str], Path], data: Path, tmp_path: Path
) -> None:
    """A folder of transformers; or a model folder of ours, whose architecture it goes on with."""
    recipe = recipe_for(Path("google/flan-t5-small"), f"start={tiny('t5')}", "training.epochs=0")
    folder = train(recipe, data, tmp_path / "first")
    again = recipe_for(Path("google/flan-t5-small"), f"start={folder}", "training.max_steps=1")
    notes = Notes()
    train(again, data, tmp_path / "second", notes)
    assert any("weights taken" in note for note in notes.notes)


def test_a_chat_model_is_asked_in_its_template(
    tiny: Callable[..., Path], data: Path, tmp_path: Path
) -> None:
    (tmp_path / "prompt.txt").write_text("Say it in one line.\n")
    source = tiny("qwen2", chat=True)
    recipe = recipe_for(source, "training.epochs=0", prompt_file=str(tmp_path / "prompt.txt"))
    config: Any = load_bundle(train(recipe, data, tmp_path / "run"), CPU).model.config
    assert config.prompt.before == "<|im_start|>user\nSay it in one line.\n\n"
    assert config.prompt.after == "<|im_end|>\n<|im_start|>assistant\n"
    with pytest.raises(ConfigError, match=r"prompt_file .*nothing\.txt"):
        train(recipe_for(source, prompt_file="nothing.txt"), data, tmp_path / "none")


@pytest.mark.parametrize("kind", ["pegasus", "qwen2"])
def test_it_is_asked_and_explained_like_any_other(
    kind: str, tiny: Callable[[str], Path], data: Path, tmp_path: Path
) -> None:
    recipe = recipe_for(tiny(kind), "training.epochs=0")
    summarizer = Summarizer.load(str(train(recipe, data, tmp_path / "run")), "cpu", "fp32")
    options = {"min_tokens": 4, "max_tokens": 8, "safe": False}
    [summary] = summarizer.summarize([TALK], **options)
    assert summary.text
    assert summary.sentences[0].confidence is not None
    chosen = summarizer.chosen(None, **options)
    [written] = summarizer.write(summarizer.read(TALK, chosen), chosen)
    assert written.attention is not None
    shares = written.attention.parts[0].shares  # prompt, begin and end are no utterance
    assert ((shares.sum(axis=1) > 0.01) & (shares.sum(axis=1) < 1)).all()
    told = explain_dialogue(summarizer, TALK, chosen)
    assert told.target
    assert {"cross"} <= {one.role.split()[-1] for one in told.maps}
    long = Dialogue(TALK.utterances * 40, id="long")
    [one] = summarizer.summarize([long], **options)
    assert one.coverage.windows  # longer than it reads: in windows, and all of it
    assert one.coverage.complete


def test_what_does_not_go_together_is_one_line(tmp_path: Path, data: Path) -> None:
    values = recipe_for(tmp_path).model_dump(mode="json")
    with pytest.raises(ConfigError, match=r"needs preparation\.speakers: inline"):
        Recipe.parse({**values, "preparation": {"speakers": "atomic"}})
    with pytest.raises(ModelError, match="no model folder"):
        train(recipe_for(tmp_path), data, tmp_path / "run")


def test_more_than_its_positions_is_refused_at_the_start(
    tiny: Callable[[str], Path], data: Path, tmp_path: Path
) -> None:
    """256 positions, of which <s> and </s> take as many as the symbols that are not fed."""
    long = "preparation.limits={source_tokens: %d, summary_tokens: 24}"
    values = recipe_for(tiny("bart")).model_dump(mode="json")
    with pytest.raises(ConfigError, match="source_tokens must be at most 256: so much this model"):
        train(Recipe.parse(override(values, [long % 257])), data, tmp_path / "one")
    train(Recipe.parse(override(values, [long % 256, "training.epochs=0"])), data, tmp_path / "two")
    wide = Recipe.parse(override(values, ["decoding.max_tokens=256"]))
    with pytest.raises(ConfigError, match=r"decoding\.max_tokens \+ 1 must be at most 256"):
        train(wide, data, tmp_path / "three")


def test_too_little_memory_to_train_is_told_at_the_start(
    tiny: Callable[[str], Path], data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dialogist.recipe.run_settings.free_memory", lambda: 300_000)
    with pytest.raises(ModelError, match=r"training takes about 0\.0 GB more memory"):
        train(recipe_for(tiny("bart")), data, tmp_path / "one")
    train(recipe_for(tiny("bart"), "training.epochs=0"), data, tmp_path / "two")
