"""What is chosen of a dialogue, and how it is quoted."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dialogist.highlights.candidates import candidates_of, quoted, statement_words
from dialogist.highlights.section_network import OUTPUTS, SectionChances, section_network
from dialogist.highlights.selection import select
from dialogist.highlights.writer import Highlights
from dialogist.language.reading import Reading
from dialogist.records import Dialogue, SummaryOptions, Utterance

_SERVICE = """
Agent: Good morning, Brightwave Broadband, this is Ola.
Customer: My bill was 54 pounds this month and it's always been 38.
Agent: Your introductory discount ended in June.
Customer: I want the sixteen pounds back.
Agent: I'm afraid I can't refund this bill. I could put you on a yearly plan at 41 from July.
Customer: No, 38 or I'm off to somebody else.
Agent: I can't match 38. 39.50 is the lowest I can go.
Customer: All right, 39.50 then. Starting when?
Agent: From the July bill. I'll email the contract within the hour.
"""
SERVICE = Dialogue.from_text(_SERVICE.strip())


def written(dialogue: Dialogue, **options: object) -> list[str]:
    """The statements of a summary."""
    chosen = SummaryOptions().changed(**options)
    return [draft.text for draft in Highlights().write(dialogue, None, chosen).drafts]


def _reading(*turns: str) -> Reading:
    pairs = (turn.split(": ", 1) for turn in turns)
    return Reading(Dialogue(tuple(Utterance(speaker, text) for speaker, text in pairs)))


def _filed(reading: Reading, told: float = 1.0, **stale: float) -> SectionChances:
    """As if all were told; ``stale``: candidates by a word of theirs."""
    candidates = candidates_of(reading)
    chances = np.zeros((len(candidates), len(OUTPUTS)), np.float32)
    chances[:, OUTPUTS.index("told")] = told
    for n, candidate in enumerate(candidates):
        for word, chance in stale.items():
            chances[n, OUTPUTS.index("stale")] = chance * (word in quoted(reading, candidate)[0])
    return SectionChances(candidates, chances)


def _texts(reading: Reading, budget: int = 1000, **stale: float) -> list[str]:
    return [one.text for one in select(reading, _filed(reading, **stale), budget)]


@pytest.mark.parametrize(
    ("turns", "statements"),
    [
        (["Ann: The bill tripled this year. Somebody leaves the tap on at night."],
         ["Ann: “The bill tripled this year. Somebody leaves the tap on at night.”"]),
        (["Ann: The bill tripled.", "Bo: Hm.", "Ann: Somebody leaves the tap on."],
         ["Ann: “The bill tripled.” “Somebody leaves the tap on.”"]),
        (["Ann: The bill tripled.", "Bo: The valve leaks, look.", "Ann: Somebody opens it."],
         ["Ann: “The bill tripled.”", "Bo: “The valve leaks, look.”", "Ann: “Somebody opens it.”"]),
        (["Ann: I could do 9:40 at the Hull branch.", "Bo: Fine, 9:40."],
         ["Ann: “I could do 9:40 at the Hull branch.” – Bo: “Fine, 9:40.”"]),
        (["Ann: Which tooth hurts?", "Bo: The lower left one.", "Ann: The enamel is worn there."],
         ["Ann: “Which tooth hurts?” – Bo: “The lower left one.”",
          "Ann: “The enamel is worn there.”"]),
    ],
)  # fmt: skip
def test_what_a_statement_holds(turns: list[str], statements: list[str]) -> None:
    assert _texts(_reading(*turns)) == statements


def test_a_clause_that_turns_the_one_before_it_is_not_cut_off() -> None:
    long = "My uncle in Bergen wants the whole machine back from us before the summer begins."
    reading = _reading(f"Ann: {long} Ten thousand kroner. Six. Not ten.", "Bo: Who signs it?")
    for budget in range(22, 60):
        said = " ".join(_texts(reading, budget))
        assert "Not ten" in said or "Ten thousand" not in said


def test_what_is_changed_later_counts_less() -> None:
    reading = _reading(
        "Bo: The engine costs 1,450 with tax.",
        "Ann: My brother sells boats in Hull.",
        "Bo: The owner says 1,380 is enough.",
    )
    assert any("1,450" in text for text in _texts(reading))
    assert not any("1,450" in text for text in _texts(reading, **{"1,450": 1.0}))


def test_a_long_turn_is_cut_where_it_stands_alone() -> None:
    parts = [f"Boat number {n} lies in the harbour of Hull since last winter." for n in range(9)]
    texts = _texts(_reading("Ann: " + " ".join(parts)), 40)
    assert texts
    assert all(statement_words(text) <= 40 for text in texts)


def test_a_turn_longer_than_the_summary_is_cut_anyhow() -> None:
    said = " and ".join(f"then he rang on day {n} and it was the pump" for n in range(40))
    texts = _texts(_reading(f"Ann: so i was at the depot {said}", "Bo: ok"), 80)
    assert any("the pump" in text for text in texts)
    assert sum(map(statement_words, texts)) <= 80


def test_the_last_value_is_told() -> None:
    text = " ".join(written(SERVICE))
    assert "39.50" in text
    assert text.count("38") <= 2


@pytest.mark.parametrize("length", ["short", "medium", "long"])
def test_lengths(length: str) -> None:
    words = sum(statement_words(text) for text in written(SERVICE, length=length))
    said = sum(len(u.text.split()) for u in SERVICE.utterances)
    most = {"short": 0.15, "medium": 0.35, "long": 0.65}[length]
    assert 0 < words <= most * said


def test_a_short_summary_begins_with_the_outcome() -> None:
    assert "39.50 then" in written(SERVICE, words=30, length="short")[0]


@pytest.mark.parametrize("most", [1, 8, 20, 40])
def test_a_limit_of_words(most: int) -> None:
    assert sum(statement_words(text) for text in written(SERVICE, words=most)) <= most


def test_a_focus_keeps_what_a_speaker_says() -> None:
    texts = written(SERVICE, focus="Customer")
    assert texts
    assert all("Customer:" in text for text in texts)


def test_nothing_is_told_of_nothing() -> None:
    assert written(Dialogue((Utterance("Ann", "Hi."), Utterance("Bo", "...")))) == []
    assert written(Dialogue(())) == []


def test_drafts_quote_exact_words() -> None:
    for draft in Highlights().write(SERVICE, None, SummaryOptions()).drafts:
        assert draft.importance is not None
        assert draft.quotes
        for span in draft.quotes:
            assert SERVICE.utterances[span.utterance].text[span.start : span.end] in draft.text


_SAID = (
    "I can", "we pay", "5", "£40", "on Friday", "no", "ok", "?", ".", ",", "but it",
    "Ann's", "\x1b",
)  # fmt: skip
_WORDS = st.lists(st.sampled_from(_SAID), max_size=20).map(" ".join)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(("Ann", "Bo", "Cy", "")), _WORDS), max_size=12))
def test_whatever_is_said_spans_fit(turns: list[tuple[str, str]]) -> None:
    dialogue = Dialogue(tuple(Utterance(speaker, text) for speaker, text in turns))
    reading = Reading(dialogue)
    filed = section_network().read(reading)
    if not filed.candidates:
        return
    for one in select(reading, filed, 30):
        assert one.words == statement_words(one.text) <= 30
        assert "\x1b" not in one.text
        for span in one.quotes:
            assert dialogue.utterances[span.utterance].text[span.start : span.end].strip()
