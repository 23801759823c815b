"""Which pairs form which batch."""

from typing import Any

import numpy as np
import pytest
from pydantic import TypeAdapter
from tests.lab_engine.samples import SYMBOLS, copying_data, pair

from dialogist_lab.data.batching import EncodedPair, SamplerConfig, TokenBucketConfig, collate

SAMPLERS: list[dict[str, Any]] = [
    {"kind": "shuffle-buffer", "examples": 7, "buffer": 20},
    {"kind": "shuffle-buffer", "examples": 64, "buffer": 1000},
    {"kind": "token-bucket", "tokens": 90, "chunk": 3},
]


@pytest.mark.parametrize("options", SAMPLERS)
def test_an_epoch_has_each_pair_once_in_an_order_of_seed_and_epoch(options: dict[str, Any]) -> None:
    sampler: Any = TypeAdapter(SamplerConfig).validate_python(options)
    lengths = copying_data(101).lengths
    plan = sampler.plan(lengths, 1, 0)
    assert sorted(np.concatenate(plan).tolist()) == list(range(101))
    again = sampler.plan(lengths, 1, 0)
    assert all(np.array_equal(a, b) for a, b in zip(plan, again, strict=True))
    for seed, epoch in ((1, 1), (2, 0)):
        other = sampler.plan(lengths, seed, epoch)
        assert np.concatenate(other).tolist() != np.concatenate(plan).tolist()


def test_the_orders_are_those_of_earlier_releases() -> None:
    """Losses of recorded runs come back only in their order."""
    lengths = copying_data(12).lengths
    shuffled: Any = TypeAdapter(SamplerConfig).validate_python(SAMPLERS[0] | {"buffer": 5})
    assert np.concatenate(shuffled.plan(lengths, 1, 0)).tolist() == SHUFFLED
    bucketed = TokenBucketConfig(tokens=40, chunk=2).plan(lengths, 1, 0)
    assert [batch.tolist() for batch in bucketed] == BUCKETED


SHUFFLED = [3, 5, 4, 2, 7, 6, 8, 9, 1, 11, 10, 0]
BUCKETED = [[3, 0, 5], [2, 8], [7], [11, 6], [10, 1], [9, 4]]


def test_buckets_have_like_lengths_and_keep_their_size() -> None:
    lengths = copying_data(400).lengths
    plan = TokenBucketConfig(tokens=120).plan(lengths, 1, 0)
    padded = [len(b) * (lengths[b, 0].max() + lengths[b, 1].max()) for b in plan]
    assert max(padded) <= 120
    assert sum(padded) < 1.1 * lengths.sum(), "hardly any padding"


def test_a_batch_says_what_is_real_and_whose() -> None:
    given = EncodedPair((2, 5, 6, 7, 3), (2, 8, 3), (1, 3))
    batch = collate([given, pair([9, 9, 9, 9], [4, 5])], SYMBOLS)
    assert batch.source.tolist() == [[2, 5, 6, 7, 3, 0], [2, 9, 9, 9, 9, 3]]
    assert batch.source_mask.sum(dim=1).tolist() == [5, 6]
    assert batch.utterance.tolist() == [[-1, 0, 0, 1, -1, -1], [-1, 0, 0, 0, 0, -1]]
    assert batch.target.inputs.tolist() == [[2, 8, 3], [2, 4, 5]]
    assert batch.target.labels[batch.target.mask].tolist() == [8, 3, 4, 5, 3]
