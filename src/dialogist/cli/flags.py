"""Flags that several commands share, and what they stand for."""

import gc
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dialogist.cli.forms import (
    Card,
    DeviceKind,
    Facts,
    LongInput,
    PrecisionKind,
    Strategies,
    Style,
    Table,
)
from dialogist.cli.progress import silence
from dialogist.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from dialogist.decoding.options import DecodingOptions
    from dialogist.engine.faithful import FaithfulSummarizer
    from dialogist.engine.precision import Precision
    from dialogist.engine.summarizer import Summarizer

MOST_THREADS = 256
"""More than this are a mistake: torch would start every one of them."""

FORM_HELP = "Form of the output (default: by the suffix of --output, else text)."

OutputFile = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", metavar="FILE", help="File to write to (default: standard output)."
    ),
]
FactsForm = Annotated[Facts | None, typer.Option("--format", "-f", help=FORM_HELP)]
CardForm = Annotated[Card | None, typer.Option("--format", "-f", help=FORM_HELP)]
TableForm = Annotated[Table | None, typer.Option("--format", "-f", help=FORM_HELP)]
Device = Annotated[
    DeviceKind,
    typer.Option(
        "--device",
        envvar="DIALOGIST_DEVICE",
        help="Where to compute; auto: the GPU if there is one.",
    ),
]
PrecisionName = Annotated[
    PrecisionKind,
    typer.Option("--precision", help="Number format; auto is the fastest on this machine."),
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
    typer.Option(help="Training data to check for overlap. Repeatable."),
]
Floors = Annotated[
    bool, typer.Option("--floors/--no-floors", help="Show baselines and upper bounds.")
]
Exclude = Annotated[Path | None, typer.Option(help="File of ids to leave out.")]
Limit = Annotated[int | None, typer.Option(min=1, help="Only the first N dialogues.")]
Processes = Annotated[int | None, typer.Option(min=1, help="Scoring processes (default: auto).")]
Baseline = Annotated[str, typer.Option(help="Baseline system for differences (default: first).")]

Quiet = Annotated[bool, typer.Option("--quiet", "-q", callback=silence, help="Show no progress.")]

Strategy = Annotated[
    Strategies | None, typer.Option(help="How to decode (default: the model's own way).")
]
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
    LongInput | None,
    typer.Option(help="Dialogues over the model's limit: read in windows, or truncate and warn."),
]
Safe = Annotated[
    bool | None,
    typer.Option("--safe/--no-safe", help="Allow only names and numbers of the dialogue."),
]

_WORKS_WITH = {
    "temperature": "sample",
    "top_k": "sample",
    "top_p": "sample",
    "seed": "sample",
    "beam_size": "beam",
    "length_penalty": "beam",
}

_WORKS_WITHOUT_SEARCH = ("style", "length", "words", "evidence")


def decoding_options(base: "DecodingOptions", wanted: Mapping[str, Any]) -> "DecodingOptions":
    """The model's own decoding options with the given flags (None: not given) put over them.

    Raises:
        UsageError: a value is out of range, or a flag has no effect with the strategy in force.
    """
    given = {name: _plain(value) for name, value in wanted.items() if value is not None}
    options = type(base).parse({**base.model_dump(), **given}, "decoding")
    searched = [name for name in given if name not in _WORKS_WITHOUT_SEARCH]
    if getattr(options, "style", "free") == "faithful" and searched:
        flag = f"--{searched[0].replace('_', '-')}"
        raise UsageError(f"{flag} has an effect with --style free only")
    for name, strategy in _WORKS_WITH.items():
        if name in given and options.strategy != strategy:
            flag = f"--{name.replace('_', '-')}"
            raise UsageError(f"{flag} has an effect with --strategy {strategy} only")
    return options


def _plain(value: object) -> object:
    return value.value if isinstance(value, Enum) else value


def load_summarizer(
    model: str, device: str, threads: int | None, precision: "Precision | None" = None
) -> "Summarizer":
    """Set the thread count and load the model."""
    with _uncollected():
        import torch

        from dialogist.cli.licence_note import tell_licence
        from dialogist.engine.summarizer import Summarizer
        from dialogist.heap import give_back_large

        if threads is not None:
            torch.set_num_threads(threads)
        give_back_large()
        tell_licence(model)
        return Summarizer.load(model, device, precision)


def faithful_summarizer(model: str, style: Style | None) -> "FaithfulSummarizer | None":
    """The summarizer of a model in faithful style, if that is wished for; it loads no torch."""
    from dialogist.engine.faithful import FaithfulSummarizer
    from dialogist.engine.names import find_model
    from dialogist.engine.options import SummaryOptions

    tuned = find_model(model) / "generation_config.json"
    try:
        options = SummaryOptions.parse(json.loads(tuned.read_text(encoding="utf-8")), str(tuned))
    except (OSError, ValueError, ConfigError):
        return None  # loading the model tells what is wrong with its folder
    chosen = options.style if style is None else style.value
    return FaithfulSummarizer(model, options) if chosen == "faithful" else None


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
