"""The words of candidates as vectors of their pieces."""

import numpy as np

from dialogist.highlights.network import bundled_network
from dialogist.highlights.pieces import CandidatePieces, PieceTable, mean_and_peak
from dialogist.highlights.select import report_dialogue
from dialogist.highlights.statements import Candidate
from dialogist.highlights.units import units_of

PIECES = ["[PAD]", "[UNK]", "[SEP]", ".", "ann", "bo", "we", "eat", "at", "##s", "on"]
TABLE = PieceTable(
    PIECES,
    np.arange(2 * len(PIECES), dtype=np.int8).reshape(-1, 2),
    np.full((len(PIECES), 1), 0.5, dtype=np.float32),
    np.ones((len(PIECES), 1), dtype=np.float32),
)


def test_candidates_have_the_pieces_of_their_units_and_no_others() -> None:
    units = units_of([("Ann", "We eat at on. Bo eats on."), ("Bo", "😀"), ("Bo", "\u200b\u00ad.")])
    assert len(units) == 4
    candidates = [Candidate("", "quoted", (0, 2)), Candidate("", "quoted", (1,))]
    candidates += [Candidate("", "quoted", (3,))]
    pieces = TABLE.pieces_of(units, candidates)
    names = [PIECES[i] for i in pieces.ids]
    assert names[:2] == names[-2:] == ["[SEP]"] * 2
    own = np.split([names[i] for i in pieces.owned], pieces.starts[1:])
    assert [list(one) for one in own] == [
        ["we", "eat", "at", "on", ".", "[UNK]"],
        ["bo", "eat", "##s", "on", "."],
        ["."],
    ]


def test_a_unit_without_pieces_is_unknown() -> None:
    [unit] = units_of([("Ann", "\u0001 \u0002")]) or units_of([("Ann", "x")])
    pieces = TABLE.pieces_of([unit], [Candidate("", "quoted", (0,))])
    assert [PIECES[i] for i in pieces.ids[pieces.owned]] == ["[UNK]"]


def test_sums_means_and_peaks_are_of_each_candidate() -> None:
    pieces = CandidatePieces(
        np.array([2, 2, 4, 5, 6, 2, 2]), np.array([2, 3, 4, 2]), np.array([0, 3])
    )
    vectors = TABLE.vectors(pieces.ids)
    np.testing.assert_allclose(vectors[2], [4, 4.5])
    sums = TABLE.sums(pieces)
    np.testing.assert_allclose(sums[0], vectors[2:5].sum(axis=0) / np.sqrt(3), rtol=1e-6)
    np.testing.assert_allclose(sums[1], vectors[2])
    x = np.array([[9], [9], [1], [5], [3], [9], [9]], dtype=np.float32)
    np.testing.assert_allclose(mean_and_peak(x, pieces), [[3, 5], [1, 1]])


def test_words_change_what_a_candidate_is_worth() -> None:
    """Features alone cannot tell these two apart: same places, lengths and cues."""
    network = bundled_network()
    found = [
        report_dialogue([("Ann", f"My {thing} is {state}."), ("Bo", "Oh.")])
        for thing, state in (("kidney", "infected"), ("jumper", "yellow"))
    ]
    sums = [
        network.piece_table.sums(network.piece_table.pieces_of(one.units, one.candidates))
        for one in found
    ]
    assert np.abs(sums[0] - sums[1]).max() > 0.1


def test_a_long_dialogue_is_read_as_its_parts_are() -> None:
    network = bundled_network()
    one = report_dialogue([("Ann", "My internet has been down since Monday.")] * 3)
    many = report_dialogue([("Ann", "My internet has been down since Monday.")] * 1200)
    words = [
        network.words_seen(network.piece_table.pieces_of(told.units, told.candidates))
        for told in (one, many)
    ]
    np.testing.assert_allclose(words[0][:, 1], words[1][:, 700], rtol=1e-4, atol=1e-5)
