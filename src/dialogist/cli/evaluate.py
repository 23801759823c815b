"""``dialogist evaluate``: ROUGE of a model or baseline on dialogues with human summaries."""

import json
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dialogist.cli.console import note
from dialogist.cli.flags import (
    Columns,
    Device,
    Format,
    Strict,
    Threads,
    decoding_options,
    load_summarizer,
    read_options,
)
from dialogist.cli.output import Output
from dialogist.cli.reading import Reading
from dialogist.errors import DataError, UsageError
from dialogist.records import Dialogue

if TYPE_CHECKING:
    from dialogist.decoding.options import DecodingOptions
    from dialogist.engine.summarizer import SummarizerLike
    from dialogist.evaluation.evaluate import Evaluation

_HEADS = ("R1", "R2", "RL", "RLsum")


def evaluate(
    model: Annotated[
        str,
        typer.Argument(help="A model (name, folder, run) or a baseline: lead-3, longest-3 ..."),
    ],
    data: Annotated[Path, typer.Argument(help="Dialogues with reference summaries.")],
    predictions: Annotated[
        Path | None,
        typer.Option(help="Where the summaries go (default: MODEL.DATA.predictions.jsonl)."),
    ] = None,
    output: Annotated[
        Output, typer.Option("--output", "-o", help="text, json or md.")
    ] = Output.text,
    exclude: Annotated[Path | None, typer.Option(help="File of ids to leave out.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N dialogues.")] = None,
    strategy: Annotated[str | None, typer.Option(help="greedy, beam or sample.")] = None,
    beam_size: Annotated[int | None, typer.Option(help="Hypotheses kept by beam search.")] = None,
    length_penalty: Annotated[float | None, typer.Option(help="Beam search's alpha.")] = None,
    no_repeat_ngram: Annotated[int | None, typer.Option(help="Forbid repeats (0: off).")] = None,
    max_tokens: Annotated[int | None, typer.Option(help="Longest summary, in tokens.")] = None,
    format: Format = "auto",
    column: Columns = None,
    strict: Strict = False,
    device: Device = "auto",
    threads: Threads = None,
) -> int:
    """Score a system: ROUGE-1/2/L/Lsum (rouge-score, stemmer), average and best reference."""
    if output is Output.jsonl:
        raise UsageError("--output jsonl: the predictions file is that; use text, json or md")
    wanted = {
        "strategy": strategy,
        "beam_size": beam_size,
        "length_penalty": length_penalty,
        "no_repeat_ngram": no_repeat_ngram,
        "max_tokens": max_tokens,
    }
    reading = Reading(read_options(format, column, strict))
    dialogues = islice(_without(reading.dialogues([data]), exclude), limit)
    system, options = _system(model, wanted, device, threads)
    target = predictions or Path(f"{Path(model).name}.{data.name.split('.')[0]}.predictions.jsonl")
    result = _run(system, dialogues, options, target)
    typer.echo(_shown(result, output))
    note(f"predictions are in {target}")
    if result.skipped:
        note(f"{result.skipped} dialogues without a reference were left out")
    return reading.finish()


def _system(
    model: str, wanted: Mapping[str, Any], device: str, threads: int | None
) -> "tuple[SummarizerLike, DecodingOptions | None]":
    """A baseline by its name, or a model with the decoding options asked for."""
    from dialogist.baselines.extractive import BASELINES

    if model in BASELINES:
        return BASELINES[model], None
    summarizer = load_summarizer(model, device, threads)
    return summarizer, decoding_options(summarizer.options, wanted)


def _run(
    system: "SummarizerLike",
    dialogues: Iterator[Dialogue],
    options: "DecodingOptions | None",
    target: Path,
) -> "Evaluation":
    """Evaluate, writing every prediction as it comes."""
    from dialogist.evaluation.evaluate import Scored, evaluate

    with target.open("w", encoding="utf-8") as file:

        def keep(scored: Scored) -> None:
            file.write(json.dumps(scored.to_json(), ensure_ascii=False) + "\n")

        return evaluate(system, dialogues, options, keep)


def _without(dialogues: Iterator[Dialogue], exclude: Path | None) -> Iterator[Dialogue]:
    """Leave out the dialogues whose ids stand in a file."""
    try:
        excluded = set(exclude.read_text(encoding="utf-8").split()) if exclude else set()
    except OSError as error:
        raise DataError(f"{exclude}: cannot be read: {error.strerror}") from None
    return (dialogue for dialogue in dialogues if dialogue.id not in excluded)


def _shown(result: "Evaluation", output: Output) -> str:
    if output is Output.json:
        return json.dumps(result.to_json(), ensure_ascii=False, indent=2)
    rows = [("average of references", result.average), ("best reference", result.maximum)]
    if output is Output.md:
        lines = [f"| {result.system} | {' | '.join(_HEADS)} |", "|---|---|---|---|---|"]
        lines += [f"| {name} | {_figures(scores, ' | ')} |" for name, scores in rows]
    else:
        lines = [f"{result.system:24}{'  '.join(f'{head:>6}' for head in _HEADS)}"]
        lines += [f"{name:24}{_figures(scores, '  ')}" for name, scores in rows]
    lines += [
        "",
        f"{result.dialogues} dialogues, {result.references:.2f} references each; "
        f"{result.words:.1f} words a summary, references {result.reference_words:.1f}; "
        f"{result.partial} read in part, {result.empty} empty",
        result.signature,
    ]
    return "\n".join(lines)


def _figures(scores: dict[str, float], separator: str) -> str:
    return separator.join(f"{value:6.2f}" for value in scores.values())
