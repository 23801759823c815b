"""Dialogues for the tests of what a dialogue bears out."""

from dialogist.records import Dialogue, Utterance


def dialogue(*turns: str) -> Dialogue:
    """``Ann: Hello`` is one turn."""
    pairs = (turn.partition(": ") for turn in turns)
    return Dialogue(tuple(Utterance(name, text) for name, _, text in pairs))


CHAT = dialogue(
    "Amanda: Hi Tom! I baked cookies at 5 pm. Do you want some?",
    "Tom: Sure! My sister Kate is here, too. She lives in New York.",
    "Amanda: I'll bring you twenty on Monday, xmas is near.",
    "Tom: Great. Call me: 416 539 3983. I am not at the office on Friday.",
)
"""Two friends."""

TAGGED = dialogue(
    "#Person1#: Good morning, Steven. I'd like to rent a car for three days, please.",
    "#Person2#: Sure. May I see your licence? The small one costs $45 a day.",
    "#Person1#: Here you are. Do you also offer an insurance?",
    "#Person2#: Yes, the insurance is ten dollars more. I recommend it.",
)
"""Speakers as in DialogSum; the second is called by his name."""

CHINESE = dialogue(
    "用户: 我的订单[订单编号]什么时候到？已经等了3天了",
    "客服: 您好，周三可以送达，运费是两百五十元",
)
"""A customer and an agent."""
