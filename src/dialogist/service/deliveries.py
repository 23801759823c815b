"""Deliveries: decisions on summaries, stored until they have reached where a team works.

A decision stores a delivery for each destination that wants it, in its own transaction. For each
destination a thread leases them, one at a time, so several processes may share a store: each is
sent at least once, and twice only if a process dies, or the store goes away, before that is noted.
What fails is tried again, ever later; what is refused or fails too often is a dead letter until
somebody has it sent again.
"""

import asyncio
import random
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import sqlalchemy as sa
from pydantic import Field

from dialogist.config import Config
from dialogist.records import JSON
from dialogist.service import tables
from dialogist.service.connectors import LONGEST_PAUSE, Outcome, Refused, Target, send
from dialogist.service.problems import Problem
from dialogist.service.prometheus import log_event, log_failure

_PAUSES = (5.0, 60.0, 300.0, 1800.0, 7200.0, 18_000.0, 36_000.0)  # between tries: 18 hours in all
_LONGEST_REST = 300.0  # of a destination that asks for a pause: another delivery is tried then
_LEASE = 120.0  # longer than a request can take
_LOOK = 1.0  # seconds between looks at the store, when there is nothing to send
MOST_LISTED = 100_000
_SENT = ("approved", "edited")
_SHOWN = ("id", "destination", "event", "state", "tries", "error")


class DeliveryRequest(Config):
    """What to send by hand: the name of a destination, and the ticket's id there.

    Without ``ticket`` that of the conversation is taken.
    """

    to: str
    ticket: str = ""


class DeliveryFilter(Config):
    """Which deliveries are meant; ``limit``: how many, the newest first."""

    state: Literal["", "waiting", "sent", "dead", "withdrawn"] = ""
    review: str = ""
    limit: int = Field(100, ge=1, le=MOST_LISTED)


class Outbox:
    """Stores deliveries to destinations, and sends them in threads while it runs."""

    def __init__(self, engine: sa.Engine, targets: Mapping[str, Target], public_url: str) -> None:
        self.targets = targets
        engine.update_execution_options(targets=targets)  # where `enqueue` finds it
        self._engine, self._address = engine, public_url.rstrip("/")
        self._owner = tables.new_id()
        self._stopping = threading.Event()
        self._threads = [
            threading.Thread(target=self._work, args=(name,), name=f"to {name}", daemon=True)
            for name in targets
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self, seconds: float) -> None:
        """Begin nothing more, and wait for what is being sent; the rest is sent another time."""
        self._stopping.set()
        end = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))

    def add_by_hand(
        self, connection: sa.Connection, key_id: str, review_id: str, given: DeliveryRequest
    ) -> str:
        """Store an approved summary for a destination; returns the delivery's id."""
        to, known = given.to, ", ".join(self.targets)
        if to not in self.targets:
            advice = f"use one of {known}" if known else "no destination is set"
            raise Problem("invalid_options", f"to: {advice}")
        row = connection.execute(_review(review_id)).first()
        if row is None or row.deleted or row.state not in _SENT:
            raise Problem("conflict", "there is no approved review of this id")
        ticket = (given.ticket or row.conversation).strip().removeprefix("#")
        if not self.targets[to].takes(ticket):
            raise Problem("invalid_options", f"ticket: give its number at {to}")
        identity = _add(connection, row, to, row.state, ticket)
        tables.note_change(connection, key_id, "delivery added", identity)
        return identity

    def _work(self, name: str) -> None:
        """Send what is due to a destination until stopped; what fails here must not end this."""
        while not self._stopping.is_set():
            rest = _LOOK
            try:
                row = self._leased(name)
                if row is not None:
                    rest = min(self._tried(row, self.targets[name]), _LONGEST_REST)
            except Exception as error:  # the store is away for a while
                log_failure(error)
            self._stopping.wait(rest)

    def _leased(self, name: str) -> Any:
        """The delivery that is due the longest, which is ours for a while; None: there is none."""
        table, now = tables.deliveries, time.time()
        is_due = tables.has_passed(table.c.next_try, now, LONGEST_PAUSE)
        is_free = tables.has_passed(table.c.lease, now, _LEASE)
        free = (table.c.state == "waiting") & is_due & is_free
        first = sa.select(table).where(table.c.destination == name, free)
        first = first.order_by(table.c.next_try, table.c.created).limit(1)
        with self._engine.begin() as connection:
            row = connection.execute(first.with_for_update(skip_locked=True)).first()
            if row is None:
                return None
            taken = {"owner": self._owner, "lease": now + _LEASE, "tries": row.tries + 1}
            ours = sa.update(table).where(table.c.id == row.id, free).values(taken).returning(table)
            return connection.execute(ours).first()

    def _tried(self, row: Any, target: Target) -> float:
        """Send a delivery once, and note what became of it; returns how long to rest."""
        link = f"{self._address}/reviews/{row.review_id}" if self._address else ""
        try:
            if row.tries > len(_PAUSES) + 1:  # each process that tried it died, or failed
                raise Refused("given up: no try came to its end")
            outcome = asyncio.run(send(target.request(row, link), target.connector))
            if outcome.error and target.connector.ticket:
                outcome = replace(outcome, error=f"{outcome.error} (ticket {row.body['ticket']})")
        except Refused as refusal:
            outcome = Outcome(str(refusal), is_final=True)
        values: dict[str, Any] = {"state": "sent", "error": outcome.error, "lease": 0.0}
        if not outcome.error:
            values["body"] = None
        elif outcome.is_final or row.tries > len(_PAUSES):
            values["state"] = "dead"
        else:
            pause = max(_PAUSES[row.tries - 1] * random.uniform(0.8, 1.2), outcome.pause)
            values |= {"state": "waiting", "next_try": time.time() + pause}
        self._note(row, values)
        log_event(f"delivery {values['state']}", destination=row.destination, tries=row.tries)
        return max(outcome.pause, _LOOK if outcome.error else 0.0)

    def _note(self, row: Any, values: Mapping[str, Any]) -> None:
        """Store what became of a try: until that is possible, or the lease is over."""
        table = tables.deliveries
        here = (table.c.id == row.id) & (table.c.owner == self._owner)
        if values["state"] != "sent":  # it may have been withdrawn
            here &= table.c.state == "waiting"
        end = time.monotonic() + _LEASE / 2
        while True:
            try:
                tables.executed(self._engine, sa.update(table).where(here).values(values))
                return
            except sa.exc.OperationalError:
                if time.monotonic() > end or self._stopping.wait(_LOOK):
                    raise


def enqueue(connection: sa.Connection, review_id: str, action: str, ticket: str) -> None:
    """Store what became of a review for the destinations of the service that want it.

    ``ticket``: the id of the conversation as it was before it was masked, which is an address;
    without one, where a ticket is needed, somebody has to send it. What was not sent yet is
    withdrawn if the decision is undone, or the review deleted.
    """
    if action in ("undone", "deleted"):
        table = tables.deliveries
        here = (table.c.review_id == review_id) & (table.c.state != "sent")
        gone = {"state": "withdrawn", "body": None, "error": f"{action} before it was sent"}
        connection.execute(sa.update(table).where(here).values(gone))
    targets: Mapping[str, Target] = connection.get_execution_options().get("targets", {})
    wanted = [
        name
        for name, target in targets.items()
        if action in target.when and (ticket or not target.connector.ticket)
    ]
    if wanted:
        row = connection.execute(_review(review_id)).one()
        for name in wanted:
            _add(connection, row, name, action, ticket)


def _review(identity: str) -> "sa.Select[Any]":
    return sa.select(tables.reviews).where(tables.reviews.c.id == identity)


def _add(connection: sa.Connection, row: Any, to: str, decision: str, ticket: str) -> str:
    """Store a delivery of a review; returns its id. What is not approved goes without its text."""
    names = ("conversation", "form", "status", "reviewer", "reason")
    body: dict[str, JSON] = {name: row._mapping[name] for name in names}
    text, statements = (row.text, row.final) if decision in _SENT else ("", [])
    body |= {"review": row.id, "ticket": ticket, "decision": decision}
    body |= {"text": text, "statements": statements, "ready": row.ready or None}
    identity, now = tables.new_id(), time.time()
    values = {"id": identity, "review_id": row.id, "destination": to, "event": f"review.{decision}"}
    values |= {"body": body, "created": now, "next_try": now, "state": "waiting"}
    connection.execute(sa.insert(tables.deliveries).values(values))
    return identity


def find_deliveries(engine: sa.Engine, wanted: DeliveryFilter) -> list[dict[str, JSON]]:
    """Deliveries, without what they say."""
    table = tables.deliveries
    query = sa.select(table).order_by(table.c.created.desc(), table.c.id).limit(wanted.limit)
    for column, value in ((table.c.state, wanted.state), (table.c.review_id, wanted.review)):
        query = query.where(column == value) if value else query
    return [
        {
            **{name: row._mapping[name] for name in _SHOWN},
            "review": row.review_id,
            "created": tables.time_of(row.created),
            "next_try": tables.time_of(row.next_try) if row.state == "waiting" else "",
        }
        for row in tables.executed(engine, query)
    ]


def retry_delivery(engine: sa.Engine, key_id: str, identity: str) -> None:
    """Have a delivery that was not sent tried again, now.

    Raises:
        Problem: there is none, it was sent, or what it said is gone.
    """
    table = tables.deliveries
    with engine.begin() as connection:
        row = connection.execute(sa.select(table).where(table.c.id == identity)).first()
        if row is None:
            raise Problem("not_found", "there is no delivery of this id")
        if row.body is None:
            raise Problem("conflict", "it was sent" if row.state == "sent" else row.error)
        again = {"state": "waiting", "tries": 0, "next_try": time.time(), "error": ""}
        connection.execute(sa.update(table).where(table.c.id == identity).values(again))
        tables.note_change(connection, key_id, "delivery retried", identity)
