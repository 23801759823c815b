from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from dialogist.data.chance import FixedSample
from dialogist.records import Dialogue, Utterance


def stream(count):
    return [Dialogue((Utterance("A", str(n)),), str(n)) for n in range(count)]


def drawn(size, count):
    sample = FixedSample(size)
    assert list(sample.watch(stream(count))) == stream(count)
    return [dialogue.id for dialogue in sample.dialogues()]


@given(st.integers(0, 40), st.integers(0, 60))
def test_so_many_different_ones_the_same_every_time(size, count):
    found = drawn(size, count)
    assert len(set(found)) == len(found) == min(size, count)
    assert found == drawn(size, count)


@given(st.integers(0, 20), st.integers(0, 20), st.integers(0, 60))
def test_a_smaller_sample_is_the_head_of_a_larger_one(size, more, count):
    assert drawn(size + more, count)[:size] == drawn(size, count)


def test_it_is_spread_over_the_stream():
    tenths = Counter(int(name) // 100 for name in drawn(200, 1000))
    assert all(8 <= tenths[n] <= 34 for n in range(10))  # 20 each, a standard deviation of 3.8


def test_equal_dialogues_do_no_harm():
    sample = FixedSample(3)
    for _ in range(10):
        sample.offer(Dialogue((Utterance("A", "same"),)))
    assert len(sample.dialogues()) == 3
