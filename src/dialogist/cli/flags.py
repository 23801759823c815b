"""Flags that several commands share."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dialogist.cli.console import silence
from dialogist.cli.inputs import pairs
from dialogist.cli.output_formats import Facts
from dialogist.records import Length, MaskedNames, MaskStage, Perspective, SummaryOptions

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
        help="Talk to other machines: send dialogues to a writer behind an endpoint.",
    ),
]
WriterName = Annotated[
    str,
    typer.Option(
        "--writer",
        envvar="DIALOGIST_WRITER",
        help="Who writes: highlights (quotes, the default), endpoint:URL#MODEL (a language model), "
        "or a writer that another package adds.",
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
) -> SummaryOptions:
    """The flags as options of a summary.

    Raises:
        UsageError: a --speaker is not OLD=NEW, or flags do not go together.
    """
    names = pairs(speaker, "--speaker", "OLD=NEW")
    return SummaryOptions(length, words, focus, perspective, names, mask, mask_names, evidence)


def open_summarizer(writer: str, form: str | None) -> "Summarizer":
    """A summarizer by the flags ``--writer`` and ``--form``.

    Raises:
        DialogistError: see `dialogist.summarizer.Summarizer`.
    """
    from dialogist.summarizer import Summarizer

    return Summarizer(writer, form=form)
