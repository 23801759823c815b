"""The other commands: models, data, evaluate, init, doctor, and a whole small training."""

import json
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from tests.command import stopped_after

from dialogist.recipe.recipe_config import Recipe, bundled_recipes, read_recipe
from dialogist.training.run_logs import plot_run


def corpus(path: Path, count: int = 24) -> Path:
    """A tiny made-up corpus in the generic form."""
    rows = []
    for i in range(count):
        turns = [["Ann", f"Shall we meet at {i}?"], ["Bo", "Yes, gladly."], ["Ann", "Fine."]]
        rows.append({"id": str(i), "turns": turns, "summary": f"Ann and Bo will meet at {i}."})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


TINY = [
    "model.d_model=16",
    "model.heads=2",
    "model.feed_forward=32",
    "model.encoder_layers=1",
    "model.decoder_layers=1",
    "tokenizer.size=400",
    "training.epochs=2",
    "training.sampler.tokens=256",
    "training.log_every=1",
    "validation.rouge_every=1",
    "validation.train_examples=4",
    "validation.decoding.max_tokens=6",
]


@pytest.fixture
def recipe(dialogist, tmp_path):
    """The recipe that `init` writes, with a corpus beside it."""
    corpus(tmp_path / "train.jsonl")
    corpus(tmp_path / "dev.jsonl", 6)
    assert dialogist("init", "recipe.yaml").returncode == 0
    return tmp_path / "recipe.yaml"


def settings(*more):
    return [argument for setting in (*TINY, *more) for argument in ("--set", setting)]


def test_init_train_use(dialogist, recipe, tmp_path, monkeypatch):
    train = ("train", recipe, "--data", tmp_path, "--output", "run", *settings())
    with monkeypatch.context() as patch:
        patch.setattr("dialogist.recipe.training_run.plot_run", plot_run)  # once it does draw
        result = dialogist(*train)
    assert result.returncode == 0, result.stderr.decode()
    assert result.stdout.decode().strip() == "run/model"
    run = tmp_path / "run"
    for name in ("config.yaml", "environment.json", "metrics.jsonl", "samples.jsonl"):
        assert (run / name).stat().st_size > 0
    for name in ("loss.png", "learning_rate.png"):
        assert (run / name).read_bytes().startswith(b"\x89PNG")
    metrics = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    epochs = [m for m in metrics if m["kind"] == "epoch"]
    assert [m["epoch"] for m in epochs] == [1, 2]
    assert {"dev_loss", "dev_rouge1", "train_rougeL"} <= set(epochs[-1])
    # the same command again: nothing left to do, the model is still there
    again = dialogist(*train)
    assert again.returncode == 0
    assert b"resumed" in again.stderr
    # other settings in the same folder are refused, and named
    other = dialogist(*train, "--set", "training.clip_norm=5")
    assert other.returncode == 1
    assert b"clip_norm" in other.stderr
    # --resume never sets the old run aside
    fresh = dialogist(*train, "--resume", "never")
    assert fresh.returncode == 0
    assert (tmp_path / "run.old-1" / "model").is_dir()
    first = (tmp_path / "run.old-1" / "model" / "model.safetensors").read_bytes()
    assert (run / "model" / "model.safetensors").read_bytes() == first
    used = dialogist("summarize", "-m", "run", "--format", "jsonl", input=b"Ann: Hello\nBo: Hi\n")
    assert used.returncode == 0
    scored = dialogist("evaluate", "run", tmp_path / "dev.jsonl", "--format", "json")
    assert scored.returncode == 0
    assert json.loads(scored.stdout)["dialogues"] == 6
    kept = (tmp_path / "run.dev.predictions.jsonl").read_text().splitlines()
    assert len(kept) == 6
    assert set(json.loads(kept[0])) >= {"id", "prediction", "references", "turns", "key"}


def test_resume_from_a_checkpoint(dialogist, recipe, tmp_path):
    train = ("train", recipe, "--data", tmp_path, *settings())
    assert dialogist(*train, "--output", "run").returncode == 0
    checkpoints = sorted((tmp_path / "run" / "checkpoints").glob("step-*"))
    assert len(checkpoints) >= 2
    result = dialogist(*train, "--resume", checkpoints[0], "--output", "again")
    assert result.returncode == 0, result.stderr.decode()
    model = Path("model") / "model.safetensors"
    assert (tmp_path / "again" / model).read_bytes() == (tmp_path / "run" / model).read_bytes()
    result = dialogist(*train, "--resume", tmp_path)
    assert result.returncode == 1
    assert b"neither a run folder nor a checkpoint" in result.stderr


def test_models(dialogist, tiny_model, tmp_path):
    home = tmp_path / "home"
    shutil.copytree(tiny_model, home / "models" / "mine")
    broken = home / "models" / "broken"
    broken.mkdir()
    (broken / "config.json").write_text("{}")
    env = {"DIALOGIST_HOME": str(home)}
    result = dialogist("models", "list", "--format", "json", env=env)
    rows = {row["name"]: row for row in json.loads(result.stdout)}
    assert rows["mine"]["kind"] == "transformer"
    assert "not a Dialogist model" in rows["broken"]["error"]
    facts = json.loads(dialogist("models", "info", "mine", "--format", "json", env=env).stdout)
    assert facts["parameters"] == rows["mine"]["parameters"] > 1000
    near = dialogist("models", "info", "min", env=env)
    assert near.returncode == 1
    assert b"did you mean 'mine'" in near.stderr


def test_newer_and_foreign_models_are_refused(dialogist, tiny_model, tmp_path):
    newer = tmp_path / "newer"
    shutil.copytree(tiny_model, newer)
    config = json.loads((newer / "config.json").read_text())
    (newer / "config.json").write_text(json.dumps({**config, "format_version": 99}))
    result = dialogist("models", "info", "newer")
    assert result.returncode == 1
    assert b"update Dialogist" in result.stderr
    config["model"]["d_model"] = 4096
    (newer / "config.json").write_text(json.dumps(config))
    result = dialogist("summarize", "-m", "newer", input=b"Ann: Hello\nBo: Hi\n")
    assert result.returncode == 1
    assert b"has shape" in result.stderr


def test_data_commands(dialogist, tmp_path):
    path = corpus(tmp_path / "all.jsonl", 40)
    with path.open("a") as file:
        file.write("{broken\n")
    check = dialogist("data", "check", path)
    assert check.returncode == 3
    assert b"all.jsonl:41" in check.stdout
    stats = dialogist("data", "stats", path, "--format", "json")
    assert stats.returncode == 3
    assert json.loads(stats.stdout)["dialogues"] == 40
    split = dialogist("data", "split", path, "-o", "parts", "--shares", "train=0.5,dev=0.5")
    assert split.returncode == 3
    counts = [
        len((tmp_path / "parts" / f"{n}.jsonl").read_text().splitlines()) for n in ("train", "dev")
    ]
    assert sum(counts) == 40
    assert dialogist("data", "split", path, "-o", "parts").returncode == 2
    assert dialogist("data", "split", path, "-o", "p", "--shares", "train").returncode == 2


def test_evaluate_baselines_by_hand(dialogist, tmp_path):
    row = {
        "id": "1",
        "turns": [["A", "the cat sat"], ["B", "on the mat"]],
        "summaries": ["a the cat sat", "nothing in common"],
    }
    (tmp_path / "d.jsonl").write_text(json.dumps(row) + "\n")
    result = dialogist("evaluate", "lead-1", "d.jsonl", "--format", "json")
    assert result.returncode == 0
    scores = json.loads(result.stdout)
    assert scores["maximum"]["rouge1"] == pytest.approx(100)
    assert scores["average"]["rouge1"] == pytest.approx(50)
    (tmp_path / "bare.jsonl").write_text(json.dumps({"turns": row["turns"]}) + "\n")
    result = dialogist("evaluate", "lead-1", "bare.jsonl")
    assert result.returncode == 1
    assert b"no dialogue there has a reference" in result.stderr


def test_doctor(dialogist):
    report = json.loads(dialogist("doctor", "--format", "json").stdout)
    assert report["packages"]["core"]["torch"].startswith("2.13")
    assert report["machine"]["threads"] == 1


@pytest.mark.parametrize("name", sorted(bundled_recipes()))
def test_recipes_build(name):
    """Every recipe parses, and its model can be built and counted."""
    recipe = read_recipe(name)
    assert recipe.name == name
    if not recipe.model.is_unread:  # else its source says what there is to build
        model = recipe.model.build(1000)
        assert sum(p.numel() for p in model.parameters()) > 100_000
    assert Recipe.parse(recipe.model_dump(), "again") == recipe


def test_report_recipes_hold_the_reports_numbers():
    """The figures that the reports print, read back from the recipes."""
    one = read_recipe("dialogsum-report-1")
    limits = one.preparation.limits
    assert (limits.source_tokens, limits.summary_tokens) == (150, 50)
    assert (one.model.d_model, one.model.heads, one.model.encoder_layers) == (128, 2, 2)
    assert one.training.sampler.model_dump() == {
        "kind": "shuffle-buffer",
        "examples": 64,
        "buffer": 10_000,
    }
    assert (one.training.optimizer.betas, one.training.optimizer.eps) == ((0.9, 0.98), 1e-9)
    assert {one.training.schedule.rate(update, 0) for update in (1, 4000)} == {2e-4}
    table = read_recipe("dialogsum-report-1-table")
    assert (table.model.d_model, table.model.heads, table.model.decoder_layers) == (256, 8, 4)
    assert table.training.sampler.model_dump()["examples"] == 32
    assert table.training.schedule.rate(4000, 0) == pytest.approx(1e-4)
    two, three = read_recipe("dialogsum-report-2"), read_recipe("dialogsum-report-3")
    assert two.model.reuse_second_norm
    assert three.model.reuse_second_norm
    assert (two.model.feed_forward, two.model.source_positions) == (128, 256)
    assert (one.training.epochs, two.training.epochs, three.training.epochs) == (30, 30, 300)
    small = read_recipe("dialogsum-small")
    parameters = sum(p.numel() for p in small.model.build(small.tokenizer.size).parameters())
    assert parameters <= 12_000_000


def test_training_survives_signals_and_kill(dialogist, recipe, tmp_path):
    """SIGTERM saves and exits 143, Ctrl-C 130; kill -9 loses nothing that counts; same bits."""
    changed = ("training.epochs=4", "training.checkpoint_every=2", "validation.samples=1")
    command = ("train", recipe, "--data", tmp_path, *settings(*changed))
    assert dialogist(*command, "-o", "plain").stdout == b"plain/model\n"
    for number, code in ((signal.SIGTERM, 143), (signal.SIGINT, 130)):
        with stopped_after(3, number):
            stopped = dialogist(*command, "-o", "cut")
        assert stopped.returncode == code
        assert b"run the same command again to go on" in stopped.stderr
    metrics = tmp_path / "cut" / "metrics.jsonl"
    before = metrics.read_text().count("\n")
    process = dialogist.start(*command, "-o", "cut", stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        if metrics.read_text().count("\n") > before + 2:
            break
        time.sleep(0.002)
    process.kill()
    _, errors = process.communicate(timeout=60)
    assert process.returncode == -9, errors.decode()
    assert dialogist(*command, "-o", "cut").returncode == 0
    for name in ("metrics.jsonl", "samples.jsonl", "model/model.safetensors"):
        assert (tmp_path / "cut" / name).read_bytes() == (tmp_path / "plain" / name).read_bytes()
