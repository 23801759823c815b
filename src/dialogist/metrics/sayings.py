"""`Sayings`: who says which words in a dialogue, of whom, and whether he asks or denies."""

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from dialogist.metrics.speakers import Speakers
from dialogist.records import Dialogue, Utterance
from dialogist.text.clauses import is_content
from dialogist.text.function_words import FUNCTION_WORDS
from dialogist.text.listing import listed, word_set
from dialogist.text.negation import NEGATION
from dialogist.text.stems import stem_of
from dialogist.text.tokens import bases_of

FIRST, SECOND, OTHER, BARE = 1, 2, 3, 0
"""Of whom something is said: of the speaker, of whom he speaks to, of others, or not told."""

_PERSONS = {
    **dict.fromkeys(listed("i im ill ive"), FIRST),
    **dict.fromkeys(listed("you u ya youre"), SECOND),
    **dict.fromkeys(listed("he she it they we there this that who which"), OTHER),
}
_OWNERS = {"my": FIRST, "our": FIRST, "your": SECOND}
_MARKS = frozenset(".,;:!?…")
_BREAKS = word_set("but because so if when") | _MARKS
_JOINTS = frozenset(("and", "or"))
_SENTENCE = re.compile(r"(?<=[.?!\n…])\s+")


class Saying(NamedTuple):
    """A sentence: in which utterance, by which speaker, whether it asks or denies, who speaks next.

    ``words``: stem of a content word -> of whom it is said.
    """

    utterance: int
    speaker: int | None
    question: bool
    denies: bool
    answerer: int | None
    words: dict[str, int]


class Sayings:
    """The sentences of a dialogue; ``of[stem]`` are those that hold a word."""

    def __init__(self, dialogue: Dialogue, speakers: Speakers) -> None:
        spoken = [speakers.number.get(u.speaker) for u in dialogue.utterances]
        self.all = list(_sayings(dialogue.utterances, spoken))
        self.of: dict[str, list[Saying]] = defaultdict(list)
        for saying in self.all:
            for word in saying.words:
                self.of[word].append(saying)


def _sayings(utterances: tuple[Utterance, ...], spoken: list[int | None]) -> Iterator[Saying]:
    for i, utterance in enumerate(utterances):
        answerer = spoken[i + 1] if i + 1 < len(spoken) else None
        for sentence in _SENTENCE.split(utterance.text):
            words = _words(sentence)
            if words:
                denies = NEGATION.search(sentence) is not None
                yield Saying(i, spoken[i], "?" in sentence, denies, answerer, words)


def _words(sentence: str) -> dict[str, int]:
    """The stems of a sentence and of whom they are said: the last pronoun before them."""
    found: dict[str, int] = {}
    person, fresh = BARE, True
    for base in bases_of(sentence):
        if base in _BREAKS or base in _JOINTS:
            person, fresh = (BARE if base in _BREAKS else person), True
        elif base in _PERSONS:
            person = _PERSONS[base]
        elif fresh and base in _OWNERS:
            person, fresh = _OWNERS[base], False
        else:
            fresh = False
            if base not in FUNCTION_WORDS and is_content(base):
                found.setdefault(stem_of(base), person)
    return found
