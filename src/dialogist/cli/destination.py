"""Where a command's output goes: standard output, or a file that is complete or absent."""

from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

from dialogist.cli.forms import FormT, form_by_suffix
from dialogist.errors import DataError, UsageError
from dialogist.files import sync, temporary_for

BYTE_ORDER_MARK = "\ufeff"


def form_of(output: Path | None, format: FormT | None, usual: FormT) -> FormT:
    """Return the form to write: --format, else what the suffix of --output says, else ``usual``.

    Call it first: a command that works for an hour must not fail at the end.

    Raises:
        UsageError: the file cannot be made there, or its suffix names a form that the command
            does not have.
    """
    check_file(output)
    return format if format is not None else form_by_suffix(output, usual)


def is_file(output: Path | None) -> bool:
    """Whether it names a file, not standard output."""
    return output is not None and str(output) != "-"


@contextmanager
def output_to(output: Path | None, mark: bool = False) -> Iterator[None]:
    """Send what is printed within the block to a file; without one, to standard output.

    ``mark``: the file begins with a byte-order mark, by which Excel knows UTF-8.

    Raises:
        DataError: the file cannot be written.
    """
    if output is None or not is_file(output):
        yield
        return
    temporary = temporary_for(output)
    try:
        try:
            file = temporary.open("w", encoding="utf-8", errors="replace", newline="\n")
        except OSError as error:
            raise DataError(f"{output}: cannot be written: {error.strerror}") from None
        with file, redirect_stdout(file):
            file.write(BYTE_ORDER_MARK if mark else "")
            file.flush()
            yield
        sync(temporary)
        temporary.replace(output)
    finally:
        temporary.unlink(missing_ok=True)


def check_file(output: Path | None) -> None:
    """See that a file can be made there.

    Raises:
        UsageError: it is a folder, or its folder does not exist.
    """
    if output is None or not is_file(output):
        return
    if output.is_dir():
        raise UsageError(f"--output {output}: is a folder; name a file in it")
    if not output.absolute().parent.is_dir():
        raise UsageError(f"--output {output}: there is no folder {output.parent}; make it first")
