"""The forms of what commands write, and where it goes: stdout, or a file complete or absent."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from enum import StrEnum
from pathlib import Path
from typing import TextIO, TypeVar

from dialogist.errors import DataError, UsageError

OutputFormat = StrEnum("OutputFormat", ["text", "json", "jsonl", "md", "csv"])
"""Forms of summaries."""
Records = StrEnum("Records", ["text", "jsonl"])
"""Forms of dialogues."""
Facts = StrEnum("Facts", ["text", "json"])
"""Forms of what a command finds out."""

_BY_SUFFIX = {".txt": "text"} | {
    f".{form}": form for form in ("json", "jsonl", "md", "csv", "html")
}
_FOREIGN = (
    *(".docx", ".doc", ".odt", ".rtf", ".pdf", ".xlsx", ".xls", ".ods"),
    *(".tsv", ".xml", ".yaml", ".parquet", ".png", ".svg"),
)
"""Suffixes whose programs could not read any form of ours."""

FormT = TypeVar("FormT", bound=StrEnum)


def output_format_of(output: Path | None, format: FormT | None, usual: FormT) -> FormT:
    """The form to write: --format, else what the suffix of --output says, else ``usual``.

    Call it first: a command that works for an hour must not fail at the end.

    Raises:
        UsageError: the file cannot be made there, or its suffix names a form that the command
            does not have.
    """
    if output is not None and is_file(output):
        if output.is_dir():
            raise UsageError(f"--output {output}: is a folder; name a file in it")
        if not Path(os.path.realpath(output)).parent.is_dir() and not is_special(output):
            raise UsageError(
                f"--output {output}: there is no folder {output.parent}; make it first"
            )
    suffix = "" if output is None else output.suffix.lower()
    named = suffix[1:] if suffix in _FOREIGN else _BY_SUFFIX.get(suffix)
    if format is not None or named is None:
        return format or usual
    forms = type(usual)
    if named not in list(forms):
        raise UsageError(
            f"--output {output}: this command does not write {named}; it writes "
            f"{', '.join(forms)} (choose with --format)"
        )
    return forms(named)


def is_file(output: Path | None) -> bool:
    """Whether it names a file, not standard output."""
    return output is not None and str(output) != "-"


def is_special(output: Path) -> bool:
    """Whether a device, a pipe or a socket is there: what cannot be replaced by a file."""
    return output.exists() and not output.is_file() and not output.is_dir()


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
        with _full_told(output), _opened(output, output) as file, redirect_stdout(file):
            yield
        return
    from dialogist.files import temporary_for

    target = Path(os.path.realpath(output))
    temporary = temporary_for(target)
    try:
        with _full_told(output), _opened(temporary, output) as file:
            with redirect_stdout(file):
                file.write("\ufeff" if mark else "")
                file.flush()
                yield
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def _opened(path: Path, output: Path) -> TextIO:
    try:
        return path.open("w", encoding="utf-8", errors="replace", newline="\n")
    except OSError as error:
        raise DataError(f"{output}: cannot be written: {error.strerror}") from None


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
