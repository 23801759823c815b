import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from dialogist.data.collate import Pair
from dialogist.data.sampler import SamplerConfig, ShuffleBufferConfig, TokenBucketConfig

lengths = st.lists(st.tuples(st.integers(1, 30), st.integers(1, 12)), max_size=60)
seeds = st.integers(0, 2**31)
SAMPLERS = st.one_of(
    st.builds(ShuffleBufferConfig, examples=st.integers(1, 9), buffer=st.integers(1, 80)),
    st.builds(TokenBucketConfig, tokens=st.integers(16, 200), chunk=st.integers(1, 4)),
)
BOTH = [ShuffleBufferConfig(examples=4, buffer=20), TokenBucketConfig(tokens=64, chunk=2)]


def pairs_of(sizes):
    return [Pair((1,) * source, (1,) * target) for source, target in sizes]


def flat(plan):
    return [i for batch in plan for i in batch]


MIXED = pairs_of([(1 + i % 7, 2 + i % 3) for i in range(60)])


@given(SAMPLERS, lengths, seeds, seeds)
def test_every_example_exactly_once(sampler, sizes, seed, epoch):
    plan = sampler.plan(pairs_of(sizes), seed, epoch)
    assert sorted(flat(plan)) == list(range(len(sizes)))
    assert all(plan)
    assert plan == sampler.plan(pairs_of(sizes), seed, epoch)


@pytest.mark.parametrize("sampler", BOTH)
def test_seeds_and_epochs_differ(sampler):
    plans = [sampler.plan(MIXED, seed, epoch) for seed in (0, 1, 11) for epoch in (0, 1, 2)]
    assert len({str(plan) for plan in plans}) == 9


@given(lengths, st.integers(16, 200), st.integers(1, 4), seeds)
def test_token_bucket_is_bounded_unless_one_pair_is_larger(sizes, tokens, chunk, seed):
    for batch in TokenBucketConfig(tokens=tokens, chunk=chunk).plan(pairs_of(sizes), seed, 0):
        widest = max(sizes[i][0] for i in batch) + max(sizes[i][1] for i in batch)
        assert len(batch) * widest <= tokens or len(batch) == 1


def test_token_bucket_by_hand():
    # Ten pairs of 2 + 2 tokens, 16 to a batch: 4 + 4 + 2; one large pair stands alone.
    plan = TokenBucketConfig(tokens=16).plan(pairs_of([(2, 2)] * 10 + [(20, 5)]), 0, 0)
    assert sorted(map(len, plan)) == [1, 2, 4, 4]
    assert [10] in plan


def test_token_bucket_puts_like_lengths_together():
    sizes = [(3, 3), (30, 3)] * 20
    plan = TokenBucketConfig(tokens=200, chunk=50).plan(pairs_of(sizes), 3, 0)
    mixed = [batch for batch in plan if len({i % 2 for i in batch}) > 1]
    assert len(mixed) <= 1


@given(st.integers(0, 50), st.integers(1, 7), seeds)
def test_a_buffer_of_one_keeps_the_file_order(count, examples, seed):
    plan = ShuffleBufferConfig(examples=examples, buffer=1).plan(MIXED[:count], seed, 0)
    assert flat(plan) == list(range(count))
    assert [len(batch) for batch in plan[:-1]] == [examples] * (len(plan) - 1)


@given(st.integers(1, 60), st.integers(1, 60), seeds)
def test_no_example_comes_earlier_than_the_buffer_reaches(count, buffer, seed):
    # When place p is drawn, p examples have left: the buffer has seen indices up to p + buffer - 1.
    order = flat(ShuffleBufferConfig(buffer=buffer).plan(MIXED[:count], seed, 0))
    assert all(index <= place + buffer - 1 for place, index in enumerate(order))


def test_the_bound_of_the_buffer_is_reached():
    plans = [flat(ShuffleBufferConfig(buffer=5).plan(MIXED, 0, epoch)) for epoch in range(20)]
    assert max(index - place for plan in plans for place, index in enumerate(plan)) == 4


def test_a_full_buffer_is_an_even_shuffle():
    # The first of four examples: each place about 250 times in 1000 (standard deviation 14).
    sampler = ShuffleBufferConfig(examples=4, buffer=4)
    places = [flat(sampler.plan(MIXED[:4], 0, epoch)).index(0) for epoch in range(1000)]
    assert all(180 < places.count(place) < 320 for place in range(4))


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("shuffle-buffer", ShuffleBufferConfig), ("token-bucket", TokenBucketConfig)],
)
def test_kind_chooses_the_sampler(kind, expected):
    assert TypeAdapter(SamplerConfig).validate_python({"kind": kind}) == expected()
