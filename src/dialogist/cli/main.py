"""The ``dialogist`` command: its sub-commands, and the one place where errors become exit codes.

Data go to stdout, everything else to stderr. Modules that need torch are imported inside the
commands, the one exception to the rule against imports in functions: ``--help`` must be instant.

Exit codes: 0 done; 1 failed; 2 the call is wrong; 3 done, but some records could not be
read or summarised;
130 and 143 stopped by SIGINT and SIGTERM.
"""

import os
import sys
import traceback
from typing import Annotated, NoReturn

import typer

from dialogist import __version__
from dialogist.cli.command_tree import CommandTree, respelled, wrong_call
from dialogist.cli.console import (
    SHOW_PERSONAL_DATA,
    close_all,
    complain,
    note,
    show_personal_data,
    silence,
    tell_failures,
)
from dialogist.errors import DialogistError, Stopped

app = typer.Typer(
    name="dialogist",
    cls=CommandTree,
    help="Conversations to short, checkable summaries, by a small model on your own CPU.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"dialogist {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    show: Annotated[
        bool,
        typer.Option(
            "--show-personal-data",
            envvar=SHOW_PERSONAL_DATA,
            help="Do not mask phone numbers and the like in notes and errors.",
        ),
    ] = False,
) -> None:
    """Conversations to short, checkable summaries, by a small model on your own CPU."""
    show_personal_data(show)


def main() -> NoReturn:
    """Run the command line and leave with a documented exit code."""
    # NumPy's matrices here are tiny: its threads only wait for each other, several times as long
    # where other programs run. Torch has threads of its own.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    code = _run()
    try:
        sys.stdout.flush()
    except OSError as error:
        code = _stdout_failed(error)
    sys.exit(code)


def _run() -> int:
    show_personal_data(None)
    silence(False)
    tell_failures()
    try:
        command = typer.main.get_command(app)
        words = respelled(command, sys.argv[1:], note)
        result = command.main(words, "dialogist", standalone_mode=False)
    except Stopped as error:
        return _fail(f"{error}; run the same command again to go on", error.exit_code)
    except DialogistError as error:
        return _fail(str(error), error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        return _fail("stopped", 130)
    except SystemExit:  # typer's own answer to a broken pipe
        return _stdout_failed(BrokenPipeError())
    except OSError as error:
        return _stdout_failed(error)
    except Exception as error:
        return _usage_or_bug(error)
    finally:
        close_all()
    return result if isinstance(result, int) else 0


def _usage_or_bug(error: Exception) -> int:
    """A wrong flag or command; or a bug of ours in one line, with the way to the traceback."""
    if hasattr(error, "format_message"):  # click may be typer's own: its classes are not known
        return _fail(wrong_call(error), 2)
    if os.environ.get("DIALOGIST_DEBUG"):
        complain(traceback.format_exc())
    return _fail(
        f"unexpected {type(error).__name__}: {error} "
        "(please report this; DIALOGIST_DEBUG=1 shows where)",
        1,
    )


def _stdout_failed(error: OSError) -> int:
    """The reader of our output is gone, or its disk is full: leave quietly, never retry."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        return _fail("the reader of the output closed it early", 1)
    name = f"{error.filename}: " if error.filename else ""
    return _fail(f"{name}{error.strerror or error}", 1)


def _fail(message: str, code: int) -> int:
    line = " ".join(message.split())
    try:
        complain(f"dialogist: {line}")
    except OSError:  # stderr is gone too: the exit code still tells
        return code
    return code
