"""What a summary can quote."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from dialogist.highlights.candidates import candidates_of, quoted
from dialogist.language.reading import Reading
from dialogist.records import Dialogue, Utterance

_TABLE = yaml.safe_load((Path(__file__).parent / "candidates.yaml").read_text(encoding="utf-8"))


def reading_of_turns(turns: str) -> Reading:
    """The reading of ``Ann: Hi. | Bo: Hello.``"""
    pairs = (turn.split(": ", 1) for turn in turns.split(" | "))
    return Reading(Dialogue(tuple(Utterance(speaker, text) for speaker, text in pairs)))


@pytest.mark.parametrize("line", [line for lines in _TABLE.values() for line in lines])
def test_the_candidate_of_the_last_turn(line: str) -> None:
    turns, _, wanted = line.partition(" => ")
    reading = reading_of_turns(turns)
    last = len(reading.units) - 1
    texts = [quoted(reading, one)[0] for one in candidates_of(reading) if last in one]
    assert texts == ([] if wanted == "-" else [wanted]), reading.units[last]


_TEXT = st.text("Ann sees 5 cats? No. I'd go, but £3 ok!\n—", max_size=60)
_DIALOGUES = st.lists(st.tuples(st.sampled_from(("Ann", "Bo", "")), _TEXT), max_size=8).map(
    lambda turns: Dialogue(tuple(Utterance(speaker, text) for speaker, text in turns))
)


@given(_DIALOGUES)
def test_candidates_share_no_unit_and_quote_exact_words(dialogue: Dialogue) -> None:
    reading = Reading(dialogue)
    candidates = candidates_of(reading)
    units = [unit for one in candidates for unit in one]
    assert len(units) == len(set(units))
    for one in candidates:
        assert list(one) == sorted(one)
        text, spans = quoted(reading, one)
        for span in spans:
            words = dialogue.utterances[span.utterance].text[span.start : span.end]
            assert words.strip()
            assert f"“{' '.join(words.split())}”" in text
