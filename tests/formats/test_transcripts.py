"""Text as people copy or type it: names above, bold, in lists, with times, and what is no name."""

import pytest
from tests.formats.conftest import turns

from dialogist.errors import DataError
from dialogist.formats import detect_format


@pytest.mark.parametrize(
    "text",
    [
        "Ann Lee  0:01\nHello.\n\nBob Ray  0:05\nHi Ann.\nShall we?\n\nAnn Lee  1:00:09\nYes.\n",
        "[9:31] Ann Lee\nHello.\n[12:32 PM] Bob Ray\nHi Ann.\nShall we?\n[1:05 PM] Ann Lee\nYes.",
        "Ann Lee\n0:03\nHello.\nBob Ray\n0:05\nHi Ann.\nShall we?\nAnn Lee\n0:09\nYes.\n",
        "Ann Lee\n10:03 AM\nHello.\nBob Ray\n10:05 AM\nHi Ann.\nShall we?\nAnn Lee\n1:09 "
        "PM\nYes.\n",
        "Ann Lee, 10:31\nHello.\nBob Ray (10:32)\nHi Ann.\nShall we?\nAnn Lee - 10:33\nYes.\n",
    ],
)
def test_names_and_times_above_what_was_said(read, text):
    assert detect_format(text.encode()) == "otter"
    (dialogue,) = read(text)
    assert turns(dialogue) == [
        ("Ann Lee", "Hello."),
        ("Bob Ray", "Hi Ann.\nShall we?"),
        ("Ann Lee", "Yes."),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "See you at 10:30\nfine\nLunch 12:30\nok\n",
        "Monday 10:30\n\nTuesday 9:00\n\nFriday 8:00\n",
    ],
)
def test_times_in_other_text_are_no_headers(text):
    with pytest.raises(DataError, match="no format recognised"):
        detect_format(text.encode())


@pytest.mark.parametrize(
    "text",
    [
        "**Ann:** hi\n\n**Bob**: ho\n__Ann:__ bye\n",
        "- Ann: hi\n- Bob: ho\n- Ann: bye\n",
        "1. Ann: hi\n2. **Bob:** ho\n3. Ann: bye\n",
        "2024-05-01T10:00:00Z Ann: hi\n2024-05-01 10:00:05 Bob: ho\n[2024-05-01 10:01] Ann: bye\n",
        "10:31 AM Ann: hi\n10:32 AM Bob: ho\n10:33 AM Ann: bye\n",
        "Ann (0:01): hi\nBob [0:02]: ho\nAnn (0:03): bye\n",
    ],
)
def test_marks_around_names(read, problems, text):
    (dialogue,) = read(text)
    assert [(name, said.strip()) for name, said in turns(dialogue)] == [
        ("Ann", "hi"),
        ("Bob", "ho"),
        ("Ann", "bye"),
    ]
    assert problems == []


@pytest.mark.parametrize(
    "notice",
    [
        *("<Media omitted>", "\u200eimage omitted", "This message was deleted", "null"),
        *("You deleted this message.", "Missed voice call", "IMG-1.jpg (file attached)"),
        "Diese Nachricht wurde gelöscht.",
    ],
)
def test_what_whatsapp_says_for_a_sender_is_no_message(read, notice):
    (dialogue,) = read(
        f"3/3/25, 9:12 AM - Ann: I missed a voice call <This message was edited>\n"
        f"3/3/25, 9:13 AM - Bob: {notice}\n"
    )
    said, told = dialogue.utterances
    assert (said.speaker, said.text) == ("Ann", "I missed a voice call")
    assert (told.speaker, told.role) == ("", "system")


def test_headers_of_minutes_are_no_speakers():
    head = b"Minutes of the meeting\nDate: 3 May\nPresent: Ann, Bob\nVenue: Room 4\n"
    with pytest.raises(DataError, match="no format recognised"):
        detect_format(head)


def test_dashes_within_a_message(read, notes):
    text = "Ann: see below\n----\nsomebody's text\n----\nBob: thanks\nAnn: ok\n"
    (dialogue,) = read(text)
    assert turns(dialogue)[0] == ("Ann", "see below\n----\nsomebody's text\n----")
    assert ["dashes within a message" in note for note in notes] == [True, True, False]


def test_dashes_between_dialogues_are_told(read, notes):
    text = "Ann: a\nBob: b\n---\nCid: c\nDan: d\n"
    assert len(read(text)) == 2
    assert "2 dialogues, divided by lines of dashes; --one-dialogue reads it as one" in notes[0]
    (one,) = read(text, one_dialogue=True)
    assert [name for name, _ in turns(one)] == ["Ann", "Bob", "Cid", "Dan"]


def test_a_saved_page(read):
    page = "<!DOCTYPE html><html><head><title>x</title></head><body>{}</body></html>"
    lines = "<p>Ann: hi &amp; hello</p><p>Bob: ho</p><p>Ann: bye</p>"
    (dialogue,) = read(page.format(lines), "chat.html")
    assert turns(dialogue) == [("Ann", "hi & hello"), ("Bob", "ho"), ("Ann", "bye")]
    with pytest.raises(DataError, match="a page without lines of 'Name: text'"):
        read(page.format("<p>Welcome.</p>"), "home.html")
