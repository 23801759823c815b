"""Text of HTML pages, HTML message bodies and Word files."""

import html
import io
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import IO
from xml.parsers import expat

from dialogist.errors import DataError
from dialogist.formats.moments import LISTS, line_patterns
from dialogist.language.tokens import listed, word_set

_TAGS = "|".join(listed(LISTS["html first"]))
_FIRST = re.compile(rf"\s*<(?:!doctype|!--|(?:{_TAGS})(?:\s[^<>]*)?/?>)", re.IGNORECASE)
_BREAK = re.compile(r"<br\s*/?>|</(?:p|div|li|span|strong|a|b|em|i|td|h[1-6])\s*>", re.IGNORECASE)
_DROPPED, _BLOCKS, _VOID, _QUOTES, _NAMELESS = (
    word_set(LISTS[f"html {kind}"]) for kind in ("dropped", "blocks", "void", "quotes", "nameless")
)
_LONGEST = 1 << 20
_TOKEN = re.compile(
    r"""<(?:(?P<close>/?)(?P<name>[a-zA-Z][a-zA-Z0-9]*)(?:\s(?:[^<>"']|"[^"<]*"|'[^'<]*')*+)?/?"""
    r"""|![^<>]*|\?[^<>]*)>"""
)
_COMMENT = re.compile(r"<!--(?:(?!<!--).)*?-->", re.DOTALL)
_ATTRIBUTE = re.compile(r"""(?P<key>[\w-]+)\s*=\s*(?P<value>"[^"]*"|'[^']*'|[^\s"'>]+)""")
TIME_MARK, END_MARK, QUOTE_MARK = "\x01", "\x04", "\x05"
DEEPEST = 20  # quotes within quotes
# "Best regards," and at most so many short lines below; "-- "; "Sent from my phone".
_MOST_BELOW, _FURTHEST, _WIDEST = 8, 30, 80
_ATTRIBUTION, _CLOSING, _SENT_FROM = line_patterns("quoted_below", "closing", "sent_from")
_SENTENCE = re.compile(r"[.!?]$|.{80}")


def is_html(text: str) -> bool:
    """Whether a text is HTML: it begins with a usual tag, or has a closing one or a line break."""
    return "<" in text and len(text) <= _LONGEST and bool(_FIRST.match(text) or _BREAK.search(text))


def plain_text(text: str) -> str:
    """The text of a message, without markup where it is HTML."""
    return from_html(text) if is_html(text) else text


def message_text(text: str) -> str:
    """The text of a message, without markup, its signature and the mail it replies to."""
    plain = plain_text(text)
    reply = _ATTRIBUTION.search(f"\n{plain}") if ">" in plain else None
    above = plain[: max(0, reply.start() - 1)].strip() if reply else ""
    return without_signature(above or plain)


def without_signature(text: str, name: str = "") -> str:
    """The text of a mail without its closing words, its signature and its sender's ``name``."""
    lines = text.split("\n")
    for number in range(max(1, len(lines) - _FURTHEST), len(lines)):
        line = lines[number][:_WIDEST]
        below = list(filter(None, map(str.strip, lines[number + 1 :])))
        ends = len(below) <= _MOST_BELOW and not any(map(_SENTENCE.search, below))
        if line.rstrip() == "--" or (ends and _CLOSING.fullmatch(line)):
            lines = lines[:number]
            break
    while len(lines) > 1 and (
        not lines[-1].strip()
        or _SENT_FROM.fullmatch(lines[-1][:_WIDEST])
        or set(lines[-1].lower().split()) <= set(name.lower().split())
    ):
        lines.pop()
    body = "\n".join(lines)
    return text if body.strip() == text.strip() else body


def from_html(text: str, marks: Mapping[str, str] = MappingProxyType({})) -> str:
    """The text of HTML, a line for each block.

    ``marks``: what to put before elements of a class or name; `END_MARK` stands behind them.
    With a `QUOTE_MARK` the mail that this one replies to stays, its lines behind ``>``.
    """
    pieces = "".join(_pieces(text.replace(QUOTE_MARK, ""), marks)).split("\n")
    lines = "\n".join(" ".join(piece.split()) for piece in pieces)
    above, *parts = re.sub(r"\n{3,}", "\n\n", lines).strip().split(QUOTE_MARK)
    return above + "".join(part[2:].replace("\n", "\n" + ">" * int(part[:2])) for part in parts)


def _pieces(text: str, marks: Mapping[str, str]) -> Iterator[str]:
    """What people read, a line end for each block; linear, unlike the library's parser."""
    text = _COMMENT.sub("", text) if "-->" in text else text
    skipped, marked, depth, position = "", "", 0, 0  # elements left out or marked; how often open
    dropped, levels = _NAMELESS if QUOTE_MARK in marks.values() else _QUOTES, [0]  # of open quotes
    for tag in _TOKEN.finditer(text):
        if not skipped:
            yield html.unescape(text[position : tag.start()])
        position = tag.end()
        name, closes = (tag["name"] or "").lower(), bool(tag["close"])
        if name and name == (skipped or marked):
            depth += -1 if closes else 1
            if not depth:
                yield f"\n{END_MARK}" if marked else ""
                skipped = marked = ""
        elif QUOTE_MARK in (mark := marks.get(name, "")) and not skipped:
            before = levels[-1]
            if not closes:
                levels.append(min(before + _is_quote(name, tag), DEEPEST))
            elif len(levels) > 1:
                levels.pop()
            yield "\n" if levels[-1] == before else f"\n{mark}{levels[-1]:02}\n"
        elif skipped or closes or name in _VOID:
            yield "\n" if name in _BLOCKS and not skipped else ""
        elif name in _DROPPED or _is_quote(name, tag, dropped):
            skipped, marked, depth = name, "", 1
        elif marks and (mark := _mark_of(name, tag, marks)) and (not marked or mark == END_MARK):
            title = html.unescape(_attributes(tag).get("title", "")) if mark == TIME_MARK else ""
            yield f"\n{mark}{title}"
            skipped, marked, depth = (name if title else ""), name, 1
        elif name in _BLOCKS:
            yield "\n"
    if not skipped:
        yield html.unescape(text[position:])


def _attributes(tag: re.Match[str]) -> dict[str, str]:
    return {m["key"].lower(): m["value"].strip("\"'") for m in _ATTRIBUTE.finditer(tag[0])}


def _mark_of(name: str, tag: re.Match[str], marks: Mapping[str, str]) -> str:
    classes = _attributes(tag).get("class", "").split()
    return next((marks[each] for each in (name, *classes) if each in marks), "")


def _is_quote(name: str, tag: re.Match[str], names: frozenset[str] = _QUOTES) -> bool:
    """Whether an element is the mail that this one replies to, as mail programs mark it."""
    given = {key: value.lower() for key, value in _attributes(tag).items()}
    if name == "blockquote":
        return given.get("type") == "cite" or "gmail_quote" in given.get("class", "")
    return not names.isdisjoint((*given.get("class", "").split(), given.get("id", "")))


LARGEST_ARCHIVE = 1 << 28
LARGEST_TEXT = 1 << 27
_DOCUMENT = "word/document.xml"
_ARCHIVES = {
    "xl/workbook.xml": "is an Excel workbook: save the sheet as CSV (UTF-8) first",
    "content.xml": "is an OpenDocument file: save it as .docx, .csv or .txt first",
}
_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main "
_P, _ROW, _CELL, _T = (f"{_WORD}{name}" for name in ("p", "tr", "tc", "t"))
_SPACES = {f"{_WORD}br": "\n", f"{_WORD}cr": "\n", f"{_WORD}tab": "\t"}
_FALLBACK = "http://schemas.openxmlformats.org/markup-compatibility/2006 Fallback"
_STEP = 1 << 16


def docx_text(data: bytes) -> bytes:
    """The paragraphs of a .docx as lines, or a `DataError`: another archive, damaged, too large."""
    if len(data) > LARGEST_ARCHIVE:
        raise DataError(f"is an archive of more than {LARGEST_ARCHIVE >> 20} MiB")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = set(archive.namelist())
            if _DOCUMENT not in names:
                others = (advice for member, advice in _ARCHIVES.items() if member in names)
                raise DataError(next(others, "is a zip archive: unpack it and give the folder"))
            with archive.open(_DOCUMENT) as document:
                return "\n".join(_paragraphs(document)).encode("utf-8", "replace")
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise DataError(f"is a damaged or protected .docx or zip file: {error}") from None
    except expat.ExpatError as error:
        raise DataError(f"is a damaged .docx file: {error}") from None


def _paragraphs(document: IO[bytes]) -> list[str]:
    """The lines of a document; the two cells of a row are ``first: second``.

    A bomb is refused by what it unpacks to, not by what it says.
    """
    lines: list[str] = []
    texts: list[str] = []
    cells: list[str] = []
    within: Counter[str] = Counter()  # how many elements of a name are open

    def start(name: str, _: object) -> None:
        within[name] += 1
        if name == _ROW:
            cells.clear()
        elif name == _CELL and within[_ROW]:
            cells.append("")
        texts.append(_SPACES.get(name, ""))

    def characters(text: str) -> None:
        if within[_T] and not within[_FALLBACK]:  # the same text again, for old programs
            texts.append(text)

    def end(name: str) -> None:
        within[name] -= 1
        if name == _P:
            text = "".join(texts)
            texts.clear()
            if within[_ROW] and cells:
                cells[-1] = f"{cells[-1]}\n{text}".strip("\n")
            else:
                lines.append(text)
        elif name == _ROW:
            filled = list(filter(None, map(str.strip, cells)))
            two = len(filled) == 2 and not filled[0].endswith((":", "："))
            lines.append((": " if two else " ").join(filled))
            cells.clear()

    def doctype(*_: object) -> None:
        raise DataError("is no .docx as Word writes them: it declares a document type")

    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler, parser.StartDoctypeDeclHandler = characters, doctype
    size = 0
    while chunk := document.read(_STEP):
        size += len(chunk)
        if size > LARGEST_TEXT:
            raise DataError(f"unpacks to more than {LARGEST_TEXT >> 20} MiB of text")
        parser.Parse(chunk, False)
    parser.Parse(b"", True)
    return lines
