"""Flags that several commands share, and what they stand for."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dialogist.data.readers import READERS, ReadOptions
from dialogist.errors import UsageError

if TYPE_CHECKING:
    from dialogist.decoding.options import DecodingOptions
    from dialogist.engine.summarizer import Summarizer

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
Threads = Annotated[
    int | None,
    typer.Option("--threads", envvar="DIALOGIST_THREADS", min=1, help="CPU threads to use."),
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


def load_summarizer(model: str, device: str, threads: int | None) -> "Summarizer":
    """Set the thread count and load the model."""
    import torch

    from dialogist.engine.summarizer import Summarizer

    if threads is not None:
        torch.set_num_threads(threads)
    return Summarizer.load(model, device)
