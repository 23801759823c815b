"""Capitals and accents for small letters: as others write the words, and as sentences begin.

An uncased model says "ann meets john in paris". Three sources say how it is written, the best
first: the dialogue itself (in the middle of a sentence a capital means something), the texts that
a model was trained on (`learn_casing`), and the rule that a sentence begins with a capital.
"""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from dialogist.language.people import name_mentions
from dialogist.language.tokens import sentence_spans

_WORD = re.compile(r"[^\W_]+")
_FIRST_LETTER = re.compile(r"(?<![^\W_]['’])(?<![^\W_])[^\W\d_]")
_OPENING = re.compile(r"[\"'“‘«(\[]")
_ENDING = re.compile("[^\\W_\U000f0000-\U0010fffd]?['’](?:s|t|m|d|ll|re|ve)$", re.IGNORECASE)
# After "5 p.m." these go on with the sentence, as far as small letters can tell.
_GOES_ON = re.compile(
    r"(?<=\w\.\w\. )(?:And|Or|But|So|Then|If|As|In|On|At|To|For|With|When|After|Before)\b"
)
# Behind one of these, or a placeholder (a private-use character), a sentence may begin.
_FIRST_WORD = re.compile('(?:^|[.!?:;"“”*\U000f0000-\U0010fffd])[\\s"\'“‘(\\[]*[^\\W_]+')
MIN_COUNT = 2
"""How often texts must hold a word for a model folder to remember it."""
_CACHED = 64


def uncased(text: str) -> str:
    """Small letters without accents, as BERT's uncased encoders read them."""
    if text.isascii():
        return text.lower()
    bare = unicodedata.normalize("NFD", text)
    small = "".join(c for c in bare if unicodedata.category(c) != "Mn").lower()
    return unicodedata.normalize("NFC", small)


class Casing:
    """How words are written in the middle of a sentence, by their `uncased` form."""

    def __init__(self, spellings: Mapping[str, str] | None = None) -> None:
        self.spellings = dict(spellings or {})

    def apply(self, text: str) -> str:
        """The text with each word it knows written so; lengths of other words do not change."""
        if not self.spellings:
            return text
        return _WORD.sub(lambda word: self._spelt(text, word), text)

    def _spelt(self, text: str, word: re.Match[str]) -> str:
        if _ENDING.search(text[max(0, word.start() - 2) : word.end()]):
            return word[0]
        return self.spellings.get(uncased(word[0]), word[0])


def learn_casing(texts: Iterable[str]) -> Casing:
    """The words that texts write with a capital or an accent more often than not."""
    counts = _inner_spellings(texts)
    chosen = {key: _best(found) for key, found in counts.items() if found.total() >= MIN_COUNT}
    return Casing({key: word for key, word in sorted(chosen.items()) if word != key})


def recased(text: str, said: Sequence[str]) -> str:
    """``text`` with the capitals of what was ``said``, and of the beginnings of sentences."""
    return _with_capitals(_casing_of(tuple(said)).apply(text))


@lru_cache(maxsize=_CACHED)
def _casing_of(said: tuple[str, ...]) -> Casing:
    """How a dialogue writes its words; small letters are told, too: they overrule what was learned.

    A word that only begins sentences counts if it is a name by all appearance.
    """
    spellings = {key: _best(found) for key, found in _inner_spellings(said).items()}
    for text in said:
        for name in name_mentions(text):
            for word in _WORD.findall(text[name.start : name.end]):
                spellings.setdefault(uncased(word), word)
    return Casing(spellings)


def _inner_spellings(texts: Iterable[str]) -> dict[str, Counter[str]]:
    """How often each word is written how, where no sentence begins; shouted texts do not count."""
    written: Counter[str] = Counter()
    for text in texts:
        if not text.isupper():
            written.update(_WORD.findall(_FIRST_WORD.sub(" ", text)))
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for word, count in written.items():
        counts[uncased(word)][word] += count
    return counts


def _best(found: Counter[str]) -> str:
    """The commonest spelling; of equals the one with fewest capitals."""
    return min(found, key=lambda word: (-found[word], sum(map(str.isupper, word)), word))


def _with_capitals(text: str) -> str:
    """A capital at the beginning of each sentence."""
    # Sentences are told by what follows a full stop: all words get a capital for the while.
    titled = _FIRST_LETTER.sub(lambda letter: _capital(letter[0]), text)
    titled = _GOES_ON.sub(lambda found: found[0].lower(), titled)
    starts = {_first_letter(titled, start) for start, _ in sentence_spans(titled)}
    return "".join(_capital(c) if i in starts else c for i, c in enumerate(text))


def _first_letter(text: str, place: int) -> int:
    while place < len(text) and _OPENING.match(text[place]):
        place += 1
    return place


def _capital(letter: str) -> str:
    """The capital, where it is one character as well (of "ß" it is not)."""
    large = letter.upper()
    return large if len(large) == 1 else letter
