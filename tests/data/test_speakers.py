import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dialogist.data.speakers import _LETTER, SpeakerTable, restore_speakers
from dialogist.tokenizers import PLACEHOLDERS, placeholder

P, Q, R = placeholder(0), placeholder(1), placeholder(2)

HARD = ["Ann", "Ann Lee", "Anna", "用户", "客服", "#Person1#", "#Person10#", "A.*", "(", "[a-z]+"]
HARD += ["\\d", "👩‍⚕️", "a|b", "$", "^x", "_", "O'Neil", "123", "Ünal", "é"]
characters = st.characters(exclude_categories=["Cs", "Co"])
names = st.lists(st.sampled_from(HARD) | st.text(characters, max_size=5), max_size=40)
pieces = st.sampled_from([*HARD, " ", "'s", ", ", "。", "a", "Annabel"]) | st.text(characters)
texts = st.lists(pieces, max_size=12).map("".join)


@given(names, texts)
@example(["Ann", "Ann Lee", "Anna"], "Ann LeeAnn Ann Lee Anna")
def test_restore_undoes_mask(names, text):
    table = SpeakerTable(names)
    assert restore_speakers(table.mask(text), table.names) == text


@given(names)
def test_every_name_alone_becomes_its_token(names):
    table = SpeakerTable(" ".join(name.split()) for name in names)  # names arrive normalised
    for i, name in enumerate(table.names):
        assert table.token(name) == placeholder(i)
        one_letter = len(name) == 1 and re.match(_LETTER, name)
        expected = name if one_letter else placeholder(i)
        assert table.mask(f" {name} ") == f" {expected} "


@pytest.mark.parametrize(
    ("names", "text", "masked"),
    [
        (["Ann"], "Ann, Anna and Joann met Ann's ann.", f"{P}, Anna and Joann met {P}'s ann."),
        (["Ann"], "Ann_x Ann1 1Ann Ann-Ann", f"Ann_x Ann1 1Ann {P}-{P}"),
        (["Ann", "Ann Lee"], "Ann Lee told Ann.", f"{Q} told {P}."),
        (["Ann", "Ann Lee", "Anna"], "Ann Leer, Anna", f"{P} Leer, {R}"),
        (["#Person1#", "#Person10#"], "#Person1#: #Person10#'s", f"{P}: {Q}'s"),
        (["#Person1#"], "a#Person1#b #Person1", f"a{P}b #Person1"),
        (["用户", "客服"], "客服告诉用户他的订单", f"{Q}告诉{P}他的订单"),
        (["A.B", "(x)"], "A.B AxB (x) x", f"{P} AxB {Q} x"),
        (["👩"], "hi👩!", f"hi{P}!"),
        ([], "Ann", "Ann"),
        (["", "Ann", "Ann"], "Ann ", f"{P} "),
    ],
)
def test_masking_by_hand(names, text, masked):
    assert SpeakerTable(names).mask(text) == masked


def test_numbered_by_first_appearance():
    table = SpeakerTable(["Bo", "Ann", "Bo", ""])
    assert table.names == ("Bo", "Ann")
    assert (table.token("Bo"), table.token("Ann"), table.token("Cy")) == (P, Q, "Cy")
    assert table.overflow == ()


def test_speakers_beyond_the_last_placeholder_stay_text():
    everyone = [f"name{i:02}" for i in range(PLACEHOLDERS + 3)]
    table = SpeakerTable(everyone)
    assert table.overflow == ("name32", "name33", "name34")
    assert table.token("name33") == "name33"
    assert table.mask("name31 name32") == f"{placeholder(31)} name32"
    text = " ".join(everyone)
    assert restore_speakers(table.mask(text), table.names) == text


@pytest.mark.parametrize(
    ("text", "names", "restored"),
    [
        (f"{P} and {Q}", ["Ann", "Bo"], "Ann and Bo"),
        (f"{P}{R}.", ["Ann", "Bo"], "Ann."),
        (f"{P}x{placeholder(31)}", [], "x"),
        (f"{P}", [Q], Q),
        (P, [r"\1\g<0>"], r"\1\g<0>"),
    ],
)
def test_restoring_by_hand(text, names, restored):
    assert restore_speakers(text, names) == restored


def test_one_letter_names_speak_but_are_not_masked_in_text():
    table = SpeakerTable(["A", "I"])
    assert table.token("A") == placeholder(0)
    assert table.mask("A friend and I will come.") == "A friend and I will come."


def test_latin_name_beside_chinese():
    table = SpeakerTable(["Ann", "用户"])
    assert table.mask("Ann说用户好") == f"{placeholder(0)}说{placeholder(1)}好"


def test_letters_are_those_of_scripts_with_spaces():
    assert all(re.match(_LETTER, c) for c in "aÜéжא1_")
    assert not any(re.match(_LETTER, c) for c in "用のカ豈𭨫#.")
