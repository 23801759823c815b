"""What the tests of the laboratory's evaluation share."""

import json
import re
from html import unescape
from pathlib import Path

import pytest

from dialogist.records import Dialogue

TURNS = ("Ann: Shall we meet at noon?", "Bo: Yes, at Luigi's bar.", "Ann: I bring the report.")


EVIL = "</script><script>alert('&')</script>"


def dialogue(number: int = 0, *references: str, turns: tuple[str, ...] = TURNS) -> Dialogue:
    """A dialogue of three turns, the last with its number."""
    text = "\n".join([*turns[:-1], f"{turns[-1]} Number {number} is done."])
    talk = Dialogue.from_text(text, f"d{number}")
    return Dialogue(talk.utterances, talk.id, references or (f"Ann and Bo meet. Case {number}.",))


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


def page_data(html: str) -> dict:
    """What a page's script reads; the page must load nothing and end no script early."""
    data = re.search(r'<script type="application/json" id="page">(.*?)</script>', html, re.DOTALL)
    assert data is not None
    assert "default-src 'none'" in unescape(html)
    assert "src=" not in html.replace('"data:', "")
    assert EVIL not in html
    return json.loads(data[1])


def rated(folder: Path, html: str, name: str, marks: dict, **changes: object) -> Path:
    """The file that a rater saves."""
    data, path = page_data(html), folder / f"{name}.json"
    record = {"kind": "dialogist rating answers", "version": 1, "rater": name, "answers": marks}
    record |= {"page": data["page"], "key": data["key"], **changes}
    path.write_text(json.dumps(record))
    return path
