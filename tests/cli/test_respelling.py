"""Old spellings of flags work for a release, and a note says how to write them today."""

import pytest
import typer

from dialogist.cli.command_tree import respelled
from dialogist.cli.main import app

COMMAND = typer.main.get_command(app)


def today(words: str) -> tuple[str, list[str]]:
    notes: list[str] = []
    return " ".join(respelled(COMMAND, words.split(), notes.append)), notes


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("summarize a.txt -o json", "summarize a.txt --format json"),
        ("summarize --output md a.txt", "summarize --format md a.txt"),
        ("summarize --output=md", "summarize --format md"),
        ("mask -otext a.txt", "mask --format text a.txt"),
        ("keypoints label a.jsonl -o jsonl", "keypoints label a.jsonl --format jsonl"),
        ("rate report a.json -o md", "rate report a.json --format md"),
        ("doctor --json", "doctor --format json"),
        (
            "--show-personal-data data stats a --json",
            "--show-personal-data data stats a --format json",
        ),
        ("summarize -f transcript", "summarize --input-format transcript"),
        ("data stats a.csv --format csv", "data stats a.csv --input-format csv"),
        ("report RUN -o out --format auto", "report RUN -o out --input-format auto"),
    ],
)
def test_old_spellings(before, after):
    words, notes = today(before)
    assert words == after
    assert len(notes) == 1
    assert "is now written --" in notes[0]


@pytest.mark.parametrize(
    "words",
    [
        "summarize a.txt -o ./json",
        "summarize -- -o json",
        "summarize --model -o json",  # a model called -o, and a file called json
        "summarize --format json --output out.json --input-format csv",
        "models pack default -o json",  # a folder: it never was a form there
        "data split a.jsonl -o text",
        "batch a.jsonl --output parts --format csv",  # a wrong form of the parts
        "train RECIPE --output md",
        "compare a b -o jsonl",  # compare never had that form
        "explain a.txt --json",  # has its own: a page may stand beside it
        "summarise -o json",
        "",
    ],
)
def test_what_stays_as_it_is(words):
    assert today(words) == (words, [])


def test_a_file_called_like_a_form_is_explained():
    _, [note] = today("summarize -o json")
    assert note.endswith("(--output names a file; one that is called so is ./json)")
