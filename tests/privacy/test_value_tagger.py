"""The learned tagger finds personal numbers that have no form, and leaves other numbers alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialogist.privacy.value_tagger import tagged_values, value_candidates
from dialogist.records import Dialogue, Utterance
from dialogist_lab.tagger_training import value_examples


@pytest.mark.parametrize(
    "said",
    [
        "Anything else? | Our file says [QX44 0917].",
        "Anything else? | MRN on the wristband reads [00418827], right?",
        "What was it again? | It is [Zupa$71_mo].",
        "How many did you order? | 250",
        "Anything else? | I'd like 12 of the 40 watt bulbs.",
        "How long does it take? | About 45 minutes, we close at 6.",
        "你的号码？ | 我住在3号楼501",
        "Sure? | https://example.org/a81bc22d?x=12 and ann7@example.org",
    ],
)
def test_numbers_in_sentences(said):
    question, _, text = said.replace("[", "").replace("]", "").partition(" | ")
    done, shift = text, 0
    for start, end in tagged_values(text, question):
        done = f"{done[: start + shift]}[{text[start:end]}]{done[end + shift :]}"
        shift += 2
    assert done == said.partition(" | ")[2]


@given(st.text(max_size=60), st.text(max_size=20))
def test_any_text_has_spans_in_order(text, question):
    ends = [place for span in tagged_values(text, question) for place in span]
    assert ends == sorted(set(ends))
    assert not ends or (ends[0] >= 0 and ends[-1] <= len(text))


def test_marked_values_are_learned():
    said = (
        Utterance("A", "Your code?"),
        Utterance("B", "It's 7731."),
        Utterance("A", "Thanks, 2x"),
    )
    marked = Dialogue(said, metadata={"values": [[1, "7731", "code", False]]})
    other = Dialogue((Utterance("A", "It costs 40, my card is 4111 1111 1111 1111."),))
    examples = value_examples([other], [marked])
    assert examples.are_marked[:2] == [True, False]
    # What a rule finds in an unmarked dialogue is somebody's, and no example of other numbers.
    assert 3 <= len(examples.are_marked) <= 4
    assert not any(examples.are_marked[2:])
    words = [word for text in ("7731", "ok") for word in value_candidates(text, "")]
    assert [(word.start, word.end) for word in words] == [(0, 4)]
