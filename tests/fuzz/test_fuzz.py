"""What must hold of every result, whatever the dialogue: 200 odd ones; make fuzz takes more.

DIALOGIST_FUZZ_CASES=20000 DIALOGIST_FUZZ_SEED=7 python -m pytest tests/fuzz
"""

import json
import os
import time
import unicodedata
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.fuzz.dialogues import case_of

from dialogist import Dialogue, Summarizer, Summary, Utterance
from dialogist.records import EvidenceSpan, Statement, SummaryOptions
from dialogist.render import markdown_of, text_of
from dialogist.summarizer import Result

CASES = int(os.environ.get("DIALOGIST_FUZZ_CASES", "200"))
SEED = os.environ.get("DIALOGIST_FUZZ_SEED", "0")
KEPT = sorted((Path(__file__).parent / "kept").glob("*.json"))
SECONDS = 10.0
"""Seconds of computing that one dialogue may take, however long it is."""
OPTIONS = [
    (None, SummaryOptions()),
    (None, SummaryOptions(length="short", mask="output", mask_names="all")),
    ("ticket", SummaryOptions(length="long", perspective="name")),
    ("meeting", SummaryOptions(words=8, mask="input", perspective="role")),
]


@pytest.fixture(scope="module")
def summarizers() -> list[Summarizer]:
    return [Summarizer(form=form) for form, _ in OPTIONS]


def faults(dialogue: Dialogue, result: Result) -> Iterator[str]:
    """What does not hold, one line each."""
    summary, said = result.summary, result.dialogue.utterances
    if summary.status == "error":
        yield f"status error: {summary.reason}"
        return
    if summary.id != dialogue.id:
        yield f"id {dialogue.id!r} came back as {summary.id!r}"
    if not 0 <= summary.coverage.words_read <= summary.coverage.words:
        yield f"{summary.coverage.words_read} of {summary.coverage.words} words were read"
    if len(said) != len(dialogue.utterances):
        yield f"{len(said)} utterances of {len(dialogue.utterances)}"
    for character in {c for s in summary.statements for c in s.text} | {*summary.text}:
        if unicodedata.category(character) in ("Cc", "Cs"):
            yield f"U+{ord(character):04X} in the summary"
    for statement in summary.statements:
        if summary.text[statement.start : statement.end] != statement.text:
            yield f"{statement.text!r} does not stand at {statement.start} to {statement.end}"
        for span in statement.evidence:
            text = said[span.utterance].text
            if not 0 <= span.start <= span.end <= len(text) or not 0 <= span.score <= 1:
                yield f"evidence out of range: {span}"
    if Summary.from_json(json.loads(json.dumps(summary.to_json()))) != summary:
        yield "JSON does not give the summary back"
    shown = text_of(result) + markdown_of(result)
    if any(unicodedata.category(c) in ("Cc", "Cs") for c in shown.replace("\n", "")):
        yield "a character that steers a terminal is shown"


def tried(summarizers: list[Summarizer], dialogue: Dialogue, number: int) -> list[str]:
    """The faults of one dialogue, with one of the `OPTIONS`."""
    which = number % len(OPTIONS)
    begin = time.process_time()
    result = summarizers[which].result(dialogue, OPTIONS[which][1])
    found = list(faults(dialogue, result))
    if time.process_time() - begin > SECONDS:
        found.append(f"more than {SECONDS:g} seconds")
    return [f"case {number}: {fault}" for fault in found]


def test_odd_dialogues_go_through(summarizers: list[Summarizer]) -> None:
    found: list[str] = []
    for number in range(CASES):
        dialogue = case_of(SEED, number)
        if CASES > 200 or len(dialogue.utterances) <= 60:  # long ones are for make fuzz
            found += tried(summarizers, dialogue, number)
    assert found == []


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_what_failed_once_does_not_again(summarizers: list[Summarizer], path: Path) -> None:
    turns = json.loads(path.read_text(encoding="utf-8"))["turns"]
    dialogue = Dialogue(tuple(Utterance(*turn) for turn in turns))
    assert [fault for n in range(len(OPTIONS)) for fault in tried(summarizers, dialogue, n)] == []


def test_faults_are_found(summarizers: list[Summarizer]) -> None:
    """A net without holes: each kind of fault, put into a good summary."""
    talk = Dialogue.from_text("Ann: We meet at 7:30, fine?\nBo: Yes, see you at the gym.", id="a")
    good = summarizers[0].result(talk, SummaryOptions())
    assert list(faults(talk, good)) == []
    summary = good.summary
    beyond = Statement(summary.text, 0, len(summary.text), evidence=(EvidenceSpan(0, 0, 99),))
    for wrong in (
        replace(summary, status="error"),
        replace(summary, id="b"),
        replace(summary, text="\x07" + summary.text),
        replace(summary, coverage=replace(summary.coverage, words_read=-3)),
        replace(summary, statements=(beyond,)),
        replace(summary, statements=(replace(beyond, evidence=(), start=3),)),
    ):
        assert list(faults(talk, replace(good, summary=wrong))), wrong
