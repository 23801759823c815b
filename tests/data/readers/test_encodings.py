import pytest

from dialogist.data.readers.encodings import detect_encoding
from dialogist.errors import DataError

GERMAN = "Änne: Schöne Grüße aus Köln, das hört sich für mich gut an\nJörg: Können wir später?\n"
CHINESE = "客服：您好，请问有什么可以帮您\n客户：我的订单还没有发货\n"
RUSSIAN = "Анна: Привет, как дела?\nБорис: Хорошо, спасибо. А у тебя?\nАнна: Тоже.\n"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (GERMAN, "cp1252"),
        ("Ann: That is £42.80\nBob: It’s fine – thanks\n", "cp1252"),
        (CHINESE, "gb18030"),
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
    (note,) = notes
    assert f"read as {encoding}, its likely encoding; --encoding names another" in note


def test_utf_8_is_not_worth_a_note(read, notes):
    read(GERMAN)
    assert notes == []


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
