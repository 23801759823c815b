"""What is chosen of a dialogue, and how it is quoted."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dialogist.highlights.candidates import candidates_of, statement_words
from dialogist.highlights.network import Worth, bundled_network
from dialogist.highlights.section_network import section_network
from dialogist.highlights.selection import Weighed, highlights_of, select, weigh
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


def _all_of(reading: Reading) -> list[str]:
    """The statements where everything is worth telling."""
    candidates = candidates_of(reading)
    ones = np.ones(len(candidates))
    weighed = Weighed(candidates, ones, {}, {}, ones.astype(np.float32))
    return [one.text for one in highlights_of(reading, weighed, 1000)]


@pytest.mark.parametrize(
    ("turns", "statements"),
    [
        (["Ann: The bill tripled this year. Somebody leaves the tap on at night."],
         ["Ann: “The bill tripled this year. Somebody leaves the tap on at night.”"]),
        (["Ann: The bill tripled.", "Bo: Hm.", "Ann: Somebody leaves the tap on."],
         ["Ann: “The bill tripled.” “Somebody leaves the tap on.”"]),
        (["Ann: The bill tripled.", "Bo: The valve leaks, look.", "Ann: Somebody opens it."],
         ["Ann: “The bill tripled.”", "Bo: “The valve leaks, look.”", "Ann: “Somebody opens it.”"]),
        (["Ann: One pays me. Two pays you. Three pays her. Four pays us. Five pays him."],
         ["Ann: “One pays me. Two pays you. Three pays her. Four pays us.”",
          "Ann: “Five pays him.”"]),
    ],
)  # fmt: skip
def test_neighbours_of_one_speaker_share_a_label(turns: list[str], statements: list[str]) -> None:
    assert _all_of(_reading(*turns)) == statements


def _weighed(reading: Reading, changes: list[tuple[int, int]], changed: list[float]) -> Weighed:
    candidates = candidates_of(reading)
    ones, none = np.ones(len(candidates), np.float32), np.zeros(len(candidates), np.float32)
    places = np.zeros((0, 2), np.int64)
    worth = Worth(
        ones, ones, none, places, np.zeros(0, np.float32),
        np.array(changes).reshape(-1, 2), np.array(changed, np.float32),
    )  # fmt: skip
    return weigh(reading, candidates, worth)


def test_a_value_is_told_with_what_replaces_it_or_not_at_all() -> None:
    reading = _reading(
        "Bo: The engine costs 1,450 with tax.",
        "Ann: My brother sells boats in Hull.",
        "Bo: The owner says 1,380 is enough.",
    )
    weighed = _weighed(reading, [(0, 2)], [1.0])
    texts = {n: [one.text for one in highlights_of(reading, weighed, n)] for n in (8, 16, 30)}
    for told in texts.values():
        assert "1,380" in " ".join(told) or "1,450" not in " ".join(told)
    assert "1,450" not in " ".join(texts[8])
    assert "1,450" in " ".join(texts[30])


def test_a_value_that_is_replaced_far_on_is_not_told() -> None:
    talk = [f"Ann: Boat number {n} lies in the harbour of Hull." for n in range(8)]
    reading = _reading(
        "Bo: The engine costs 1,450 with tax.", *talk, "Bo: It is 1,380 now, really."
    )
    last = len(reading.units) - 1
    texts = [one.text for one in highlights_of(reading, _weighed(reading, [(0, last)], [1.0]), 500)]
    assert not any("1,450" in text for text in texts)
    texts = [one.text for one in highlights_of(reading, _weighed(reading, [], []), 500)]
    assert any("1,450" in text for text in texts)


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
    assert "July bill" in written(SERVICE, words=30, length="short")[0]


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
    "I can",
    "we pay",
    "5",
    "£40",
    "on Friday",
    "no",
    "ok",
    "?",
    ".",
    ",",
    "but it",
    "Ann's",
    "\x1b",
)
_WORDS = st.lists(st.sampled_from(_SAID), max_size=20).map(" ".join)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(("Ann", "Bo", "Cy", "")), _WORDS), max_size=12))
def test_whatever_is_said_spans_fit(turns: list[tuple[str, str]]) -> None:
    dialogue = Dialogue(tuple(Utterance(speaker, text) for speaker, text in turns))
    reading = Reading(dialogue)
    filed = section_network().read(reading)
    if not filed.candidates:
        return
    worth = bundled_network().worth(reading, filed.candidates)
    for one in select(reading, worth, filed, 30):
        assert one.words == statement_words(one.text) <= 30
        assert "\x1b" not in one.text
        for span in one.quotes:
            assert dialogue.utterances[span.utterance].text[span.start : span.end].strip()
