"""Copied spans by hand, and the figures made of them."""

import pickle
from math import isnan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialogist.evaluation.scoring import Scores
from dialogist.metrics.base import Case
from dialogist.metrics.copying import Copying, fragments
from dialogist.records import Dialogue

from .dialogue_samples import CHINESE, dialogue

CHAT = dialogue("Ann: I lost my new car key at the beach", "Bo: oh no")


def scores(text: str, of: Dialogue | None) -> Scores:
    metric = pickle.loads(pickle.dumps(Copying()))
    row = metric.measure(Case(text, (), of))
    return Scores("x", ("1",), metric.columns, np.array([row]), {})


def slow_fragments(said: str, heard: str) -> list[int]:
    """Algorithm of the paper's figure 3, word by word."""
    found, i = [], 0
    while i < len(said):
        best = 0
        for j in range(len(heard)):
            n = 0
            while i + n < len(said) and j + n < len(heard) and said[i + n] == heard[j + n]:
                n += 1
            best = max(best, n)
        if best:
            found.append(best)
        i += max(best, 1)
    return found


@given(st.text("abc", max_size=15), st.text("abc", max_size=25))
def test_fragments_are_those_of_the_paper(said, heard):
    assert fragments(said, heard) == slow_fragments(said, heard)


def test_figures_by_hand():
    # Ann | lost | her | new car key | at the beach || 9 words, 8 copied, spans 1 1 6
    of = scores("Ann lost her new car key at the beach.", CHAT)
    assert of.figure("copying.copied") == pytest.approx(100 * 6 / 9)
    assert of.figure("copying.coverage") == pytest.approx(100 * 8 / 9)
    assert of.figure("copying.density") == pytest.approx((1 + 1 + 36) / 9)
    assert of.figure("copying.compression") == pytest.approx(13 / 9)
    assert of.figure("copying.novel1") == pytest.approx(100 / 9)
    assert of.figure("copying.novel2") == pytest.approx(100 * 3 / 8)
    assert of.figure("copying.novel4") == pytest.approx(100 * 3 / 6)
    assert of.figure("copying.words") == 10  # with the full stop


def test_no_span_goes_from_one_turn_into_the_next():
    assert scores("the beach bo oh no", CHAT).figure("copying.density") == pytest.approx(
        (4 + 9) / 5
    )


def test_repetition():
    of = scores("we will meet and we will meet and we will go", None)
    assert of.figure("copying.repeated3") == pytest.approx(100 * 4 / 9)
    assert of.figure("copying.repeats4") == 100
    assert scores("we will meet", None).figure("copying.repeats4") == 0


def test_without_a_dialogue_only_repetition_and_length_have_values():
    of = scores("we meet at noon", None)
    have = {c.key for c in of.columns if not isnan(of.figure(c.key))}
    assert have == {"copying.repeated3", "copying.repeats4", "copying.words"}


def test_chinese_is_read_by_character():
    of = scores("周三可以送达吗", CHINESE)
    assert of.figure("copying.copied") == pytest.approx(100 * 6 / 7)
    assert of.figure("copying.novel1") == pytest.approx(100 / 7)


@pytest.mark.parametrize("text", ["", " ", "...", "\ud800", "\x00", "😀"])
def test_texts_without_words_have_no_share(text):
    of = scores(text, CHAT)
    assert isnan(of.figure("copying.copied"))
    assert of.figure("copying.repeats4") == 0


def test_a_long_text_of_one_word_takes_no_long():
    long = "a " * 20_000
    assert scores(long, dialogue(f"Ann: {long}")).figure("copying.coverage") == 100


def test_more_words_than_letters_of_the_alphabet():
    words = " ".join(f"w{i}" for i in range(70_000))  # past the surrogates
    assert scores(words, dialogue(f": {words}")).figure("copying.copied") == 100
