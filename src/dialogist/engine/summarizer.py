"""`Summarizer`: dialogues in, summaries out. All that command line and evaluation ever see."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Protocol, Self

import torch

from dialogist.decoding.options import DecodingOptions
from dialogist.engine.batches import BatchLimits
from dialogist.engine.bundle import Bundle, load_bundle
from dialogist.engine.clock import Clock
from dialogist.engine.compose import Composed, compose
from dialogist.engine.judging import refused
from dialogist.engine.names import DEFAULT_MODEL, find_model
from dialogist.engine.options import SummaryOptions
from dialogist.engine.precision import Precision
from dialogist.engine.reading import Reader, Reading
from dialogist.engine.supporting import with_evidence
from dialogist.engine.writing import Writer
from dialogist.engine.written import Written
from dialogist.errors import UsageError
from dialogist.models.leader_writer import LeaderWriter
from dialogist.records import Dialogue, Summary


class SummarizerLike(Protocol):
    """The face that neural, extractive and pretrained systems share."""

    @property
    def name(self) -> str:
        """How the system is called in tables and in `Summary.model`."""
        ...

    def summarize(
        self, dialogues: Sequence[Dialogue], options: DecodingOptions | None = None
    ) -> list[Summary]:
        """One summary per dialogue, in order."""
        ...


def pick_device(wanted: str) -> torch.device:
    """``auto`` is the GPU where there is one.

    Raises:
        UsageError: no such device here.
    """
    if wanted == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(wanted)
    except RuntimeError:
        raise UsageError(f"device '{wanted}': use auto, cpu or cuda") from None
    if device.type == "cuda" and not torch.cuda.is_available():
        raise UsageError("device cuda: torch sees no GPU here; use --device cpu")
    if device.type not in ("cpu", "cuda"):
        raise UsageError(f"device '{wanted}': use auto, cpu or cuda")
    return device


class Summarizer:
    """A trained model with its preparation and search.

    Example:
        >>> from dialogist import Dialogue, Summarizer, Utterance
        >>> ann = Utterance("Ann", "Shall we have lunch at noon?")
        >>> bo = Utterance("Bo", "Yes, let's go to Luigi's.")
        >>> [summary] = Summarizer.load("default").summarize([Dialogue((ann, bo))])
        >>> summary.status
        'ok'
    """

    def __init__(self, bundle: Bundle, limits: BatchLimits | None = None) -> None:
        self.bundle = bundle
        self._reader = Reader(bundle)
        self._writer = Writer(bundle, limits)

    @classmethod
    def load(
        cls,
        name_or_path: str = DEFAULT_MODEL,
        device: str = "auto",
        precision: Precision | None = "auto",
    ) -> Self:
        """Load a model by name (``default``), model folder, or run folder.

        ``precision``: what it computes in; ``auto`` is what pays on this machine (docs/speed.md),
        None fp32, and the weights stay as they were trained.

        Raises:
            ModelError: there is no such model, or it is damaged.
            UsageError: there is no such device, or it does not have this precision.
        """
        chosen = pick_device(device)
        return cls(load_bundle(find_model(name_or_path), chosen, name_or_path, precision))

    @property
    def name(self) -> str:
        """The model's name."""
        return self.bundle.name

    @property
    def options(self) -> SummaryOptions:
        """The options the model was tuned for."""
        return SummaryOptions.of(self.bundle.decoding)

    def summarize(
        self, dialogues: Sequence[Dialogue], options: DecodingOptions | None = None
    ) -> list[Summary]:
        """One summary per dialogue, in order; ``options`` default to the model's own.

        `DecodingOptions` change the search alone, `SummaryOptions` the rest, too.

        Raises:
            UsageError: the options ask for more than the model can write.
        """
        chosen = self.chosen(options)
        clock = Clock()
        with clock.of("read"):
            readings = [self._reader.read(dialogue, chosen) for dialogue in dialogues]
        with clock.of("search"):
            written = self._write(readings, chosen)
        with clock.of("compose"):
            composed = [
                Composed(refused(reading, self.name))
                if reading.refused
                else compose(self.bundle, reading, parts, chosen)
                for reading, parts in zip(readings, written, strict=True)
            ]
        summaries = [one.summary for one in composed]
        if chosen.evidence:
            with clock.of("evidence"):
                summaries = [
                    with_evidence(self.bundle, reading.dialogue, parts, one)
                    for reading, parts, one in zip(readings, written, composed, strict=True)
                ]
        return [clock.on(summary, len(dialogues)) for summary in summaries]

    def read(self, dialogue: Dialogue, options: DecodingOptions | None = None) -> Reading:
        """How a dialogue is read: prepared, in windows, and how much of it."""
        return self._reader.read(dialogue, self.chosen(options))

    def write(self, reading: Reading, options: DecodingOptions | None = None) -> list[Written]:
        """What the model says of each window of a dialogue, as token ids."""
        return self._write([reading], self.chosen(options))[0]

    def stream(
        self,
        dialogues: Iterable[Dialogue],
        options: DecodingOptions | None = None,
        window: int = 64,
    ) -> Iterator[Summary]:
        """`summarize` for endless input: ``window`` dialogues are read at a time."""
        remaining = iter(dialogues)
        while group := list(islice(remaining, window)):
            yield from self.summarize(group, options)

    def chosen(self, options: DecodingOptions | None) -> SummaryOptions:
        """The options that hold: those given over the model's own.

        Raises:
            UsageError: they ask for more than the model can write.
        """
        chosen = self.options
        if isinstance(options, SummaryOptions):
            chosen = options
        elif options is not None:
            chosen = chosen.model_copy(update=options.model_dump())
        longest = self.bundle.model.longest_target
        if longest is not None and chosen.max_tokens >= longest:
            raise UsageError(
                f"max_tokens {chosen.max_tokens}: this model writes at most {longest - 1} tokens"
            )
        if chosen.n_best > 1 and isinstance(self.bundle.model, LeaderWriter):
            raise UsageError("n_best above 1: this model writes by key points, one summary only")
        return chosen

    def _write(self, readings: Sequence[Reading], options: SummaryOptions) -> list[list[Written]]:
        windows = [window for reading in readings for window in reading.windows]
        found = iter(self._writer.write(windows, options))
        return [list(islice(found, len(reading.windows))) for reading in readings]
