"""Flags that several commands share."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from dialogist.cli.console import silence
from dialogist.cli.inputs import pairs
from dialogist.cli.output_formats import Facts
from dialogist.records import (
    Length,
    MaskedNames,
    MaskStage,
    Perspective,
    SummaryOptions,
    Unsupported,
)

if TYPE_CHECKING:
    from dialogist.summarizer import Summarizer

FORMAT_HELP = "Form of the output (default: by the suffix of --output, else {usual})."

OutputFile = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="File to write to (default: standard output).",
        rich_help_panel="Output",
    ),
]
FactsForm = Annotated[
    Facts | None,
    typer.Option("--format", "-f", help=FORMAT_HELP.format(usual="text"), rich_help_panel="Output"),
]
Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet", "-q", callback=silence, help="Show no progress.", rich_help_panel="Output"
    ),
]
Limit = Annotated[int | None, typer.Option(min=1, help="Only the first N dialogues.")]


def _allow(value: bool) -> bool:
    if value:
        from dialogist.files import allow_network

        allow_network()
    return value


AllowNetwork = Annotated[
    bool,
    typer.Option(
        "--allow-network",
        callback=_allow,
        help="Talk to other machines: send dialogues, masked, to a language model there.",
        envvar="DIALOGIST_ALLOW_NETWORK",
    ),
]
WriterName = Annotated[
    str,
    typer.Option(
        "--writer",
        envvar="DIALOGIST_WRITER",
        help="Who writes: highlights (quotes, the default), ollama:MODEL, llamacpp, vllm:MODEL, "
        "openai:URL#MODEL, a file of summaries; `dialogist writers` lists all.",
    ),
]
_PANEL = "Writer and proof"
Verify = Annotated[
    Literal["auto", "model", "local", "rules"],
    typer.Option(
        help="Who judges what is written: the writer's own model (auto, if it is one), or sure "
        "rules alone.",
        envvar="DIALOGIST_VERIFY",
        rich_help_panel=_PANEL,
    ),
]
VerifierName = Annotated[
    str,
    typer.Option(
        "--verifier",
        metavar="WRITER",
        envvar="DIALOGIST_VERIFIER",
        help="Another language model judges, named as for --writer.",
        rich_help_panel=_PANEL,
    ),
]
UnsupportedName = Annotated[
    Unsupported,
    typer.Option(
        "--unsupported",
        envvar="DIALOGIST_UNSUPPORTED",
        help="What nothing supports: replace it by what was said, mark it, or drop it.",
        rich_help_panel=_PANEL,
    ),
]
PromptFile = Annotated[
    Path | None,
    typer.Option("--prompt", help="Another prompt for a language model.", rich_help_panel=_PANEL),
]
Cache = Annotated[
    str | None,
    typer.Option(
        metavar="on|off|FOLDER",
        help="Where answers that were paid for are kept.",
        rich_help_panel=_PANEL,
    ),
]
SendUnmasked = Annotated[
    bool,
    typer.Option(
        "--send-unmasked",
        help="Send dialogues to another machine without masks.",
        rich_help_panel="Privacy",
    ),
]
FormName = Annotated[
    str | None,
    typer.Option("--form", "--template", "-t", help="Fill a form: its name or YAML file."),
]
Focus = Annotated[str | None, typer.Option(help="Only what is about one speaker.")]
PerspectiveName = Annotated[
    Perspective | None, typer.Option("--perspective", help="Call people by name or by role.")
]
Speaker = Annotated[
    list[str] | None,
    typer.Option(metavar="OLD=NEW", help="Call a speaker otherwise. Repeatable."),
]
LengthName = Annotated[Length, typer.Option("--length", help="How long the summary is.")]
Words = Annotated[int | None, typer.Option(min=1, help="At most N words, in whole statements.")]
Evidence = Annotated[
    bool,
    typer.Option(
        "--evidence/--no-evidence", help="Show what each statement rests on, and its verdict."
    ),
]
EvidenceForm = Annotated[
    Literal["times", "numbers"],
    typer.Option(
        "--evidence",
        help="Call what statements rest on by its time, where that is known, or by its number.",
    ),
]
NoEvidence = Annotated[
    bool,
    typer.Option("--no-evidence", help="Do not show what statements rest on, nor verdicts."),
]
Mask = Annotated[
    MaskStage | None,
    typer.Option(
        help="Mask personal data in what the writer reads or in what is shown.",
        rich_help_panel="Privacy",
    ),
]
MaskNames = Annotated[
    MaskedNames, typer.Option(help="Whose names to mask as well.", rich_help_panel="Privacy")
]


def summary_options(
    speaker: list[str] | None = None,
    length: Length = "medium",
    words: int | None = None,
    focus: str | None = None,
    perspective: Perspective | None = None,
    mask: MaskStage | None = None,
    mask_names: MaskedNames = "none",
    evidence: bool = True,
    unsupported: Unsupported = "quote",
) -> SummaryOptions:
    """The flags as options of a summary.

    Raises:
        UsageError: a --speaker is not OLD=NEW, or flags do not go together.
    """
    names = pairs(speaker, "--speaker", "OLD=NEW")
    return SummaryOptions(
        length, words, focus, perspective, names, mask, mask_names, evidence, unsupported
    )


def open_summarizer(writer: tuple[str, str], form: str | None) -> "Summarizer":
    """A summarizer by the flags.

    Raises:
        DialogistError: see `dialogist.summarizer.Summarizer`.
    """
    from dialogist.summarizer import Summarizer

    return Summarizer(*writer, form)
