"""WordPiece: text to pieces and back, with every space, capital and unknown character."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import tokenizers
from tokenizers import pre_tokenizers

from dialogist.language.casing import MIN_COUNT, Casing
from dialogist.tokenizers.special_tokens import MOST_LABELS, plan_characters

# Spaces that a WordPiece tokenizer forgets: a rule says where they stand, a mark where it errs.
#
# BERT splits a text at spaces and around every mark of punctuation, and keeps no trace of which was
# which: "don't" and "5.00" come back as "don ' t" and "5 . 00". Here the units of a text are put
# together again by a rule that knows English (and that Chinese has no spaces). Where a text departs
# from the rule, one of two tokens says so, so every text comes back exactly, and well-written text
# hardly needs them: an encoder that was trained without such tokens hardly meets them.
#
#     He paid $5.00 - not "a lot".      he paid $ 5 . 00 ␣ - not " a lot " .

JOIN = "\U0010f200"
"""No space here, though the rule has one. A private-use character: nobody can type it."""

SPACE = "\U0010f201"
"""A space here, though the rule has none."""

CHINESE = "\u3001-\u303f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff01-\uff65"
"""Characters written without spaces, and their punctuation, as a range for a regex's ``[]``."""

PRIVATE = "\U000f0000-\U0010fffd"
"""Placeholders of speakers and entities, and marks: each is a unit of its own."""

_REACH = 12  # characters of what stands before that the rule looks at
_CLOSING = frozenset(".,!?;:%)]}…»”")
_OPENING = frozenset("([{$£€@«“‘")
_APOSTROPHES = "'’"
_ENDINGS = frozenset(("s", "t", "m", "d", "ll", "re", "ve", "clock", "all"))
_CHINESE = re.compile(f"[{CHINESE}]")
_WORDLIKE = re.compile(f"[^\\W_]|[{PRIVATE}]")
_NUMBER = re.compile(r"\d[.,:]$")
_INITIAL = re.compile(r"(?:^|\W)[^\W\d_]\.$")
_TAG = re.compile(r"(?:^|\s)#$")
_TAGGED = re.compile(r"(?:^|\s)#\w+$")
_TIED = re.compile(r"[^\s/-](?:-+|/)$")


class SpacingRule:
    """A text as far as it is put together; units are added from left to right."""

    def __init__(self) -> None:
        self._tail = ""
        self._quoted = False  # inside "..."

    def wants_space(self, unit: str, following: str) -> bool:
        """Whether the rule has a space before ``unit``; ``following`` is the unit after it."""
        if not self._tail:
            return False
        last = self._tail[-1]
        if last.isalnum() and last.isascii():  # most units need no closer look
            if unit.isalnum() and unit.isascii():
                return True
            if unit in _CLOSING:
                return False
        for rule in _RULES:
            verdict = rule(self._tail, unit, following)
            if verdict is not None:
                return verdict
        if unit == '"':
            return not self._quoted
        return not (self._tail[-1] == '"' and self._quoted)

    def add(self, unit: str, space: bool) -> None:
        """Append a unit, with a space before it or without."""
        self._quoted ^= unit == '"'
        if len(unit) < _REACH:
            unit = f"{self._tail} {unit}" if space else self._tail + unit
        self._tail = unit[-_REACH:]


def marks_between(units: Sequence[tuple[str, bool]]) -> Iterator[str]:
    """Before each unit, given with whether a space stands before it: ``JOIN``, ``SPACE`` or ""."""
    line = SpacingRule()
    for place, (unit, space) in enumerate(units):
        following = units[place + 1][0] if place + 1 < len(units) else ""
        wanted = line.wants_space(unit, following)
        yield "" if space == wanted else SPACE if space else JOIN
        line.add(unit, space)


def join_units(units: Sequence[tuple[str, str]]) -> str:
    """The text of units, each given with the mark before it (or "")."""
    line, parts = SpacingRule(), []
    for place, (unit, mark) in enumerate(units):
        following = units[place + 1][0] if place + 1 < len(units) else ""
        space = mark == SPACE if mark else line.wants_space(unit, following)
        parts.append(f" {unit}" if space else unit)
        line.add(unit, space)
    return "".join(parts)


# Each rule sees the end of what stands before, a unit, and the unit after it; None: no opinion.


def _in_number(tail: str, unit: str, following: str) -> bool | None:
    """5.00, 1,000, 6:30"""
    return False if unit[0].isdigit() and _NUMBER.search(tail) else None


def _initials(tail: str, unit: str, following: str) -> bool | None:
    """a.m., U.S."""
    single = len(unit) == 1 and unit.isalpha() and following == "."
    return False if single and _INITIAL.search(tail) else None


def _brackets(tail: str, unit: str, following: str) -> bool | None:
    return False if unit in _CLOSING or tail[-1] in _OPENING else None


def _apostrophe(tail: str, unit: str, following: str) -> bool | None:
    """don't, Ann's, o'clock; dogs' food; 'quoted'"""
    if unit in _APOSTROPHES:
        return _WORDLIKE.fullmatch(tail[-1]) is None
    if tail[-1] not in _APOSTROPHES:
        return None
    if len(tail) > 1 and _WORDLIKE.fullmatch(tail[-2]):
        return unit not in _ENDINGS
    return False


def _hyphen(tail: str, unit: str, following: str) -> bool | None:
    """twenty-five, and/or, yes--no; but not " - " once its first space is marked"""
    if unit in "-/":
        return False if tail[-1] in "-/" or _WORDLIKE.fullmatch(tail[-1]) else None
    return False if _TIED.search(tail) else None


def _hash(tail: str, unit: str, following: str) -> bool | None:
    """#1, #Person1#"""
    if unit == "#":
        return False if _TAGGED.search(tail) else None
    return False if _TAG.search(tail) else None


def _chinese(tail: str, unit: str, following: str) -> bool | None:
    return False if _CHINESE.match(unit) or _CHINESE.match(tail[-1]) else None


_RULES: tuple[Callable[[str, str, str], bool | None], ...] = (
    _in_number,
    _initials,
    _brackets,
    _apostrophe,
    _hyphen,
    _hash,
    _chinese,
)


# `WordPieces`: text to what a WordPiece pipeline can look up, and pieces back to text.
#
# What BERT's own tokenizer forgets comes back: spaces by `SpacingRule`; capitals and accents (of an
# uncased encoder) of words that the training texts always write so; characters that the
# vocabulary lacks, as the bytes of their UTF-8. Typographic marks that it lacks are those of a
# keyboard, though: a model reads a "don’t" of three unknown bytes as if nothing were denied.

WORDPIECE_PREFIX = "##"
"""What a piece begins with that goes on with a word."""

LONGEST_PIECE = 100
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


def utf8_length(lead: int) -> int:
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
        self._inside = frozenset(c for c in self._alone if WORDPIECE_PREFIX + c in vocabulary)
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
        """The text as units with spaces between, and marks where `SpacingRule` errs."""
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
        return self.casing.apply(unicodedata.normalize("NFC", join_units(assembly.units)))

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
            for start in range(0, len(run), LONGEST_PIECE):
                yield run[start : start + LONGEST_PIECE]

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
        elif piece.startswith(WORDPIECE_PREFIX) and len(piece) > len(WORDPIECE_PREFIX):
            self._continue(piece.removeprefix(WORDPIECE_PREFIX))
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
        if len(self._bytes) >= utf8_length(self._bytes[0]):
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
