"""A file or stream as numbered lines of text: gzip, byte-order marks and bad bytes end here.

path or stream -> chunks of bytes -> (gunzip) -> (recode to UTF-8) -> lines
"""

import codecs
import sys
import zlib
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import BinaryIO, NamedTuple

from dialogist.errors import DataError, UsageError

CHUNK = 1 << 16
HEAD = 1 << 20  # a meeting of QMSum is one line of some 100 kB: detection wants a whole record
LONGEST_LINE = 1 << 28
GZIP_MAGIC = b"\x1f\x8b"
MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CONTROL = bytes(set(range(32)) - set(b"\t\n\v\f\r\x1b"))


class Line(NamedTuple):
    """A line without its end, counted from 1."""

    number: int
    text: str


class Source:
    """Text that can be read once, line by line, and whose head can be looked at before.

    ``failure`` is set when reading broke off (truncated gzip, disk error): the lines just end, so
    that a reader can still hand over what it has; the caller raises it afterwards.
    """

    def __init__(self, name: str, stem: str, chunks: Iterator[bytes], encoding: str = "") -> None:
        """Look at the head and settle compression and encoding.

        Raises:
            DataError: the input is empty, unreadable from the start, or not text.
            UsageError: Python knows no such encoding.
        """
        self.name = name
        self.stem = stem
        self.failure: DataError | None = None
        head, chunks = _peek(self._guarded(chunks), len(GZIP_MAGIC))
        if head.startswith(GZIP_MAGIC):
            chunks = self._guarded(_gunzip(chunks))
        head, chunks = _peek(chunks, HEAD)
        if not head and self.failure:
            raise self.failure
        codec = encoding or next((c for mark, c in MARKS if head.startswith(mark)), "")
        if codec:
            head, chunks = _peek(self._guarded(_recode(chunks, codec)), HEAD)
        if not head.strip() and not self.failure:
            raise DataError(f"{name}: is empty")
        if not _is_text(head):
            raise self.failure or DataError(
                f"{name}: is binary (or not UTF-8): name its encoding if it is text"
            )
        self.head = head.decode("utf-8", "replace")
        self.head_is_all = len(head) < HEAD
        self._chunks = chunks

    def lines(self, on_problem: Callable[[int, str], None]) -> Iterator[Line]:
        """The lines; one that is not UTF-8 is reported and left out."""
        for number, raw in enumerate(self._split(), start=1):
            try:
                yield Line(number, raw.decode("utf-8"))
            except UnicodeDecodeError as error:
                on_problem(number, f"is not UTF-8: byte 0x{raw[error.start]:02x} at {error.start}")

    def _guarded(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """Pass chunks on; when reading fails, note why and end."""
        try:
            yield from chunks
        except EOFError:
            self._fail("is a truncated gzip file: the end is missing")
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


def open_source(origin: Path | BinaryIO, encoding: str = "") -> Source:
    """Open a path, ``Path('-')`` (standard input), or an already open binary stream.

    Raises:
        DataError: no such file, no permission, a folder, empty, or not text.
        UsageError: Python knows no such encoding.
    """
    _check_encoding(encoding)
    if isinstance(origin, Path) and str(origin) == "-":
        origin = sys.stdin.buffer
    if isinstance(origin, Path):
        stem = origin.name.removesuffix(".gz")
        return Source(str(origin), Path(stem).stem, _read_path(origin), encoding)
    name = getattr(origin, "name", None)
    name = name if isinstance(name, str) else "<stream>"
    return Source(name, Path(name).stem.strip("<>"), _read_stream(origin), encoding)


def source_of_bytes(data: bytes, name: str = "<bytes>") -> Source:
    """Wrap bytes already in memory, as the head of something or all of it."""
    return Source(name, name.strip("<>"), iter((data,)))


def _check_encoding(encoding: str) -> None:
    try:
        if encoding:
            "".encode(encoding)  # refuses codecs from bytes to bytes, such as base64
            codecs.getincrementaldecoder(encoding)
    except (LookupError, ValueError):
        hint = "try utf-8, cp1252, latin-1, or gb18030"
        raise UsageError(f"unknown encoding '{encoding}': {hint}") from None


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
        raise EOFError


def _recode(chunks: Iterator[bytes], encoding: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)()
    for chunk in chunks:
        yield decoder.decode(chunk).encode("utf-8", "replace")
    yield decoder.decode(b"", final=True).encode("utf-8", "replace")


def _carriage_returns(line: bytes) -> list[bytes]:
    return line.removesuffix(b"\r").split(b"\r")


def _is_text(head: bytes) -> bool:
    """Tell text with a few bad lines from something that is no text at all."""
    sample = head[:CHUNK]
    controls = len(sample) - len(sample.translate(None, _CONTROL))
    lines = [line for line in sample.split(b"\n") if line.strip()]
    # The last line of a longer file is cut, perhaps in the middle of a character.
    whole = len(sample) < CHUNK
    bad = sum(not _is_utf8(line, whole) for line in lines)
    return controls <= len(sample) / 50 and 2 * bad <= len(lines)


def _is_utf8(line: bytes, whole: bool) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(line, final=whole)
    except UnicodeDecodeError:
        return False
    return True
