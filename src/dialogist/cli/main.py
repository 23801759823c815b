"""The ``dialogist`` command: its sub-commands, and the one place where errors become exit codes.

Data go to stdout, everything else to stderr. What takes a while to import is imported inside the
commands, the one exception to the rule against imports in functions: ``--help`` must be instant.

Exit codes: 0 done; 1 failed; 2 the call is wrong; 3 done, but some records could not be read or
summarized; 130 and 143 stopped by SIGINT and SIGTERM.
"""

import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import Annotated, Any, NoReturn

import typer

from dialogist import __version__
from dialogist.cli.console import SHOW_PERSONAL_DATA, complain, silence, tell_failures
from dialogist.errors import ConfigError, DialogistError, Stopped, nearest

COMMANDS = {
    "summarize": ("Summaries", "summarize_command:summarize_files"),
    "batch": ("Summaries", "batch_command:batch"),
    "verify": ("Summaries", "verify_command:verify"),
    "forms": ("Summaries", "forms_command:app"),
    "writers": ("Summaries", "doctor_command:writers"),
    "mask": ("Summaries", "mask_command:mask"),
    "serve": ("Service", "service_command:serve"),
    "client": ("Service", "service_command:client"),
    "mcp": ("Service", "mcp_command:mcp"),
    "keys": ("Service", "service_command:keys_app"),
    "feedback": ("Service", "service_command:feedback_app"),
    "deliveries": ("Service", "service_command:deliveries_app"),
    "data.check": ("Data and machine", "data_command:check"),
    "data.convert": ("Data and machine", "data_command:convert"),
    "doctor": ("Data and machine", "doctor_command:doctor"),
}
"""Where the function of each command lies, or a typer application of several."""

TEAM_COMMANDS = ("summarize", "batch", "mask", "serve", "mcp", "annotate", "rate")
"""Those whose flags a team's configuration file may set: DIALOGIST_CONFIG, else
``~/.config/dialogist/config.yaml``."""
TEAM_FLAGS = (
    *("writer", "verify", "verifier", "unsupported", "form", "prompt", "cache"),
    *("send_unmasked", "allow_network", "allow", "deny"),
)

COMMAND_PLUGINS = "dialogist.commands"
"""The group of entry points by which other packages add commands; a dot makes a sub-command."""

ALIASES = {"templates": "forms"}
"""Old names of commands; help does not show them."""

EXAMPLES = {
    "summarize": (
        "dialogist summarize chat.txt",
        "dialogist summarize chat.txt --writer ollama:qwen2.5",
        "dialogist summarize calls/*.txt --form call --output calls.csv",
        "dialogist summarize tickets.jsonl --output summaries.jsonl --resume",
    ),
    "batch": (
        "dialogist batch calls.jsonl.gz --sample 5",
        "dialogist batch 'calls/*.jsonl' --output summaries --workers 4",
        "dialogist batch 'sqlite:///desk.db#calls' --output summaries --format parquet",
    ),
    "verify": (
        "dialogist verify summaries.jsonl --on calls.jsonl",
        "dialogist verify minutes.txt --on meeting.vtt --output statements.html",
    ),
    "writers": ("dialogist writers", "dialogist writers llamacpp:8081"),
    "mask": (
        "dialogist mask calls.jsonl --output masked.jsonl",
        "dialogist mask calls.jsonl --names speakers --table masks.jsonl --output masked.jsonl",
        "dialogist mask summaries.jsonl --restore masks.jsonl",
    ),
    "mcp": (
        "dialogist mcp",
        "dialogist mcp --http --port 8766 --store sqlite:///desk.db",
    ),
    "serve": ("dialogist serve --port 8765 --store sqlite:///desk.db",),
    "data.check": ("dialogist data check chats.csv",),
    "data.convert": ("dialogist data convert chat.txt --to vcon --output chat.vcon.json",),
}
_OTHERS = "More commands"


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"dialogist {__version__}")
        raise typer.Exit


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
    if show:
        os.environ[SHOW_PERSONAL_DATA] = "1"


def command_line(word: str = "") -> typer.Typer:
    """The command line with all commands; ``word`` is one of ours: with that one alone."""
    app = typer.Typer(
        name="dialogist",
        help="Conversations to short summaries that you can check, on your own CPU.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(epilog=_epilog(EXAMPLES["summarize"][:1]))(_root)
    names = [word]
    if word not in COMMANDS:
        from dialogist.plugins import plugin_names

        names = list(dict.fromkeys((*COMMANDS, *plugin_names(COMMAND_PLUGINS))))
    groups: dict[str, typer.Typer] = {}
    for name in names:
        panel, command = _command(name)
        group, _, short = name.rpartition(".")
        if group and group not in groups:
            members = [n.partition(".")[2] for n in names if n.startswith(f"{group}.")]
            groups[group] = typer.Typer(no_args_is_help=True)
            about = f"Commands: {', '.join(members)}."
            app.add_typer(groups[group], name=group, help=about, rich_help_panel=panel)
        parent, shown_in = groups.get(group, app), None if group else panel
        if isinstance(command, typer.Typer):
            parent.add_typer(command, name=short, rich_help_panel=shown_in)
        else:
            epilog = _epilog(EXAMPLES.get(name, ()))
            parent.command(short, epilog=epilog, rich_help_panel=shown_in)(command)
    return app


def _epilog(examples: Sequence[str]) -> str | None:
    return "\n\n".join((f"Example{'s' * (len(examples) > 1)}:", *examples)) if examples else None


def _command(name: str) -> tuple[str, Any]:
    """The panel of help where a command stands, and its function or application.

    Another package's command that cannot be loaded says why when it is called.
    """
    if name in COMMANDS:
        panel, place = COMMANDS[name]
        return panel, resolve_name(f"dialogist.cli.{place}")
    from dialogist.plugins import plugin

    try:
        return _OTHERS, plugin(COMMAND_PLUGINS, name)
    except (DialogistError, ImportError) as error:
        fault = error

    def fails() -> None:
        """(Needs packages that are not here.)"""
        raise fault

    return _OTHERS, fails


def main() -> NoReturn:
    """Run the command line and leave with a documented exit code."""
    # NumPy's matrices here are tiny: its threads only wait for each other, several times as long
    # where other programs run.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    code = _run()
    try:
        sys.stdout.flush()
    except OSError as error:
        code = _stdout_failed(error)
    sys.exit(code)


def _run() -> int:
    silence(False)
    tell_failures()
    arguments = sys.argv[1:]
    words = [word for word in arguments if not word.startswith("-")]
    if words and (today := ALIASES.get(words[0])):
        arguments[arguments.index(words[0])] = words[0] = today
    try:
        is_completing = "_DIALOGIST_COMPLETE" in os.environ
        app = command_line("" if is_completing or not words else words[0])
        command = typer.main.get_command(app)
        usual = dict.fromkeys(TEAM_COMMANDS, team) if (team := _team_defaults()) else {}
        result = command.main(arguments, "dialogist", standalone_mode=False, default_map=usual)
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
        return _usage_or_bug(error, words)
    return result if isinstance(result, int) else 0


def _team_defaults() -> dict[str, Any]:
    """The flags that a team sets once, by a file; a flag or an environment variable counts more.

    No file of the current folder is read: it may be a stranger's, and name a stranger's server.
    """
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    named = os.environ.get("DIALOGIST_CONFIG")
    path = named or os.path.join(home, "dialogist", "config.yaml")
    if not named and not os.path.isfile(path):
        return {}
    from dialogist.config import read_yaml

    values = read_yaml(Path(path))
    for name in values:
        if name not in TEAM_FLAGS:
            raise ConfigError(f"{path}: unknown key '{name}'{nearest(name, TEAM_FLAGS)}")
    if isinstance(values.get("cache"), bool):  # how YAML reads on and off
        values["cache"] = "on" if values["cache"] else "off"
    return values


def _usage_or_bug(error: Exception, words: list[str]) -> int:
    """A wrong flag or command, a package that is not there; or a bug of ours in one line."""
    if hasattr(error, "format_message"):  # click may be typer's own: its classes are not known
        message = error.format_message().replace("Value error, ", "").rstrip(".")
        context = getattr(error, "ctx", None)
        where = f" (see {context.command_path} --help)" if context is not None else ""
        return _fail(f"{message or 'name a command'}{where}", 2)
    if isinstance(error, ModuleNotFoundError):
        from dialogist.plugins import missing_extra

        for name in (".".join(words[:2]), *words[:1]):
            if fault := missing_extra(COMMAND_PLUGINS, name, error):
                return _fail(str(fault), fault.exit_code)
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
