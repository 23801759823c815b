import pytest

from dialogist.privacy.persons import names_called, own_names


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Thank you for calling Northline, this is Priya. How can I help?", "Priya"),
        ("Riverside Bank, Sofia speaking, how may I help?", "Sofia"),
        ("Hi, my name is Tom Baker. I want to cancel.", "Tom Baker"),
        ("Hi, it's Anna from billing.", "Anna"),
        ("Morning, it's Shug. The tin is pink.", "Shug"),
        ("Hey there! Anna here from billing.", "Anna"),
        ("Yes. Hi Karen, Paul here.", "Paul"),
        ("You're speaking with Marcus.", "Marcus"),
        ("Hello Mrs Lang, I'm Dr. Weber.", "Weber"),
        ("Hi Mark, this is Priya.", "Priya"),
        ("Mom, this is Priya from the bank.", "Priya"),
        ("I'm Wladimir from the second floor.", "Wladimir"),
        ("We will look into it. -Tom", "Tom"),
        ("Your refund is on its way.\nKind regards,\nPriya Shah\nCustomer Care", "Priya Shah"),
    ],
)
def test_names_that_speakers_give_themselves(text, name):
    assert name in own_names(text)


@pytest.mark.parametrize(
    "text",
    [
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
def test_what_introduces_somebody_else_or_nobody(text):
    assert list(own_names(text)) == []


def test_names_by_which_others_are_greeted():
    assert list(names_called("Hello Mrs Lang, come in. Thanks, Priya!")) == ["Lang", "Priya"]
    assert list(names_called("Great, thank you Priya.")) == []
    assert list(names_called("Hi Priya, I need help.")) == ["Priya"]
