"""How dialogues are read, refused, and accounted for."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialogist import Dialogue, Summarizer, SummaryOptions, Utterance
from dialogist.pipeline.isolation import refusal, shortness


@pytest.fixture(scope="module")
def summarizer(tiny_model: Path) -> Summarizer:
    return Summarizer.load(str(tiny_model))


def said(*texts: str) -> Dialogue:
    return Dialogue(tuple(Utterance("Ann" if i % 2 else "Bo", t) for i, t in enumerate(texts)), "x")


ENGLISH = "I think that we should meet at the station and then go to the market."
GERMAN = "Ich denke, dass wir uns am Bahnhof treffen und danach zusammen zum Markt gehen sollten."
CHINESE = "您好，我想查询一下我的订单什么时候可以送到。"


@pytest.mark.parametrize(
    ("text", "language", "status"),
    [
        (ENGLISH * 2, "en", None),
        (GERMAN * 2, "en", "unsupported_language"),
        (CHINESE, "en", "unsupported_language"),
        (CHINESE, "zh", None),
        (ENGLISH, "zh", "unsupported_language"),
        (GERMAN, "", None),
        (" \n", "en", "empty"),
        ("Ja!", "en", None),
    ],
)
def test_refusals(text: str, language: str, status: str | None) -> None:
    found = refusal(said(text), language)
    assert (found and found[0]) == status


def test_shortness_is_told() -> None:
    assert shortness(said("Hi", "Hello there")) == "only 3 words said"
    assert shortness(said(ENGLISH)) == ""


def test_a_short_dialogue_is_summarised_all_the_same(summarizer: Summarizer) -> None:
    [summary] = summarizer.summarize([said("Hi", "Hello there")], SummaryOptions(max_tokens=12))
    assert (summary.status, summary.reason) == ("too_short", "only 3 words said")


def test_the_smallest_windows_are_for_long_summaries(summarizer: Summarizer) -> None:
    long = said(*[ENGLISH] * 6)
    medium = summarizer.read(long, SummaryOptions(max_tokens=12))
    detailed = summarizer.read(long, SummaryOptions(max_tokens=12, length="long"))
    assert len(detailed.windows) >= len(medium.windows) >= 1
    assert detailed.coverage.complete


texts = st.lists(st.sampled_from(["", " ", "Yes.", ENGLISH, ENGLISH * 9, "ok " * 40]), max_size=12)


@given(texts, st.sampled_from(["windows", "cut"]))
def test_every_utterance_is_accounted_for(
    summarizer: Summarizer, made: list[str], long: str
) -> None:
    dialogue = said(*made)
    reading = summarizer.read(dialogue, SummaryOptions(long=long, max_tokens=12))
    coverage = reading.coverage
    assert coverage.utterances == len(made)
    lost = {one.utterance for one in coverage.dropped}
    whole = {one.utterance for one in coverage.dropped if not _partly(reading, one.utterance)}
    assert coverage.utterances_read + len(whole) == len(made)
    assert all(0 <= one < len(made) for one in lost)
    if not reading.refused:
        left = coverage.tokens - coverage.tokens_read
        assert sum(one.tokens for one in coverage.dropped) == left
    if long == "windows" and not reading.refused:
        assert coverage.complete
        assert not lost


def _partly(reading: object, utterance: int) -> bool:
    """Whether some of an utterance is in a window."""
    windows = reading.windows  # type: ignore[attr-defined]
    if not windows:
        return False
    [window] = windows
    known = [o for o, start in zip(window.example.origins, window.encoded.starts, strict=False)]
    first = next((o for o in known if utterance in o), None)
    if first is None:
        return False
    place = window.encoded.starts[known.index(first)]
    return place < len(window.encoded.source) - 1
