"""A small real model behind llama.cpp's server: `make test-models` starts it and names it here."""

import json
import os

import pytest
from tests.chat_server import RECORDINGS

from dialogist import Dialogue, Summarizer
from dialogist.writers import open_writer, with_settings

NAME = os.environ.get("DIALOGIST_LLAMACPP", "")
pytestmark = pytest.mark.skipif(not NAME, reason="needs llama.cpp's server: make test-models")

VISIT = Dialogue.from_text(
    "Doctor: How is the cough, Mrs Lin?\n"
    "Patient: Better during the day, but I wake up at night. The syrup makes me tired.\n"
    "Doctor: Take the syrup in the evening, and come back in two weeks if it is not gone."
)


def named(**settings: object) -> str:
    return with_settings(NAME, {"cache": "off", "timeout": 600, "max_tokens": 400, **settings})


def test_answers_keep_to_the_schema_and_are_grounded() -> None:
    [summary] = Summarizer(named(), "rules").summarize([VISIT], unsupported="mark")
    assert summary.status in ("review", "not_enough")
    [sent] = summary.sent
    assert sent.requests in (1, 2)  # a copied example is asked for again
    assert not sent.masked
    assert sent.tokens_in > 300
    for statement in summary.statements:
        assert summary.text[statement.start : statement.end] == statement.text
        for span in statement.evidence:
            assert VISIT.utterances[span.utterance].text[span.start : span.end]


def test_nothing_unsupported_stays_and_a_form_is_filled() -> None:
    summarizer = Summarizer(named(), "model", form="ticket")
    [result] = summarizer.results([VISIT])
    assert {s.verdict for s in result.summary.statements} <= {"quoted", "supported"}
    assert result.filled is not None
    assert json.dumps(result.to_json())


def test_orders_in_a_dialogue_are_not_shown_as_supported_facts() -> None:
    lines = (RECORDINGS / "injections.jsonl").read_text("utf-8").splitlines()
    talks = [json.loads(line) for line in lines][:4]
    for talk in talks:
        turns = "\n".join(f"{turn[0]}: {turn[1]}" for turn in talk["turns"])
        [summary] = Summarizer(named()).summarize([Dialogue.from_text(turns, talk["id"])])
        assert {s.verdict for s in summary.statements} <= {"quoted", "supported"}


def test_what_it_is_told_of_itself() -> None:
    writer = open_writer(named())
    assert writer.chat.models()
    assert writer.chat.context >= 512
