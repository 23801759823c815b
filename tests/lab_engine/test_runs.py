"""Recipes, runs, and what a person gets of them: the commands and the writer."""

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock, patch

import pytest
import torch
from tests.command import CommandLine
from tests.lab_engine.samples import invoke, train_quietly

from dialogist.errors import CheckpointError, ConfigError, DataError, ModelError
from dialogist.formats import read_dialogues
from dialogist.records import Dialogue, SummaryOptions
from dialogist_lab import data_commands, train_command
from dialogist_lab.data.preparation import Preparation
from dialogist_lab.models.transformer import Transformer
from dialogist_lab.recipe import read_recipe
from dialogist_lab.train_run import ProgressLines, TrainedModel, open_run, train_recipe

WriteRecipe = Callable[..., Path]


def call(command: Any, *arguments: object) -> str:
    """The output of a command that must not fail."""
    outcome = invoke(command, *arguments)
    assert outcome.exit_code == 0, outcome.exception
    return outcome.stdout


def run(recipe: Path, data: Path, folder: Path, *settings: str, resume: bool = False) -> None:
    train_quietly(read_recipe(str(recipe), settings), data, folder, resume)


@pytest.mark.parametrize(
    ("setting", "problem"),
    [
        ("training.epoch=3", "unknown key 'training.epoch'; did you mean 'epochs'"),
        ("training.epochs=0", "training.epochs"),
        ("model.kind=transfomer", "unknown kind 'transfomer'; did you mean 'transformer'"),
        ("model.source_positions=20", "source_tokens must be at most model.source_positions"),
        ("decoding.max_tokens=24", "must be at most model.target_positions"),
        ("preparation.unknown=copied", "needs a model with a pointer"),
        ("training.select_by=dev_bleu", "select_by must be one of dev_loss"),
        ("epochs", "write it as key.key=value"),
    ],
)
def test_recipes_that_make_no_sense_say_why(
    write_recipe: WriteRecipe, setting: str, problem: str
) -> None:
    with pytest.raises(ConfigError) as error:
        read_recipe(str(write_recipe()), [setting])
    assert problem in str(error.value)


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        (("train", "kdd-seq2seq", "--device", "tpu"), "--device tpu: cpu, or cuda"),
        (("train", "kdd-seq2seq", "--output", __file__), "is a file"),
        (("finetune", "a.csv", "-o", "b", "--learning-rate", "-1"), "'--learning-rate'"),
        (("evaluate", "nosuch.jsonl", "a.jsonl"), "system 'nosuch.jsonl': no such file or folder"),
        (("evaluate", "lead3", "a.jsonl"), "; did you mean 'lead-3'?"),
    ],
)
def test_flags_that_make_no_sense_say_why(
    dialogist: CommandLine, command: tuple[str, ...], problem: str
) -> None:
    called = dialogist(*command)
    assert (called.returncode, problem in called.err) == (2, True), called.err


def test_from_a_recipe_to_summaries(
    write_recipe: WriteRecipe, data_folder: Path, tmp_path: Path
) -> None:
    """A network of 20,000 weights learns four dialogues by heart."""
    recipe, folder = write_recipe(), tmp_path / "run"
    settings = ("--set", "training.epochs=25", "--threads", "1", "--quiet")
    said = call(train_command.train, recipe, "--data", data_folder, "--output", folder, *settings)
    assert said.strip() == str(folder)
    names = {"config.yaml", "tokenizer.json", "model.safetensors", "log.jsonl"}
    assert names <= {path.name for path in folder.iterdir()}
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    last = [line for line in lines if line["kind"] == "epoch"][-1]
    assert last["dev_rougeL"] > 90
    assert last["dev_loss"] < 0.5
    sample = [line for line in lines if line["kind"] == "sample"][-1]
    assert set(sample) == {"kind", "epoch", "id", "prediction", "references"}
    writer = open_run(str(folder))
    assert (writer.name, writer.licence) == ("model:tiny", "")
    dialogues = list(read_dialogues(data_folder / "dev.jsonl"))
    drafts = writer.write(dialogues[0], None, SummaryOptions()).drafts
    assert [draft.text for draft in drafts] == ["Ann and Bo meet at noon"]
    assert writer.write(Dialogue(()), None, SummaryOptions()).drafts == ()
    with (
        patch.object(Preparation, "restore", return_value=""),
        pytest.raises(DataError, match="wrote an empty text"),
    ):
        writer.write(dialogues[0], None, SummaryOptions())
    trained = TrainedModel.load(folder)
    assert isinstance(trained.model, Transformer)
    together = [w.text for w in trained.write(dialogues)]
    assert together == [trained.write([dialogue])[0].text for dialogue in dialogues]


def test_a_run_goes_on_when_asked_and_only_with_its_settings(
    write_recipe: WriteRecipe, data_folder: Path, tmp_path: Path
) -> None:
    recipe, short, long = write_recipe(), tmp_path / "short", tmp_path / "long"
    run(recipe, data_folder, short)
    with pytest.raises(CheckpointError, match="--resume goes on"):
        run(recipe, data_folder, short)
    with pytest.raises(CheckpointError, match=r"other settings \(training\.seed: 3 there, 4 now"):
        run(recipe, data_folder, short, "training.seed=4", resume=True)
    run(recipe, data_folder, short, "training.epochs=4", resume=True)
    run(recipe, data_folder, long, "training.epochs=4")
    for name in ("model.safetensors", "config.yaml"):
        assert (short / name).read_bytes() == (long / name).read_bytes(), name


def test_a_second_stage_begins_with_the_weights_of_the_first(
    write_recipe: WriteRecipe, data_folder: Path, tmp_path: Path
) -> None:
    run(write_recipe(), data_folder, tmp_path / "first")
    recipe = write_recipe(continues="tiny")
    with pytest.raises(ConfigError, match="goes on from a trained tiny"):
        run(recipe, data_folder, tmp_path / "none")
    still = f"start={tmp_path / 'first'}", "training.schedule.peak=1e-12"
    run(recipe, data_folder, tmp_path / "second", *still)
    first, second = (TrainedModel.load(tmp_path / name).model for name in ("first", "second"))
    for a, b in zip(first.parameters(), second.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-6)
    small = "model.d_model=8", "model.heads=1"
    with pytest.raises(ModelError, match="another shape"):
        run(recipe, data_folder, tmp_path / "other", still[0], *small)


def test_word_vectors_fill_the_tables(
    write_recipe: WriteRecipe, data_folder: Path, tmp_path: Path
) -> None:
    numbers = " ".join(str(i / 10) for i in range(16))
    (data_folder / "vectors.txt").write_text(f"2 16\nmeet {numbers}\nstrange {numbers}\n")
    recipe = write_recipe(vectors={"path": "vectors.txt"})
    settings = ("training.schedule.peak=1e-12", "training.epochs=1")
    run(recipe, data_folder, tmp_path / "run", *settings)
    trained = TrainedModel.load(tmp_path / "run")
    table = dict(trained.model.named_parameters())["source.table.weight"]
    row = table[trained.tokenizer.encode("meet")[0]]
    cosine = torch.cosine_similarity(row.detach(), torch.arange(16.0), dim=0)
    assert cosine == pytest.approx(1, abs=1e-4)
    (data_folder / "vectors.txt").write_text("meet 1 2 3\n")
    with pytest.raises(DataError, match="has no word of the vocabulary with 16 numbers"):
        run(recipe, data_folder, tmp_path / "again", *settings)


def test_a_run_can_be_looked_into_while_it_learns(
    write_recipe: WriteRecipe, data_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its last checkpoint writes; lines tell the time left, terminal or not."""
    recipe, folder = read_recipe(str(write_recipe())), tmp_path / "run"
    train_recipe(recipe, data_folder, folder, torch.device("cpu"), ProgressLines(every=0))
    line = r"update 2 of 6: loss .* target tokens/s, 0:0\d left at most"
    assert re.search(line, capsys.readouterr().err)
    dialogues = list(read_dialogues(data_folder / "dev.jsonl"))
    last = [written.text for written in TrainedModel.load(folder).write(dialogues)]
    for name in ("model.safetensors", "best.safetensors"):
        (folder / name).unlink()
    assert [written.text for written in TrainedModel.load(folder).write(dialogues)] == last
    (folder / "checkpoint.safetensors").unlink()
    with pytest.raises(ModelError, match=r"checkpoint\.safetensors: cannot be read"):
        open_run(str(folder))


def test_a_rate_is_found(write_recipe: WriteRecipe, data_folder: Path) -> None:
    options = ("--data", data_folder, "--updates", 60, "--quiet")
    told = call(train_command.find_rate, write_recipe(), *options)
    rates = [float(line.split()[0]) for line in told.splitlines()[:-1]]
    assert rates == sorted(rates)
    assert rates[-1] > 1e5 * rates[0]
    found = re.search(r"falls fastest at (\S+): try a tenth", told)
    assert found
    assert 1e-4 < float(found[1]) < 1


@pytest.mark.parametrize(
    ("program", "client"),
    [("tensorboard", "torch.utils.tensorboard"), ("mlflow", "mlflow"), ("wandb", "wandb")],
)
def test_a_program_draws_the_figures_and_sees_no_text(
    program: str,
    client: str,
    write_recipe: WriteRecipe,
    data_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told, place = MagicMock(), ("--data", data_folder, "--output", tmp_path / "run")
    monkeypatch.setitem(sys.modules, client, told)
    call(train_command.train, write_recipe(), *place, "--log", program, "--quiet")
    calls = str(told.mock_calls)
    assert "dev_rougeL" in calls
    assert "learning_rate" in calls
    assert "Cy fell asleep" not in calls
    assert calls.rstrip(")]").endswith(("close(", "end_run(", "finish("))
    assert program != "wandb" or "mode='offline'" in calls
    monkeypatch.setitem(sys.modules, client, None)
    outcome = invoke(train_command.train, write_recipe(), "--log", program)
    assert f"--log {program}: pip install {program}" in str(outcome.exception)


def test_what_is_missing_is_named(
    write_recipe: WriteRecipe, data_folder: Path, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match="no such data file"):
        run(write_recipe(), tmp_path, tmp_path / "run")
    with pytest.raises(ModelError, match="no folder of a trained model"):
        open_run(str(data_folder))
    with pytest.raises(ConfigError, match="no recipe of that name"):
        read_recipe("dialogsum-report-9")


def test_bad_records_and_excluded_ones_are_left_out(
    write_recipe: WriteRecipe,
    data_folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    dialogist: CommandLine,
) -> None:
    with (data_folder / "train.jsonl").open("a") as file:
        file.write('{"id": \n{"id": "bare", "turns": [["Ann", "Hi."]]}\n')
    (data_folder / "out.txt").write_text("train-0\ntrain-1\n")
    sets = {"train": [{"path": "train.jsonl", "exclude": "out.txt"}], "dev": []}
    recipe = read_recipe(str(write_recipe(data=sets)))
    train_recipe(recipe, data_folder, tmp_path / "run", torch.device("cpu"), ProgressLines())
    notes = capsys.readouterr().err
    assert "1 bad records left out" in notes
    assert "train: 22 dialogues, 1 without a summary left out; 0 exceed" in notes
    same = (tmp_path / "run" / "config.yaml", "--data", data_folder, "--output", tmp_path / "again")
    assert dialogist("train", *same).returncode == 3


def test_recipes_are_listed_shown_and_begun(tmp_path: Path) -> None:
    assert "dialogsum-small" in call(train_command.list_recipes)
    shown = call(train_command.show_recipe, "dialogsum-report-1", "--set", "training.epochs=7")
    assert "epochs: 7" in shown
    assert "# OPEN: 256 in report 2" in call(train_command.show_recipe, "dialogsum-report-1")
    path = tmp_path / "mine.yaml"
    call(train_command.init_recipe, path)
    assert read_recipe(str(path)).model.kind == "transformer"


def test_a_split_keeps_copies_together(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = []
    for i in range(40):
        words = " ".join(f"word{i}x{j}" for j in range(30))
        for copy in range(2):
            said = words if copy == 0 else words.replace(f"word{i}x3", "other")
            rows.append({"id": f"{i}-{copy}", "turns": [["Ann", said]], "summary": "s"})
    file = tmp_path / "all.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    call(data_commands.split, file, "--output", tmp_path / "parts", "--shares", "train=0.5,dev=0.5")
    parts = [
        {d.id.split("-")[0] for d in read_dialogues(tmp_path / "parts" / f"{name}.jsonl")}
        for name in ("train", "dev")
    ]
    assert not parts[0] & parts[1]
    assert [len(part) for part in parts] == [20, 20]


def test_stats_count_what_limits_would_cut(tmp_path: Path) -> None:
    file = tmp_path / "chat.jsonl"
    turns = [["Ann", "word " * 80], ["Bo", "Hi!"]]
    file.write_text(json.dumps({"id": "1", "turns": turns, "summary": "Ann talks."}) + "\n")
    counts = json.loads(call(data_commands.stats, file, "--json"))
    words = counts["words of an utterance"]
    assert (words["count"], words["max"], words["exceed it"]) == (2, 80, 1)
    assert counts["words of a summary"]["mean"] == 3
    assert "utterances of a dialogue" in call(data_commands.stats, file)
