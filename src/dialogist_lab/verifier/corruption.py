"""True statements made false by a word, so that training knows which word it is.

What a dialogue itself holds takes the place: another of its names, numbers or nouns. As in ELECTRA
(Clark et al. 2020) a label for every token teaches more at a time than one for the sentence.
"""

import random
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import pairwise

from dialogist.language.tokens import FUNCTION_WORDS, word_set
from dialogist.records import Dialogue

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*|\d+(?:[.,:]\d+)*")
_OPPOSITES = """
before after| more less| first last| open closed| accepted refused| agreed refused|
agrees refuses| up down| with without| always never| morning evening| today tomorrow| old new|
left right| buy sell| early late| can cannot| may will| might will| could will|
increase decrease| higher lower| paid unpaid| works fails| customer agent| patient doctor|
user assistant| he she| his her| him her| both neither| all some| only also| if when| unless if|
until from| since until| yes no| wants offers| asked told| asks tells| gave got| gives gets|
big small| cheaper dearer| free paid| same different| now later| next last| mother father|
brother sister| husband wife| son daughter| son's daughter's| long short| full empty|
better worse| remembers forgets| keep return| bring leave| call email| send collect| add remove|
allowed forbidden| possible impossible| good bad| warm cold|
monday tuesday wednesday thursday friday saturday sunday|
january february march april may june july august september october november december|
one two three four five six seven eight nine ten eleven twelve twenty thirty fifty hundred|
minutes hours days weeks months years| week month| day week| year month| hour day| hours days
"""
_VERBS = word_set("is was are were will can could does did has had would should")
_BEFORE_NOUNS = word_set("a an the his her their my your our this that some no new")
_LEAST = 4  # letters of a word that is replaced

Words = Sequence[re.Match[str]]
Change = tuple[re.Match[str], list[str]]
"""A word, and those that may take its place."""


@cache
def _others() -> dict[str, list[str]]:
    """Of each word of a group the others."""
    others: dict[str, list[str]] = {}
    for group in " ".join(_OPPOSITES.split()).split("|"):
        words = group.split()
        for word in words:
            others.setdefault(word, []).extend(o for o in words if o != word)
    return others


def corrupted(
    text: str, dialogue: Dialogue, draw: random.Random
) -> tuple[str, tuple[int, int]] | None:
    """The text with one word changed, and where; None: nothing in it can be."""
    lines = [f"{u.speaker}: {u.text}" for u in dialogue.utterances]
    heard = [m[0] for line in lines for m in _WORD.finditer(line)]
    words = list(_WORD.finditer(text))
    ways: list[Callable[[], Iterator[Change]]] = [
        lambda: _named(words, heard),
        lambda: _opposed(words),
        lambda: _alike(words, heard),
        lambda: _numbered(words, heard, draw),
        lambda: _negated(words),
    ]
    draw.shuffle(ways)
    changes = next(filter(None, (list(way()) for way in ways)), None)
    if changes is None:
        return None
    word, others = draw.choice(changes)
    new = draw.choice(others)
    if word[0][0].isupper() and word.start() == 0:
        new = new[0].upper() + new[1:]
    place = (word.start(), word.start() + len(new))
    return text[: word.start()] + new + text[word.end() :], place


def _named(words: Words, heard: Sequence[str]) -> Iterator[Change]:
    names = {w for w in heard if w[0].isupper() and w.lower() not in FUNCTION_WORDS and len(w) > 2}
    names -= {w for w in names if w.lower() in heard}
    for word in words:
        if word[0] in names and (others := sorted(names - {word[0]})):
            yield word, others


def _opposed(words: Words) -> Iterator[Change]:
    for word in words:
        if others := _others().get(word[0].lower()):
            yield word, [o.capitalize() if word[0][0].isupper() else o for o in others]


def _alike(words: Words, heard: Sequence[str]) -> Iterator[Change]:
    nouns = {w for before, w in pairwise(heard) if before in _BEFORE_NOUNS and _may_be_noun(w)}
    for before, word in pairwise(words):
        if before[0].lower() in _BEFORE_NOUNS and _may_be_noun(word[0]):
            plural = word[0].endswith("s")
            others = [o for o in nouns if o.endswith("s") == plural and o[:4] != word[0][:4]]
            if others:
                yield word, sorted(others)


def _numbered(words: Words, heard: Sequence[str], draw: random.Random) -> Iterator[Change]:
    numbers = {w for w in heard if w[0].isdigit()}
    for word in words:
        if word[0][0].isdigit():
            digits = [i for i, c in enumerate(word[0]) if c.isdigit()]
            place, digit = draw.choice(digits), str(draw.randrange(1, 10))
            typed = word[0][:place] + digit + word[0][place + 1 :]
            others = [o for o in (*sorted(numbers), typed) if o != word[0]]
            if others:
                yield word, others


def _negated(words: Words) -> Iterator[Change]:
    for word, after in zip(words, (*words[1:], None), strict=False):
        if word[0] in _VERBS and (after is None or after[0] != "not"):
            yield word, [f"{word[0]} not"]
        if word[0] == "not":
            yield word, ["surely"]


def _may_be_noun(word: str) -> bool:
    return word.islower() and len(word) >= _LEAST and word not in FUNCTION_WORDS
