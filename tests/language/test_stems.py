"""Forms of a word have one stem."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialogist.language.tokens import stem_of


@pytest.mark.parametrize(
    "words",
    [
        ("go", "went", "gone", "going", "goes"),
        ("buy", "bought", "buys", "purchases"),
        ("child", "children"),
        ("book", "books", "booked", "booking"),
        ("photo", "pics", "photograph"),
        ("want", "wanna", "wants"),
        ("try", "tried", "tries", "trying"),
        ("die", "died", "dies", "dying"),
    ],
)
def test_forms_of_one_word_have_one_stem(words):
    assert len(set(map(stem_of, words))) == 1


@pytest.mark.parametrize(
    ("one", "other"), [("sell", "buy"), ("lend", "borrow"), ("he", "she"), ("at", "ate")]
)
def test_other_words_have_others(one, other):
    assert stem_of(one) != stem_of(other)


@given(st.text(max_size=60))
def test_anything_has_a_stem(text):
    assert isinstance(stem_of(text.lower()), str)
