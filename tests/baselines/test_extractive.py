"""Tests of baselines.extractive."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialogist.baselines import extractive
from dialogist.baselines.extractive import (
    BASELINES,
    ConstantSummary,
    baseline,
    find_baseline,
    lead,
    lexrank,
    lexrank_scores,
    longest,
    random_utterances,
    role_turns,
    textrank,
    textrank_scores,
    transcript_line,
)
from dialogist.errors import UsageError
from dialogist.records import Dialogue, Utterance, Warning

# TextRank and LexRank beside what the papers' formulas give by hand, and on what people type.

RANKINGS = (textrank_scores, lexrank_scores)


def iterated(alike):
    """PageRank as the papers have it: sums of what the others give, again and again."""
    ranks = [1.0] * len(alike)
    out = [sum(row) for row in alike]
    for _ in range(300):
        ranks = [
            0.15 + 0.85 * sum(alike[j][i] / out[j] * ranks[j] for j in range(len(alike)) if out[j])
            for i in range(len(alike))
        ]
    return ranks


def test_textrank_is_the_papers_formula():
    texts = ["the cat sat here", "the cat ran", "a dog ran off with the cat", "hm", "yes, yes"]
    words = [["the", "cat", "sat", "here"], ["the", "cat", "ran"]]
    words += [["a", "dog", "ran", "off", "with", "the", "cat"], ["hm"], ["yes", "yes"]]
    alike = [
        [
            len(set(one) & set(other)) / (math.log(len(one)) + math.log(len(other)))
            if i != j and set(one) & set(other)
            else 0.0
            for j, other in enumerate(words)
        ]
        for i, one in enumerate(words)
    ]
    found = textrank_scores(texts)
    assert found == pytest.approx(iterated(alike), abs=1e-8)
    assert found[1] == max(found)  # shares most for its length
    assert found[3] == found[4] == pytest.approx(0.15)  # like no other


def test_lexrank_is_the_papers_formula():
    words = [["the", "cat", "cat"], ["the", "cat", "ran"], ["dogs"], []]
    texts = [" ".join(each) for each in words]
    every = sorted({word for each in words for word in each})
    idf = {w: math.log(1 + 4 / sum(w in each for each in words)) for w in every}
    vectors = np.array([[each.count(w) * idf[w] for w in every] for each in words])
    sizes = np.linalg.norm(vectors, axis=1)
    sizes[sizes == 0] = 1
    alike = (vectors / sizes[:, None]) @ (vectors / sizes[:, None]).T
    found = lexrank_scores(texts)
    assert found == pytest.approx(iterated(alike.tolist()), abs=1e-8)
    assert found[2] == pytest.approx(1)  # alone, but like itself
    assert found[3] == pytest.approx(0.15)


@pytest.mark.parametrize("rank", RANKINGS)
def test_chinese_is_ranked_by_characters(rank):
    found = rank(["我的订单没有到", "您好", "您的订单明天送到", "订单今天没有送到吗"])
    assert found[1] == min(found)
    assert len(set(found)) == 4


@pytest.mark.parametrize("rank", RANKINGS)
def test_twins_have_the_same_rank(rank):
    texts = ["so we meet at the station", "no", "so we meet at the station", "at the station then"]
    found = rank(texts * 7)
    assert len({found[i] for i in range(0, 28, 4)} | {found[i] for i in range(2, 28, 4)}) == 1


@pytest.mark.parametrize("rank", RANKINGS)
@pytest.mark.parametrize(
    "texts", [[], [""], ["😀", "", "..."], ["a"], ["a", "a"], ["\ud800 x", "x"]]
)
def test_little_or_nothing_to_rank(rank, texts):
    found = rank(texts)
    assert len(found) == len(texts)
    assert all(math.isfinite(score) for score in found)


@pytest.mark.parametrize("rank", RANKINGS)
def test_a_vocabulary_in_pieces_is_one_vocabulary(rank, monkeypatch):
    texts = ["we talk about a trip to Rome", "to Rome by train", "a train is late", "about Rome"]
    whole = rank(texts)
    monkeypatch.setattr(extractive, "_WORDS_AT_ONCE", 3)
    assert rank(texts) == whole


@given(st.lists(st.text(max_size=30), max_size=8))
def test_any_text_is_ranked(texts):
    for rank in RANKINGS:
        assert all(0.14 < score < len(texts) + 1 for score in rank(texts))


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
    assert summary.warnings == (Warning("not_read", "2 utterances at the end not read"),)
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


LONG_TALK = Dialogue(tuple(Utterance("Ann", f"this is turn {i}", "user") for i in range(9)))


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("lead-5", 5),
        ("longest-2", 2),
        ("textrank-4", 4),
        ("lexrank-1", 1),
        ("random-6", 6),
        ("random-6:4", 6),
        ("lead-999999", 9),
        ("turns:user", 9),
        ("turns:Ann", 9),
        ("constant:They talk: about lunch.", 1),
        *((name, None) for name in BASELINES),
    ],
)
def test_a_system_has_the_name_it_is_found_by(name, lines):
    system = baseline(name)
    [summary] = system.summarize([LONG_TALK])
    assert system.name == summary.model == name
    assert lines is None or len(summary.text.split("\n")) == lines


def test_a_sentence_of_ones_own():
    [summary] = baseline("constant:They talk: about lunch.").summarize([LONG_TALK])
    assert summary.text == "They talk: about lunch."


NOT_BASELINES = """
lead lead- lead--1 lead-x lead-３ Lead-3 lead-3:1 lead-1234567890 random-3: turns-user
constant oracle human models/lead-3
"""


@pytest.mark.parametrize("name", ["", *NOT_BASELINES.split()])
def test_other_names_are_no_baselines(name):
    assert find_baseline(name) is None
    with pytest.raises(UsageError, match="there is none of that name"):
        baseline(name)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("lead-0", "at least one utterance"),
        ("random-0:3", "at least one utterance"),
        ("constant: ", "say constant:TEXT"),
        ("turns:", "say turns:ROLE"),
    ],
)
def test_baselines_of_nothing_are_refused(name, said):
    with pytest.raises(UsageError, match=said):
        find_baseline(name)


def test_the_nearest_name_is_told():
    with pytest.raises(UsageError, match=r"did you mean 'textrank-3'\?"):
        baseline("textrank3")
