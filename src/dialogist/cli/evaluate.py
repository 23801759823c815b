"""``dialogist evaluate``: what a model's, a baseline's or anyone's summaries are worth."""

from pathlib import Path
from typing import Annotated

import typer

from dialogist.cli.evaluate_table import keep_scores, shown
from dialogist.cli.flags import Columns, Device, Format, Strict, Threads, read_options
from dialogist.cli.output import Output
from dialogist.cli.reading import Reading
from dialogist.errors import UsageError


def evaluate(
    system: Annotated[
        str,
        typer.Argument(
            help="A model (name, folder, run), a baseline (lead-3 ...), or a file of predictions."
        ),
    ],
    data: Annotated[
        Path | None,
        typer.Argument(help="Dialogues with reference summaries (without: those of the file)."),
    ] = None,
    on: Annotated[Path | None, typer.Option(help="The same as DATA.")] = None,
    metrics: Annotated[
        str, typer.Option(help="Names with commas; all: every one that can be measured here.")
    ] = "",
    references: Annotated[
        str, typer.Option(help="Several references: average, maximum or concatenated.")
    ] = "average",
    encoder: Annotated[
        Path | None, typer.Option(help="The encoder's folder, for bertscore.")
    ] = None,
    pack: Annotated[
        str | None, typer.Option("--pack", "-p", help="Rule pack, for key-points.")
    ] = None,
    train_sample: Annotated[
        Path | None,
        typer.Option(help="Training data: a fixed sample of it is scored beside the data."),
    ] = None,
    train: Annotated[
        list[Path] | None,
        typer.Option(help="Training data: is any of it in the data, too? Repeatable."),
    ] = None,
    floors: Annotated[
        bool, typer.Option("--floors/--no-floors", help="Floors and ceilings beside the system.")
    ] = True,
    columns: Annotated[
        str, typer.Option(help="Keys of the table's columns with commas, see --output json.")
    ] = "",
    scores: Annotated[
        Path | None, typer.Option(help="Where the numbers of every output go, to be read again.")
    ] = None,
    predictions: Annotated[
        Path | None,
        typer.Option(help="Where the summaries go (default: MODEL.DATA.predictions.jsonl)."),
    ] = None,
    prediction_key: Annotated[
        str, typer.Option(help="The key or column of a file's predictions (default: as usual).")
    ] = "",
    missing_as_empty: Annotated[
        bool, typer.Option("--missing-as-empty", help="Missing predictions count as empty ones.")
    ] = False,
    by_order: Annotated[
        bool, typer.Option("--by-order", help="Predictions follow the dialogues line by line.")
    ] = False,
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
    processes: Annotated[
        int | None, typer.Option(min=1, help="Processes that score (without: as it pays).")
    ] = None,
    format: Format = "auto",
    column: Columns = None,
    strict: Strict = False,
    device: Device = "auto",
    threads: Threads = None,
) -> int:
    """Score a system: ROUGE, faithfulness and more, with intervals, floors and warnings."""
    from dialogist.cli.evaluating import Call, evaluate_call

    if output is Output.jsonl:
        raise UsageError("--output jsonl: the predictions file is that; use text, json or md")
    if data is not None and on is not None:
        raise UsageError("DATA and --on are the same: give one of them")
    search = {
        "strategy": strategy,
        "beam_size": beam_size,
        "length_penalty": length_penalty,
        "no_repeat_ngram": no_repeat_ngram,
        "max_tokens": max_tokens,
    }
    call = Call(
        system=system,
        data=data or on,
        reading=Reading(read_options(format, column, strict)),
        metrics=metrics,
        references=references,
        encoder=encoder,
        pack=pack,
        train_sample=train_sample,
        train=tuple(train or ()),
        floors=floors,
        columns=columns,
        predictions=predictions,
        prediction_key=prediction_key,
        missing_as_empty=missing_as_empty,
        by_order=by_order,
        exclude=exclude,
        limit=limit,
        search={name: value for name, value in search.items() if value is not None},
        processes=processes,
        device=device,
        threads=threads,
    )
    result = evaluate_call(call)
    typer.echo(shown(result, output))
    if scores is not None:
        keep_scores(scores, result)
    return result.finish()
