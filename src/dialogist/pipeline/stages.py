"""`Pipeline`: dialogues to summaries in free style, stage by stage.

    read -> search -> compose -> evidence -> checks

Search takes all dialogues at once. Where that fails it is tried again dialogue by dialogue: so one
of them does not take its neighbours with it, and a batch too large for memory is done in parts.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TypeAlias

from dialogist.checks.checking import with_checks
from dialogist.checks.profile import without_profile_turns
from dialogist.errors import UsageError
from dialogist.model_folder.bundle import Bundle
from dialogist.model_folder.options import SummaryOptions
from dialogist.pipeline.compose import attach_evidence, compose, rejected
from dialogist.pipeline.drafts import Window
from dialogist.pipeline.isolation import Clock, failed
from dialogist.pipeline.window_generator import BatchLimits, WindowGenerator
from dialogist.pipeline.windows import SegmentedDialogue, Segmenter, SummarySentence
from dialogist.records import Dialogue, Summary

Write: TypeAlias = Callable[[Sequence[Window]], list[Window]]
"""The windows with what the model says of each."""


@dataclass(slots=True)
class _Task:
    """One dialogue on its way; where something goes wrong its summary says so and is final."""

    dialogue: Dialogue
    reading: SegmentedDialogue | None = None
    summary: Summary | None = None
    said: tuple[SummarySentence, ...] = ()
    failed: bool = False

    @property
    def windows(self) -> tuple[Window, ...]:
        """What of it is to be searched."""
        return () if self.reading is None or self.failed else self.reading.windows

    def searched(self, windows: Iterable[Window]) -> None:
        """Take the windows back as search has left them."""
        if self.reading is not None:
            self.reading = replace(self.reading, windows=tuple(windows))


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
        found = [task.summary for task in tasks if task.summary is not None]  # each has one
        return [clock.on(replace(one, licence=licence), len(tasks)) for one in found]

    def _each(self, tasks: Iterable[_Task], step: _Step) -> None:
        for task in tasks:
            self._try(task, step)

    def _try(self, task: _Task, step: _Step) -> None:
        if task.failed:
            return
        try:
            step(task)
        except Exception as error:  # a bug of ours, or memory: the others go on
            task.summary, task.failed = failed(task.dialogue, error, self._bundle.name), True

    def _read(self, task: _Task) -> None:
        task.reading = self._reader.read(task.dialogue, self._options)

    def _search(self, tasks: Sequence[_Task]) -> None:
        try:
            searched = self._write([window for task in tasks for window in task.windows])
        except Exception:
            searched = None
        if searched is None:
            self._each(tasks, self._search_alone)
            return
        found = iter(searched)
        for task in tasks:
            task.searched(islice(found, len(task.windows)))

    def _search_alone(self, task: _Task) -> None:
        task.searched(self._write(task.windows))

    def _compose(self, task: _Task) -> None:
        assert task.reading is not None
        if task.reading.refused:
            task.summary = rejected(task.reading, self._bundle.name)
        else:
            task.summary, task.said = compose(self._bundle, task.reading, self._options)

    def _support(self, task: _Task) -> None:
        assert task.reading is not None
        assert task.summary is not None
        task.summary = attach_evidence(self._bundle, task.reading, task.summary, task.said)

    def _check(self, task: _Task) -> None:
        assert task.reading is not None
        assert task.summary is not None
        options, dialogue = self._options, task.reading.dialogue
        summary = with_checks(task.summary, dialogue, options.min_confidence, options.evidence)
        if self._bundle.preparation.reads_profiles:
            summary = without_profile_turns(summary, task.dialogue)
        task.summary = summary


class Neural:
    """A loaded model: its network, with preparation and search."""

    def __init__(self, bundle: Bundle, limits: BatchLimits | None = None) -> None:
        self.bundle = bundle
        self.reader = Segmenter(bundle)
        self.writer = WindowGenerator(bundle, limits)

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
