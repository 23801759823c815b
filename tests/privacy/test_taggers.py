"""The learned taggers find names and numbers that no list or rule has, and leave others alone."""

import re
from dataclasses import replace
from random import Random

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from dialogist.language.tokens import replaced
from dialogist.privacy.taggers import name_candidates, tagged_names, tagged_values, value_candidates
from dialogist.records import Dialogue
from dialogist_lab import tagger_training
from dialogist_lab.tagger_training import names_of, planted_dialogue, planted_sentence

NAMES = names_of(yaml.safe_load(tagger_training.PLANTED.read_text("utf-8")))


@pytest.mark.parametrize(
    ("tagged", "said"),
    [
        (tagged_names, "Thanks, [Zorvana]."),
        (tagged_names, "gracias [quillam]"),
        (tagged_names, "Danke, Herr [Brammwald]."),
        (tagged_names, "This is [Velkora Tamsin] from the garage."),
        (tagged_names, "my name is [ombrik delsatu] and i need help"),
        (tagged_names, "Did [Wexley-Thorun] call you back?"),
        (tagged_names, "[Drusk]'s car is outside."),
        (tagged_names, "We fly from Oakland to Delhi on Monday."),
        (tagged_names, "My Toyota is older than the Samsung."),
        (tagged_names, "Mark my words, it may rain in May."),
        (tagged_names, "Well, this is actually it."),
        (tagged_names, "hmm ok, the router is down again"),
        (tagged_names, "你好，order 订单"),
        (tagged_values, "Anything else? | Our file says [QX44 0917]."),
        (tagged_values, "Anything else? | MRN on the wristband reads [00418827], right?"),
        (tagged_values, "What was it again? | It is [Zupa$71_mo]."),
        (tagged_values, "How many did you order? | 250"),
        (tagged_values, "Anything else? | I'd like 12 of the 40 watt bulbs."),
        (tagged_values, "How long does it take? | About 45 minutes, we close at 6."),
        (tagged_values, "你的号码？ | 我住在3号楼501"),
        (tagged_values, "Sure? | https://example.org/a81bc22d?x=12 and ann7@example.org"),
    ],
)
def test_what_is_tagged_in_a_turn_behind_another(tagged, said):
    question, _, marked = said.rpartition(" | ")
    text = re.sub(r"[\[\]]", "", marked)
    spans = ((start, end, f"[{text[start:end]}]") for start, end in tagged(text, question))
    assert replaced(text, spans).text == marked


@pytest.mark.parametrize("tagged", [tagged_names, tagged_values])
@given(st.text(max_size=60), st.text(max_size=20))
def test_any_text_has_spans_in_order(tagged, text, question):
    ends = [place for span in tagged(text, question) for place in span]
    assert ends == sorted(set(ends))
    assert not ends or (ends[0] >= 0 and ends[-1] <= len(text))


def test_people_are_planted_where_people_were():
    dialogue = Dialogue.from_text("Mary Smith: Hello, Mr. Jones here?\nBo: Thanks, Mary.")
    for seed in range(20):
        for text, spans in planted_dialogue(dialogue, NAMES, ["zymurgy"], Random(seed)):
            [(start, end)] = spans
            assert "mary" not in text.lower()
            assert text[start:end].lower().strip() == text[start:end].lower()
    pools = {"P": ["Paris"], "T": ["Tesla"]}
    question, text, spans = planted_sentence("Who? | {G} {S} of {P}", pools, NAMES, Random(1))
    assert (question, text[spans[1][1] :].lower(), len(spans)) == ("Who?", " of paris", 2)


def test_fitting_tells_names_from_places():
    examples, dice = tagger_training.Examples(), Random(3)
    for _ in range(100):
        for form in ("thanks {g}", "a train to {P}"):
            pools = {"P": ["Xanbury", "Quorn", "Ashvale"]}
            question, text, spans = planted_sentence(form, pools, NAMES, dice)
            examples.add(name_candidates(text, question), spans)
    weights = examples.fitted(1)
    sums = [weights[places].sum() for places in examples.features]
    assert [s > 0 for s in sums] == examples.are_marked


def test_marked_values_are_learned():
    said = Dialogue.from_text("A: Your code?\nB: It's 7731.\nA: Thanks, 2x")
    marked = replace(said, metadata={"values": [[1, "7731", "code", False]]})
    other = Dialogue.from_text("A: It costs 40, my card is 4111 1111 1111 1111.")
    examples = tagger_training.value_examples([other], [marked])
    assert examples.are_marked[:2] == [True, False]
    # What a rule finds in an unmarked dialogue is somebody's, and no example of other numbers.
    assert 3 <= len(examples.are_marked) <= 4
    assert not any(examples.are_marked[2:])
    words = [word for text in ("7731", "ok") for word in value_candidates(text, "")]
    assert [(word.start, word.end) for word in words] == [(0, 4)]
