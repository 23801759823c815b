"""The learned tagger finds names that no list has, and leaves places, things and words alone."""

from random import Random

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from dialogist.privacy.name_tagger import name_candidates, tagged_names
from dialogist.records import Dialogue, Utterance
from dialogist_lab.tagger_training import (
    PLANTED,
    Examples,
    names_of,
    planted_dialogue,
    planted_sentence,
)

PLANTS = yaml.safe_load(PLANTED.read_text("utf-8"))
NAMES = names_of(PLANTS)


@pytest.mark.parametrize(
    "said",
    [
        "Thanks, [Zorvana].",
        "gracias [quillam]",
        "Danke, Herr [Brammwald].",
        "This is [Velkora Tamsin] from the garage.",
        "my name is [ombrik delsatu] and i need help",
        "Did [Wexley-Thorun] call you back?",
        "[Drusk]'s car is outside.",
        "We fly from Oakland to Delhi on Monday.",
        "My Toyota is older than the Samsung.",
        "Mark my words, it may rain in May.",
        "Well, this is actually it.",
        "hmm ok, the router is down again",
        "你好，order 订单",
    ],
)
def test_names_in_sentences(said):
    text = said.replace("[", "").replace("]", "")
    done, shift = text, 0
    for start, end in tagged_names(text):
        done = f"{done[: start + shift]}[{text[start:end]}]{done[end + shift :]}"
        shift += 2
    assert done == said


@given(st.text(max_size=60), st.text(max_size=20))
def test_any_text_has_spans_in_order(text, question):
    ends = [place for span in tagged_names(text, question) for place in span]
    assert ends == sorted(set(ends))
    assert not ends or (ends[0] >= 0 and ends[-1] <= len(text))


def test_people_are_planted_where_people_were():
    dialogue = Dialogue(
        (Utterance("Mary Smith", "Hello, Mr. Jones here?"), Utterance("Bo", "Thanks, Mary."))
    )
    for seed in range(20):
        for text, spans in planted_dialogue(dialogue, NAMES, ["zymurgy"], Random(seed)):
            assert len(spans) == 1
            [(start, end)] = spans
            assert "mary" not in text.lower()
            assert text[start:end].lower().strip() == text[start:end].lower()
    pools = {"P": ["Paris"], "T": ["Tesla"]}
    question, text, spans = planted_sentence("Who? | {G} {S} of {P}", pools, NAMES, Random(1))
    assert (question, text[spans[1][1] :].lower(), len(spans)) == ("Who?", " of paris", 2)


def test_fitting_tells_names_from_places():
    examples, dice = Examples(), Random(3)
    for _ in range(100):
        for form in ("thanks {g}", "a train to {P}"):
            pools = {"P": ["Xanbury", "Quorn", "Ashvale"]}
            question, text, spans = planted_sentence(form, pools, NAMES, dice)
            examples.add(name_candidates(text, question), spans)
    weights = examples.fitted(1)
    sums = [weights[places].sum() for places in examples.features]
    assert [s > 0 for s in sums] == examples.are_marked
