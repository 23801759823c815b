"""A transcript of three hours: nothing is left unread, and memory does not follow its length."""

import random
import tracemalloc
from pathlib import Path

import pytest

from dialogist import Dialogue, Summarizer, Summary, SummaryOptions, Utterance

TALK = "we they plan budget house the a of on meet noon talk lunch order refund voucher is for"
WORDS = tuple(TALK.split(" "))
HOURS, WORDS_AN_HOUR = 3, 9_000


def transcript(words: int, seed: int = 1) -> Dialogue:
    """Utterances of 1 to 60 words by five speakers; a few say nothing, one goes on for long."""
    chance = random.Random(seed)
    said: list[Utterance] = []
    total = 0
    while total < words:
        length = chance.choice([0, 1, 3, 8, 15, 30, 60]) if len(said) != 40 else 900
        said.append(Utterance(f"S{chance.randrange(5)}", " ".join(chance.choices(WORDS, k=length))))
        total += length
    return Dialogue(tuple(said), "long")


@pytest.fixture(scope="module")
def summarizer(tiny_model: Path) -> Summarizer:
    return Summarizer.load(str(tiny_model))


def summarised(summarizer: Summarizer, dialogue: Dialogue) -> Summary:
    [summary] = summarizer.summarize([dialogue], SummaryOptions(strategy="greedy", max_tokens=12))
    return summary


def test_three_hours_are_read_whole(summarizer: Summarizer) -> None:
    dialogue = transcript(HOURS * WORDS_AN_HOUR)
    summary = summarised(summarizer, dialogue)
    coverage = summary.coverage
    assert coverage.complete
    assert coverage.utterances_read == coverage.utterances == len(dialogue.utterances)
    assert coverage.dropped == ()
    read = {i for start, end in coverage.windows for i in range(start, end)}
    spoken = {i for i, u in enumerate(dialogue.utterances) if u.text}
    assert spoken <= read
    assert summary.text
    assert len(summary.text.split()) <= 170  # 150, punctuation not counted
    assert summary.status in ("ok", "warning", "low_confidence")


def test_memory_of_search_does_not_follow_the_length(summarizer: Summarizer) -> None:
    """Windows are searched in batches of a fixed size: what grows is text and token ids alone."""

    def peak(words: int) -> int:
        dialogue = transcript(words)
        tracemalloc.start()
        summarised(summarizer, dialogue)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    peak(1_000)  # what is made once
    assert peak(8_000) < 8 * peak(2_000)


def test_long_names_and_words_are_counted_once(summarizer: Summarizer) -> None:
    """They once made ``tokens_read`` negative, and the status ``truncated``."""
    talk = Dialogue(
        tuple(
            Utterance("Name " * 100 + str(i % 50), "and then we go " + "x" * (i % 3) * 200)
            for i in range(103)
        )
    )
    coverage = summarizer.read(talk).coverage
    assert coverage.complete
    assert 0 < coverage.tokens_read == coverage.tokens
    [summary] = summarizer.summarize([talk], max_tokens=4)
    assert summary.status != "truncated"
