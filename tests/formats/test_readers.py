import gzip
import os

import pytest
from tests.formats.conftest import turns

from dialogist.errors import DataError
from dialogist.formats import ReadOptions, detect_format, read_dialogues

# --- transcript and lines


def test_several_dialogues_in_one_transcript(read, problems):
    text = "---\nAnn: a\nBob: b\n---\n\n=====\nCid: c\nDan: d\n---\n"
    one, two = read(text, "calls.txt")
    assert (one.id, turns(one)) == ("calls:2", [("Ann", "a"), ("Bob", "b")])
    assert (two.id, turns(two)) == ("calls:7", [("Cid", "c"), ("Dan", "d")])
    assert [p.line for p in problems] == [5]


def test_lines_are_never_guessed(read):
    (dialogue,) = read("Ann: a\n\nplain\n", format="lines")
    assert turns(dialogue) == [("", "Ann: a"), ("", "plain")]
    assert detect_format(b"Ann: a\nplain\n") == "transcript"


@pytest.mark.parametrize(
    "text", ["name: x\nage: 3\ncity: y\nzip: 4\n", "one\ntwo\n", "a, b\n1, 2\n"]
)
def test_detection_demands_evidence(text):
    with pytest.raises(DataError, match="no format recognised"):
        detect_format(text.encode())


# --- subtitles


def test_srt(read, problems):
    text = """1
00:00:01,000 --> 00:00:02,000
ANN: Hello

2
00:00:02,000 --> 00:00:03,000
[Bob] <i>ho</i>
3
00:00:03,000 --> 00:00:04,000
- Ann: bye

broken block
"""
    (dialogue,) = read(text, "m.srt")
    assert detect_format(text.encode()) == "srt"
    assert turns(dialogue) == [("ANN", "Hello"), ("Bob", "ho"), ("Ann", "bye")]
    assert [(p.line, "timing" in p.reason) for p in problems] == [(12, True)]


# --- tables


def test_csv_with_a_row_per_dialogue(read, problems):
    text = 'ID,Dialogue,Summary,Topic\n1,"Ann: ""hi""\nBob: ho",S,t\n2,,S,t\n3,"Ann: x",,t\n4,x\n'
    one, three = read(text, "t.csv")
    assert turns(one) == [("Ann", '"hi"'), ("Bob", "ho")]
    assert (one.id, one.references, one.metadata) == ("1", ("S",), {"Topic": "t"})
    assert (three.id, three.references) == ("3", ())
    assert [(p.line, p.reason) for p in problems] == [
        (4, "no utterances: the dialogue is empty"),
        (6, "has 2 cells, the header has 4"),
    ]


def test_csv_without_ids_asks_how_it_is_meant(read):
    text = "speaker;text\nAnn;hi, you\nBob;ho\n"
    with pytest.raises(DataError, match=r"columns found: speaker, text.*--column id=NAME.*--one-d"):
        read(text, "t.csv")
    (dialogue,) = read(text, "t.csv", one_dialogue=True)
    assert (dialogue.id, turns(dialogue)) == ("t", [("Ann", "hi, you"), ("Bob", "ho")])


def test_csv_columns(read):
    text = "wer,was,fall\nAnn,hi,1\nBo,,1\n"
    with pytest.raises(DataError, match=r"no column .* \(columns found: wer, was, fall\)"):
        read(text, "t.csv")
    columns = {"speaker": "wer", "text": "was", "id": "fall"}
    (dialogue,) = read(text, "t.csv", columns=columns)
    assert (dialogue.id, turns(dialogue)) == ("1", [("Ann", "hi"), ("Bo", "")])
    with pytest.raises(DataError, match="no column 'wo'"):
        read(text, "t.csv", columns={"speaker": "wo", "text": "was"})


def test_an_unclosed_quotation_mark_is_no_silence(read, problems):
    read('speaker,text\nAnn,hi\nBob,"ho\nAnn,x\n', "t.csv", one_dialogue=True)
    assert "not a row of the table" in problems[0].reason


def test_csv_cells_longer_than_the_module_likes(read, problems):
    (dialogue,) = read("id,dialogue\n1,Ann: " + "x" * 200_000 + "\n", "t.csv")
    assert len(dialogue.utterances[0].text) == 200_000
    assert problems == []


TALK = b"Ann: hi\nBob: ho\nAnn: bye\n"


@pytest.fixture
def folder(tmp_path):
    files = {
        "tue/call.txt": TALK,
        "mon/call.txt.gz": gzip.compress(TALK),
        "README.txt": b"about",
        "photo.png": b"\x89PNG",
        ".git/call.txt": TALK,
        "prose.txt": b"It was dark.\nIt rained.\n",
    }
    for name, data in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    return tmp_path


def test_files_below_a_folder_in_order(folder):
    problems, notes = [], []
    found = list(read_dialogues(folder, ReadOptions(), problems.append, notes.append))
    assert [dialogue.id for dialogue in found] == ["mon/call", "tue/call"]
    assert [str(problem).startswith(f"{folder}/prose.txt: no form") for problem in problems] == [
        True
    ]
    assert "2 files skipped: no known ending (1 .txt, 1 .png)" in notes[0]


def test_strict_stops_at_a_file(folder):
    with pytest.raises(DataError, match=r"prose\.txt: no format recognised"):
        list(read_dialogues(folder, ReadOptions(strict=True), pytest.fail))


def test_a_folder_without_files(tmp_path):
    with pytest.raises(DataError, match="no file with a known ending"):
        read_dialogues(tmp_path, ReadOptions(), pytest.fail)


def test_a_pipe_in_a_folder_is_a_problem_of_its_own(tmp_path):
    os.mkfifo(tmp_path / "talk.txt")
    (tmp_path / "chat.txt").write_text("Ann: hi\nBo: ho\n")
    problems = []
    (dialogue,) = read_dialogues(tmp_path, on_problem=problems.append)
    assert dialogue.id == "chat"
    assert [problem.file for problem in problems] == [str(tmp_path / "talk.txt")]
    assert "is a pipe" in problems[0].reason
