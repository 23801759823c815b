import json

import pytest

from dialogist.formats import detect_format


def word(text, kind="pronunciation", **more):
    return {"type": kind, "alternatives": [{"content": text}], **more}


ITEMS = [word("Hi", start_time="0.1"), word(".", "punctuation"), word("Ho", start_time="0.5")]
LABELS = {
    "segments": [
        {"items": [{"start_time": "0.1", "speaker_label": "spk_0"}]},
        {"items": [{"start_time": "0.5", "speaker_label": "spk_1"}]},
    ]
}
WORDS = [
    {"word": "hi", "punctuated_word": "Hi.", "speaker": 0},
    {"word": "ho", "speaker": 1},
]
SAID = [
    {"speaker": 0, "transcript": "Hi."},
    {"speaker": 1, "transcript": "Ho"},
    {"speaker": 1, "transcript": "now."},
]


@pytest.mark.parametrize(
    ("record", "name", "turns"),
    [
        (
            {"jobName": "j", "results": {"items": ITEMS, "speaker_labels": LABELS}},
            "aws",
            [("Speaker 0", "Hi."), ("Speaker 1", "Ho")],
        ),
        (
            {
                "jobName": "j",
                "results": {
                    "items": [],
                    "audio_segments": [{"speaker_label": "spk_1", "transcript": "Hi."}],
                },
            },
            "aws",
            [("Speaker 1", "Hi.")],
        ),
        (
            {
                "JobName": "j",
                "Participants": [],
                "Transcript": [{"ParticipantRole": "AGENT", "Content": "Hi."}],
            },
            "contact-lens",
            [("Agent", "Hi.")],
        ),
        (
            {"results": {"channels": [{"alternatives": [{"transcript": "x", "words": WORDS}]}]}},
            "deepgram",
            [("Speaker 0", "Hi."), ("Speaker 1", "ho")],
        ),
        (
            {"results": {"channels": [], "utterances": SAID}},
            "deepgram",
            [("Speaker 0", "Hi."), ("Speaker 1", "Ho now.")],
        ),
        (
            {
                "id": "t",
                "audio_url": "x",
                "text": "Hi. Ho.",
                "words": [],
                "utterances": [{"speaker": "A", "text": "Hi."}, {"speaker": "B", "text": "Ho."}],
            },
            "assemblyai",
            [("Speaker A", "Hi."), ("Speaker B", "Ho.")],
        ),
        (
            {"audio_url": "x", "text": "Hi. Ho.", "words": None, "utterances": None},
            "assemblyai",
            [("", "Hi. Ho.")],
        ),
    ],
)
def test_speakers_of_transcriptions(read, problems, record, name, turns):
    text = json.dumps(record)
    assert detect_format(text.encode()) == name
    (dialogue,) = read(text, "call.json")
    assert [(u.speaker, u.text) for u in dialogue.utterances] == turns
    assert problems == []


def test_two_channels_without_utterances_are_refused_with_advice(read, problems):
    read(json.dumps({"results": {"channels": [{}, {}]}}), "call.json")
    assert "ask for utterances=true" in problems[0].reason
