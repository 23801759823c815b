"""A few hundred cases of `make fuzz`, one for each place that failed before, and its net."""

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.fuzz.checking import faults
from tests.fuzz.dialogues import case_of
from tests.fuzz.files import file_of
from tests.fuzz.running import (
    Fuzz,
    Hang,
    faithful,
    from_values,
    limited,
    network,
    tiny_summarizer,
)

from dialogist import Dialogue, Summarizer
from dialogist.records import EvidenceSpan, Statement

KEPT = sorted((Path(__file__).parent / "kept").glob("*.json"))
SHORT = 60
"""Utterances of the longest dialogue here: long ones are for `make fuzz`."""


@pytest.fixture(scope="module")
def summarizer() -> Summarizer:
    return tiny_summarizer()


def short_ones(seed: int) -> Iterator[int]:
    number = 0
    while True:
        if len(case_of(seed, number).utterances) <= SHORT:
            yield number
        number += 1


def test_dialogues_and_files_go_through(summarizer: Summarizer) -> None:
    fuzz, numbers = Fuzz(seed=0), short_ones(0)
    for group in range(3):  # each asks for another length
        fuzz.dialogues(faithful(summarizer, group), [next(numbers) for _ in range(60)])
        fuzz.dialogues(network(summarizer, group), [next(numbers) for _ in range(20)])
    fuzz.files(faithful(summarizer), range(40))
    fuzz.files(network(summarizer), range(40, 60))
    assert fuzz.found.failures == []
    assert fuzz.found.unread < fuzz.found.files  # damage leaves something to read


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_what_failed_once_does_not_again(summarizer: Summarizer, path: Path) -> None:
    dialogue = from_values(json.loads(path.read_text(encoding="utf-8")))
    fuzz = Fuzz(seed=0)
    fuzz.check(faithful(summarizer), [dialogue], [path.stem])
    fuzz.check(network(summarizer), [dialogue], [path.stem])
    assert fuzz.found.failures == []


def test_a_seed_gives_the_same_again() -> None:
    assert case_of(3, 5) == case_of(3, 5) != case_of(4, 5)
    assert file_of(3, 5) == file_of(3, 5) != file_of(4, 5)


def test_faults_are_found(summarizer: Summarizer) -> None:
    """A net without holes: each kind of fault, put into a good summary."""
    talk = Dialogue.from_text("Ann: We meet at 7:30, fine?\nBo: Yes, see you at the gym.", id="a")
    [good] = summarizer.summarize([talk])
    assert list(faults(talk, good)) == []
    sentence = Statement(good.text, 0, len(good.text), evidence=(EvidenceSpan(0, 0, 99, 0.5),))
    coverage = replace(good.coverage, tokens_read=-3)
    for wrong in (
        replace(good, status="error"),
        replace(good, status="truncated"),
        replace(good, id="b"),
        replace(good, text="\x07" + good.text),
        replace(good, text=good.text + "\U0010f001"),
        replace(good, text=good.text + "\ufffd"),
        replace(good, coverage=coverage),
        replace(good, sentences=(sentence,)),
        replace(good, warnings="x"),
        replace(good, score=10**400),
    ):
        try:
            found = list(faults(talk, wrong))
        except (AttributeError, OverflowError, ValueError) as error:
            found = [str(error)]
        assert found


def test_a_hang_is_stopped() -> None:
    def hang() -> None:
        while True:
            pass

    with pytest.raises(Hang), limited(0.2):
        hang()


def test_a_lock_is_stopped() -> None:
    with pytest.raises(Hang), limited(0.01):
        threading.Event().wait(60)
