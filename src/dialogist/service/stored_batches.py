"""Stored batches: accepted whole, worked off when there is time, kept over a restart.

Each dialogue of a batch is an item. A process leases items before it works on them, so several
processes may share a store, and what a process that died held is taken over. An item that five
processes died of is given up: else the service would start and die for ever.
"""

import asyncio
import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar

import sqlalchemy as sa
from anyio import CapacityLimiter, move_on_after, to_thread

from dialogist.records import JSON, Summary, SummaryOptions
from dialogist.service import tables
from dialogist.service.problems import Problem
from dialogist.service.prometheus import log_failure
from dialogist.service.requests import (
    SummaryRequest,
    build_request,
    dialogue_of,
    options_beside,
    timeout_of,
)
from dialogist.service.settings import Settings
from dialogist.service.work_queue import WorkQueue
from dialogist.summarizer import masked_record

T = TypeVar("T")

_LEASE = 60.0  # seconds that a process may take for an item, from when it begins it, at least
_AWAY = 2.0  # seconds until an item is tried again whose writer cannot be used
_PAUSE = 0.5  # seconds between looks at the store, when there is nothing to do
_FORGET_EVERY = 3600.0
_JUMP = 60.0  # seconds that a clock is off after which it is not believed for a while
_PAGE = 200  # results read at a time
_MOST_TRIES = 5


def store_batch(
    connection: sa.Connection, key_id: str, dialogues: "Sequence[JSON | Problem]", options: JSON
) -> str:
    """Store a batch; returns its id. What is stored is done sooner or later.

    A problem stands for a dialogue that could not be read: it has failed already.
    """
    identity = tables.new_id()
    waiting = {"state": "waiting", "tries": 0, "owner": "", "lease": 0.0, "result": None}
    blank = {**waiting, "batch_id": identity}
    rows = [
        {**blank, "number": n, **_failed(n, None, dialogue, options)}
        if isinstance(dialogue, Problem)
        else {**blank, "number": n, "dialogue": dialogue}
        for n, dialogue in enumerate(dialogues)
    ]
    values = {"id": identity, "key_id": key_id, "total": len(rows), "options": options}
    connection.execute(sa.insert(tables.batches).values(**values, created=time.time()))
    connection.execute(sa.insert(tables.items), rows)
    tables.note_change(connection, key_id, "batch added", identity)
    return identity


def batch_status(engine: sa.Engine, key_id: str, identity: str) -> dict[str, JSON]:
    """How far a batch of a key is."""
    table, items = tables.batches, tables.items
    with engine.connect() as connection:
        batch = connection.execute(
            sa.select(table).where(table.c.id == identity, table.c.key_id == key_id)
        ).first()
        if batch is None:
            raise Problem("not_found", "this key has no such batch")
        counted = sa.select(items.c.state, sa.func.count()).where(items.c.batch_id == identity)
        counts = {row[0]: row[1] for row in connection.execute(counted.group_by(items.c.state))}
    done, failed = counts.get("done", 0), counts.get("failed", 0)
    state = "done" if done + failed == batch.total else "running" if done + failed else "queued"
    status = {"id": identity, "status": state, "created": batch.created}
    return {**status, "total": batch.total, "done": done, "failed": failed}


def batch_results(engine: sa.Engine, identity: str) -> Iterator[bytes]:
    """The results of a batch as JSON lines, in the order of its dialogues."""
    items = tables.items
    last = -1
    while True:
        page = (
            sa.select(items.c.number, items.c.result)
            .where(items.c.batch_id == identity, items.c.number > last)
            .order_by(items.c.number)
            .limit(_PAGE)
        )
        rows = tables.executed(engine, page)
        if not rows:
            return
        last = rows[-1].number
        yield b"".join(json.dumps(r.result, ensure_ascii=False).encode() + b"\n" for r in rows)


def remove_batch(engine: sa.Engine, key_id: str, identity: str) -> None:
    """Delete a batch of a key with its dialogues and results."""
    table = tables.batches
    with engine.begin() as connection:
        gone = connection.execute(
            sa.delete(table).where(table.c.id == identity, table.c.key_id == key_id)
        )
        if not gone.rowcount:
            raise Problem("not_found", "this key has no such batch")
        made = tables.once.c.subject == identity
        connection.execute(sa.update(tables.once).where(made).values(request=tables.DELETED))
        tables.note_change(connection, key_id, "batch deleted", identity)
    tables.clear_log(engine)


def lease_items(engine: sa.Engine, owner: str, most: int, seconds: float = _LEASE) -> list[Any]:
    """Lease items that nobody works on, the oldest first, as rows; those begun too often fail."""
    items, now = tables.items, time.time()
    free = (items.c.state == "waiting") & tables.has_passed(items.c.lease, now, seconds)
    oldest = (
        sa.select(items, tables.batches.c.options)
        .join(tables.batches)
        .where(free)
        .order_by(tables.batches.c.created, items.c.number)
        .limit(most)
    )
    leased: list[Any] = []
    with engine.begin() as connection:
        rows = connection.execute(oldest.with_for_update(skip_locked=True, of=items)).all()
        for row in rows:
            here = (items.c.batch_id == row.batch_id) & (items.c.number == row.number)
            taken = {"owner": owner, "lease": now + seconds, "tries": row.tries + 1}
            if row.tries >= _MOST_TRIES:
                taken = _failed(row.number, row.dialogue, Problem("internal"), row.options)
            is_ours = connection.execute(sa.update(items).where(here, free).values(taken)).rowcount
            if is_ours and row.tries < _MOST_TRIES:
                leased.append(row)
    return leased


def _failed(number: int, dialogue: Any, problem: Problem, options: Any) -> dict[str, Any]:
    identity = dialogue.get("id", "") if isinstance(dialogue, dict) else ""
    record = Summary("", str(identity), "error", problem.detail or problem.title)
    masks = {key: options[key] for key in ("mask", "mask_names") if key in options}
    record = masked_record(record, SummaryOptions(**masks))
    error = {"code": problem.code, "detail": record.reason}
    result = {"number": number, "id": record.id, "error": error}
    return {"state": "failed", "result": result, "dialogue": None}


def finish_item(engine: sa.Engine, item: Any, owner: str, values: dict[str, Any]) -> None:
    """Store the result of an item, and delete its dialogue; nothing if another process took it."""
    items = tables.items
    here = (items.c.batch_id == item.batch_id) & (items.c.number == item.number)
    tables.executed(engine, sa.update(items).where(here, items.c.owner == owner).values(values))


def _read_item(dialogue: JSON, options: JSON) -> SummaryRequest:
    chosen, given = options_beside(dialogue, options), dialogue_of(dialogue)
    values = dialogue if isinstance(dialogue, dict) else {}
    if values.get("review") is True:
        raise Problem("invalid_options", "review: ask for it by /v1/summaries, not in a batch")
    return build_request(given, chosen, timeout_of(values.get("timeout_ms")))


class Runner:
    """Works off stored batches while the queue has room for them."""

    def __init__(self, engine: sa.Engine, queue: WorkQueue, settings: Settings) -> None:
        self._engine, self._queue, self._settings = engine, queue, settings
        self._owner = tables.new_id()
        self._woken = asyncio.Event()
        self._is_stopping = False
        self._forgets_at, self._clock = math.inf, math.inf
        self._threads = CapacityLimiter(2 * queue.threads)

    def wake(self) -> None:
        """Look at the store now: something was added."""
        self._woken.set()

    def stop(self) -> None:
        self._is_stopping = True
        self.wake()

    async def run(self) -> None:
        """Work until stopped; what fails here must not end the service."""
        was_busy = False
        while not self._is_stopping:
            try:
                is_busy = await self._turn()
                if was_busy and not is_busy:  # dialogues are deleted once they are summarized
                    await self._stored(tables.clear_log)
                was_busy = is_busy
            except Exception as error:  # the store is away for a while
                log_failure(error)
                is_busy = False
            if not is_busy:
                with move_on_after(_PAUSE):
                    await self._woken.wait()
                self._woken.clear()

    async def _stored(self, function: Callable[..., T], *arguments: object) -> T:
        """In threads of its own, so that a store that is locked holds up no request."""
        return await to_thread.run_sync(function, self._engine, *arguments, limiter=self._threads)

    def _is_due(self, now: float, steady: float) -> bool:
        """Whether what is old is to be deleted: each hour, if the clock was steady all that time.

        So a clock that is wrong at the start, or jumps, deletes nothing until it is set right.
        """
        is_steady = abs(now - steady - self._clock) <= _JUMP
        if is_steady and steady < self._forgets_at:
            return False
        self._clock, self._forgets_at = now - steady, steady + _FORGET_EVERY
        return is_steady

    async def _turn(self) -> bool:
        """Work on some items; whether there were any."""
        if self._is_due(time.time(), time.monotonic()):
            kept = self._settings.retention_days, self._settings.audit_days
            await self._stored(tables.forget, *kept)
        if not self._queue.has_spare_time:
            return False
        # So few at a time that a request never waits long behind them.
        threads, seconds = self._queue.threads, max(_LEASE, 2 * self._queue.deadline)
        most = 2 if threads == 1 else threads - 1
        leased = await self._stored(lease_items, self._owner, most, seconds)
        await asyncio.gather(*map(self._finish, leased))
        return bool(leased)

    async def _finish(self, item: Any) -> None:
        values: dict[str, Any]
        try:
            read = partial(_read_item, item.dialogue, item.options)
            _, result = await self._queue.summarize(read, self._queue.lane())
            values = {"state": "done", "result": result.to_json(), "dialogue": None}
        except Problem as problem:
            if problem.status == 503:  # of ours: it was not the item's try
                again = time.time() + _AWAY if problem.code == "writer_unavailable" else 0.0
                values = {"lease": again, "tries": item.tries}
            else:
                values = _failed(item.number, item.dialogue, problem, item.options)
        await self._stored(finish_item, item, self._owner, values)
