"""`Summarizer`: dialogues in, summaries out; `Session`: one conversation that is still going on.

They are all that command line, service and evaluation see. Nothing here needs torch before free
style is asked for.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from os import PathLike
from threading import Lock
from typing import TYPE_CHECKING, Protocol, Self, TypeAlias

from dialogist.decoding import DecodingOptions
from dialogist.errors import UsageError
from dialogist.model_folder.model_files import DEFAULT_MODEL, find_model, has_network, no_network
from dialogist.model_folder.options import SummaryOptions, model_options, only_in_free_style
from dialogist.pipeline.faithful import faithful_summaries
from dialogist.pipeline.isolation import checked_dialogues
from dialogist.records import Dialogue, Summary, Utterance

if TYPE_CHECKING:
    from dialogist.baselines.openai_endpoint import OpenAIEndpoint
    from dialogist.model_folder.bundle import Bundle, Format, Precision
    from dialogist.pipeline.drafts import Window
    from dialogist.pipeline.stages import Neural
    from dialogist.pipeline.window_generator import BatchLimits
    from dialogist.pipeline.windows import SegmentedDialogue

WindowKey: TypeAlias = tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]
"""A window as the network reads it: its token ids, and the utterances that they are of."""


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


@dataclass(frozen=True, slots=True)
class _Unloaded:
    """A model folder of which only the options were read."""

    name: str
    decoding: SummaryOptions
    load: "Callable[[], Bundle]"


class Summarizer:
    """A model and the options that it was made for.

    In faithful style its network is not needed, nor loaded before somebody asks for it. Many
    threads may call one summarizer at the same time: it keeps nothing between calls.

    Example:
        >>> from dialogist import Dialogue, Summarizer, Utterance
        >>> ann = Utterance("Ann", "Shall we have lunch at noon?")
        >>> bo = Utterance("Bo", "Yes, let's go to Luigi's.")
        >>> [summary] = Summarizer.load("default").summarize([Dialogue((ann, bo))])
        >>> summary.status
        'ok'
    """

    def __init__(self, bundle: "Bundle | _Unloaded", limits: "BatchLimits | None" = None) -> None:
        self._model, self._limits = bundle, limits
        self._neural: Neural | None = None
        self._lock = Lock()

    @classmethod
    def load(
        cls,
        name_or_path: str | PathLike[str] = DEFAULT_MODEL,
        device: str = "auto",
        precision: "Precision | None" = "auto",
    ) -> Self:
        """Load a model by name (``default``), model folder, or run folder.

        The network of a model of faithful style is loaded when a call first needs it.
        ``precision``: what it computes in; ``auto`` is the fastest on this machine
        (docs/notes/2026-11-24-summary-speed.md), None fp32, and the weights stay as they were
        trained.

        Raises:
            ModelError: there is no such model, or it is damaged.
            UsageError: there is no such device, it does not have this precision, or the name is
                none.
        """
        if not isinstance(name_or_path, str | PathLike) or not str(name_or_path):
            raise UsageError(f"model: give a name or a path, not {name_or_path!r}")
        name = str(name_or_path)
        folder = find_model(name)
        writes = has_network(folder)

        def load() -> "Bundle":
            if not writes:
                raise UsageError(no_network(name))
            from dialogist.model_folder.bundle import load_bundle  # torch
            from dialogist.nn.quantization import pick_device

            return load_bundle(folder, pick_device(device), name, precision)

        options = model_options(folder)
        if options.style == "faithful":
            return cls(_Unloaded(name, options, load))
        return cls(load())

    def load_network(self) -> None:
        """Load what free style needs now, rather than when it is first asked for.

        Raises:
            ModelError: it is damaged.
            UsageError: there is no such device, or it does not have the precision.
        """
        _ = self._network

    @property
    def name(self) -> str:
        """The model's name."""
        return self._model.name

    @property
    def bundle(self) -> "Bundle":
        """The model with its network."""
        return self._network.bundle

    @property
    def precision(self) -> "Format | None":
        """What the network computes in; None: its weights are as trained."""
        return self.bundle.precision

    @property
    def plans(self) -> bool:
        """Whether the network decides on key points first and writes by them."""
        return self._network.plans

    @property
    def options(self) -> SummaryOptions:
        """The options the model was made for."""
        return SummaryOptions.of(self._model.decoding)

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
        return self._summaries(list(checked_dialogues(dialogues)), chosen)

    def read(
        self, dialogue: Dialogue, options: DecodingOptions | None = None
    ) -> "SegmentedDialogue":
        """How the network reads a dialogue: prepared, in windows, and how much of it."""
        return self._network.reader.read(dialogue, self.chosen(options))

    def write(
        self, reading: "SegmentedDialogue", options: DecodingOptions | None = None
    ) -> "list[Window]":
        """What the network says of each window of a dialogue, as token ids."""
        return self._network.writer.write(reading.windows, self.chosen(options))

    def stream(
        self,
        dialogues: Iterable[Dialogue],
        options: DecodingOptions | None = None,
        window: int = 64,
        **overrides: object,
    ) -> Iterator[Summary]:
        """`summarize` for endless input: ``window`` dialogues are read at a time.

        Raises:
            UsageError: as `summarize`, or ``window`` is less than 1.
        """
        if window < 1:
            raise UsageError(f"window must be at least 1, not {window}")
        chosen = self.chosen(options, **overrides)
        remaining = checked_dialogues(dialogues)

        def summaries() -> Iterator[Summary]:
            while group := list(islice(remaining, window)):
                yield from self._summaries(group, chosen)

        return summaries()

    def chosen(self, options: DecodingOptions | None = None, **overrides: object) -> SummaryOptions:
        """The options that hold: the model's own, changed by what is given.

        Of ``options`` the fields that were set count, ``DecodingOptions(max_tokens=50)`` thus
        changes ``max_tokens`` alone; ``overrides`` come last.

        Raises:
            UsageError: there is no such option, it has no effect in the style chosen, or they ask
                for more than the model can write.
        """
        if options is not None and not isinstance(options, DecodingOptions):
            raise UsageError(f"options must be SummaryOptions, not {type(options).__name__}")
        set_there = {} if options is None else options.model_dump(include=options.model_fields_set)
        own = self.options.model_dump()
        chosen = SummaryOptions.parse({**own, **set_there, **overrides}, "options")
        if chosen.style == "free":
            self._network.check(chosen)
            return chosen
        changed = [name for name, value in chosen.model_dump().items() if value != own[name]]
        if idle := only_in_free_style(changed):
            raise UsageError(f"{idle[0]} has an effect in free style only: give style='free'")
        return chosen

    def _summaries(self, dialogues: Sequence[Dialogue], options: SummaryOptions) -> list[Summary]:
        if options.style == "faithful":
            return faithful_summaries(dialogues, options, self.name)
        return self._network.summaries(dialogues, options)

    @property
    def _network(self) -> "Neural":
        """What free style needs, loaded when first asked for."""
        with self._lock:
            if self._neural is None:
                from dialogist.pipeline.stages import Neural  # torch

                known = self._model
                bundle = known.load() if isinstance(known, _Unloaded) else known
                self._neural = Neural(bundle, self._limits)
            return self._neural


class EndpointSummarizer(Summarizer):
    """A model behind an endpoint, for whoever works with a `Summarizer`.

    It has no network here: how it searches stands behind its name, and no statement is checked.
    """

    def __init__(self, system: "OpenAIEndpoint") -> None:
        self._system = system

    @property
    def name(self) -> str:
        """``openai:URL#NAME``."""
        return self._system.name

    @property
    def precision(self) -> "Format | None":
        """None: nothing is computed here."""
        return None

    @property
    def plans(self) -> bool:
        """Whether it writes by key points: it does not."""
        return False

    @property
    def options(self) -> SummaryOptions:
        """None of them has an effect."""
        return SummaryOptions(evidence=False)

    def chosen(self, options: DecodingOptions | None = None, **overrides: object) -> SummaryOptions:
        """The options that hold.

        Raises:
            UsageError: there is no such option, or it has no effect here.
        """
        given = {} if options is None else options.model_dump()
        own = self.options.model_dump()
        chosen = SummaryOptions.parse({**own, **given, **overrides}, "options")
        for name, value in chosen.model_dump().items():
            if value != own[name] and name != "evidence":
                raise UsageError(
                    f"{name} has no effect at an endpoint: its options follow its name "
                    "(#NAME?max_tokens=200)"
                )
        return chosen

    def _summaries(self, dialogues: Sequence[Dialogue], options: SummaryOptions) -> list[Summary]:
        return self._system.summarize(dialogues)


class Session:
    """Takes utterances as they come; a summary costs the last window, however long it has become.

    In free style, windows are cut so that what comes later changes none but the last; what was
    said of the others is kept. In either style ``summary()`` says the same as a session that is
    given all at once. Many threads may call one session, and many sessions may share one
    summarizer.

    Example:
        >>> from dialogist import Session, Summarizer, Utterance
        >>> session = Session(Summarizer.load("default"))
        >>> session.add(Utterance("Ann", "Can you send me the report by Friday?"))
        >>> session.add(Utterance("Bo", "Yes, I will send it on Thursday evening."))
        >>> session.summary().status
        'ok'
    """

    def __init__(
        self,
        summarizer: Summarizer,
        options: DecodingOptions | None = None,
        id: str = "",
        profile: Mapping[str, str] | None = None,
        **overrides: object,
    ) -> None:
        """``options`` and ``overrides`` change the model's own as in `Summarizer.chosen`.

        Raises:
            UsageError: there is no such option, or they ask for more than the model can write.
        """
        self._options = summarizer.chosen(options, **overrides)
        self._id, self._name, self._profile = id, summarizer.name, profile or {}
        if self._options.style == "free":
            from dialogist.pipeline.stages import Pipeline  # torch
            from dialogist.pipeline.window_generator import WindowGenerator
            from dialogist.pipeline.windows import Segmenter

            bundle = summarizer.bundle
            self._writer = WindowGenerator(bundle)
            reader = Segmenter(bundle, alike=False)
            self._pipeline = Pipeline(bundle, reader, self._write, self._options)
        self._utterances: list[Utterance] = []
        self._searched: dict[WindowKey, Window] = {}
        self._lock = Lock()

    @property
    def dialogue(self) -> Dialogue:
        """All that was said so far."""
        return Dialogue(tuple(self._utterances), self._id, profile=self._profile)

    def add(self, *utterances: Utterance) -> None:
        """Somebody says something.

        Raises:
            UsageError: one is no `Utterance`; then none is added.
        """
        said = Dialogue(utterances).utterances
        with self._lock:
            self._utterances += said

    def summary(self) -> Summary:
        """The summary of all that was said so far; what goes wrong is its status ``error``."""
        with self._lock:
            if self._options.style == "faithful":
                return faithful_summaries([self.dialogue], self._options, self._name)[0]
            return self._pipeline.summaries([self.dialogue])[0]

    def _write(self, windows: "Sequence[Window]") -> "list[Window]":
        """The windows with what is said of each; only new ones are searched, old ones forgotten."""
        missing = [one for one in windows if _key(one) not in self._searched]
        found = self._writer.write(missing, self._options)
        known = self._searched | {_key(one): one for one in found}
        # None keeps the dialogue as it was before: that would be a copy for each window.
        searched = [replace(known[_key(one)], dialogue=one.dialogue) for one in windows]
        self._searched = {_key(one): one for one in searched}
        return searched


def _key(window: "Window") -> WindowKey:
    """Two windows may say the same at different places."""
    return window.encoded.source, window.example.origins
