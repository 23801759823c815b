"""What is written fits the schema that is published."""

import json
from pathlib import Path

import jsonschema
import pytest
from bench.summary_schema import summary_schema

from dialogist import Dialogue, Summarizer, SummaryOptions, Utterance
from dialogist.records import Summary

PUBLISHED = (
    Path(__file__).resolve().parents[2] / "src" / "dialogist" / "assets" / "summary.schema.json"
)
TALK = Dialogue(
    tuple(Utterance("AB"[i % 2], f"We meet at {i}:30, is that fine?") for i in range(40)), "d"
)


def test_the_published_schema_is_the_one() -> None:
    """If it is not: a changed meaning needs a new version, then write the file anew:

    python -m bench.summary_schema > src/dialogist/assets/summary.schema.json
    """
    assert json.loads(PUBLISHED.read_text(encoding="utf-8")) == summary_schema()


@pytest.mark.parametrize("long", ["windows", "cut"])
def test_real_summaries_fit(tiny_model: Path, long: str) -> None:
    jsonschema.Draft202012Validator.check_schema(summary_schema())
    summarizer = Summarizer.load(str(tiny_model))
    options = SummaryOptions(long=long, max_tokens=12)
    for summary in summarizer.summarize([TALK, Dialogue(())], options):
        written = json.loads(json.dumps(summary.to_json()))
        jsonschema.validate(written, summary_schema())
        assert written.keys() == set(summary_schema()["required"])


def test_a_wrong_one_does_not_fit() -> None:
    written = Summary("x").to_json()
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**written, "status": "fine"}, summary_schema())
