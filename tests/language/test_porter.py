"""The stems of NLTK, without NLTK; forms of irregular words have one."""

import random
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.stem.porter import PorterStemmer

from dialogist.language.porter import porter_stem, stem_of

DIALOGUES = Path(__file__).resolve().parents[2] / "bench" / "reading" / "dialogues.jsonl"
LETTERS = "aeiouybcdlstz"
ENDINGS = """ational tional enci anci izer bli abli alli entli eli ousli ization ation ator alism
iveness fulness ousness aliti iviti biliti fulli logi icate ative alize iciti ical ful ness al ance
ence er ic able ible ant ement ment ent ion sion tion ou ism ate iti ous ive ize ed ing ies ied eed
y s ss sses ll e at bl iz"""
IRREGULAR = """Sky skies dying lying tying news innings inning outings outing cannings canning howe
proceed exceed succeed A Été don't 4711s"""


def made(chance: random.Random) -> str:
    """A word of the endings that the steps look at."""
    letters = "".join(chance.choices(LETTERS, k=chance.randint(0, 6)))
    return letters + "".join(chance.choices(ENDINGS.split(), k=chance.randint(0, 3)))


def test_stems_are_those_of_nltk() -> None:
    chance, porter = random.Random(0), PorterStemmer()
    words = set(re.findall(r"[a-z]+", DIALOGUES.read_text(encoding="utf-8")))
    words |= {made(chance) for _ in range(20_000)} | {*IRREGULAR.split(), ""}
    assert len(words) > 25_000
    assert {word: porter_stem(word) for word in words} == {
        word: porter.stem(word) for word in words
    }


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
