"""`WordPieces`: text to what a WordPiece pipeline can look up, and pieces back to text.

What BERT's own tokenizer forgets comes back: spaces by `spacing`; capitals and accents (of an
uncased encoder) of words that the training texts always write so; characters that the
vocabulary lacks, as the bytes of their UTF-8. Typographic marks that it lacks are those of a
keyboard, though: a model reads a "don’t" of three unknown bytes as if nothing were denied.
"""

import unicodedata
from collections.abc import Iterable, Iterator, Mapping

import tokenizers
from tokenizers import pre_tokenizers

from dialogist.text.casing import MIN_COUNT, Casing
from dialogist.tokenizers.plan_tokens import MOST_LABELS, plan_characters
from dialogist.tokenizers.spacing import CHINESE, JOIN, PRIVATE, SPACE, joined, marks_between

PREFIX = "##"
"""What a piece begins with that goes on with a word."""

LONGEST = 100
"""Characters of a word that are looked up at once."""

_TYPED = {"'": "‘’‚‛ʼ′´", '"': "“”„‟″«»", "-": "‐‑‒–—―−", "...": "…"}

_FIRST_BYTE = 0x10F300
_BYTES = frozenset((*range(0x80, 0xC0), *range(0xC2, 0xF5)))  # all that UTF-8 has beyond ASCII


def common_words(counts: Mapping[str, int]) -> list[str]:
    """The words of letters that are no rarity, sorted: what may be one person's stays out."""
    return sorted(w for w, n in counts.items() if n >= MIN_COUNT and len(w) > 1 and w.isalpha())


def extra_tokens() -> list[str]:
    """The tokens that are in no encoder's vocabulary: two marks, and bytes."""
    return [JOIN, SPACE, *(chr(_FIRST_BYTE + byte) for byte in sorted(_BYTES))]


def byte_of(piece: str) -> int | None:
    """The byte that a piece stands for, one of those beyond ASCII; None: it is text."""
    byte = ord(piece) - _FIRST_BYTE if len(piece) == 1 else -1
    return byte if byte in _BYTES else None


def length_of(lead: int) -> int:
    """How many bytes a character has that begins with this one."""
    return 4 if lead >= 0xF0 else 3 if lead >= 0xE0 else 2 if lead >= 0xC0 else 1


class WordPieces:
    """The codec around a WordPiece pipeline whose normalizer is the encoder's own.

    For every text t the pieces of ``marked(t)`` have the text ``plain(t)``: nothing is lost but
    what the encoder's normalizer takes away, and typographic marks that the vocabulary lacks. With
    a ``casing`` capitals and accents come back.
    """

    def __init__(self, pipeline: tokenizers.Tokenizer, casing: Casing) -> None:
        self.casing = casing
        self._normalizer = pipeline.normalizer
        self._splitter = _splitter()
        no_text = {*extra_tokens(), *plan_characters(MOST_LABELS)}
        vocabulary = pipeline.get_vocab().keys() - no_text
        self._alone = frozenset(piece for piece in vocabulary if len(piece) == 1)
        self._inside = frozenset(c for c in self._alone if PREFIX + c in vocabulary)
        self._typed = str.maketrans(
            {
                mark: typed
                for typed, marks in _TYPED.items()
                for mark in marks
                if mark not in self._alone and self._alone.issuperset(typed)
            }
        )

    def plain(self, text: str) -> str:
        """What encoding keeps of a text: white space folded; no capitals or accents if uncased.

        Typographic marks that the vocabulary lacks are typed ones.
        """
        return unicodedata.normalize("NFC", self._folded(text))

    def words(self, text: str) -> Iterator[str]:
        """What is looked up of a text, marks left out."""
        return (self._spelt(unit) for unit, _ in self._units(self._folded(text)))

    def marked(self, text: str) -> str:
        """The text as units with spaces between, and marks where `spacing` errs."""
        units = list(self._units(self._folded(text)))
        words: list[str] = []
        for (unit, _), mark in zip(units, marks_between(units), strict=True):
            if mark:
                words.append(mark)
            words.append(self._spelt(unit))
        return " ".join(words)

    def text(self, pieces: Iterable[str]) -> str:
        """The text of vocabulary entries, in whatever order a model says them."""
        assembly = _Assembly()
        for piece in pieces:
            assembly.add(piece)
        assembly.flush()
        return self.casing.apply(unicodedata.normalize("NFC", joined(assembly.units)))

    def _folded(self, text: str) -> str:
        plain = str(self._normalizer.normalize_str(text))
        typed = plain if plain.isascii() else plain.translate(self._typed)
        return " ".join(typed.split())

    def _units(self, text: str) -> Iterator[tuple[str, bool]]:
        """Units, and whether a space stands before each."""
        end = 0
        for word, (start, stop) in self._splitter.pre_tokenize_str(text):
            space = start > end
            for unit in self._known(word):
                yield unit, space
                space = False
            end = stop

    def _known(self, word: str) -> Iterator[str]:
        """The word in lengths to look up; each character that no word can hold is apart."""
        if self._inside.issuperset(word):
            runs = [word]
        else:
            spaced = "".join(c if c in self._inside else f" {c} " for c in word)
            runs = spaced.split()
        for run in runs:
            for start in range(0, len(run), LONGEST):
                yield run[start : start + LONGEST]

    def _spelt(self, unit: str) -> str:
        if len(unit) > 1 or unit in self._alone:
            return unit
        return " ".join(chr(_FIRST_BYTE + byte) for byte in unit.encode("utf-8", "replace"))


class _Assembly:
    """Units from pieces, each with the mark before it; what no text encodes to is taken as is."""

    def __init__(self) -> None:
        self.units: list[tuple[str, str]] = []
        self._mark = ""
        self._bytes = b""
        self._grows = False  # a piece with the prefix goes on with the last unit

    def add(self, piece: str) -> None:
        byte = byte_of(piece)
        if byte is not None:
            self._add_byte(byte)
            return
        self.flush()
        if piece in (JOIN, SPACE):
            self._mark, self._grows = piece, False
        elif piece.startswith(PREFIX) and len(piece) > len(PREFIX):
            self._continue(piece.removeprefix(PREFIX))
        else:
            self._begin(piece, grows=True)

    def flush(self) -> None:
        """What is left of a character that never ended."""
        if self._bytes:
            self._begin(self._bytes.decode("utf-8", "replace"), grows=False)
            self._bytes = b""

    def _add_byte(self, byte: int) -> None:
        if byte >= 0xC0:
            self.flush()
        self._bytes += bytes((byte,))
        if len(self._bytes) >= length_of(self._bytes[0]):
            self.flush()

    def _begin(self, unit: str, grows: bool) -> None:
        self.units.append((unit, self._mark))
        self._mark, self._grows = "", grows

    def _continue(self, rest: str) -> None:
        if not self._grows:
            self._begin(rest, grows=True)
            return
        unit, mark = self.units[-1]
        self.units[-1] = unit + rest, mark


def _splitter() -> pre_tokenizers.PreTokenizer:
    """BERT's own splitting, and every placeholder and Chinese character apart."""
    apart = tokenizers.Regex(f"[{CHINESE}{PRIVATE}]")
    return pre_tokenizers.Sequence(
        [pre_tokenizers.BertPreTokenizer(), pre_tokenizers.Split(apart, "isolated")]
    )
