import pytest

from dialogist.baselines.extractive import BASELINES, Constant, lead, longest, spoken
from dialogist.records import Dialogue, Utterance

TALK = Dialogue(
    (
        Utterance("Ann", "Hi."),
        Utterance("Bo", "Hello, Ann."),
        Utterance("", "(a long pause)"),
        Utterance("Ann", "Lunch at 1?"),
    ),
    id="d1",
)


def text_of(system):
    [summary] = system.summarize([TALK])
    return summary.text


@pytest.mark.parametrize(
    ("system", "text"),
    [
        (lead(1), "Ann: Hi."),
        (lead(2), "Ann: Hi.\nBo: Hello, Ann."),
        (lead(9), "Ann: Hi.\nBo: Hello, Ann.\n(a long pause)\nAnn: Lunch at 1?"),
        (longest(1), "(a long pause)"),
        # "Hello, Ann." and "Lunch at 1?" both have 11 characters: the earlier is taken.
        (longest(2), "Bo: Hello, Ann.\n(a long pause)"),
        (longest(9), text_of(lead(9))),
        (lead(0), ""),
    ],
)
def test_chosen_utterances_in_their_order(system, text):
    assert text_of(system) == text


def test_spoken():
    assert spoken(Utterance("Ann", "Hi.")) == "Ann: Hi."
    assert spoken(Utterance("", "Hi.")) == "Hi."


def test_summaries_say_where_they_come_from():
    first, second = longest(3).summarize([TALK, Dialogue((), id="d2")])
    assert (first.id, first.status, first.model, first.score) == ("d1", "ok", "longest-3", None)
    assert first.coverage.complete
    assert first.coverage.utterances == 4
    assert (second.id, second.status, second.text) == ("d2", "empty", "")
    assert second.coverage.complete


def test_no_dialogues_no_summaries():
    assert lead(3).summarize([]) == []


def test_constant_says_the_same():
    summaries = Constant("same", "They talk.").summarize([TALK, TALK])
    assert [(s.text, s.id, s.model, s.status) for s in summaries] == [
        ("They talk.", "d1", "same", "ok")
    ] * 2


@pytest.mark.parametrize("name", BASELINES)
def test_the_table_names_its_systems(name):
    system = BASELINES[name]
    assert system.name == name
    [summary] = system.summarize([TALK])
    assert summary.model == name
    assert summary.text
