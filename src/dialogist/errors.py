"""Every error a person can cause, each with the exit code the command line gives it.

    DialogistError            1  something failed: what, where, what to do
    ├── UsageError            2  the call itself is wrong: a flag, a combination of flags
    │   └── ConfigError       2  a configuration key or value is wrong (named, with the nearest)
    ├── DataError             1  a file cannot be read, or holds no dialogue
    ├── ModelError            1  a model is missing, broken, or of a newer format
    ├── CheckpointError       1  a checkpoint is incomplete, damaged, or of another run
    └── MissingExtraError     1  an optional package is not installed

Exit code 3 (some records failed, the rest is done) is no exception: the work goes on, the command
line counts. 130 and 143 are SIGINT and SIGTERM.
"""

import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager


class DialogistError(Exception):
    """Base of all errors meant for the user: one line that says what, where, and what to do."""

    exit_code = 1


class Stopped(Exception):
    """The work was stopped by a signal, which ``exit_code`` tells; all it needs is saved."""

    exit_code = 130


class UsageError(DialogistError):
    """The call is wrong in itself; nothing was read or written."""

    exit_code = 2


class ConfigError(UsageError):
    """A configuration key or value is wrong."""


class DataError(DialogistError):
    """A data file cannot be read, or a record in it is wrong."""


class Declined(DataError):
    """A language model declines to write of this dialogue, whose status is ``refused``."""


class ModelError(DialogistError):
    """A model is missing, incomplete, damaged or too new, or an endpoint cannot be used at all."""


class CheckpointError(DialogistError):
    """A training checkpoint is incomplete, damaged, or belongs to another run."""


class MissingExtraError(DialogistError):
    """A feature needs an optional package that is not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(feature, extra)  # both, so that it can be pickled

    def __str__(self) -> str:
        feature, extra = self.args
        return f"{feature} needs an extra: {how_to_install(extra)}"


@contextmanager
def needs_extra(feature: str, extra: str) -> Iterator[None]:
    """Around imports of optional packages.

    Raises:
        MissingExtraError: one is not installed.
    """
    try:
        yield
    except ModuleNotFoundError:
        raise MissingExtraError(feature, extra) from None


def how_to_install(extra: str) -> str:
    """The command that installs an extra."""
    return f"pip install 'dialogist[{extra}]' (in a checkout: pip install '.[{extra}]')"


def nearest(word: str, valid: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` for the closest valid word, or an empty string."""
    close = difflib.get_close_matches(word, list(valid), n=1, cutoff=0.5)
    return f"; did you mean '{close[0]}'?" if close else ""
