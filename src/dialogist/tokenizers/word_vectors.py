"""Word vectors from a file, for the entries of a vocabulary that spell whole words."""

import gzip
import itertools
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray
from tokenizers import decoders

from dialogist.errors import DataError
from dialogist.records import JSON
from dialogist.language.tokens import counted
from dialogist.tokenizers.base import Tokenizer

# Which entries of a vocabulary spell a whole word, and which one: what word vectors are for.

_BYTE_LEVEL, _METASPACE, _WORDPIECE = "Ġ", "▁", "##"


def words_of_entries(tokenizer: Tokenizer) -> list[str | None]:
    """For each id the word it spells where it begins one, else None (V,).

    Control symbols and placeholders are no words. Of word tokenizers every other entry is one; of
    subword ones those that stand after a space (``Ġhello`` of byte-level pieces, ``▁hello`` of
    SentencePiece; without ``##`` in WordPiece).
    """
    entries = [tokenizer.token(index) for index in range(len(tokenizer))]
    others = {tokenizer.pad_id, tokenizer.unk_id, tokenizer.bos_id, tokenizer.eos_id}
    others |= {*tokenizer.placeholder_ids(), *tokenizer.entity_ids().values()}
    others |= {*tokenizer.plan_ids()}
    ours = {"word": "", "bpe": _BYTE_LEVEL, "unigram": _BYTE_LEVEL}
    style = ours[tokenizer.kind] if tokenizer.kind in ours else _style(entries)
    return [None if index in others else _word(entry, style) for index, entry in enumerate(entries)]


def _style(entries: list[str]) -> str:
    """The mark that most marked entries bear; none at all: every entry is a word."""
    marks = Counter(
        mark
        for entry in entries
        for mark in (_BYTE_LEVEL, _METASPACE, _WORDPIECE)
        if entry.startswith(mark)
    )
    return marks.most_common(1)[0][0] if marks else ""


def _word(entry: str, style: str) -> str | None:
    if style == _WORDPIECE:
        return None if entry.startswith(style) else entry
    if not entry.startswith(style) or entry == style:
        return None
    word = entry.removeprefix(style)
    if style == _BYTE_LEVEL:
        word = str(decoders.ByteLevel().decode([word]))
    return None if "\ufffd" in word else word


# Word vectors from a text file (GloVe, word2vec) for the vocabulary of a tokenizer.
#
# A row is a word and its numbers: ``the 0.418 0.24968 ...``; the first line may be a header with
# the number of rows and their width (word2vec). Files are read as a stream, and only the rows of
# wanted words are kept. Real files are odd in many ways; each oddity is counted and reported.

Vector = NDArray[np.float32]

_LONGEST_LINE = 1 << 20  # bytes; a longer "line" is no text (word2vec's binary format has none)
_PROBED = 200  # lines that the width is found from
_SHOWN = 5


@dataclass(slots=True)
class VectorReport:
    """What a file of vectors held, and how much of a vocabulary it covers.

    ``rows`` were good; ``duplicates`` repeat a wanted word (the first row counts). ``bad_rows``
    are left out: of another width, without a word, or with something that is no finite number
    (numbers are looked at where the word is wanted); ``bad_lines`` are the first of them, from 1.
    ``cp1252_rows`` were not UTF-8 but Windows' encoding, ``invalid_rows`` neither: their words hold
    U+FFFD. ``vocabulary`` entries are words or begin one; of these ``exact`` have a vector of
    their own spelling, ``lowercase`` that of their small letters; ``pieces`` can have none.
    """

    path: str
    width: int = 0
    header: bool = False
    rows: int = 0
    duplicates: int = 0
    bad_rows: int = 0
    bad_lines: list[int] = field(default_factory=list)
    cp1252_rows: int = 0
    invalid_rows: int = 0
    vocabulary: int = 0
    exact: int = 0
    lowercase: int = 0
    pieces: int = 0

    @property
    def coverage(self) -> float:
        """The share (0 to 1) of the vocabulary's words that have a vector."""
        return (self.exact + self.lowercase) / max(1, self.vocabulary)

    def to_json(self) -> dict[str, JSON]:
        """The same as plain JSON values."""
        values: dict[str, JSON] = {n: getattr(self, n) for n in self.__dataclass_fields__}
        return {**values, "coverage": self.coverage}

    def __str__(self) -> str:
        """One line for people."""
        odd = {
            "duplicates": self.duplicates,
            "bad rows": self.bad_rows,
            "rows in cp1252": self.cp1252_rows,
            "rows with invalid bytes": self.invalid_rows,
        }
        oddities = "".join(f"; {count} {what}" for what, count in odd.items() if count)
        return (
            f"{self.path}: {counted(self.rows, 'rows')} of width {self.width}{oddities}; "
            f"{self.exact + self.lowercase} of {self.vocabulary} words of the vocabulary have a "
            f"vector ({100 * self.coverage:.1f}%)"
        )


def vectors_for(
    tokenizer: Tokenizer, path: Path, width: int | None = None, seed: int = 0
) -> tuple[Vector, NDArray[np.bool_], VectorReport]:
    """Vectors for a vocabulary: the matrix (V, width), which rows were found (V,), a report.

    A word takes the row of its spelling, else that of its small letters. Of a subword tokenizer
    the pieces that begin a word take the row of the word they spell. Every other row is drawn from
    a normal distribution with the mean and deviation of the rows found, by ``seed``.

    Raises:
        DataError: no such file, empty, damaged, without rows, or of another width.
    """
    words = words_of_entries(tokenizer)
    spelled = {word for word in words if word is not None}
    rows, report = read_vectors(path, spelled | {word.lower() for word in spelled}, width)
    found = np.zeros(len(words), dtype=np.bool_)
    matrix = np.zeros((len(words), report.width), dtype=np.float32)
    for index, word in enumerate(words):
        if word is None:
            report.pieces += 1
            continue
        report.vocabulary += 1
        row = rows.get(word, rows.get(word.lower()))
        if row is not None:
            matrix[index], found[index] = row, True
            report.exact += word in rows
            report.lowercase += word not in rows
    known = matrix[found]
    centre, spread = (known.mean(), known.std()) if len(known) else (0.0, 0.1)
    drawn = np.random.default_rng(seed).normal(centre, spread, (int((~found).sum()), report.width))
    matrix[~found] = drawn.astype(np.float32)
    return matrix, found, report


def read_vectors(
    path: Path, wanted: Collection[str], width: int | None = None
) -> tuple[dict[str, Vector], VectorReport]:
    """The rows (width,) of the ``wanted`` words, and a report; memory is bounded by these.

    Raises:
        DataError: no such file, empty, damaged, without rows, or of another width than asked for.
    """
    report = VectorReport(str(path))
    rows: dict[str, Vector] = {}
    numbered = enumerate(_lines(path, report), start=1)
    probed = list(itertools.islice(numbered, _PROBED))
    _settle_width(report, [line for _, line in probed], width)
    for number, line in itertools.chain(probed[report.header :], numbered):
        if not _take(line, rows, wanted, report):
            report.bad_rows += 1
            if len(report.bad_lines) < _SHOWN:
                report.bad_lines.append(number)
    if not report.rows:
        raise DataError(f"{path}: holds no row of a word and {report.width} numbers")
    return rows, report


def _take(
    line: bytes, rows: dict[str, Vector], wanted: Collection[str], report: VectorReport
) -> bool:
    """Read one row; False where it is bad. A word may hold spaces (``. . .`` in GloVe 840B)."""
    fields = line.split()
    if len(fields) <= report.width:
        return False
    if len(fields) > report.width + 1 and _is_number(fields[-report.width - 1]):
        return False  # a number too many, not a word with a space
    word = _decoded(b" ".join(fields[: -report.width]), report)
    if word in wanted:
        numbers = [_number(value) for value in fields[-report.width :]]
        if None in numbers:
            return False
        if word in rows:
            report.duplicates += 1
        else:
            rows[word] = np.array(numbers, dtype=np.float32)
    report.rows += 1
    return True


def _number(text: bytes) -> float | None:
    """A finite single-precision number, or None."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) < 3.4e38 and b"_" not in text else None


def _decoded(word: bytes, report: VectorReport) -> str:
    """UTF-8, else cp1252 (a copy of GloVe that went through Windows), else with U+FFFD."""
    try:
        return word.decode("utf-8")
    except UnicodeDecodeError:
        pass
    try:
        text = word.decode("cp1252")
        report.cp1252_rows += 1
    except UnicodeDecodeError:
        text = word.decode("utf-8", errors="replace")
        report.invalid_rows += 1
    return text


def _settle_width(report: VectorReport, lines: list[bytes], asked: int | None) -> None:
    """Find header and width; the width most rows have counts, should the header be wrong."""
    if not lines:
        raise DataError(f"{report.path}: is empty: no word vectors there")
    first = lines[0].split()
    report.header = len(first) == 2 and all(v.isdigit() and len(v) < 12 for v in first)
    widths = Counter(_width(line) for line in lines[report.header :])
    del widths[0]
    promised = int(first[1]) if report.header else 0
    report.width = widths.most_common(1)[0][0] if widths else promised
    if not report.width:
        raise DataError(f"{report.path}: holds no rows of a word and its numbers")
    if asked is not None and report.width != asked:
        raise DataError(f"{report.path}: has vectors of width {report.width}, not {asked}")


def _width(line: bytes) -> int:
    """How many numbers end the line, a word before them."""
    fields = line.split()[1:]
    return sum(1 for _ in itertools.takewhile(_is_number, reversed(fields)))


def _is_number(text: bytes) -> bool:
    return _number(text) is not None


def _lines(path: Path, report: VectorReport) -> Iterator[bytes]:
    """The lines of a plain or gzip file, empty ones out; the last needs no end."""
    try:
        with path.open("rb") as raw:
            zipped = raw.read(2) == b"\x1f\x8b"
            raw.seek(0)
            yield from _lines_of(gzip.GzipFile(fileobj=raw) if zipped else raw)
    except FileNotFoundError:
        raise DataError(f"{path}: no such file of word vectors") from None
    except (EOFError, zlib.error, OSError) as error:
        reason = getattr(error, "strerror", None) or error
        raise DataError(
            f"{path}: cannot be read beyond {counted(report.rows, 'rows')} of word vectors: "
            f"{reason}"
        ) from None


def _lines_of(file: BinaryIO | gzip.GzipFile) -> Iterator[bytes]:
    read: Callable[[int], bytes] = file.readline
    first = read(_LONGEST_LINE).removeprefix(b"\xef\xbb\xbf")  # a byte order mark is no word
    for line in itertools.chain([first] if first else [], iter(lambda: read(_LONGEST_LINE), b"")):
        if line.strip():
            yield line
