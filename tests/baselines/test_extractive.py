import pytest

from dialogist.baselines import extractive
from dialogist.baselines.extractive import (
    BASELINES,
    ConstantSummary,
    lead,
    lexrank,
    longest,
    random_utterances,
    role_turns,
    textrank,
    transcript_line,
)
from dialogist.records import Dialogue, Utterance, Warning

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
    assert transcript_line(Utterance("Ann", "Hi.")) == "Ann: Hi."
    assert transcript_line(Utterance("", "Hi.")) == "Hi."


def test_summaries_say_where_they_come_from():
    first, second = longest(3).summarize([TALK, Dialogue((), id="d2")])
    assert (first.id, first.status, first.model, first.score) == ("d1", "ok", "longest-3", None)
    assert first.coverage.complete
    assert first.coverage.utterances == 4
    assert (second.id, second.status, second.text) == ("d2", "empty", "")
    assert second.coverage.complete


def test_no_dialogues_no_summaries():
    assert lead(3).summarize([]) == []


def test_what_says_nothing_is_not_taken():
    silent = Dialogue((Utterance("Ann", " \n"), Utterance("Bo", "Yes."), Utterance("Ann", "")), "s")
    for system in (lead(2), longest(2), textrank(2), lexrank(2), random_utterances(2)):
        [summary] = system.summarize([silent])
        assert (summary.text, summary.status) == ("Bo: Yes.", "ok")
    [nothing] = lead(1).summarize([Dialogue((Utterance("Ann", " "),))])
    assert (nothing.text, nothing.status) == ("", "empty")


CALL = Dialogue(
    (
        Utterance("Customer", "My parcel is late.", "customer"),
        Utterance("Agent", "Which parcel?", "agent"),
        Utterance("Customer", "The red one.", "customer"),
        Utterance("Zoë", "I saw it."),
    )
)


@pytest.mark.parametrize(
    ("role", "text"),
    [
        ("customer", "Customer: My parcel is late.\nCustomer: The red one."),
        ("AGENT", "Agent: Which parcel?"),
        ("zoë", "Zoë: I saw it."),
    ],
)
def test_turns_of_a_role_or_speaker(role, text):
    [summary] = role_turns(role).summarize([CALL])
    assert (summary.text, summary.warnings) == (text, ())


def test_nobody_in_the_wanted_role_is_told():
    [summary] = role_turns("doctor").summarize([CALL])
    assert (summary.text, summary.status) == ("", "empty")
    assert summary.warnings == (Warning("input", "no utterance is of the wanted kind"),)


def test_a_lot_hangs_on_the_dialogue_and_the_seed_alone():
    talks = [
        Dialogue(tuple(Utterance("A", f"{n} {i}") for i in range(9)), str(n)) for n in range(30)
    ]
    alone = [random_utterances(2).summarize([talk])[0].text for talk in talks]
    assert [s.text for s in random_utterances(2).summarize(talks[::-1])][::-1] == alone
    assert [s.text for s in random_utterances(2, 7).summarize(talks)] != alone
    places = [int(line.split()[-1]) for text in alone for line in text.split("\n")]
    assert set(places) == set(range(9))  # no place is left out
    assert all(text.count("\n") == 1 for text in alone)


def test_a_dialogue_too_long_to_rank_is_read_in_part_and_that_is_told(monkeypatch):
    monkeypatch.setattr(extractive, "RANKED_AT_MOST", 3)
    long = Dialogue(tuple(Utterance("A", f"word {i} word") for i in range(5)))
    [summary] = textrank(4).summarize([long])
    assert summary.text.count("\n") == 2
    assert summary.status == "truncated"
    assert (summary.coverage.utterances, summary.coverage.utterances_read) == (5, 3)
    assert summary.warnings == (Warning("not_read", "the last 2 utterances were not read"),)
    assert lead(4).summarize([long])[0].status == "ok"


def test_constant_says_the_same():
    summaries = ConstantSummary("same", "They talk.").summarize([TALK, TALK])
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
