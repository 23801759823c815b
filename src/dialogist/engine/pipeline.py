"""`Pipeline`: dialogues to summaries, stage by stage; what goes wrong with one leaves the others.

    read -> search -> compose -> evidence -> checks

Search takes all dialogues at once. Where that fails it is tried again dialogue by dialogue: so one
of them does not take its neighbours with it, and a batch too large for memory is done in parts.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TypeAlias

from dialogist.engine.bundle import Bundle
from dialogist.engine.checking import with_checks
from dialogist.engine.compose import Composed, compose
from dialogist.engine.drafts import SearchedWindow, Window
from dialogist.engine.faithful import without_profile_turns
from dialogist.engine.isolation import Clock, failed
from dialogist.engine.judging import refused
from dialogist.engine.options import SummaryOptions
from dialogist.engine.segmenting import SegmentedDialogue, Segmenter
from dialogist.engine.supporting import with_evidence
from dialogist.engine.writing import BatchLimits, Writer
from dialogist.errors import UsageError
from dialogist.records import Dialogue, Summary

Write: TypeAlias = Callable[[Sequence[Window]], list[SearchedWindow]]
"""What the model says of each window."""


@dataclass(slots=True)
class _Task:
    """One dialogue on its way; ``failure`` stands for its summary where something went wrong."""

    dialogue: Dialogue
    reading: SegmentedDialogue | None = None
    written: list[SearchedWindow] = field(default_factory=list)
    composed: Composed | None = None
    failure: Summary | None = None

    @property
    def windows(self) -> tuple[Window, ...]:
        """What of it is to be searched."""
        return () if self.reading is None or self.failure else self.reading.windows


_Step: TypeAlias = Callable[[_Task], None]


class Pipeline:
    """The stages for one model, one way of writing and one set of options."""

    def __init__(
        self, bundle: Bundle, reader: Segmenter, write: Write, options: SummaryOptions
    ) -> None:
        self._bundle, self._reader = bundle, reader
        self._write, self._options = write, options

    def summaries(self, dialogues: Sequence[Dialogue]) -> list[Summary]:
        """One summary per dialogue, in order."""
        clock = Clock()
        tasks = [_Task(dialogue) for dialogue in dialogues]
        with clock.of("read"):
            self._each(tasks, self._read)
        with clock.of("search"):
            self._search(tasks)
        # One dialogue after the other: these stages share an index of it, and few are kept.
        for task in tasks:
            with clock.of("compose"):
                self._try(task, self._compose)
            if self._options.evidence:
                with clock.of("evidence"):
                    self._try(task, self._support)
            with clock.of("checks"):
                self._try(task, self._check)
        licence = str(self._bundle.about.get("licence", ""))
        found = (replace(_summary(task), licence=licence) for task in tasks)
        return [clock.on(summary, len(tasks)) for summary in found]

    def _each(self, tasks: Iterable[_Task], step: _Step) -> None:
        for task in tasks:
            self._try(task, step)

    def _try(self, task: _Task, step: _Step) -> None:
        if task.failure is not None:
            return
        try:
            step(task)
        except Exception as error:  # a bug of ours, or memory: the others go on
            task.failure = failed(task.dialogue, error, self._bundle.name)

    def _read(self, task: _Task) -> None:
        task.reading = self._reader.read(task.dialogue, self._options)

    def _search(self, tasks: Sequence[_Task]) -> None:
        try:
            written = self._write([window for task in tasks for window in task.windows])
        except Exception:
            written = None
        if written is None:
            self._each(tasks, self._search_alone)
            return
        found = iter(written)
        for task in tasks:
            task.written = list(islice(found, len(task.windows)))

    def _search_alone(self, task: _Task) -> None:
        task.written = self._write(task.windows)

    def _compose(self, task: _Task) -> None:
        assert task.reading is not None
        if task.reading.refused:
            task.composed = Composed(refused(task.reading, self._bundle.name))
        else:
            task.composed = compose(self._bundle, task.reading, task.written, self._options)

    def _support(self, task: _Task) -> None:
        assert task.composed is not None
        assert task.reading is not None
        dialogue = task.reading.dialogue
        summary = with_evidence(self._bundle, dialogue, task.written, task.composed)
        task.composed = Composed(summary, task.composed.said)

    def _check(self, task: _Task) -> None:
        assert task.composed is not None
        assert task.reading is not None
        summary = with_checks(task.composed.summary, task.reading.dialogue, self._options)
        if self._bundle.preparation.reads_profiles:
            summary = without_profile_turns(summary, task.dialogue)
        task.composed = Composed(summary, task.composed.said)


def _summary(task: _Task) -> Summary:
    if task.failure is not None:
        return task.failure
    assert task.composed is not None
    return task.composed.summary


# `Neural`: summaries in free style, which a model's network writes.


class Neural:
    """A loaded model: its network, with preparation and search."""

    def __init__(self, bundle: Bundle, limits: BatchLimits | None = None) -> None:
        self.bundle = bundle
        self.reader = Segmenter(bundle)
        self.writer = Writer(bundle, limits)

    @property
    def plans(self) -> bool:
        """Whether the model decides on key points first and writes by them."""
        return bool(self.bundle.preparation.planned_labels) or self.bundle.model.plans

    def check(self, options: SummaryOptions) -> None:
        """See that the model can do what is asked.

        Raises:
            UsageError: the options ask for more than it can write.
        """
        longest = self.bundle.model.longest_target
        if longest is not None and options.max_tokens >= longest:
            raise UsageError(
                f"max_tokens {options.max_tokens}: this model writes at most {longest - 1} tokens"
            )
        if options.n_best > 1 and self.bundle.model.plans:
            raise UsageError("n_best above 1: this model writes by key points, one summary only")

    def summaries(self, dialogues: Sequence[Dialogue], options: SummaryOptions) -> list[Summary]:
        """Write one summary per dialogue, in order."""
        pipeline = Pipeline(
            self.bundle, self.reader, lambda windows: self.writer.write(windows, options), options
        )
        return pipeline.summaries(dialogues)
