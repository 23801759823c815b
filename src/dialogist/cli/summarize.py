"""``dialogist summarize``: files or stdin in, summaries out."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dialogist.cli.console import note, tell_failures
from dialogist.cli.flags import (
    FORM_HELP,
    AllowNetwork,
    BeamSize,
    Device,
    Focus,
    LengthName,
    LengthPenalty,
    Long,
    MaskNames,
    MaskWhere,
    MaxTokens,
    ModelName,
    MostWords,
    NoRepeatNgramSize,
    OutputFile,
    PerspectiveName,
    PrecisionName,
    Quiet,
    Safe,
    Seed,
    SpeakerNames,
    StrategyName,
    TemplateName,
    Threads,
    decoding_options,
    load_summarizer,
    shape_of,
    tell_idle_machine_flags,
)
from dialogist.cli.forms import (
    OutputFormat,
    StyleChoice,
    form_of,
)
from dialogist.cli.inputs import InputReading, expected_records, with_read_flags
from dialogist.data.readers import ReadOptions
from dialogist.errors import DataError, UsageError

if TYPE_CHECKING:
    pass


@with_read_flags()
def summarize_command(
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="Dialogue files, or - for stdin (the default when piped into)."),
    ] = None,
    model: ModelName = "default",
    output: OutputFile = None,
    format: Annotated[OutputFormat | None, typer.Option("--format", "-f", help=FORM_HELP)] = None,
    columns: Annotated[
        str,
        typer.Option(
            help="Columns of CSV with commas (default: id, status, reason, text, kinds, warnings "
            "and the template's sections)."
        ),
    ] = "",
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="Continue an interrupted run: keep what --output FILE.jsonl has."
        ),
    ] = False,
    template: TemplateName = None,
    focus: Focus = None,
    perspective: PerspectiveName = None,
    speaker: SpeakerNames = None,
    style: Annotated[
        StyleChoice | None,
        typer.Option(
            help="faithful: what was said, in the third person or quoted. free: the network's "
            "words, not verified (default: the model's own; of the bundled model faithful)."
        ),
    ] = None,
    length: LengthName = None,
    words: MostWords = None,
    long: Long = None,
    safe: Safe = None,
    evidence: Annotated[
        bool,
        typer.Option(
            "--evidence/--no-evidence",
            help="Show what was said beside each sentence, and what the checks say of it.",
        ),
    ] = True,
    labels: Annotated[
        bool | None,
        typer.Option(
            "--labels/--no-labels",
            help="Name key points in text and Markdown (usual where a model plans by them).",
        ),
    ] = None,
    mask: MaskWhere = None,
    mask_names: MaskNames = "none",
    read: ReadOptions = ReadOptions(),
    strategy: StrategyName = None,
    beam_size: BeamSize = None,
    n_best: Annotated[
        int | None, typer.Option(help="How many summaries to give, beam only.")
    ] = None,
    length_penalty: LengthPenalty = None,
    no_repeat_ngram: NoRepeatNgramSize = None,
    min_tokens: Annotated[int | None, typer.Option(help="Shortest summary, in tokens.")] = None,
    max_tokens: MaxTokens = None,
    temperature: Annotated[float | None, typer.Option(help="Sampling temperature.")] = None,
    top_k: Annotated[int | None, typer.Option(help="Sample from the k best (0: all).")] = None,
    top_p: Annotated[float | None, typer.Option(help="Sample from this share of the mass.")] = None,
    seed: Seed = None,
    device: Device = "auto",
    precision: PrecisionName = "auto",
    threads: Threads = None,
    allow_network: AllowNetwork = False,
    quiet: Quiet = False,
) -> int:
    """Summarize dialogues: transcripts, chat exports, subtitles, JSON lines, CSV ..."""
    # pydantic: not for --help
    from dialogist.cli.summarizing import Destination, SummaryRun, columns_of
    from dialogist.present import Presenter, settings_of

    form = form_of(output, format, OutputFormat.text)
    sources = _sources(files)
    reading = InputReading(read, watched=False)
    shape = shape_of(template, focus, perspective, speaker, evidence)
    if columns and form is not OutputFormat.csv:
        raise UsageError("--columns goes with --format csv")
    to = Destination(output, form, columns_of(columns, shape), resume)
    to.check()
    presenter = Presenter(shape, mask, mask_names, note, read.strict)
    tell_failures(lines=not read.strict)  # the first one ends a strict run, and is its error
    summarizer = load_summarizer(model, device, threads, precision, style)
    wanted = {
        "style": style,
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
    if options.style == "faithful":
        if labels:
            raise UsageError("--labels has an effect with --style free only")
        options = options.model_copy(update={"focus": focus})
    tell_idle_machine_flags(options, device, threads, precision)
    dialogues = reading.dialogues(sources)
    work = SummaryRun(summarizer, options, presenter, dialogues, expected_records(sources), labels)
    work.write(to, settings_of(summarizer, model, options, shape, (mask, mask_names)))
    return max(reading.finish(), presenter.finish())


def _sources(files: list[Path] | None) -> list[Path]:
    if not files and sys.stdin.isatty():
        raise UsageError("no input: give files, or pipe a dialogue in (see --help)")
    sources = files or [Path("-")]
    for source in sources:
        if str(source) != "-" and not source.exists():
            raise DataError(f"{source}: no such file")
    return sources
