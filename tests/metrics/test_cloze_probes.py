"""Cloze probes by hand, and that planted errors lower them."""

import pickle
import random
from math import isnan

import numpy as np
import pytest

from dialogist.data.error_injection import Ground, Planter, plant_number, plant_swap
from dialogist.evaluation.scoring import Scores
from dialogist.metrics.base import Case
from dialogist.metrics.cloze_probes import ClozeProbes, answer, mentions
from dialogist.metrics.metric_registry import make_metrics
from dialogist.metrics.speaker_mentions import Speakers
from dialogist.records import Dialogue

from .dialogue_samples import dialogue

CHAT = dialogue(
    "#Person1#: Could you lend me 50 dollars until Friday?",
    "#Person2#: I can, but I have only 40. Let us meet at the bank at 5 pm.",
)
REFERENCE = (
    "#Person1# asks #Person2# to lend 50 dollars until Friday. #Person2# has only 40 dollars. "
    "They will meet at the bank at 5."
)
QUESTIONS = 7  # Person1, Person2, 50, Friday; Person2, 40; 5


def scores(*texts: str, reference: str = REFERENCE, of: Dialogue | None = CHAT) -> Scores:
    metric = pickle.loads(pickle.dumps(ClozeProbes()))
    rows = [metric.measure(Case(text, (reference,), of)) for text in texts]
    return Scores("x", tuple(map(str, range(len(texts)))), metric.columns, np.array(rows), {})


def right(text: str) -> float:
    return scores(text).figure("probes.right") * QUESTIONS / 100


def test_the_questions_of_a_reference() -> None:
    found = list(mentions(REFERENCE, Speakers(CHAT)))
    assert [one.kind for one in found] == [
        *("speaker", "speaker", "number", "day"),
        *("speaker", "number", "number"),
    ]
    assert found[0].around == {"ask": 1, "to": 3, "lend": 4, "dollar": 6, "until": 7}
    assert found[-1].around == {"they": -7, "will": -6, "meet": -5, "at": -1, "the": -3, "bank": -2}


def test_the_reference_answers_all() -> None:
    of = scores(REFERENCE)
    assert of.figure("probes.right") == of.figure("probes.answered") == 100
    assert of.figure("probes.wrong") == 0


def test_figures_by_hand() -> None:
    # Without marks: who asks, who is asked and how much; and who has 40, by "person2 ... dollars".
    assert right("person1 asks person2 to lend 50 dollars") == 4
    # The amount is wrong, and Friday is not there.
    other = scores("#Person1# asks #Person2# to lend 60 dollars.")
    assert other.figure("probes.right") == pytest.approx(100 * 3 / QUESTIONS)
    # Both amounts are answered by it; who has only 40 is answered by "Person2 ... dollars".
    assert other.figure("probes.wrong") == pytest.approx(100 * 2 / 5)
    assert right("Nothing is said.") == 0
    assert isnan(scores("Nothing is said.").figure("probes.wrong"))


def test_a_time_is_the_same_in_other_words() -> None:
    question = next(mentions("They will meet at the bank at 5.", Speakers(CHAT)))
    for text in ("They meet at the bank at 5 pm.", "they meet at the bank at 17:00"):
        told = list(mentions(text, Speakers(CHAT)))
        found = answer(question, told)
        assert found is not None
        assert question.answers(found), text


@pytest.mark.parametrize("plant", [plant_swap, plant_number])
def test_a_planted_error_lowers_the_score(plant: Planter) -> None:
    """Swapped speakers and changed numbers, in ten draws each."""
    for seed in range(10):
        planted = plant(Ground(REFERENCE, CHAT), random.Random(seed))
        assert planted is not None
        assert right(planted.text) < QUESTIONS, planted.text


def test_nothing_to_ask() -> None:
    assert isnan(scores("A text.", reference="They talk.").figure("probes.right"))
    assert isnan(scores("A text.", of=None).figure("probes.right"))


def test_it_can_be_asked_for_by_name() -> None:
    assert [metric.name for metric in make_metrics(["probes"])] == ["probes"]
