"""What programs export comes out with its speakers, words and times; the rest is counted."""

import json
from collections import Counter
from pathlib import Path

import pytest
import yaml

CASES = yaml.safe_load((Path(__file__).parent / "programs.yaml").read_text("utf-8"))


@pytest.mark.parametrize("case", CASES, ids=[f"{n}-{c['is']}" for n, c in enumerate(CASES)])
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
