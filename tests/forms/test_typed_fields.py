"""Typed fields: found by form, told apart by the words near them, never guessed (fields.yaml)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.forms.samples import dialogue_of, table

from dialogist.forms.form_file import FIELD_TYPES, FormSection
from dialogist.forms.typed_fields import Values


def chosen(dialogue, **keys):
    values, unclear = Values(dialogue).chosen(FormSection(title="x", source="field", **keys))
    assert unclear == (len(values) > 1 and not keys.get("several"))
    return values


@pytest.mark.parametrize("row", table("fields"), ids=lambda row: row["lines"][-1])
def test_values(row):
    keys = {key: row[key] for key in ("type", "cues", "several") if key in row}
    values = chosen(dialogue_of(*row["lines"]), **keys)
    assert [places[-1].text for places in values] == row["found"]


def test_a_value_said_twice_is_one_with_both_places():
    twice = dialogue_of("A: Order AB-1234567.", "B: Order AB1234567, right?")
    [places] = chosen(twice, type="order")
    assert [value.utterance for value in places] == [0, 1]


WORDS = [
    "order",
    "AB-20931",
    "not",
    "sorry,",
    "555-123-4567",
    "no",
    "bo@x.com",
    "$3",
    "our",
    "?",
    ".",
]


@given(st.lists(st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join), max_size=5))
def test_any_words_give_values_with_places(turns):
    dialogue = dialogue_of(*(f"{'AB'[n % 2]}: {turn}" for n, turn in enumerate(turns)))
    for type_ in FIELD_TYPES:
        for value in (value for places in chosen(dialogue, type=type_) for value in places):
            assert 0 <= value.start < value.end <= len(dialogue.utterances[value.utterance].text)
