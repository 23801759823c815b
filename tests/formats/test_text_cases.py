"""Chats, logs, transcripts, subtitles and mail of many programs, by a table of right values."""

from pathlib import Path

import pytest
import yaml

CASES = yaml.safe_load(Path(__file__).with_name("text_cases.yaml").read_text("utf-8"))


def shown(utterance):
    is_notice = utterance.role == "system" and not utterance.speaker
    text = utterance.text.replace("\n", "|")
    return f"{'-' if is_notice else utterance.speaker}: {text}"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_what_people_have(read, problems, case):
    dialogues = read(case["text"], case.get("file", "chat.txt"))
    said = [shown(utterance) for dialogue in dialogues for utterance in dialogue.utterances]
    assert said == case["said"]
    if "at" in case:
        assert [u.start for d in dialogues for u in d.utterances] == case["at"]
    if "ends" in case:
        assert [u.end for d in dialogues for u in d.utterances] == case["ends"]
    assert dialogues[0].reading.format == case["format"]
    if "left_out" in case:
        assert dialogues[0].reading.left_out == case["left_out"]
    assert len(dialogues) == case.get("dialogues", 1)
    assert problems == []
