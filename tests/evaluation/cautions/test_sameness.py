import random

import pytest

from dialogist.evaluation.cautions.sameness import same_groups

SENTENCE = (
    "Ann and Bo are talking about the trip to Rome and about who will bring the red book along."
)


def sentence(seed, count=18):
    rng = random.Random(f"{seed}")
    return " ".join(f"w{rng.randrange(3000)}" for _ in range(count))


def test_equal_but_for_capitals_punctuation_and_space():
    texts = [SENTENCE, "x y z", SENTENCE.upper().replace(" ", "\n "), f"«{SENTENCE[:-1]}»"]
    assert same_groups(texts) == [[0, 2, 3]]


def test_one_word_changed_is_nearly_the_same_five_are_not():
    near = SENTENCE.replace("Rome", "Paris")
    far = near.replace("red", "old").replace("book", "map").replace("trip", "way")
    assert same_groups([SENTENCE, near]) == [[0, 1]]
    assert same_groups([SENTENCE, far]) == []


def test_groups_are_told_largest_first():
    texts = [sentence(n % 10) if n < 30 else sentence("x") for n in range(40)]
    groups = same_groups(texts)
    assert groups[0] == list(range(30, 40))
    assert groups[1:] == [[n, n + 10, n + 20] for n in range(10)]


def test_strangers_are_in_no_group():
    assert same_groups([sentence(n) for n in range(2000)]) == []


@pytest.mark.parametrize("texts", [[], [""], ["", ""], ["...", "..."], ["😀", "😀"]])
def test_texts_without_a_word_are_in_no_group(texts):
    assert same_groups(texts) == []


def test_a_word_chinese_and_a_lone_surrogate():
    texts = ["Yes.", "yes", "no", "你好", "你好！", "\ud800 ok", "ok"]
    assert same_groups(texts) == [[0, 1], [3, 4], [5, 6]]


def test_many_copies_cost_no_quadratic_time():
    [group] = same_groups([SENTENCE] * 5000)
    assert len(group) == 5000


def test_candidates_are_found_in_any_case_that_counts():
    """Pairs just above the limit: none of 300 is missed."""
    for n in range(300):
        words = sentence(n, 24).split()
        changed = [*words[:-3], "a", "b", "c"]  # 20 of 26 distinct pairs of words are shared
        assert same_groups([" ".join(words), " ".join(changed)]) == [[0, 1]]
