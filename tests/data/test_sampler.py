import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from dialogist.data import collate as module
from dialogist.data.collate import BatchPlan, SamplerConfig, ShuffleBufferConfig, TokenBucketConfig

lengths = st.lists(st.tuples(st.integers(1, 30), st.integers(1, 12)), max_size=60)
seeds = st.integers(0, 2**31)
SAMPLERS = st.one_of(
    st.builds(ShuffleBufferConfig, examples=st.integers(1, 9), buffer=st.integers(1, 80)),
    st.builds(TokenBucketConfig, tokens=st.integers(16, 200), chunk=st.integers(1, 4)),
)
BOTH = [ShuffleBufferConfig(examples=4, buffer=20), TokenBucketConfig(tokens=64, chunk=2)]

BUFFERED = [3, 1, 2, 6, 7, 4, 8, 5, 0]
BUCKETED = [[0, 7, 1, 8], [2, 3, 4], [5, 6]]


def array(sizes):
    return np.array(sizes, dtype=np.int32).reshape(-1, 2)


def lists(plan):
    return [batch.tolist() for batch in plan]


def flat(plan):
    return plan.indices.tolist()


MIXED = array([(1 + i % 7, 2 + i % 3) for i in range(60)])


@given(SAMPLERS, lengths, seeds, seeds)
def test_every_example_exactly_once(sampler, sizes, seed, epoch):
    plan = sampler.plan(array(sizes), seed, epoch)
    batches = lists(plan)
    assert sorted(i for batch in batches for i in batch) == list(range(len(sizes)))
    assert all(batches)
    assert batches == lists(sampler.plan(array(sizes), seed, epoch))


@pytest.mark.parametrize("sampler", BOTH)
def test_seeds_and_epochs_differ(sampler):
    plans = [sampler.plan(MIXED, seed, epoch) for seed in (0, 1, 11) for epoch in (0, 1, 2)]
    assert len({str(lists(plan)) for plan in plans}) == 9


@given(lengths, st.integers(16, 200), st.integers(1, 4), seeds)
def test_token_bucket_is_bounded_unless_one_pair_is_larger(sizes, tokens, chunk, seed):
    for batch in TokenBucketConfig(tokens=tokens, chunk=chunk).plan(array(sizes), seed, 0):
        widest = max(sizes[i][0] for i in batch) + max(sizes[i][1] for i in batch)
        assert len(batch) * widest <= tokens or len(batch) == 1


def test_token_bucket_by_hand():
    # Ten pairs of 2 + 2 tokens, 16 to a batch: 4 + 4 + 2; one large pair stands alone.
    plan = lists(TokenBucketConfig(tokens=16).plan(array([(2, 2)] * 10 + [(20, 5)]), 0, 0))
    assert sorted(map(len, plan)) == [1, 2, 4, 4]
    assert [10] in plan


def test_token_bucket_puts_like_lengths_together():
    sizes = [(3, 3), (30, 3)] * 20
    plan = TokenBucketConfig(tokens=200, chunk=50).plan(array(sizes), 3, 0)
    mixed = [batch for batch in lists(plan) if len({i % 2 for i in batch}) > 1]
    assert len(mixed) <= 1


@given(st.integers(0, 50), st.integers(1, 7), seeds)
def test_a_buffer_of_one_keeps_the_file_order(count, examples, seed):
    plan = ShuffleBufferConfig(examples=examples, buffer=1).plan(MIXED[:count], seed, 0)
    assert flat(plan) == list(range(count))
    assert [len(batch) for batch in plan[:-1]] == [examples] * (len(plan) - 1)


@given(st.integers(1, 60), st.integers(1, 9), seeds)
def test_the_buffer_one_draw_at_a_time(count, size, seed):
    """What is drawn all at once is what one draw after the other gives."""
    rng = np.random.default_rng(seed)
    incoming, places = np.arange(size, size + count), rng.integers(size, size=count)
    plain, expected = list(range(size)), []
    for place, following in zip(places.tolist(), incoming.tolist(), strict=True):
        expected.append(plain[place])
        plain[place] = following
    buffer = np.arange(size)
    assert module._drawn(buffer, places, incoming).tolist() == expected
    assert buffer.tolist() == plain


def test_the_buffer_over_several_blocks(monkeypatch):
    monkeypatch.setattr(module, "_BLOCK", 7)
    order = flat(ShuffleBufferConfig(buffer=5).plan(MIXED, 0, 0))
    assert sorted(order) == list(range(60))
    assert all(index <= place + 4 for place, index in enumerate(order))


@given(SAMPLERS, lengths, seeds)
def test_a_plan_is_a_sequence_of_batches(sampler, sizes, seed):
    plan = sampler.plan(array(sizes), seed, 0)
    batches = lists(plan)
    assert len(plan) == len(batches)
    assert [plan[i].tolist() for i in range(-len(plan), 0)] == batches
    assert [batch.tolist() for batch in plan[1::2]] == batches[1::2]
    with pytest.raises(IndexError):
        plan[len(plan)]


def batches_by_hand(sampler, chunk, sizes):
    """The rule of the token bucket in plain words, for pairs that are sorted already."""
    batches = []
    for i in chunk:
        grown = [*(batches[-1] if batches else []), i]
        widest = max(sizes[j][0] for j in grown) + max(sizes[j][1] for j in grown)
        if not batches or len(grown) * widest > sampler.tokens:
            batches.append([])
        batches[-1].append(i)
    return batches


@given(lengths, st.integers(16, 200), seeds)
def test_token_bucket_in_plain_words(sizes, tokens, seed):
    sampler = TokenBucketConfig(tokens=tokens, chunk=10_000)  # all in one chunk
    plan = lists(sampler.plan(array(sizes), seed, 0))
    # Ties are in random order, within a batch and over its borders: compare by lengths.
    chunk = sorted(range(len(sizes)), key=lambda i: sizes[i])
    expected = [[sizes[i] for i in batch] for batch in batches_by_hand(sampler, chunk, sizes)]
    assert sorted([sizes[i] for i in batch] for batch in plan) == sorted(expected)


def test_the_same_plan_on_every_machine_and_release():
    """Resuming after an update of NumPy depends on it."""
    assert flat(ShuffleBufferConfig(buffer=4).plan(MIXED[:9], 1, 2)) == BUFFERED
    assert lists(TokenBucketConfig(tokens=32).plan(MIXED[:9], 1, 2)) == BUCKETED


def test_a_plan_of_many_is_small():
    sizes = np.full((200_000, 2), 100, dtype=np.int32)
    plan = TokenBucketConfig().plan(sizes, 0, 0)
    assert isinstance(plan, BatchPlan)
    assert plan.indices.nbytes + plan.ends.nbytes < 9 * len(sizes)


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
