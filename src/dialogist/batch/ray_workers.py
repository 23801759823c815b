"""The workers of a job as actors of a Ray cluster: models there, the journal and the parts here.

An actor is sent a shard and answers with its records, so no folder has to be shared. It has one
shard at a time: what is not yet asked for stays with the input.
"""

import json
import logging
import os
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dialogist.errors import DialogistError, UsageError, needs_extra
from dialogist.batch.sinks import PartWriter
from dialogist.batch.sources import Shard, unpacked
from dialogist.batch.work import GROUP, Work, batch_record, error_record
from dialogist.batch.workers import Finished, WorkPlan, shown_summary
from dialogist.present import PresentedSummary
from dialogist.records import JSON
from dialogist.language.tokens import counted

_TICK = 0.5  # seconds between two looks at the clock


class _Model:
    """An actor: the model, opened when it is first asked."""

    def __init__(self, work: Work) -> None:
        self._work = work

    def settings(self) -> dict[str, Any]:
        """What the model is and does, or why it cannot be had."""
        try:
            self._opened = self._work.open()
        except DialogistError as error:
            return {"refused": str(error), "code": error.exit_code}
        return {"settings": dict(self._opened.settings)}

    def records(self, lines: Sequence[bytes], group: int) -> list[str]:
        """A record for each line, as JSON."""
        shown = shown_summary(self._opened, lines, {}, group)
        return [json.dumps(batch_record(one)) for one in shown]


@dataclass(slots=True)
class _Task:
    """A shard with an actor; ``alone``: its lines are sent one by one from ``records`` on."""

    shard: Shard
    answer: Any
    since: float
    deaths: int = 0
    records: list[str] = field(default_factory=list)

    @property
    def alone(self) -> bool:
        return self.deaths >= 2


class RayWorkers:
    """The actors of a run, one for each worker of its plan."""

    def __init__(self, plan: WorkPlan, note: Callable[[str], None]) -> None:
        with needs_extra("--engine ray", "ray"):
            import ray
        self._ray, self._plan, self._note = ray, plan, note
        self._tasks: dict[int, _Task] = {}
        self._actors: list[Any] = []
        self._growing: Any = None
        """Of the actor that the cluster was asked for last: its settings, once it has a place."""

    def __enter__(self) -> "RayWorkers":
        most = max(self._plan.workers, self._plan.max_workers)
        here: dict[str, Any] = {} if self._plan.address else {"num_cpus": most}
        try:
            self._ray.init(
                address=self._plan.address or "local",
                include_dashboard=False,
                log_to_driver=False,
                logging_level=logging.ERROR,
                **here,
            )
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise DialogistError(f"Ray cannot be reached: {error}") from None
        one_thread = {"env_vars": {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}}
        self._kind: Any = self._ray.remote(num_cpus=1, runtime_env=one_thread)(_Model)
        self._actors += [self._kind.remote(self._plan.work) for _ in range(self._plan.workers)]
        self._ready = [actor.settings.remote() for actor in self._actors]
        return self

    def __exit__(self, *_: object) -> None:
        self._ray.shutdown()

    @property
    def busy(self) -> bool:
        """Whether any of them has a shard."""
        return bool(self._tasks)

    def settings(self) -> dict[str, JSON]:
        """What the model is and does, as the first that has loaded it says."""
        [first], _ = self._ray.wait(self._ready, num_returns=1)
        try:
            found = self._ray.get(first)
        except self._ray.exceptions.RayError as error:
            raise DialogistError(f"an actor of Ray had no model when it ended: {error}") from None
        if "refused" in found:
            kind = UsageError if found["code"] == UsageError.exit_code else DialogistError
            raise kind(found["refused"])
        settings: dict[str, JSON] = found["settings"]
        return settings

    def take(self, shard: Shard) -> bool:
        """Hand a shard to one that has none; False: all have one, and another one is asked for."""
        for number in range(len(self._actors)):
            if number not in self._tasks:
                self._tasks[number] = _Task(shard, None, time.monotonic())
                self._ask(number)
                return True
        self._grow()
        return False

    def _grow(self) -> None:
        """Ask for one more actor; it has work once it has a place, which a cluster may add."""
        if self._growing is None and len(self._actors) < self._plan.max_workers:
            self._wanted = self._kind.remote(self._plan.work)
            self._growing = self._wanted.settings.remote()
        elif self._growing is not None and self._ray.wait([self._growing], timeout=0)[0]:
            self._growing = None
            self._actors.append(self._wanted)
            self._note(f"{counted(len(self._actors), 'actors')} at work")

    def finished(self) -> list[Finished]:
        """Wait a little; shards that are done, with their entry and the name of their file."""
        by_answer = {task.answer: number for number, task in self._tasks.items()}
        ready, _ = self._ray.wait(list(by_answer), num_returns=len(by_answer), timeout=_TICK)
        found = []
        for answer in ready:
            number = by_answer[answer]
            task = self._tasks[number]
            try:
                task.records += self._ray.get(answer)
            except self._ray.exceptions.RayError as error:
                self._replace(number, f"ended ({type(error).__name__})")
            if len(task.records) < len(task.shard.lines):
                self._ask(number)
            else:
                del self._tasks[number]
                found.append(self._written(task))
        self._end_late()
        return found

    def under_way(self) -> Counter[str]:
        """What the shards in work have so far: their records come when they are done."""
        return Counter()

    def _ask(self, number: int) -> None:
        task, actor = self._tasks[number], self._actors[number]
        lines = task.shard.lines
        if task.alone:
            place = len(task.records)
            lines = lines[place : place + 1]
        task.since = time.monotonic()
        task.answer = actor.records.remote(lines, 1 if task.alone else GROUP)

    def _replace(self, number: int, how: str) -> None:
        """Start another actor; a dialogue that ended one even alone becomes an error record."""
        task = self._tasks[number]
        self._actors[number] = self._kind.remote(self._plan.work)
        self._actors[number].settings.remote()
        if not task.alone:
            task.deaths += 1
            self._note(f"an actor {how}: shard {task.shard.number} is done again")
            return
        item = unpacked(task.shard.lines[len(task.records)])
        reason = f"the process that summarized it {how}, even alone"
        record = batch_record(PresentedSummary(error_record(item.id, reason)))
        task.records.append(json.dumps(record))
        self._note(f"a dialogue of shard {task.shard.number}: its actor {how}, even alone")

    def _end_late(self) -> None:
        for number, task in self._tasks.items():
            if time.monotonic() - task.since > self._plan.time_limit:
                self._ray.kill(self._actors[number])

    def _written(self, task: _Task) -> Finished:
        statuses: Counter[str] = Counter()
        form, number = self._plan.form, task.shard.number
        with PartWriter(self._plan.folder, number, form, f"{os.getpid()}") as writer:
            for line in task.records:
                record = json.loads(line)
                statuses[record["status"]] += 1
                writer.add(record)
        entry: Mapping[str, Any] = {
            "number": number,
            "records": len(task.records),
            "statuses": dict(sorted(statuses.items())),
            "bytes": writer.size,
            "sha256": writer.sha256,
        }
        return task.shard, entry, writer.path.name
