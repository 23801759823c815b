import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialogist.language.people import NICKNAMES, SHORT_FORMS
from dialogist.language.porter import stem_of
from dialogist.language.tokens import folded


@pytest.mark.parametrize(
    "words",
    [
        ("go", "went", "gone", "going", "goes"),
        ("buy", "bought", "buys", "purchases"),
        ("child", "children"),
        ("book", "books", "booked", "booking"),
        ("photo", "pics", "photograph"),
        ("want", "wanna", "wants"),
    ],
)
def test_forms_of_one_word_have_one_stem(words):
    assert len(set(map(stem_of, words))) == 1


@pytest.mark.parametrize(("one", "other"), [("sell", "buy"), ("lend", "borrow"), ("he", "she")])
def test_other_words_have_others(one, other):
    assert stem_of(one) != stem_of(other)


@given(st.text(max_size=60))
def test_anything_has_a_stem(text):
    assert isinstance(stem_of(text.lower()), str)


def test_aliases_go_both_ways():
    assert "bob" in NICKNAMES["robert"]
    assert "robert" in NICKNAMES["bob"]
    assert "xmas" in SHORT_FORMS["christmas"]
    assert "polish" in SHORT_FORMS["poland"]
    for table in (NICKNAMES, SHORT_FORMS):
        assert all(word in table[other] for word, others in table.items() for other in others)


def test_folding_drops_accents_and_strokes():
    assert folded("Łódź Ørsted Café") == "lodz orsted cafe"
