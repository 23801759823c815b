"""Who introduces himself, and who is greeted."""

import re

import pytest

from dialogist.privacy.persons import names_called, own_names


@pytest.mark.parametrize(
    "said",
    [
        "Thank you for calling Northline, this is [Priya]. How can I help?",
        "Riverside Bank, [Sofia] speaking, how may I help?",
        "Hi, my name is [Tom Baker]. I want to cancel.",
        "Hi, it's [Anna] from billing.",
        "Morning, it's [Shug]. The tin is pink.",
        "Hey there! [Anna] here from billing.",
        "Yes. Hi Karen, [Paul] here.",
        "You're speaking with [Marcus].",
        "Hello Mrs Lang, I'm Dr. [Weber].",
        "Hi Mark, this is [Priya].",
        "Mom, this is [Priya] from the bank.",
        "I'm [Wladimir] from the second floor.",
        "We will look into it. -[Tom]",
        "Your refund is on its way.\nKind regards,\n[Priya Shah]\nCustomer Care",
        "Mom, this is Priya, my friend.",
        "Mom, this is Priya.",
        "Is this Priya?",
        "Hello, it's Monday.",
        "And it's Priya.",
        "This is Priya?",
        "This is Priya's phone.",
        "This is Tom and Priya.",
        "I'm sorry, I'm Polish.",
        "This is Great!",
        "Come here, Tom is sad.",
        "Thanks, Priya",
        "English speaking agents only.",
    ],
)
def test_names_that_speakers_give_themselves(said):
    assert list(own_names(re.sub(r"[\[\]]", "", said))) == re.findall(r"\[(.*?)\]", said)


def test_names_by_which_others_are_greeted():
    assert list(names_called("Hello Mrs Lang, come in. Thanks, Priya!")) == ["Lang", "Priya"]
    assert list(names_called("Great, thank you Priya.")) == []
    assert list(names_called("Hi Priya, I need help.")) == ["Priya"]
