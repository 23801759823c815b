"""``dialogist summarize``: files or stdin in, summaries out."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from dialogist.cli.console import note, tell_failures
from dialogist.cli.flags import (
    FORMAT_HELP,
    AllowNetwork,
    Device,
    ModelName,
    OutputFile,
    PrecisionName,
    Quiet,
    SearchFlags,
    Seed,
    SummaryFlags,
    Threads,
    decoding_options,
    load_summarizer,
    tell_idle_machine_flags,
)
from dialogist.cli.inputs import InputReading, expected_records, with_flags
from dialogist.cli.output_formats import (
    OutputFormat,
    output_format_of,
)
from dialogist.formats import ReadOptions
from dialogist.errors import DataError, UsageError


@with_flags()
def summarize_command(
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="Dialogue files, or - for stdin (the default when piped into)."),
    ] = None,
    model: ModelName = "default",
    output: OutputFile = None,
    format: Annotated[OutputFormat | None, typer.Option("--format", "-f", help=FORMAT_HELP)] = None,
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
    flags: SummaryFlags = SummaryFlags(),
    labels: Annotated[
        bool | None,
        typer.Option(
            "--labels/--no-labels",
            help="Name key points in text and Markdown (usual where a model plans by them).",
        ),
    ] = None,
    read: ReadOptions = ReadOptions(),
    search: SearchFlags = SearchFlags(),
    n_best: Annotated[
        int | None, typer.Option(help="How many summaries to give, beam only.")
    ] = None,
    min_tokens: Annotated[int | None, typer.Option(help="Shortest summary, in tokens.")] = None,
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
    from dialogist.cli.summarize_run import Destination, SummaryRun, columns_of
    from dialogist.present import Presenter, settings_of

    form = output_format_of(output, format, OutputFormat.text)
    sources = _sources(files)
    reading = InputReading(read, watched=False)
    shape = flags.shape()
    if columns and form is not OutputFormat.csv:
        raise UsageError("--columns goes with --format csv")
    to = Destination(output, form, columns_of(columns, shape), resume)
    to.check()
    presenter = Presenter(shape, flags.mask, flags.mask_names, note, read.strict)
    tell_failures(lines=not read.strict)  # the first one ends a strict run, and is its error
    summarizer = load_summarizer(model, device, threads, precision, flags.style)
    wanted = {
        **flags.wanted,
        **vars(search),
        "n_best": n_best,
        "min_tokens": min_tokens,
        "temperature": temperature,
        "top_k": top_k,
        "top_p": top_p,
        "seed": seed,
    }
    options = decoding_options(summarizer.options, wanted)
    if options.style == "faithful":
        if labels:
            raise UsageError("--labels has an effect with --style free only")
        options = options.model_copy(update={"focus": flags.focus})
    tell_idle_machine_flags(options, device, threads, precision)
    dialogues = reading.dialogues(sources)
    work = SummaryRun(summarizer, options, presenter, dialogues, expected_records(sources), labels)
    masks = (flags.mask, flags.mask_names)
    work.write(to, settings_of(summarizer, model, options, shape, masks))
    return max(reading.finish(), presenter.finish())


def _sources(files: list[Path] | None) -> list[Path]:
    if not files and sys.stdin.isatty():
        raise UsageError("no input: give files, or pipe a dialogue in (see --help)")
    sources = files or [Path("-")]
    for source in sources:
        if str(source) != "-" and not source.exists():
            raise DataError(f"{source}: no such file")
    return sources
