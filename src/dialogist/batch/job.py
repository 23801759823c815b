"""`run_job`: reads, has records made, puts parts in their place, and notes what is done."""

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from dialogist.batch.journal import MANIFEST, Journal, ShardDone, Totals
from dialogist.batch.places import Sink, SourceItem, encoded_part
from dialogist.batch.work import (
    Engine,
    LocalPool,
    Pool,
    RayPool,
    RecordLine,
    ThreadPool,
    Work,
    packed,
    record_line,
    unpacked,
)
from dialogist.errors import DataError, DialogistError, UsageError
from dialogist.language.tokens import counted
from dialogist.records import JSON, Summary

SHARD_SIZE = 1_000
MOST_JOB_SHARD = 1 << 24
"""Bytes with which a shard ends, however few its dialogues: several shards are in memory."""
_DEATHS_IN_A_ROW = 5  # of dialogues alone: something else is wrong


@dataclass(frozen=True, slots=True)
class JobPlan:
    """How a job is to be run; ``folder`` is where its journal lies.

    ``time_limit``: seconds that a dialogue may take. ``address``: of a Ray cluster; empty: one is
    started for this run, of so many ``workers``.
    ``grown``: the inputs may have more at their end than before.
    """

    work: Work
    folder: Path
    sink: Sink
    workers: int = 1
    shard_size: int = SHARD_SIZE
    time_limit: float = 600.0
    engine: Engine = "local"
    address: str = ""
    restart: bool = False
    grown: bool = False


@dataclass(frozen=True, slots=True)
class JobProgress:
    """How far a run is: records that it made, and that an earlier run had made."""

    done: int
    failed: int
    kept: int


Progress: TypeAlias = Callable[[JobProgress], None]
Note: TypeAlias = Callable[[str], None]


@dataclass(slots=True)
class Shard:
    """Items as lines of JSON; ``records`` came so far."""

    number: int
    lines: list[bytes]
    records: dict[int, RecordLine] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        return hashlib.sha256(b"\n".join(self.lines)).hexdigest()


def shards_of(items: Iterable[SourceItem], most: int = SHARD_SIZE) -> Iterator[Shard]:
    """All items, in order: shards depend on them and the limits, so a later run cuts the same."""
    number, lines, size = 0, list[bytes](), 0
    for item in items:
        lines.append(packed(item))
        size += len(lines[-1])
        if len(lines) == most or size >= MOST_JOB_SHARD:
            yield Shard(number, lines)
            number, lines, size = number + 1, [], 0
    if lines:
        yield Shard(number, lines)


def run_job(
    plan: JobPlan,
    items: Iterable[SourceItem],
    description: Mapping[str, JSON],
    progress: Progress,
    note: Note,
) -> Totals:
    """Have one record for each item in its place, whatever was done before; the sums.

    ``description`` says what the items are made of: a job that was begun with another one is not
    gone on with. ``note`` is told what a person should know.

    Raises:
        UsageError: another process is at this job, or it was begun with other settings.
        DialogistError: the input is not what it was, or something cannot be read or written.
    """
    opened = plan.work.open()
    if opened.threads and (plan.workers > 1 or plan.engine == "ray"):
        raise UsageError(
            "one process asks a language model, which keeps one budget: leave --workers and "
            "--engine out (?at_once= says how many requests at a time)"
        )
    cut: dict[str, JSON] = {"form": plan.sink.form, "shard_size": plan.shard_size}
    with Journal.alone(plan.folder, {**description, **cut}) as journal:
        if plan.restart:
            plan.sink.clear(journal.parts)  # first: killed between the two, they are still named
            journal.clear()
        plan.sink.begin(new=not journal.exists)
        journal.begin(opened.settings, plan.grown)
        lost = [shard for shard in journal.done.values() if not plan.sink.holds(shard)]
        if lost:
            journal.forget(shard.number for shard in lost)
            note(f"{plan.folder}: {len(lost)} parts are gone or damaged: made again")
        if journal.complete is not None:
            note(f"{plan.folder}: this job is complete: nothing is done again")
            plan.sink.finish(plan.folder / MANIFEST)  # a kill may have come just before
            return journal.complete
        pool: Pool
        if plan.engine == "ray":
            pool = RayPool(plan.work, plan.workers, plan.time_limit, plan.address)
        elif opened.threads:
            pool = ThreadPool(opened, plan.time_limit)
        else:
            pool = LocalPool(plan.work, plan.workers, plan.time_limit)
        with closing(pool):
            return _Run(plan, journal, pool, progress, note, opened.failed).finish(items)


class _Run:
    """One run of a job that is not complete."""

    def __init__(
        self,
        plan: JobPlan,
        journal: Journal,
        pool: Pool,
        progress: Progress,
        note: Note,
        failed: Callable[[Summary], Summary],
    ) -> None:
        self._plan, self._journal, self._pool, self._failure = plan, journal, pool, failed
        self._progress, self._note = progress, note
        self._kept = sum(shard.records for shard in journal.done.values())
        self._done = self._failed = 0
        if self._kept:
            note(f"{counted(self._kept, 'records')} of the run before are kept")
        self._at_work: dict[Future[list[RecordLine]], tuple[Shard, int]] = {}
        self._deaths = 0  # in a row

    def finish(self, items: Iterable[SourceItem]) -> Totals:
        for shard in self._missing(items):
            for start in range(0, len(shard.lines), self._pool.group):
                while len(self._at_work) >= self._pool.most:
                    self._collect()
                group = self._pool.submit(shard.lines[start : start + self._pool.group])
                self._at_work[group] = shard, start
        while self._at_work:
            self._collect()
        totals = self._journal.finish()
        self._plan.sink.finish(self._plan.folder / MANIFEST)
        return totals

    def _missing(self, items: Iterable[SourceItem]) -> Iterator[Shard]:
        """The shards that are not done; of those that are, see that their input is the same."""
        left = set(self._journal.done)
        last = max(left, default=0)
        for shard in shards_of(items, self._plan.shard_size):
            known = self._journal.done.get(shard.number)
            left.discard(shard.number)
            if known is not None and known.input == shard.digest:
                continue
            if known is not None:
                # The last one was not full, or ended in a line that was not yet whole.
                more = len(shard.lines) - known.records
                if not self._plan.grown or more < (shard.number < last):
                    raise self._changed(shard.number)
                self._kept -= known.records
            yield shard
        if left:
            raise self._changed(min(left))

    def _changed(self, number: int) -> DataError:
        return DataError(
            f"{self._plan.folder}: the input changed since this job was begun (shard {number} "
            "differs): give the same input, name another --output, or start over with --restart"
        )

    def _collect(self) -> None:
        """Wait for some records; what died is done again, one dialogue at a time."""
        wait(self._at_work, return_when=FIRST_COMPLETED)
        dead = self._take_done()
        if dead:
            self._note("a worker died: what it had is done again, one dialogue at a time")
            self._pool.renew()
            dead += self._take_done()
        for shard, start in dead:
            for place, line in enumerate(shard.lines[start : start + self._pool.group], start):
                self._keep(shard, place, [self._alone(shard, line)])
        self._progress(JobProgress(self._done, self._failed, self._kept))

    def _take_done(self) -> list[tuple[Shard, int]]:
        """Keep the records that are there; the groups whose worker died."""
        dead = []
        for group in [group for group in self._at_work if group.done()]:
            shard, start = self._at_work.pop(group)
            try:
                self._keep(shard, start, group.result())
            except self._pool.deaths:
                dead.append((shard, start))
        return dead

    def _alone(self, shard: Shard, line: bytes) -> RecordLine:
        """The record of a dialogue alone; one whose worker dies again gets one that says so."""
        begun = time.monotonic()
        try:
            [record] = self._pool.submit([line]).result()
        except self._pool.deaths:
            self._pool.renew()
            self._deaths += 1
            if self._deaths == _DEATHS_IN_A_ROW:
                raise DialogistError(
                    f"shard {shard.number}: {self._deaths} workers died, each of another dialogue: "
                    "is there enough memory? Run the same command again to go on"
                ) from None
            limit = self._plan.time_limit
            took = time.monotonic() - begun >= limit
            how = f"gave no answer for {limit:g} seconds" if took else "died"
            reason = f"the process that summarized it {how}, even alone"
            failure = Summary("", unpacked(line).id, status="error", reason=reason)
            record = record_line(self._failure(failure).to_json())
            self._note(f"a dialogue of shard {shard.number}: its worker {how}, even alone")
        else:
            self._deaths = 0
        return record

    def _keep(self, shard: Shard, start: int, records: list[RecordLine]) -> None:
        """Keep records; with the last one of a shard, its line is written, and then its part.

        So no part is there that is not named. Killed between the two, it is made again.
        """
        shard.records.update(enumerate(records, start))
        self._done += len(records)
        self._failed += sum(status == "error" for status, _ in records)
        if len(shard.records) < len(shard.lines):
            return
        ordered = [shard.records[place] for place in range(len(shard.lines))]
        lines = [line for _, line in ordered]
        data = encoded_part(lines, self._plan.sink.form)
        done = ShardDone(
            number=shard.number,
            records=len(ordered),
            statuses=dict(sorted(Counter(status for status, _ in ordered).items())),
            bytes=len(data),
            sha256=hashlib.sha256(data).hexdigest(),
            input=shard.digest,
        )
        self._journal.add(done)
        self._plan.sink.write(shard.number, lines, data)
