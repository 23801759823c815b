"""Tests of metrics.faithfulness."""

import pickle
import time
from math import isnan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialogist.evaluation.scoring import Scores
from dialogist.metrics.base import Case
from dialogist.metrics.faithfulness import (
    FINDING_KINDS,
    Faithfulness,
    Finding,
    check_summary,
    findings,
)
from dialogist.records import Dialogue, Utterance

from .dialogue_samples import CHAT, CHINESE, TAGGED, dialogue

# What is found, what is not, and what cannot be told.


def found(summary: str, of: Dialogue, *kinds: str) -> list[str]:
    return [one.text for one in findings(summary, of, kinds or FINDING_KINDS)]


@pytest.mark.parametrize(
    "summary",
    [
        "Amanda will bring Tom twenty cookies on Monday.",
        "Mandy baked cookies for Tom and Katie.",
        "Tom's sister Katie lives in NYC.",
        "TOM lives with Kate. The Christmas party is near.",
        "Amanda baked at 17:00, or at five o'clock.",
        "Amanda offers 20 cookies. Tom is not in the office on Fridays.",
        "Tom's number is 416-539-3983.",
        "Amnada talks.",
        "",
        "   ",
    ],
)
def test_what_the_dialogue_bears_out_in_another_form(summary):
    assert found(summary, CHAT) == []


@pytest.mark.parametrize(
    ("summary", "kind", "texts"),
    [
        ("Amanda will bring Jerry cookies.", "name", ["Jerry"]),
        ("Jerry baked cookies.", "name", ["Jerry"]),
        ("Tom's sister lives in Los Angeles.", "name", ["Los Angeles"]),
        ("Amanda baked cookies at 6 pm.", "number", ["6 pm"]),
        ("Amanda baked cookies at 5 am.", "number", ["5 am"]),
        ("Amanda will bring thirty cookies.", "number", ["thirty"]),
        ("Tom is not in the office on Tuesday.", "entity", ["Tuesday"]),
        ("Call Tom at 416-539-3984.", "entity", ["416-539-3984"]),
        ("Tom has a PS4 and #Person1# has none.", "entity", ["PS4"]),
        ("Tomm talks.", "name", ["Tomm"]),
        ("Amanda tells #Person1# the time.", "speaker", ["#Person1#"]),
    ],
)
def test_what_it_does_not(summary, kind, texts):
    assert found(summary, CHAT, kind) == texts


def test_an_extract_has_no_role_swapped():
    nutter = dialogue("Josh: You're a nutter!!!", "Paul: Wouldn't you ever do the bungee jumping?")
    assert found("Paul: Wouldn't you ever do the bungee jumping?", nutter) == []
    phone = dialogue("Ann: I tell US Cellular today.", "Bo: Good.")
    assert found("Ann calls US Cellular.", phone, "name") == []
    said = "I baked cookies at 5 pm."
    assert found(f"Amanda: {said} Do you want some?", CHAT, "swap") == []
    assert found(f"Tom: {said}", CHAT, "swap") == [f"Tom: {said}"]
    assert found("Don't tell Tom, D'you hear? Wouldn't Kate come?", CHAT, "name") == []


def test_a_finding_says_where_it_is():
    (one,) = findings("Amanda met Jerry.", CHAT, ("name",))
    assert one == Finding("name", 11, 16, "Jerry")


def test_findings_come_from_left_to_right():
    summary = "At 6 pm Jerry met #Person9# on Tuesday."
    places = [one.start for one in findings(summary, CHAT)]
    assert len(places) == 4
    assert places == sorted(places)


def test_a_tag_that_nobody_has():
    assert found("#Person1# and #Person 2# talk to #Person3#.", TAGGED, "speaker") == ["#Person3#"]


def test_numbers_in_tags_are_none():
    assert found("#Person1# talks to #Person2#.", TAGGED) == []


@pytest.mark.parametrize(
    "summary",
    [
        "#Person1# wants to rent a car for three days. #Person2# recommends the insurance.",
        "#Person1# asks Steven for an insurance and Steven recommends it.",
        "Amanda talks to Tom.",
    ],
)
def test_roles_as_they_are(summary):
    assert found(summary, TAGGED, "swap") == []


@pytest.mark.parametrize(
    "summary",
    [
        "#Person2# wants to rent a small car for three days. #Person1# recommends the insurance.",
        "Steven wants to rent a car for three days. #Person1# recommends the insurance.",
    ],
)
def test_roles_exchanged(summary):
    assert found(summary, TAGGED, "swap")


def test_a_denial_of_what_is_only_asserted():
    assert found("Amanda did not bake cookies.", CHAT, "negation") == [
        "Amanda did not bake cookies."
    ]
    assert found("Tom is not at the office on Friday.", CHAT, "negation") == []


def test_a_denial_that_got_lost_is_looked_for_only_when_asked():
    assert found("Tom is at the office on Friday.", CHAT) == []
    assert found("Tom is at the office on Friday.", CHAT, "lost_negation")


def test_chinese_numbers_and_entities_are_read_and_nothing_else():
    right = "用户询问[订单编号]等了三天。客服回答周三送达，运费250元。"
    wrong = "用户等了七天。客服回答周五送达，[金额]元。"
    assert found(right, CHINESE) == []
    assert found(wrong, CHINESE) == ["七", "周五", "[金额]"]
    assert check_summary(right, CHINESE).keys() == {"speaker", "number", "entity"}


@pytest.mark.parametrize(
    ("summary", "of", "read"),
    [
        ("amanda brings jerry cookies.", CHAT, {"speaker", "number", "entity", "swap", "negation"}),
        ("Amanda brings cookies.", CHINESE, {"speaker"}),
        ("用户询问订单。", CHAT, {"speaker"}),
        ("Встреча в понедельник.", CHAT, {"speaker"}),
        ("", CHAT, set(FINDING_KINDS)),
        ("Hello Bob.", dialogue("Ann: Nobody answers me here."), set(FINDING_KINDS) - {"swap"}),
        ("Hello Bob.", Dialogue(()), {"speaker"}),
    ],
)
def test_what_cannot_be_read_has_no_value(summary, of, read):
    assert check_summary(summary, of).keys() == read


def test_a_german_pair_cannot_be_read():
    german = dialogue(
        "Anna: Hallo Peter, wollen wir uns am Montag um drei treffen, oder hast du keine Zeit?",
        "Peter: Doch, gerne, aber lieber erst nach dem Mittagessen im neuen Café am Markt.",
    )
    assert found("Anna und Peter treffen sich am Dienstag um vier im Kino.", german) == []


def test_counts_are_of_what_was_looked_at():
    of = check_summary("Amanda, Tom and Jerry meet at 5 pm.", CHAT)
    assert (of["name"].count, len(of["name"].findings)) == (3, 1)
    assert (of["number"].count, len(of["number"].findings)) == (1, 0)


ODD = st.text(
    alphabet=st.sampled_from("Aa 5#'Pérson.:[]<>@数字\ud800\x00\U0001f600n't-\n"), max_size=80
)


@given(ODD, ODD, ODD)
def test_nothing_that_is_typed_breaks_it(summary, said, name):
    of = Dialogue((Utterance(name, said), Utterance("Bo", "no"), Utterance("", said)))
    for one in findings(summary, of, (*FINDING_KINDS, "lost_negation")):
        assert summary[one.start : one.end] == one.text


@pytest.mark.parametrize(
    "text", ["Ann's " * 20_000, "a" * 100_000, "x-1 " * 20_000, "not " * 20_000]
)
def test_long_texts_end(text):
    start = time.process_time()
    findings(text, dialogue(f"Ann: {text}", f"Bo: {text}"))
    assert time.process_time() - start < 20  # quadratic time would be minutes


@pytest.mark.parametrize(
    ("summary", "texts"),
    [
        ("Amanda tells Amanda the time.", ["Amanda tells Amanda"]),
        ("They talk. Then Tom will also invite Tom. Fine.", ["Tom will also invite Tom"]),
        ("Amanda asks Tom to give Tom a call.", ["Tom to give Tom"]),
        ("#Person1# helps #Person1#.", ["#Person1# helps #Person1#"]),
        ("They say Smith asked Smith.", ["Smith asked Smith"]),
        ("Amanda tells Tom Tom is late.", []),
        ("Amanda thinks Amanda is late. Tom asks. Tom agrees.", []),
        ("Amanda shows Amanda's house, and #Person1# shows #Person1#'s and #Person2#’s.", []),
        ("Ann will inform Will.", []),
        ("Tom calls Tom Smith. Amanda asks Amanda Service for help.", []),
        ("Tom calls Tom. Amanda waits.", ["Tom calls Tom"]),
        ("Grad B tells Grad B the plan.", ["Grad B tells Grad B"]),
        ("Grad B tells Grad C the plan.", []),
        ("Professor C asks Professor C's wife.", []),
        ("Tom Smith calls Tom.", ["Tom Smith calls Tom"]),
        ("Tom helps", []),
        ("", []),
    ],
)
def test_who_tells_himself(summary, texts):
    assert found(summary, CHAT, "oneself") == texts


MEETING = Dialogue(
    (
        Utterance("Bo", "Chen has the plan, and Mr. Samuel Baker knows the New York office."),
        Utterance("Samantha", "I was in York. Robert van Dyke was there, too."),
    )
)


@pytest.mark.parametrize(
    ("summary", "names"),
    [
        ("Bo talks. Chen has a plan.", []),
        ("Samuel Baker knows it.", []),
        ("They meet Bob van Dyke and Sam in New York.", []),
        ("Bo Chen has the plan.", ["Bo Chen"]),
        ("They talk about Samuel Chen.", ["Samuel Chen"]),
        ("They talk about Rob and Saman.", ["Saman"]),
    ],
)
def test_a_name_has_its_words_side_by_side(summary, names):
    assert found(summary, MEETING, "name") == names


PAID = Dialogue(
    (
        Utterance("Agent", "I see a payment of Forty-two pounds eighty, and one of £12.10."),
        Utterance("Customer", "Yes, and I paid forty euros ten days ago, at 5."),
    )
)


@pytest.mark.parametrize("amount", ["£42.80", "42.80 pounds", "£12.10", "40 euros"])
def test_an_amount_is_held_as_a_whole(amount):
    assert found(f"The refund is {amount}.", PAID, "number") == []


@pytest.mark.parametrize("amount", ["£42", "£80", "£12", "$5.40", "£10.50"])
def test_part_of_an_amount_is_not_held(amount):
    assert found(f"The refund is {amount}.", PAID, "number") == [amount]


MASKED = Dialogue(
    (
        Utterance("Agent", "Dr. [NAME_1] is in on [DATE_1]. Please call [PHONE_1]."),
        Utterance("Patient", "My name is {name}, the order was XXX, my mail is <MAIL>."),
    )
)


@pytest.mark.parametrize(
    ("summary", "texts"),
    [
        ("Agent tells Patient to call [PHONE_1] on [DATE_1].", []),
        ("The order of {name} was XXX, the mail is <MAIL>.", []),
        ("Agent will call [PHONE_2].", ["[PHONE_2]"]),
        ("Patient will see Dr. [", ["["]),
        ("Patient will see Dr. NAME_1]", ["]"]),
        ("The order was XXXX.", ["XXXX"]),
    ],
)
def test_masks_are_held_whole(summary, texts):
    assert found(summary, MASKED, "entity") == texts


def test_a_part_of_a_mask_is_no_word_of_the_dialogue():
    assert found("Patient will come on DATE. Dr. 1 is late.", MASKED, "name", "number") == ["DATE"]
    assert found("Patient will pay for PHONE and 2.", MASKED, "name", "number") == ["PHONE", "2"]


# Figures of a corpus from what was found.


def scores(*pairs: tuple[str, Dialogue | None]) -> Scores:
    metric = pickle.loads(pickle.dumps(Faithfulness()))
    rows = [metric.measure(Case(text, (), of)) for text, of in pairs]
    ids = tuple(map(str, range(len(rows))))
    return Scores("x", ids, metric.columns, np.array(rows), {})


def test_shares_are_of_outputs_and_of_mentions():
    of = scores(
        ("Amanda met Jerry and Bob.", CHAT), ("Amanda met Tom.", CHAT), ("Tom met Bill.", CHAT)
    )
    assert of.figure("faithfulness.name") == pytest.approx(200 / 3)
    assert of.figure("faithfulness.name_each") == pytest.approx(300 / 7)
    assert of.figure("faithfulness.any") == pytest.approx(200 / 3)
    assert of.figure("faithfulness.number") == 0
    assert isnan(of.figure("faithfulness.number_each"))


def test_an_empty_output_says_nothing_wrong():
    of = scores(("", CHAT))
    assert of.figure("faithfulness.any") == 0
    assert isnan(of.figure("faithfulness.name_each"))


def test_what_cannot_be_read_is_left_out():
    of = scores(
        ("amanda met jerry.", CHAT), ("Amanda met Jerry.", CHAT), ("Amanda, hello", CHINESE)
    )
    assert of.figure("faithfulness.name") == 100
    assert of.each("faithfulness.name")[1] == 100
    assert isnan(of.each("faithfulness.name")[0])
    assert isnan(of.each("faithfulness.any")[2])


def test_without_a_dialogue_there_is_no_value():
    of = scores(("Amanda met Jerry.", None))
    assert all(isnan(of.figure(column.key)) for column in of.columns)


def test_unsupported_words_are_counted_by_stem():
    of = scores(("Amanda was baking a cookie and an elephant for Tom.", CHAT))
    assert of.figure("faithfulness.word_each") == pytest.approx(100 / 3)


def test_keys_are_unique_and_widths_fit():
    metric = Faithfulness()
    assert len({column.key for column in metric.columns}) == len(metric.columns)
    row = metric.measure(Case("Amanda met Jerry.", (), CHAT))
    assert len(row) == sum(column.width for column in metric.columns)
