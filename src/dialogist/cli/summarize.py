"""``dialogist summarize``: files or stdin in, summaries out."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from dialogist.cli.console import note
from dialogist.cli.destination import form_of, output_to
from dialogist.cli.failures import tell_failures
from dialogist.cli.flags import (
    FORM_HELP,
    BeamSize,
    Columns,
    Device,
    InputFormat,
    LengthPenalty,
    Long,
    MaxTokens,
    Model,
    NoRepeatNgram,
    OutputFile,
    PrecisionName,
    Safe,
    Seed,
    Strategy,
    Strict,
    Threads,
    decoding_options,
    load_summarizer,
    read_options,
)
from dialogist.cli.forms import Mask, Output
from dialogist.cli.reading import Reading
from dialogist.cli.shaping import (
    Focus,
    PerspectiveName,
    Shaped,
    SpeakerNames,
    TemplateName,
    shape_of,
)
from dialogist.errors import DataError, UsageError

if TYPE_CHECKING:
    from dialogist.engine.precision import Precision


def summarize(
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="Dialogue files, or - for stdin (the default when piped into)."),
    ] = None,
    model: Model = "default",
    output: OutputFile = None,
    format: Annotated[Output | None, typer.Option("--format", "-f", help=FORM_HELP)] = None,
    template: TemplateName = None,
    focus: Focus = None,
    perspective: PerspectiveName = None,
    speaker: SpeakerNames = None,
    length: Annotated[str | None, typer.Option(help="short, medium or long.")] = None,
    words: Annotated[int | None, typer.Option(help="At most so many, in whole sentences.")] = None,
    long: Long = None,
    safe: Safe = None,
    evidence: Annotated[
        bool,
        typer.Option(
            "--evidence/--no-evidence",
            help="Show what was said beside each sentence, and what the checks say of it.",
        ),
    ] = True,
    mask: Annotated[
        Mask | None, typer.Option(help="Mask personal data in what the model reads, or writes.")
    ] = None,
    mask_names: Annotated[
        str, typer.Option(help="Names to mask, too: none, speakers, people or all.")
    ] = "none",
    input_format: InputFormat = "auto",
    column: Columns = None,
    strict: Strict = False,
    strategy: Strategy = None,
    beam_size: BeamSize = None,
    n_best: Annotated[
        int | None, typer.Option(help="How many summaries to give, beam only.")
    ] = None,
    length_penalty: LengthPenalty = None,
    no_repeat_ngram: NoRepeatNgram = None,
    min_tokens: Annotated[int | None, typer.Option(help="Shortest summary, in tokens.")] = None,
    max_tokens: MaxTokens = None,
    temperature: Annotated[float | None, typer.Option(help="Sampling temperature.")] = None,
    top_k: Annotated[int | None, typer.Option(help="Sample from the k best (0: all).")] = None,
    top_p: Annotated[float | None, typer.Option(help="Sample from this share of the mass.")] = None,
    seed: Seed = None,
    device: Device = "auto",
    precision: PrecisionName = "auto",
    threads: Threads = None,
) -> int:
    """Summarise dialogues: transcripts, chat exports, subtitles, JSON lines, CSV ..."""
    from dialogist.cli.output import write_summaries  # pydantic: not for --help
    from dialogist.cli.presenting import Presenter

    form = form_of(output, format, Output.text)
    sources = _sources(files)
    reading = Reading(read_options(input_format, column, strict))
    shape = shape_of(template, focus, perspective, speaker, evidence)
    presenter = Presenter(shape, mask, mask_names, strict)
    tell_failures(lines=not strict)  # the first one ends a strict run, and is its error
    summarizer = load_summarizer(model, device, threads, cast("Precision", precision))
    wanted = {
        "length": length,
        "words": words,
        "long": long,
        "safe": safe,
        "evidence": evidence,
        "strategy": strategy,
        "beam_size": beam_size,
        "n_best": n_best,
        "length_penalty": length_penalty,
        "no_repeat_ngram": no_repeat_ngram,
        "min_tokens": min_tokens,
        "max_tokens": max_tokens,
        "temperature": temperature,
        "top_k": top_k,
        "top_p": top_p,
        "seed": seed,
    }
    options = decoding_options(summarizer.options, wanted)
    dialogues = presenter.before(reading.dialogues(sources))
    with output_to(output):
        write_summaries(_noted(presenter.after(summarizer.stream(dialogues, options))), form)
    return max(reading.finish(), presenter.finish())


def _sources(files: list[Path] | None) -> list[Path]:
    if not files and sys.stdin.isatty():
        raise UsageError("no input: give files, or pipe a dialogue in (see --help)")
    sources = files or [Path("-")]
    for source in sources:
        if str(source) != "-" and not source.exists():
            raise DataError(f"{source}: no such file")
    return sources


def _noted(shown: Iterator[Shaped]) -> Iterator[Shaped]:
    """Say a summary's warnings on stderr as it passes, and why it is not simply ``ok``.

    What failed was told when it did (`dialogist.cli.failures`).
    """
    for shaped in shown:
        summary = shaped.summary
        told = [*(warning.message for warning in summary.warnings), *shaped.notes]
        if summary.reason and summary.reason not in told and summary.status != "error":
            told.append(f"{summary.status.replace('_', ' ')}: {summary.reason}")
        for message in told:
            note(f"{summary.id}: {message}")
        yield shaped
