import time

import pytest

from dialogist.language.patterns import calendar_value, entities


def found(text: str) -> list[tuple[str, str]]:
    return [(entity.kind, text[entity.start : entity.end]) for entity in entities(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Write to ann.lee@mail.co.uk.", [("email", "ann.lee@mail.co.uk")]),
        (
            "See https://a.org/x?y=1 or booking.com",
            [("url", "https://a.org/x?y=1"), ("url", "booking.com")],
        ),
        ("Call 416-539-3983 now", [("phone", "416-539-3983")]),
        ("It costs 1000000 or 100 000", []),
        ("Flight CA621, iPhone6, A4", [("code", "CA621"), ("code", "iPhone6"), ("code", "A4")]),
        ("At 5pm, 10km away, the 20th", []),
        ("@Tesco answers <LINK>", [("handle", "@Tesco"), ("mask", "<LINK>")]),
        ("They may meet on Monday in May", [("day", "Monday"), ("month", "May")]),
        ("周三送达，[数字]元，5月", [("day", "周三"), ("mask", "[数字]"), ("month", "5月")]),
        ("进入win10系统", [("code", "win10")]),
    ],
)
def test_entities_are_told_by_their_form(text, expected):
    assert found(text) == expected


def test_spellings_of_one_entity_have_one_value():
    values = {entity.value for entity in entities("+1 416-539-3983, 1 416.539.3983")}
    assert values == {"14165393983"}
    assert {e.value for e in entities("星期天 周日 礼拜天 Sundays")} == {"d6"}


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("mon", "d0"),
        ("thurs", "d3"),
        ("saturady", "d5"),
        ("sept", "m9"),
        ("februrary", "m2"),
        ("march", "m3"),
        ("market", ""),
        ("decent", ""),
        ("", ""),
    ],
)
def test_calendar_words_may_be_short_or_misspelt(word, value):
    assert calendar_value(word) == value


@pytest.mark.parametrize(
    "text", ["a@" * 3000, "1 23 " * 3000, "a.b-c." * 3000, "a" * 20_000, "1" * 20_000]
)
def test_long_texts_take_no_long(text):
    start = time.process_time()
    list(entities(text))
    assert time.process_time() - start < 5  # quadratic time would be minutes
