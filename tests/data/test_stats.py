import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialogist.data.stats import (
    CutLimits,
    Distribution,
    Histogram,
    corpus_stats,
    count_words,
    distribution_of,
    histogram_of,
)
from dialogist.records import Dialogue, Utterance


@pytest.mark.parametrize(
    ("text", "count"),
    [("", 0), ("I don't know.", 4), ("订单 ok 吗?", 5), ("e-mail", 3), ("snake_case 3.5", 4)],
)
def test_count_words(text, count):
    assert count_words(text) == count


def dialogue(*texts, references=(), topics=()):
    turns = tuple(Utterance("AB"[n % 2], text) for n, text in enumerate(texts))
    metadata = {"topics": [list(topic) for topic in topics]} if topics else {}
    return Dialogue(turns, references=references, metadata=metadata)


def test_counts_by_hand():
    first = dialogue("a b c", "d", "e f", references=("one two", "one"))
    second = dialogue("a " * 10, topics=[("t", "x y z"), ("u", "x")])
    limits = CutLimits(utterance_tokens=9, utterances=2, summary_tokens=1, dialogue_tokens=6)
    stats = corpus_stats(iter([first, second]), limits=limits)
    assert stats.dialogues == 2
    spread = stats.distributions
    assert spread["utterances_per_dialogue"] == Distribution(2, 2.0, 2.0, 3, 3, 3)
    assert spread["tokens_per_utterance"] == Distribution(4, 4.0, 2.5, 10, 10, 10)
    assert spread["speakers_per_dialogue"].mean == 1.5
    assert spread["tokens_per_summary"].max == 2
    assert spread["topics_per_dialogue"] == Distribution(1, 2.0, 2.0, 2, 2, 2)
    assert stats.exceeding == {
        "tokens_per_utterance": 0.25,
        "utterances_per_dialogue": 0.5,
        "tokens_per_summary": 0.5,
        "tokens_per_sub_summary": 0.5,
        "tokens_per_dialogue": 0.5,
        "dialogues_cut": 1.0,
    }
    assert stats.histograms["tokens_per_utterance"] == Histogram(10, (3, 1))
    assert json.loads(json.dumps(stats.to_json()))["dialogues"] == 2


def test_nothing_at_all():
    stats = corpus_stats([])
    assert stats.dialogues == 0
    assert stats.distributions["tokens_per_summary"] == Distribution()
    assert set(stats.exceeding.values()) == {0.0}


def test_the_paper_s_limits_are_the_defaults():
    exact = dialogue(*["w " * 75] * 40, references=("w " * 50,))
    assert set(corpus_stats([exact]).exceeding.items()) >= {("dialogues_cut", 0.0)}
    above = corpus_stats([dialogue(*["w"] * 41, references=("w " * 51,))]).exceeding
    assert (above["dialogues_cut"], above["tokens_per_summary"]) == (1.0, 1.0)


@given(st.lists(st.integers(0, 500), min_size=1))
def test_distribution_agrees_with_sorting(lengths):
    found = distribution_of(Counter(lengths))
    ordered = sorted(lengths)
    count = len(ordered)
    assert found.median == (ordered[(count - 1) // 2] + ordered[count // 2]) / 2
    assert found.max == ordered[-1]
    assert sum(length <= found.p90 for length in lengths) >= 0.9 * count
    assert sum(length < found.p90 for length in lengths) < 0.9 * count
    assert found.mean == pytest.approx(sum(lengths) / count)


def test_the_last_bin_takes_the_rest():
    histogram = histogram_of(Counter({0: 1, 9: 1, 10: 2, 10_000: 3}), 10)
    assert histogram.counts[:2] == (2, 2)
    assert (len(histogram.counts), histogram.counts[-1]) == (30, 3)
