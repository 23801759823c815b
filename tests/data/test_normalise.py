import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dialogist.data.normalise import PROFILES, has_reserved, normalise
from dialogist.tokenizers import PLACEHOLDERS, placeholder

# Any code point, surrogates included, with many of the troublesome ones.
ANY_TEXT = st.text(
    st.characters()
    | st.sampled_from("\x00\x1c\x85\u00a0\u200d\u0301\u030c\u0331ΣİJKÅeE.!?[]{}ﬁ½²\ud800\ufeff")
    | st.sampled_from([placeholder(0), placeholder(PLACEHOLDERS - 1)])
)

EXPECTED = [
    ("plain", "  Hello,\tWorld!\r\n ", "Hello, World!"),
    ("plain", "Cafe\u0301 \u00a0\u3000 İ", "Café İ"),
    ("plain", "a\x00b\x07c\x7f", "abc"),
    ("plain", "a\x1cb\x85c", "a b c"),
    ("plain", "x\ud800y", "x\ufffdy"),
    ("plain", f"x{placeholder(0)}{placeholder(31)}", "x\ufffd\ufffd"),
    ("plain", "👩\u200d👩\u200d👧 ﬁ ½", "👩\u200d👩\u200d👧 ﬁ ½"),
    ("plain", "", ""),
    ("dialogsum-keras", "#Person1#: HELLO,\n Ann's [note]!", "#person1#: hello, ann's [note]!"),
    ("dialogsum-keras", "A\x00B \ud800", "ab \ufffd"),
    ("dialogsum-keras", "ÉTÉ", "été"),
    ("xsum-report", 'Mr. O\'Neil (55) paid "$5", 10%!', "mr. oneil 55 paid $5, 10%!"),
    ("xsum-report", "a-b_c/d;e=f*g^h~i[j]{k}|l\\m<n>o+p`q", "abcdefghijklmnopq"),
    ("xsum-report", "It's an e-mail - don't", "its an email dont"),
    ("xsum-report", ".,!?%$&@#:", ".,!?%$&@#:"),
    ("xsum-report", f"CAFE\u0301 订单\ud800x{placeholder(1)}y\x00z", "café 订单xyz"),
    ("xsum-report", "हिन्दी", "हिन्दी"),
]


@pytest.mark.parametrize(("profile", "text", "expected"), EXPECTED)
def test_profiles_by_hand(profile, text, expected):
    assert normalise(text, profile) == expected


@pytest.mark.parametrize("profile", PROFILES)
@given(text=ANY_TEXT)
@example(text="e\x00\u0301")
@example(text="J\u030c H\u0331")
@example(text="ΑΣ\x00Σ ΑΣ")
def test_once_is_enough(profile, text):
    once = normalise(text, profile)
    assert normalise(once, profile) == once


@pytest.mark.parametrize("profile", PROFILES)
@given(text=ANY_TEXT)
def test_result_is_clean(profile, text):
    result = normalise(text, profile)
    assert result == " ".join(result.split())
    assert not {"Cc", "Cs"} & {unicodedata.category(c) for c in result}
    assert not has_reserved(result)
    result.encode("utf-8")


@given(ANY_TEXT)
def test_plain_is_nfc(text):
    assert unicodedata.is_normalized("NFC", normalise(text, "plain"))


@given(st.text("aZé单 .,-", max_size=20))
def test_plain_changes_nothing_but_white_space(text):
    assert normalise(text, "plain") == " ".join(text.split())


@given(ANY_TEXT)
def test_xsum_report_keeps_exactly_its_characters(text):
    for character in normalise(text, "xsum-report"):
        kind = unicodedata.category(character)[0]
        assert kind in "LMN" or character in " .,!?%$&@#:", repr(character)


@given(st.text(st.characters(codec="ascii")))
def test_xsum_report_in_ascii(text):
    allowed = "abcdefghijklmnopqrstuvwxyz0123456789.,!?%$&@#:"
    expected = " ".join("".join(c for c in text.lower() if c in allowed or c.isspace()).split())
    assert normalise(text, "xsum-report") == expected


def test_reserved_are_the_placeholders_and_no_more():
    every = [placeholder(i) for i in range(PLACEHOLDERS)]
    assert all(map(has_reserved, every))
    assert not has_reserved(chr(ord(every[0]) - 1) + chr(ord(every[-1]) + 1) + "text")


def test_every_code_point_by_its_category():
    """The plain rule, character by character, for all of Unicode."""
    reserved = {placeholder(i) for i in range(PLACEHOLDERS)}
    for code in range(0x110000):
        c = chr(code)
        category = unicodedata.category(c)
        assert has_reserved(c) == (c in reserved)
        if c.isspace():
            assert normalise(f"x{c}y", "plain") == "x y"
        elif category == "Cc":
            assert normalise(f"x{c}y", "plain") == "xy"
        elif category == "Cs" or c in reserved:
            assert normalise(f"x{c}y", "plain") == "x\ufffdy"
        else:
            assert normalise(f"x {c} y", "plain") == f"x {unicodedata.normalize('NFC', c)} y"
