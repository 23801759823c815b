"""What the rules of reported speech share: turned words, capitals, and the frame "Ann says"."""

from collections.abc import Container

from dialogist.text.function_words import OPENERS
from dialogist.text.listing import word_set
from dialogist.text.reported_speech.morphology import is_base, is_gerund
from dialogist.text.reported_speech.turning import Turned, Voice, turned
from dialogist.text.reported_speech.words import words_of

_FAMILY = "mom mum mommy mummy dad daddy grandma grandpa granny aunt uncle auntie"
DATES = word_set("""
monday tuesday wednesday thursday friday saturday sunday january february april june july august
september october november december christmas easter
""")
_CAPITALS = DATES | word_set(_FAMILY)


class Frame:
    """What one speaker says to another; ``small``: words that the dialogue writes small."""

    def __init__(self, voice: Voice, small: Container[str] = ()) -> None:
        self.speaker = voice.speaker
        self.listener = voice.listener
        self._voice = voice
        self._small = small

    def turn(self, text: str, owner: str | None = None) -> Turned | None:
        """``text`` in the third person; ``owner``: the name of the subject before it."""
        return turned(text, self._voice, owner)

    def behind(self, verb: str, text: str, owner: str | None = None) -> str | None:
        """ "Ann" + ``verb`` + ``text`` in the third person."""
        told = self.turn(self.lowered(text), owner)
        return None if told is None else f"{self.speaker} {verb} {told.text}"

    def lowered(self, text: str) -> str:
        """``text`` with a small first letter, unless its first word may be a name."""
        if not words_of(text) or not self.is_small(text) or text[:2] in ("I ", "I'"):
            return text
        return decapitalised(text)

    def is_small(self, text: str) -> bool:
        """Whether the first word is no name, so that it may be written small."""
        first = words_of(text)[0]
        if not first.is_capital:
            return True
        bare = first.low.split("'")[0]
        if bare in _CAPITALS or not first.text[0].isalpha() or not first.text[1:].islower():
            return bare in ("a", "i")
        return bare in OPENERS or bare in self._small or is_base(bare) or is_gerund(bare)


def decapitalised(text: str) -> str:
    return text[0].lower() + text[1:]
