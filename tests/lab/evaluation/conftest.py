"""What the tests of the laboratory's evaluation share."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from dialogist.records import Dialogue, Summary
from dialogist_lab.evaluation.systems import Output, output_of

TURNS = ("Ann: Shall we meet at noon?", "Bo: Yes, at Luigi's bar.", "Ann: I bring the report.")


def dialogue(number: int = 0, *references: str, turns: tuple[str, ...] = TURNS) -> Dialogue:
    """A dialogue of three turns, the last with its number."""
    text = "\n".join([*turns[:-1], f"{turns[-1]} Number {number} is done."])
    talk = Dialogue.from_text(text, f"d{number}")
    return Dialogue(talk.utterances, talk.id, references or (f"Ann and Bo meet. Case {number}.",))


@pytest.fixture
def outputs_saying() -> Callable[..., list[Output]]:
    """Outputs with these texts, each about a dialogue of its own."""

    def make(*texts: str, references: tuple[str, ...] = ()) -> list[Output]:
        return [output_of(Summary(t), dialogue(i, *references)) for i, t in enumerate(texts)]

    return make


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A file of 9 dialogues with two references each."""
    lines = []
    for number in range(9):
        talk = dialogue(number)
        turns = [[turn.speaker, turn.text] for turn in talk.utterances]
        summaries = [f"Ann and Bo meet for case {number}.", f"They meet at noon, number {number}."]
        lines.append(json.dumps({"id": talk.id, "turns": turns, "summaries": summaries}))
    path = tmp_path / "dev.jsonl"
    path.write_text("\n".join(lines))
    return path
