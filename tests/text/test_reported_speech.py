"""Reported speech: pairs checked by hand, and what holds of any text."""

from pathlib import Path

import pytest
import yaml

from dialogist.text.reported_speech import Conversation

_GROUPS = yaml.safe_load(
    (Path(__file__).parent / "reported_speech.yaml").read_text(encoding="utf-8")
)


def _pairs() -> list[tuple[tuple[tuple[str, str], ...], str]]:
    found = []
    for group in _GROUPS:
        for line in group.get("pairs", "").splitlines():
            said, _, expected = line.partition(" => ")
            first, second = group["speakers"]
            found.append((((first, said), (second, "Hm.")), expected))
    return found


def _dialogues() -> list[tuple[tuple[tuple[str, str], ...], str]]:
    found = []
    for group in _GROUPS:
        for line in group.get("dialogues", "").splitlines():
            said, _, expected = line.partition(" => ")
            turns = tuple(tuple(turn.split(": ", 1)) for turn in said.split(" | "))
            found.append((turns, expected))
    return found


def _told(turns: tuple[tuple[str, str], ...], turn: int) -> str:
    told = [one.text if one.kind == "reported" else "q" for one in Conversation(turns).report(turn)]
    return " / ".join(told) or "-"


@pytest.mark.parametrize(("turns", "expected"), _pairs())
def test_what_one_says_to_the_other(turns, expected):
    assert _told(turns, 0) == expected


@pytest.mark.parametrize(("turns", "expected"), _dialogues())
def test_what_is_said_in_a_dialogue(turns, expected):
    assert _told(turns, len(turns) - 1) == expected


def test_at_least_three_hundred_pairs_are_checked():
    assert len(_pairs()) + len(_dialogues()) >= 300
