"""What looks misread is warned of with a remedy; what was left out is counted in one line."""

import json

import pytest

WORDS = "We talked about the budget of next year for a long while. "


@pytest.mark.parametrize(
    ("content", "name", "warning"),
    [
        ({"turns": [["Ann", "hi"], ["Bo", "ho"]]}, "a.json", ""),
        ({"turns": ["one", "two", "three"]}, "a.json", "no speaker is named"),
        ({"turns": [["Ann", t] for t in "abcd"]}, "a.json", "only one speaker is named"),
        ({"turns": [["Ann", WORDS * 20]]}, "a.json", "the whole file is one utterance"),
        (
            {"turns": [["Ann", "10:03:22\nhi"], ["Bo", "10:03:29\nho"]]},
            "a.json",
            "2 texts with a clock alone on a line",
        ),
        ({"turns": [["Ann", '{"text": "hi"}'], ["Bo", "ho"]]}, "a.json", "a text holds JSON"),
        (
            {"turns": [["Ann", "From: Bo\nTo: Ann\nhi"], ["Bo", "ho"]]},
            "a.json",
            "a text holds JSON, timings or header lines",
        ),
        (
            {"turns": [["Ann", "hi"], ["Subject", "x"], ["Bo", "ho"], ["To", "Ann"]]},
            "a.json",
            "a speaker that speaks once looks like a header",
        ),
    ],
)
def test_what_looks_misread(read, notes, content, name, warning):
    (dialogue,) = read(json.dumps(content), name)
    assert [text[: len(warning)] for text in dialogue.reading.warnings] == [warning] * bool(warning)
    told = [note for note in notes if "warning: " in note]
    assert len(told) == bool(warning)


def test_the_same_warning_of_many_dialogues_is_one_line(read, notes):
    read("".join(json.dumps({"turns": ["a", "b", "c"]}) + "\n" for _ in range(3)), "a.jsonl")
    assert notes[0].endswith("read as jsonl: 3 dialogues, 9 utterances")
    assert notes[1].endswith("(in 3 dialogues)")
    assert len(notes) == 2


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("CafÃ© bei ZoÃ«", "Café bei Zoë"),
        ("Iâ\x80\x99ll", "I’ll"),
        ("Itâ€™s", "It’s"),
        ("ð\x9f\x98\x80", "😀"),
        ("Ã", "Ã"),
        ("naïve", "naïve"),
    ],
)
def test_what_was_read_as_latin_1_is_put_right(read, wrong, right):
    (dialogue,) = read(json.dumps({"turns": [["Ann", wrong], ["Bo", "ho"]]}), "a.json")
    assert dialogue.utterances[0].text == right


@pytest.mark.parametrize(
    "mark",
    [
        {"private": True}, {"is_private": "true"}, {"isPrivate": 1}, {"internal": True},
        {"public": False}, {"jsdPublic": False}, {"visibility": "internal"}, {"type": "note"},
        {"part_type": "note"}, {"recipients": "agents"}, {"type": "private_note"},
        {"Kind": "Internal Note"}, {"isInternalNote": "Yes"}, {"customer_visible": "no"},
    ],
)  # fmt: skip
@pytest.mark.parametrize("form", ["json", "csv"])
def test_notes_that_no_customer_sees(read, mark, form):
    [(key, value)] = mark.items()
    turns = [{"speaker": "Ann", "text": "hi"}, {"speaker": "Bo", "text": "VIP", **mark}]
    text = json.dumps({"messages": turns})
    if form == "csv":
        text = f"ticket_id,speaker,text,{key}\n1,Ann,hi,\n1,Bo,VIP,{value}\n"
    (dialogue,) = read(text, f"a.{form}")
    assert [u.text for u in dialogue.utterances] == ["hi"]
    assert dialogue.reading.left_out == {"internal notes": 1}
    (dialogue,) = read(text, f"a.{form}", internal_notes=True)
    assert [u.text for u in dialogue.utterances] == ["hi", "VIP"]
