"""Flags that several commands share, and what they stand for."""

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dialogist.cli.console import note, silence
from dialogist.cli.output_formats import (
    CardFormat,
    DeviceKind,
    Facts,
    PrecisionKind,
    Strategies,
    Table,
)
from dialogist.errors import UsageError
from dialogist.files import allow_network
from dialogist.records import Length, LongInput, MaskedNames, MaskStage, Perspective, Style

if TYPE_CHECKING:
    import torch

    from dialogist.model_folder.bundle import Precision
    from dialogist.model_folder.options import SummaryOptions
    from dialogist.pipeline.summarizer import Summarizer
    from dialogist.present import PresentOptions
    from dialogist.recipe.predictions import PredictionForm


MOST_THREADS = 256
"""More than this are a mistake: torch would start every one of them."""

FORMAT_HELP = "Form of the output (default: by the suffix of --output, else text)."

OutputFile = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", metavar="FILE", help="File to write to (default: standard output)."
    ),
]
FactsForm = Annotated[Facts | None, typer.Option("--format", "-f", help=FORMAT_HELP)]
CardForm = Annotated[CardFormat | None, typer.Option("--format", "-f", help=FORMAT_HELP)]
TableForm = Annotated[Table | None, typer.Option("--format", "-f", help=FORMAT_HELP)]
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


def _allow(value: bool) -> bool:
    if value:
        allow_network()
    return value


AllowNetwork = Annotated[
    bool,
    typer.Option(
        "--allow-network",
        callback=_allow,
        help="Talk to other machines: download models by name, send dialogues to openai:URL#NAME.",
    ),
]
ModelName = Annotated[
    str,
    typer.Option(
        "--model",
        "-m",
        envvar="DIALOGIST_MODEL",
        help="A model's name, folder, or run folder; a pretrained model's folder, GGUF file or hub "
        "name; openai:URL#NAME.",
    ),
]
Data = Annotated[
    Path | None,
    typer.Option("--data", envvar="DIALOGIST_DATA", help="Folder that data paths start from."),
]
Limit = Annotated[int | None, typer.Option(min=1, help="Only the first N dialogues.")]
Baseline = Annotated[str, typer.Option(help="Baseline system for differences (default: first).")]

Quiet = Annotated[bool, typer.Option("--quiet", "-q", callback=silence, help="Show no progress.")]

Seed = Annotated[int | None, typer.Option(help="Seed of sampling.")]
Long = Annotated[
    LongInput | None,
    typer.Option(help="Dialogues over the model's limit: read in windows, or truncate and warn."),
]
Safe = Annotated[
    bool | None,
    typer.Option("--safe/--no-safe", help="Allow only names and numbers of the dialogue."),
]


@dataclass(frozen=True, kw_only=True)
class SearchFlags:
    """How a network's words are decoded; None: as the model is made for."""

    strategy: Annotated[
        Strategies | None, typer.Option(help="How to decode (default: the model's own way).")
    ] = None
    beam_size: Annotated[int | None, typer.Option(help="Hypotheses kept by beam search.")] = None
    length_penalty: Annotated[
        float | None, typer.Option(help="Above 1 favours longer summaries, beam only.")
    ] = None
    no_repeat_ngram: Annotated[
        int | None, typer.Option(help="Forbid repeated n-grams of tokens (0: off).")
    ] = None
    max_tokens: Annotated[int | None, typer.Option(help="Longest summary, in tokens.")] = None


@dataclass(frozen=True, kw_only=True)
class ScoringFlags:
    """What is measured, how files of predictions are read, and on what it runs."""

    encoder: Annotated[Path | None, typer.Option(help="The encoder's folder, for bertscore.")] = (
        None
    )
    floors: Annotated[
        bool, typer.Option("--floors/--no-floors", help="Show baselines and upper bounds.")
    ] = True
    prediction_key: Annotated[
        str, typer.Option(help="The key or column of files' predictions (default: as usual).")
    ] = ""
    missing_as_empty: Annotated[
        bool, typer.Option("--missing-as-empty", help="Missing predictions count as empty ones.")
    ] = False
    by_order: Annotated[
        bool, typer.Option("--by-order", help="Files' predictions follow the dialogues by line.")
    ] = False
    limit: Limit = None
    processes: Annotated[
        int | None, typer.Option(min=1, help="Scoring processes (default: auto).")
    ] = None
    device: Device = "auto"
    threads: Threads = None

    @property
    def written(self) -> "PredictionForm":
        """How files of predictions are read."""
        from dialogist.evaluation.system_outputs import JoinOptions
        from dialogist.recipe.predictions import PredictionForm

        return PredictionForm(
            self.prediction_key, JoinOptions(self.missing_as_empty, self.by_order)
        )


@dataclass(frozen=True, kw_only=True)
class HeldOutFlags(ScoringFlags):
    """The same, and which dialogues count."""

    exclude: Annotated[Path | None, typer.Option(help="File of ids to leave out.")] = None
    train: Annotated[
        list[Path] | None, typer.Option(help="Training data to check for overlap. Repeatable.")
    ] = None


_WORKS_WITH = {
    "temperature": "sample",
    "top_k": "sample",
    "top_p": "sample",
    "seed": "sample",
    "beam_size": "beam",
    "length_penalty": "beam",
}


def decoding_options(base: "SummaryOptions", wanted: Mapping[str, Any]) -> "SummaryOptions":
    """The model's own decoding options with the given flags (None: not given) put over them.

    Raises:
        UsageError: a value is out of range, or a flag has no effect with the strategy in force.
    """
    from dialogist.model_folder.options import only_in_free_style  # pydantic: not for --help

    given = {name: _plain(value) for name, value in wanted.items() if value is not None}
    options = type(base).parse({**base.model_dump(), **given}, "decoding")
    idle = only_in_free_style(given)
    if options.style == "faithful" and idle:
        flag = f"--{idle[0].replace('_', '-')}"
        raise UsageError(f"{flag} has an effect with --style free only")
    for name, strategy in _WORKS_WITH.items():
        if name in given and options.strategy != strategy:
            flag = f"--{name.replace('_', '-')}"
            raise UsageError(f"{flag} has an effect with --strategy {strategy} only")
    return options


def _plain(value: object) -> object:
    return value.value if isinstance(value, Enum) else value


def load_summarizer(
    model: str,
    device: str,
    threads: int | None,
    precision: "Precision | None" = None,
    style: str | None = None,
) -> "Summarizer":
    """Load the model, with its network if it is to write; ``style`` None: the model's own.

    Raises:
        ModelError: there is no such model, or it is damaged.
        UsageError: there is no such device.
    """
    with _uncollected():
        from dialogist.model_folder.model_files import find_model
        from dialogist.model_folder.options import model_options
        from dialogist.pipeline.summarizer import EndpointSummarizer, Summarizer

        if model.startswith("openai:"):
            from dialogist.baselines.openai_endpoint import OpenAIEndpoint

            return EndpointSummarizer(OpenAIEndpoint(model))
        writes = (style or model_options(find_model(model)).style) == "free"
        if writes:
            _prepare_network(model, threads)
        summarizer = Summarizer.load(model, device, precision)
        if writes:
            summarizer.load_network()
        return summarizer


def choose_device(device: str, threads: int | None) -> "torch.device":
    """The device of a network, after setting how many threads torch computes with.

    Raises:
        UsageError: there is no such device.
    """
    import torch

    from dialogist.nn.quantization import pick_device

    if threads is not None:
        torch.set_num_threads(threads)
    return pick_device(device)


def tell_idle_machine_flags(
    options: "SummaryOptions", device: str, threads: int | None, precision: PrecisionKind
) -> None:
    """Say which flags about the network have no effect, for there is none in faithful style.

    They are not refused: the environment may set them for all calls.
    """
    given = {
        "--device": device != "auto",
        "--threads": threads is not None,
        "--precision": precision != "auto",
    }
    idle = [flag for flag, is_given in given.items() if is_given]
    if options.style == "faithful" and idle:
        note(f"{', '.join(idle)}: has an effect with --style free only", own=True)


def tell_measured_style(name: str, folder: Path) -> None:
    """Say that a model of faithful style is measured by what its network writes."""
    from dialogist.model_folder.model_files import has_network
    from dialogist.model_folder.options import model_options

    if has_network(folder) and model_options(folder).style == "faithful":
        note(f"{name}: measured in free style, by what its network writes in fp32", own=True)


def _prepare_network(model: str, threads: int | None) -> None:
    import torch

    from dialogist.cli.models import tell_licence
    from dialogist.heap import give_back_large

    if threads is not None:
        torch.set_num_threads(threads)
    give_back_large()
    tell_licence(model)


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


# The flags of ``summarize`` that say how a summary is to be shown, and what they stand for.


MaskNames = Annotated[MaskedNames, typer.Option(help="Whose names to mask as well.")]


@dataclass(frozen=True, kw_only=True)
class SummaryFlags:
    """What summaries are like; None: as the model is made for."""

    template: Annotated[
        str | None, typer.Option("--template", "-t", help="Fill a template: its name or YAML file.")
    ] = None
    focus: Annotated[
        str | None, typer.Option("--focus", help="Only what is about one speaker.")
    ] = None
    perspective: Annotated[
        Perspective | None, typer.Option("--perspective", help="Call people by name or by role.")
    ] = None
    speaker: Annotated[
        list[str] | None,
        typer.Option("--speaker", help="OLD=NEW: call a speaker otherwise. Repeatable."),
    ] = None
    style: Annotated[
        Style | None,
        typer.Option(
            help="faithful: what was said, in the third person or quoted. free: the network's "
            "words, not verified (default: the model's own; of the bundled model faithful)."
        ),
    ] = None
    length: Annotated[Length | None, typer.Option(help="How long the summary is.")] = None
    words: Annotated[
        int | None, typer.Option(min=1, help="At most N words, in whole sentences.")
    ] = None
    long: Long = None
    safe: Safe = None
    evidence: Annotated[
        bool,
        typer.Option(
            "--evidence/--no-evidence",
            help="Show what was said beside each sentence, and what the checks say of it.",
        ),
    ] = True
    mask: Annotated[
        MaskStage | None,
        typer.Option(help="Mask personal data in what the model reads or writes."),
    ] = None
    mask_names: MaskNames = "none"

    @property
    def wanted(self) -> dict[str, Any]:
        """The options of a summary among them."""
        names = ("style", "length", "words", "long", "safe")
        # A template's rules read it; `PresentOptions` leaves it out afterwards.
        evidence = self.evidence or self.template is not None
        return {**{name: getattr(self, name) for name in names}, "evidence": evidence}

    def shape(self) -> "PresentOptions":
        """How summaries are shown; raises as `present_options_of`."""
        names = self.speaker
        return present_options_of(self.template, self.focus, self.perspective, names, self.evidence)


def present_options_of(
    template: str | None,
    focus: str | None,
    perspective: Perspective | None,
    speakers: list[str] | None,
    with_evidence: bool = True,
) -> "PresentOptions":
    """The flags as a `PresentOptions`; a template is read and checked here.

    Raises:
        ConfigError: the template is at fault; names the line.
        UsageError: a --speaker is not OLD=NEW.
    """
    from dialogist.present import PresentOptions

    names = _pairs(speakers or [])
    if names:
        from dialogist.forms.perspective import Renamer

        Renamer(names)  # checks them
    read = None
    if template is not None:
        from dialogist.forms.template_config import load_template

        read = load_template(template)
    return PresentOptions(read, focus, perspective, names, with_evidence)


def _pairs(entries: list[str]) -> dict[str, str]:
    names: dict[str, str] = {}
    for entry in entries:
        old, equals, new = (part.strip() for part in entry.partition("="))
        if not equals or not old or not new:
            raise UsageError(f"--speaker {entry}: write it as OLD=NEW")
        if old in names:
            raise UsageError(f"--speaker {entry}: '{old}' is renamed twice")
        names[old] = new
    return names
