"""Statements that are not told without another, and the exact search that keeps to it."""

import numpy as np
import pytest

from dialogist.highlights.choice import Choice
from dialogist.highlights.features import pairs_of, rows_of, signs_of
from dialogist.highlights.network import Worth, bundled_network
from dialogist.highlights.select import chosen_of, report_dialogue, select
from dialogist.highlights.ties import ties_of

PRINTER = [
    ("Signe", "The blue is too dark on the cover, and the author has chosen it herself."),
    ("Signe", "Karim, call her tomorrow evening, please."),
    ("Karim", "I'm off tomorrow."),
    ("Abigail", "I'll call her tomorrow evening."),
    ("Signe", "Good."),
]


def _tied(turns: list[tuple[str, str]]) -> list[tuple[str, str]]:
    found = report_dialogue(turns)
    candidates = found.candidates
    pairs = ties_of(candidates, found.units).pairs
    return [(candidates[i].text, candidates[j].text) for i, j in sorted(pairs)]


@pytest.mark.parametrize(
    ("turns", "first", "second"),
    [
        (PRINTER, "tomorrow evening", "off tomorrow"),
        (
            [
                ("Nkechi", "I'll write to the tenants that it's done before Christmas."),
                ("Dario", "Don't name a date, please."),
            ],
            "before Christmas",
            "name a date",
        ),
        (
            [
                ("Agent", "I could send it again tomorrow, same window."),
                ("Customer", "Tomorrow we're at the hospital. How about Thursday?"),
                ("Agent", "Thursday I only have the morning."),
            ],
            "tomorrow",
            "Thursday",
        ),
        (
            [("Trev", "I sent the ticket but it was not allocated."), ("Sue", "Fine.")],
            "ticket",
            "allocated",
        ),
        (
            [("Trev", "I was going to come, but my car broke."), ("Sue", "Fine.")],
            "car broke",
            "going to come",
        ),
        (
            [("Trev", "I called the garage. Because that noise was worrying me."), ("Sue", "Hm.")],
            "Because",
            "garage",
        ),
        (
            [("Trev", "I take 10 kilos. Actually make it 15."), ("Sue", "Fine.")],
            "10",
            "15",
        ),
        (
            [
                ("Ann", "We have sixty entries and four shelters."),
                ("Bo", "Three. They pull down the one by the tannery."),
            ],
            "four",
            "pull down",
        ),
        (
            [
                ("Felix", "You'd be the catcher, at the bottom."),
                ("Ngaire", "Of the cheese?"),
                ("Felix", "Of me."),
                ("Ngaire", "Absolutely not, Felix. I'll hold the coats."),
            ],
            "catcher",
            "Absolutely not",
        ),
        (
            [
                ("Agent", "We refund tickets after the trip."),
                ("Agent", "But only if the train was late."),
            ],
            "refund",
            "only if",
        ),
    ],
)
def test_what_is_refused_or_limited_is_tied_to_what_refuses_or_limits_it(turns, first, second):
    assert any(first in one and second in other for one, other in _tied(turns))


@pytest.mark.parametrize("reply", ["Good idea.", "No problem, I'll do that.", "No worries."])
def test_what_is_accepted_is_free(reply):
    turns = [("Signe", "Call her tomorrow evening, please."), ("Karim", reply)]
    assert _tied(turns) == []


@pytest.mark.parametrize(
    "reply",
    ["That's too far for me.", "It won't work.", "No, I have no car."],
)
def test_what_is_refused_is_tied(reply):
    turns = [("Signe", "Call her tomorrow evening, please."), ("Karim", reply)]
    assert len(_tied(turns)) == 1


@pytest.mark.parametrize(
    ("said", "reply"),
    [
        ("Please take the syrup in the evening. Do you have a fever?", "No, not since Sunday."),
        ("I'll give you a cream for the hand.", "Can't I have the daily pill?"),
        ("I'll write you off sick for a week.", "And no beer at all?"),
        ("Take two a day for a week.", "Two. And the syrup?"),
        ("Two a day. How old are you?", "Ninety. I feel it."),
    ],
)
def test_a_no_to_something_else_refuses_nothing(said, reply):
    assert _tied([("Doctor", said), ("Patient", reply)]) == []


@pytest.mark.parametrize(
    ("turns", "gone"),
    [
        ([("Patient", "He has eaten half a tube of it. No, most of it. He is fine.")], "half"),
        (
            [
                ("Agent", "I'll send you the blue cover tomorrow."),
                ("Customer", "My whole sofa is blue."),
                ("Agent", "Then not that one. You get the green cover on Friday."),
            ],
            "tomorrow",
        ),
    ],
)
def test_what_is_corrected_in_a_word_is_not_told_without_it(turns, gone):
    for budget in range(6, 40):
        text = " ".join(o.candidate.text for o in select(turns, bundled_network(), budget))
        assert gone not in text or "green" in text


def test_a_changed_plan_is_told_with_its_change_or_not_at_all():
    for budget in range(6, 50):
        text = " ".join(o.candidate.text for o in select(PRINTER, bundled_network(), budget))
        assert "off tomorrow" in text or "Karim" not in text


def test_an_answer_under_a_condition_is_told_with_the_question_that_names_it():
    turns = [("Customer", "And if it fails again?"), ("Agent", "Then you get the full 2,400.")]
    [one] = report_dialogue(turns).candidates
    assert "if it fails again" in one.text
    assert "2,400" in one.text


def test_an_answer_without_a_clause_is_told_with_its_question():
    turns = [("Caller", "And the notice?"), ("Agent", "Yes, one month, if you send us a proof.")]
    [one] = report_dialogue(turns).candidates
    assert one.text.index("notice") < one.text.index("one month")


def _worth(alone: list[float]) -> Worth:
    each = np.array(alone, dtype=np.float32)
    none = np.zeros((0, 2), dtype=np.int64)
    return Worth(each, each, each * 0, none, np.zeros(0, dtype=np.float32))


def test_ties_are_kept_by_an_exact_search():
    random = np.random.default_rng(5)
    for _ in range(20):
        words = random.integers(1, 6, 8).tolist()
        places = [(i, j) for i in range(8) for j in range(8) if i != j and abs(i - j) <= 3]
        drawn = random.choice(len(places), 5, replace=False)
        ties = {places[k]: random.choice([0.2, 10.0]) for k in drawn}
        choice = Choice(words, _worth(random.uniform(0.2, 1, 8).tolist()), 14, (), ties)
        subsets = ([i for i in range(8) if bits >> i & 1] for bits in range(256))
        best = max(choice.facts(own) for own in subsets if sum(words[i] for i in own) <= 14)
        assert choice.facts(choice.within(14)) == pytest.approx(best)
        assert choice.values()[14] == pytest.approx(best)


def test_facts_that_stand_in_few_words_make_a_short_summary():
    people = ("Ann", "Bo", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hana", "Ivo", "Jan")
    turns = [(one, f"I bought {n + 2} tables in Leeds yesterday.") for n, one in enumerate(people)]
    found = report_dialogue(turns)
    candidates = found.candidates
    said = []
    for alone in ([0.9] * 3 + [0.2] * 7, [0.41] * 10):
        told = chosen_of(found, candidates, _worth(alone), 40, usual=0.44)
        said.append([one.candidate.words for one in told])
    assert said[0] == [candidates[i].words for i in range(3)]
    assert 0.35 < sum(said[1]) / sum(unit.words for unit in found.units) < 0.5


@pytest.mark.parametrize(
    ("turns", "barred"),
    [
        (
            [
                ("Clerk", "There is a blue Panda at the station."),
                ("Ann", "Do you have any other cars?"),
                ("Clerk", "There is a red Fiesta at the airport."),
                ("Ann", "That sounds good."),
            ],
            ["There is a blue Panda at the station."],
        ),
        ([("Clerk", "There is a fault in the cable."), ("Ann", "Is there anything else?")], []),
        ([("Clerk", "There is a fault in the cable."), ("Clerk", "Any other problems?")], []),
        (
            [
                ("Staff", "Please confirm: a table for four people at 6:30 pm."),
                ("Guest", "Make it seven o'clock."),
            ],
            ["6:30"],
        ),
        (
            [
                ("Staff", "Please confirm: a table for four people at 6:30 pm."),
                ("Guest", "Yes, at 6:30 pm."),
            ],
            [],
        ),
    ],
)
def test_offers_that_are_passed_over_and_values_that_are_corrected_are_not_told(
    turns: list[tuple[str, str]], barred: list[str]
):
    found = report_dialogue(turns)
    texts = [found.candidates[i].text for i in ties_of(found.candidates, found.units).barred]
    assert len(texts) == len(barred)
    assert all(words in text for words, text in zip(barred, texts, strict=True))


def test_signs_of_a_change_make_a_statement_stale():
    def stale(reply: str) -> float:
        turns = [
            ("Guest", "I would like a table for four people at half past six."),
            ("Staff", "You'd like a table for 4 people at 6:30 pm on the 5th. Is that right?"),
            ("Guest", reply),
            ("Staff", "Your table is booked."),
        ]
        found = report_dialogue(turns)
        candidates, network = found.candidates, bundled_network()
        worth = network.worth(
            rows_of(candidates, found.units, network.normalized(found.features(network.rarity))),
            signs_of(candidates, found.units),
            pairs_of(candidates, found.units, network.rarity),
            network.piece_table.pieces_of(found.units, candidates),
        )
        place = next(i for i, one in enumerate(candidates) if "6:30" in one.text)
        return float(worth.stale[place])

    assert stale("No, make it seven o'clock for six people.") > 2 * stale("Yes, that is right.")


def test_a_question_about_something_else_moves_no_appointment():
    turns = [("Patient", "I had a curry."), ("Doctor", "Then tomorrow, quarter to nine.")]
    asked = [*turns, ("Patient", "Can I go up on the roof today?")]
    assert not _tied(asked)
    asked[-1] = ("Patient", "Would it be possible today?")
    assert [other for _, other in _tied(asked)] == ["Patient: “Would it be possible today?”"]
