"""Planted copies, whole and in part, among strangers who share set phrases; and the real lists."""

import random

import pytest

from dialogist.formats import ReadOptions, read_dialogues
from dialogist.evaluation.near_duplicates import find_overlaps, near_duplicate_groups
from dialogist.records import Dialogue, Utterance


def words(seed, count=60):
    rng = random.Random(f"{seed}")
    return [f"w{rng.randrange(5000)}" for _ in range(count)]


def dialogue(words, name="", between=" "):
    half = len(words) // 2
    turns = (between.join(words[:half]), between.join(words[half:]))
    return Dialogue(tuple(Utterance(s, t) for s, t in zip("AB", turns, strict=True)), name)


def strangers(kind, count=40):
    return [dialogue(words(f"{kind}{n}"), f"{kind}{n}") for n in range(count)]


def found(train, held):
    pairs = find_overlaps(iter(train), held).pairs
    return {(pair.train, pair.held): pair.whole for pair in pairs}


def test_copies_are_found_and_strangers_are_not():
    base = words("base")
    train = [
        *strangers("t"),
        dialogue([f"{word.upper()}!" for word in base], "shouted"),
        dialogue([*base[:50], *words("end", 10)], "other end"),
        dialogue([*words("before", 90), *base[:25], *words("after", 90)], "quotes"),
        dialogue([*base[:14], *words("more", 46)], "greets alike"),
    ]
    held = [*strangers("h"), dialogue(base, "dev")]
    assert found(train, held) == {
        ("shouted", "dev"): True,
        ("other end", "dev"): True,
        ("quotes", "dev"): False,
    }


def test_how_much_is_shared():
    base = words("base")
    train = [dialogue([*base[:40], *words("x", 20)], "t"), *strangers("t")]
    result = find_overlaps(train, [dialogue(base, "dev")])
    [pair] = result.pairs
    assert (pair.shared, pair.share, pair.whole) == (28, 28 / 48, True)  # 40 - 12 runs of 13
    assert (result.train_dialogues, result.held_dialogues) == (41, 1)
    assert (result.train, result.held) == (("t",), ("dev",))
    assert pair.to_json()["share"] == 28 / 48


def test_set_phrases_of_strangers_are_no_part():
    phrase = words("thank you for calling how may I help you today", 32)
    train = [dialogue([*phrase, *words(f"t{n}", 90)], f"t{n}") for n in range(30)]
    held = [dialogue([*phrase, *words(f"h{n}", 90)], f"h{n}") for n in range(30)]
    assert found(train, held) == {}
    # The same passage in two dialogues only is no set phrase.
    assert found(train[:1], held[:1]) == {("t0", "h0"): False}


def test_a_copy_that_is_there_a_hundred_times_is_found_each_time():
    train = [dialogue(words("base"), f"t{n}") for n in range(100)]
    assert len(found(train, [dialogue(words("base"), "dev"), *strangers("h")])) == 100


def test_order_and_repetition_of_the_input_do_not_matter():
    train = [*strangers("t", 20), *strangers("h", 5), *strangers("s", 20)]
    held = strangers("h", 10)
    assert (
        found(train, held)
        == found(train[::-1], held[::-1])
        == {(f"h{n}", f"h{n}"): True for n in range(5)}
    )


def test_short_dialogues():
    def short(*names):
        return [dialogue(name.split(), name) for name in names]

    train, held = short("hi there", "see you", "no"), short("Hi, there!", "see me", "yes")
    assert found(train, held) == {("hi there", "Hi, there!"): True}


def test_nothing_said_is_no_copy():
    empty = [Dialogue(()), Dialogue((Utterance("A", ""),)), Dialogue((Utterance("A", " \n"),))]
    assert found(empty, empty) == {}
    assert find_overlaps([], []).pairs == ()
    assert find_overlaps(empty, []).train_dialogues == 3


def test_dialogues_without_an_id_have_a_number():
    train = [dialogue(words("x")), dialogue(words("base"))]
    assert list(found(train, [dialogue(words("base"))])) == [("#2", "#1")]


def test_chinese_needs_longer_runs():
    def said(text, name):
        return Dialogue((Utterance("客服", text),), name)

    phrase = "您好请问有什么可以帮助您的呢"  # 14 characters
    rng = random.Random(1)

    def characters(count):
        return "".join(chr(0x4E00 + rng.randrange(5000)) for _ in range(count))

    other = characters(60)
    train = [said(phrase + characters(20) + phrase, "t1"), said(other, "t2")]
    held = [said(phrase + characters(20) + phrase, "h1"), said(other[:55], "h2")]
    assert found(train, held) == {("t2", "h2"): True}


def listed(corpora, name):
    """The rows that the data's own list names, and those that are found."""
    dev = {"dialogsum": "dev", "samsum": "val"}[name]
    train, held = (
        list(read_dialogues(corpora / name / f"{part}.jsonl", ReadOptions(), lambda problem: None))
        for part in ("train", dev)
    )
    known = (corpora / name / "train_overlaps_heldout.txt").read_text().split()
    return set(known), set(find_overlaps(train, held).train)


@pytest.mark.slow
def test_dialogsums_own_list(corpora):
    """The list names rows that repeat dev or test; only the former can be found here."""
    known, here = listed(corpora, "dialogsum")
    assert len(here & known) >= 160
    assert len(here - known) <= 2


@pytest.mark.slow
def test_samsums_own_list(corpora):
    """The dozen that the list lacks are copies with a word or two changed."""
    known, here = listed(corpora, "samsum")
    assert len(here & known) >= 52
    assert len(here - known) <= 12


SENTENCE = (
    "Ann and Bo are talking about the trip to Rome and about who will bring the red book along."
)


def sentence(seed, count=18):
    rng = random.Random(f"{seed}")
    return " ".join(f"w{rng.randrange(3000)}" for _ in range(count))


def test_equal_but_for_capitals_punctuation_and_space():
    texts = [SENTENCE, "x y z", SENTENCE.upper().replace(" ", "\n "), f"«{SENTENCE[:-1]}»"]
    assert near_duplicate_groups(texts) == [[0, 2, 3]]


def test_one_word_changed_is_nearly_the_same_five_are_not():
    near = SENTENCE.replace("Rome", "Paris")
    far = near.replace("red", "old").replace("book", "map").replace("trip", "way")
    assert near_duplicate_groups([SENTENCE, near]) == [[0, 1]]
    assert near_duplicate_groups([SENTENCE, far]) == []


def test_groups_are_told_largest_first():
    texts = [sentence(n % 10) if n < 30 else sentence("x") for n in range(40)]
    groups = near_duplicate_groups(texts)
    assert groups[0] == list(range(30, 40))
    assert groups[1:] == [[n, n + 10, n + 20] for n in range(10)]


def test_strangers_are_in_no_group():
    assert near_duplicate_groups([sentence(n) for n in range(2000)]) == []


@pytest.mark.parametrize("texts", [[], [""], ["", ""], ["...", "..."], ["😀", "😀"]])
def test_texts_without_a_word_are_in_no_group(texts):
    assert near_duplicate_groups(texts) == []


def test_a_word_chinese_and_a_lone_surrogate():
    texts = ["Yes.", "yes", "no", "你好", "你好！", "\ud800 ok", "ok"]
    assert near_duplicate_groups(texts) == [[0, 1], [3, 4], [5, 6]]


def test_many_copies_cost_no_quadratic_time():
    [group] = near_duplicate_groups([SENTENCE] * 5000)
    assert len(group) == 5000


def test_candidates_are_found_in_any_case_that_counts():
    """Pairs just above the limit: none of 300 is missed."""
    for n in range(300):
        words = sentence(n, 24).split()
        changed = [*words[:-3], "a", "b", "c"]  # 20 of 26 distinct pairs of words are shared
        assert near_duplicate_groups([" ".join(words), " ".join(changed)]) == [[0, 1]]
