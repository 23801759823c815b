"""Masking dialogues and texts, and putting everything back."""

import random
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialogist.privacy.masking import (
    DialogueMasking,
    mask_dialogue,
    mask_summary,
    masked_line,
    restore_dialogue,
)
from dialogist.privacy.masks import mask_text, mask_texts, value_key
from dialogist.privacy.packs import privacy_of
from dialogist.records import Dialogue, EvidenceSpan, Statement, Summary, Utterance, Warning

USUAL = privacy_of()
PEOPLE = privacy_of(names="people")
SPEAKERS = privacy_of(names="speakers")
HIGH = privacy_of(level="high")


@pytest.mark.parametrize(
    ("said", "masked"),
    [
        # One value has one mask however it is written.
        (
            "Call (415) 555-0132. | So +1 415 555 0132? Or 212-555-0199?",
            "Call [PHONE_1]. | So [PHONE_1]? Or [PHONE_2]?",
        ),
        # What a word tells once counts everywhere.
        (
            "It was 48213. | Sorry? | Order number 48213. Yes, 48 213. | 148213 metres, $48213",
            "It was [ORDER_1]. | Sorry? | Order number [ORDER_1]. Yes, [ORDER_1]."
            " | 148213 metres, $48213",
        ),
        # Overlapping finds are masked as one.
        ("Send it to 221B Baker Street, London NW1 6XE.", "Send it to [ADDRESS_1]."),
        ("See https://x.com/?mail=a@b.com&n=1", "See https://x.com/?mail=[EMAIL_1]&n=1"),
        # The full stop of a sentence stays.
        ("She was born on 5th October.", "She was born on [BIRTH_DATE_1]."),
        ("It's 176 Wooden Street East. Come.", "It's [ADDRESS_1]. Come."),
        # Full-width digits and odd spaces.
        ("call 415\u200b-555-0132 now", "call [PHONE_1] now"),
        (
            "电话１３８００１３８０００ | Call 415\u2011555\u20110132",
            "电话[PHONE_1] | Call [PHONE_2]",
        ),
        # A mask is not masked again.
        ("[PHONE_1] or 212-555-0199", "[PHONE_1] or [PHONE_2]"),
        ("The password is [SECRET_2].", "The password is [SECRET_2]."),
        ("Password [SECRET_2], PIN 4711.", "Password [SECRET_2], PIN [SECRET_1]."),
        ("IBAN DE89 [PHONE_1].", "IBAN [ID_1] [PHONE_1]."),
        # An open bracket is no part of a number.
        ("Wendy (07700 900142) waits.", "Wendy ([PHONE_1]) waits."),
        # Numbers that are nobody's.
        *(
            (text, text)
            for text in (
                "In 2008 we sold 1,200,000 of them for $99.50 each, 12% more than in 2007.",
                "Flight BA117 leaves at 5:45 pm from gate B12; version 10.2.3.4 is out.",
                "They won 110-105 in room 1204. Call me in 20 minutes. The card was declined.",
                "下午3点半坐2号线，走中山路100米，一共299元。密码错了3次。",
                "127.0.0.1 is this machine.",
                "[PHONE_1] and [EMAIL_2] are masks.",
                "",
            )
        ),
    ],
)
def test_texts(said, masked):
    assert " | ".join(one.text for one in mask_texts(said.split(" | "), USUAL)[0]) == masked


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("+44 20 7946 0958", "020 7946 0958"),
        ("+86 138 0013 8000", "13800138000"),
        ("+86 10 6234 5678", "010-62345678"),
        ("+49 (0)30 1234567", "030 1234567"),
        ("0033 1 23 45 67 89", "01 23 45 67 89"),
    ],
)
def test_telephone_numbers_with_and_without_country(one, other):
    assert value_key("PHONE", one) == value_key("PHONE", other)


def test_the_lowest_level_finds_cards_and_accounts_with_other_words_behind():
    text = "4111 1111 1111 1111 12 times, ES91 2100 0418 4502 0005 1332 is it"
    done, _ = mask_text(text, privacy_of(level="low"))
    assert done.text == "[CARD_1] 12 times, [IBAN_1] is it"


def test_the_turn_before_asks_for_it():
    said = (
        "What's your order number? | It's 48213. | 48213. And your date of birth? | 12 May 1980"
        " | And how many? | 48214 points. | You paid $48213. | My account number is 77001."
        " | I lost 340 points. | My passport is lost. | 10041963x"
    )
    turns = tuple(Utterance("AB"[n % 2], text) for n, text in enumerate(said.split(" | ")))
    done, table = mask_dialogue(Dialogue(turns, references=("Order 48213",)), USUAL)
    assert " | ".join(u.text for u in done.utterances) == (
        "What's your order number? | It's [ORDER_1]. | [ORDER_1]. And your date of birth?"
        " | [BIRTH_DATE_1] | And how many? | 48214 points. | You paid $48213."
        " | My account number is [ID_1]. | I lost 340 points. | My passport is lost. | [CODE_1]"
    )
    assert done.references == ("Order [ORDER_1]",)
    assert restore_dialogue(done, table).utterances == turns


@pytest.mark.parametrize(
    ("said", "masked"),
    [
        (
            "Date of birth please? | 14/02/1990 | And your son's? | 2012-09-30 | And yours?"
            " | 14 June 2014.",
            "Date of birth please? | [BIRTH_DATE_1] | And your son's? | [BIRTH_DATE_2] | And yours?"
            " | [BIRTH_DATE_3].",
        ),
        (
            "Order number? | 48213 | Thanks. And the other one? | QX77",
            "Order number? | [ORDER_1] | Thanks. And the other one? | [ORDER_2]",
        ),
        (
            "Number? | oh seven | right | double nine | uh huh | 14 | ok | three two eight",
            "Number? | [CODE_1] | right | [CODE_2] | uh huh | [CODE_3] | ok | [CODE_4]",
        ),
        ("How many? | 14 | ok | Two | And hers? | twenty", ""),
    ],
)
def test_what_was_asked_before_goes_on(said, masked):
    turns = tuple(Utterance("AB"[n % 2], text) for n, text in enumerate(said.split(" | ")))
    done, _ = mask_dialogue(Dialogue(turns), USUAL)
    assert " | ".join(u.text for u in done.utterances) == (masked or said)


def test_a_mask_that_the_dialogue_spells_is_text():
    texts = ("Type phone_1 here.", "Call 415-555-0132.")
    done, table = mask_texts(texts, USUAL)
    assert done[1].text == "Call [PHONE_2]."
    assert table.restore("[PHONE_1] [PHONE_2] [PHONE_3]") == "[PHONE_1] 415-555-0132 [PHONE_3]"
    assert table.unknown("[PHONE_1] phone_2 [PHONE 3] [x_1] phone 4") == ["[PHONE_3]"]


DIALOGUE = Dialogue(
    (
        Utterance("Ann Lee", "Hi Bob, it's +1 415-555-0132, Ann's number."),
        Utterance("Bob", "Thanks ANN. (415) 555-0132? Ask Mr. Smith, not Paris."),
        Utterance("Agent", "Ann Lee and Smith, ann@example.com", "agent"),
    ),
    id="7",
    references=("Ann gave 415 555 0132. Smith helps.",),
    metadata={"notes": ["ann@example.com", {"n": 5, "who": "Bob"}], "topic": "calls"},
)


def test_a_dialogue_with_the_names_of_people():
    done, table = mask_dialogue(DIALOGUE, PEOPLE)
    assert [(u.speaker, u.text) for u in done.utterances] == [
        ("[PERSON_1]", "Hi [PERSON_2], it's [PHONE_1], [PERSON_1]'s number."),
        ("[PERSON_2]", "Thanks [PERSON_1]. [PHONE_1]? Ask Mr. [PERSON_3], not Paris."),
        ("Agent", "[PERSON_1] and [PERSON_3], [EMAIL_1]"),
    ]
    assert done.references == ("[PERSON_1] gave [PHONE_1]. [PERSON_3] helps.",)
    notes = ["[EMAIL_1]", {"n": 5, "who": "[PERSON_2]"}]
    assert done.metadata == {"notes": notes, "topic": "calls"}
    assert table.counts() == {"PERSON": 11, "PHONE": 3, "EMAIL": 2}


def test_speakers_only_and_all_names():
    others = "Thanks {}. [PHONE_1]? Ask Mr. {}, not {}."
    for privacy, expected in (
        (SPEAKERS, others.format("[PERSON_1]", "Smith", "Paris")),
        (privacy_of(names="all"), others.format("[PERSON_1]", "[PERSON_3]", "[NAME_1]")),
        (USUAL, others.format("ANN", "Smith", "Paris")),
    ):
        assert mask_dialogue(DIALOGUE, privacy)[0].utterances[1].text == expected


@pytest.mark.parametrize("privacy", [USUAL, SPEAKERS, PEOPLE, privacy_of("all", "all")])
def test_everything_comes_back_word_for_word(privacy):
    done, table = mask_dialogue(DIALOGUE, privacy)
    assert restore_dialogue(done, table) == DIALOGUE


def test_a_changed_dialogue_is_not_restored():
    done, table = mask_dialogue(DIALOGUE, USUAL)
    changed = Dialogue((Utterance("Bob", "[PHONE_1], [PHONE_9]"),), id=done.id)
    with pytest.raises(ValueError, match="not the masked texts"):
        restore_dialogue(changed, table)
    assert table.restore("[PHONE_1], [PHONE_9]") == "+1 415-555-0132, [PHONE_9]"


@pytest.mark.parametrize(
    ("speaker", "said", "expected"),
    [
        (
            "Dr. Grace Okafor",
            "Thanks, Grace. By the grace of Dr. Okafor.",
            "Thanks, {0}. By the grace of Dr. {0}.",
        ),
        (
            "Delta Support",
            "The support of Delta is fine, Support.",
            "The support of {0} is fine, Support.",
        ),
        ("Ann (Agent)", "ann, the agent, ANN", "{0}, the agent, {0}"),
        ("J", "J is a letter", "J is a letter"),
        ("Pat O'Neill", "Ms O’Neill, ONeill and the O'Neills", "Ms {0}, {0} and the {0}"),
        ("Anne-Marie Duval", "Anne Marie, annemarie, Anne", "{0}, {0}, {0}"),
        ("Anne Marie Duval", "Anne-Marie Duval", "{0}"),
        ("José García", "Jose, jose GARCIA", "{0}, {0} {0}"),
        ("Jose Garcia", "José García", "{0}"),
        ("Abdul-Rahman bin Khalid", "Abdul is in the bin", "{0} is in the bin"),
        # A name that is a word, too, is one where what stands around it tells of a person.
        (
            "May Chen",
            "Hi May, due in May, on 3 May. May I, Ms May?",
            "Hi {0}, due in May, on 3 May. May I, Ms {0}?",
        ),
        (
            "April Jones",
            "It rises in April, on the 1st. Is April there?",
            "It rises in April, on the 1st. Is {0} there?",
        ),
        (
            "Will Turner",
            "Will you? Is that all, Will? Will, wait. Will wants",
            "Will you? Is that all, {0}? {0}, wait. {0} wants",
        ),
        (
            "Bill Cash",
            "Cash or card? Ask Bill. The Bill came, Mr Cash.",
            "Cash or card? Ask {0}. The Bill came, Mr {0}.",
        ),
        (
            "Friday Eze",
            "Friday, at two. Thanks, Friday. On Friday?",
            "Friday, at two. Thanks, {0}. On Friday?",
        ),
        ("Grace", "Grace", "{0}"),
        # Others only sound like words of dialogues.
        (
            "Nils Berg",
            "The whale one? Nils! It is like Nils.",
            "The whale one? {0}! It is like {0}.",
        ),
        ("mo", "mo u can come, me n mo", "{0} u can come, me n {0}"),
    ],
)
def test_parts_of_a_speakers_name(speaker, said, expected):
    done, _ = mask_dialogue(Dialogue((Utterance(speaker, said),)), SPEAKERS)
    assert done.utterances[0].text == expected.format("[PERSON_1]")


def test_chinese_names():
    texts = ("我叫王小明，你好", "小明，请问李先生在吗", "周小明不在")
    shown = ["我叫[PERSON_1]，你好", "[PERSON_1]，请问[PERSON_2]先生在吗", "[PERSON_3]不在"]
    assert [one.text for one in mask_texts(texts, PEOPLE)[0]] == shown


def test_roles_and_masks_are_no_names():
    roles = ("客服", "#Person1#", "Speaker 2", "Student", "HR", "Front desk", "Mother")
    said = tuple(Utterance(name, "Hi.") for name in (*roles, "+1 415-555-0132"))
    for privacy in (SPEAKERS, PEOPLE):
        done, _ = mask_dialogue(Dialogue(said), privacy)
        assert done.speakers == (*roles, "[PHONE_1]")


def test_a_summary_has_the_masks_of_its_dialogue_and_new_ones():
    _, table = mask_dialogue(DIALOGUE, PEOPLE)
    done, grown = mask_text("Lee calls (415)555-0132 and 212-555-0199.", PEOPLE, table)
    assert done.text == "[PERSON_1] calls [PHONE_1] and [PHONE_2]."
    assert grown.restore(done.text) == "Ann Lee calls +1 415-555-0132 and 212-555-0199."
    assert "[PHONE_2]" not in table.values


def test_ids_with_personal_data_are_masked_and_all_stay_apart():
    masking = DialogueMasking(SPEAKERS)
    said = (Utterance("Ann", "Hi."),)
    ids = ("Chat with Ann", "Chat with Ann", "A-48213", "A-48213", "+1 415-555-0132", "4155550132")
    ids += ("a_by_a.b@mail.ie_+14155550132.x:2",)
    done = [masking.mask(Dialogue(said, id=one)) for one in ids]
    assert [one.id for one, _ in done] == [
        *("Chat with [PERSON_1]#1", "Chat with [PERSON_1]#2", "A-48213", "A-48213#4"),
        *("[PHONE_1]#5", "[PHONE_1]#6", "a_by_[EMAIL_1]_[PHONE_1].x:2#7"),
    ]
    assert (masking.ids, masking.equal) == (5, 1)


PIECES = [
    "Call 415-555-0132",
    " Ann Lee ",
    "order number 48213",
    "48 213",
    "[PHONE_1]",
    "a@b.com",
    "，",
    "生日是1980年5月12日",
    "110105194912310021",
    "ann",
    " 12 Oak Street ",
    "\n",
    "4111 1111 1111 1111",
]


@given(st.lists(st.lists(st.sampled_from(PIECES), max_size=5).map("".join), max_size=5))
def test_any_texts_come_back(texts):
    done, table = mask_texts(texts, PEOPLE, ("Ann Lee",))
    assert table.restore_texts([one.text for one in done]) == tuple(texts)
    # What is masked stays masked, and is not taken for something else.
    again, more = mask_texts([one.text for one in done], PEOPLE)
    assert more.restore_texts([one.text for one in again]) == tuple(one.text for one in done)
    assert not any("[" in value for value in more.values.values())


def test_time_grows_with_the_length_only():
    random.seed(1)
    words = ("12 Oak ", "中区路", "one two ", "a.b at x dot com ", "password is ", "1", "Ann ")
    text = "".join(random.choices(words, k=3000))
    took = []
    for size in (len(text) // 4, len(text)):
        start = process_time()
        mask_texts([text[:size]], PEOPLE)
        took.append(process_time() - start)
    assert took[1] < 12 * took[0] + 0.5


ORDERING = Dialogue((Utterance("Ann", "My order number is 48213, call 415-555-0132."),))
TEXT = "Ann's order is 48213. Call 4155550132 or 212-555-0199."
SECOND = TEXT.index("Call")
EVIDENCE = (EvidenceSpan(0, 19, 24, 0.9),)
SUMMARY = Summary(
    text=TEXT,
    id="1",
    reason="the number 212-555-0199 is nowhere",
    statements=(
        Statement(TEXT[: SECOND - 1], 0, SECOND - 1, "Issue", EVIDENCE, importance=0.5),
        Statement(TEXT[SECOND:], SECOND, len(TEXT), reasons=("nobody says 212-555-0199",)),
        Statement("not a part: 48213", reasons=("nor 48213",)),
    ),
    warnings=(Warning("input", "all of 48213 was read"),),
)
MASKED = "Ann's order is [ORDER_1]. Call [PHONE_1] or [PHONE_2]."


def test_texts_and_places():
    _, table = mask_dialogue(ORDERING, USUAL)
    done, grown = mask_summary(SUMMARY, USUAL, table)
    assert done.text == MASKED
    assert done.reason == "the number [PHONE_2] is nowhere"
    first, second, other = done.statements
    for statement in (first, second):
        assert done.text[statement.start : statement.end] == statement.text
    assert f"{first.text} {second.text}" == MASKED
    assert (first.section, first.importance, first.evidence) == ("Issue", 0.5, EVIDENCE)
    assert second.reasons == ("nobody says [PHONE_2]",)
    assert (other.text, other.reasons) == ("not a part: [ORDER_1]", ("nor [ORDER_1]",))
    assert [warning.message for warning in done.warnings] == ["all of [ORDER_1] was read"]
    assert grown.restore(done.text) == TEXT.replace("4155550132", "415-555-0132")


def test_a_quote_of_a_masked_dialogue_is_verbatim():
    said = Dialogue((Utterance("Doctor", "Keep Ann Lee, and call 415-555-0132."),))
    masked, table = mask_dialogue(said, HIGH)
    quotes = (f"Doctor: “{masked.utterances[0].text}”", "Keep [PERSON_1]", "Zoe: My name is Keep")
    done = [mask_text(quote, HIGH, table)[0].text for quote in quotes]
    assert done == [*quotes[:2], "[PERSON_2]: My name is Keep"]


def test_nothing_to_mask_changes_nothing():
    summary = Summary(text="Ann calls Bo.", statements=(Statement("Ann calls Bo.", 0, 13),))
    assert mask_summary(summary, USUAL)[0] == summary


def test_a_mask_over_the_border_of_two_statements():
    text = "Call 415. 555. 0132 now."
    summary = Summary(text, statements=(Statement(text[:10], 0, 10), Statement(text[10:], 10, 24)))
    done, _ = mask_summary(summary, privacy_of("+CODE"))
    assert "".join(statement.text for statement in done.statements) == done.text


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a.csv:3: 'ann@example.com' is no number", "a.csv:3: '[EMAIL_1]' is no number"),
        ("got '4111 1111 1111 1111'", "got '[CARD_1]'"),
        ("chat +1 415-555-0132: 2 names", "chat [PHONE_1]: 2 names"),
        ("from 192.0.2.3: no such file", "from [IP_1]: no such file"),
        # The program's own numbers.
        ("openai:http://192.0.2.2:9911/v1#a: sends dialogues to 192.0.2.2:9911", ""),
        ("epoch 1, batch 300/12460, loss 2.345", ""),
        ("12,460 pairs, 123456789 tokens in 14 shards", ""),
        ("resumed at update 1234567 (step-1234567)", ""),
        ("checksum 9F86D081884C7D65 of runs/2026-11-22T01-00-00", ""),
        ("listening on 127.0.0.1:8000", ""),
        ("a.jsonl:12: not JSON: Expecting value at column 14", ""),
        ("rule pack 'x': no such file", ""),
    ],
)
def test_lines_of_the_program(line, expected):
    assert masked_line(line) == (expected or line)
