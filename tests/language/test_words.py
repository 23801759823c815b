"""Counting words, tokens with their places, and the sentences of texts in small letters."""

import pytest

from dialogist.language import tokens
from dialogist.language.roles import role_in_data, role_of
from dialogist.language.tokens import counted, tokens_of, words_in


def test_words():
    assert words_in("Don't go, 你好 Zoë!") == ["Don't", "go", "你", "好", "Zoë"]
    assert tokens.count_words("Don't go, 你好!") == 6
    assert [counted(1, "summaries"), counted(1200, "tickets")] == ["1 summary", "1,200 tickets"]


def test_tokens():
    text = "#Person 1# said: Ann’s here…"
    tokens = list(tokens_of(text))
    assert [token.base for token in tokens] == ["#person1#", "said", ":", "ann", "here", "…"]
    assert [token.ending for token in tokens if token.ending] == ["'s"]
    assert [text[t.start : t.end] for t in tokens if t.capital] == ["Ann’s"]


@pytest.mark.parametrize(
    "sentences",
    [
        ["i am late.", "bo is here!", "ok"],
        ["see dr. smith.", "the appt. reminder came."],
        ["Ann came.", "Bo left."],
    ],
)
def test_sentences_of_small_letters(sentences):
    text = " ".join(sentences)
    assert [text[start:end] for start, end in tokens.sentence_spans(text)] == sentences


@pytest.mark.parametrize(
    ("speaker", "role"),
    [("客服", "agent"), ("Doctor_2", "doctor"), ("agent_1", ""), ("Ann", ""), (" USER ", "user")],
)
def test_roles(speaker, role):
    assert role_of(speaker) == role


def test_roles_of_data():
    assert (role_in_data("end-user"), role_in_data("Boss")) == ("customer", "Boss")


def test_places_in_a_text_with_replacements():
    done = tokens.replaced("ab 123 cd", [(3, 6, "[PHONE_1]")])
    assert done.text == "ab [PHONE_1] cd"
    assert [done.place(i) for i in range(10)] == [0, 1, 2, 3, 12, 12, 12, 13, 14, 15]
    assert done.around(4, 5) == (3, 12)
    assert done.around(0, 2) == (0, 2)


def test_folding_drops_accents_and_strokes():
    assert tokens.folded("Łódź Ørsted Café") == "lodz orsted cafe"
