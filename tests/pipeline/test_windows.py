"""Windows hold all of a dialogue, in order, each within its room."""

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialogist.data.encode import Limits
from dialogist.pipeline.windows import Cutting, Room, split_into_windows
from dialogist.records import Example, Utterance


def count(text: str) -> int:
    """Words are tokens; the speaker is one."""
    return len(text.split())


def example(*sizes: int) -> Example:
    """Utterance i holds the words ``i.0 i.1 ...``; with the speaker it has one token more."""
    texts = [" ".join(f"{i}.{j}" for j in range(size)) for i, size in enumerate(sizes)]
    said = tuple(Utterance("A" if i % 2 else "B", text) for i, text in enumerate(texts))
    return Example(said, origins=tuple((i,) for i in range(len(sizes))))


def words(window: Example) -> list[str]:
    return [word for utterance in window.utterances for word in utterance.text.split()]


def test_what_fits_is_itself() -> None:
    one = example(3, 3)
    assert split_into_windows(one, Room(8, None, None), Cutting(), count) == [one]
    assert split_into_windows(one, Room(None, None, None), Cutting(), count) == [one]


def test_windows_of_like_length_by_hand() -> None:
    """Ten utterances of four tokens in a room of 16: each window has four, and two shared."""
    windows = split_into_windows(example(*[3] * 10), Room(16, None, None), Cutting(1), count)
    spans = [(w.origins[0][0], w.origins[-1][0] + 1) for w in windows]
    assert spans[0][0] == 0
    assert spans[-1][1] == 10
    assert all(end - start <= 4 for start, end in spans)
    assert all(b[0] == a[1] - 1 for a, b in pairwise(spans))  # one is shared


def test_an_utterance_too_long_is_split_between_words() -> None:
    windows = split_into_windows(example(2, 20, 2), Room(8, None, None), Cutting(0), count)
    assert [word for w in windows for word in words(w)] == words(example(2, 20, 2))
    assert all(count(f"{u.speaker} {u.text}") <= 8 for w in windows for u in w.utterances)
    assert {u.speaker for w in windows for u in w.utterances} == {"A", "B"}
    long = [o for w in windows for u, o in zip(w.utterances, w.origins, strict=True) if len(u.text)]
    assert Counter(long)[(1,)] >= 3


def test_a_word_too_long_is_split_inside() -> None:
    def letters(text: str) -> int:
        return len(text.replace(" ", ""))

    one = Example((Utterance("", "x" * 50),), origins=((0,),))
    windows = split_into_windows(one, Room(8, None, None), Cutting(), letters)
    assert "".join(u.text for w in windows for u in w.utterances) == "x" * 50
    assert all(letters(u.text) <= 8 for w in windows for u in w.utterances)


def test_the_limits_of_utterances_count_too() -> None:
    room = Room.of(Limits(utterances=3, utterance_tokens=4, source_tokens=None))
    windows = split_into_windows(example(2, 2, 9, 2, 2, 2), room, Cutting(0), count)
    assert all(len(w.utterances) <= 3 for w in windows)
    assert all(count(f"{u.speaker} {u.text}") <= 4 for w in windows for u in w.utterances)
    assert [word for w in windows for word in words(w)] == words(example(2, 2, 9, 2, 2, 2))


def test_room_leaves_begin_and_end_out() -> None:
    assert Room.of(Limits(source_tokens=96)).tokens == 94
    assert Room.of(Limits(source_tokens=96, keep_end=False)).tokens == 95
    assert Room.of(Limits(source_tokens=96)).at_most(40).tokens == 40
    assert Room.of(Limits(source_tokens=None)).at_most(40).tokens == 40


sizes = st.lists(st.integers(0, 30), min_size=1, max_size=30)


@given(sizes, st.integers(2, 25), st.integers(0, 4), st.booleans())
def test_nothing_is_lost_and_nothing_too_long(
    lengths: list[int], tokens: int, overlap: int, alike: bool
) -> None:
    whole = example(*lengths)
    windows = split_into_windows(whole, Room(tokens, None, None), Cutting(overlap, alike), count)
    for window in windows:
        size = sum(count(f"{u.speaker} {u.text}") for u in window.utterances)
        assert size <= tokens
        assert len(window.origins) == len(window.utterances)
    assert set(words(whole)) == {word for window in windows for word in words(window)}
    assert {o for w in windows for o in w.origins} == set(whole.origins)
    starts = [window.origins[0] for window in windows]
    assert starts == sorted(starts)


@given(sizes, st.integers(0, 20), st.integers(2, 25))
def test_steady_windows_change_in_the_last_only(lengths: list[int], more: int, tokens: int) -> None:
    room, cutting = Room(tokens, None, None), Cutting(2, alike=False)
    before = split_into_windows(example(*lengths), room, cutting, count)
    after = split_into_windows(example(*lengths, more), room, cutting, count)
    assert [w.utterances for w in after[: len(before) - 1]] == [w.utterances for w in before[:-1]]


@pytest.mark.parametrize("number", [1, 7, 100])
def test_windows_are_not_many_more_than_needed(number: int) -> None:
    windows = split_into_windows(
        example(*[4] * 20 * number), Room(100, None, None), Cutting(2), count
    )
    assert len(windows) <= 1 + 1.4 * number


@pytest.mark.parametrize("name", [3, 40, 400])
def test_a_name_longer_than_a_window_is_read_once(name: int) -> None:
    """Each part of an utterance has its speaker's name: a long one would leave no room for it."""
    spoken = tuple(Utterance("n " * name + str(i), "and then we go") for i in range(4))
    whole = Example(spoken, origins=tuple((i,) for i in range(4)))
    room = Room(20, None, None)
    windows = split_into_windows(whole, room, Cutting(1), count)
    for window in windows:
        assert sum(count(f"{u.speaker} {u.text}") for u in window.utterances) <= 20
    assert {o for w in windows for o in w.origins} == set(whole.origins)
    assert len(windows) <= 4 * (1 + 2 * name // 20)
