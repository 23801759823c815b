"""The text of a Word file (.docx), paragraph by paragraph, without a library.

A .docx is a zip archive whose ``word/document.xml`` holds the text. Sizes are limited before
anything is unpacked, and a document type declaration, which such a file never has, is refused.
"""

import io
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO
from xml.parsers import expat

from dialogist.errors import DataError

LARGEST_ARCHIVE = 1 << 28
LARGEST_TEXT = 1 << 27
_DOCUMENT = "word/document.xml"
_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main "
_FALLBACK = "http://schemas.openxmlformats.org/markup-compatibility/2006 Fallback"
_STEP = 1 << 16


def docx_text(chunks: Iterator[bytes]) -> bytes:
    """Unpack the paragraphs of a .docx as lines of UTF-8.

    Raises:
        DataError: it is another kind of archive, damaged, or too large.
    """
    data = bytearray()
    for chunk in chunks:
        data += chunk
        if len(data) > LARGEST_ARCHIVE:
            raise DataError(f"is an archive of more than {LARGEST_ARCHIVE >> 20} MiB")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = set(archive.namelist())
            if _DOCUMENT not in names:
                raise DataError(_other_archive(names))
            with archive.open(_DOCUMENT) as document:
                return "\n".join(_paragraphs(_limited(document))).encode("utf-8", "replace")
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise DataError(f"is a damaged or protected .docx or zip file: {error}") from None
    except expat.ExpatError as error:
        raise DataError(f"is a damaged .docx file: {error}") from None


def _other_archive(names: set[str]) -> str:
    if "xl/workbook.xml" in names:
        return "is an Excel workbook: save the sheet as CSV (UTF-8) first"
    if "content.xml" in names:
        return "is an OpenDocument file: save it as .docx, .csv or .txt first"
    return "is a zip archive: unpack it and give the folder"


def _limited(document: IO[bytes]) -> Iterator[bytes]:
    """Chunks of the unpacked text; a bomb is refused by what it unpacks to, not by what it says."""
    size = 0
    while chunk := document.read(_STEP):
        size += len(chunk)
        if size > LARGEST_TEXT:
            raise DataError(f"unpacks to more than {LARGEST_TEXT >> 20} MiB of text")
        yield chunk


def _paragraphs(chunks: Iterator[bytes]) -> list[str]:
    collector = _Collector()
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartElementHandler = collector.start
    parser.EndElementHandler = collector.end
    parser.CharacterDataHandler = collector.characters
    parser.StartDoctypeDeclHandler = collector.doctype
    for chunk in chunks:
        parser.Parse(chunk, False)
    parser.Parse(b"", True)
    return collector.lines


class _Collector:
    """Takes paragraphs as lines; the two cells of a row become ``first: second``."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._text: list[str] = []
        self._cells: list[str] = []
        self._in_text = False
        self._fallback = 0  # the same text again, for old programs
        self._rows = 0

    def doctype(self, *_: object) -> None:
        raise DataError("is no .docx as Word writes them: it declares a document type")

    def start(self, name: str, _: object) -> None:
        if name == _FALLBACK:
            self._fallback += 1
        elif name == f"{_WORD}tr":
            self._rows += 1
            self._cells = []
        elif name == f"{_WORD}tc" and self._rows:
            self._cells.append("")
        elif name == f"{_WORD}t":
            self._in_text = not self._fallback
        elif name in (f"{_WORD}br", f"{_WORD}cr"):
            self._text.append("\n")
        elif name == f"{_WORD}tab":
            self._text.append("\t")

    def end(self, name: str) -> None:
        if name == _FALLBACK:
            self._fallback -= 1
        elif name == f"{_WORD}t":
            self._in_text = False
        elif name == f"{_WORD}p":
            self._end_paragraph()
        elif name == f"{_WORD}tr":
            self._rows -= 1
            cells = [cell.strip() for cell in self._cells if cell.strip()]
            two = len(cells) == 2 and not cells[0].endswith((":", "："))
            self.lines.append((": " if two else " ").join(cells))
            self._cells = []

    def characters(self, text: str) -> None:
        if self._in_text:
            self._text.append(text)

    def _end_paragraph(self) -> None:
        text = "".join(self._text)
        self._text = []
        if self._rows and self._cells:
            self._cells[-1] = f"{self._cells[-1]}\n{text}".strip("\n")
        else:
            self.lines.append(text)
