"""Transcripts of speech: fillers and words said again, turns without marks, nameless speakers."""

import time

import pytest

from dialogist.forms.extraction import extract
from dialogist.highlights.writer import Highlights
from dialogist.language.reading import Reading, clause_spans
from dialogist.language.speech import blanked, disfluencies, spoken_roles
from dialogist.records import Dialogue, SummaryOptions, Utterance

CALL = (
    ("um thank you for calling uh brightwave this is dana how can i help you", 1),
    ("yeah hi um so i i got my bill and it's uh it's forty dollars more than than it should be", 2),
    ("okay let me let me take a look can i get your account number", 1),
    ("sure it's uh four four one nine", 2),
    ("i see a late fee from from march um i can i can waive that for you", 1),
    ("oh great thank you", 2),
    ("so your new total's uh sixty two fifty and um you'll get an email by by thursday", 1),
)


def dialogue(label: str = "Speaker") -> Dialogue:
    return Dialogue(tuple(Utterance(f"{label} {number}", text) for text, number in CALL))


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("So, um, I, I got my bill.", "So, I got my bill."),
        ("It was, uh, 260 last year.", "It was 260 last year."),
        ("let me let me see the the red one", "let me see the red one"),
        ("Um. I th- think so", "I think so"),
        ("i need to i need to move it", "i need to move it"),
        ("hi is that the is that the boiler people", "hi is that the boiler people"),
        # Nothing of these is by mistake.
        ("I had had that that year, no no.", "I had had that that year, no no."),
        ("I've seen it, it hit the bell.", "I've seen it, it hit the bell."),
        ("Uh-huh. Uh oh, the ER.", "Uh-huh. Uh oh, the ER."),
    ],
)
def test_what_is_left_out(said: str, meant: str) -> None:
    assert blanked(said, disfluencies(said)).split() == meant.split()


def test_other_languages_have_no_english_fillers() -> None:
    text = "Um carro e um barco custam caro, er kommt um zehn Uhr nach Hause zu uns."
    assert Reading(Dialogue((Utterance("A", text),))).texts == [text]


def test_quotes_mark_what_they_leave_out_and_say_who_serves() -> None:
    drafts = Highlights().write(dialogue(), None, SummaryOptions()).drafts
    text = "\n".join(draft.text for draft in drafts)
    assert "Speaker 1 (agent): " in text
    assert " … " in text
    assert " uh " not in text
    for draft in drafts:
        for span in draft.quotes:
            said = CALL[span.utterance][0][span.start : span.end]
            assert said.split()[0] in draft.text


def test_the_issue_is_the_customers() -> None:
    issue = next(one for one in extract(dialogue()) if "issue" in one.sections)
    assert {span.utterance for span in issue.evidence} == {1}


def test_people_with_names_have_no_role() -> None:
    reading = Reading(dialogue("Ann"))
    assert reading.shown("Ann 1") == "Ann 1"


def test_a_few_words_tell_no_role() -> None:
    """The likelier one by far would be wrong here."""
    said = {"A": "Hi there", "B": "My router broke, can you send one?"}
    assert spoken_roles(said) == {}


def test_turns_without_marks_are_cut() -> None:
    text = "so your new total is sixty and you'll get an email by thursday can i help with more"
    assert [text[start:end] for start, end in clause_spans(text)] == [
        "so your new total is sixty",
        "and you'll get an email by thursday",
        "can i help with more",
    ]


@pytest.mark.parametrize(
    "turn", ["um to um to the the ", "i a" + "b" * 9, ", um" + " " * 20, "...er "]
)
def test_a_megabyte_of_it_is_read_in_time(turn: str) -> None:
    text = turn * (1_000_000 // len(turn))
    begun = time.process_time()
    assert len(blanked(text, disfluencies(text))) == len(text)
    assert time.process_time() - begun < 5
