"""What goes wrong with one dialogue leaves the others as they are."""

import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from dialogist import Dialogue, Session, Summarizer, Summary, Utterance
from dialogist.pipeline import stages
from dialogist.pipeline.window_generator import WindowGenerator
from dialogist.pipeline.windows import Segmenter

POISON = "poison"
TALKS = [
    Dialogue.from_text(f"Ann: We meet at {i}:30 at the {place}, fine?\nBo: Yes, see you.", id=place)
    for i, place in enumerate(("gym", POISON, "shop", "park"), start=1)
]


@pytest.fixture
def summarizer(tiny_model: Path) -> Summarizer:
    return Summarizer.load(str(tiny_model))


def content(summary: Summary) -> Summary:
    """All but how long it took."""
    return replace(summary, timings={})


def failing(error: type[Exception], stage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a stage fail wherever the poison is."""

    def breaks(call: Callable[..., object], dialogue_of: Callable[..., list[Dialogue]]) -> object:
        def step(*arguments: object) -> object:
            if any(d.id == POISON for d in dialogue_of(*arguments)):
                raise error("it broke")
            return call(*arguments)

        return step

    if stage == "read":
        monkeypatch.setattr(Segmenter, "read", breaks(Segmenter.read, lambda s, d, o: [d]))
    elif stage == "search":
        step = breaks(WindowGenerator.write, lambda s, windows, o: [w.dialogue for w in windows])
        monkeypatch.setattr(WindowGenerator, "write", step)
    elif stage == "compose":
        step = breaks(stages.compose, lambda b, reading, o: [reading.dialogue])
        monkeypatch.setattr(stages, "compose", step)
    else:
        step = breaks(stages.attach_evidence, lambda b, reading, s, said: [reading.dialogue])
        monkeypatch.setattr(stages, "attach_evidence", step)


@pytest.mark.parametrize("error", [ValueError, MemoryError, RecursionError, AssertionError])
@pytest.mark.parametrize("stage", ["read", "search", "compose", "evidence"])
def test_one_that_fails_is_an_error_and_its_neighbours_are_as_ever(
    summarizer: Summarizer,
    stage: str,
    error: type[Exception],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    before = summarizer.summarize(TALKS)
    failing(error, stage, monkeypatch)
    after = summarizer.summarize(TALKS)
    assert [s.status for s in after].count("error") == 1
    assert (after[1].text, after[1].id, after[1].status) == ("", POISON, "error")
    assert after[1].coverage.utterances == 2
    assert after[1].reason.startswith(f"{error.__name__}: it broke (error ")
    for i in (0, 2, 3):
        assert content(after[i]) == content(before[i])
    [record] = caplog.records
    assert record.levelno == logging.ERROR
    assert record.exc_info is not None
    number = after[1].reason.rpartition("error ")[2].rstrip(")")
    assert number in record.getMessage()
    assert POISON in record.getMessage()
    assert [content(s) for s in summarizer.stream(iter(TALKS), window=2)] == [*map(content, after)]


def test_the_same_fault_has_the_same_id(
    summarizer: Summarizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(ValueError, "compose", monkeypatch)
    one, other = summarizer.summarize([TALKS[1], TALKS[1]])
    assert one.reason == other.reason


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_who_wants_to_stop_can(
    summarizer: Summarizer, stop: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(stop, "search", monkeypatch)  # type: ignore[arg-type]
    with pytest.raises(stop):
        summarizer.summarize(TALKS)


def test_a_session_says_so_and_goes_on(
    summarizer: Summarizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = Session(summarizer, id=POISON)
    session.add(*TALKS[0].utterances)
    with monkeypatch.context() as broken:
        failing(ValueError, "compose", broken)
        assert session.summary().status == "error"
    session.add(Utterance("Ann", "Good."))
    assert session.summary().status != "error"
    assert session.summary().coverage.utterances == 3
