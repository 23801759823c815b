"""What the checks say of sentences, and the status that follows."""

from dataclasses import replace

import pytest

from dialogist import Dialogue, Summary
from dialogist.checks.checking import NOT_VERIFIED, with_checks
from dialogist.records import EvidenceSpan, Statement, Warning

CALL = Dialogue.from_text(
    "Customer: The blender leaks. Can you tell me how to send it back?\n"
    "Agent: We send you a new one, and you have to send the old one back within 14 days.\n"
    "Customer: Okay, I will send the old one back on Tuesday."
)
LEAST = 0.6


def summary_of(*said: tuple[str, float | None, list[int]]) -> Summary:
    """A summary of sentences with their confidence and evidence."""
    sentences: list[Statement] = []
    text = ""
    for sentence, confidence, numbers in said:
        text += " " if text else ""
        spans = tuple(EvidenceSpan(number, 0, 5, 0.9) for number in numbers)
        place = (len(text), len(text) + len(sentence))
        sentences.append(Statement(sentence, *place, "", spans, confidence))
        text += sentence
    return Summary(text, sentences=tuple(sentences))


def kinds(summary: Summary) -> list[str]:
    return [warning.kind for warning in summary.warnings]


def test_what_a_network_wrote_is_never_verified() -> None:
    found = with_checks(summary_of(("Customer has a leaking blender.", 0.8, [0])), CALL, LEAST)
    assert (found.status, found.reason, found.warnings) == ("unchecked", NOT_VERIFIED, ())
    assert [sentence.check for sentence in found.sentences] == ["unchecked"]


def test_a_sentence_whose_evidence_somebody_else_says_has_failed() -> None:
    wrong = summary_of(("The blender leaks.", 0.8, [0]), ("Agent will send it back.", 0.8, [2]))
    found = with_checks(wrong, CALL, LEAST)
    warning = found.warnings[0]
    assert (warning.kind, warning.start, warning.text) == (
        "speaker_mismatch",
        19,
        "Agent will send it back.",
    )
    assert warning.message.startswith("Customer says")
    assert [sentence.check for sentence in found.sentences] == ["unchecked", "failed"]
    assert (found.status, found.reason) == ("warning", warning.message)


@pytest.mark.parametrize(
    ("sentence", "number"),
    [
        ("Customer agrees.", 1),
        ("Agent helps Customer send it back.", 0),
        ("Customer and Agent talk about the blender.", 0),
        ("Agent sends a new one and Customer sends the old one.", 1),
    ],
)
def test_what_others_may_say_is_no_mismatch(sentence: str, number: int) -> None:
    assert not with_checks(summary_of((sentence, 0.8, [number])), CALL, LEAST).warnings


def test_low_confidence_and_missing_evidence_leave_a_sentence_unchecked() -> None:
    said = summary_of(("Customer complains.", 0.41, [0]), ("Agent agrees.", 0.9, []))
    found = with_checks(said, CALL, LEAST)
    assert kinds(found) == ["unsure", "no_evidence"]
    assert "0.41" in found.warnings[0].message
    assert [sentence.check for sentence in found.sentences] == ["unchecked", "unchecked"]
    assert found.status == "unchecked"


def test_without_a_bar_or_a_confidence_nothing_is_unsure() -> None:
    low = summary_of(("Customer complains.", 0.1, [0]))
    assert not with_checks(low, CALL, None).warnings
    assert not with_checks(summary_of(("Customer complains.", None, [0])), CALL, LEAST).warnings


def test_without_evidence_no_line_is_missed() -> None:
    bare = summary_of(("Customer complains.", None, []))
    found = with_checks(bare, CALL, None, has_evidence=False)
    assert (found.status, found.warnings) == ("unchecked", ())


def test_complaints_of_other_checks_fail_the_sentence_they_are_about() -> None:
    said = summary_of(("Customer complains.", 0.8, [0]), ("Bob agrees.", 0.8, [1]))
    warned = replace(said, warnings=(Warning("name", "'Bob' is not there", 20, 23, "Bob"),))
    found = with_checks(warned, CALL, LEAST)
    assert [sentence.check for sentence in found.sentences] == ["unchecked", "failed"]
    assert (found.status, found.reason) == ("warning", "'Bob' is not there (and 1 more)")


@pytest.mark.parametrize(("kind", "status"), [("removed", "warning"), ("input", "unchecked")])
def test_warnings_about_no_sentence(kind: str, status: str) -> None:
    said = summary_of(("Customer complains.", 0.8, [0]))
    warned = replace(said, warnings=(Warning(kind, "told"),))  # type: ignore[arg-type]
    assert with_checks(warned, CALL, LEAST).status == status


def test_a_graver_status_stays() -> None:
    said = replace(summary_of(("Agent pays.", 0.1, [0])), status="truncated", reason="long")
    assert with_checks(said, CALL, LEAST).status == "truncated"
    assert with_checks(Summary("", status="empty"), CALL, LEAST).status == "empty"
