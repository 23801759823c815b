from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialogist.data.speakers import count_words, group_short, merge
from dialogist.records import Utterance


def merge_short(turns, below):
    return tuple(merge(group) for group in group_short(turns, below))


def said(*pairs):
    return [Utterance(speaker, text) for speaker, text in pairs]


def words(n):
    return " ".join(["w"] * n)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("two words", 2),
        ("Hi, Ann!", 4),
        ("don't", 1),
        ("你好。", 3),
        ("订单123 ok", 4),
        ("한국", 2),
        ("カナ", 2),
        ("👍 ok", 2),
    ],
)
def test_count_words(text, count):
    assert count_words(text) == count


@pytest.mark.parametrize(("first", "second", "merged"), [(7, 7, 1), (7, 8, 2), (14, 1, 2)])
def test_merges_below_fifteen_words_in_sum(first, second, merged):
    turns = said(("A", words(first)), ("A", words(second)))
    found = merge_short(turns, 15)
    assert len(found) == merged
    assert " ".join(u.text for u in found) == words(first + second)


def test_a_chain_grows_until_its_sum_is_full():
    turns = said(*[("A", words(4))] * 5)
    assert [count_words(u.text) for u in merge_short(turns, 15)] == [12, 8]


def test_never_across_speakers_or_roles():
    turns = [
        Utterance("A", "a", "agent"),
        Utterance("A", "b", "agent"),
        Utterance("A", "c", "user"),
        Utterance("B", "d", "user"),
        Utterance("A", "e", "user"),
    ]
    assert merge_short(turns, 15) == (
        Utterance("A", "a b", "agent"),
        Utterance("A", "c", "user"),
        Utterance("B", "d", "user"),
        Utterance("A", "e", "user"),
    )


def test_chinese_counts_by_character():
    assert len(merge_short(said(("A", "一二三四五六七"), ("A", "一二三四五六七")), 15)) == 1
    assert len(merge_short(said(("A", "一二三四五六七"), ("A", "一二三四五六七八")), 15)) == 2


@given(st.lists(st.tuples(st.sampled_from("AB"), st.integers(1, 9)), max_size=12))
def test_nothing_is_lost_and_no_sum_reaches_the_bound(turns):
    before = said(*[(speaker, words(n)) for speaker, n in turns])
    after = merge_short(before, 10)
    assert " ".join(u.text for u in after) == " ".join(u.text for u in before)
    assert all(count_words(u.text) < 10 for u in after)
    for one, other in pairwise(after):
        assert one.speaker != other.speaker or count_words(f"{one.text} {other.text}") >= 10
