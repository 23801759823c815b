import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.learning import pairs_of_all

from dialogist.data.collate import EncodedPair, collate, lengths_of, serving_pairs
from dialogist.data.encode import Cuts, Encoded
from dialogist.records import Coverage
from dialogist.tokenizers import Symbols

ids = st.lists(st.integers(0, 70_000), min_size=1, max_size=9).map(tuple)

ENCODED = [
    Encoded((2, 5, 6, 3), (1,), ((2, 7, 3), (2, 3)), id="x", coverage=Coverage(1, 1, 2, 2)),
    Encoded(source=(2, 3), starts=(), id="y"),
]


def test_training_pairs_are_one_per_reference():
    assert pairs_of_all(ENCODED) == [
        EncodedPair((2, 5, 6, 3), (2, 7, 3), "x", (1,)),
        EncodedPair((2, 5, 6, 3), (2, 3), "x", (1,)),
    ]


def test_a_dialogue_without_a_token_teaches_nothing():
    silent = Encoded(source=(2, 3), starts=(), targets=((2, 7, 3),), id="z")
    assert pairs_of_all([silent]) == []
    cuts = Cuts()
    cuts.add(silent.coverage)
    assert "1 have no token and are left out" in str(cuts + Cuts())


def test_serving_pairs_are_one_per_dialogue():
    assert serving_pairs(ENCODED) == [
        EncodedPair((2, 5, 6, 3), (), "x", (1,)),
        EncodedPair((2, 3), (), "y"),
    ]


def test_padding_masks_and_shift_by_hand():
    pairs = [
        EncodedPair((2, 5, 3), (2, 7, 8, 3), "x"),
        EncodedPair((2, 5, 6, 4, 3), (2, 9, 3), "y"),
    ]
    batch = collate(pairs, Symbols(0, 1, 2))
    assert batch.source.tolist() == [[2, 5, 3, 0, 0], [2, 5, 6, 4, 3]]
    assert batch.source_mask.tolist() == [[True] * 3 + [False] * 2, [True] * 5]
    assert batch.target_in.tolist() == [[2, 7, 8], [2, 9, 3]]
    assert batch.target_out.tolist() == [[7, 8, 3], [9, 3, 0]]
    assert batch.target_mask.tolist() == [[True, True, True], [True, True, False]]
    assert batch.ids == ("x", "y")
    assert len(batch) == 2
    assert batch.target_tokens == 5


def test_masks_follow_lengths_not_the_padding_id():
    batch = collate(
        [EncodedPair((9, 9, 9), (9, 9, 9)), EncodedPair((9,), (9, 9))], Symbols(9, 1, 2)
    )
    assert batch.source_mask.tolist() == [[True] * 3, [True, False, False]]
    assert batch.target_mask.tolist() == [[True, True], [True, False]]


def test_a_serving_batch_has_no_target_positions():
    batch = collate(serving_pairs(ENCODED), Symbols(0, 1, 2))
    assert batch.source.shape == (2, 4)
    assert batch.target_in.shape == batch.target_out.shape == batch.target_mask.shape == (2, 0)
    assert batch.target_tokens == 0


@given(st.lists(st.builds(EncodedPair, ids, ids, st.text()), min_size=1, max_size=8))
def test_every_pair_comes_back_out_of_its_batch(pairs):
    batch = collate(pairs, Symbols(7, 1, 2))
    assert batch.source.dtype == batch.target_out.dtype == torch.int64
    for row, pair in enumerate(pairs):
        assert tuple(batch.source[row][batch.source_mask[row]].tolist()) == pair.source
        assert set(batch.source[row][~batch.source_mask[row]].tolist()) <= {7}
        mask = batch.target_mask[row]
        assert tuple(batch.target_in[row][mask].tolist()) == pair.target[:-1]
        assert tuple(batch.target_out[row][mask].tolist()) == pair.target[1:]
    assert batch.ids == tuple(pair.id for pair in pairs)


def test_lengths():
    assert lengths_of(pairs_of_all(ENCODED)).tolist() == [[4, 3], [4, 2]]
    assert lengths_of([]).shape == (0, 2)
