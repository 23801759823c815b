"""What SGD's annotations say a summary must hold."""

import gzip
import json
from pathlib import Path

from dialogist.recipe.sgd_marks import holds, read_sgd, said_in

TURNS = [
    ("USER", "I want a table in Oakland.", [["Food", [["INFORM", "city", ["Oakland"]]]]]),
    ("SYSTEM", "How about Rico's Diner?", [["Food", [["OFFER", "name", ["Rico's Diner"]]]]]),
    ("USER", "Anything else?", [["Food", [["REQUEST_ALTS", "", []]]]]),
    ("SYSTEM", "How about Mua Grill?", [["Food", [["OFFER", "name", ["Mua Grill"]]]]]),
    (
        "USER",
        "Good. Book it for 7 pm.",
        [["Food", [["SELECT", "", []], ["INFORM", "t", ["7 pm"]]]]],
    ),
    (
        "SYSTEM",
        "Please confirm: a table at Mua Grill in Oakland at 7 pm.",
        [["Food", [["CONFIRM", "name", ["Mua Grill"]], ["CONFIRM", "t", ["7 pm"]]]]],
    ),
    ("USER", "Make it 8 pm.", [["Food", [["INFORM", "t", ["8 pm"]]]]]),
    ("SYSTEM", "Your table has been reserved.", [["Food", [["NOTIFY_SUCCESS", "", []]]]]),
]


def _turns(turns: list = TURNS) -> list[dict[str, object]]:
    return [{"s": who, "t": text, "a": acts} for who, text, acts in turns]


def _acts(who: str, *acts: list) -> tuple[str, str, list]:
    return who, "", [["Food", list(acts)]]


def test_the_last_word_holds_and_refused_offers_do_not():
    facts = said_in(_turns()).facts()
    assert facts["Food.t"] == {"8 pm"}
    assert facts["Food.name"] == {"mua grill"}


def test_an_offer_that_is_taken_after_a_failure_replaces_what_was_wanted():
    turns = [
        _acts("USER", ["INFORM", "t", ["7 pm"]], ["INFORM", "date", ["the 5th"]]),
        _acts("SYSTEM", ["CONFIRM", "t", ["7 pm"]], ["CONFIRM", "date", ["March 5th"]]),
        _acts("USER", ["AFFIRM", "", []]),
        _acts("SYSTEM", ["NOTIFY_FAILURE", "", []], ["OFFER", "t", ["6 pm"]],
              ["OFFER", "date", ["March 5th"]]),
    ]  # fmt: skip
    taken = said_in(_turns([*turns, _acts("USER", ["AFFIRM", "", []])])).facts()
    assert taken == {"Food.t": {"6 pm"}, "Food.date": {"the 5th", "march 5th"}}
    refused = said_in(_turns([*turns, _acts("USER", ["NEGATE", "", []])]))
    assert refused.facts()["Food.t"] == {"7 pm"}
    assert refused.refusals == {4}


def test_what_was_booked_holds_and_what_is_listed_is_a_choice():
    turns = [
        _acts("SYSTEM", ["REQUEST", "kind", ["thai", "french"]]),
        _acts("USER", ["INFORM", "kind", ["thai"]]),
        _acts("SYSTEM", ["CONFIRM", "kind", ["thai"]]),
        _acts("USER", ["AFFIRM", "", []]),
        _acts("SYSTEM", ["NOTIFY_SUCCESS", "", []]),
        _acts("USER", ["INFORM", "kind", ["french"]]),
    ]
    said = said_in(_turns(turns))
    assert said.facts() == {"Food.kind": {"thai", "french"}}
    assert 0 not in {turn for turn, _, _ in said.values}


def test_answers_hold_while_the_same_thing_is_offered():
    turns = [
        _acts("SYSTEM", ["OFFER", "name", ["Mua Grill"]]),
        _acts("USER", ["REQUEST", "price", ["cheap"]]),
        _acts("SYSTEM", ["INFORM", "price", ["moderate"]]),
    ]
    again = _acts("SYSTEM", ["OFFER", "name", ["mua grill"]], ["OFFER", "t", ["6 pm"]])
    assert said_in(_turns([*turns, again])).facts() == {"Food.price": {"moderate"}}
    other = _acts("SYSTEM", ["OFFER", "name", ["Rico's Diner"]])
    assert said_in(_turns([*turns, other])).facts() == {}


def test_marks_are_values_that_hold_outcomes_and_stale_ones(tmp_path: Path):
    path = tmp_path / "train.jsonl.gz"
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write(json.dumps({"id": "1_00001", "turns": _turns()}) + "\n")
    [one] = read_sgd(path, 5)
    number = {unit.turn: i for i, unit in enumerate(one.told.units)}
    whole = {i: unit.text for i, unit in enumerate(one.told.units)}
    eight = next(i for i, text in whole.items() if "8 pm" in text)
    assert any(holds(fact.spans, {eight}) for fact in one.facts)
    assert any(holds(fact.spans, {number[7]}) for fact in one.facts)
    rico = next(i for i, text in whole.items() if "Rico" in text)
    assert any(holds(span, {rico}) for span in one.stale)
    assert not any(holds(fact.spans, {rico}) for fact in one.facts)
