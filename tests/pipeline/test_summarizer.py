"""The Summarizer: order, honesty about what was read, speakers, batches."""

from itertools import pairwise
from pathlib import Path

import pytest

from dialogist import DecodingOptions, Dialogue, Summarizer, SummaryOptions, Utterance
from dialogist.baselines.extractive import BASELINES
from dialogist.decoding import SearchStopped, stopping_when
from dialogist.errors import UsageError
from dialogist.pipeline.window_generator import BatchLimits
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
    narrow = Summarizer(summarizer.bundle, BatchLimits(1, 1))  # every dialogue a batch of its own
    assert [s.text for s in narrow.summarize(dialogues)] == [s.text for s in alone]
    streamed = list(summarizer.stream(iter(dialogues), window=2))
    assert [s.text for s in streamed] == [s.text for s in alone]


def test_what_was_not_read_is_said(summarizer: Summarizer) -> None:
    cut = summarizer.options.model_copy(update={"long": "cut"})
    short, long = summarizer.summarize([dialogue(2), dialogue(60)], cut)
    assert short.coverage.complete
    assert long.status == "truncated"
    assert long.coverage.utterances == 60
    assert long.coverage.utterances_read < 60
    assert long.coverage.tokens_read == 94  # 96 less begin and end
    [warning] = [w for w in long.warnings if w.kind == "truncated"]
    assert f"94 of {long.coverage.tokens} tokens" in warning.message
    dropped = {one.utterance for one in long.coverage.dropped}
    assert dropped >= set(range(long.coverage.utterances_read, 60))
    lost = sum(one.tokens for one in long.coverage.dropped)
    assert lost == long.coverage.tokens - long.coverage.tokens_read


def test_a_long_dialogue_is_read_in_windows(summarizer: Summarizer) -> None:
    [long] = summarizer.summarize([dialogue(60)])
    coverage = long.coverage
    assert long.status != "truncated"
    assert coverage.complete
    assert coverage.utterances_read == coverage.utterances == 60
    assert coverage.dropped == ()
    assert len(coverage.windows) > 1
    assert coverage.windows[0][0] == 0
    assert coverage.windows[-1][1] == 60
    for (_, end), (start, _) in pairwise(coverage.windows):
        assert start <= end  # nothing between two windows


def test_nothing_to_say(summarizer: Summarizer) -> None:
    silent = Dialogue((Utterance("Ann", "  "), Utterance("Bo", "")), "silent")
    empty, spoken = summarizer.summarize([silent, dialogue(1)])
    assert (empty.status, empty.reason, empty.text) == ("empty", "the dialogue holds no text", "")
    assert ("not_read", empty.reason) in [(w.kind, w.message) for w in empty.warnings]
    assert spoken.text
    assert summarizer.summarize([]) == []


def test_cut_summaries_are_said(summarizer: Summarizer) -> None:
    options = DecodingOptions(strategy="greedy", min_tokens=3, max_tokens=3)
    [summary] = summarizer.summarize([dialogue(2)], options)
    assert summary.is_cut
    [warning] = [w for w in summary.warnings if w.kind == "cut"]
    assert warning.message == "the summary reached max_tokens and stops there"


def test_only_speakers_of_the_dialogue_can_be_named(summarizer: Summarizer) -> None:
    """Sampled at a high temperature a random model says every token it may."""
    wild = {"strategy": "sample", "temperature": 50.0, "min_tokens": 20, "max_tokens": 22}
    options = SummaryOptions(**wild, safe=False)
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


def test_rejects_unknown_device(tiny_model: Path) -> None:
    with pytest.raises(UsageError, match="use auto, cpu or cuda"):
        Summarizer.load(str(tiny_model), device="abacus")


def test_a_search_stops_at_the_step_at_which_nobody_waits_any_more() -> None:
    summarizer = Summarizer.load("default")
    dialogue = Dialogue.from_text("Ann: Can you send the report by Friday?\nBo: Yes, on Thursday.")
    steps = 0

    def is_over() -> bool:
        nonlocal steps
        steps += 1
        return steps == 3

    with pytest.raises(SearchStopped), stopping_when(is_over):
        summarizer.summarize([dialogue], style="free")
    assert steps == 3
    assert summarizer.summarize([dialogue], style="free")[0].text
