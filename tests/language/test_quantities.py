"""Numbers and times by what they come to, in whichever form."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialogist.language.quantities import Quantity, may_hold, quantities

HOUR = 60
PM = 12 * HOUR


def only(text: str) -> Quantity:
    (found,) = quantities(text)
    return found


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1,500", 1500),
        ("10, 000", 10_000),
        ("100 000", 100_000),
        ("1.5k", 1500),
        ("$2.5 million", 2_500_000),
        ("fifteen hundred", 1500),
        ("a hundred and five", 105),
        ("two thousand three hundred and one", 2301),
        ("twenty-five", 25),
        ("twenty five", 25),
        ("nineteen ninety-nine", 1999),
        ("50%", 0.5),
        ("50 percent", 50),
        ("half", 0.5),
        ("half", 30),
        ("1/2", 0.5),
        ("2½", 2.5),
        ("two and a half", 2.5),
        ("an hour and a half", 90),
        ("12 dollars 50 cents", 12.5),
        ("twelve pounds and fifty pence", 12.5),
        ("35 mil", 35_000_000),
        ("a dozen", 12),
        ("a couple", 2),
        ("the third", 3),
        ("the 21st", 21),
        ("37,5", 37.5),
        ("4. 5", 4.5),
        ("the nineties", 90),
        ("两百五十", 250),
        ("二零一九", 2019),
        ("三万五", 35_000),
        ("十二", 12),
        ("一万零三", 10_003),
        ("1,000/2,000", 0.5),
        ("32,33/34", 32.33 / 34),
        ("3. 5/2", 1.75),
        ("1 000/5", 200),
        ("4;5/6", 0.75),
        ("12,5/7", 12.5 / 7),
        ("1/2 million", 500_000),
        ("50/50 %", 1),
        ("24/7", 247),
    ],
)
def test_numbers(text, value):
    assert any(value == pytest.approx(candidate) for candidate in only(text).values)


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("5 pm", 5 * HOUR + PM),
        ("5 p.m.", 5 * HOUR + PM),
        ("17:00", 5 * HOUR + PM),
        ("8: 30 a. m.", 8 * HOUR + 30),
        ("5.30 pm", 5 * HOUR + 30 + PM),
        ("half past five p.m.", 5 * HOUR + 30 + PM),
        ("five o'clock pm", 5 * HOUR + PM),
        ("five thirty pm", 5 * HOUR + 30 + PM),
        ("noon", PM),
        ("midnight", 0),
        ("12 am", 0),
        ("0:15", 15),
    ],
)
def test_times_whose_half_of_the_day_is_said(text, minutes):
    assert only(text).times == {minutes}


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("5:30", 330),
        ("half past five", 330),
        ("half 5", 330),
        ("quarter to six", 345),
        ("ten to six", 350),
        ("twenty-five past one", 85),
        ("five o'clock", 300),
        ("five thirty", 330),
        ("7.30", 450),
        ("12:15", 15),
    ],
)
def test_times_that_leave_it_open(text, minutes):
    assert only(text).vague == {minutes}


def test_what_can_be_read_in_several_ways_has_all_values():
    found = only("five fifty")
    assert {5.5, 550} <= found.values
    assert found.vague == {350}
    assert found.parts == (5, 50)


def test_a_range_of_hours_is_not_only_a_time():
    assert only("from five to six").parts == (5, 6)


def test_codes_give_their_digits_and_places_are_kept():
    text = "Room A4 at 5 pm"
    assert [text[q.start : q.end] for q in quantities(text)] == ["A4", "5 pm"]


@pytest.mark.parametrize("text", ["no numbers here", "one of them, once", "", "一下"])
def test_texts_without_a_number_worth_checking(text):
    assert not [q for q in quantities(text) if q.values - {1.0}]


@pytest.mark.parametrize(
    "text", ["9" * 5000, "亿" * 5000, "million " * 3000, "5 to " * 2000, "1,234," * 2000, "٣ und ५"]
)
def test_odd_and_long_texts_do_no_harm(text):
    assert all(q.start < q.end for q in quantities(text))


@given(st.text(alphabet="0123456789.,:/ apmone hundredth'½半两万\ud800", max_size=60))
def test_any_text_has_quantities_in_order(text):
    places = [(q.start, q.end) for q in quantities(text)]
    assert places == sorted(places)
    if any(q.values - {1.0} or q.times or q.vague for q in quantities(text)):
        assert may_hold(text)


def test_letters_that_only_look_so() -> None:
    """Patterns take them for s, i and k, whatever their case."""
    assert only("ſix o'clock pm").times == {18 * HOUR}
    assert only("fıve pm").times == {17 * HOUR}
    assert 2000 in only("2 \u212a").values
