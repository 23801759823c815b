"""What a person is warned of."""

import pytest
from tests.lab.evaluation.conftest import dialogue

from dialogist.records import Dialogue, Summary
from dialogist_lab.evaluation.cautions import output_cautions, overlap_cautions, table_cautions
from dialogist_lab.evaluation.metric import Difference
from dialogist_lab.evaluation.rouge_bleu import Bleu, Rouge
from dialogist_lab.evaluation.systems import output_of

NAMES = ("Ann", "Bea", "Cal", "Dan", "Eve", "Fay", "Gus", "Hal", "Ida", "Jim")
GOOD = [f"{name} wants a {name} and Bo says that {name}s are what they may have." for name in NAMES]


def kinds(outputs):
    return {caution.kind: caution.severity for caution in output_cautions("mine", outputs)}


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        (GOOD, {}),
        ([*GOOD[:9], ""], {"empty-outputs": "serious"}),
        ([*GOOD * 3, " ..."][-21:], {"empty-outputs": "warning", "same-outputs": "serious"}),
        (
            ["Somebody talks about something here with another one."] * 10,
            {"same-outputs": "serious"},
        ),
        ([f"{text} {text[::-1]}." for text in GOOD], {"longer-than-references": "warning"}),
        ([f"{t[:3]} agrees." for t in GOOD], {"shorter-than-references": "serious"}),
    ],
)
def test_outputs(texts, found):
    references = [f"They discuss what is to be done about {i} here today." for i in range(30)]
    outputs = [output_of(Summary(t), dialogue(i, references[i])) for i, t in enumerate(texts)]
    assert kinds(outputs) == found


def test_outputs_that_are_the_references():
    outputs = [output_of(Summary(t), dialogue(i, t)) for i, t in enumerate(GOOD)]
    assert kinds(outputs) == {"copied-outputs": "serious"}


def test_failed_and_missing_outputs_are_not_called_empty():
    outputs = [
        output_of(Summary(GOOD[0]), dialogue(0, GOOD[1])),
        output_of(Summary("", status="error"), dialogue(1, GOOD[2])),
        output_of(Summary(""), dialogue(2, GOOD[3]), missing=True),
    ]
    found = kinds(outputs)
    assert found["failed-outputs"] == found["missing-outputs"] == "serious"
    assert "empty-outputs" not in found


def test_metrics_that_cannot_read_a_script():
    [caution] = table_cautions(["客户询问订单"], [Bleu(), Rouge()], (), 500)
    assert str(caution) == "serious: bleu: say nothing of Chinese or Japanese; rouge reads them"
    assert table_cautions(["客户询问订单"], [Bleu(chinese=True)], (), 500) == []


def test_chance():
    sure, unsure = (
        Difference("rougeL.f1", "a", "b", 500, 0.4, -0.1, 0.9, p, p) for p in (0.01, 0.2)
    )
    assert table_cautions(["a"], [], [sure], 500) == []
    [caution] = table_cautions(["a"], [], [unsure, sure], 500)
    assert "1 of 2 differences may be chance: a and b (+0.40, p 0.2)" in caution.text
    assert [c.kind for c in table_cautions(["a"], [], [], 20)] == ["few-dialogues"]


LONG = [f"word{i} is said here and then some more follows about item {i} " for i in range(40)]


def talk(identity: str, *parts: str) -> Dialogue:
    return Dialogue.from_text("\n".join(f"Ann: {part}" for part in parts), identity)


@pytest.mark.parametrize(
    ("train", "concerned"),
    [
        (talk("copy", *LONG[:8]), 1),
        (talk("part", *LONG[20:], *LONG[:4]), 1),
        (talk("other", *LONG[20:]), 0),
        (talk("phrase", LONG[0][:30]), 0),
    ],
)
def test_dialogues_that_training_data_repeat(train, concerned):
    cautions = overlap_cautions([train], [talk("held", *LONG[:8])], "train.jsonl")
    assert len(cautions) == concerned
    if cautions:
        assert "1 of 1 dialogues (100.0%) are in train.jsonl" in cautions[0].text
        assert cautions[0].examples[0].startswith(f"{train.id} = held")


def test_a_set_phrase_of_all_dialogues_is_no_overlap():
    greeting = "thank you for calling the service line of the big company how may i help you today"
    held = [talk(f"h{i}", greeting, LONG[i]) for i in range(12)]
    train = [talk(f"t{i}", greeting, LONG[i + 20]) for i in range(12)]
    assert overlap_cautions(train, held, "train") == []
