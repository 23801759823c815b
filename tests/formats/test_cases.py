"""What people's programs write comes out as their tables of right values say."""

import json
from collections import Counter
from pathlib import Path

import pytest
import yaml

PROGRAMS, TEXTS = (
    yaml.safe_load(Path(__file__).with_name(name).read_text("utf-8"))
    for name in ("programs.yaml", "text_cases.yaml")
)


@pytest.mark.parametrize("case", PROGRAMS, ids=[f"{n}-{c['is']}" for n, c in enumerate(PROGRAMS)])
def test_exports(read, problems, case):
    content, name = case["of"], case.get("name", "x.json")
    if name.endswith(".jsonl"):
        content = "".join(json.dumps(record) + "\n" for record in content)
    found = read(content if isinstance(content, str) else json.dumps(content), name)
    told = [u for dialogue in found for u in dialogue.utterances]
    assert [(u.speaker, u.text) for u in told] == [(s, t) for s, t, *_ in case["gives"]]
    for utterance, (_, _, *start) in zip(told, case["gives"], strict=True):
        assert not start or utterance.start == pytest.approx(start[0], abs=0.1)
    left = sum((Counter(d.reading.left_out) for d in found), Counter())
    assert (found[0].reading.format, left, problems) == (case["is"], Counter(case.get("left")), [])


def shown(utterance):
    is_notice = utterance.role == "system" and not utterance.speaker
    text = utterance.text.replace("\n", "|")
    return f"{'-' if is_notice else utterance.speaker}: {text}"


@pytest.mark.parametrize("case", TEXTS, ids=lambda case: case["name"])
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
