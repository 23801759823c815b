"""The verifier of this machine: a small network that reads statements beside their dialogue.

One pass judges the statements of a dialogue together. The tokens of the dialogue attend to each
other; those of a statement, and of the lines that it rests on, to their own and to the dialogue's.
So a dialogue is read once however many statements there are, and each statement sees what came
before and after its lines. `dialogist_lab.verifier` trains it (BERT's encoder, Devlin et al. 2019).
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dialogist.grounding import claim_of
from dialogist.grounding.evidence import find_evidence
from dialogist.grounding.verification import Judgement
from dialogist.language.detection import language_of
from dialogist.language.wordpiece import END, FIRST, onnx_session, piece_ids
from dialogist.records import Dialogue, Statement

BUNDLED_VERIFIER = Path(__file__).parent.parent / "assets" / "verifier"
MODEL = "verifier.onnx"

LABELS: Mapping[str, str] = {
    "true": "",
    "role": "it may be about somebody else",
    "object": "it may be another thing, place or person",
    "stale": "a later line may change it",
    "time": "the time may be another",
    "polarity": "it may be the other way round",
    "certainty": "it may be less certain than that",
    "number": "the number may be another",
    "condition": "a condition may be missing or different",
    "invented": "nobody may have said it",
    "partial": "a part of it may not have been said",
}
"""What a statement can be, in the order of the network's outputs, and what a reader is told."""

_NOT_SAID = frozenset({"certainty", "invented", "partial"})
_POSITIONS = 512  # of BERT: those of the dialogue begin behind those of statements
_LINE, _LINES = 80, 104  # tokens of a line, and of the lines of a statement
LONGEST_STATEMENT = 60  # tokens
_BLOCK = _LINES + LONGEST_STATEMENT + 2
_MEMORY = _POSITIONS - _BLOCK - 1  # tokens of a dialogue in a pass
_AT_ONCE = 8  # statements of a pass: more of them save nothing and need more memory
_AROUND = 2  # lines shown before and after a line of evidence, where not all are


class EncodedStatements(NamedTuple):
    """What the network reads: of each token (T,) its id, its position, whose it is and its type;
    and where the statements begin (S,).

    ``blocks``: 0 for the dialogue, 1 and on for the statements. ``types``: 0 of the dialogue; of a
    statement whether the lines that it rests on have the token (1), others alone (2) or none (3);
    of those lines, whether the statement has it (4) or not (5).
    """

    ids: NDArray[np.int64]
    positions: NDArray[np.int64]
    blocks: NDArray[np.int64]
    types: NDArray[np.int64]
    firsts: NDArray[np.int64]


def encoded_statements(
    dialogue: Dialogue, claims: Sequence[tuple[str, Sequence[int]]]
) -> Iterator[tuple[range, EncodedStatements]]:
    """Passes over the claims, each the text of a statement and the numbers of its lines: which
    claims, and what the network reads."""
    lines = [
        _middle_left_out(piece_ids(f"{u.speaker}: {u.text}"), _LINE) for u in dialogue.utterances
    ]
    first, shown = 0, set[int]()
    for number, (text, cited) in enumerate(claims):
        near = _shown(dialogue, lines, text, cited)
        full = number - first == _AT_ONCE or _size(lines, shown | near) > _MEMORY
        if number > first and full:
            yield range(first, number), _encoded_pass(lines, shown, claims[first:number])
            first, shown = number, set()
        shown |= near
    if claims:
        yield range(first, len(claims)), _encoded_pass(lines, shown, claims[first:])


def _encoded_pass(
    lines: list[list[int]], shown: set[int], claims: Sequence[tuple[str, Sequence[int]]]
) -> EncodedStatements:
    memory = [FIRST, *(i for n in sorted(shown) for i in (*lines[n], END))]
    parts, types, heard = [memory], [0] * len(memory), set(memory)
    for text, cited in claims:
        pieces = _middle_left_out(piece_ids(text), LONGEST_STATEMENT)
        rest = [i for n in cited for i in (*lines[n], END)][:_LINES]
        parts.append([FIRST, *pieces, END, *rest])
        near, claimed = set(rest), {*pieces, END}
        types += [1, *(1 if i in near else 2 if i in heard else 3 for i in pieces), 1]
        types += [4 if i in claimed else 5 for i in rest]
    sizes = [len(part) for part in parts]
    return EncodedStatements(
        np.concatenate([np.array(part, np.int64) for part in parts]),
        np.concatenate([np.arange(size) + _BLOCK * (not n) for n, size in enumerate(sizes)]),
        np.repeat(np.arange(len(parts)), sizes),
        np.array(types, np.int64),
        np.cumsum(sizes)[:-1],
    )


def _middle_left_out(ids: list[int], most: int) -> list[int]:
    return ids if len(ids) <= most else ids[: most // 2] + ids[-(most - most // 2) :]


def _size(lines: list[list[int]], shown: set[int]) -> int:
    return sum(len(lines[n]) + 1 for n in shown)


def _shown(dialogue: Dialogue, lines: list[list[int]], text: str, cited: Sequence[int]) -> set[int]:
    """The lines that a claim is judged by: all of a short dialogue, of a long one those around its
    own and around what else comes near it, as far as there is room."""
    everything = set(range(len(lines)))
    if _size(lines, everything) <= _MEMORY:
        return everything
    near = (*cited, *(span.utterance for span in find_evidence(dialogue, text)))
    shown: set[int] = set()
    for distance in range(_AROUND + 1):
        for number in near:
            more = shown | ({number - distance, number + distance} & everything)
            if _size(lines, more) <= _MEMORY:
                shown = more
    return shown or {0}


class LocalVerifier:
    """Judges statements by a bundled network, without a language model."""

    name = "local"

    def __init__(self, folder: Path = BUNDLED_VERIFIER) -> None:
        self._session = onnx_session(folder / MODEL)
        known: Mapping[str, Any] = self._session.get_modelmeta().custom_metadata_map
        self.thresholds: tuple[float, float] = tuple(json.loads(known["thresholds"]))
        """The chances from which on a statement is supported, and up to which it is refused."""

    def probabilities(
        self, dialogue: Dialogue, claims: Sequence[tuple[str, Sequence[int]]]
    ) -> NDArray[np.float32]:
        """(S, `LABELS`): how likely each claim, a text and the numbers of its lines, is what."""
        parts = [np.zeros((0, len(LABELS)), np.float32)]
        for _, encoded in encoded_statements(dialogue, claims):
            parts += self._session.run(None, encoded._asdict())
        return np.concatenate(parts)

    def verify(self, dialogue: Dialogue, statements: Sequence[Statement]) -> list[Judgement]:
        """Supported, contradicted or not said (doubtful) where the network is sure enough, else
        unverified; so is what is not in English."""
        if statements and language_of("\n".join(u.text for u in dialogue.utterances)) != "en":
            foreign = Judgement("unverified", ("the verifier of this machine reads English alone",))
            return [foreign] * len(statements)
        claims = [
            (claim_of(s), list(dict.fromkeys(span.utterance for span in s.evidence)))
            for s in statements
        ]
        return [self._judgement(row) for row in self.probabilities(dialogue, claims)]

    def _judgement(self, row: NDArray[np.float32]) -> Judgement:
        chance = round(float(row[0]), 3)
        supported, refused = self.thresholds
        if chance >= supported:
            return Judgement("supported", (), chance)
        if chance > refused:
            return Judgement("unverified", ("the verifier is not sure",), chance)
        kind = list(LABELS)[int(row[1:].argmax()) + 1]
        return Judgement(
            "doubtful" if kind in _NOT_SAID else "contradicted", (LABELS[kind],), chance
        )


@cache
def local_verifier() -> LocalVerifier:
    """The bundled one, read once."""
    return LocalVerifier()
