"""The rule pack for meetings: the examples in it are tried whenever it is read."""

import pytest

from dialogist.data.key_points import LabelOrigin, load_pack

PACK = load_pack("meeting")


@pytest.mark.parametrize(
    ("sentence", "label"),
    [
        ("The group decided to use rubber.", "Decision"),
        ("Cy will call the supplier.", "Action"),
        ("It was still unclear who pays.", "Open question"),
        ("No decision was made on the price.", "Open question"),
        ("Bo asked Ann about the price.", "Question"),
        ("Bo asked Ann to look again.", "Proposal"),
        ("Marketing suggested a yellow case.", "Proposal"),
        ("They discussed the price.", "Discussion"),
        ("Ann disagreed.", "Disagreement"),
        ("Action: Bo writes the minutes.", "Action"),
    ],
)
def test_labels(sentence, label):
    [found] = PACK.analyse_sentences(sentence)
    assert (found.label, found.origin) == (label, LabelOrigin.rule)
