"""Entities: out of the text and back exactly, numbered, found in both languages."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.language.test_text_entities import SAMPLES

from dialogist.data.entities import MASK, EntityTable, compared, mask_entities
from dialogist.tokenizers.special_tokens import (
    ENTITIES_PER_KIND,
    ENTITY_KINDS,
    entity_placeholder,
    entity_placeholders,
    readable_entity,
)

FRAGMENTS = [
    *("order number ", "order ", "plate ", "card ", "call ", "flight ", "尾号", "订单号", "on "),
    *(
        ".",
        ",",
        " ",
        ":",
        "-",
        "/",
        "(",
        "$",
        "+",
        "元",
        "点",
        "5",
        "12",
        "0",
        "A",
        "pm",
        "次",
        "\n",
    ),
    *("<PHONE_1>", "<TIME_16>", entity_placeholder("PHONE", 1), entity_placeholder("ID", 16)),
    *("555-1234", "12345", "AB12 CDE", "1.2.3.4", "a@b.co", "5/12", "May 5", "\ufffd", "é"),
]
pieces = st.sampled_from([text for text, _, _ in SAMPLES] + FRAGMENTS)
texts = st.lists(pieces | st.text(max_size=3), max_size=8).map("".join)
dialogues = st.lists(texts, max_size=5)


def shown(text: str, *more: str) -> str:
    """The first text masked, readably, in a dialogue with the others."""
    masked, table = mask_entities([text, *more])
    return table.readable(masked[0])


@given(dialogues)
@example(["order number 12345", "12345 and 123 45", "call 12345"])
@example([entity_placeholder("TIME", 1) + " at 5 pm", "<TIME_1> 5:30"])
def test_a_dialogue_comes_back_exactly(spoken):
    masked, table = mask_entities(spoken)
    assert list(table.restore_dialogue(masked)) == spoken
    assert mask_entities(spoken) == (masked, table)


@given(dialogues)
@example(["12345/a@b.co 5 pm", "订单号12-12元"])
def test_masking_what_is_masked_changes_nothing(spoken):
    masked, _ = mask_entities(spoken)
    again, table = mask_entities(masked)
    assert again == masked
    assert not table.surfaces


@given(dialogues)
def test_masks_are_numbered_by_first_appearance(spoken):
    masked, table = mask_entities(spoken)
    seen = [c for text in masked for c in MASK.findall(text) if c in table.surfaces]
    for kind in ENTITY_KINDS:
        own = [entity_placeholder(kind, n + 1) for n in range(ENTITIES_PER_KIND)]
        free = [c for c in own if c not in table.foreign]
        order = list(dict.fromkeys(c for c in seen if c in own))
        assert order == free[: len(order)]
    assert set(seen) == set(table.surfaces)


@given(dialogues)
def test_a_value_has_one_mask_and_a_mask_one_value(spoken):
    masked, table = mask_entities(spoken)
    values: dict[str, set[str]] = {}
    for text, said in zip(masked, table.mentions, strict=True):
        own = [c for c in MASK.findall(text) if c not in table.foreign]
        for character, surface in zip(own, said, strict=True):
            kind = readable_entity(character)[1:].rsplit("_", 1)[0]
            values.setdefault(character, set()).add(compared(kind, surface)[1])
    assert all(len(found) == 1 for found in values.values())
    assert len({min(found) + readable_entity(c)[:3] for c, found in values.items()}) == len(values)


@given(dialogues, texts)
def test_a_summary_holds_only_masks_of_the_dialogue(spoken, summary):
    _, table = mask_entities(spoken)
    masked = table.mask(summary)
    assert set(MASK.findall(masked)) <= set(table.surfaces) | table.foreign
    restored = table.restore(masked)
    assert [c for c in MASK.findall(restored) if c not in table.foreign] == []


def test_a_value_that_a_word_told_is_known_without_it():
    masked, table = mask_entities(
        ["It was 12345, I think.", "Your order number is 12345?", "Yes, #12345"]
    )
    assert [table.readable(text) for text in masked] == [
        "It was <ORDER_1>, I think.",
        "Your order number is <ORDER_1>?",
        "Yes, #<ORDER_1>",
    ]
    assert table.readable(table.mask("Order 12345 is late, 12346 is not.")) == (
        "Order <ORDER_1> is late, 12346 is not."
    )


def test_the_word_before_decides_the_kind():
    assert shown("4155550132", "order number 4155550132") == "<ORDER_1>"


def test_a_summary_gets_the_words_of_the_first_appearance():
    masked, table = mask_entities(["Call 415 555 0132.", "415-555-0132?"])
    assert masked[1] == f"{entity_placeholder('PHONE', 1)}?"
    summary = table.mask("They use (415) 555-0132, not 415-555-9999.")
    assert table.readable(summary) == "They use <PHONE_1>, not 415-555-9999."
    assert table.restore(summary) == "They use 415 555 0132, not 415-555-9999."


def test_values_beyond_the_last_mask_stay_text_and_are_counted():
    spoken = [f"at {n}:30" for n in range(ENTITIES_PER_KIND + 3)]
    masked, table = mask_entities([*spoken, "at 18:30"])
    assert table.overflow == {"TIME": 3}
    assert masked[ENTITIES_PER_KIND:] == ("at 16:30", "at 17:30", "at 18:30", "at 18:30")
    assert table.restore_dialogue(masked) == (*spoken, "at 18:30")


def test_mask_characters_of_the_user_stand_for_themselves():
    taken = entity_placeholder("TIME", 1)
    masked, table = mask_entities([f"{taken} at 5 pm"])
    assert masked == (f"{taken} at {entity_placeholder('TIME', 2)}",)
    assert table.restore(masked[0]) == f"{taken} at 5 pm"
    foreign = entity_placeholder("CARD", 3)
    assert table.mask(f"{taken}{foreign}") == f"{taken}\ufffd"
    assert table.restore(foreign) == ""


def test_a_spelled_mask_is_text():
    spoken = ["<PHONE_1> is no number, 415-555-0132 is"]
    masked, table = mask_entities(spoken)
    assert masked[0].startswith("<PHONE_1> is")
    assert table.restore(masked[0]) == spoken[0]


def test_values_to_keep():
    masked, table = mask_entities(["+1 415 555 0132 left"], keep=["+1 415 555 0132"])
    assert masked == ("+1 415 555 0132 left",)
    assert not table.surfaces


def test_foreign_texts_are_refused():
    _, table = mask_entities(["at 5 pm"])
    with pytest.raises(ValueError, match="not the masked texts"):
        table.restore_dialogue(["nothing"])
    assert EntityTable().restore(entity_placeholder("ID", 1)) == ""


def test_placeholders():
    every = entity_placeholders()
    assert len(set(every)) == len(every) == 16 * len(ENTITY_KINDS)
    assert every[0] == entity_placeholder("TIME", 1) == "\U0010f100"
    assert {readable_entity(c) for c in every} == {
        f"<{k}_{n + 1}>" for k in ENTITY_KINDS for n in range(16)
    }
    assert all(MASK.fullmatch(c) for c in every)
    assert not MASK.search(chr(ord(every[0]) - 1) + chr(ord(every[-1]) + 1) + "\U0010f000")
    with pytest.raises(IndexError):
        entity_placeholder("TIME", 17)
    with pytest.raises(ValueError, match="not in"):
        entity_placeholder("NAME", 1)
