"""What is chosen of a dialogue, and how it is told."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from dialogist.highlights.choice import Choice
from dialogist.highlights.network import Worth, bundled_network
from dialogist.highlights.select import chosen_of, report_dialogue, select
from dialogist.highlights.statements import Candidate, candidates_of
from dialogist.highlights.units import units_of

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
    found = report_dialogue(turns)
    return candidates_of(found.conversation, found.units, found.told)


def test_units_are_exact_parts_of_their_turns():
    for unit in units_of(TALK):
        assert TALK[unit.turn][1][unit.start : unit.end] == unit.text


def test_a_sentence_is_cut_before_a_new_subject_but_not_inside_a_condition():
    texts = [u.text for u in units_of([("Ann", "I paid last week, but they sent it again.")])]
    assert texts == ["I paid last week", "but they sent it again."]
    for whole in (
        "If it rains on Sunday, we stay at home.",
        "I'd put the others in an annex, so that nobody's hurt.",
    ):
        assert [u.text for u in units_of([("Ann", whole)])] == [whole]


def test_a_short_answer_is_told_with_its_question():
    texts = {one.text: one for one in _candidates(TALK)}
    twice = texts["Customer has restarted the router twice."]
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


def test_a_short_summary_holds_the_outcome_too():
    turns = [
        *TALK[:2],
        *[("Agent", "I can see your line and your router from here.")] * 6,
        *TALK[4:7],
    ]
    turns += [("Customer", "Then please send the engineer on Thursday.")]
    told = select(turns, bundled_network(), 24, True)
    assert told[0].units[0].turn == 1
    assert told[-1].units[0].turn >= len(turns) - 4


def _worth(
    alone: list[float],
    together: dict[tuple[int, int], float] | None = None,
    stale: list[float] | None = None,
) -> Worth:
    pairs = together or {}
    return Worth(
        np.array(alone, dtype=np.float32),
        np.array(alone, dtype=np.float32),
        np.array(stale or [0.0] * len(alone), dtype=np.float32),
        np.array(list(pairs), dtype=np.int64).reshape(-1, 2),
        np.array(list(pairs.values()), dtype=np.float32),
    )


def test_the_most_likely_of_equal_length_is_chosen():
    assert Choice([4, 4, 4], _worth([0.2, 0.3, 0.9]), 9).within(4) == [2]
    assert Choice([4, 4, 4], _worth([0.2, 0.3, 0.9]), 9).within(9) == [1, 2]


def test_two_that_tell_a_fact_together_are_chosen_together():
    apart = Choice([4, 4, 4], _worth([0.2, 0.5, 0.2]), 8)
    assert apart.within(4) == [1]
    joint = Choice([4, 4, 4], _worth([0.2, 0.5, 0.2], {(0, 2): 0.9}), 8)
    assert joint.within(4) == [1]
    assert joint.within(8) == [0, 2]
    assert joint.facts([0, 2]) == pytest.approx(1.3)


def test_what_a_later_turn_changes_is_not_chosen():
    assert Choice([4, 4], _worth([0.8, 0.5], stale=[0.2, 0.0]), 4).within(4) == [1]


def test_unlikely_ones_are_left_out_unless_there_is_nothing_else():
    assert Choice([4, 4], _worth([0.1, 0.5]), 9).within(9) == [1]
    assert Choice([4, 4], _worth([0.1, 0.05]), 9).within(9) == [0]


def test_the_choice_is_as_good_as_the_best_of_all_subsets():
    random = np.random.default_rng(3)
    for _ in range(20):
        words = random.integers(1, 6, 8).tolist()
        pairs = {(i, j): random.uniform() for i in range(8) for j in range(i + 1, min(8, i + 4))}
        choice = Choice(words, _worth(random.uniform(0.2, 1, 8).tolist(), pairs), 14)
        subsets = ([i for i in range(8) if bits >> i & 1] for bits in range(256))
        best = max(choice.facts(own) for own in subsets if sum(words[i] for i in own) <= 14)
        assert sum(words[i] for i in choice.within(14)) <= 14
        assert choice.facts(choice.within(14)) == pytest.approx(best)


def test_a_budget_for_all_takes_all_that_is_likely():
    assert Choice([4, 4, 4], _worth([0.2, 0.01, 0.9]), 10**9).within(10**9) == [0, 2]


def test_of_two_only_one_may_be_chosen_where_the_other_is_not_asked_for():
    worth = _worth([0.9, 0.4, 0.3], {(0, 1): 0.9}).only([1, 2])
    assert Choice([4, 4, 4], worth, 12).within(12) == [1, 2]
    assert Choice([4, 4, 4], worth, 12).facts([0, 1]) == pytest.approx(0.4)


def test_what_must_be_there_comes_first():
    assert Choice([4, 4], _worth([0.9, 0.2]), 4, must=[1]).within(4) == [1]


def test_probabilities_are_the_same_in_many_threads():
    alone = [one.probability for one in select(TALK, bundled_network(), 30)]
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: select(TALK, bundled_network(), 30), range(8)):
            np.testing.assert_allclose([one.probability for one in found], alone)


def test_nothing_is_said_of_nothing():
    assert select([], bundled_network(), 30) == []
    assert select([("Ann", "")], bundled_network(), 30) == []


def test_a_no_with_its_reason_is_not_dropped():
    turns = [("Ann", "Can you lend me 50 dollars?"), ("Bo", "No, I lost my job in May.")]
    [one] = _candidates(turns)
    assert one.text == "Ann: “Can you lend me 50 dollars?” Bo: “No, I lost my job in May.”"
    assert one.kind == "quoted"


@pytest.mark.parametrize("text", ["If not, come back to me.", "Otherwise I will call you."])
def test_what_hangs_on_a_condition_needs_the_clause_before(text):
    turns = [("Ann", "The garage repairs the car once more."), ("Bo", text)]
    assert report_dialogue(turns).candidates[-1].needs == 0


def test_what_is_said_first_has_more_worth_and_a_greeting_is_no_opening():
    turns = [
        ("Gwen", "Hello there, Noor!"),
        ("Noor", "The translation of chapter nine still isn't in."),
        ("Gwen", "Ewa has broken her wrist, she told me on the phone."),
        ("Noor", "The printer wants everything on the second."),
        ("Gwen", "I'll ask the printer for the ninth, just in case."),
        ("Noor", "He already said no once, when we had the flood."),
    ]
    found = report_dialogue(turns)
    own = found.candidates
    even = np.full(len(own), 0.3)
    none = np.zeros((0, 2), dtype=np.int64)
    worth = Worth(even, even / 15, np.zeros(len(own)), none, np.zeros(0))
    first = next(i for i, one in enumerate(own) if "translation" in one.text)
    [told] = chosen_of(found, own, worth, own[first].words)
    assert told.candidate.text == own[first].text


def test_the_last_word_on_a_time_is_told_though_it_looks_stale():
    turns = [
        ("Ines", "The church is double-booked on Saturday for the concert."),
        ("Lotte", "Sunday the twenty-first, then, at five."),
        ("Ines", "I'll tell the vicar."),
    ]
    found = report_dialogue(turns)
    candidates = found.candidates
    worth = _worth([0.3] * 3, stale=[0.0, 0.3, 0.0])
    text = " ".join(one.candidate.text for one in chosen_of(found, candidates, worth, 17))
    assert "Sunday the twenty-first" in text
    found = report_dialogue([*turns, ("Tariq", "Sunday? No, Monday at six.")])
    worth = _worth(
        [0.3] * 3 + [0.0] * (len(found.candidates) - 3),
        stale=[0.0, 0.3] + [0.0] * (len(found.candidates) - 2),
    )
    text = " ".join(one.candidate.text for one in chosen_of(found, found.candidates, worth, 17))
    assert "Sunday the twenty-first" not in text


@pytest.mark.parametrize(
    ("label", "serves"), [("Bishop", False), ("Stafford", False), ("Dr_2", True)]
)
def test_a_label_serves_by_whole_words(label, serves):
    turns = [(label, "Dinner at Luigi's tonight!"), ("Ann", "I'll bring my brother.")]
    assert len(_candidates(turns)) == (1 if serves else 2)
