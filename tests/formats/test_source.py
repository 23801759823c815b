import gzip
import io
import os
import threading
from pathlib import Path

import pytest

from dialogist.errors import DataError, UsageError
from dialogist.formats import ReadOptions, detect_format, read_dialogues
from dialogist.formats.source import detect_encoding

TALK = "Ann: hi\nBob: höh\nAnn: bye\n"
TURNS = [("Ann", "hi"), ("Bob", "höh"), ("Ann", "bye")]
ROW = b'{"turns": [["A", "x"]]}\n'


def turns(dialogues):
    return [(u.speaker, u.text) for dialogue in dialogues for u in dialogue.utterances]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("compress", [bytes, gzip.compress])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_encodings_compression_and_line_ends(read, encoding, compress, end):
    data = compress(TALK.replace("\n", end).encode(encoding))
    assert turns(read(data, "misnamed.dat")) == TURNS


def test_named_encoding(read):
    data = TALK.encode("cp1252")
    assert turns(read(data, encoding="cp1252")) == TURNS
    with pytest.raises(UsageError, match="unknown encoding 'cp12525'"):
        read(data, encoding="cp12525")
    with pytest.raises(UsageError, match="unknown encoding 'base64'"):
        read(data, encoding="base64")


def test_two_gzip_members_are_one_file(read):
    data = gzip.compress(TALK[:8].encode()) + gzip.compress(TALK[8:].encode()) + b"\0\0\0"
    assert turns(read(data)) == TURNS


def test_truncated_gzip_gives_what_it_holds_and_then_fails(tmp_path):
    path = tmp_path / "t.jsonl.gz"
    rows = b"".join(b'{"turns": [["A", "%d"]]}\n' % n for n in range(5000))
    path.write_bytes(gzip.compress(rows)[:-20])
    found, problems = [], []
    dialogues = read_dialogues(path, ReadOptions(), problems.append)
    with pytest.raises(DataError, match=r"t\.jsonl\.gz: is a truncated gzip file"):
        found.extend(dialogues)
    assert 4000 < len(found) < 5000
    assert problems == []


def test_damaged_gzip(tmp_path):
    path = tmp_path / "t.gz"
    data = gzip.compress(TALK.encode())
    path.write_bytes(data[:-8] + bytes(4) + data[-4:])  # a wrong checksum
    with pytest.raises(DataError, match="damaged gzip file"):
        list(read_dialogues(path, ReadOptions(), pytest.fail))


@pytest.mark.parametrize("content", [b"", b" \n\n", b"\xef\xbb\xbf", gzip.compress(b"", mtime=0)])
def test_empty_file(read, content):
    with pytest.raises(DataError, match=r"e\.jsonl: is empty"):
        read(content, "e.jsonl")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (bytes(range(256)) * 20, r"is binary, or text .* name its encoding with --encoding"),
        (b"\x89PNG\r\n\x1a\n" + b"\0" * 50, "is a picture: "),
        (b"%PDF-1.7\n\xe2\xe3", "is a PDF: save its text first"),
        (b"\xd0\xcf\x11\xe0" + b"\0" * 50, "is an old Office file: save it as .docx"),
        (b"{\\rtf1 Ann: hi}", "is rich text"),
        (b"RIFF\0\0\0\0WAVE", "is a recording: transcribe it first"),
        (b"\0\0\0\x20ftypM4A " + b"\0" * 50, "is a recording: transcribe it first"),
    ],
)
def test_not_text(read, content, reason):
    with pytest.raises(DataError, match=rf"b\.txt: {reason}"):
        read(content, "b.txt")


def test_a_line_that_is_not_utf8_is_one_problem(read, problems):
    data = ROW * 3 + b'{"turns": [["A", "\xff"]]}\n' + ROW
    assert len(read(data, "t.jsonl")) == 4
    assert [(p.line, p.reason) for p in problems] == [
        (4, "is not UTF-8: byte 0xff at 18 (--encoding names another encoding)")
    ]


def test_a_missing_file(tmp_path):
    with pytest.raises(DataError, match="cannot be read: No such file"):
        read_dialogues(tmp_path / "no.txt", ReadOptions(), pytest.fail)


def test_a_pipe_that_cannot_seek():
    receiver, sender = os.pipe()
    data = gzip.compress(ROW * 20_000, 1)

    def send():
        with open(sender, "wb") as stream:
            stream.write(data)

    writer = threading.Thread(target=send)
    writer.start()
    with open(receiver, "rb", buffering=0) as stream:
        found = sum(1 for _ in read_dialogues(stream, ReadOptions(), pytest.fail))
    writer.join()
    assert found == 20_000


def test_standard_input(monkeypatch):
    stdin = io.TextIOWrapper(io.BytesIO(TALK.encode()))
    monkeypatch.setattr("sys.stdin", stdin)
    (dialogue,) = read_dialogues(Path("-"), ReadOptions(), pytest.fail)
    assert turns([dialogue]) == TURNS
    assert dialogue.id == "stream"


def test_reading_is_a_stream():
    class Endless(io.RawIOBase):
        """Rows without end: only a reader that does not collect them gets anywhere."""

        def read(self, size=-1):
            return ROW * 3000

    dialogues = read_dialogues(Endless(), ReadOptions(), pytest.fail)
    assert next(dialogues).utterances == next(dialogues).utterances


def test_prose_is_refused_with_advice(read):
    prose = "It was a dark and stormy night.\nThe rain fell in torrents, and so on.\n"
    with pytest.raises(DataError) as caught:
        read(prose, "story.txt")
    message = str(caught.value)
    assert "story.txt: no format recognised: no speakers can be told" in message
    assert "the first line is 'It was a dark and stormy night.'" in message
    assert "--input-format transcript" in message
    assert "samsum" not in message
    assert "\n" not in message


def test_json_without_turns_is_refused():
    with pytest.raises(DataError, match=r"none of the usual keys for turns \(keys found: a, b\)"):
        detect_format(b'{"a": 1, "b": 2}\n', "x.json")


@pytest.mark.parametrize(
    ("text", "name"), [('{"id": 3', "jsonl"), ('{\n  "id": 3,\n  "a": [1, ', "json")]
)
def test_json_that_is_cut_is_left_to_its_reader(text, name):
    assert detect_format(text.encode(), "x.json") == name


def test_unknown_format(read):
    with pytest.raises(UsageError, match="unknown format 'samsun'; did you mean 'samsum'"):
        read(TALK, format="samsun")


def test_no_dialogue_at_all(read):
    with pytest.raises(DataError, match="holds no dialogue"):
        read("---\n---\n", format="transcript")


GERMAN = "Änne: Schöne Grüße aus Köln, das hört sich für mich gut an\nJörg: Können wir später?\n"
CHINESE = "客服：您好，请问有什么可以帮您\n客户：我的订单还没有发货\n"
RUSSIAN = "Анна: Привет, как дела?\nБорис: Хорошо, спасибо. А у тебя?\nАнна: Тоже.\n"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (GERMAN, "cp1252"),
        ("Ann: That is £42.80\nBob: It’s fine – thanks\n", "cp1252"),
        (CHINESE, "gb18030"),
        ("アンナ: 配送はいつですか?\n店員: 明日です。\nアンナ: はい。\n", "cp932"),
        (RUSSIAN, "cp1251"),
        ("Agnieszka: Cześć, jak się masz? Zażółć gęślą jaźń\nŁukasz: Dobrze\n", "cp1250"),
        ("Ann: hi\nBob: höh £5\nAnn: bye\n", "utf-16-le"),
        ("Ann: hi\nBob: höh £5\nAnn: bye\n", "utf-16-be"),
    ],
)
def test_detected_and_noted(read, problems, notes, text, encoding):
    (dialogue,) = read(text.encode(encoding))
    said = "".join(f"{u.speaker}: {u.text}\n" for u in dialogue.utterances)
    assert said == text.replace("：", ": ")
    assert problems == []
    note, _ = notes
    assert f"read as {encoding}, its likely encoding; --encoding names another" in note


def test_utf_8_is_not_worth_a_note(read, notes):
    read(GERMAN)
    assert [note.partition(": ")[2] for note in notes] == [
        "read as transcript: 2 utterances, 2 speakers"
    ]


def test_one_sign_among_thousands_of_lines(read, notes):
    rows = "".join(f"{n},Ann,hello\n" for n in range(3000))
    found = read(f"ticket_id,speaker,text\n{rows}9999,Ann,That is £5\n".encode("cp1252"), "t.csv")
    assert found[-1].utterances[0].text == "That is £5"
    assert "cp1252" in notes[0]


def test_damaged_utf_8_stays_utf_8():
    lines = "Jörg: höh\n".encode() * 5
    assert detect_encoding(lines + b"Ann: h\xe4\n") == "utf-8"
    assert detect_encoding(b"a\n" * 5 + b"\xff\n") == "utf-8"
    assert detect_encoding(bytes(range(256))) == ""


def test_a_line_that_is_not_in_a_named_encoding_is_one_problem(read, problems):
    data = b"Ann: hi\nBob: \x81\nAnn: ok\n"
    (dialogue,) = read(data, encoding="cp1252")
    assert [u.text for u in dialogue.utterances] == ["hi", "ok"]
    assert [(p.line, "is not cp1252" in p.reason) for p in problems] == [(2, True)]


def test_a_named_encoding_is_not_for_word_files(read, tmp_path):
    with pytest.raises(DataError, match="damaged or protected"):
        read(b"PK\x03\x04 torn", "t.docx", encoding="cp1252")
