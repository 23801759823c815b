"""``dialogist summarize``: files or stdin in, summaries out."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from dialogist.cli.console import note
from dialogist.cli.flags import (
    Columns,
    Device,
    Format,
    Model,
    Strict,
    Threads,
    decoding_options,
    load_summarizer,
    read_options,
)
from dialogist.cli.output import Output, write_summaries
from dialogist.cli.reading import Reading
from dialogist.errors import DataError, UsageError
from dialogist.records import Summary


def summarize(
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="Dialogue files, or - for stdin (the default when piped into)."),
    ] = None,
    model: Model = "default",
    output: Annotated[Output, typer.Option("--output", "-o", help="Form of output.")] = Output.text,
    format: Format = "auto",
    column: Columns = None,
    strict: Strict = False,
    strategy: Annotated[str | None, typer.Option(help="greedy, beam or sample.")] = None,
    beam_size: Annotated[int | None, typer.Option(help="Hypotheses kept by beam search.")] = None,
    n_best: Annotated[
        int | None, typer.Option(help="How many summaries to give, beam only.")
    ] = None,
    length_penalty: Annotated[
        float | None, typer.Option(help="Above 1 favours longer summaries, beam only.")
    ] = None,
    no_repeat_ngram: Annotated[
        int | None, typer.Option(help="Forbid repeated n-grams of tokens (0: off).")
    ] = None,
    min_tokens: Annotated[int | None, typer.Option(help="Shortest summary, in tokens.")] = None,
    max_tokens: Annotated[int | None, typer.Option(help="Longest summary, in tokens.")] = None,
    temperature: Annotated[float | None, typer.Option(help="Sampling temperature.")] = None,
    top_k: Annotated[int | None, typer.Option(help="Sample from the k best (0: all).")] = None,
    top_p: Annotated[float | None, typer.Option(help="Sample from this share of the mass.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of sampling.")] = None,
    device: Device = "auto",
    threads: Threads = None,
) -> int:
    """Summarise dialogues: transcripts, chat exports, subtitles, JSON lines, CSV ..."""
    sources = _sources(files)
    reading = Reading(read_options(format, column, strict))
    for source in sources:
        if str(source) != "-" and not source.exists():
            raise DataError(f"{source}: no such file")
    summarizer = load_summarizer(model, device, threads)
    wanted = {
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
    write_summaries(_noted(summarizer.stream(reading.dialogues(sources), options)), output)
    return reading.finish()


def _sources(files: list[Path] | None) -> list[Path]:
    if files:
        return files
    if sys.stdin.isatty():
        raise UsageError("no input: give files, or pipe a dialogue in (see --help)")
    return [Path("-")]


def _noted(summaries: Iterator[Summary]) -> Iterator[Summary]:
    """Say a summary's warnings on stderr as it passes."""
    for summary in summaries:
        for warning in summary.warnings:
            note(f"{summary.id}: {warning}")
        yield summary
