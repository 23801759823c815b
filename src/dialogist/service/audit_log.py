"""The audit log: who changed what and when."""

import sqlalchemy as sa
from pydantic import Field

from dialogist.config import Config
from dialogist.records import JSON
from dialogist.service import tables
from dialogist.service.requests import Moment, time_of


class AuditFilter(Config):
    """Which changes are meant: those at or after ``since``, the newest first.

    ``after``: the number of the last one that is known. ``limit``: how many.
    """

    since: Moment | None = None
    after: int | None = Field(None, ge=1, le=2**31 - 1)
    limit: int = Field(100, ge=1, le=1000)


def find_changes(engine: sa.Engine, wanted: AuditFilter) -> list[dict[str, JSON]]:
    """Who changed what and when, the newest first; nothing of it is content."""
    table = tables.audit
    query = sa.select(table).order_by(table.c.number.desc()).limit(wanted.limit)
    if wanted.since:
        query = query.where(table.c.at >= wanted.since.timestamp())
    if wanted.after:
        query = query.where(table.c.number < wanted.after)
    with engine.connect() as connection:
        return [
            {
                "number": row.number,
                "at": time_of(row.at),
                "who": row.who or row.key_id,
                "action": row.action,
                "subject": row.subject,
            }
            for row in connection.execute(query)
        ]
