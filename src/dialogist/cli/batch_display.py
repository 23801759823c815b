"""What ``dialogist batch`` tells of a job: a sample, what it will cost, how far it is, its end."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NoReturn

from dialogist.batch.journal import Totals, known_inputs
from dialogist.batch.run import JobProgress
from dialogist.batch.sources import RecordOrigin, SourceItem
from dialogist.batch.work import Opened, batch_record
from dialogist.cli.console import Meter, is_silent, note
from dialogist.cli.output_formats import OutputFormat
from dialogist.cli.summarize_run import tally, write_summaries
from dialogist.errors import DataError
from dialogist.language.tokens import counted
from dialogist.present import PresentedSummary
from dialogist.records import Dialogue

_FIRST = 20
"""Dialogues and, below, seconds after which the cost of a job can be told."""
_FIRST_SECONDS = 5.0
_WORTH_TELLING = 60.0  # seconds that are left: of less nobody wants an estimate


class JobMeter:
    """Shows the progress of a job, and once what the rest of it costs."""

    def __init__(self, total: int | None) -> None:
        """``total``: how many dialogues there are, if that is known."""
        self._total = total
        self._meter: Meter | None = None
        self._estimated = False

    def __call__(self, progress: JobProgress) -> None:
        """So far it is."""
        if self._meter is None:
            if progress.kept:
                note(f"{counted(progress.kept, 'records')} of the run before are kept", own=True)
            left = None if self._total is None else max(0, self._total - progress.kept)
            self._meter = Meter("summarized", left, "dialogues")
        self._meter.failed = progress.failed
        self._meter.update(progress.done)
        seconds = self._meter.seconds
        if self._estimated or progress.done < _FIRST or seconds < _FIRST_SECONDS:
            return
        self._estimated = True
        left = None if self._total is None else self._total - progress.kept
        rate = progress.done / seconds
        if left is None or (left - progress.done) / rate > _WORTH_TELLING:
            note(estimate(left, rate, progress.bytes / progress.done), own=True)

    def finish(self, totals: Totals) -> None:
        """Close it with what came out."""
        if self._meter is not None:
            self._meter.finish()
        if not is_silent():
            note(tally(totals.statuses), own=True)
        if totals.double_ids:
            note(
                f"{counted(totals.double_ids, 'records')} with the id of an earlier one: join them "
                "with their dialogues by order, not by id",
                own=True,
            )
        if totals.failed:
            note(
                f"{counted(totals.failed, 'records')} with the status error and a reason; the "
                "others are done",
                own=True,
            )


def estimate(total: int | None, rate: float, size: float) -> str:
    """What so many dialogues cost: ``estimate: 100,000 dialogues at 52/s: 32 min, 310 MB``.

    ``rate``: dialogues a second; ``size``: bytes of a record.
    """
    count, about = (1_000, "every ") if total is None else (total, "")
    shown = f"{rate:,.0f}" if rate >= 10 else f"{rate:.1f}"
    return (
        f"estimate: {about}{counted(count, 'dialogues')} at {shown}/s: about "
        f"{_duration(count / rate)}, {_bytes(count * size)}"
    )


def show_sample(opened: Opened, items: Iterable[SourceItem], count: int, total: int | None) -> int:
    """Print the summaries of the first dialogues, and what all would cost; the exit code."""
    failed, seconds, size = 0, 0.0, 0

    def shown() -> Iterator[PresentedSummary]:
        nonlocal failed, seconds, size
        for item in islice(items, count):
            if not isinstance(item, Dialogue):
                failed += 1
                note(str(item))
                continue
            started = time.perf_counter()
            [presented] = opened.shown([item])
            seconds += time.perf_counter() - started
            size += len(str(batch_record(presented)))
            failed += presented.summary.status == "error"
            yield presented

    done = 0

    def counted_ones() -> Iterator[PresentedSummary]:
        nonlocal done
        for presented in shown():
            done += 1
            yield presented

    write_summaries(counted_ones(), OutputFormat.text)
    if done:
        note(f"{estimate(total, done / seconds, size / done)}, by one worker", own=True)
    return 3 if failed else 0


def watch_inputs(
    folder: Path,
    look: Callable[[Sequence[str]], list[RecordOrigin]],
    run: Callable[[list[RecordOrigin]], object],
    seconds: float,
) -> NoReturn:
    """Run a job again and again over what its inputs have become, until somebody ends it.

    ``look`` finds the inputs, those it is given the names of first. A file is read once its size is
    the same at two looks; before that somebody may be writing it. Inputs that are not there are
    waited for.
    """
    before: dict[str, int | None] = {}
    done: list[tuple[str, int | None]] | None = None
    while True:
        known = known_inputs(folder)
        try:
            found = look(known)
        except DataError as error:
            found = []
            if done is None:
                note(f"{error}: waiting for it", own=True)
                done = []
        settled = [one for one in found if before.get(one.name, -1) == one.size]
        before = {one.name: one.size for one in found}
        now = [(one.name, one.size) for one in settled]
        is_new = now != done or any(one.size is None for one in settled)  # a table may have more
        if settled and is_new and set(known) <= {one.name for one in settled}:
            run(settled)
            done = now
        time.sleep(seconds)


def _duration(seconds: float) -> str:
    """``40 s``, ``32 min``, ``5.2 h``."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7_200 else f"{seconds / 3_600:.1f} h"


def _bytes(size: float) -> str:
    """``310 MB``."""
    for unit in ("kB", "MB"):
        size /= 1_000
        if size < 1_000:
            return f"{size:.3g} {unit}"
    return f"{size / 1_000:.3g} GB"
