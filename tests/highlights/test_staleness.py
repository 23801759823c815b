"""Signs that a later turn changes what was said."""

from dialogist.highlights.staleness import Staleness, said_values, speaks_of_other
from dialogist.highlights.units import units_of

BOOKING = [
    ("Guest", "I'd like a table at Luigi's for four people at half past six."),
    ("Staff", "Please confirm: a table for four people at 6:30 pm on the 5th. Is that right?"),
    ("Guest", "Make it seven o'clock."),
    ("Staff", "Please confirm: a table for four people at 7 pm on the 5th."),
    ("Guest", "Yes, please."),
    ("Staff", "Your table is booked."),
]


def _rows(turns: list[tuple[str, str]]) -> dict[str, dict[str, float]]:
    units = units_of(turns)
    found = Staleness(units)
    return {unit.text: found.row(i) for i, unit in enumerate(units)}


def test_a_time_is_the_same_in_other_words():
    assert not said_values("at quarter to 2").differ(said_values("at 1:45 pm"))
    assert said_values("at quarter to 2").differ(said_values("Make it 2 pm"))
    assert not said_values("three tickets at 8 pm").differ(said_values("two rooms"))
    assert said_values("three tickets").differ(said_values("just 2 tickets"))
    assert said_values("a bus from Leeds").differ(said_values("No, it leaves from York"))
    assert not said_values("a bus from Leeds").differ(said_values("it goes to York"))


def test_a_correction_shows_in_what_it_corrects():
    rows = _rows(BOOKING)
    first = next(row for text, row in rows.items() if "6:30" in text)
    again = next(row for text, row in rows.items() if "7 pm" in text)
    signs = ("reply_differs", "reply_corrects_value", "confirm_changed", "confirmed_again")
    assert all(first[name] for name in signs)
    assert not any(again[name] for name in signs)
    assert again["confirm_agreed"]
    assert not first["confirm_agreed"]
    assert rows[BOOKING[0][1]]["last_differs"]


def test_an_offer_is_passed_over_or_taken():
    offers = [
        ("Clerk", "There is a blue Panda at the station."),
        ("Ann", "Do you have any other cars?"),
        ("Clerk", "There is a red Fiesta at the airport."),
        ("Ann", "That sounds good."),
    ]
    rows = _rows(offers)
    passed, taken = rows[offers[0][1]], rows[offers[2][1]]
    assert passed["passed_over"]
    assert passed["asks_else"]
    assert not passed["taken"]
    assert taken["taken"]
    assert not taken["passed_over"]


def test_what_failed_and_is_tried_again_differs_after_the_failure():
    turns = [
        ("Guest", "A table at 6 pm, please."),
        ("Staff", "I was unable to book it. There is one at 7 pm."),
        ("Guest", "Fine."),
    ]
    rows = _rows(turns)
    assert rows[turns[0][1]]["fails_soon"]
    assert rows[turns[0][1]]["differs_after_failure"]
    assert not rows["There is one at 7 pm."]["differs_after_failure"]


def test_the_last_word_on_a_time_is_what_no_later_turn_changes():
    turns = [
        ("Doctor", "Then tomorrow, quarter to nine."),
        ("Patient", "And can I go up on the roof today?"),
        ("Doctor", "Not today, nor this week."),
        ("Patient", "Could it be Friday?"),
        ("Doctor", "Friday at two."),
    ]
    before = Staleness(units_of(turns[:3]))
    assert before.is_last_word([0])
    moved = [turns[0], ("Patient", "I need the car until Friday.")]
    assert not Staleness(units_of(moved)).is_last_word([0])
    again = [*turns[:1], ("Patient", "Shall I bake you a cake?"), ("Doctor", "Friday, half seven.")]
    assert not Staleness(units_of(again)).is_last_word([0])
    after = Staleness(units_of(turns))
    assert not after.is_last_word([0])
    assert after.is_last_word([3, 4])
    assert not Staleness(units_of([("Ann", "I saw three cows.")])).is_last_word([0])


def test_a_question_with_other_content_is_about_another_matter():
    said = {"nine", "tomorrow", "roof"}
    assert speaks_of_other("And can I cook in the garden today?", said)
    assert not speaks_of_other("Could it be Thursday?", said)
    assert not speaks_of_other("Can I book the roof tomorrow?", said)
