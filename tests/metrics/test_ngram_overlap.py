from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score import rouge_scorer

from dialogist.metrics.ngram_overlap import lcs_length, lcs_positions, positions, shared, triple

sequences = st.lists(st.sampled_from("abcd"), max_size=70)  # longer than a machine word


@given(sequences, sequences)
def test_subsequences_are_those_of_rouge_scores_table(reference, tokens):
    """The length, and which of several equally long ones is read out."""
    table = rouge_scorer._lcs_table(reference, tokens)
    places, size = positions(reference), len(reference)
    assert lcs_length(places, size, tokens) == table[-1][-1]
    found = lcs_positions(places, size, tokens)
    expected = rouge_scorer._backtrack_norec(table, reference, tokens)
    assert [i for i in range(size) if found >> i & 1] == expected


def test_by_hand():
    places = positions("abcbdab")
    assert places == {"a": 0b0100001, "b": 0b1001010, "c": 0b0000100, "d": 0b0010000}
    assert lcs_length(places, 7, "bdcaba") == 4
    # A word that nobody has says nothing about the length, but leads the way back.
    assert lcs_positions(positions("ab"), 2, "bxa") in (0b01, 0b10)


def test_a_long_text_takes_no_table():
    """10,000 words each: 10 ** 8 comparisons otherwise."""
    reference = [i % 97 for i in range(10_000)]
    assert lcs_length(positions(reference), 10_000, reference[::-1] + reference) == 10_000


@given(sequences, sequences)
def test_shared_is_the_multisets_intersection(one, other):
    assert shared(Counter(one), Counter(other)) == (Counter(one) & Counter(other)).total()


def test_triple():
    assert triple(0, 0, 5) == (0, 0, 0)
    assert triple(1, 4, 2) == pytest.approx((25, 50, 100 / 3))
