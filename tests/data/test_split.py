import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dialogist.formats import ReadOptions, read_dialogues
from dialogist.data.split import find_clusters, split_dialogues
from dialogist.errors import UsageError
from dialogist.records import Dialogue, Utterance

SHARES = {"train": 0.8, "dev": 0.1, "test": 0.1}


def words(seed, count=60):
    rng = random.Random(seed)
    return [f"w{rng.randrange(5000)}" for _ in range(count)]


def dialogue(words, name):
    half = len(words) // 2
    turns = (Utterance("A", " ".join(words[:half])), Utterance("B", " ".join(words[half:])))
    return Dialogue(turns, name)


def family(seed):
    """An original, a copy with other letters, half of it, and a longer one that quotes it."""
    base = words(seed)
    shouted = [word.upper() + "," for word in base]
    longer = words(f"before {seed}", 90) + base + words(f"after {seed}", 90)
    variants = {"a": base, "b": shouted, "c": base[:40] + words(f"c {seed}", 20), "d": longer}
    return [dialogue(text, f"{seed}{name}") for name, text in variants.items()]


def test_families_are_found_and_strangers_are_not():
    dialogues = [*family("x"), *family("y"), *(dialogue(words(n), str(n)) for n in range(50))]
    result = split_dialogues(dialogues, SHARES, seed=1)
    assert [sorted(cluster) for cluster in sorted(result.clusters)] == [
        ["xa", "xb", "xc", "xd"],
        ["ya", "yb", "yc", "yd"],
    ]


def test_a_shared_greeting_is_no_family():
    greeting = [f"welcome{n}" for n in range(11)]
    dialogues = [dialogue(greeting + words(n), str(n)) for n in range(40)]
    assert split_dialogues(dialogues, SHARES, seed=1).clusters == ()


def test_many_copies_are_one_cluster():
    dialogues = [dialogue(words("x"), str(n)) for n in range(100)]
    assert len(find_clusters(dialogues)) == 1


def test_short_dialogues():
    same = [Dialogue((Utterance("A", text),), text) for text in ("hi.", "Hi", "ho", ":)", ";)")]
    assert split_dialogues(same, SHARES, seed=1).clusters == (("hi.", "Hi"),)


@settings(deadline=None, max_examples=25)
@given(st.randoms(use_true_random=False), st.integers(0, 5))
def test_the_order_of_the_input_does_not_matter(rng, seed):
    dialogues = [d for n in range(12) for d in family(n)]
    shuffled = rng.sample(dialogues, len(dialogues))
    one, other = (split_dialogues(each, SHARES, seed) for each in (dialogues, shuffled))
    for name in SHARES:
        assert {d.id for d in one.parts[name]} == {d.id for d in other.parts[name]}


def test_parts_have_their_shares_and_nothing_is_lost():
    dialogues = [dialogue(words(n), str(n)) for n in range(500)]
    one, again, other = (split_dialogues(dialogues, SHARES, seed) for seed in (1, 1, 2))
    assert {name: len(part) for name, part in one.parts.items()} == {
        "train": 400,
        "dev": 50,
        "test": 50,
    }
    assert one.parts == again.parts != other.parts
    assert sorted(d.id for part in one.parts.values() for d in part) == sorted(
        d.id for d in dialogues
    )


def test_no_family_is_torn():
    dialogues = [d for n in range(60) for d in family(n)]
    parts = split_dialogues(dialogues, SHARES, seed=3).parts
    places = {d.id: name for name, part in parts.items() for d in part}
    assert all(len({places[f"{n}{member}"] for member in "abcd"}) == 1 for n in range(60))
    assert all(parts.values())


@pytest.mark.parametrize(
    ("shares", "message"),
    [({"a": 0.5, "b": 0.4}, "add up to 1"), ({"a": 1.5, "b": -0.5}, "'b' must be above 0")],
)
def test_wrong_shares(shares, message):
    with pytest.raises(UsageError, match=message):
        split_dialogues([], shares, seed=1)


def test_no_dialogues():
    assert split_dialogues([], SHARES, 1).parts == {"train": [], "dev": [], "test": []}


def test_real_corpora_do_not_clump(corpora):
    path = corpora / "todsum" / "valid.jsonl"
    dialogues = list(read_dialogues(path, ReadOptions(), pytest.fail))
    clusters = find_clusters(dialogues)
    assert sum(map(len, clusters)) == 999
    assert max(map(len, clusters)) < 5
