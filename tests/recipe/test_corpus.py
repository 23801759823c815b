"""A recipe's data as a stream: made references, and what is left out and told."""

import json
from pathlib import Path

import pytest

from dialogist.errors import ConfigError
from dialogist.recipe.corpus import Corpus
from dialogist.recipe.recipe_config import DataSet

ROWS = [
    {
        "fname": "1",
        "dialogue": "#Person1#: My printer does not work.\n#Person2#: I will bring you a new one.",
        "summary": "A printer.",
    },
    {"fname": "2", "dialogue": "#Person1#: Hello.\n#Person2#: Hi.", "summary": "They meet."},
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lines = "".join(json.dumps(row) + "\n" for row in ROWS)
    (tmp_path / "some.jsonl").write_text(lines, encoding="utf-8")
    return tmp_path


def test_own_references_are_the_files(folder: Path):
    found = list(Corpus([DataSet(path="some.jsonl", format="dialogsum")], folder, print))

    assert [d.references for d in found] == [("A printer.",), ("They meet.",)]


def test_reported_references_are_made_and_what_cannot_be_told_is_left_out_and_said(folder: Path):
    notes: list[str] = []
    one = DataSet(path="some.jsonl", format="dialogsum", references="reported")
    corpus = Corpus([one], folder, notes.append)

    (found,) = corpus

    assert found.id == "1"
    assert found.references[0].startswith(("#Person1#'s printer", "#Person1# says", "#Person1# t"))
    assert (corpus.counts[0].dialogues, corpus.counts[0].excluded) == (1, 1)
    assert notes == ["some.jsonl: 1 dialogue left out: no rule reports what is said"]


def test_other_references_than_these_are_an_error():
    with pytest.raises(ConfigError, match=r"references"):
        DataSet.parse({"path": "x", "references": "invented"}, "recipe.yaml")
