"""The values that flags of the command line can take, and the form of what a command writes."""

import csv
import errno
import io
import math
import os
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TextIO, TypeVar

from dialogist.errors import DataError, UsageError
from dialogist.files import temporary_for

if TYPE_CHECKING:
    from dialogist.evaluation.report_card import Card


# The values that flags of the command line can take, and the form of what a command writes.


Strategies = Literal["greedy", "beam", "sample"]
"""How a summary is decoded."""
DeviceKind = Literal["auto", "cpu", "cuda"]
"""Where a model computes; auto is the GPU where there is one."""
PrecisionKind = Literal["auto", "fp32", "bf16", "int8"]
"""What a model computes in."""


class OutputFormat(StrEnum):
    """Forms of summaries."""

    text = "text"
    json = "json"
    jsonl = "jsonl"
    md = "md"
    csv = "csv"


class Table(StrEnum):
    """Forms of a table with remarks."""

    text = "text"
    json = "json"
    md = "md"


class CardFormat(StrEnum):
    """Forms of scores."""

    text = "text"
    json = "json"
    md = "md"
    csv = "csv"


class Records(StrEnum):
    """Forms of dialogues and of labels."""

    text = "text"
    jsonl = "jsonl"


class Facts(StrEnum):
    """Forms of what a command finds out."""

    text = "text"
    json = "json"


class Explained(StrEnum):
    """Forms of an explanation."""

    html = "html"
    json = "json"


_BY_SUFFIX = {
    ".txt": "text",
    ".json": "json",
    ".jsonl": "jsonl",
    ".md": "md",
    ".csv": "csv",
    ".html": "html",
}

_FOREIGN = (
    *(".docx", ".doc", ".odt", ".rtf", ".pdf", ".xlsx", ".xls", ".ods"),
    *(".tsv", ".xml", ".yaml", ".parquet", ".png", ".svg"),
)
"""Suffixes whose programs could not read any form of ours."""

FormT = TypeVar("FormT", bound=StrEnum)


def format_by_suffix(output: Path | None, usual: FormT) -> FormT:
    """Return the form that the suffix of a file names; ``usual`` for any other.

    Raises:
        UsageError: the command does not have that form.
    """
    suffix = "" if output is None else output.suffix.lower()
    named = suffix[1:] if suffix in _FOREIGN else _BY_SUFFIX.get(suffix)
    if named is None:
        return usual
    forms = type(usual)
    if named not in list(forms):
        choices = ", ".join(forms)
        raise UsageError(
            f"--output {output}: this command does not write {named}; it writes {choices} "
            "(choose with --format)"
        )
    return forms(named)


# Where a command's output goes: standard output, or a file that is complete or absent.


BYTE_ORDER_MARK = "\ufeff"


def output_format_of(output: Path | None, format: FormT | None, usual: FormT) -> FormT:
    """Return the form to write: --format, else what the suffix of --output says, else ``usual``.

    Call it first: a command that works for an hour must not fail at the end.

    Raises:
        UsageError: the file cannot be made there, or its suffix names a form that the command
            does not have.
    """
    check_file(output)
    return format if format is not None else format_by_suffix(output, usual)


def is_file(output: Path | None) -> bool:
    """Whether it names a file, not standard output."""
    return output is not None and str(output) != "-"


@contextmanager
def output_to(output: Path | None, mark: bool = False) -> Iterator[None]:
    """Send what is printed within the block to a file; without one, to standard output.

    A symbolic link is followed; a device or a pipe is written to as it is. ``mark``: the file
    begins with a byte-order mark, by which Excel knows UTF-8.

    Raises:
        DataError: the file cannot be written.
    """
    if output is None or not is_file(output):
        yield
        return
    if is_special(output):
        with _full_told(output), _opened(output) as file, redirect_stdout(file):
            yield
        return
    target = Path(os.path.realpath(output))
    temporary = temporary_for(target)
    try:
        with _full_told(output), _opened(temporary, output) as file:
            with redirect_stdout(file):
                file.write(BYTE_ORDER_MARK if mark else "")
                file.flush()
                yield
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def is_special(output: Path) -> bool:
    """Whether a device, a pipe or a socket is there: what cannot be replaced by a file."""
    return output.exists() and not output.is_file() and not output.is_dir()


def _opened(path: Path, output: Path | None = None) -> TextIO:
    try:
        return path.open("w", encoding="utf-8", errors="replace", newline="\n")
    except OSError as error:
        raise DataError(f"{output or path}: cannot be written: {error.strerror}") from None


@contextmanager
def _full_told(output: Path) -> Iterator[None]:
    """Say where there is no room; other errors within may be of anything."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        raise DataError(
            f"{output}: cannot be written: {error.strerror}; make room, or give another --output"
        ) from None


def check_file(output: Path | None) -> None:
    """See that a file can be made there.

    Raises:
        UsageError: it is a folder, or its folder does not exist.
    """
    if output is None or not is_file(output):
        return
    if output.is_dir():
        raise UsageError(f"--output {output}: is a folder; name a file in it")
    if not Path(os.path.realpath(output)).parent.is_dir() and not is_special(output):
        raise UsageError(f"--output {output}: there is no folder {output.parent}; make it first")


# CSV that a spreadsheet opens safely, and the scores of systems in it.
#
# A cell that begins like a formula (``=``, ``+``, ``-``, ``@``) gets an apostrophe before it: text
# of a dialogue must not run as a formula.


_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def csv_row(cells: Iterable[object]) -> str:
    """Return one line; None is an empty cell."""
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(map(_cell, cells))
    return line.getvalue()


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, int | float):
        return "" if math.isnan(value) else str(round(value, 6))
    text = "".join(c if c.isprintable() or c in "\n\t" else " " for c in str(value))
    return f"'{text}" if text.startswith(_FORMULA) else text


def card_csv(card: "Card") -> str:
    """Return a line per system: each figure, and the ends of its interval."""
    keys = [column.key for column in card.columns]
    titles = [title for key in keys for title in (key, f"{key}.low", f"{key}.high")]
    lines = [csv_row(["system", "kind", "outputs", "words", *titles])]
    for row in card.rows:
        found = [row.figures.get(key) for key in keys]
        cells = [
            end
            for one in found
            for end in ((None,) * 3 if one is None else (one.figure, one.low, one.high))
        ]
        lines.append(csv_row([row.name, row.kind.value, row.outputs, row.words, *cells]))
    return "".join(lines)


# Tables as text: lines stay whole, for pipes and files; `rich` would fit them to a terminal.


def aligned_lines(rows: Sequence[Sequence[str]], names: Container[int] = (0,)) -> Iterator[str]:
    """Lines of cells in columns: those of ``names`` to the left, figures to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (
            cell.ljust(width) if i in names else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()


def tables_text(
    tables: Iterable[Sequence[Sequence[str]]],
    remarks: Iterable[str],
    names: Container[int] = (0,),
) -> str:
    """Tables with aligned columns, an empty line behind each, then remarks."""
    lines = (line for rows in tables for line in (*aligned_lines(rows, names), ""))
    return "\n".join([*lines, *remarks])


def terminal_safe(text: str) -> str:
    """The text with spaces for control characters: file contents must not steer a terminal."""
    return "".join(c if c.isprintable() else " " for c in text)
