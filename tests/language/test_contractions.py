import pytest

from dialogist.language.chat_spelling import expanded


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("Agent'll give Customer a new one.", "Agent will give Customer a new one."),
        ("Priya's been charged.", "Priya has been charged."),
        ("Tom's going to Paris.", "Tom is going to Paris."),
        ("Tom's worried about it.", "Tom is worried about it."),
        ("Tom's lost his card.", "Tom has lost his card."),
        ("Tom'd like a tea.", "Tom would like a tea."),
        ("Tom'd been there.", "Tom had been there."),
        ("Bo Chen’ll go.", "Bo Chen will go."),
        ("sam'll pay.", "sam will pay."),
    ],
)
def test_contractions_behind_names_are_written_out(said, written):
    assert expanded(said, frozenset({"sam"})) == written


@pytest.mark.parametrize(
    "text",
    [
        "Tom's car is red.",
        "Tom's meeting is late.",
        "Tom's used car broke down.",
        "It's fine. Let's go. They'll see.",
        "the dog'll bark",
        "#Person1#'ll call #Person2#'s mother.",
    ],
)
def test_possessives_pronouns_and_tags_stay(text):
    assert expanded(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "Gloria's mother is ill.",
        "Novak's father calls.",
        "Tom's bike is red.",
        "Tom's bike for sale.",
        "Tom's lab is closed.",
        "Tom's gym is at the corner.",
        "Tom's store in the city is new.",
        "Tom's favourite movie is on.",
        "Tom's left hand hurts.",
        "Ann's lost phone is found.",
        "Ann's broken leg heals.",
        "Ann's children and Tom's wife come.",
        "Ann's written statement is short.",
        "Ann's photo of the cat is lost.",
        "Ann's better half comes.",
    ],
)
def test_what_somebody_owns_stays_a_possessive(text):
    assert expanded(text) == text


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("Tom's lost his phone.", "Tom has lost his phone."),
        ("Ann's been ill.", "Ann has been ill."),
        ("Ann's already paid for it.", "Ann has already paid for it."),
        ("Ann's left the house.", "Ann has left the house."),
        ("Ann's broken her leg.", "Ann has broken her leg."),
        ("Ann's put it on the table.", "Ann has put it on the table."),
        ("Ann's moved to Paris.", "Ann has moved to Paris."),
    ],
)
def test_what_somebody_has_done_is_written_out(said, written):
    assert expanded(said) == written
