"""`run_job`: reads, hands shards to workers, puts parts in their place, and notes what is done."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dialogist.errors import DataError
from dialogist.batch.journal import MANIFEST, Journal, ShardDone, Totals
from dialogist.batch.ray_workers import RayWorkers
from dialogist.batch.sources import Cutter, Shard, SourceItem
from dialogist.batch.workers import Engine, LocalWorkers, WorkPlan
from dialogist.records import JSON

_ENGINES: Mapping[Engine, type[LocalWorkers] | type[RayWorkers]] = {
    "local": LocalWorkers,
    "ray": RayWorkers,
}


@dataclass(frozen=True, slots=True)
class JobProgress:
    """How far a run is: records that it made and that an earlier run had made, and their bytes."""

    done: int
    failed: int
    bytes: int
    kept: int


@dataclass(frozen=True, slots=True)
class Watcher:
    """Who is told of progress, and of what a person should know."""

    progress: Callable[[JobProgress], None]
    note: Callable[[str], None]


def run_job(
    plan: WorkPlan, items: Iterable[SourceItem], description: Mapping[str, JSON], watcher: Watcher
) -> Totals:
    """Have one record for each item in its place, whatever was done before; the sums.

    ``description`` says what the items are made of: a job that was begun with another one is not
    gone on with.

    Raises:
        UsageError: another process is at this job, or it was begun with other settings.
        DialogistError: the input is not what it was, or something cannot be read or written.
    """
    cut: dict[str, JSON] = {"form": str(plan.form), "shard_size": plan.shard_size}
    with (
        Journal.alone(plan.folder, {**description, **cut}) as journal,
        _ENGINES[plan.engine](plan, watcher.note) as workers,
    ):
        settings = workers.settings()
        if plan.restart:
            journal.clear()  # first: killed between the two, parts without a journal are refused
            plan.sink.clear()
        plan.sink.begin(new=not journal.exists)
        journal.begin(settings, plan.grown)
        if journal.complete is not None:
            watcher.note(f"{plan.folder}: this job is complete: nothing is done again")
            plan.sink.finish(plan.folder / MANIFEST)  # a kill may have come just before
            return journal.complete
        return _Run(plan, journal, workers, watcher).finish(items)


class _Run:
    """One run of a job that is not complete."""

    def __init__(
        self, plan: WorkPlan, journal: Journal, workers: LocalWorkers | RayWorkers, watcher: Watcher
    ) -> None:
        self._plan, self._journal = plan, journal
        self._workers, self._watcher = workers, watcher
        self._kept = journal.summed().records
        self._made: Counter[str] = Counter()
        self._cutter = Cutter(plan.shard_size)

    def finish(self, items: Iterable[SourceItem]) -> Totals:
        """Do all that is missing."""
        missing = self._missing(items)
        ahead = next(missing, None)
        while ahead is not None or self._workers.busy:
            while ahead is not None and self._workers.take(ahead):
                ahead = next(missing, None)
            for shard, entry, staged in self._workers.finished():
                self._commit(shard, entry, self._plan.folder / staged)
            self._watcher.progress(self._progress())
        self._watcher.progress(self._progress())
        totals = self._journal.finish(self._cutter.doubles())
        self._plan.sink.finish(self._plan.folder / MANIFEST)
        return totals

    def _missing(self, items: Iterable[SourceItem]) -> Iterator[Shard]:
        """The shards that are not done; of those that are, see that their input is the same.

        Raises:
            DataError: it is not.
        """
        left = set(self._journal.done)
        last = max(left, default=0)
        for shard in self._cutter.shards(items):
            known = self._journal.done.get(shard.number)
            if known is None:
                yield shard
            elif known.input != shard.digest:
                # The last one was not full, or ended in a line that was not yet whole.
                more = len(shard.lines) - known.records
                if not self._plan.grown or more < (shard.number < last):
                    raise self._changed(shard.number)
                self._kept -= known.records
                yield shard
            left.discard(shard.number)
        if left:
            raise self._changed(min(left))

    def _changed(self, number: int) -> DataError:
        return DataError(
            f"{self._plan.folder}: the input changed since this job was begun (shard {number} "
            "differs): give the same input, name another --output, or start over with --restart"
        )

    def _commit(self, shard: Shard, entry: Mapping[str, Any], staged: Path) -> None:
        """First the part, then the line that says so: killed between the two, it is done again."""
        self._plan.sink.take(shard.number, staged)
        done = ShardDone.parse({**entry, "input": shard.digest})
        self._journal.add(done)
        failed = done.statuses.get("error", 0)
        self._made.update({"done": done.records, "failed": failed, "bytes": done.bytes})

    def _progress(self) -> JobProgress:
        counts = self._made + self._workers.under_way()
        return JobProgress(counts["done"], counts["failed"], counts["bytes"], self._kept)
