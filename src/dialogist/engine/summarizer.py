"""`Summarizer`: dialogues in, summaries out. All that command line and evaluation ever see."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Protocol, Self

import torch

from dialogist.decoding.options import DecodingOptions
from dialogist.engine.batches import BatchLimits
from dialogist.engine.bundle import Bundle, load_bundle
from dialogist.engine.faithful import faithful_summaries
from dialogist.engine.given import checked_dialogues
from dialogist.engine.names import DEFAULT_MODEL, find_model
from dialogist.engine.options import SummaryOptions
from dialogist.engine.pipeline import Pipeline
from dialogist.engine.precision import Format, Precision
from dialogist.engine.reading import Reader, Reading
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

    Many threads may call one summarizer at the same time: it keeps nothing between calls.

    Example:
        >>> from dialogist import Dialogue, Summarizer, Utterance
        >>> ann = Utterance("Ann", "Shall we have lunch at noon?")
        >>> bo = Utterance("Bo", "Yes, let's go to Luigi's.")
        >>> [summary] = Summarizer.load("default").summarize([Dialogue((ann, bo))])
        >>> summary.status
        'unchecked'
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
    def precision(self) -> Format | None:
        """What it computes in; None: its weights are as trained."""
        return self.bundle.precision

    @property
    def plans(self) -> bool:
        """Whether the model decides on key points first and writes by them."""
        bundle = self.bundle
        return bool(bundle.preparation.planned_labels) or isinstance(bundle.model, LeaderWriter)

    @property
    def options(self) -> SummaryOptions:
        """The options the model was tuned for."""
        return SummaryOptions.of(self.bundle.decoding)

    def summarize(
        self,
        dialogues: Iterable[Dialogue],
        options: DecodingOptions | None = None,
        **overrides: object,
    ) -> list[Summary]:
        """One summary per dialogue, in order.

        ``options`` and ``overrides`` such as ``length="short"`` change the model's own options:
        see `chosen`. What goes wrong with one dialogue does not touch the others: its summary has
        the status ``error`` and a ``reason``, and the logger ``dialogist`` has the traceback.

        Raises:
            UsageError: these are no dialogues, there is no such option, or the options ask for
                more than the model can write.
        """
        chosen = self.chosen(options, **overrides)
        return self._summaries(chosen)(list(checked_dialogues(dialogues)))

    def read(self, dialogue: Dialogue, options: DecodingOptions | None = None) -> Reading:
        """How a dialogue is read: prepared, in windows, and how much of it."""
        return self._reader.read(dialogue, self.chosen(options))

    def write(self, reading: Reading, options: DecodingOptions | None = None) -> list[Written]:
        """What the model says of each window of a dialogue, as token ids."""
        return self._writer.write(reading.windows, self.chosen(options))

    def stream(
        self,
        dialogues: Iterable[Dialogue],
        options: DecodingOptions | None = None,
        window: int = 64,
        **overrides: object,
    ) -> Iterator[Summary]:
        """`summarize` for endless input: ``window`` dialogues are read at a time."""
        of_group = self._summaries(self.chosen(options, **overrides))
        remaining = checked_dialogues(dialogues)

        def summaries() -> Iterator[Summary]:
            while group := list(islice(remaining, window)):
                yield from of_group(group)

        return summaries()

    def chosen(self, options: DecodingOptions | None = None, **overrides: object) -> SummaryOptions:
        """The options that hold: the model's own, changed by what is given.

        Of ``options`` the fields that were set count, ``DecodingOptions(max_tokens=50)`` thus
        changes ``max_tokens`` alone; ``overrides`` come last.

        Raises:
            UsageError: there is no such option, or they ask for more than the model can write.
        """
        set_there = {} if options is None else options.model_dump(include=options.model_fields_set)
        given = {**set_there, **overrides}
        chosen = SummaryOptions.parse({**self.options.model_dump(), **given}, "options")
        longest = self.bundle.model.longest_target
        if longest is not None and chosen.max_tokens >= longest:
            raise UsageError(
                f"max_tokens {chosen.max_tokens}: this model writes at most {longest - 1} tokens"
            )
        if chosen.n_best > 1 and isinstance(self.bundle.model, LeaderWriter):
            raise UsageError("n_best above 1: this model writes by key points, one summary only")
        return chosen

    def _summaries(self, options: SummaryOptions) -> Callable[[Sequence[Dialogue]], list[Summary]]:
        if options.style == "faithful":
            return lambda dialogues: faithful_summaries(dialogues, options, self.name)
        pipeline = Pipeline(
            self.bundle, self._reader, lambda windows: self._writer.write(windows, options), options
        )
        return pipeline.summaries
