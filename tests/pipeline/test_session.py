"""A conversation that goes on: the same summary as all at once, for the price of its end."""

from pathlib import Path

import pytest

from dialogist import Session, Summarizer, Utterance


@pytest.fixture(scope="module")
def summarizer(tiny_model: Path) -> Summarizer:
    return Summarizer.load(str(tiny_model))


def said(count: int) -> list[Utterance]:
    return [
        Utterance(("Ann", "Bo")[i % 2], f"We meet at place {i} and then we go to the shop.")
        for i in range(count)
    ]


def test_piece_by_piece_is_all_at_once(summarizer: Summarizer) -> None:
    growing, whole = Session(summarizer, id="x"), Session(summarizer, id="x")
    for utterance in said(30):
        growing.add(utterance)
        last = growing.summary()
    whole.add(*said(30))
    once = whole.summary()
    assert (last.text, last.sentences, last.coverage) == (once.text, once.sentences, once.coverage)
    assert last.id == "x"
    assert len(last.coverage.windows) > 1
    assert last.coverage.complete


def test_only_the_end_is_searched_again(
    summarizer: Summarizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = Session(summarizer)
    session.add(*said(30))
    windows = len(session.summary().coverage.windows)
    asked: list[int] = []
    write = session._writer.write
    monkeypatch.setattr(
        session._writer, "write", lambda w, o: (asked.append(len(w)), write(w, o))[1]
    )
    session.summary()
    session.add(*said(1))
    session.summary()
    assert asked[0] == 0
    assert asked[1] <= 2 < windows


def test_nothing_yet(summarizer: Summarizer) -> None:
    session = Session(summarizer)
    assert session.summary().status == "empty"
    session.add(Utterance("Ann", " "))
    assert session.summary().status == "empty"
    session.add(*said(2))
    assert session.summary().coverage.utterances == 3
