"""The verifier of this machine: what it reads, and that it judges each statement by itself."""

import numpy as np
import pytest

from dialogist.grounding import ground
from dialogist.grounding.local_verifier import LABELS, encoded_statements, local_verifier
from dialogist.records import Dialogue, Draft, Utterance
from dialogist.summarizer import Summarizer

TALK = Dialogue.from_text(
    "Agent: Thanks for calling, this is Priya.\n"
    "Customer: My broadband has been dropping every evening since Sunday.\n"
    "Agent: I can send an engineer on Thursday afternoon.\n"
    "Customer: Thursday is fine.\n"
    "Agent: If nobody is home there is a 40 pound charge.\n"
)
CLAIMS = [
    ("The customer's broadband drops every evening.", [1]),
    ("An engineer comes on Thursday.", [2, 3]),
    ("The agent's broadband drops every evening.", [1]),
    ("An engineer comes on Monday.", [2, 3]),
    ("The engineer charges 40 pounds for each visit.", [4]),
]


def test_true_statements_are_likelier_than_false_ones() -> None:
    chances = local_verifier().probabilities(TALK, CLAIMS)
    assert chances.shape == (len(CLAIMS), len(LABELS))
    np.testing.assert_allclose(chances.sum(1), 1, rtol=1e-4)
    assert chances[:2, 0].min() > chances[2:, 0].max()


def test_a_statement_is_judged_as_if_it_were_alone() -> None:
    together = local_verifier().probabilities(TALK, CLAIMS * 2)
    for number, claim in enumerate(CLAIMS):
        alone = local_verifier().probabilities(TALK, [claim])
        np.testing.assert_allclose(together[number], alone[0], atol=0.08)  # of 8 bits
    assert local_verifier().probabilities(TALK, []).shape == (0, len(LABELS))


def test_long_dialogues_are_read_in_parts_that_fit() -> None:
    items = [
        Utterance("AB"[n % 2], f"Item {n} costs {n} euros, " + "and so on " * 20) for n in range(60)
    ]
    talk = Dialogue((*items, Utterance("A", "word " * 5000)))
    claims = [(f"Item {n} costs {n} euros.", [n]) for n in range(0, 60, 3)]
    passes = list(encoded_statements(talk, [*claims, ("x " * 300, list(range(61)))]))
    assert [n for numbers, _ in passes for n in numbers] == list(range(len(claims) + 1))
    for numbers, encoded in passes:
        assert len(encoded.firsts) == len(numbers)
        assert encoded.positions.max() < 512
        assert len(encoded.ids) == len(encoded.types) == len(encoded.blocks)


@pytest.mark.parametrize("odd", ["", "\x00", "😀" * 40, "half \ud83d", "語" * 300, "a" * 5000])
def test_odd_texts_are_judged(odd: str) -> None:
    talk = Dialogue((Utterance(odd, odd), Utterance("B", "It is Thursday.")))
    assert local_verifier().probabilities(talk, [(odd, [0, 1])]).shape == (1, len(LABELS))


def test_it_reads_english_alone() -> None:
    talk = Dialogue.from_text(
        "Anna: Guten Morgen, ich möchte meine Bestellung von gestern stornieren.\n"
        "Bernd: Das ist leider nicht mehr möglich, sie ist schon unterwegs zu Ihnen.\n"
    )
    [statement] = ground(talk, [Draft("Anna möchte die Bestellung stornieren.")], local_verifier())
    assert statement.verdict == "unverified"
    assert "English" in statement.reasons[0]


def test_it_judges_where_no_model_is_asked(tmp_path) -> None:
    (tmp_path / "summary.txt").write_text("An engineer comes on Thursday.")
    assert Summarizer(f"file:{tmp_path / 'summary.txt'}").verifier is local_verifier()
    assert Summarizer("highlights").verifier is None
