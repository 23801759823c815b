"""Words as ROUGE sees them: ``rouge-score``'s tokenizer, for any script, with a memory.

For English the words are ``rouge-score``'s own. It drops everything but ASCII letters and digits,
so Chinese would score 0: here each CJK character is a word, and so is a run of letters of another
script that is not Latin. Latin letters with accents split a word, as in ``rouge-score``.
"""

import re
from collections.abc import Callable
from typing import Generic, TypeVar

from dialogist.text.porter import porter_stem

T = TypeVar("T")

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_LATIN = "\u0000-\u024f"
_LAST_LATIN = "\u024f"
_PIECE = re.compile(rf"[{_CJK}]|(?:(?![{_CJK}{_LATIN}_])\w)+|[{_LATIN}]+")
_WORD = re.compile("[a-z0-9]+")
_REMEMBERED = 200_000  # words: some 40 MB, more than any corpus at hand has


class Memory(dict[str, T], Generic[T]):
    """What a function says of a word, asked once a word; it forgets all when it is full."""

    def __init__(self, function: Callable[[str], T]) -> None:
        super().__init__()
        self._function = function

    def __missing__(self, word: str) -> T:
        if len(self) >= _REMEMBERED:
            self.clear()
        self[word] = found = self._function(word)
        return found


class RougeWords:
    """Splits texts into lower-case words, stemmed (Porter, with NLTK's extensions) or not."""

    def __init__(self, stemmer: bool = True) -> None:
        # rouge-score leaves words of up to three letters alone.
        self._stems = Memory(lambda word: porter_stem(word) if len(word) > 3 else word)
        self.stemmer = stemmer

    def __call__(self, text: str) -> list[str]:
        """The words of a text."""
        if text.isascii():
            return self._latin(text)
        words: list[str] = []
        for piece in _PIECE.findall(text):
            words += self._latin(piece) if piece[0] <= _LAST_LATIN else [piece.lower()]
        return words

    def _latin(self, text: str) -> list[str]:
        found: list[str] = _WORD.findall(text.lower())
        return [self._stems[word] for word in found] if self.stemmer else found
