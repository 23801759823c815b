"""Units of choice: the parts of a dialogue's sentences that can be told by themselves."""

from collections.abc import Sequence
from dataclasses import dataclass

from dialogist.text.reported_speech.parts import part_spans


@dataclass(frozen=True, slots=True)
class Unit:
    """``text`` is what ``speaker`` says at ``start`` to ``end`` of turn number ``turn``."""

    turn: int
    start: int
    end: int
    speaker: str
    text: str

    @property
    def words(self) -> int:
        """How many words it has."""
        return len(self.text.split())


def units_of(turns: Sequence[tuple[str, str]]) -> list[Unit]:
    """All units of a dialogue of speakers and texts, in order."""
    return [
        Unit(turn, start, end, speaker, text[start:end])
        for turn, (speaker, text) in enumerate(turns)
        for start, end in part_spans(text)
        if text[start:end].strip()
    ]
