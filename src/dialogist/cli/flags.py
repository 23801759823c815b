"""Flags that several commands share: one by one, and in groups (`grouped`)."""

import inspect
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dialogist.cli.console import silence
from dialogist.cli.streams import Facts
from dialogist.errors import UsageError
from dialogist.files import allow_network
from dialogist.records import (
    LEVELS,
    Length,
    MaskedNames,
    Masking,
    Perspective,
    SummaryOptions,
    Unsupported,
    VerifyMode,
)
from dialogist.writers import writer_names

if TYPE_CHECKING:
    from dialogist.formats import ReadOptions


def in_panel(panel: str, help: str, *names: str, **more: Any) -> Any:
    """An option below a heading of its own in the help."""
    return typer.Option(*names, help=help, rich_help_panel=panel, **more)


def format_option(usual: str = "text") -> Any:
    """The option ``--format``."""
    help = f"Form of the output (default: by the suffix of --output, else {usual})."
    return in_panel("Output", help, "--format", "-f")


OutputFile = Annotated[
    Path | None,
    in_panel(
        "Output",
        "File to write to (default: standard output).",
        "--output",
        "-o",
        metavar="FILE",
        callback=lambda path: None if path == Path("-") else path,
    ),
]
FactsForm = Annotated[Facts | None, format_option()]
Quiet = Annotated[bool, in_panel("Output", "Show no progress.", "--quiet", "-q", callback=silence)]
Limit = Annotated[int | None, typer.Option(min=1, help="Only the first N dialogues.")]


def _allow(wanted: bool) -> bool:
    if wanted:
        allow_network()
    return wanted


AllowNetwork = Annotated[
    bool,
    typer.Option(
        "--allow-network",
        callback=_allow,
        help="Talk to other machines: send dialogues, masked, to a language model there; fetch "
        "weights; send figures of a training.",
        envvar="DIALOGIST_ALLOW_NETWORK",
    ),
]


def _list_file(flag: str, what: str) -> Any:
    """A file of values for all masks of this process and of those it starts (`privacy_of`)."""
    variable = f"DIALOGIST_MASK_{flag.upper()}"

    def tell(path: Path) -> Path:
        os.environ[variable] = str(path.absolute())
        return path

    return in_panel(
        "Privacy",
        f"A file of what masks {what}: a value or name a line.",
        f"--{flag}",
        metavar="FILE",
        envvar=variable,
        callback=lambda path: path and tell(path),
        exists=True,
        dir_okay=False,
    )


AllowFile = Annotated[Path | None, _list_file("allow", "never cover")]
DenyFile = Annotated[Path | None, _list_file("deny", "always cover")]
MaskNames = Annotated[MaskedNames, in_panel("Privacy", "Whose names to mask as well.")]
MASK_LEVELS = "; ".join(f"{level}: {what}" for level, what in LEVELS.items())
_WRITER, _INPUT = "Writer and proof", "Input"


@dataclass(frozen=True, slots=True)
class SummaryFlags:
    """Who writes, who judges it, and how summaries look."""

    writer: Annotated[
        str,
        typer.Option(
            envvar="DIALOGIST_WRITER",
            help="Who writes: highlights (quotes, the default), ollama:MODEL, llamacpp, "
            "vllm:MODEL, openai:URL#MODEL, a file of summaries; `dialogist writers` lists all.",
        ),
    ] = "highlights"
    verify: Annotated[
        VerifyMode,
        in_panel(
            _WRITER,
            "Who judges what is written: the writer's own model (auto, if it is one; else local), "
            "a small network of this machine (local), or sure rules alone.",
            envvar="DIALOGIST_VERIFY",
        ),
    ] = "auto"
    verifier: Annotated[
        str,
        in_panel(
            _WRITER,
            "Another language model judges, named as for --writer, or nli:FOLDER.",
            metavar="WRITER",
            envvar="DIALOGIST_VERIFIER",
        ),
    ] = ""
    unsupported: Annotated[
        Unsupported,
        in_panel(
            _WRITER,
            "What nothing supports: replace it by what was said, mark it, or drop it.",
            envvar="DIALOGIST_UNSUPPORTED",
        ),
    ] = "quote"
    prompt: Annotated[Path | None, in_panel(_WRITER, "Another prompt for a language model.")] = None
    cache: Annotated[
        str | None,
        in_panel(_WRITER, "Where answers that were paid for are kept.", metavar="on|off|FOLDER"),
    ] = None
    send_unmasked: Annotated[
        bool,
        in_panel("Privacy", "Send dialogues to another machine without masks.", "--send-unmasked"),
    ] = False
    form: Annotated[
        str | None,
        typer.Option("--form", "--template", "-t", help="Fill a form: its name or YAML file."),
    ] = None
    length: Annotated[
        Length | None,
        typer.Option(help="How long: highlights are long, what a model writes is medium."),
    ] = None
    words: Annotated[
        int | None, typer.Option(min=1, help="At most N words, in whole statements.")
    ] = None
    focus: Annotated[str | None, typer.Option(help="Only what is about one speaker.")] = None
    perspective: Annotated[
        Perspective | None, typer.Option(help="Call people by name or by role.")
    ] = None
    speaker: Annotated[
        list[str] | None,
        typer.Option(metavar="OLD=NEW", help="Call a speaker otherwise. Repeatable."),
    ] = None
    mask: Annotated[
        Masking | None,
        in_panel(
            "Privacy",
            f"Mask personal data in what the writer reads ({MASK_LEVELS}; input: medium), or "
            "(output: medium) in what is shown alone.",
        ),
    ] = None
    mask_names: MaskNames = "none"
    allow: AllowFile = None
    deny: DenyFile = None
    allow_network: AllowNetwork = False

    def options(self, evidence: bool) -> SummaryOptions:
        """What they say of summaries.

        Raises:
            UsageError: a --speaker is not OLD=NEW, or flags do not go together.
        """
        return SummaryOptions(
            self.length,
            self.words,
            self.focus,
            self.perspective,
            pairs(self.speaker, "--speaker", "OLD=NEW"),
            self.mask,
            self.mask_names,
            evidence,
            self.unsupported,
        )

    def writers(self) -> tuple[str, str]:
        """The names of writer and verifier, as `dialogist.summarizer.Summarizer` takes them."""
        return writer_names(
            self.writer, self.verify, self.verifier, self.prompt, self.cache, self.send_unmasked
        )


@dataclass(frozen=True, slots=True)
class ReadFlags:
    """How input files are read."""

    input_format: Annotated[
        str, in_panel(_INPUT, "Format of the input: auto, or a name that `data check` lists.")
    ] = "auto"
    column: Annotated[
        list[str] | None,
        in_panel(
            _INPUT,
            "Which key or column holds id, dialogue, turns, speaker, text, role, summary. KEY may "
            "be a path (author.name). Repeatable.",
            metavar="NAME=KEY",
        ),
    ] = None
    where: Annotated[
        list[str] | None,
        in_panel(
            _INPUT,
            "Read only such records, rows or turns; KEY!=VALUE: only others. Repeatable.",
            metavar="KEY=VALUE",
        ),
    ] = None
    encoding: Annotated[
        str, in_panel(_INPUT, "Encoding of the input (default: found by its bytes).")
    ] = ""
    one_dialogue: Annotated[
        bool, in_panel(_INPUT, "Each whole file is one dialogue.", "--one-dialogue")
    ] = False
    by_neighbours: Annotated[
        bool,
        in_panel(
            _INPUT,
            "Rows of a dialogue follow each other: read as a stream, not in memory.",
            "--sorted",
        ),
    ] = False
    internal_notes: Annotated[
        bool,
        in_panel(
            _INPUT,
            "Tell internal and private notes, too.",
            "--include-internal",
            "--internal-notes",
        ),
    ] = False

    def options(self, strict: bool = False) -> "ReadOptions":
        """What they say, as options.

        Raises:
            UsageError: a --column is not NAME=KEY, or names no known column; a --where is none.
        """
        from dialogist.formats import Condition, ReadOptions

        return ReadOptions(
            format=self.input_format,
            columns=pairs(self.column, "--column", "NAME=KEY"),
            where=tuple(map(Condition.parse, self.where or [])),
            encoding=self.encoding,
            one_dialogue=self.one_dialogue,
            by_neighbours=self.by_neighbours,
            internal_notes=self.internal_notes,
            strict=strict,
        )


Strict = Annotated[bool, in_panel(_INPUT, "Stop at the first bad record.", "--strict")]


def pairs(entries: list[str] | None, flag: str, form: str) -> dict[str, str]:
    """A repeated flag of ``NAME=VALUE`` as a mapping.

    Raises:
        UsageError: one has another form, or a name comes twice.
    """
    values: dict[str, str] = {}
    for entry in entries or []:
        name, equals, value = (part.strip() for part in entry.partition("="))
        if not equals or not name or not value:
            raise UsageError(f"{flag} {entry}: write it as {form}")
        if name in values:
            raise UsageError(f"{flag} {entry}: '{name}' is given twice")
        values[name] = value
    return values


def grouped(command: Callable[..., int]) -> Callable[..., int]:
    """A command for typer, where each parameter that is a group stands for the flags in it."""
    parameters, groups = list[inspect.Parameter](), dict[str, Any]()
    for name, parameter in inspect.signature(command).parameters.items():
        kind: Any = parameter.annotation
        if hasattr(kind, "__dataclass_fields__"):
            groups[name] = kind, inspect.signature(kind).parameters
            parameters += groups[name][1].values()
        else:
            parameters.append(parameter)

    @wraps(command)
    def flat(**given: Any) -> int:
        for name, (kind, flags) in groups.items():
            given[name] = kind(**{flag: given.pop(flag) for flag in flags})
        return command(**given)

    named = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters]
    flat.__signature__ = inspect.Signature(named)  # type: ignore[attr-defined]
    flat.__annotations__ = {p.name: p.annotation for p in named}
    return flat
