"""The page on which people write summaries: what it shows, and that its record is training data."""

import json
import re
from pathlib import Path

from dialogist.data.readers import ReadOptions, read_dialogues
from dialogist.evaluation.annotation import draw, make_page
from dialogist.records import Dialogue, EvidenceSpan, Statement, Summary, Utterance, Warning

LUNCH = Dialogue(
    (Utterance("Ann", "Lunch at noon? </script>"), Utterance("Bo", "Yes, at Luigi's.")),
    "d1",
    ("An old summary.",),
    {"shop": "9"},
)
DRAFT = Summary(
    "Ann asks Bo. Bo pays £9.",
    "d1",
    sentences=(
        Statement("Ann asks Bo.", 0, 12, evidence=(EvidenceSpan(0, 0, 5, 0.9),)),
        Statement("Bo pays £9.", 13, 24, evidence=(EvidenceSpan(1, 0, 3, 0.9),) * 2),
    ),
    warnings=(Warning("number", "the dialogue does not bear out '£9'", 21, 23, "£9"),),
)


def items_of(page: str) -> list[dict[str, object]]:
    found = re.search(r'id="page">(.*?)</script>', page, re.DOTALL)
    assert found
    items: list[dict[str, object]] = json.loads(found[1])["items"]
    return items


def test_a_draft_comes_with_its_evidence_and_doubts() -> None:
    [item] = items_of(make_page([LUNCH], [DRAFT]))
    assert item["draft"] == DRAFT.text
    assert item["sentences"] == [
        {"text": "Ann asks Bo.", "turns": [0], "doubts": []},
        {"text": "Bo pays £9.", "turns": [1], "doubts": ["the dialogue does not bear out '£9'"]},
    ]


def test_without_drafts_the_texts_are_empty_and_nothing_is_said_of_them() -> None:
    page = make_page([LUNCH], None)
    assert items_of(page)[0]["draft"] == ""
    assert "a model's draft" not in page
    assert "a model's draft" in make_page([LUNCH], [DRAFT])


def test_what_is_saved_is_read_as_training_data(tmp_path: Path) -> None:
    """The browser adds the text to the record and writes a line; the old summary is not in it."""
    [item] = items_of(make_page([LUNCH], [DRAFT]))
    record = item["record"]
    assert isinstance(record, dict)
    assert "summaries" not in record
    path = tmp_path / "summaries.jsonl"
    path.write_text(json.dumps(record | {"summaries": ["Ann and Bo will have lunch."]}) + "\n")
    [again] = read_dialogues(path, ReadOptions(strict=True), lambda problem: None)
    assert again.utterances == LUNCH.utterances
    assert again.references == ("Ann and Bo will have lunch.",)
    assert (again.id, again.metadata["shop"]) == ("d1", "9")


def test_a_smaller_number_is_the_head_of_a_larger_one() -> None:
    every = [Dialogue((), str(n)) for n in range(30)]
    assert draw(every, 40, 1)[:7] == draw(every, 7, 1)
    assert len(draw(every, 40, 1)) == 30
    assert draw(every, 30, 1) != draw(every, 30, 2)
