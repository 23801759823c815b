"""Which words the other side lacks, and what is unsupported."""

import hypothesis.strategies as st
import pytest
from hypothesis import given

from dialogist_lab.report.examples import Spot, TextPiece, marked


def alone(text, *others):
    return [piece.text for piece in marked(text, others) if piece.alone]


@pytest.mark.parametrize(
    ("text", "other", "found"),
    [
        ("Ann asks Bo.", "Ann asks Bo.", []),
        ("Ann asks Bo.", "ann ASKED bo", []),  # stems and no capitals, as ROUGE
        ("Ann asks Bo.", "Ann tells Cy.", ["asks Bo"]),
        ("the the the", "the", ["the the"]),  # as often as the other side has it
        ("用户询问订单", "用户订单", ["询问"]),
        ("#Person1# asks #Person2#.", "#Person1# asks.", ["#Person2#"]),
        ("", "Ann", []),
        ("Ann", "", ["Ann"]),
        ("don't go", "don't", ["go"]),
    ],
)
def test_words_the_other_side_lacks(text, other, found):
    assert alone(text, other) == found


def test_one_of_several_references_is_enough():
    assert alone("Ann meets Bo at noon.", "Ann at noon.", "Ann meets Bo.") == []
    assert alone("Ann meets Bo at one.", "Ann at noon.", "Ann meets Bo.") == ["one"]


def test_spots_are_marked_to_the_letter():
    text = "Ann met Bob in Rome."
    pieces = marked(text, [text], [Spot(8, 11, "no Bob"), Spot(15, 19, "no Rome")])
    assert [(piece.text, piece.why) for piece in pieces if piece.why] == [
        ("Bob", "no Bob"),
        ("Rome", "no Rome"),
    ]


def test_a_spot_of_several_words_is_one_piece():
    text = "Ann met the tall man."
    pieces = marked(text, [text], [Spot(4, 20, "swapped")])
    assert [piece for piece in pieces if piece.why] == [
        TextPiece("met the tall man", why="swapped")
    ]


@given(st.text(max_size=80), st.text(max_size=80), st.integers(0, 80), st.integers(0, 80))
def test_joined_the_pieces_are_the_text(text, other, start, end):
    pieces = marked(text, [other], [Spot(start, end, "why")])
    assert "".join(piece.text for piece in pieces) == text
    assert all(piece.text for piece in pieces)
