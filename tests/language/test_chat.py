import pytest

from dialogist.language.chat_spelling import without_abbreviations


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("heyyy r u coming tmrw", "hey are you coming tomorrow?"),
        ("idk yet lol my car is broken \U0001f62d", "I don't know yet. my car is broken."),
        ("ill pick u up at 5 k", "I'll pick you up at 5, ok."),
        ("can we do 530 i gotta work till 5", "can we do 530 I have to work till 5?"),
        ("its due at midnight", "it's due at midnight."),
        ("2 much imo", "too much in my opinion."),
        ("cant come 2 practice 2moro", "can't come to practice tomorrow."),
        ("ur the best, send me ur notes plz", "you're the best, send me your notes please."),
        ("that's coool :) see u", "that's cool. see you."),
        ("first line\nsecond one!!!", "first line. second one!"),
        ("\U0001f44d", "OK."),
    ],
)
def test_chat_spelling_is_written_out(said, written):
    assert without_abbreviations(said) == written


@pytest.mark.parametrize(
    "text",
    [
        "Hello. How are you?",
        "It's 5 k long.",
        "I like R & B music.",
        "She is ill. Its tail is long.",
        "See http://example.com/u/r",
        "Please call [PHONE_1], <NAME> or {name}.",
        "\U0001f602\U0001f602",
        "我明天来",
        "",
    ],
)
def test_what_is_written_out_already_stays(text):
    assert without_abbreviations(text) == text


def test_writing_out_twice_changes_nothing_more():
    once = without_abbreviations("r u ok? sooooo tired haha gonna sleep")
    assert without_abbreviations(once) == once
