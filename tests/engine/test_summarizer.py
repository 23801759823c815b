"""The Summarizer: order, honesty about what was read, speakers, batches."""

from pathlib import Path

import pytest

from dialogist import DecodingOptions, Dialogue, Summarizer, Utterance
from dialogist.baselines.extractive import BASELINES
from dialogist.errors import UsageError
from dialogist.records import Summary
from dialogist.tokenizers import PLACEHOLDERS, placeholder


@pytest.fixture(scope="module")
def summarizer(tiny_model: Path) -> Summarizer:
    return Summarizer.load(str(tiny_model))


def dialogue(length: int, name: str = "d") -> Dialogue:
    return Dialogue(
        tuple(
            Utterance(("Ann", "Bo")[i % 2], f"We meet at {i}, is that fine?") for i in range(length)
        ),
        name,
    )


def test_order_and_independence_of_neighbours(summarizer: Summarizer) -> None:
    dialogues = [dialogue(n, str(n)) for n in (5, 1, 3, 2, 4, 1)]
    together = summarizer.summarize(dialogues)
    assert [s.id for s in together] == ["5", "1", "3", "2", "4", "1"]
    alone = [summarizer.summarize([d])[0] for d in dialogues]
    assert [s.text for s in together] == [s.text for s in alone]
    narrow = Summarizer(summarizer.bundle, batch_tokens=1)  # every dialogue a batch of its own
    assert [s.text for s in narrow.summarize(dialogues)] == [s.text for s in alone]
    streamed = list(summarizer.stream(iter(dialogues), window=2))
    assert [s.text for s in streamed] == [s.text for s in alone]


def test_what_was_not_read_is_said(summarizer: Summarizer) -> None:
    short, long = summarizer.summarize([dialogue(2), dialogue(60)])
    assert short.status == "ok"
    assert short.coverage.complete
    assert long.status == "partial"
    assert long.coverage.utterances == 60
    assert long.coverage.utterances_read < 60
    assert long.coverage.tokens_read == 94  # 96 less begin and end
    [warning] = [w for w in long.warnings if "longer than this model" in w]
    assert f"94 of {long.coverage.tokens} tokens" in warning


def test_nothing_to_say(summarizer: Summarizer) -> None:
    silent = Dialogue((Utterance("Ann", "  "), Utterance("Bo", "")), "silent")
    empty, spoken = summarizer.summarize([silent, dialogue(1)])
    assert (empty.status, empty.text) == ("empty", "")
    assert "the dialogue holds no text" in empty.warnings
    assert spoken.status == "ok"
    assert summarizer.summarize([]) == []


def test_cut_summaries_are_said(summarizer: Summarizer) -> None:
    options = DecodingOptions(strategy="greedy", min_tokens=3, max_tokens=3)
    [summary] = summarizer.summarize([dialogue(2)], options)
    assert "the summary reached max_tokens and stops there" in summary.warnings


def test_only_speakers_of_the_dialogue_can_be_named(summarizer: Summarizer) -> None:
    """Sampled at a high temperature a random model says every token it may."""
    options = DecodingOptions(strategy="sample", temperature=50.0, min_tokens=20, max_tokens=22)
    placeholders = [placeholder(i) for i in range(PLACEHOLDERS)]
    names = set()
    for seed in range(30):
        chosen = options.model_copy(update={"seed": seed})
        for summary in summarizer.summarize([dialogue(3)], chosen):
            assert not any(p in summary.text for p in placeholders)
            names |= {name for name in ("Ann", "Bo") if name in summary.text}
    assert names == {"Ann", "Bo"}


def test_too_long_a_wish_is_a_usage_error(summarizer: Summarizer) -> None:
    with pytest.raises(UsageError, match="at most 23 tokens"):
        summarizer.summarize([dialogue(1)], DecodingOptions(max_tokens=24))


@pytest.mark.parametrize("name", sorted(BASELINES))
def test_baselines_have_the_same_face(name: str) -> None:
    system = BASELINES[name]
    [summary] = system.summarize([dialogue(4)], None)
    assert isinstance(summary, Summary)
    assert summary.text
    assert summary.model == system.name == name


def test_rejects_unknown_device() -> None:
    with pytest.raises(UsageError, match="use auto, cpu or cuda"):
        Summarizer.load("default", device="abacus")
