"""Key points as a metric; test_key_points counts its figures by hand."""

import pickle

import numpy as np
import pytest

from dialogist.data.key_points import load_pack, parse_pack
from dialogist.evaluation.metric_selection import KeyPoints, find_labels, labels_of
from dialogist.evaluation.scoring import score
from dialogist.evaluation.significance import compare_scores, intervals
from dialogist.evaluation.system_outputs import Output
from dialogist.metrics.base import Case
from dialogist.metrics.rouge import Rouge
from dialogist.records import Dialogue, Statement, Summary, Utterance

PACK = parse_pack("""
name: mine
language: en
version: 1
default: Start
key_facts: ['Yes', 'No']
sections: {MEAL: Food}
labels: {Start: '', Food: '', 'Yes': '', 'No': '', End: ''}
rules:
  - {label: Start, pattern: '^ann asks', examples: [Ann asks Bo.]}
  - {label: Food, pattern: 'eats', examples: [Bo eats.]}
  - {label: 'Yes', pattern: 'agrees', examples: [Bo agrees.]}
  - {label: 'No', pattern: 'refuses', examples: [Bo refuses.]}
  - {label: End, pattern: 'leaves', examples: [Bo leaves.]}
""")
REFERENCES = [
    ("Ann asks Bo. Bo agrees.",),
    ("Bo refuses. Ann leaves.", "Bo eats."),
    ("Ann asks Bo. Bo eats. Bo agrees. Ann leaves.",),
    ("Bo eats.",),
]
SAID = ["Ann asks Bo. Bo refuses.", "Bo refuses.", "Ann asks Bo. Bo agrees. Ann leaves.", ""]
TALKS = [
    Dialogue((Utterance("A", "x"),), f"d{i}", references) for i, references in enumerate(REFERENCES)
]


def outputs(said: list[str], talks: list[Dialogue] = TALKS, *labels: str) -> list[Output]:
    parts = tuple(Statement("x", label=label) for label in labels)
    return [
        Output.of(Summary(text, talk.id, key_points=parts), talk)
        for text, talk in zip(said, talks, strict=True)
    ]


def test_figures_have_intervals_and_differences() -> None:
    one = score("one", outputs(SAID), [KeyPoints(PACK, 4)], 1)
    perfect = score("two", outputs([talk.references[0] for talk in TALKS]), [KeyPoints(PACK, 4)], 1)
    for key, found in intervals(one).items():
        assert found.low <= found.figure <= found.high, key
    difference = compare_scores(perfect, one)["key_points.rougeL.f1"]
    assert difference.difference > 0
    assert 0 < difference.p <= 1


def test_nothing_to_find_is_left_out_of_the_mean() -> None:
    each = score("s", outputs(SAID), [KeyPoints(PACK, 4)], 1).each("key_points.rouge2.recall")
    # Of one key point there is no pair; the second reference of the second dialogue has none.
    assert np.array_equal(each, [0, 0, 100 / 3, np.nan], equal_nan=True)


def test_bleu_looks_at_no_longer_sequences_than_references_have() -> None:
    said = [talk.references[0] for talk in TALKS[:1]]
    short = score("s", outputs(said, TALKS[:1]), [KeyPoints(PACK, 2)], 1)
    assert short.figure("key_points.bleu") == pytest.approx(100)
    assert "BLEU-2" in short.signatures["key-points"]
    long = score("s", outputs(said, TALKS[:1]), [KeyPoints(PACK, 4)], 1)
    assert long.figure("key_points.bleu") == 0


def test_a_systems_own_key_points_and_those_of_its_text() -> None:
    metrics = [KeyPoints(PACK, 4), KeyPoints(PACK, 4, by_rules=True)]
    own = outputs(["Hm.", "Hm.", "Hm.", "Hm."], TALKS, "Start", "Yes")
    scores = score("s", own, metrics, 1)
    assert scores.each("key_points.rougeL.f1")[0] == 100
    assert scores.each("key_points_by_rules.rougeL.f1")[0] == pytest.approx(200 / 3)
    assert "key_facts_by_rules.rougeL.f1" not in scores
    foreign = score("s", outputs(["Hm."] * 4, TALKS, "Start", "Foreign"), metrics, 1)
    assert foreign.each("key_points.rougeL.f1")[0] == pytest.approx(200 / 3)


def test_sections_and_silence() -> None:
    talk = Dialogue((Utterance("A", "x"),), "d", ("Soup.",), {"section": "MEAL"})
    labelled = KeyPoints(PACK, 1).labelled(Case("Bread.", ("Soup.",), talk))
    assert (labelled.found, labelled.wanted) == (("Food",), (("Food",),))
    without = KeyPoints(PACK, 1).labelled(Case("....", ("Soup.",)))
    assert (without.found, without.wanted) == ((), (("Start",),))
    assert find_labels(PACK, "\ud83d \x00", "") in ((), ("Start",))


def test_it_can_be_sent_to_another_process() -> None:
    metric = KeyPoints(PACK, 3, by_rules=True)
    case = Case(SAID[0], REFERENCES[0])
    metric.measure(case)  # what it remembers stays behind
    copy = pickle.loads(pickle.dumps(metric))
    assert copy.measure(case) == metric.measure(case)
    assert (copy.name, copy.signature) == (metric.name, metric.signature)


def test_whose_labels_and_what_it_reads() -> None:
    english, chinese = KeyPoints(PACK, 1), KeyPoints(load_pack("customer-service-zh"), 1)
    assert labels_of([Rouge(), english]) == PACK.labels
    assert labels_of([Rouge()]) is None
    assert english.reads("latin")
    assert not english.reads("cjk")
    assert chinese.reads("cjk")


def test_a_pack_without_key_facts() -> None:
    plain = parse_pack(PACK.text.replace("key_facts: ['Yes', 'No']", ""))
    assert [column.key.split(".")[0] for column in KeyPoints(plain, 1).columns] == 4 * [
        "key_points"
    ]
    assert len(KeyPoints(plain, 1).measure(Case("Bo agrees.", ("Bo agrees.",)))) == 4 + 6
