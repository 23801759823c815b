"""Actions, decisions and open questions in the third person."""

import pytest
from tests.template.samples import dialogue_of

from dialogist.metrics.speakers import Speakers
from dialogist.template.extract.reported import reported_in

SPEAKERS = Speakers(dialogue_of("Anna: Hi.", "#Person2#: Hello."))


@pytest.mark.parametrize(
    ("sentence", "owner", "text", "deadline"),
    [
        ("Anna will send the report by Friday.", "Anna", "send the report by Friday", "by Friday"),
        ("Anna complains and promises to write a letter.", "Anna", "write a letter", ""),
        (
            "#Person2#'ll repair the door on Tuesday.",
            "#Person2#",
            "repair the door on Tuesday",
            "on Tuesday",
        ),
        ("The manager will call the bank, but Anna doubts it.", "The manager", "call the bank", ""),
        ("Anna and Bo will buy the tickets.", "", "buy the tickets", ""),
        ("They will buy the tickets.", "", "buy the tickets", ""),
        ("Anna is ill and #Person2# has to write the report.", "#Person2#", "write the report", ""),
    ],
)
def test_actions(sentence, owner, text, deadline):
    found = reported_in(sentence, SPEAKERS)
    assert found is not None
    assert (found.kind, found.owner, found.text) == ("action", owner, text)
    assert found.deadline == deadline


@pytest.mark.parametrize(
    ("sentence", "kind"),
    [
        ("The group decided to use rubber.", "decision"),
        ("Anna and #Person2# agree to meet on Monday.", "decision"),
        ("It is unclear whether the price holds.", "question"),
    ],
)
def test_decisions_and_questions_stand_whole(sentence, kind):
    found = reported_in(sentence, SPEAKERS)
    assert found is not None
    assert (found.kind, found.text) == (kind, sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "Anna sent the report.",
        "The price will be high.",
        "Anna asks what #Person2# is going to buy.",
        "If it rains, Anna will buy an umbrella.",
        "Anna does not know how to swim.",
    ],
)
def test_nothing(sentence):
    assert reported_in(sentence, SPEAKERS) is None
