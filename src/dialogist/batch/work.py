"""What a job wants of each dialogue, as values that a process can be sent, and what comes of it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Protocol

from dialogist.model_folder.options import SummaryOptions
from dialogist.pipeline.summarizer import Summarizer
from dialogist.present import PresentedSummary, Presenter, PresentOptions, settings_of
from dialogist.records import JSON, Dialogue, MaskStage, Summary

if TYPE_CHECKING:  # torch: not for faithful style
    from dialogist.model_folder.bundle import Precision

GROUP = 32
"""Dialogues that are summarized together."""


class Opened(Protocol):
    """A model that is ready to work."""

    @property
    def settings(self) -> Mapping[str, JSON]:
        """Everything but the dialogues that the summaries depend on."""
        ...

    def shown(self, dialogues: Sequence[Dialogue]) -> Iterator[PresentedSummary]:
        """One summary per dialogue, in order."""
        ...


class Work(Protocol):
    """What a job does with dialogues; it can be pickled."""

    def open(self) -> Opened:
        """Load the model, in the process that works.

        Raises:
            DialogistError: there is no such model, or a setting cannot be met.
        """
        ...


@dataclass(frozen=True, slots=True)
class BatchSettings:
    """The model, its options, and how summaries are shown: see `Summarizer` and `Presenter`."""

    model: str
    options: SummaryOptions
    shape: PresentOptions
    mask: MaskStage | None = None
    mask_names: str = "none"
    device: str = "auto"
    precision: "Precision | None" = "auto"

    def open(self) -> "Ready":
        """Load the model; its network only where it writes.

        Raises:
            DialogistError: there is no such model, or a setting cannot be met.
        """
        summarizer = Summarizer.load(self.model, self.device, self.precision)
        summarizer.chosen(self.options)  # loads the network of free style, and checks the options
        return Ready(self, summarizer)


class Ready:
    """The summarizer of some settings."""

    def __init__(self, settings: BatchSettings, summarizer: Summarizer) -> None:
        self._settings, self._summarizer = settings, summarizer
        self._told: list[str] = []
        self._presenter = Presenter(
            settings.shape, settings.mask, settings.mask_names, self._told.append
        )

    @property
    def settings(self) -> dict[str, JSON]:
        """Everything but the dialogues that the summaries depend on."""
        own = self._settings
        masks = (own.mask, own.mask_names)
        return settings_of(self._summarizer, own.model, own.options, own.shape, masks)

    def shown(self, dialogues: Sequence[Dialogue]) -> Iterator[PresentedSummary]:
        """One summary per dialogue, in order; what cannot be shown as asked is an error."""
        read = self._presenter.mask_inputs(dialogues)
        for summary in self._summarizer.stream(read, self._settings.options, GROUP):
            self._told.clear()
            found = list(self._presenter.present([summary]))
            yield found[0] if found else PresentedSummary(self._unshown(summary))

    def _unshown(self, summary: Summary) -> Summary:
        reason = self._told[-1].removeprefix(f"{summary.id}: ")
        return error_record(summary.id, reason, summary.model)


def error_record(id: str, reason: str, model: str = "") -> Summary:
    """The record that stands for a dialogue that has no summary."""
    return Summary("", id, status="error", reason=reason, model=model)


def summarized(
    opened: Opened, dialogues: Iterable[Dialogue], at: Callable[[int], None], group: int = GROUP
) -> Iterator[PresentedSummary]:
    """One summary per dialogue, in order; one that failed among others is tried again alone.

    ``at`` is told the number of the first dialogue of each group before its work begins.
    """
    remaining, done = iter(dialogues), 0
    while some := list(islice(remaining, group)):
        at(done)
        for dialogue, presented in zip(some, list(opened.shown(some)), strict=True):
            again = presented.summary.status == "error" and len(some) > 1
            yield next(opened.shown([dialogue])) if again else presented
        done += len(some)


def batch_record(presented: PresentedSummary) -> dict[str, object]:
    """A summary as JSON values without ``timings``: the same dialogue gives the same bytes."""
    return replace(presented, summary=replace(presented.summary, timings={})).to_json()
