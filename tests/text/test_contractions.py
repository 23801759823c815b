import pytest

from dialogist.text.contractions import expanded


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
