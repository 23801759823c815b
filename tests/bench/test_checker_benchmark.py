"""Errors are planted where they can stand, and are found; shares have their intervals."""

import re
from random import Random

import pytest
from bench.checker_benchmark import (
    ERRORS,
    DetectedShare,
    plant_assertion,
    plant_slot,
    plant_speaker,
    plant_swaps,
    trials,
)

from dialogist.data.error_injection import (
    Ground,
    names_of,
    plant_denial,
    plant_entity,
    plant_name,
    plant_number,
    plant_swap,
)
from dialogist.records import Dialogue, Utterance

SEEDS = range(20)


def dialogue(number: int, *turns: str, reference: str) -> Dialogue:
    pairs = (turn.partition(": ") for turn in turns)
    said = tuple(Utterance(name, text) for name, _, text in pairs)
    return Dialogue(said, id=str(number), references=(reference,))


DIALOGUES = [
    dialogue(
        1,
        "Amanda: I baked twelve cookies. Do you want some on Monday?",
        "Jerry: Sure! I am at home at 5:30.",
        reference="Amanda baked twelve cookies and will bring Jerry some on Monday at 5:30.",
    ),
    dialogue(
        2,
        "Hank: I lost my key, and I can't find it. My number is 416-539-3983.",
        "Olga: I have not seen it. I will look in the kitchen.",
        reference="Hank can't find his key. Olga will look in the kitchen. Hank's is 416-539-3983.",
    ),
    dialogue(
        3,
        "#Person1#: I'd like to rent a car.",
        "#Person2#: Your licence, please.",
        reference="#Person1# wants to rent a car. #Person2# asks for a licence.",
    ),
]
STATE = {"train": ["inform ( day = friday ; leaveAt = 09:15 )"]}
BOOKING = Dialogue(
    (Utterance("user", "a train on friday at 09:15"),),
    references=("the train leaves at 09:15 on friday.",),
    metadata={"dst_str": STATE},
)


def ground(number: int) -> Ground:
    one = DIALOGUES[number]
    return Ground(one.references[0], one, names_of(DIALOGUES))


@pytest.mark.parametrize(
    ("plant", "of"),
    [
        (plant_name, 0),
        (plant_number, 0),
        (plant_entity, 0),
        (plant_entity, 1),
        (plant_speaker, 2),
        (plant_swap, 1),
        (plant_swaps, 2),
        (plant_denial, 2),
        (plant_assertion, 1),
    ],
)
def test_one_place_changes_and_the_dialogue_does_not_hold_what_is_there(plant, of):
    for seed in SEEDS:
        sown = plant(ground(of), Random(seed))
        assert sown is not None
        summary = ground(of).summary
        assert sown.text != summary
        assert sown.text[: sown.start] == summary[: sown.start]
        assert summary.endswith(sown.text[sown.end :])
        if plant in (plant_name, plant_number, plant_speaker):
            assert sown.text[sown.start : sown.end] not in ground(of).said


def test_the_same_seed_plants_the_same():
    drawn = [plant_name(ground(0), Random(3)) for _ in range(2)]
    assert drawn[0] == drawn[1]


def test_names_come_from_other_dialogues_and_are_no_roles():
    agent = Dialogue((Utterance("Agent", "Hello Tim, it is Big. So big!", "agent"),))
    assert names_of([agent]) == ["Tim"]


def test_a_swap_exchanges_both_speakers():
    sown = plant_swaps(ground(2), Random(1))
    assert sown is not None
    assert sown.text == "#Person2# wants to rent a car. #Person1# asks for a licence."


@pytest.mark.parametrize(
    "text", ["Hank and Olga meet.", "Hank also likes it.", "Both Hank and he like it.", "It rains."]
)
def test_what_holds_for_both_is_not_swapped(text):
    assert plant_swap(Ground(text, DIALOGUES[1]), Random(1)) is None


@pytest.mark.parametrize(
    ("plant", "text", "changed"),
    [
        (plant_denial, "He will go.", "He will not go."),
        (plant_denial, "She wants tea.", "She doesn't want tea."),
        (plant_denial, "She can swim.", "She cannot swim."),
        (plant_assertion, "He won't go.", "He will go."),
        (plant_assertion, "She doesn't want tea.", "She wants tea."),
        (plant_assertion, "They are not late.", "They are late."),
    ],
)
def test_denials_are_written_and_struck(plant, text, changed):
    sown = plant(Ground(text, DIALOGUES[0]), Random(1))
    assert sown is not None
    assert sown.text == changed


def test_a_denial_gets_no_second_one():
    assert plant_denial(Ground("He is not late.", DIALOGUES[0]), Random(1)) is None


@pytest.mark.parametrize("plant", [probe.plant for probe in ERRORS.values()])
def test_without_a_place_nothing_is_planted(plant):
    assert plant(Ground("it rains.", DIALOGUES[0], ["Bob"]), Random(1)) is None
    assert plant(Ground("", Dialogue(())), Random(1)) is None


def test_a_slot_gets_a_value_that_the_state_does_not_hold():
    texts = set()
    for seed in SEEDS:
        sown = plant_slot(Ground(BOOKING.references[0], BOOKING), Random(seed))
        assert sown is not None
        texts.add(re.sub(r"\d\d:\d\d", "TIME", sown.text))
        assert sown.text != BOOKING.references[0]
    assert "the train leaves at TIME on friday." in texts


def test_trials_plant_everything_and_find_what_can_be_found():
    of = {trial.error: trial for trial in trials([*DIALOGUES, BOOKING], seed=1)}
    assert of.keys() == ERRORS.keys()
    for error in ("name of another dialogue", "tag that nobody has", "number changed"):
        assert of[error].detected.total
        assert of[error].detected.percent == 100
    assert of["slot value changed"].detected == DetectedShare(1, 1)
    assert [t.error for t in of.values() if t.false_alarms.count] == []
    assert len(of["denial lost"].missed) == of["denial lost"].detected.total - (
        of["denial lost"].detected.count
    )


def test_a_share_has_wilsons_interval():
    low, high = DetectedShare(9, 10).interval
    assert (low, high) == (pytest.approx(59.58, abs=0.01), pytest.approx(98.21, abs=0.01))
    assert DetectedShare(0, 20).interval[0] == 0
    assert DetectedShare(20, 20).interval[1] == 100
    assert DetectedShare(0, 0).interval == (0, 100)
