"""Summaries made of what two speakers say."""

from dialogist.recipe.corpus import reported
from dialogist.records import Dialogue, Utterance

PRINTER = (
    Utterance("Bo", "My printer does not work. It rains a lot here today."),
    Utterance("Ann", "I will bring you a new printer tomorrow."),
)


def test_each_speaker_is_named_for_what_they_say():
    told = reported(Dialogue(PRINTER, references=("Ann will bring Bo a new printer tomorrow.",)))

    assert told is not None
    assert "Ann will bring Bo a new printer tomorrow." in told


def test_it_is_told_alike_each_time_and_in_the_dialogues_order():
    found = [reported(Dialogue(PRINTER, id=str(i))) for i in range(20)]
    both = [t for t in found if t is not None and "Bo's printer" in t and "Ann will bring" in t]

    assert found == [reported(Dialogue(PRINTER, id=str(i))) for i in range(20)]
    assert both, "some have more than one statement"
    assert all(t.index("Bo's printer") < t.index("Ann will bring") for t in both)
    assert len(set(found)) > 1


def test_a_monologue_three_people_and_small_talk_are_not_told():
    three = (*PRINTER, Utterance("Cy", "I like it."))

    assert reported(Dialogue(PRINTER[:1])) is None
    assert reported(Dialogue(three)) is None
    assert reported(Dialogue((Utterance("A", "Hello."), Utterance("B", "Hi.")))) is None
    assert reported(Dialogue(())) is None
