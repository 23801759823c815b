"""Masking a finished summary."""

from dataclasses import replace

from dialogist.privacy.dialogues import mask_dialogue
from dialogist.privacy.options import privacy_of
from dialogist.privacy.summaries import mask_summary
from dialogist.records import (
    Dialogue,
    Entity,
    EvidenceSpan,
    Statement,
    Summary,
    Utterance,
    Warning,
)

USUAL = privacy_of()
DIALOGUE = Dialogue((Utterance("Ann", "My order number is 48213, call 415-555-0132."),))
TEXT = "Ann's order is 48213. Call 4155550132 or 212-555-0199."
SECOND = TEXT.index("Call")
PLACE = TEXT.index("212")
EVIDENCE = (EvidenceSpan(0, 19, 24, 0.9),)
SUMMARY = Summary(
    text=TEXT,
    id="1",
    reason="the number 212-555-0199 is nowhere",
    key_points=(
        Statement(TEXT[:SECOND], 0, SECOND, "Issue", EVIDENCE, 0.5),
        Statement(TEXT[SECOND:], SECOND, len(TEXT), "Action"),
    ),
    sentences=(
        Statement(TEXT[: SECOND - 1], 0, SECOND - 1, evidence=EVIDENCE),
        Statement(TEXT[SECOND:], SECOND, len(TEXT)),
    ),
    warnings=(
        Warning("number", "not said: 212-555-0199", PLACE, PLACE + 3, "212"),
        Warning("input", "all of 48213 was read"),
    ),
    entities=(
        Entity("ORDER", "48213", 0, 19, 24, in_summary=True),
        Entity("PHONE", "415-555-0132", 0, 31, 43, "<PHONE_1>", True),
        Entity("AMOUNT", "$5", 0, 0, 2),
    ),
    alternatives=("Order 48213.", "Ann calls."),
)
MASKED = "Ann's order is [ORDER_1]. Call [PHONE_1] or [PHONE_2]."


def test_texts_and_places():
    _, table = mask_dialogue(DIALOGUE, USUAL)
    done, grown = mask_summary(SUMMARY, USUAL, table)
    assert done.text == MASKED
    assert done.reason == "the number [PHONE_2] is nowhere"
    assert done.alternatives == ("Order [ORDER_1].", "Ann calls.")
    for statement in (*done.key_points, *done.sentences):
        assert done.text[statement.start : statement.end] == statement.text
    assert "".join(one.text for one in done.key_points) == MASKED
    assert done.key_points[0].evidence == EVIDENCE
    assert (done.key_points[0].label, done.key_points[0].confidence) == ("Issue", 0.5)
    number, read = done.warnings
    assert (number.text, number.message) == ("[PHONE_2]", "not said: [PHONE_2]")
    assert done.text[number.start : number.end] == "[PHONE_2]"
    assert (read.message, read.start, read.end) == ("all of [ORDER_1] was read", -1, -1)
    assert [one.text for one in done.entities] == ["[ORDER_1]", "[PHONE_1]", "$5"]
    assert (done.entities[1].start, done.entities[1].mask) == (31, "<PHONE_1>")
    assert grown.restore(done.text) == TEXT.replace("4155550132", "415-555-0132")


def test_without_a_table_the_entities_tell_what_values_are():
    done, _ = mask_summary(SUMMARY, USUAL)
    assert done.text == MASKED


def test_nothing_to_mask_changes_nothing():
    summary = Summary(text="Ann calls Bo.", sentences=(Statement("Ann calls Bo.", 0, 13),))
    assert mask_summary(summary, USUAL)[0] == summary


def test_a_mask_over_the_border_of_two_statements():
    text = "Call 415. 555. 0132 now."
    one = Summary(text, key_points=(Statement(text[:10], 0, 10), Statement(text[10:], 10, 24)))
    done, _ = mask_summary(replace(one, text=text), privacy_of("+CODE"))
    assert "".join(point.text for point in done.key_points) == done.text
