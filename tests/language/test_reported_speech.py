"""Reported speech: pairs checked by hand, and what holds of any text."""

import re
import time
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from dialogist.language.reported_speech import Conversation, Reported, written_name

_GROUPS = yaml.safe_load(
    (Path(__file__).parent / "reported_speech.yaml").read_text(encoding="utf-8")
)


def _pairs() -> list[tuple[tuple[tuple[str, str], ...], str]]:
    found = []
    for group in _GROUPS:
        for line in group.get("pairs", "").splitlines():
            said, _, expected = line.partition(" => ")
            first, second = group["speakers"]
            found.append((((first, said), (second, "Hm.")), expected))
    return found


def _dialogues() -> list[tuple[tuple[tuple[str, str], ...], str]]:
    found = []
    for group in _GROUPS:
        for line in group.get("dialogues", "").splitlines():
            said, _, expected = line.partition(" => ")
            turns = tuple(tuple(turn.split(": ", 1)) for turn in said.split(" | "))
            found.append((turns, expected))
    return found


def _told(turns: tuple[tuple[str, str], ...], turn: int) -> str:
    told = [one.text if one.kind == "reported" else "q" for one in Conversation(turns).report(turn)]
    return " / ".join(told) or "-"


@pytest.mark.parametrize(("turns", "expected"), _pairs())
def test_what_one_says_to_the_other(turns, expected):
    assert _told(turns, 0) == expected


@pytest.mark.parametrize(("turns", "expected"), _dialogues())
def test_what_is_said_in_a_dialogue(turns, expected):
    assert _told(turns, len(turns) - 1) == expected


def test_at_least_three_hundred_pairs_are_checked():
    assert len(_pairs()) + len(_dialogues()) >= 300


_PERSON = re.compile(
    r"(?i)(?<![\w'’])(?:i|me|my|mine|myself|you|your|yours|yourself|yourselves|we|our|ours|ourselves"
    r"|i'm|i've|i'll|you're)(?![\w'’])"
)
_SUBJECTS = st.sampled_from(["I", "you", "we", "my brother", "your driver", "the bus", "Ben"])
_VERBS = st.sampled_from(
    ["will bring", "cannot find", "might sell", "did not get", "would like", "has never seen"]
)
_OBJECTS = st.sampled_from(
    ["my 2 bags", "your order 77812", "me a taxi at 9:30", "it for $49.90", "[PHONE_1]", "us"]
)
_ENDINGS = st.sampled_from(
    ["", " if you pay", " unless I call you", " tomorrow", " because we are late", " in Oslo"]
)
_SENTENCES = st.builds(
    lambda *parts: f"{' '.join(parts[:3])}{parts[3]}.", _SUBJECTS, _VERBS, _OBJECTS, _ENDINGS
)
_KEPT = re.compile(
    r"\d[\d.:]*\d|\d|Oslo|\[PHONE_1\]|\b(?:not|never|cannot|if|unless|because|might|would)\b"
)


def _reported(said: str, speaker: str = "Ann", listener: str = "Bo") -> list[Reported]:
    conversation = Conversation([(speaker, said), (listener, "Hm.")])
    return [one for one in conversation.report(0) if one.kind == "reported"]


@given(st.one_of(_SENTENCES, st.text(max_size=80)))
def test_no_first_or_second_person_is_left(said):
    for one in _reported(said):
        assert not _PERSON.search(one.text)


@given(_SENTENCES)
def test_numbers_denials_and_conditions_are_kept(said):
    for one in _reported(said):
        assert sorted(_KEPT.findall(one.text)) == sorted(_KEPT.findall(said))


@given(_SENTENCES)
def test_exchanging_the_speakers_exchanges_their_names(said):
    exchanged = {"Ann": "Bo", "Bo": "Ann"}
    there = [one.text for one in _reported(said)]
    back = [one.text for one in _reported(said, "Bo", "Ann")]

    assert [re.sub("Ann|Bo", lambda name: exchanged[name[0]], text) for text in there] == back


@given(
    st.lists(
        st.tuples(st.sampled_from(["Ann", "Bo", "", "Cy 🌸", "I"]), st.text(max_size=60)),
        min_size=1,
        max_size=5,
    )
)
def test_any_text_is_told_and_spans_are_those_of_its_sentences(turns):
    conversation = Conversation(turns)
    for i, (_, text) in enumerate(turns):
        told = conversation.report(i)
        assert told == conversation.report(i)
        assert all(0 <= one.start < one.end <= len(text) for one in told)
        assert [one.start for one in told] == sorted({one.start for one in told})


def test_the_words_of_a_quotation_are_whole():
    [one] = Conversation([("Agent", "Not before Monday!"), ("Customer", "Oh.")]).report(0)

    assert one == Reported("Agent: “Not before Monday!”", 0, 18, "quoted", refers_back=True)


def test_a_word_before_the_subject_is_no_account():
    [one] = Conversation([("Ann", "Online I'd try."), ("Bo", "Oh.")]).report(0)

    assert "Online" in one.text or "online" in one.text


def test_a_report_that_says_it_refers_to_something_said_before():
    first, second = Conversation([("Ann", "It's broken. I'm tired."), ("Bo", "Oh.")]).report(0)

    assert first.refers_back
    assert not second.refers_back


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ("That's not true, I was here.", "Agent: the door was locked."),
        ("No, it wasn't.", "Agent: the door was locked."),
        ("Then I'll come again.", "The door was locked."),
    ],
)
def test_a_fact_that_others_deny_keeps_the_label_of_who_says_it(reply, told):
    [one] = Conversation([("Agent", "The door was locked."), ("Customer", reply)]).report(0)

    assert one.text == told


@pytest.mark.parametrize(
    ("said", "back"),
    [
        ("It is broken.", True),
        ("The lamp fell when it broke.", False),
        ("It is eleven at night.", False),
        ("I don't want trouble before that.", True),
        ("There is no money in the box.", False),
        ("He's never at home.", True),
        ("I've given that up since Easter.", True),
        ("I take that train to work.", False),
        ("By post.", True),
        ("By post, on the second of May.", False),
    ],
)
def test_only_pronouns_that_the_words_do_not_explain_refer_back(said, back):
    [one] = Conversation([("Ann", said), ("Bo", "Hm.")]).report(0)

    assert one.refers_back is back


@pytest.mark.parametrize(
    ("said", "quoted"),
    [
        ("Oh, okay, then we meet at six!", "we meet at six!"),
        ("But he's, he's ill.", "he's ill."),
        ("Bo, we sold it, by the way.", "we sold it"),
        ("We sold it, Bo.", "We sold it"),
        ("In spring, yes.", "In spring, yes."),
        ("Could we meet, please?", "Could we meet, please?"),
    ],
)
def test_a_quotation_leaves_out_how_people_begin_and_end_to_speak(said, quoted):
    [one] = Conversation([("Ann", said), ("Bo", "Hm.")]).report(0)

    assert one.text == f"Ann: “{quoted}”"


@pytest.mark.parametrize(
    ("label", "written"),
    [("Agent", "Agent"), ("CUSTOMER", "Customer"), ("Bo", "Bo"), ("Dr  Lang", "Dr Lang")],
)
def test_labels_that_name_a_role_are_written_as_names(label, written):
    assert written_name(label) == written


def test_an_utterance_takes_about_a_millisecond_at_most():
    said = "I think you left your bag here, but I can send it to you tomorrow if you pay."
    turns = [("Ann" if i % 2 else "Bo", said) for i in range(200)]
    conversation = Conversation(turns)
    start = time.perf_counter()
    for i in range(len(turns)):
        conversation.report(i)

    assert time.perf_counter() - start < 200 * 0.01  # ten times what it takes
