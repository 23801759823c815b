"""Where sentences are cut into parts, and what a quotation of a part keeps: checked by hand."""

import pytest

from dialogist.language.reported_speech import Conversation
from dialogist.language.reported_speech.parts import part_spans


@pytest.mark.parametrize(
    "parts",
    [
        ["My car is broken, ", "so I need a lift."],
        ["I made a cake ", "but the oven was cold."],
        # "But" is "except" where no clause follows.
        ["HOW could he know?? no body knew but you and Will"],
        ["Nothing helps but the red pills."],
        ["We order it today, ", "and the tiles wait until October."],
        # A list, an aside, a hedge before a name.
        ["I've increased the size, cleaned the disc, and the other things listed."],
        ["Ill DM you, but for the record, you all arent the ones to talk."],
        ["I am afraid, Ma'am, you have to pay 100 dollars."],
        ["I'm sure, Ben, they will call."],
        ["I'd like to, but I'm afraid I can't."],
        # A clause that only its main clause ends.
        ["Given that you're sensitive to light, I believe a migraine is likely."],
        ["Now that she has moved, I need a flatmate."],
        ["OK, so next time we're going somewhere, I'll ask you?"],
        ["Should you need a letter, we will send one."],
        ["Ah yes, Mr. Hilton, you booked a single room."],
        ["Whatever it is, we can work it out."],
        # Full stops of abbreviations.
        ["you need headphones for the sim. interpretation, ", "so i'll do that now."],
        ["i got a new sim. ", "it works."],
        ["Thanks. ", "On Thurs. I worked till 9pm."],
        ["See you on Thurs. ", "I'll bring it."],
        # Signatures and counters of public replies are no parts.
        ["It would give you the reward. "],
        ["You reach out to the live chat! "],
        ["We charge for every application. "],
        ["It is unavailable right now. "],
    ],
)
def test_parts(parts):
    endings = {"It would give you the reward. ": "VH", "It is unavailable right now. ": "12 PJ"}
    endings["You reach out to the live chat! "] = "2 BZ"
    endings["We charge for every application. "] = "22 Rach"
    text = "".join(parts) + endings.get(parts[-1], "")
    assert [text[start:end] for start, end in part_spans(text)] == [
        part.rstrip(" ,") for part in parts
    ]


def test_a_bare_answer_is_a_part():
    assert [*part_spans("3 TV")] == [(0, 4)]
    assert [*part_spans("VH")] == [(0, 2)]


@pytest.mark.parametrize(
    ("said", "quoted"),
    [
        (
            "Hi Caterek, London Colney looks like the closest.",
            "London Colney looks like the closest",
        ),
        ("Hi Team Your Store charges me for it.", "Your Store charges me for it"),
        ("hi shaun what is our item?", "what is our item?"),
        ("hi Sue can you tell our team?", "can you tell our team?"),
        ("Hello Sam, we never eat fish.", "we never eat fish"),
        ("Hi London is our next stop.", "London is our next stop"),
        ("So far we booked only one.", "So far we booked only one."),
        ("So we booked only one.", "we booked only one."),
        ("Please keep checking our website. 22 PJ", "Please keep checking our website."),
        ("12 Lets work on our settings.", "Lets work on our settings."),
        ("12 people work in our shop.", "12 people work in our shop."),
        ("Delta The one issue is our money.", "The one issue is our money."),
        ("sprintcare Ill tell our story.", "Ill tell our story."),
    ],
)
def test_quotations_of_parts(said, quoted):
    conversation = Conversation([("Ann", said), ("Bo", "Hm.")], part_spans)
    assert conversation.quote(0, 0).text.rstrip(".”") == f"Ann: “{quoted}".rstrip(".")
