"""The order of events by hand, and that shuffling a summary is seen."""

import pickle
import random
from math import isnan

import numpy as np
import pytest

from dialogist.evaluation.scoring import Scores
from dialogist.metrics.base import Case
from dialogist.metrics.copying import EventOrder, anchors, inversions
from dialogist.metrics.metric_registry import make_metrics
from dialogist.records import Dialogue

from .dialogue_samples import dialogue

ARRIVAL = dialogue(
    "Ann: There is a car outside the door.",
    "Bo: How was the flight?",
    "Ann: We reach the hotel in ten minutes.",
    "Bo: A banquet is planned at the hall.",
)
IN_ORDER = "A car is outside. The flight is over. They reach the hotel. Then there is a banquet."


def scores(text: str, of: Dialogue | None) -> Scores:
    metric = pickle.loads(pickle.dumps(EventOrder()))
    row = metric.measure(Case(text, (), of))
    return Scores("x", ("1",), metric.columns, np.array([row]), {})


def test_anchors_are_words_of_one_utterance() -> None:
    assert anchors("A banquet, a CAR, a car, the hotel, the unicorn.", ARRIVAL) == [3, 0, 2]
    twice = dialogue("Ann: a car", "Bo: a car and a door", "Ann: the door")
    assert anchors("the car and the door", twice) == []


def test_names_of_speakers_are_no_anchors() -> None:
    concert = dialogue(
        "Oscar: I bought tickets today.",
        "Bo: Wonderful! Thanks, Oscar.",
        "Oscar: The concert starts Friday evening.",
    )
    assert anchors("Oscar bought tickets. Bo is grateful.", concert) == [0, 0]
    extract = "Oscar: I bought tickets today.\nBo: Wonderful! Thanks, Oscar."
    assert inversions(anchors(extract, concert)) == (0, 3)
    assert anchors("Oscar's concert is on Friday.", concert) == [2, 2]


@pytest.mark.parametrize(
    ("places", "found"),
    [([], (0, 0)), ([2], (0, 0)), ([1, 1], (0, 0)), ([0, 1, 2], (0, 3)), ([2, 1, 2, 0], (4, 5))],
)
def test_inversions(places: list[int], found: tuple[int, int]) -> None:
    assert inversions(places) == found


def test_figures_by_hand() -> None:
    assert scores(IN_ORDER, ARRIVAL).figure("order.inversions") == 0
    banquet_first = scores("After a banquet they reach the hotel.", ARRIVAL)
    assert banquet_first.figure("order.inversions") == 100
    assert banquet_first.figure("order.pairs") == 2


def test_a_planted_change_of_order_is_seen() -> None:
    """Whole sentences change places: backwards all pairs are inverted, at random half of them."""
    sentences = IN_ORDER.split(". ")
    backwards = ". ".join(reversed(sentences))
    assert scores(backwards, ARRIVAL).figure("order.inversions") > 80
    drawn = random.Random(1)
    found = []
    for _ in range(200):
        drawn.shuffle(sentences)
        found.append(scores(". ".join(sentences), ARRIVAL).figure("order.inversions"))
    assert 40 < np.mean(found) < 60


def test_nothing_to_compare() -> None:
    assert isnan(scores("No word of it.", ARRIVAL).figure("order.inversions"))
    assert isnan(scores(IN_ORDER, None).figure("order.pairs"))


def test_it_can_be_asked_for_by_name() -> None:
    assert [metric.name for metric in make_metrics(["order"])] == ["order"]
