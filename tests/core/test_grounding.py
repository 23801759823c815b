"""Evidence and sure rules, by tables of cases."""

from pathlib import Path

import pytest
import yaml

from dialogist.errors import DataError
from dialogist.grounding import ground
from dialogist.grounding.evidence import find_evidence
from dialogist.grounding.verification import Judgement, SureRules
from dialogist.records import Dialogue, Draft, EvidenceSpan

CASES = yaml.safe_load((Path(__file__).parent / "grounding.yaml").read_text(encoding="utf-8"))
TALKS = {name: Dialogue.from_text(text) for name, text in CASES["talks"].items()}


@pytest.mark.parametrize("case", CASES["evidence"], ids=lambda case: case["statement"])
def test_evidence(case: dict) -> None:
    talk = TALKS[case["talk"]]
    spans = find_evidence(talk, case["statement"], case.get("lines", ()))
    shown = {s.utterance: talk.utterances[s.utterance].text[s.start : s.end] for s in spans}
    assert shown == case["rests on"]
    assert [span.utterance for span in spans] == list(case["rests on"])
    assert [span.score for span in spans] == sorted((s.score for s in spans), reverse=True)


@pytest.mark.parametrize("case", CASES["sure"], ids=lambda case: case["statement"])
def test_numbers_and_names_that_nobody_said(case: dict) -> None:
    complaints = SureRules(TALKS[case["talk"]].utterances).complaints(case["statement"])
    assert [reason.removeprefix("nobody says ") for reason in complaints] == case["nobody says"]


def test_a_line_that_is_cited_is_evidence_whatever_it_says() -> None:
    talk = TALKS["lunch"]
    assert find_evidence(talk, "Penguins swim.") == ()
    assert find_evidence(talk, "Penguins swim.", (1, 9, -1)) == (EvidenceSpan(1, 0, 25, 0.0),)


def test_cited_lines_that_hold_nothing_are_corrected() -> None:
    turns = "Ann: The report is due on Tuesday.\n" + "Bo: Well.\nAnn: Hm.\n" * 3 + "Bo: Tea now.\n"
    talk = Dialogue.from_text(turns)
    assert [s.utterance for s in find_evidence(talk, "The report is due on Tuesday.", (7,))] == [0]
    assert [s.utterance for s in find_evidence(talk, "The report is due.", (0, 1))] == [0, 1]
    assert [s.utterance for s in find_evidence(talk, "The report is due.", (0, 7))] == [0]


def test_a_writers_quote_is_compared_with_the_dialogue() -> None:
    talk = Dialogue.from_text("Ann: The report is due on Tuesday.\nBo: Well, tea now.\n")
    span = EvidenceSpan(0, 0, 29)
    true = Draft("Ann: “The report is due … Tuesday.”", quotes=(span,))
    false = Draft("Ann: “The report is late.”", quotes=(span,))
    assert [s.verdict for s in ground(talk, [true, false])] == ["quoted", "unverified"]
    for place in (EvidenceSpan(0, 0, 30), EvidenceSpan(2, 0, 1), EvidenceSpan(1, 3, 3)):
        with pytest.raises(DataError, match="which the dialogue does not have"):
            ground(talk, [Draft("Tea", quotes=(place,))])


def test_a_verifier_says_what_a_summary_may_hold() -> None:
    class Sure:
        name = "sure"

        def verify(self, dialogue: Dialogue, statements: list) -> list[Judgement]:
            return [Judgement("great")] * len(statements)

    with pytest.raises(DataError, match="verifier 'sure' says 'great', which is no verdict"):
        ground(TALKS["lunch"], [Draft("Lunch is at noon.", (0,))], Sure())
