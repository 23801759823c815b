"""What the lines that a sentence cites do not bear out."""

import pytest

from dialogist import Dialogue
from dialogist.checks.checking import claims
from dialogist.checks.evidence_index import index_of
from dialogist.records import EvidenceSpan, Statement

FRIENDS = Dialogue.from_text(
    "Ann: Dad wants to sell the car.\n"
    "Ben: Could you drive me to the station at 5?\n"
    "Ann: Sorry, I can't drive today.\n"
    "Ben: Then let us meet on the 3rd at 6.\n"
    "Ann: I'll bring the tent.\n"
    "Ann: And I'll e-mail the map before Friday."
)


def kinds(sentence: str, *cited: int) -> list[str]:
    spans = tuple(
        EvidenceSpan(number, 0, len(FRIENDS.utterances[number].text), 0.9) for number in cited
    )
    statement = Statement(sentence, 0, len(sentence), "", spans, 0.9)
    return [warning.kind for warning in claims(statement, index_of(FRIENDS))]


@pytest.mark.parametrize(
    ("sentence", "cited", "kind"),
    [
        ("Ann will bring the stove.", 4, "uncited"),
        ("Ann will bring the car.", 4, "uncited"),
        ("Ben meets Ann from the 3rd to the 3rd.", 3, "repeated"),
        ("Ann can drive today.", 2, "contradiction"),
        ("Ann won't bring the tent.", 4, "contradiction"),
        ("Ann wants to sell the car.", 0, "contradiction"),
        ("Ann will drive Ben to the station.", 1, "declined"),
        ("Ben will meet Ann on the 3rd.", 3, "tentative"),
        ("Ann asks Ben for the tent.", 4, "tentative"),
        ("Ben wants Ann to drive him to the station at 5.", 1, "stale"),
    ],
)
def test_what_the_cited_line_does_not_bear_out(sentence: str, cited: int, kind: str) -> None:
    assert kind in kinds(sentence, cited)


@pytest.mark.parametrize(
    ("sentence", "cited"),
    [
        ("Ann will bring the tent.", 4),
        ("Ann can't drive today.", 2),
        ("Ben asks Ann to drive him to the station.", 1),
        ("Ann will e-mail the map before Friday.", 5),
    ],
)
def test_what_the_cited_line_says_is_left_alone(sentence: str, cited: int) -> None:
    assert kinds(sentence, cited) == []
