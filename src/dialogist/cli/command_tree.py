"""The command tree: where each command is, old spellings, help, and wrong calls."""

import re
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, get_args, get_origin

import typer
from typer.core import TyperGroup

from dialogist.formats import READERS
from dialogist.errors import nearest

# Old spellings of flags, kept for one release: each works as before, with a note on stderr.
#
# --output FORM, -o FORM     now --format FORM; --output names a file
# --json                     now --format json
# --format NAME, -f NAME     now --input-format NAME, where NAME is no form of output


_OUTPUT_WAS_A_FORM = frozenset(
    {"summarize", "mask", "evaluate", "compare", "ablate", "keypoints label", "rate report"}
)
INPUTS = frozenset(READERS) | {"auto"}


def respelled(root: Any, words: Sequence[str], note: Callable[[str], None]) -> list[str]:
    """Return the words of a call in today's spelling; ``note`` hears of each change.

    ``root`` is the click command of the whole command line.
    """
    command, name, start = _command(root, words)
    options = {flag: option for option in command.params for flag in option.opts}
    today = list(words[:start])
    for flag, value in _pairs(words[start:], _with_values(options)):
        changed = _today(name, options, flag, value)
        if changed is not None:
            old = flag if value is None else f"{flag} {value}"
            note(f"{old} is now written {' '.join(changed)}{_file(flag, value)}")
        today += changed or ([flag] if value is None else [flag, value])
    return today


def _command(root: Any, words: Sequence[str]) -> tuple[Any, str, int]:
    """The command that is called, its name, and where its own words begin."""
    command = root
    names: list[str] = []
    for position, word in enumerate(words):
        below = getattr(command, "commands", None)
        if below is None:
            return command, " ".join(names), position
        if word in below:
            command = below[word]
            names.append(word)
    return command, " ".join(names), len(words)


def _with_values(options: dict[str, Any]) -> frozenset[str]:
    """The flags that a value follows; --format was one of every command that reads files."""
    given = {flag for flag, option in options.items() if not getattr(option, "is_flag", True)}
    return frozenset({*given, "-f", "--format"})


def _pairs(words: Sequence[str], with_values: frozenset[str]) -> Iterator[tuple[str, str | None]]:
    """Every word, a flag with its value; nothing behind ``--`` is a flag."""
    position = 0
    while position < len(words):
        word, position = words[position], position + 1
        if word == "--":
            yield from ((left, None) for left in words[position - 1 :])
            return
        flag, equals, value = word.partition("=")
        if equals and flag in with_values and flag.startswith("--"):
            yield flag, value
        elif word in with_values and position < len(words):
            yield word, words[position]
            position += 1
        elif word[:2] in with_values & {"-o", "-f"} and len(word) > 2:
            yield word[:2], word[2:]
        else:
            yield word, None


def _today(name: str, options: dict[str, Any], flag: str, value: str | None) -> list[str] | None:
    """Today's spelling of one flag; None: it is the same."""
    forms = choices_of(options.get("--format"))
    if value is None:
        is_json = flag == "--json" and flag not in options and "json" in forms
        return ["--format", "json"] if is_json else None
    if flag in ("-o", "--output") and name in _OUTPUT_WAS_A_FORM and value in forms:
        return ["--format", value]
    is_input = value in INPUTS and value not in forms and value != "html"  # it was never one
    if flag in ("-f", "--format") and is_input and "--input-format" in options and name != "batch":
        return ["--input-format", value]
    return None


def choices_of(option: Any) -> list[str]:
    """Return the values that an option can take; none if it has no choice of them."""
    for holder in ("type_descriptor", "type"):  # typer's own, and click's in older versions
        choices = getattr(getattr(option, holder, None), "choices", None)
        if choices:
            return [str(getattr(choice, "value", choice)) for choice in choices]
    return []


def _file(flag: str, value: str | None) -> str:
    if flag in ("-o", "--output"):
        return f" (--output names a file; one that is called so is ./{value})"
    return ""


# What ``--help`` shows beside the words of each flag: panels, plain types, examples.


_PANELS = {
    "Input": "--input-format --column --strict --where --encoding --by --on --data --limit "
    "--one-dialogue --sorted --internal-notes "
    "--exclude --prediction-key --missing-as-empty --by-order --references --train --train-sample",
    "Output": "--output --format --columns --resume --restart --grow --state --sample --quiet "
    "--scores --predictions --plot --png",
    "Model": "--model --device --precision --threads --processes --workers --engine --address "
    "--shard-size --time-limit",
    "Decoding": "--strategy --beam-size --n-best --length-penalty --no-repeat-ngram --min-tokens "
    "--max-tokens --temperature --top-k --top-p --seed --long --safe",
    "Privacy": "--mask --mask-names --kinds --names --table --restore",
    "Summary": "--template --focus --perspective --speaker --length --words --evidence",
}
_PANEL_OF = {flag: panel for panel, flags in _PANELS.items() for flag in flags.split()}

_TYPES: dict[object, str] = {Path: "PATH", str: "TEXT", int: "N", float: "X"}

_EXAMPLES = {
    "summarize": (
        "dialogist summarize chat.txt",
        "dialogist summarize calls/*.txt --template call --output calls.csv",
        "dialogist summarize tickets.jsonl --output summaries.jsonl --resume",
    ),
    "batch": (
        "dialogist batch calls.jsonl.gz --sample 5",
        "dialogist batch 'calls/*.jsonl' --output summaries --workers 4",
        "dialogist batch 'sqlite:///desk.db#calls' --output summaries --format parquet",
    ),
    "mask": (
        "dialogist mask calls.jsonl --output masked.jsonl",
        "dialogist mask calls.jsonl --names speakers --table masks.jsonl --output masked.jsonl",
        "dialogist mask summaries.jsonl --restore masks.jsonl",
    ),
    "evaluate": (
        "dialogist evaluate lead-3 dev.jsonl",
        "dialogist evaluate runs/mine dev.jsonl --metrics all --output card.md",
        "dialogist evaluate predictions.jsonl --format json",
    ),
    "compare": (
        "dialogist compare runs/mine default lead-3 --on dev.jsonl",
        "dialogist compare a.predictions.jsonl b.predictions.jsonl --on dev.jsonl -o table.md",
        "dialogist compare kdd-seq2seq kdd-transformer --data DATA --plot figures.png",
    ),
    "train": (
        "dialogist recipes list",
        "dialogist train recipe.yaml --data parts --output runs/mine",
        "dialogist train recipe.yaml --set training.epochs=4 --set training.seed=2",
    ),
    "explain": (
        "dialogist explain chat.txt",
        "dialogist explain dev.jsonl --id dev_17 --output page.html",
        "dialogist explain chat.txt --output all.json",
    ),
    "report": (
        "dialogist report runs/mine lead-3 --on dev.jsonl --output report",
        "dialogist report a.predictions.jsonl b.predictions.jsonl --on dev.jsonl --output report",
        "dialogist report runs/mine --output report",
    ),
    "ablate": ("dialogist ablate ablation.yaml --on dev.jsonl --output table.md",),
    "annotate": ("dialogist annotate chats.csv --count 200 --output page.html",),
    "finetune": ("dialogist finetune chats.csv --column summary=wrap_up --output runs/chats",),
    "init": (
        "dialogist init recipe.yaml",
        "dialogist init recipe.yaml --from default",
    ),
    "serve": ("dialogist serve --port 8765 --store sqlite:///desk.db",),
    "feedback import": ("dialogist feedback import summaries.jsonl --key desk --consent",),
    "keys revoke": ("dialogist keys revoke desk",),
    "keys add": ("dialogist keys add desk --scope summaries --scope reviews",),
    "feedback export": ("dialogist feedback export --output pairs.jsonl",),
    "rate make": ("dialogist rate make a.jsonl b.jsonl --on dev.jsonl --output page.html",),
    "rate preferred": ("dialogist rate preferred page.html answers-ann.json -o preferred.jsonl",),
    "rate report": ("dialogist rate report answers-ann.json answers-bo.json",),
    "models info": ("dialogist models info default",),
    "models pack": ("dialogist models pack runs/mine --weights int8 --output mine-int8",),
    "models average": ("dialogist models average runs/seed-1 runs/seed-2 --output mean",),
    "models export": ("dialogist models export runs/mine --output mine-ct2",),
    "recipes show": ("dialogist recipes show dialogsum-small --output recipe.yaml",),
    "templates show": ("dialogist templates show call",),
    "templates check": ("dialogist templates check my-call.yaml",),
    "keypoints label": ("dialogist keypoints label calls.jsonl --pack customer-service-en",),
    "keypoints stats": ("dialogist keypoints stats calls.jsonl --pack customer-service-en",),
    "keypoints check": ("dialogist keypoints check my-pack.yaml",),
    "data check": ("dialogist data check chats.csv",),
    "data stats": ("dialogist data stats calls.jsonl",),
    "data split": ("dialogist data split all.jsonl --output parts",),
    "data encode": ("dialogist data encode recipe.yaml --data parts --output encoded",),
    "data entities": ("dialogist data entities calls.jsonl --examples 5",),
    "data noise": ("dialogist data noise pretrain-dialogue --data DATA --count 3",),
    "data synth": ("dialogist data synth --pairs 1000 --output synth.jsonl",),
    "data vectors": ("dialogist data vectors calls.jsonl --width 100 --output vectors.txt",),
}
"""Calls to show, by the words of the command."""


def dress(root: Any, words: str = "") -> None:
    """Give the click commands below ``root`` panels, plain types and examples.

    ``words``: what calls ``root``.
    """
    for last, command in getattr(root, "commands", {}).items():
        name = f"{words} {last}".strip()
        dress(command, name)
        for parameter in command.params:
            _dress(parameter)
        if name in _EXAMPLES and not command.epilog and not hasattr(command, "commands"):
            head = "Example:" if len(_EXAMPLES[name]) == 1 else "Examples:"
            command.epilog = "\n\n".join((head, *_EXAMPLES[name]))


def _dress(parameter: Any) -> None:
    flag = next((one for one in parameter.opts if one.startswith("--")), "")
    if flag and getattr(parameter, "rich_help_panel", None) is None:
        parameter.rich_help_panel = _PANEL_OF.get(flag)
    descriptor = getattr(parameter, "type_descriptor", None)  # older versions name types plainly
    if descriptor is not None and not parameter.metavar and not choices_of(parameter):
        shown = _plain(descriptor.annotation)
        parameter.display_type = lambda _: shown


def _plain(annotation: Any) -> str:
    """The type of a value in the words of a manual; nothing for a flag that is on or off."""
    inner = get_args(annotation)[0] if get_origin(annotation) is list else annotation
    return _TYPES.get(inner, "")


# One line about a call that the command line cannot parse, in place of a page of usage.


_REFUSED = re.compile(r"'(?P<value>[^']*)' is not one of")


def wrong_call(error: Any) -> str:
    """Return what is wrong with a call, the nearest valid value, and where the help is.

    ``error`` is a usage error of click.
    """
    message = error.format_message().replace("Value error, ", "").rstrip(".")
    context = getattr(error, "ctx", None)
    where = f" (see {context.command_path} --help)" if context is not None else ""
    return f"{message or 'name a command'}{_nearest(message, getattr(error, 'param', None))}{where}"


def _nearest(message: str, option: Any) -> str:
    found = _REFUSED.search(message)
    if found is None:
        return ""
    near = nearest(found["value"], choices_of(option))
    if near or "--format" not in option.opts:
        return near
    return nearest(found["value"], INPUTS).replace("mean '", "mean --input-format '")


# Commands by name. The tool knows where the laboratory's are and imports none of them.


COMMAND_GROUPS = {
    "Summaries": {
        "summarize": "dialogist.cli.summarize:summarize_command",
        "batch": "dialogist.cli.batch:batch_command",
        "templates": "dialogist.cli.template:app",
        "keypoints": "dialogist.cli.keypoints:app",
        "mask": "dialogist.cli.mask:mask",
    },
    "Service": {
        "serve": "dialogist.cli.serve:serve",
        "client": "dialogist.cli.serve:client",
        "keys": "dialogist.cli.serve:keys_app",
        "feedback": "dialogist.cli.serve:feedback_app",
    },
    "Your own model": {
        "annotate": "dialogist.cli.finetune:annotate",
        "finetune": "dialogist.cli.finetune:finetune",
        "init": "dialogist.cli.recipes:init",
        "train": "dialogist.cli.train:train",
        "recipes": "dialogist.cli.recipes:app",
        "models": "dialogist.cli.models:app",
    },
    "Quality": {
        "evaluate": "dialogist.cli.evaluate:evaluate",
        "compare": "dialogist_lab.cli.compare:compare",
        "report": "dialogist_lab.cli.report:report",
        "explain": "dialogist_lab.cli.explain:explain",
        "rate": "dialogist_lab.cli.rate:app",
        "ablate": "dialogist_lab.cli.ablate:ablate",
    },
    "Data and machine": {"data": "dialogist.cli.data:app", "doctor": "dialogist.cli.doctor:doctor"},
}
"""Where each command's function lies, or a Typer application; help shows them in this order."""
_PLACES = {
    name: (group, place)
    for group, places in COMMAND_GROUPS.items()
    for name, place in places.items()
}


class _Commands(dict[str, Any]):
    """The click commands by name, each imported when it is first asked for."""

    def __init__(self) -> None:
        super().__init__(dict.fromkeys(_PLACES))

    def __getitem__(self, name: str) -> Any:
        if super().__getitem__(name) is None:
            group, place = _PLACES[name]
            module, _, member = place.partition(":")
            self[name] = _click_command(name, getattr(import_module(module), member))
            self[name].rich_help_panel = group
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self else default  # noqa: SIM401 - this is `get`

    def items(self) -> Any:
        return [(name, self[name]) for name in self]


def _click_command(name: str, found: Any) -> Any:
    """The click command of a function, or of the Typer application of several; dressed."""
    alone = typer.Typer(add_completion=False)
    if isinstance(found, typer.Typer):
        alone.add_typer(found, name=name)
    else:
        alone.command(name)(found)
    group = typer.main.get_group(alone)
    dress(group)
    return group.commands[name]


class CommandTree(TyperGroup):
    """The whole command line, of which a call imports only the command that it names."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = _Commands()
        calls = ("summarize chat.txt", "serve", "finetune --help")
        self.epilog = "\n\n".join(("Examples:", *(f"dialogist {call}" for call in calls)))


def add_data_tools(app: typer.Typer) -> None:
    """Add the laboratory's commands to ``dialogist data``, in order."""
    tools = import_module("dialogist_lab.cli.data_tools")
    for name in ("vectors", "synth", "noise"):
        app.command()(getattr(tools, name))
