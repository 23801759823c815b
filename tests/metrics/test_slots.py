"""Slot values beside a state in TODSum's form."""

import numpy as np
import pytest

from dialogist.evaluation.scoring import Scores
from dialogist.metrics.base import Case
from dialogist.metrics.slots import SlotMention, Slots, compare_slots, slot_mentions_of, state_of
from dialogist.records import JSON, Dialogue, Utterance

STATE: dict[str, JSON] = {
    "hotel": [
        "book ( people = 3 ; day = monday ; stay = 4 )",
        "inform ( area = dont care ; parking = yes ; stars = 4 ; type = guest house )",
    ],
    "train": [
        "inform ( destination = kings lynn ; day = friday )",
        "inform ( arriveBy = 9:45 ; departure = cambridge )",
    ],
    "restaurant": ["inform ( name = the golden wok restaurant ; food =  ; pricerange = cheap )"],
}
TRUTH = state_of({"dst_str": STATE}) or ()


def wrong(summary: str) -> list[SlotMention]:
    return list(compare_slots(summary, TRUTH).wrong)


def test_a_state_is_read_value_by_value():
    assert SlotMention("hotel", "day", "d0") in TRUTH
    assert SlotMention("train", "arriveBy", "09:45") in TRUTH
    assert SlotMention("hotel", "type", "guesthouse") in TRUTH
    assert not any(one.slot == "food" for one in TRUTH)


@pytest.mark.parametrize("state", [None, "hotel", [], {"hotel": "x"}, {"hotel": [1, "odd"]}])
def test_odd_states_do_no_harm(state):
    assert not state_of({"dst_str": state} if state is not None else {})


def test_a_right_and_whole_summary():
    text = (
        "the user books a hotel for 3 people for four days from monday. the 4-star guesthouse has "
        "parking. the train leaves from cambridge to kings lynn, arriving at 09:45 on friday. the "
        "cheap restaurant has the name of golden wok."
    )
    beside = compare_slots(text, TRUTH)
    assert (beside.wrong, beside.missing) == ((), ())


@pytest.mark.parametrize(
    ("summary", "slot", "value"),
    [
        ("the hotel is booked for 5 people.", "people", "5"),
        ("the user stays at the hotel from tuesday.", "day", "d1"),
        ("the hotel has no parking.", "parking", "no"),
        ("the train arrives at 10:45.", "arriveBy", "10:45"),
        ("the train leaves at 09:45.", "leaveAt", "09:45"),
        ("the train goes to ely.", "destination", "ely"),
        ("the restaurant is expensive.", "pricerange", "expensive"),
        ("the name of the restaurant is the curry garden.", "name", "curry garden"),
    ],
)
def test_a_wrong_value(summary, slot, value):
    assert [(one.slot, one.value) for one in wrong(summary)] == [(slot, value)]


def test_a_value_of_another_domain_is_wrong():
    assert wrong("the train leaves on monday.") == [SlotMention("train", "day", "d0")]
    assert wrong("the hotel is booked from monday.") == []


def test_dont_care_binds_nobody():
    beside = compare_slots("the hotel is in the north.", TRUTH)
    assert beside.wrong == ()
    assert not any(one.slot == "area" for one in beside.missing)


def test_the_domain_of_a_sentence_without_one_is_the_last():
    found = slot_mentions_of("the hotel is cheap. it is in the east.")
    assert found == [
        SlotMention("hotel", "pricerange", "cheap"),
        SlotMention("hotel", "area", "east"),
    ]


def test_figures_are_ratios_of_sums():
    said = Dialogue((Utterance("user", "hi"),), metadata={"dst_str": STATE})
    none = Dialogue((Utterance("user", "hi"),))
    metric = Slots()
    rows = [
        metric.measure(Case("the hotel is booked from monday.", (), said)),
        metric.measure(Case("the hotel is booked from tuesday.", (), said)),
        metric.measure(Case("the hotel is booked from monday.", (), none)),
        metric.measure(Case("the hotel is booked from monday.", ())),
    ]
    scores = Scores("x", tuple("abcd"), metric.columns, np.array(rows), {})
    wanted = sum(one.value != "dont care" for one in TRUTH)
    precision, recall = 0.5, 1 / (2 * wanted)
    assert scores.figure("slots.precision") == 100 * precision
    assert scores.figure("slots.recall") == pytest.approx(100 * recall)
    f1 = 200 * precision * recall / (precision + recall)
    assert scores.figure("slots.f1") == pytest.approx(f1)
    assert np.isnan(scores.each("slots.f1")[2:]).all()


@pytest.mark.parametrize("text", ["", "\ud800", "hotel " * 20_000, "9" * 1000, "用户"])
def test_any_text_is_read(text):
    assert isinstance(slot_mentions_of(text), list)
