"""A file or stream as numbered lines of text: compression, Word files and encodings end here.

path or stream -> chunks of bytes -> (unpacked) -> (text of a .docx) -> (UTF-16 to UTF-8) -> lines
"""

import codecs
import json
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from dialogist.errors import DataError, UsageError, needs_extra

ZIP_MAGIC = b"PK\x03\x04"

_RECORDING = "is a recording: transcribe it first (the JSON of Whisper is read)"
_PICTURE = "is a picture: its text has to be typed or recognised first"
_UNSUPPORTED = (
    (rb"%PDF-", "is a PDF: save its text first (pdftotext FILE.pdf, or 'Save as text')"),
    (rb"PAR1", "is a Parquet file: give it a name that ends in .parquet"),
    (rb"\xd0\xcf\x11\xe0", "is an old Office file: save it as .docx, .csv or .txt first"),
    (rb"\{\\rtf", "is rich text (RTF): save it as .docx or .txt first"),
    (rb"ID3|RIFF|OggS|fLaC|\x1a\x45\xdf\xa3|....ftyp", _RECORDING),
    (rb"\x89PNG|\xff\xd8\xff|GIF8", _PICTURE),
    (rb"SQLite format 3", "is a database: export the messages as CSV or JSON first"),
)
"""How files begin that are no text, and what to do about them."""
_SAMPLE = 1 << 16
_CONTROL = bytes(set(range(32)) - set(b"\t\n\v\f\r\x1b"))
_FEW = 0.25  # high bytes for each ASCII letter, in Western text
_ENOUGH = 8  # high bytes that a guess by statistics needs
# Letters of Western Europe, and the typographic and currency signs of office programs.
_LETTERS = "ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜßàáâãäåæçèéêëìíîïñòóôõöøùúûüŒœŠšŽž"
_WESTERN = frozenset(_LETTERS + "£€¥¢©®™°§«»‘’“”‚„–—…•·½¼¾²³µ¿¡\xa0´±")
# Encodings that people's files are in; more would only make a guess worse.
_CANDIDATES = ["cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "gb18030", "big5", "cp932"]
_CANDIDATES += ["cp949", "koi8_r", "cp1255", "cp1256"]


def detect_encoding(head: bytes) -> str:
    """Name the encoding of a text by its first bytes; empty where it is no text at all."""
    sample = head[:_SAMPLE]
    even, odd = sample[0:512:2], sample[1:512:2]
    if len(even) >= 4 and odd:  # UTF-16 without its mark: every second byte of Western text is zero
        zeros = even.count(0) / len(even), odd.count(0) / len(odd)
        if max(zeros) > 0.6 and min(zeros) < 0.05:
            return "utf-16-le" if zeros[1] > zeros[0] else "utf-16-be"
    if len(sample) - len(sample.translate(None, _CONTROL)) > len(sample) / 50:
        return ""
    if _decodes(head, "utf-8"):
        return "utf-8"
    lines = [line for line in head.split(b"\n") if line.strip()]
    high = [line for line in lines if not line.isascii()]
    bad = sum(not _decodes(line, "utf-8") for line in high)
    is_mostly_good = 2 * bad <= len(lines)
    if not bad or (len(high) > 2 * bad and is_mostly_good):
        return "utf-8"
    # A stray byte among lines of ASCII is a damaged line, no sign of another encoding.
    return _legacy(b"\n".join(high)[:_SAMPLE]) or ("utf-8" if is_mostly_good else "")


def _legacy(sample: bytes) -> str:
    """The code page of a sample that is not Unicode; empty where nothing is likely."""
    letters = sum(65 <= byte <= 90 or 97 <= byte <= 122 for byte in sample)
    high = sum(byte >= 128 for byte in sample)
    # Whether the high bytes make sense as cp1252: letters and signs that are in use.
    western = high <= _FEW * letters and _decodes(sample, "cp1252")
    western = western and all(c.isascii() or c in _WESTERN for c in sample.decode("cp1252"))
    if high < _ENOUGH and (western or high < 3):
        return "cp1252" if western else ""
    kana = [c for c in sample.decode("cp932", "replace") if "\u3041" <= c <= "\u30fe"]
    if 4 * len(kana) > high and _decodes(sample, "cp932"):  # if short, it looks Korean
        return "cp932"
    from charset_normalizer import from_bytes  # slow to load, and hardly ever needed

    best = from_bytes(sample, cp_isolation=_CANDIDATES, enable_fallback=False).best()
    if best is None:
        return "cp1252" if western else ""
    text = str(best)
    if western and text == sample.decode("cp1252"):
        return "cp1252"  # several code pages agree: the best known one
    # Korean is written without Chinese characters: short Chinese texts are taken for it.
    if best.encoding == "cp949" and any("\u4e00" <= character <= "\u9fff" for character in text):
        return "gb18030" if _decodes(sample, "gb18030") else "cp949"
    return best.encoding


def _decodes(sample: bytes, encoding: str) -> bool:
    """Whether bytes are text of an encoding; a character cut at the end does not count."""
    try:
        codecs.getincrementaldecoder(encoding)().decode(sample)
    except UnicodeDecodeError:
        return False
    return True


CHUNK = 1 << 16
HEAD = 1 << 20  # a meeting of QMSum is one line of some 100 kB: detection wants a whole record
LONGEST_LINE = 1 << 28
GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_PACKED_STEP = 1 << 10  # bytes taken at once: of zstd they may grow to 32 MB, of gzip to 1 MB
_MARKS = {"utf-8-sig": (codecs.BOM_UTF8,), "utf-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)}
_MARKS["utf-16"] = codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE


class SourceLine(NamedTuple):
    """A line without its end, counted from 1."""

    number: int
    text: str


class Source:
    """Text that can be read once, line by line, and whose head can be looked at before.

    ``failure`` is why reading broke off: the lines just end, and the caller raises it afterwards.
    ``detected`` is an encoding that neither somebody nor a mark named; ``path`` is of a file.
    """

    def __init__(self, name: str, stem: str, chunks: Iterator[bytes], encoding: str = "") -> None:
        """Look at the head, settle compression and encoding; a `DataError`: there is no text."""
        self.name = name
        self.stem = stem
        self.path: Path | None = None
        self.failure: DataError | None = None
        head, chunks = _peek(self._guarded(chunks), len(ZIP_MAGIC))
        if head.startswith(GZIP_MAGIC):
            chunks = self._guarded(_unpacked(chunks, partial(zlib.decompressobj, 31), "gzip"))
        elif head.startswith(ZSTD_MAGIC):
            chunks = self._guarded(_unzstd(chunks))
        head, chunks = _peek(chunks, HEAD)
        if head.startswith(ZIP_MAGIC):
            from dialogist.formats.documents import LARGEST_ARCHIVE, docx_text

            try:
                text = docx_text(_peek(chunks, LARGEST_ARCHIVE + 1)[0])
            except DataError as error:
                raise self.failure or DataError(f"{name}: {error}") from None
            head, chunks, encoding = text[:HEAD], iter((text,)), "utf-8"
        if not head and self.failure:
            raise self.failure
        codec = encoding or next((c for c, marks in _MARKS.items() if head.startswith(marks)), "")
        self.detected = "" if codec else self._detect(head)
        codec = codec or self.detected
        try:
            has_plain_ends = "a\nb\r".encode(codec) == b"a\nb\r"
        except (UnicodeError, LookupError):
            has_plain_ends = False
        self._encoding = codec if has_plain_ends else "utf-8"
        if not has_plain_ends:  # it cannot be cut at line ends before it is decoded
            texts = codecs.iterdecode(chunks, codec)
            recoded = (text.encode("utf-8", "replace") for text in texts)
            head, chunks = _peek(self._guarded(recoded), HEAD)
        if not head.strip() and not self.failure:
            raise DataError(f"{name}: is empty")
        self.head = head.decode(self._encoding, "replace")
        self.head_is_all = len(head) < HEAD
        self._chunks = chunks

    def _detect(self, head: bytes) -> str:
        """The encoding of bytes without a mark, or a `DataError`: they are no text."""
        for magic, advice in _UNSUPPORTED:
            if re.match(magic, head, re.DOTALL):
                raise DataError(f"{self.name}: {advice}")
        detected = detect_encoding(head) if head.strip() else "utf-8"
        if not detected:
            raise self.failure or DataError(
                f"{self.name}: is binary, or text in an encoding that is not recognised: if it is "
                "text, name its encoding with --encoding"
            )
        return detected

    def lines(self, on_problem: Callable[[int, str], None]) -> Iterator[SourceLine]:
        """The lines; one that is not in the encoding is reported and left out."""
        name = "UTF-8" if self._encoding.startswith("utf-8") else self._encoding
        for number, raw in enumerate(self._split(), start=1):
            try:
                yield SourceLine(number, raw.decode(self._encoding))
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
        except (OSError, ValueError) as error:  # as of a name with a zero, or a closed stream
            self._fail(f"cannot be read: {getattr(error, 'strerror', None) or error}")

    def _split(self) -> Iterator[bytes]:
        """Cut at LF, CR LF or CR; of a last line cut short by a failure nothing is kept."""
        pieces: list[bytes] = []
        size = 0
        for chunk in self._chunks:
            *full, rest = chunk.split(b"\n")
            for piece in full:
                yield from b"".join((*pieces, piece)).removesuffix(b"\r").split(b"\r")
                pieces, size = [], 0
            pieces.append(rest)
            size += len(rest)
            if size > LONGEST_LINE:
                self._fail(f"has a line longer than {LONGEST_LINE >> 20} MiB")
                return
        if any(pieces) and not self.failure:
            yield from b"".join(pieces).removesuffix(b"\r").split(b"\r")

    def _fail(self, reason: str) -> None:
        self.failure = self.failure or DataError(f"{self.name}: {reason}")


def open_source(origin: Path | BinaryIO, encoding: str = "", stem: str = "") -> Source:
    """Open a path, ``Path('-')`` (standard input), or an already open binary stream.

    ``stem`` names dialogues without an id; else the file's name does.

    Raises:
        DataError: no such file, no permission, a folder, empty, or not text.
        UsageError: Python knows no such encoding.
    """
    try:
        if encoding:
            "".encode(encoding)  # refuses codecs from bytes to bytes, such as base64
            codecs.getincrementaldecoder(encoding)
    except (LookupError, ValueError):
        hint = "try utf-8, cp1252, latin-1, utf-16-le, or gb18030"
        raise UsageError(f"unknown encoding '{encoding}': {hint}") from None
    if isinstance(origin, Path) and str(origin) == "-":
        origin = sys.stdin.buffer
    path = origin if isinstance(origin, Path) else None
    given = str(path) if path else getattr(origin, "name", None)
    name = given if isinstance(given, str) else "<stream>"
    stem = stem or Path(without_compression(Path(name).name)).stem.strip("" if path else "<>")
    is_columnar = name.lower().endswith(COLUMNAR)
    chunks = _columnar_lines(origin, name) if is_columnar else _read(origin)
    source = Source(name, stem, chunks, encoding)
    source.path = path
    return source


def found_file(path: Path) -> Path:
    """A path that nobody named, but a folder or a pattern gave.

    Raises:
        DataError: it is a pipe, a socket or a device: reading it may wait for ever.
    """
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise DataError(f"{path}: is a pipe, a socket or a device: name it to have it read")
    return path


def without_compression(name: str) -> str:
    """A file's name without an ending that says how it is packed."""
    return name.removesuffix(".gz").removesuffix(".zst")


def source_of_bytes(data: bytes, name: str = "<bytes>") -> Source:
    """Wrap bytes already in memory, as the head of something or all of it."""
    return Source(name, name.strip("<>"), iter((data,)))


def _read(origin: Path | BinaryIO) -> Iterator[bytes]:
    with origin.open("rb") if isinstance(origin, Path) else nullcontext(origin) as stream:
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


def _unpacked(chunks: Iterator[bytes], new_engine: Callable[[], Any], kind: str) -> Iterator[bytes]:
    """Decompress one or several gzip members or zstd frames, a few megabytes at a time."""
    engine = new_engine()
    for chunk in chunks:
        for start in range(0, len(chunk), _PACKED_STEP):
            rest = chunk[start : start + _PACKED_STEP]
            while rest:
                if engine.eof:
                    rest = rest.lstrip(b"\0")  # tapes and some tools pad gzip with zeros
                    if not rest:
                        break
                    engine = new_engine()
                yield engine.decompress(rest)
                rest = engine.unused_data if engine.eof else b""
    if not engine.eof:
        raise EOFError(kind)


def _unzstd(chunks: Iterator[bytes]) -> Iterator[bytes]:
    with needs_extra("reading .zst files", "scale"):
        import zstandard
    try:
        yield from _unpacked(chunks, zstandard.ZstdDecompressor().decompressobj, "zstd")
    except zstandard.ZstdError as error:
        raise OSError(f"damaged zstd data: {error}") from None


COLUMNAR = _PARQUET, _ARROW = ".parquet", ".arrow"
_ROWS = 256  # read at once


def _columnar_lines(file: Path | BinaryIO, name: str) -> Iterator[bytes]:
    """The rows of a Parquet or Arrow file, a JSON object a line; if damaged, an OSError.

    Arrow's are of its stream format, as ``datasets`` saves it, or of its file format.
    """
    with needs_extra("reading Parquet and Arrow files", "scale"):
        import pyarrow
        from pyarrow import parquet
    given = str(file) if isinstance(file, Path) else file

    def batches() -> Iterator[Any]:
        if name.lower().endswith(_PARQUET):
            with parquet.ParquetFile(given) as table:
                yield from table.iter_batches(batch_size=_ROWS)
            return
        with pyarrow.memory_map(given) if isinstance(given, str) else given as opened:
            is_file = opened.read(6) == b"ARROW1"
            opened.seek(0)
            if not is_file:
                yield from pyarrow.ipc.open_stream(opened)
                return
            reader = pyarrow.ipc.open_file(opened)
            yield from map(reader.get_batch, range(reader.num_record_batches))

    def lines() -> Iterator[bytes]:
        try:
            for batch in batches():
                for start in range(0, batch.num_rows, _ROWS):
                    yield json_lines(batch.slice(start, _ROWS).to_pylist())
        except pyarrow.ArrowException as error:
            raise OSError(f"damaged Parquet or Arrow data: {error}") from None

    return lines()


def json_lines(rows: Iterable[dict[str, Any]]) -> bytes:
    """Rows as JSON lines; dates, decimals and the like become text."""

    def plain(value: Any) -> str:
        return str(value.isoformat()) if hasattr(value, "isoformat") else str(value)

    dumped = (json.dumps(row, ensure_ascii=False, default=plain) for row in rows)
    return "".join(f"{line}\n" for line in dumped).encode("utf-8", "replace")
