"""Windows, and what each epoch makes of pairs: nothing lost, repeatable, as often as it weighs."""

from collections import Counter
from typing import ClassVar

import numpy as np
import pytest

from dialogist.data.chance import Chance
from dialogist.data.changes import EpochPairs, Epochs, Share
from dialogist.data.collate import EncodedPair
from dialogist.data.encode import Encoded, Limits
from dialogist.data.noise import WindowCounts, utterances_of, windows_of

ANN, BO = 90, 91


def encoded(*utterances: tuple[int, ...]) -> Encoded:
    source, starts = [1], []
    for ids in utterances:
        starts.append(len(source))
        source += ids
    return Encoded((*source, 2), tuple(starts), id="d")


def windows(
    limits: Limits, *utterances: tuple[int, ...]
) -> list[tuple[str, list[tuple[int, ...]]]]:
    found = windows_of(encoded(*utterances), limits, {ANN, BO})
    for pair in found:
        assert pair.target == ()
        assert limits.source_tokens is None or len(pair.source) <= limits.source_tokens
    return [(pair.id, utterances_of(pair)) for pair in found]


TALK = ((ANN, 10), (BO, 11, 12), (ANN, 13, 14), (BO, 15))


def test_windows_of_whole_utterances() -> None:
    limits = Limits(source_tokens=7, summary_tokens=None)
    assert windows(limits, *TALK) == [("d", [*TALK[:2]]), ("d#2", [*TALK[2:]])]
    assert windows(Limits(source_tokens=None), *TALK) == [("d", [*TALK])]
    by_count = Limits(source_tokens=None, utterances=3)
    assert windows(by_count, *TALK) == [("d", [*TALK[:3]]), ("d#2", [*TALK[3:]])]


def test_a_long_utterance_in_parts_of_its_speaker() -> None:
    long = (ANN, 1, 2, 3, 4, 5)
    expected = [("d", [(ANN, 1, 2)]), ("d#2", [(ANN, 3, 4)]), ("d#3", [(ANN, 5)])]
    assert windows(Limits(source_tokens=5), long) == expected
    parts = [part for _, window in windows(Limits(utterance_tokens=3), long) for part in window]
    assert parts == [(ANN, 1, 2), (ANN, 3, 4), (ANN, 5)]


def test_what_is_counted() -> None:
    counts = WindowCounts()
    limits = Limits(source_tokens=6)
    for one in (encoded(*TALK), encoded((ANN, 1, 2, 3, 4, 5)), encoded((ANN, 1)), encoded(())):
        counts.add(one, windows_of(one, limits, {ANN, BO}))
    assert (counts.dialogues, counts.windows, counts.divided) == (4, 7, 2)
    assert (counts.longer, counts.empty) == (1, 1)
    assert "4 dialogues as 7 windows" in str(counts)
    assert "1 have no token" in str(counts)


class Doubled:
    name: ClassVar[str] = "doubled"
    keeps_lengths: ClassVar[bool] = False

    def __call__(self, pair: EncodedPair, chance: Chance) -> EncodedPair:
        return EncodedPair(pair.source * 2, (chance.below(1000),), pair.id)


class Named(Doubled):
    keeps_lengths: ClassVar[bool] = True

    def __call__(self, pair: EncodedPair, chance: Chance) -> EncodedPair:
        return EncodedPair(pair.source, pair.target, f"{pair.id}/{chance.below(1000)}")


PAIRS = [EncodedPair((1, *range(n), 2), (1, 2), f"p{n}") for n in range(10)]


def of_epoch(epochs: Epochs, epoch: int) -> EpochPairs:
    lengths = np.array([(len(p.source), len(p.target)) for p in PAIRS], dtype=np.int32)
    return EpochPairs(PAIRS, lengths, epochs, epoch)


def test_an_epoch_is_the_same_whoever_asks_in_whatever_order() -> None:
    epochs = Epochs(7, (Doubled(),))
    one, other = of_epoch(epochs, 3), of_epoch(Epochs(7, (Doubled(),)), 3)
    assert [one[i] for i in (9, 0, 4)] == [other[:][i] for i in (9, 0, 4)]
    assert one.lengths.tolist() == [[2 * len(p.source), 1] for p in PAIRS]
    assert list(one) != list(of_epoch(epochs, 4))
    assert list(one) != list(of_epoch(Epochs(8, (Doubled(),)), 3))


def test_lengths_that_stay_are_not_made_again() -> None:
    class Never(Named):
        def __call__(self, pair: EncodedPair, chance: Chance) -> EncodedPair:
            raise AssertionError

    assert of_epoch(Epochs(0, (Never(),)), 0).lengths[:, 0].tolist() == list(range(2, 12))


def test_pairs_by_weight() -> None:
    """Three of weight 2, four of 1, three of 0.5: 6 + 4 + 2 rows (1.5 is rounded to even)."""
    shares = (Share(3, 2.0), Share(4), Share(3, 0.5))
    seen: Counter[str] = Counter()
    for epoch in range(200):
        names = [pair.id for pair in of_epoch(Epochs(1, (), shares), epoch)]
        assert len(names) == 12
        assert Counter(names[:6]) == {"p0": 2, "p1": 2, "p2": 2}
        assert names[6:10] == ["p3", "p4", "p5", "p6"]
        assert len(set(names[10:])) == 2
        seen.update(names[10:])
    assert set(seen) == {"p7", "p8", "p9"}
    assert min(seen.values()) > 100  # of 133 in the mean
    copies = of_epoch(Epochs(1, (Named(),), shares), 0)
    assert copies[0].id != copies[3].id  # two copies of p0, each with draws of its own
    assert copies.lengths[:6, 0].tolist() == [2, 3, 4, 2, 3, 4]


def test_a_data_set_apart_begins_its_targets_otherwise() -> None:
    """Each copy of its pairs in every epoch, nobody else's, and before any change is made."""
    stored = [EncodedPair((1, 5, 2), (1, 10 + i, 2), f"p{i}") for i in range(6)]
    shares = (Share(2, 2.0), Share(3, begin=9), Share(1))
    assert [share.plain for share in shares] == [False, False, True]
    pairs = EpochPairs(stored, None, Epochs(1, (Named(),), shares), 0)
    assert [pair.target for pair in pairs] == [
        *[(1, 10, 2), (1, 11, 2)] * 2,
        *[(9, 12, 2), (9, 13, 2), (9, 14, 2)],
        (1, 15, 2),
    ]
    assert [pair.target[0] for pair in stored] == [1] * 6
    assert all(pair.source == (1, 5, 2) for pair in pairs)


def test_chance_is_what_it_was() -> None:
    """These numbers may never change: runs would not go on as they began."""
    chance = Chance("noise", 1, 2, 3)
    found = (round(chance.share(), 6), chance.below(100), chance.order(4), chance.poisson(3.0))
    assert found == FIXED
    assert Chance("noise", 1, 2, 3).share() != Chance("noise", 1, 2, 4).share()


def test_chance_by_its_laws() -> None:
    chance = Chance("laws")
    drawn = [chance.poisson(3.0) for _ in range(4000)]
    assert np.mean(drawn) == pytest.approx(3, abs=0.1)
    assert np.var(drawn) == pytest.approx(3, abs=0.3)
    assert chance.poisson(0.0) == 0
    picked = Counter(chance.choice((0, 1, 3)) for _ in range(4000))
    assert picked[0] == 0
    assert picked[2] / picked[1] == pytest.approx(3, abs=0.4)


FIXED = (0.494834, 1, [2, 3, 0, 1], 3)
