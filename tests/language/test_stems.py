"""Forms of a word have one stem."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialogist.language.tokens import stem_of

FORMS = """
go went gone going goes | buy bought buys purchases | child children | die died dies dying
book books booked booking | photo pics photograph | want wanna wants | try tried tries trying"""


@pytest.mark.parametrize("forms", FORMS.strip().replace("\n", "|").split("|"))
def test_forms_of_one_word_have_one_stem(forms):
    assert len(set(map(stem_of, forms.split()))) == 1


@pytest.mark.parametrize("words", ["sell buy", "lend borrow", "he she", "at ate"])
def test_other_words_have_others(words):
    assert len(set(map(stem_of, words.split()))) == 2


@given(st.text(max_size=60))
def test_anything_has_a_stem(text):
    assert isinstance(stem_of(text.lower()), str)
