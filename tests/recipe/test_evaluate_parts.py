"""What is evaluated: first dialogues, a fixed sample, floors and ceilings; warnings of a run."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from dialogist.evaluation.metric_selection import MetricSelection
from dialogist.evaluation.report_card import RowKind
from dialogist.evaluation.scoring import score
from dialogist.evaluation.system_outputs import Output
from dialogist.metrics.rouge import Rouge
from dialogist.recipe.evaluation_run import (
    EvaluationRequest,
    Part,
    SystemResult,
    choose_dialogues,
    evaluate_outputs,
    floor_names,
    floors_and_ceilings,
    floors_for,
    gap_cautions,
    most_central,
    run_cautions,
    sample_of,
)
from dialogist.records import Dialogue, Summary, Utterance
from dialogist.training.base import TrainingConfig

from .conftest import RECIPE


def talk(name: str, *references: str) -> Dialogue:
    return Dialogue((Utterance("Ann", f"I like {name}."), Utterance("Bo", "No!")), name, references)


def silent(*dialogues: Dialogue) -> list[Output]:
    return [Output.of(Summary("", one.id), one) for one in dialogues]


def stream(read: list[str]) -> Iterator[Dialogue]:
    for name in ("a", "b", "c", "d", "e"):
        read.append(name)
        yield talk(name, *(() if name == "c" else ("r",)))


def test_no_more_is_read_than_wanted_but_for_outputs_in_order() -> None:
    read: list[str] = []
    part = Part(frozenset("a"), 2)
    choice, skipped = choose_dialogues("f", stream(read), part, whole=False)
    assert ([one.id for one in choice.wanted], skipped, read) == (["b"], 1, list("abcd"))
    choice, skipped = choose_dialogues("f", stream([]), part, whole=True)
    assert ([one.id for one in choice.wanted], skipped) == (["b"], 1)
    assert len(choice.dialogues) == 5
    everything, _ = choose_dialogues("f", stream([]), Part(), whole=False)
    assert list(everything.chosen) == [0, 1, 3, 4]


def test_the_sample_is_fixed() -> None:
    some = sample_of("f", stream([]), 2)
    assert [one.id for one in some.wanted] == [
        one.id for one in sample_of("f", stream([]), 2).wanted
    ]
    more = sample_of("f", stream([]), 9)
    assert [one.id for one in more.wanted][:2] == [one.id for one in some.wanted]
    assert sorted(one.id for one in more.wanted) == ["a", "b", "d", "e"]


def test_a_constant_for_every_kind_of_dialogue() -> None:
    usual = ["lead-3", "longest-3", "textrank-3"]
    dialogsum = silent(talk("a", "#Person1# likes it."), talk("b", "#Person1# and Bo talk."))
    assert floor_names(dialogsum) == ["constant-dialogsum", *usual]
    tweets = silent(talk("a", "Customer is angry. Agent helps."))
    assert floor_names(tweets) == ["constant-tweetsumm", *usual]
    assert floor_names(silent(talk("a", "Bo likes it."))) == usual
    many = silent(*(talk(str(i), f"Ann talks to Bo about item{i} and item{i}.") for i in range(60)))
    many += silent(talk("x", "Ann talks to Bo about and."))
    constant = floors_for(many)[0]
    assert constant.name == "constant-reference"
    assert constant.summarize([talk("y")])[0].text == "Ann talks to Bo about and."


def test_the_most_central_text() -> None:
    assert most_central(["a b c", "a b", "x y z", "", "a b d"]) == "a b"
    assert most_central(["", ""]) == ""
    assert most_central(["三 四", "三"]) in ("三", "三 四")


def rows(outputs: list[Output]) -> list[tuple[str, str, int]]:
    found = floors_and_ceilings(
        outputs,
        floors_for(outputs),
        lambda name, some: score(name, some, [Rouge()], 1),
        lambda some: None,
    )
    return [(one.kind.value, one.name, len(one.outputs)) for one in found]


def test_floors_and_ceilings() -> None:
    outputs = silent(talk("tea", "#Person1# likes tea."), talk("milk", "#Person1# likes milk."))
    names = ["constant-dialogsum", "lead-3", "longest-3", "textrank-3"]
    assert rows(outputs) == [*(("floor", name, 2) for name in names), ("ceiling", "oracle", 2)]
    unknown = [Output(one.summary, one.references) for one in outputs]
    assert rows(unknown) == [("floor", "constant-dialogsum", 2)]


def test_people_are_a_ceiling_where_there_are_several_references() -> None:
    two = silent(talk("tea", "Ann likes tea.", "Ann loves tea."), talk("milk", "Ann likes milk."))
    said = SystemResult(
        "mine", tuple(Output.of(Summary("Ann likes tea.", o.id), o.dialogue) for o in two)
    )  # type: ignore[arg-type]
    told: list[str] = []

    def tell(what: str, total: int):  # type: ignore[no-untyped-def]
        told.append(f"{what} {total}")
        return lambda done: None

    done = evaluate_outputs(
        [said], "dev", EvaluationRequest(MetricSelection(("rouge",)), processes=1), [], tell
    )
    human = done.card.of_kind(RowKind.ceiling)[-1]
    assert (human.name, human.outputs) == ("human", 1)
    assert human.figures["rouge1.f1"].figure == pytest.approx(100 * 2 / 3)
    assert told[0] == "mine: scored 2"
    assert done.notes == ()
    alone = evaluate_outputs(
        [said], "dev", EvaluationRequest(MetricSelection(("rouge",)), floors=False), [], tell
    )
    assert [row.name for row in alone.card.rows] == ["mine"]


def test_the_log_of_a_run_warns(tmp_path: Path) -> None:
    assert run_cautions(tmp_path, "mine") == []
    (tmp_path / "config.yaml").write_text(yaml.safe_dump({**RECIPE, "name": "mine"}))
    lines = [
        {"kind": "epoch", "epoch": i, "step": i, "dev_rougeL": 20, "train_rougeL": 20 + 9 * i}
        for i in range(1, 5)
    ]
    log = tmp_path / "metrics.jsonl"
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    [found] = run_cautions(tmp_path, "mine")
    assert (found.kind, found.system) == ("overfitting", "mine")
    (tmp_path / "config.yaml").write_text("of: another version\n")
    assert run_cautions(tmp_path, "mine") == []


def records(*gaps):
    for epoch, gap in enumerate(gaps, 1):
        yield {"kind": "train", "step": 10 * epoch, "nll": 1.0}
        yield {"kind": "epoch", "step": 10 * epoch, "epoch": epoch, "dev_loss": 3.0}
        yield {
            "kind": "epoch",
            "step": 10 * epoch,
            "epoch": epoch,
            "dev_rougeL": 25.0,
            "train_rougeL": 25.0 + gap,
            "note": "a text",
        }


def test_a_gap_that_grows_is_told_once_with_where():
    [caution] = gap_cautions(records(2, 12, 19, 41), TrainingConfig(gap_warning=10.0), "mine")
    assert (caution.kind, caution.severity, caution.system) == ("overfitting", "warning", "mine")
    assert caution.text.startswith(
        "overfitting: train_rougeL leads dev_rougeL by 41.0 points, and the gap is growing "
        "(first told in epoch 2, last in 4);"
    )


def test_small_gaps_and_gaps_that_shrink_are_not():
    assert gap_cautions(records(2, 4, 9), TrainingConfig(gap_warning=10.0)) == []
    [caution] = gap_cautions(records(30, 20, 12), TrainingConfig(gap_warning=10.0))
    assert "(first told in epoch 1, last in 1)" in caution.text


def test_nothing_logged():
    assert gap_cautions([], TrainingConfig()) == []
    assert gap_cautions([{"kind": "epoch", "epoch": 1, "dev_rougeL": 3.0}], TrainingConfig()) == []
