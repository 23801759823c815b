"""What people say to what was proposed, and by when: a line each, with what must come out."""

import pytest

from dialogist.language.quantities import deadline_in, whens_in
from dialogist.language.replies import (
    ASKS_CHANGE,
    CHANGES,
    DECLINES,
    TAKES_BACK,
    agrees,
    content_stems,
    kinds_in,
    values_in,
)


@pytest.mark.parametrize(
    ("reply", "is_yes"),
    [
        ("Sure, I'll do it.", True),
        ("Oh, well, that works.", True),
        ("Sounds like a great plan", True),
        ("That's fine by me.", True),
        ("Friday is perfect.", True),
        ("Yes, but not today.", False),
        ("Okay, I can't come, though.", False),
        ("Sure?", False),
        ("The bus works on Sundays.", False),
        ("I'd rather not.", False),
    ],
)
def test_yes(reply, is_yes):
    assert agrees(reply) is is_yes


@pytest.mark.parametrize(
    ("reply", "is_no"),
    [
        ("No need, thanks.", True),
        ("You don't have to do that.", True),
        ("Please don't send it.", True),
        ("I don't want the insurance.", True),
        ("Let me do that.", True),
        ("I need it.", False),
    ],
)
def test_no(reply, is_no):
    assert bool(DECLINES.search(reply)) is is_no


@pytest.mark.parametrize(
    ("text", "changes", "back", "asks"),
    [
        ("Actually, six is better.", True, False, True),
        ("That's too late for me.", True, False, False),
        ("Never mind, forget it.", False, True, False),
        ("We can't come after all.", True, True, False),
        ("I changed my mind.", True, True, False),
        ("Don't book it.", False, True, False),
        ("Could we make it six?", True, False, True),
        ("Is Friday also possible?", False, False, True),
        ("See you at six.", False, False, False),
    ],
)
def test_changes(text, changes, back, asks):
    found = [bool(sign.search(text)) for sign in (CHANGES, TAKES_BACK, ASKS_CHANGE)]
    assert found == [changes, back, asks]


@pytest.mark.parametrize(
    ("text", "kinds", "values"),
    [
        (
            "at half past noon on Friday",
            {"clock", "day", "number"},
            {"half", "noon", "friday"},
        ),
        ("on May 3 it costs €9.50", {"day", "money", "number"}, {"3", "9", "50"}),
        ("some of them", set(), set()),
    ],
)
def test_values(text, kinds, values):
    assert kinds_in(text) == kinds
    assert values_in(text) == values


def test_content_stems():
    assert content_stems("We were booking the tickets!") == {"book", "ticket"}


@pytest.mark.parametrize(
    ("text", "deadline"),
    [
        ("I'll send it by Friday at 5 pm, promised.", "by Friday at 5 pm"),
        ("It takes within the next two weeks.", "within the next two weeks"),
        ("First thing tomorrow morning then", "First thing tomorrow morning"),
        ("Please answer as soon as possible.", "as soon as possible"),
        ("It ends on May 5th, 2024.", "on May 5th, 2024"),
        ("I don't know.", ""),
    ],
)
def test_by_when(text, deadline):
    assert deadline_in(text) == deadline


@pytest.mark.parametrize(
    ("text", "whens"),
    [
        ("by Friday, or on the 3rd", ["Friday", "the 3rd"]),
        ("in two days, immediately", []),
    ],
)
def test_days_and_times_without_the_word_before(text, whens):
    assert [text[start:end] for start, end in whens_in(text)] == whens
