"""The report card: intervals, floors, differences and cautions; as text, Markdown and JSON."""

import json
import math

import pytest

from dialogist.evaluation.diagnostics import Caution
from dialogist.evaluation.report_card import (
    Card,
    MeasuredSystem,
    RowKind,
    card_markdown,
    card_text,
    chance_remarks,
    chance_tables,
    figure_text,
    make_card,
)
from dialogist.evaluation.scoring import score
from dialogist.evaluation.significance import Interval
from dialogist.evaluation.system_outputs import Output
from dialogist.metrics.bleu import Bleu
from dialogist.metrics.rouge import Rouge
from dialogist.records import Dialogue, Summary, Utterance

METRICS = [Rouge(), Bleu("13a")]
HEADLINE = ("rouge1.f1", "rougeL.f1")
TALKS = [
    Dialogue((Utterance("Ann", f"Word{i} here."),), f"d{i}", (f"Ann says word{i} to Bo there.",))
    for i in range(30)
]


def entry(kind: RowKind, name: str, *texts: str, status: str = "ok") -> MeasuredSystem:
    """Says each text in turn, ``{}`` being the dialogue's word."""
    outputs = tuple(
        Output.of(Summary(texts[i % len(texts)].format(f"word{i}"), talk.id, status), talk)
        for i, talk in enumerate(TALKS)
    )
    return MeasuredSystem(kind, outputs, score(name, outputs, METRICS, 1))


GOOD = entry(RowKind.system, "good", "Ann says {} to Bo.", "Ann says {} to him there.")
BAD = entry(RowKind.system, "bad", "He says {}.", "", "It is what it is.")
FLOOR = entry(RowKind.floor, "lead-1", "Ann: {} here.")
TRAIN = entry(RowKind.train, "good", "Ann says {} to Bo there.")


def card(*entries: MeasuredSystem, **more: object) -> Card:
    return make_card("dev.jsonl", entries, METRICS, **more)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def whole() -> Card:
    known = Caution("overlap", "serious", "in both\x1b", examples=("a = b",))
    return card(GOOD, BAD, TRAIN, FLOOR, cautions=[known])


def test_rows_and_intervals(whole: Card) -> None:
    assert [row.name for row in whole.rows] == ["good", "bad", "good", "lead-1"]
    assert [row.name for row in whole.of_kind(RowKind.floor, RowKind.train)] == ["good", "lead-1"]
    good, bad = whole.of_kind(RowKind.system)
    found = good.figures["rouge1.f1"]
    assert found.figure == GOOD.scores.figure("rouge1.f1")
    assert found.low < found.figure < found.high
    assert (good.empty, bad.empty) == (0, 10)
    assert (whole.dialogues, whole.references, whole.words) == (30, 1, 6)
    assert good.words == pytest.approx((5 + 6) / 2)


def test_differences_are_from_the_first_system_or_a_named_row(whole: Card) -> None:
    assert whole.against == "good"
    [found] = whole.differences
    assert (found["rouge1.f1"].one, found["rouge1.f1"].other) == ("bad", "good")
    assert found["rouge1.f1"].difference < 0
    assert found["rouge1.f1"].p < 0.05
    named = card(GOOD, BAD, FLOOR, against="lead-1")
    assert named.against == "lead-1"
    assert [one["bleu"].one for one in named.differences] == ["good", "bad"]
    alone = card(GOOD, FLOOR)
    assert (alone.against, alone.differences) == ("", ())


def test_cautions_of_systems_and_those_known_before(whole: Card) -> None:
    kinds = [(one.system, one.kind) for one in whole.cautions]
    assert kinds[0] == ("", "overlap")
    assert ("bad", "empty-outputs") in kinds
    assert not any(name == "lead-1" for name, _ in kinds)


def test_text_for_a_narrow_terminal(whole: Card) -> None:
    text = card_text(whole, HEADLINE)
    head, blank, titles, good, low, _, bad, _, _, train, _, _, floors, lead, gap, *rest = (
        text.split("\n")
    )
    assert head == "good: 30 dialogues of dev.jsonl, 1.00 references each"
    assert blank == ""
    assert titles.split() == ["R1", "RL"]
    figures = [f"{GOOD.scores.figure(key):.2f}" for key in HEADLINE]
    assert good.split() == ["good", *figures]
    assert low.split()[0] == "low"
    assert bad.split()[0] == "bad"
    assert train.startswith("train sample  ")
    assert floors == "baselines"
    assert lead.startswith("  lead-1  ")
    ahead = TRAIN.scores.figure("rougeL.f1") - GOOD.scores.figure("rougeL.f1")
    assert gap.split()[-1] == f"{ahead:+.2f}"
    assert any(line.startswith("bad: bleu: BLEU-4 ") for line in rest)
    assert any(line.startswith("serious: bad: 10 of 30 outputs") for line in rest)
    assert any(line.startswith("95% intervals: ") for line in rest)
    assert "serious: in both " in rest
    table = text.split("\n\n")[1]
    assert max(map(len, table.split("\n"))) <= 48


def test_long_names_are_shortened_in_the_table_alone() -> None:
    name = "runs/" + "very/" * 10 + "long"
    one = card(MeasuredSystem(RowKind.system, GOOD.outputs, score(name, GOOD.outputs, METRICS, 1)))
    text = card_text(one, HEADLINE)
    assert text.startswith(f"{name}: 30 dialogues")
    assert f"…{name[-19:]} " in text


def test_markdown(whole: Card) -> None:
    _, _, titles, dashes, good, *rest = card_markdown(whole, HEADLINE).split("\n")
    assert titles == "|  | R1 | RL |"
    assert dashes == "| --- | ---: | ---: |"
    assert good.startswith(f"| good | {GOOD.scores.figure('rouge1.f1'):.2f} (")
    assert sum(line.startswith("| ") for line in rest) == 3
    assert sum(line.startswith("* ") for line in rest) > 3


def test_the_json_has_everything_and_no_nan(whole: Card) -> None:
    text = json.dumps(whole.to_json(), allow_nan=False)
    found = json.loads(text)
    assert set(found) == {
        *("schema_version", "data", "dialogues", "references", "reference_words", "columns"),
        *("metrics", "rows", "against", "differences", "signatures", "intervals", "cautions"),
    }
    assert found["schema_version"] == 1
    assert set(found["columns"][0]) == {"key", "title", "better", "unit"}
    assert found["metrics"]["bleu"] == ["bleu"]
    row = found["rows"][0]
    assert set(row) == {
        *("system", "kind", "outputs", "words", "empty", "cut", "partial", "figures"),
    }
    assert set(row["figures"]["bleu"]) == {"figure", "low", "high", "error"}
    assert set(found["differences"][0]) == {
        *("key", "system", "from", "outputs", "exact", "difference", "low", "high", "wins"),
        *("p_bootstrap", "p", "p_corrected", "least"),
    }
    assert set(found["cautions"][0]) == {"kind", "severity", "text", "system", "examples"}
    assert len(found["differences"]) == len(found["columns"])


def test_one_output_has_no_interval_and_is_null() -> None:
    outputs = GOOD.outputs[:1]
    one = card(MeasuredSystem(RowKind.system, outputs, score("one", outputs, METRICS, 1)))
    found = json.loads(json.dumps(one.to_json(), allow_nan=False))["rows"][0]["figures"]
    assert found["rouge1.f1"]["figure"] > 0
    assert found["rouge1.f1"]["low"] is None
    assert ["low", "-", "-"] in [line.split() for line in card_text(one, HEADLINE).split("\n")]


def test_how_sure_figures_and_differences_are(whole: Card) -> None:
    figures, differences = chance_tables(whole, ["rouge1.f1", "bleu"])
    assert figures[0] == ["95% intervals", "R1", "BLEU-4"]
    assert [row[0] for row in figures[1:]] == ["good", "bad", "good", "lead-1"]
    assert differences[0] == ["differences from good", "R1", "BLEU-4"]
    assert differences[1][0] == "bad"
    assert differences[1][1].endswith("*")
    mark, noted = chance_remarks(whole, ["rouge1.f1", "bleu"])
    assert "p < 0.05" in mark
    assert "R1 " in noted
    alone = card(GOOD)
    assert len(list(chance_tables(alone, ["bleu"]))) == 1
    assert list(chance_remarks(alone, ["bleu"])) == []


def test_figures_as_text() -> None:
    assert figure_text(Interval(39.312, 38.0, 40.4, 0.6)) == "39.31 (38.00 to 40.40)"
    assert figure_text(Interval(39.312, math.nan, math.nan, math.nan), 1) == "39.3"
    assert figure_text(Interval(math.nan, math.nan, math.nan, math.nan)) == "-"
