"""A reading of a dialogue: its clauses, what they name and do, and who answers whom."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialogist.language.reading import Reading, clause_spans, values_in_clause
from dialogist.records import Dialogue, Utterance


def reading_of(*turns: str) -> Reading:
    """The reading of ``Ann: text`` lines."""
    pairs = (turn.split(": ", 1) for turn in turns)
    return Reading(Dialogue(tuple(Utterance(speaker, text) for speaker, text in pairs)))


@pytest.mark.parametrize(
    ("text", "clauses"),
    [
        ("We meet at noon. Bring the keys!", ["We meet at noon.", "Bring the keys!"]),
        (
            "The valve is gone, but I'll fit it Saturday.",
            ["The valve is gone", "but I'll fit it Saturday."],
        ),
        ("If it rains, we stay at home.", ["If it rains, we stay at home."]),
        ("She told me that we could come.", ["She told me that we could come."]),
        ("Flour, salt and the eggs.", ["Flour, salt and the eggs."]),
        ("The bus was late, I think so.", ["The bus was late, I think so."]),
        (
            "the boiler is off since monday and he said he comes on wednesday but then he rang"
            " me about the part from the depot that nobody has here and it comes on friday",
            [
                "the boiler is off since monday and he said he comes on wednesday but then he"
                " rang me about the part from the depot that nobody has here",
                "and it comes on friday",
            ],
        ),
        (".5 mg of it. -5 degrees. - 20 euros.", [".5 mg of it.", "-5 degrees.", "20 euros."]),
        ("  ...  ", []),
        ("", []),
    ],
)
def test_clauses(text: str, clauses: list[str]) -> None:
    assert [text[start:end] for start, end in clause_spans(text)] == clauses


@given(st.text(max_size=300))
def test_clauses_fit_the_text_and_do_not_overlap(text: str) -> None:
    place = 0
    for start, end in clause_spans(text):
        assert place <= start < end <= len(text)
        place = end


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("At five o'clock on Friday", {("clock", "300"), ("day", "friday")}),
        ("It's 5 pm", {("clock", "300")}),
        ("It costs £1,450", {("money", "1450")}),
        ("That's nineteen euros", {("money", "19")}),
        ("A table for four people", {("count person", "4")}),
        ("A train from Leeds to York", {("from", "leeds"), ("to", "york")}),
        ("Nobody knows", set()),
    ],
)
def test_values(text: str, values: set[tuple[str, str]]) -> None:
    found = list(values_in_clause(text, 10))
    assert values <= {(value.kind, value.value) for value in found}
    assert bool(values) == bool(found)
    assert all(10 <= value.start < value.end <= 10 + len(text) for value in found)


def test_who_answers_whom() -> None:
    reading = reading_of(
        "Ann: Is noon fine?", "Bo: Yes. See you there.", "Bo: Bring Cy.", "Ann: ok"
    )
    assert list(reading.replies(0)) == [1, 2]
    assert list(reading.replies(1)) == []


def test_a_question_without_its_mark() -> None:
    reading = reading_of("a: are u coming", "b: is what it is.", "a: what", "b: u coming?")
    assert [reading.is_question(i) for i in range(4)] == [True, False, False, True]


@pytest.mark.parametrize(
    ("text", "cue"),
    [
        ("I can't do that.", "refuse"),
        ("Well, no.", "no"),
        ("Oh, ok then", "agree"),
        ("How about Friday?", "offer"),
        ("We’ll bring it", "commit"),
        ("It works for me", "takes"),
    ],
)
def test_cues(text: str, cue: str) -> None:
    reading = reading_of(f"Ann: {text}", "Bo: The valve of tank B.")
    assert reading.has(0, cue)
    assert not reading.has(1, cue)


def test_lines_end_clauses_and_controls_are_not_shown() -> None:
    reading = reading_of("Ann: Hello & hi,\nI want\x1b my money.")
    assert [unit.text for unit in reading.units] == ["Hello & hi,", "I want  my money."]


def test_notices_and_empty_utterances_have_no_units() -> None:
    utterances = (
        Utterance("", "Ann joined", role="system"),
        Utterance("Ann", " "),
        Utterance("Bo", "Hi."),
    )
    reading = Reading(Dialogue(utterances))
    assert [(unit.turn, unit.text) for unit in reading.units] == [(2, "Hi.")]


def test_a_word_of_a_megabyte_is_read_at_once():
    """The time of its clauses does not grow with the square of its length."""
    began = time.process_time()
    assert list(clause_spans("x" * 1_000_000)) == [(0, 1_000_000)]
    assert time.process_time() - began < 2
