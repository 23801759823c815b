"""Which speaker a word of a summary means: by name, nickname, tag, or as others call him."""

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache

from dialogist.records import Dialogue
from dialogist.language.people import NICKNAMES
from dialogist.language.tokens import FUNCTION_WORDS, OPENERS, folded, word_set

_PIECE = re.compile(r"[^\W_]+")
_TITLE = r"(?:(?:Mr|Mrs|Ms|Miss|Dr|Prof|Professor|Doctor)\b\.?\s?)?"
_NAME = r"([A-Z][a-z]+)"
_GREETING = (
    r"(?i:hi|hello|hey|morning|evening|afternoon|thanks|thank you|okay|ok|yes|no|well|sorry|oh|bye|"
    r"goodbye|please|sure|dear|welcome|right|so|yeah)"
)
_CALLED = re.compile(
    rf"(?:^|[.!?]\s*){_GREETING},? {_TITLE}{_NAME}(?: [A-Z][a-z]+)?\s?[,.!?]"
    rf"|(?:^|[.!?]\s+){_TITLE}{_NAME}(?: [A-Z][a-z]+)?\s?,"
    rf"|,\s?{_TITLE}{_NAME}(?: [A-Z][a-z]+)?\s?[.!?]"
)
_INTRODUCED = re.compile(
    rf"(?i:\bi am|\bi['’]m|\bmy name is|\bmy name['’]s|\bthis is|\bcall me) {_TITLE}{_NAME}"
    rf"(?: ([A-Z][a-z]+))?(?=[\s,.!?]|$)|^{_TITLE}{_NAME}(?: [A-Z][a-z]+)? (?:speaking|here)"
)
_NO_NAMES = FUNCTION_WORDS | OPENERS | word_set("really god excuse fine lovely morning")
_CLEAR = 3  # times as often meant by one speaker as by the other
_SHORTEST = 3


class Speakers:
    """The speakers of a dialogue and the words that mean them."""

    def __init__(self, dialogue: Dialogue) -> None:
        self.names = dialogue.speakers
        self.number = {name: i for i, name in enumerate(self.names)}
        self._words = _spelt(self.names)
        if len(self.names) == 2:
            for name, speaker in _called(dialogue, self.number):
                self._words.setdefault(name, speaker)
        self._shortened: dict[str, set[int]] = defaultdict(set)
        for name, speaker in self._words.items():
            for short in _shortened(name):
                self._shortened[short].add(speaker)
        self.who = lru_cache(maxsize=1024)(self._who)

    def _who(self, word: str) -> int | None:
        """The number of the speaker whom a word in small letters means, None if it means none."""
        found = self._words.get(word)
        if found is not None or word in _NO_NAMES:
            return found
        names = [*NICKNAMES.get(word, ()), *_shortened(word)]
        others = {self._words[name] for name in names if name in self._words}
        others |= self._shortened.get(word, set())
        return others.pop() if len(others) == 1 else None


def _shortened(word: str) -> list[str]:
    """The word without its last letter, or without its last two: Sam for Sammy."""
    return [word[:-cut] for cut in (1, 2) if len(word) - cut >= _SHORTEST]


def _spelt(names: tuple[str, ...]) -> dict[str, int]:
    """The words of the speakers' names; a word of several names means nobody."""
    found: dict[str, set[int]] = defaultdict(set)
    for i, name in enumerate(names):
        tag = name.startswith("#")
        for piece in ["".join(name.lower().split())] if tag else _PIECE.findall(name):
            found[piece if tag else folded(piece)].add(i)
    return {word: min(people) for word, people in found.items() if len(people) == 1}


def _called(dialogue: Dialogue, number: dict[str, int]) -> Iterator[tuple[str, int]]:
    """Names that the two speakers of a dialogue call each other, or themselves."""
    votes: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for utterance in dialogue.utterances:
        speaker = number.get(utterance.speaker)
        if speaker is None:
            continue
        for match in _CALLED.finditer(utterance.text):
            votes[str(match[match.lastindex or 0]).lower()][1 - speaker] += 1
        for match in _INTRODUCED.finditer(utterance.text):
            for name in filter(None, match.groups()):
                votes[name.lower()][speaker] += 2
    for name, (first, second) in votes.items():
        if name not in _NO_NAMES and max(first, second) >= _CLEAR * min(first, second):
            yield name, int(second > first)
