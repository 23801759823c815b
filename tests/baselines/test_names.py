import pytest

from dialogist.baselines.extractive import BASELINES, baseline, find_baseline
from dialogist.errors import UsageError
from dialogist.records import Dialogue, Utterance

TALK = Dialogue(tuple(Utterance("Ann", f"this is turn {i}", "user") for i in range(9)))


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("lead-5", 5),
        ("longest-2", 2),
        ("textrank-4", 4),
        ("lexrank-1", 1),
        ("random-6", 6),
        ("random-6:4", 6),
        ("lead-999999", 9),
        ("turns:user", 9),
        ("turns:Ann", 9),
        ("constant:They talk: about lunch.", 1),
        *((name, None) for name in BASELINES),
    ],
)
def test_a_system_has_the_name_it_is_found_by(name, lines):
    system = baseline(name)
    [summary] = system.summarize([TALK])
    assert system.name == summary.model == name
    assert lines is None or len(summary.text.split("\n")) == lines


def test_a_sentence_of_ones_own():
    [summary] = baseline("constant:They talk: about lunch.").summarize([TALK])
    assert summary.text == "They talk: about lunch."


NOT_BASELINES = """
lead lead- lead--1 lead-x lead-３ Lead-3 lead-3:1 lead-1234567890 random-3: turns-user
constant oracle human models/lead-3
"""


@pytest.mark.parametrize("name", ["", *NOT_BASELINES.split()])
def test_other_names_are_no_baselines(name):
    assert find_baseline(name) is None
    with pytest.raises(UsageError, match="there is none of that name"):
        baseline(name)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("lead-0", "at least one utterance"),
        ("random-0:3", "at least one utterance"),
        ("constant: ", "say constant:TEXT"),
        ("turns:", "say turns:ROLE"),
    ],
)
def test_baselines_of_nothing_are_refused(name, said):
    with pytest.raises(UsageError, match=said):
        find_baseline(name)


def test_the_nearest_name_is_told():
    with pytest.raises(UsageError, match=r"did you mean 'textrank-3'\?"):
        baseline("textrank3")
