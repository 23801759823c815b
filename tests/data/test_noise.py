"""Noise: what each kind takes out, by hand; and that it is a function of seed, epoch and row."""

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialogist.data.chance import Chance
from dialogist.data.collate import EncodedPair
from dialogist.data.noise import (
    KINDS,
    Noise,
    NoiseConfig,
    draw_spans,
    likeness,
    source_of,
    utterances_of,
)
from dialogist.errors import ConfigError
from dialogist.tokenizers import Symbols

SYMBOLS = Symbols(pad=0, bos=1, eos=2, unk=3, size=100)
MASK, ANN, BO = 3, 90, 91


def window(*utterances: list[int]) -> EncodedPair:
    source, starts = source_of(utterances, 1, 2)
    return EncodedPair(source, (), "w", starts)


def noise(longest: int | None = None, **options: object) -> Noise:
    return Noise(NoiseConfig.parse(options), SYMBOLS, {ANN, BO}, longest)


LUNCH = window([ANN, 10, 11, 12], [BO, 20, 21], [ANN, 30], [BO, 10, 20, 30, 12])


def made(kind: str, maker: Noise, seed: int = 0, pair: EncodedPair = LUNCH) -> EncodedPair:
    found = maker.of_kind(kind, pair, Chance(seed))  # type: ignore[arg-type]
    assert found is not None
    return found


def test_infilling_can_be_undone_from_what_is_lost() -> None:
    """Each mask stands for the span that follows the same mask in the target."""
    for seed in range(50):
        pair = made("infilling", noise(writes="lost"), seed)
        spans: list[list[int]] = []
        for token in pair.target[1:-1]:
            if token == MASK:
                spans.append([])
            else:
                spans[-1].append(token)
        again: list[int] = []
        for token in pair.source:
            again += spans.pop(0) if token == MASK else [token]
        assert (tuple(again), spans) == (LUNCH.source, [])
        assert len(pair.source) <= len(LUNCH.source)
        # 10 words, 30 % of them; speakers stay
        assert sum(token not in (1, 2, MASK) for token in pair.target) == 3
        assert Counter(t for t in pair.source if t in (ANN, BO)) == {ANN: 2, BO: 2}


def test_infilling_writes_the_whole_window() -> None:
    pair = made("infilling", noise())
    assert pair.target == LUNCH.source
    assert MASK in pair.source
    assert pair.id == "w"
    assert [ids[0] for ids in utterances_of(pair)] == [ANN, BO, ANN, BO]


def test_spans_do_not_touch_and_have_the_share_asked_for() -> None:
    texts = [(1, 60), (0, 41), (2, 2)]
    lengths: list[int] = []
    for seed in range(200):
        found = draw_spans(texts, 0.3, 3.0, Chance(seed))
        assert sum(b - a for spans in found for a, b in spans) == 30
        for (start, end), spans in zip(texts, found, strict=True):
            assert all(start <= a <= b <= end for a, b in spans)
            assert all(b < c for (_, b), (c, _) in pairwise(spans))
        lengths += [b - a for spans in found for a, b in spans]
    # 3 before ends of texts, and lack of room for long ones
    assert 2.4 < sum(lengths) / len(lengths) < 3.0
    assert lengths.count(0) > 0


def test_shuffling_keeps_the_utterances_and_writes_them_in_order() -> None:
    orders = set()
    for seed in range(40):
        pair = made("utterances", noise(dropped=0.0), seed)
        assert sorted(utterances_of(pair)) == sorted(utterances_of(LUNCH))
        assert pair.target == LUNCH.source
        orders.add(pair.source)
    assert len(orders) > 10  # of 24


def test_a_dropped_utterance_leaves_its_speaker_and_a_mask() -> None:
    for seed in range(20):
        pair = made("utterances", noise(dropped=0.5, writes="lost"), seed)
        left = Counter(utterances_of(pair))
        dropped = [u for u in utterances_of(LUNCH) if not left[u]]
        assert 1 <= len(dropped) <= 3
        assert pair.target[1:-1] == tuple(t for u in dropped for t in u)
        assert sorted(u for u in left.elements() if MASK in u) == sorted(
            (u[0], MASK) for u in dropped
        )


def test_speakers_are_masked_wherever_they_are_named() -> None:
    named = window([ANN, 10, BO], [BO, 11])
    pair = made("speakers", noise(speakers_masked=1.0, writes="lost"), pair=named)
    assert pair.source == (1, MASK, 10, MASK, MASK, 11, 2)
    assert pair.target == (1, ANN, BO, BO, 2)
    some = made("speakers", noise(speakers_masked=0.01), pair=named)
    assert some.source.count(MASK) == 1  # one at least
    assert some.target == named.source
    assert noise().of_kind("speakers", window([ANN, 10], [ANN, 11]), Chance(0)) is None


def test_likeness_by_hand() -> None:
    """ROUGE-1 F1 of an utterance and all the others: 2 * same / (own + others)."""
    found = likeness([[10, 11, 12], [20, 21], [30], [10, 20, 30, 12]])
    assert found == pytest.approx([2 * 2 / 10, 2 * 1 / 10, 2 * 1 / 10, 2 * 4 / 10])
    assert likeness([[], [5]]) == [0.0, 0.0]


def test_the_gap_is_what_is_most_like_the_rest() -> None:
    pair = made("gap", noise(gap_share=0.25, gap_kept=0.0))
    assert pair.target == (1, BO, 10, 20, 30, 12, 2)
    assert pair.source == (*LUNCH.source[:-6], BO, MASK, 2)
    kept = made("gap", noise(gap_share=0.25, gap_kept=1.0))
    assert (kept.source, kept.target) == (LUNCH.source, pair.target)
    two = made("gap", noise(gap_share=0.5, gap_kept=0.0))
    assert two.target == (1, ANN, 10, 11, 12, BO, 10, 20, 30, 12, 2)  # in the dialogue's order


def test_the_gap_fits_the_target() -> None:
    short = made("gap", noise(longest=6, gap_share=0.25, gap_kept=0.0))
    assert short.target == (1, ANN, 10, 11, 12, 2)  # the best one has a token too many
    assert noise(longest=3).of_kind("gap", LUNCH, Chance(0)) is None
    assert noise().of_kind("gap", window([ANN, 1], [BO, 1]), Chance(0)) is None


def test_kinds_by_their_weights() -> None:
    only = noise(infilling=0, utterances=0, speakers=0, gap=1, gap_kept=0.0)
    assert all(only(LUNCH, Chance(i)).target != LUNCH.source for i in range(20))
    alone = window([ANN, 10, 11, 12, 13])  # nothing for the gap: words are taken out instead
    assert only(alone, Chance(0)).target == alone.source
    with pytest.raises(ConfigError, match="must be above 0"):
        NoiseConfig.parse(dict.fromkeys(KINDS, 0))


@given(
    st.lists(st.lists(st.integers(4, 89), min_size=1, max_size=9), min_size=1, max_size=7),
    st.sampled_from(KINDS),
    st.sampled_from(["all", "lost"]),
    st.integers(0, 10_000),
)
def test_never_longer_and_never_another_word(
    texts: list[list[int]], kind: str, writes: str, seed: int
) -> None:
    pair = window(*([ANN if i % 2 else BO, *ids] for i, ids in enumerate(texts)))
    found = noise(writes=writes).of_kind(kind, pair, Chance(seed))  # type: ignore[arg-type]
    if found is None:
        assert kind != "infilling"
        return
    assert len(found.source) <= len(pair.source)
    assert found.source[0] == found.target[0] == 1
    assert found.source[-1] == found.target[-1] == 2
    assert not Counter(found.source) - Counter(pair.source) - Counter({MASK: 99})
    assert not Counter(found.target) - Counter(pair.source) - Counter({MASK: 99})
    assert sum(map(len, utterances_of(found))) == len(found.source) - 2
