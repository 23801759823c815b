import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialogist.metrics.bleu import LabelScore, LabelScorer

LABELS = ("User approval", "User disapproval", "Solution", "End")
A, D, S, E = LABELS
SCORER = LabelScorer(LABELS, longest=6)
sequences = st.lists(st.sampled_from(LABELS), min_size=2, max_size=6)


def test_by_hand():
    # Wanted S A E, found A E E: 2 of 3 labels; of S-A and A-E the second; common A E.
    score = SCORER.score([A, E, E], [S, A, E])
    assert score.rouge1 == pytest.approx(100 * 2 / 3)
    assert score.rouge2 == pytest.approx(50)
    assert score.rougeL == pytest.approx(100 * 2 / 3)
    # Recall does not mind what is too much, F1 does: common S E of 4 found and 2 wanted.
    score = SCORER.score([S, A, D, E], [S, E])
    assert (score.rouge1, score.rouge2) == (100, 0)
    assert score.rougeL == pytest.approx(100 * 4 / 6)


def test_a_label_is_one_token():
    """Approval and disapproval share a word, and nothing else."""
    assert SCORER.score([D], [A]) == LabelScore(0, None, 0)


def test_what_cannot_be_found_is_none():
    assert SCORER.score([], []) == LabelScore(None, None, None)
    assert SCORER.score([A], []) == LabelScore(None, None, 0)
    assert SCORER.score([], [A]) == LabelScore(0, None, 0)
    assert SCORER.score([], [A, E]) == LabelScore(0, 0, 0)


@given(sequences)
def test_the_same_sequence_has_100(labels):
    assert SCORER.score(labels, labels) == LabelScore(100, 100, 100)


def test_bleu_of_labels():
    bleu = SCORER.bleu
    assert bleu.score([SCORER.count([S, A, E, D], [[S, A, E, D]])]) == pytest.approx(100)
    # Four labels of five right, in order: as words a b c d x.
    counts = SCORER.count([S, A, E, D, S], [[S, A, E, D, E]])
    assert bleu.score([counts]) == pytest.approx(100 * 0.2**0.25)


@pytest.mark.parametrize(("longest", "orders"), [(0, 1), (1, 1), (3, 3), (4, 4), (9, 4)])
def test_ngrams_are_no_longer_than_references(longest, orders):
    assert LabelScorer(LABELS, longest).bleu.orders == orders
