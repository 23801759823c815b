"""Flags that several commands share, and what they stand for."""

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dialogist.data.readers import READERS, ReadOptions
from dialogist.errors import UsageError

if TYPE_CHECKING:
    from dialogist.decoding.options import DecodingOptions
    from dialogist.engine.precision import Precision
    from dialogist.engine.summarizer import Summarizer

MOST_THREADS = 256
"""More than this are a mistake: torch would start every one of them."""

Format = Annotated[
    str,
    typer.Option("--format", "-f", help=f"Input format: auto, {', '.join(READERS)}."),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        help="NAME=KEY: which key or column holds id, dialogue, turns, speaker, text, role, "
        "summary. Repeatable.",
    ),
]
Strict = Annotated[bool, typer.Option("--strict", help="Stop at the first bad record.")]
Device = Annotated[
    str, typer.Option("--device", envvar="DIALOGIST_DEVICE", help="auto, cpu or cuda.")
]
PrecisionName = Annotated[
    str, typer.Option("--precision", help="fp32, bf16, int8, or auto: what pays on this machine.")
]
Threads = Annotated[
    int | None,
    typer.Option(
        "--threads",
        envvar="DIALOGIST_THREADS",
        min=1,
        max=MOST_THREADS,
        help="CPU threads to use.",
    ),
]
Model = Annotated[
    str,
    typer.Option(
        "--model", "-m", envvar="DIALOGIST_MODEL", help="A model's name, folder, or run folder."
    ),
]
Data = Annotated[
    Path | None,
    typer.Option("--data", envvar="DIALOGIST_DATA", help="Folder that data paths start from."),
]
Encoder = Annotated[Path | None, typer.Option(help="The encoder's folder, for bertscore.")]
PredictionKey = Annotated[
    str, typer.Option(help="The key or column of files' predictions (default: as usual).")
]
MissingAsEmpty = Annotated[
    bool, typer.Option("--missing-as-empty", help="Missing predictions count as empty ones.")
]
ByOrder = Annotated[
    bool, typer.Option("--by-order", help="Files' predictions follow the dialogues by line.")
]
Train = Annotated[
    list[Path] | None,
    typer.Option(help="Training data: is any of it in the data, too? Repeatable."),
]
Floors = Annotated[
    bool, typer.Option("--floors/--no-floors", help="Floors and ceilings beside the systems.")
]
Exclude = Annotated[Path | None, typer.Option(help="File of ids to leave out.")]
Limit = Annotated[int | None, typer.Option(min=1, help="Only the first N dialogues.")]
Processes = Annotated[
    int | None, typer.Option(min=1, help="Processes that score (without: as it pays).")
]
Baseline = Annotated[
    str, typer.Option(help="The system that differences are from (without: the first).")
]

Strategy = Annotated[str | None, typer.Option(help="greedy, beam or sample.")]
BeamSize = Annotated[int | None, typer.Option(help="Hypotheses kept by beam search.")]
LengthPenalty = Annotated[
    float | None, typer.Option(help="Above 1 favours longer summaries, beam only.")
]
NoRepeatNgram = Annotated[
    int | None, typer.Option(help="Forbid repeated n-grams of tokens (0: off).")
]
MaxTokens = Annotated[int | None, typer.Option(help="Longest summary, in tokens.")]
Seed = Annotated[int | None, typer.Option(help="Seed of sampling.")]
Long = Annotated[
    str | None, typer.Option(help="Too long a dialogue is read in windows, or cut (and said so).")
]
Safe = Annotated[
    bool | None,
    typer.Option(
        "--safe/--no-safe", help="Keep out names, numbers ... that the dialogue does not hold."
    ),
]

_WORKS_WITH = {
    "temperature": "sample",
    "top_k": "sample",
    "top_p": "sample",
    "seed": "sample",
    "beam_size": "beam",
    "length_penalty": "beam",
}


def read_options(format: str, columns: list[str] | None, strict: bool) -> ReadOptions:
    """The reading flags as options.

    Raises:
        UsageError: a --column is not NAME=KEY, or names no known column.
    """
    pairs = {}
    for entry in columns or []:
        name, equals, key = entry.partition("=")
        if not equals or not key:
            raise UsageError(f"--column {entry}: write it as NAME=KEY")
        pairs[name] = key
    return ReadOptions(format=format, strict=strict, columns=pairs)


def decoding_options(base: "DecodingOptions", wanted: Mapping[str, Any]) -> "DecodingOptions":
    """The model's own decoding options with the given flags (None: not given) put over them.

    Raises:
        UsageError: a value is out of range, or a flag has no effect with the strategy in force.
    """
    given = {name: value for name, value in wanted.items() if value is not None}
    options = type(base).parse({**base.model_dump(), **given}, "decoding")
    for name, strategy in _WORKS_WITH.items():
        if name in given and options.strategy != strategy:
            flag = f"--{name.replace('_', '-')}"
            raise UsageError(f"{flag} has an effect with --strategy {strategy} only")
    return options


def load_summarizer(
    model: str, device: str, threads: int | None, precision: "Precision | None" = None
) -> "Summarizer":
    """Set the thread count and load the model."""
    with _uncollected():
        import torch

        from dialogist.engine.summarizer import Summarizer
        from dialogist.heap import give_back_large

        if threads is not None:
            torch.set_num_threads(threads)
        give_back_large()
        return Summarizer.load(model, device, precision)


@contextmanager
def _uncollected() -> Iterator[None]:
    """What is made within stays until the process ends: the collector need not look through it.

    It does so again and again while modules and patterns come in, a quarter of a start.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
