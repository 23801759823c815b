"""A file or stream as numbered lines of text: compression, Word files and encodings end here.

path or stream -> chunks of bytes -> (unpacked) -> (text of a .docx) -> (UTF-16 to UTF-8) -> lines
"""

import codecs
import sys
import zlib
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import BinaryIO, NamedTuple

from dialogist.data.readers.columnar import columnar_lines, is_columnar
from dialogist.data.readers.docx import docx_text
from dialogist.data.readers.encodings import check_encoding, detect_encoding, keeps_lines
from dialogist.data.readers.foreign import ZIP_MAGIC, refusal_of
from dialogist.errors import DataError, MissingExtraError

CHUNK = 1 << 16
HEAD = 1 << 20  # a meeting of QMSum is one line of some 100 kB: detection wants a whole record
LONGEST_LINE = 1 << 28
GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_ZSTD_STEP = 1 << 10  # bytes taken at once: they may grow to 32 MB
MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


class Line(NamedTuple):
    """A line without its end, counted from 1."""

    number: int
    text: str


class Source:
    """Text that can be read once, line by line, and whose head can be looked at before.

    ``failure`` is set when reading broke off (truncated gzip, disk error): the lines just end, so
    that a reader can still hand over what it has; the caller raises it afterwards. ``detected`` is
    an encoding that nobody named, empty where somebody did or the file has a mark. ``path`` is
    where the text lies, if it is a file.
    """

    def __init__(self, name: str, stem: str, chunks: Iterator[bytes], encoding: str = "") -> None:
        """Look at the head and settle compression and encoding.

        Raises:
            DataError: the input is empty, unreadable from the start, or not text.
        """
        self.name = name
        self.stem = stem
        self.path: Path | None = None
        self.failure: DataError | None = None
        self._is_word = False
        head, chunks = self._unpacked(chunks)
        if not head and self.failure:
            raise self.failure
        marked = next((c for mark, c in MARKS if head.startswith(mark)), "")
        named = "utf-8" if self._is_word else encoding or marked
        self.detected = "" if named else self._detect(head)
        codec = named or self.detected
        self._encoding = codec if keeps_lines(codec) else "utf-8"
        if self._encoding != codec:
            head, chunks = _peek(self._guarded(_recode(chunks, codec)), HEAD)
        if not head.strip() and not self.failure:
            raise DataError(f"{name}: is empty")
        self.head = head.decode(self._encoding, "replace")
        self.head_is_all = len(head) < HEAD
        self._chunks = chunks

    def _unpacked(self, chunks: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
        """The head and all of it without compression, and without the form of a Word file."""
        head, chunks = _peek(self._guarded(chunks), len(ZIP_MAGIC))
        if head.startswith(GZIP_MAGIC):
            chunks = self._guarded(_gunzip(chunks))
        elif head.startswith(ZSTD_MAGIC):
            chunks = self._guarded(_unzstd(chunks))
        head, chunks = _peek(chunks, HEAD)
        if not head.startswith(ZIP_MAGIC):
            return head, chunks
        try:
            text = docx_text(chunks)
        except DataError as error:
            raise self.failure or DataError(f"{self.name}: {error}") from None
        self._is_word = True
        return text[:HEAD], iter((text,))

    def _detect(self, head: bytes) -> str:
        """The encoding of bytes without a mark.

        Raises:
            DataError: they are no text.
        """
        if refusal := refusal_of(head):
            raise DataError(f"{self.name}: {refusal}")
        detected = detect_encoding(head) if head.strip() else "utf-8"
        if not detected:
            raise self.failure or DataError(
                f"{self.name}: is binary, or text in an encoding that is not recognised: if it is "
                "text, name its encoding with --encoding"
            )
        return detected

    def lines(self, on_problem: Callable[[int, str], None]) -> Iterator[Line]:
        """The lines; one that is not in the encoding is reported and left out."""
        name = "UTF-8" if self._encoding.startswith("utf-8") else self._encoding
        for number, raw in enumerate(self._split(), start=1):
            try:
                yield Line(number, raw.decode(self._encoding))
            except UnicodeDecodeError as error:
                byte = f"byte 0x{raw[error.start]:02x} at {error.start}"
                on_problem(number, f"is not {name}: {byte} (--encoding names another encoding)")

    def _guarded(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """Pass chunks on; when reading fails, note why and end."""
        try:
            yield from chunks
        except EOFError as error:
            self._fail(f"is a truncated {error} file: the end is missing")
        except zlib.error as error:
            self._fail(f"is a damaged gzip file: {error}")
        except UnicodeError as error:
            self._fail(f"is not in the encoding expected: {error}")
        except OSError as error:
            self._fail(f"cannot be read: {error.strerror or error}")

    def _split(self) -> Iterator[bytes]:
        """Cut at LF, CR LF or CR; of a last line cut short by a failure nothing is kept."""
        pieces: list[bytes] = []
        size = 0
        for chunk in self._chunks:
            *full, rest = chunk.split(b"\n")
            for piece in full:
                yield from _carriage_returns(b"".join((*pieces, piece)))
                pieces, size = [], 0
            pieces.append(rest)
            size += len(rest)
            if size > LONGEST_LINE:
                self._fail(f"has a line longer than {LONGEST_LINE >> 20} MiB")
                return
        if any(pieces) and not self.failure:
            yield from _carriage_returns(b"".join(pieces))

    def _fail(self, reason: str) -> None:
        self.failure = self.failure or DataError(f"{self.name}: {reason}")


def open_source(origin: Path | BinaryIO, encoding: str = "", stem: str = "") -> Source:
    """Open a path, ``Path('-')`` (standard input), or an already open binary stream.

    ``stem`` names dialogues that have no id of their own; without it, the file's name does.

    Raises:
        DataError: no such file, no permission, a folder, empty, or not text.
        UsageError: Python knows no such encoding.
    """
    check_encoding(encoding)
    if isinstance(origin, Path) and str(origin) == "-":
        origin = sys.stdin.buffer
    if isinstance(origin, Path):
        name = str(origin)
        stem = stem or Path(without_compression(origin.name)).stem
        chunks = columnar_lines(origin, name) if is_columnar(name) else _read_path(origin)
        source = Source(name, stem, chunks, encoding)
        source.path = origin
        return source
    given = getattr(origin, "name", None)
    name = given if isinstance(given, str) else "<stream>"
    stem = stem or Path(without_compression(name)).stem.strip("<>")
    chunks = columnar_lines(origin, name) if is_columnar(name) else _read_stream(origin)
    return Source(name, stem, chunks, encoding)


def without_compression(name: str) -> str:
    """A file's name without an ending that says how it is packed."""
    return name.removesuffix(".gz").removesuffix(".zst")


def source_of_bytes(data: bytes, name: str = "<bytes>") -> Source:
    """Wrap bytes already in memory, as the head of something or all of it."""
    return Source(name, name.strip("<>"), iter((data,)))


def _read_path(path: Path) -> Iterator[bytes]:
    with path.open("rb") as stream:
        yield from _read_stream(stream)


def _read_stream(stream: BinaryIO) -> Iterator[bytes]:
    while chunk := stream.read(CHUNK):
        yield chunk


def _peek(chunks: Iterator[bytes], wanted: int) -> tuple[bytes, Iterator[bytes]]:
    """The first ``wanted`` bytes or some more, and the chunks with those put back."""
    taken: list[bytes] = []
    size = 0
    for chunk in chunks:
        taken.append(chunk)
        size += len(chunk)
        if size >= wanted:
            break
    return b"".join(taken), chain(taken, chunks)


def _gunzip(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Inflate one or several gzip members, never more than a megabyte at a time."""
    engine = zlib.decompressobj(31)
    for chunk in chunks:
        rest = chunk
        while rest:
            if engine.eof:
                rest = rest.lstrip(b"\0")  # tapes and some tools pad with zeros
                if not rest:
                    break
                engine = zlib.decompressobj(31)
            yield engine.decompress(rest, HEAD)
            rest = engine.unconsumed_tail or (engine.unused_data if engine.eof else b"")
    yield engine.flush()
    if not engine.eof:
        raise EOFError("gzip")


def _unzstd(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Decompress one or several zstd frames."""
    try:
        import zstandard
    except ImportError:
        raise MissingExtraError("reading .zst files", "scale") from None
    unpacker = zstandard.ZstdDecompressor()
    engine = unpacker.decompressobj()
    try:
        for chunk in chunks:
            for start in range(0, len(chunk), _ZSTD_STEP):
                rest = chunk[start : start + _ZSTD_STEP]
                while rest:
                    if engine.eof:
                        engine = unpacker.decompressobj()
                    yield engine.decompress(rest)
                    rest = engine.unused_data if engine.eof else b""
    except zstandard.ZstdError as error:
        raise OSError(f"damaged zstd data: {error}") from None
    if not engine.eof:
        raise EOFError("zstd")


def _recode(chunks: Iterator[bytes], encoding: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)()
    for chunk in chunks:
        yield decoder.decode(chunk).encode("utf-8", "replace")
    yield decoder.decode(b"", final=True).encode("utf-8", "replace")


def _carriage_returns(line: bytes) -> list[bytes]:
    return line.removesuffix(b"\r").split(b"\r")
