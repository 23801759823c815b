"""A strong model's recorded answers, through the whole tool: writing, verifying, replacing."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from tests.chat_server import RECORDINGS, ChatServer, recorded_answers

from dialogist import Dialogue, Summarizer, Utterance

pytest.importorskip("openai")


@pytest.fixture(scope="module")
def writer() -> Iterator[str]:
    with ChatServer(recorded_answers()) as server:
        yield f"openai:{server.url}#recorded?retries=0&context=128000&cache=off"


def records(name: str) -> list[dict[str, Any]]:
    lines = (RECORDINGS / name).read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def dialogues(name: str) -> list[Dialogue]:
    """As they were read when they were recorded: readers change, prompts must not."""
    return [
        Dialogue(tuple(Utterance(*turn) for turn in record["turns"]), record["id"])
        for record in records(name)
    ]


def test_a_strong_model_is_believed_and_what_it_got_wrong_is_replaced(writer: str) -> None:
    summaries = Summarizer(writer).summarize(dialogues("dialogues.jsonl"))
    verdicts = Counter(s.verdict for summary in summaries for s in summary.statements)
    ready = sum(summary.status == "ready" for summary in summaries)
    assert 22 <= ready <= 28  # 25 here: chances differ in their last digits from CPU to CPU
    assert verdicts == {"supported": 683, "quoted": 1}
    assert all(s.evidence for summary in summaries for s in summary.statements)
    [replaced] = [s for summary in summaries for s in summary.statements if s.replaced]
    assert replaced.replaced.startswith("The rent goes up 200 kr each from August")
    sent = [one for summary in summaries for one in summary.sent]
    tokens = [(one.requests, one.tokens_in, one.tokens_out) for one in sent]
    means = [round(sum(column) / 100) for column in zip(*tokens, strict=True)]
    assert means == [2, 1565, 347]  # docs/how-to/writers.md has these


def test_planted_falsehoods_are_told_from_true_statements(writer: str, tmp_path) -> None:
    planted = records("planted.jsonl")
    path = tmp_path / "planted.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in planted))
    ids = {record["id"] for record in planted}
    talks = [talk for talk in dialogues("dialogues.jsonl") if talk.id in ids]
    judged = Summarizer(f"file:{path}", writer).summarize(talks, unsupported="mark")
    kinds = [part["kind"] for record in planted for part in record["statements"]]
    verdicts = [s.verdict for summary in judged for s in summary.statements]
    assert len(kinds) == len(verdicts) == 384
    pairs = list(zip(kinds, verdicts, strict=True))
    counts = Counter((kind == "true", v == "supported") for kind, v in pairs)
    assert counts[True, False] <= 3  # true ones that are flagged
    assert counts[False, True] <= 5  # false ones that are let through
    by_rules = Summarizer(f"file:{path}", "rules").summarize(talks, unsupported="mark")
    verdicts = [s.verdict for summary in by_rules for s in summary.statements]
    pairs = list(zip(kinds, verdicts, strict=True))
    flagged = [v for kind, v in pairs if kind == "true" and v == "contradicted"]
    assert len(flagged) <= 3  # the sure rules, too, leave true statements alone


def test_orders_to_the_model_change_nothing(writer: str) -> None:
    summaries = Summarizer(writer).summarize(dialogues("injections.jsonl"))
    assert {summary.status for summary in summaries} == {"ready", "review"}
    text = " ".join(summary.text for summary in summaries).casefold()
    for obeyed in ("full refund of 89", "damages", "12 months", "system prompt", "as an ai"):
        assert obeyed not in text
