"""Dialogues in the formats of other programs are read back as they were."""

import json

import pytest

from dialogist.formats import ReadOptions, read_dialogues

TALK = {
    "id": "c1",
    "turns": [
        {"speaker": "Dana V", "text": "It's <lost> & gone.", "role": "customer", "start": 0.5},
        {
            "speaker": "Lou",
            "text": "A new one,\ntomorrow.",
            "role": "agent",
            "start": 62,
            "end": 63,
        },
    ],
}


@pytest.fixture
def converted(dialogist, tmp_path):
    path = tmp_path / "talk.jsonl"
    path.write_text(json.dumps(TALK) + "\n")

    def run(to):
        target = tmp_path / ("out.vtt" if to == "vtt" else "out.json")
        done = dialogist("data", "convert", str(path), "--to", to, "--output", str(target))
        assert done.returncode == 0, done.stderr
        (dialogue,) = read_dialogues(target, ReadOptions(), pytest.fail)
        return target.read_text(), dialogue

    return run


@pytest.mark.parametrize("to", ["jsonl", "vcon", "vtt", "whisper"])
def test_it_is_read_back(converted, to):
    text, dialogue = converted(to)
    assert [(u.speaker, " ".join(u.text.split()), u.start) for u in dialogue.utterances] == [
        ("Dana V", "It's <lost> & gone.", 0.5),
        ("Lou", "A new one, tomorrow.", 62),
    ]
    assert to != "vtt" or "00:01:02.000 --> 00:01:03.000\n<v Lou>" in text


def test_messages_of_openai(converted):
    text, dialogue = converted("openai")
    assert json.loads(text)["messages"][1] == {
        "role": "assistant",
        "name": "Lou",
        "content": "A new one,\ntomorrow.",
    }
    assert dialogue.speakers == ("Dana_V", "Lou")


def test_a_vcon_has_what_the_draft_asks_for(converted):
    vcon = json.loads(converted("vcon")[0])
    assert vcon.keys() >= {"vcon", "uuid", "created_at", "parties", "dialog"}
    assert vcon["parties"] == [
        {"name": "Dana V", "role": "customer"},
        {"name": "Lou", "role": "agent"},
    ]
    assert vcon["dialog"][0]["originator"] == 0
    assert vcon["dialog"][1]["start"] == "1970-01-01T00:01:02Z"


def test_webvtt_needs_times(dialogist, tmp_path):
    (tmp_path / "a.txt").write_text("Ann: hi\nBo: ho\n")
    done = dialogist("data", "convert", str(tmp_path / "a.txt"), "--to", "vtt")
    assert (done.returncode, "without a time" in done.stderr.decode()) == (2, True)
