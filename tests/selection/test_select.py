"""What is chosen of a dialogue, and how it is told."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from dialogist.selection.choice import chosen
from dialogist.selection.network import bundled_network
from dialogist.selection.select import select, told_of
from dialogist.selection.statements import Candidate, candidates_of
from dialogist.selection.units import units_of

TALK = [
    ("Agent", "Hello, Northlink, how can I help?"),
    ("Customer", "My internet has been down since Monday, and I work from home."),
    ("Agent", "Have you restarted the router?"),
    ("Customer", "Yes, twice."),
    ("Agent", "I can send an engineer on Thursday."),
    ("Customer", "What does it cost?"),
    ("Agent", "40 pounds."),
    ("Customer", "Thanks, bye."),
]


def _candidates(turns: list[tuple[str, str]]) -> list[Candidate]:
    found = told_of(turns)
    return candidates_of(found.conversation, found.units, found.told)


def test_units_are_exact_parts_of_their_turns():
    for unit in units_of(TALK):
        assert TALK[unit.turn][1][unit.start : unit.end] == unit.text


def test_a_sentence_is_cut_before_a_new_subject_but_not_inside_a_condition():
    texts = [u.text for u in units_of([("Ann", "I paid last week, but they sent it again.")])]
    assert texts == ["I paid last week", "but they sent it again."]
    whole = "If it rains on Sunday, we stay at home."
    assert [u.text for u in units_of([("Ann", whole)])] == [whole]


def test_a_short_answer_is_told_with_its_question():
    texts = {one.text: one for one in _candidates(TALK)}
    twice = texts["The customer has restarted the router twice."]
    assert twice.kind == "reported"
    assert len(twice.units) == 2
    assert not any(text.startswith("The agent asks whether") for text in texts)


def test_courtesy_and_bare_questions_are_no_statements():
    texts = [
        one.text for one in _candidates([("Ann", "Hi there!"), ("Bo", "Me?"), ("Ann", "Yes.")])
    ]
    assert texts == []


def test_the_budget_holds_and_the_order_is_the_dialogues():
    for budget in (10, 20, 40):
        found = select(TALK, bundled_network(), budget)
        assert sum(one.candidate.words for one in found) <= budget
        places = [one.units[0].turn for one in found]
        assert places == sorted(places)


def test_a_short_summary_holds_the_issue():
    text = " ".join(one.candidate.text for one in select(TALK, bundled_network(), 20, True))
    assert "internet has been down since Monday" in text


def test_the_most_likely_of_equal_length_is_chosen():
    units = units_of([("Ann", "A long day at work. We meet at noon. You pay the bill.")])
    candidates = [Candidate("four words of text", "quoted", (i,)) for i in range(3)]
    assert chosen(candidates, [0.1, 0.2, 0.9], units, 4) == [2]


def test_probabilities_are_the_same_in_many_threads():
    alone = [one.chance for one in select(TALK, bundled_network(), 30)]
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: select(TALK, bundled_network(), 30), range(8)):
            np.testing.assert_allclose([one.chance for one in found], alone)


def test_nothing_is_said_of_nothing():
    assert select([], bundled_network(), 30) == []
    assert select([("Ann", "")], bundled_network(), 30) == []


def test_a_no_with_its_reason_is_not_dropped():
    turns = [("Ann", "Can you lend me 50 dollars?"), ("Bo", "No, I lost my job in May.")]
    [one] = _candidates(turns)
    assert one.text == "Ann: “Can you lend me 50 dollars?” Bo: “No, I lost my job in May.”"
    assert one.kind == "quoted"
