import json
import re

import pytest
from tests.data.rule_pack_samples import SERVICE, TABLE_1

from dialogist.data.key_points import keypoint_stats, pack_warnings, parse_pack
from dialogist.records import Dialogue, Utterance


def dialogue(*references, section=""):
    metadata = {"section": section} if section else {}
    return Dialogue((Utterance("A", "Hello."),), references=references, metadata=metadata)


def test_stats():
    pack = parse_pack(SERVICE + "sections: {END: End}\n")
    result = keypoint_stats(
        [
            dialogue(TABLE_1, "I told him. Gone."),
            dialogue("It is over.", section="END"),
            dialogue("Well.", section="ODD"),
            dialogue(),
        ],
        pack,
    )
    assert (result.dialogues, result.dialogues_without_summary) == (4, 1)
    assert (result.summaries, result.sentences) == (4, 9)
    assert result.origins == {"rule": 5, "inherited": 2, "section": 1, "default": 1}
    assert result.coverage == pytest.approx(5 / 9)
    assert result.lengths == {1: 3, 4: 1}
    assert result.unknown_sections == {"ODD": 1}
    assert result.labels["Question description"].sentences == 3
    assert result.labels["Solution"].sub_summaries == 2
    assert sum(times for _, times in result.sequences) == result.summaries
    never = [rule.label for rule in result.rules if not rule.sentences]
    assert never == ["Suggestion", "User disapproval"]
    assert json.loads(json.dumps(result.to_json()))["coverage"] == pytest.approx(5 / 9)
    assert keypoint_stats([], pack).coverage == 0


def test_a_rule_that_its_own_examples_never_reach():
    text = SERVICE + ("  - {label: End, pattern: 'user hung', examples: [User hung up.]}\n")
    text = text.replace("key_facts: [User approval, User disapproval]\n", "")
    [odd] = pack_warnings(parse_pack(text))
    assert re.match(r"line 27: none .* 'End' .* line 21 fit first", odd)
