"""The statements that a summary can be made of: units told by rules, answers with questions."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from dialogist.selection.units import Unit
from dialogist.text.reported_speech import Conversation, Reported

_OF_ITS_OWN = re.compile(
    r"(?i)\b(?:i|you|we|he|she|it|they|that|this|there)(?:['’]\w+)?\b|\b(?:let['’]?s|please)\b"
)
_LONGEST_ANSWER = 8  # words of an answer that is not understood without its question


@dataclass(frozen=True, slots=True)
class Candidate:
    """``text`` says what ``units`` (numbers) say, in the order of the dialogue."""

    text: str
    kind: Literal["reported", "quoted"]
    units: tuple[int, ...]

    @property
    def words(self) -> int:
        """How many words it has."""
        return len(self.text.split())


def candidates_of(
    conversation: Conversation,
    units: Sequence[Unit],
    told: Mapping[tuple[int, int], Reported],
) -> list[Candidate]:
    """All statements that can be chosen; no unit is in two of them."""
    found: dict[int, Candidate] = {}
    for i, unit in enumerate(units):
        asked = _question(units, i)
        if asked is not None and asked in found:
            answered = _answered(conversation, units, asked, i, found[asked], told)
            if answered is not None:
                del found[asked]
                found[i] = answered
                continue
        own = told.get((unit.turn, unit.start))
        if own is not None:
            found[i] = Candidate(own.text, own.kind, (i,))
    return list(found.values())


def _question(units: Sequence[Unit], i: int) -> int | None:
    """The number of the unit that unit ``i`` may answer: the one before, of somebody else."""
    if i == 0 or units[i - 1].turn == units[i].turn:
        return None
    return i - 1 if units[i - 1].speaker != units[i].speaker else None


def _answered(
    conversation: Conversation,
    units: Sequence[Unit],
    asked: int,
    answer: int,
    question: Candidate,
    told: Mapping[tuple[int, int], Reported],
) -> Candidate | None:
    """What a unit says together with the one that it answers; None: it stands by itself."""
    both = (*question.units, answer)
    exchange = conversation.answer(units[asked].turn, units[answer].turn)
    if exchange is not None:
        return Candidate(exchange.text, "reported", both)
    own = told.get((units[answer].turn, units[answer].start))
    is_bare = not _OF_ITS_OWN.search(units[answer].text)
    if own is None or "?" not in units[asked].text or not is_bare:
        return None
    if units[answer].words > _LONGEST_ANSWER:
        return None
    kind: Literal["reported", "quoted"] = "reported"
    if "quoted" in (question.kind, own.kind):
        kind = "quoted"
    return Candidate(f"{question.text} {own.text}", kind, both)
