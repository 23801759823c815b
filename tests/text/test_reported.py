"""Reported speech: who "I" and "you" are, and what is better not told."""

import pytest

from dialogist.text.reported import Reporter, third_person

BLUNT = 0.0  # as it is, where the speaker is its subject; else behind "says"


def told(sentence: str, share: float = BLUNT) -> str | None:
    return Reporter("Ann", "Bo").report(sentence, lambda: share)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("I'll bring you a new one.", "Ann will bring Bo a new one."),
        ("I want a refund, not a replacement.", "Ann wants a refund, not a replacement."),
        ("I have issued $39.90 to your card.", "Ann has issued $39.90 to Bo's card."),
        ("My order arrived broken.", "Ann's order arrived broken."),
        ("Well, I really need it.", "Ann really needs it."),
        ("I can't find my keys.", "Ann cannot find Ann's keys."),
        ("I don't know if you are right.", "Ann does not know if Bo is right."),
        ("David, I heard you lost your job.", "Ann heard Bo lost Bo's job."),
        ("Tomorrow, I fly to #Person2#.", None),  # the form of "fly" is not among those known
        ("Tomorrow, I travel with #Person3#.", "Ann says tomorrow, Ann travels with #Person3#."),
        ("You look tired.", "Ann says Bo looks tired."),
        ("Once you do, I will help you.", "Ann says once Bo does, Ann will help Bo."),
        ("I saw you go home.", "Ann saw Bo go home."),
    ],
)
def test_statements(said, expected):
    assert told(said) == expected


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("Could you call me?", "Ann asks Bo to call Ann."),
        ("Please send me the bill.", "Ann asks Bo to send Ann the bill."),
        ("May I see your passport?", "Ann asks Bo whether Ann may see Bo's passport."),
        ("Do you have any luggage?", "Ann asks whether Bo has any luggage."),
        ("Are you going?", "Ann asks whether Bo is going."),
        ("Have you been there?", "Ann asks whether Bo has been there."),
        ("Would you like to come?", "Ann asks whether Bo would like to come."),
        ("What do you want?", "Ann asks Bo what Bo wants."),
        ("What kind of food would you like?", "Ann asks Bo what kind of food Bo would like."),
        ("Where are you going?", "Ann asks Bo where Bo is going."),
    ],
)
def test_questions_and_requests(said, expected):
    assert told(said) == expected


@pytest.mark.parametrize(
    "said",
    [
        "We have it.",
        "Thank you.",
        'I said "you are late".',
        "It rains.",
        "I xylograph you.",
        "I need it",
        "Why don't you ask him?",
        "",
        "I",
        "I.",
        "Do you zorp?",
    ],
)
def test_what_no_rule_is_sure_of_is_not_told(said):
    assert told(said) is None


def test_who_says_it_is_told_in_two_ways():
    assert told("You look tired.", 0.9) == "Ann tells Bo Bo looks tired."
    assert told("I agree.", 0.9) == "Ann tells Bo Ann agrees."
    assert (
        Reporter("Bo", "Bob").report("You look tired.", lambda: BLUNT) == "Bo says Bob looks tired."
    )


@pytest.mark.parametrize(
    ("verb", "expected"),
    [
        ("try", "tries"),
        ("go", "goes"),
        ("wish", "wishes"),
        ("play", "plays"),
        ("were", "was"),
        ("need", "needs"),
        ("went", "went"),
        ("wanted", "wanted"),
        ("zorp", None),
    ],
)
def test_third_person(verb, expected):
    assert third_person(verb) == expected
