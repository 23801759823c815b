"""The store of the service: its tables, in SQLite or PostgreSQL, how they are brought up, and what
all of them share: the audit, what is made only once, and what is forgotten.

Times are seconds since 1970. Content (dialogues, summaries) lies only in columns that say so.
"""

import secrets
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import sqlalchemy as sa
from pydantic import AfterValidator, Field

from dialogist.config import Config
from dialogist.errors import ConfigError, DataError
from dialogist.records import JSON
from dialogist.service.problems import Problem

metadata = sa.MetaData()

VERSION = 4
"""Of the tables. Release 0.2 had version 2, which Alembic noted in its own table."""
PATIENCE = 5.0
"""Seconds to wait for a lock of an SQLite file, and before that for one's turn."""
UNDO_SECONDS = 86400.0
"""For which a decision or a deletion of a review can be undone."""
DELETED = "deleted"
"""Stands for the request of an idempotency key whose subject was deleted."""


def _column(name: str, kind: Any, *more: Any, **options: Any) -> "sa.Column[Any]":
    return sa.Column(name, kind, *more, **{"nullable": False, **options})


def _table(name: str, *parts: "sa.Column[Any] | sa.Index") -> sa.Table:
    return sa.Table(name, metadata, *parts)


_ID = sa.String(32)

store_version = _table("store_version", _column("version", sa.Integer))
keys = _table(
    "keys",
    _column("id", _ID, primary_key=True),
    _column("name", sa.String(64), unique=True),
    _column("digest", sa.String(64), unique=True),
    _column("scopes", sa.String(200)),
    _column("created", sa.Float),
    _column("revoked", sa.Float, nullable=True),
    _column("former", sa.String(64), server_default=""),  # the name of a revoked one, free again
)
sessions = _table(
    "sessions",
    _column("digest", sa.String(64), primary_key=True),
    _column("key_id", _ID, sa.ForeignKey("keys.id")),
    _column("expires", sa.Float),
)
batches = _table(
    "batches",
    _column("id", _ID, primary_key=True),
    _column("key_id", _ID, sa.ForeignKey("keys.id")),
    _column("created", sa.Float, index=True),
    _column("total", sa.Integer),
    _column("options", sa.JSON),
)
items = _table(
    "batch_items",
    _column("batch_id", _ID, sa.ForeignKey("batches.id", ondelete="CASCADE"), primary_key=True),
    _column("number", sa.Integer, primary_key=True),
    _column("state", sa.String(16)),
    _column("tries", sa.Integer),
    _column("owner", _ID),
    _column("lease", sa.Float),
    _column("dialogue", sa.JSON, nullable=True),  # content: until it is summarized
    _column("result", sa.JSON, nullable=True),  # content
    sa.Index("batch_items_state", "state", "lease"),
)
once = _table(
    "idempotency",
    _column("key_id", _ID, primary_key=True),
    _column("value", sa.String(128), primary_key=True),
    _column("request", sa.String(64)),
    _column("subject", _ID),
    _column("created", sa.Float, index=True),
)
reviews = _table(
    "reviews",
    _column("id", _ID, primary_key=True),
    _column("key_id", _ID, sa.ForeignKey("keys.id")),
    _column("created", sa.Float, index=True),
    _column("state", sa.String(16)),  # open, approved, edited or rejected
    _column("at", sa.Float, server_default="0"),  # of the decision; while it waits, created
    _column("reviewed", sa.Float, nullable=True),
    _column("reviewer", sa.Text, server_default=""),  # the name of a key or a person
    _column("deleted", sa.Float, nullable=True),  # until it can be undone no longer
    _column("form", sa.Text, server_default=""),
    _column("status", sa.String(32), server_default=""),  # of the summary
    _column("ready", sa.Float, server_default="0"),  # how likely it is filed unread; 0: not told
    _column("turns", sa.Integer, server_default="0"),
    _column("reason", sa.Text, server_default=""),  # content: why it was rejected
    _column("conversation", sa.Text, server_default=""),  # content: the dialogue's id
    _column("speakers", sa.JSON, nullable=True),  # content
    _column("text", sa.Text, server_default=""),  # content: with headings, as it is now
    _column("draft_text", sa.Text, server_default=""),  # content: as it was written
    _column("final", sa.JSON, nullable=True),  # content: statements, as they are now
    _column("dialogue", sa.JSON, nullable=True),  # content: until it can be undone no longer
    _column("summary", sa.JSON, nullable=True),  # content: as the dialogue
    sa.Index("reviews_at", "at", "id", "state", "deleted"),  # all that a list looks for
)
deliveries = _table(
    "deliveries",
    _column("id", _ID, primary_key=True),
    _column("review_id", _ID, index=True),
    _column("destination", sa.String(64)),
    _column("event", sa.String(32)),
    _column("created", sa.Float, index=True),
    _column("state", sa.String(16)),  # waiting, sent, dead or withdrawn
    _column("tries", sa.Integer, default=0),
    _column("next_try", sa.Float),
    _column("owner", _ID, default=""),
    _column("lease", sa.Float, default=0.0),
    _column("error", sa.String(200), default=""),  # of the last try
    _column("body", sa.JSON, nullable=True),  # content: until it is sent
    sa.Index("deliveries_due", "destination", "state", "next_try"),
)
feedback_table = _table(
    "feedback",
    _column("id", _ID, primary_key=True),
    _column("key_id", _ID, sa.ForeignKey("keys.id")),
    _column("created", sa.Float, index=True),
    _column("verdict", sa.String(16), index=True),
    _column("review_id", _ID, server_default="", index=True),
    _column("edits", sa.JSON),
    _column("content", sa.JSON, nullable=True),  # content: only with consent, masked
)
forms = _table(
    "forms",
    _column("id", _ID, primary_key=True),
    _column("name", sa.String(64), unique=True),
    _column("text", sa.Text),  # YAML
    _column("entry", sa.JSON),  # what lists tell of it
)
audit = _table(
    "audit",
    _column("number", sa.Integer, primary_key=True, autoincrement=True),
    _column("at", sa.Float, index=True),
    _column("key_id", _ID),
    _column("who", sa.Text, server_default=""),  # the name of the key or the person
    _column("action", sa.String(32)),
    _column("subject", _ID),
)


def new_id() -> str:
    """An id that nobody can guess."""
    return secrets.token_hex(8)


def open_store(url: str) -> sa.Engine:
    """Connect to a store and bring its tables up to date.

    Raises:
        ConfigError: the address is none, or its driver is not installed.
        DataError: it cannot be reached or written, or is of a newer release.
    """
    try:
        parsed = sa.make_url(url)
        if parsed.get_backend_name() == "postgresql" and parsed.drivername == "postgresql":
            parsed = parsed.set(drivername="postgresql+psycopg")
        if parsed.get_backend_name() not in ("sqlite", "postgresql"):
            raise ConfigError("store: use a sqlite:/// or postgresql:// address")
        engine = _engine(parsed)
    except (sa.exc.ArgumentError, ValueError):
        raise ConfigError("store: is not an address such as sqlite:///service.db") from None
    except ImportError as error:
        raise ConfigError(f"store: {error.name} is not installed: pip install psycopg") from None
    try:
        upgrade(engine)
    except sa.exc.SQLAlchemyError as error:
        reason = " ".join(str(getattr(error, "orig", error)).split())[:200]
        raise DataError(f"{parsed.render_as_string()}: cannot be used as store: {reason}") from None
    return engine


def _engine(url: sa.URL) -> sa.Engine:
    if url.get_backend_name() != "sqlite":
        return sa.create_engine(url, pool_pre_ping=True, pool_size=8, pool_timeout=PATIENCE)
    if url.database and not url.database.startswith((":", "file:")):
        Path(url.database).parent.mkdir(parents=True, exist_ok=True)
        with suppress(OSError):  # SQLite says it better
            Path(url.database).touch(0o600)  # for dialogues; files beside it take its mode
    engine = sa.create_engine(url, connect_args={"timeout": PATIENCE}, pool_timeout=PATIENCE)

    @sa.event.listens_for(engine, "connect")
    def _set_up(connection: Any, _: object) -> None:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")  # what was accepted survives a power cut
        connection.execute("PRAGMA foreign_keys=ON")
        connection.execute("PRAGMA secure_delete=ON")
        # Its own knows ASCII only.
        connection.create_function("lower", 1, lambda s: s and str(s).lower(), deterministic=True)

    return engine


def upgrade(engine: sa.Engine) -> None:
    """Bring the tables up to date; several processes may start at the same time.

    Raises:
        DataError: the tables are of a newer release.
    """
    with engine.connect() as connection, connection.begin():
        if connection.dialect.name == "postgresql":
            connection.execute(sa.text("SELECT pg_advisory_xact_lock(7265001)"))
        else:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        names = sa.inspect(connection).get_table_names()
        version: int | None = 0
        if "store_version" in names:
            version = connection.scalar(sa.select(store_version.c.version))
        elif "alembic_version" in names:
            noted = connection.scalar(sa.text("SELECT version_num FROM alembic_version"))
            version = 2 if noted == "0002" else None
        if version is None or version > VERSION:
            raise DataError("store: its tables are of a newer release of Dialogist")
        if version == VERSION:
            return
        metadata.create_all(connection)
        if version:
            _upgrade_old(connection, set(names))
        connection.execute(sa.delete(store_version))
        connection.execute(sa.insert(store_version).values(version=VERSION))


def _upgrade_old(connection: sa.Connection, old: set[str]) -> None:
    """Add what tables of an older release lack, and bring their rows to what they mean today."""
    for table in (each for each in metadata.sorted_tables if each.name in old):
        known = {column["name"] for column in sa.inspect(connection).get_columns(table.name)}
        for column in (each for each in table.columns if each.name not in known):
            added = sa.schema.CreateColumn(column).compile(dialect=connection.dialect)
            connection.exec_driver_sql(f"ALTER TABLE {table.name} ADD COLUMN {added}")
        for index in table.indexes:
            index.create(connection, checkfirst=True)
    for row in connection.execute(sa.select(batches.c.id, batches.c.options)).all():
        # Of release 0.2: "template" is "form" today, and options of the network are gone.
        options = {
            "form" if name == "template" else name: value
            for name, value in row.options.items()
            if name not in ("style", "long", "safe")
        }
        here = sa.update(batches).where(batches.c.id == row.id)
        connection.execute(here.values(options=options))
    if "alembic_version" in old:
        connection.execute(sa.text("DROP TABLE alembic_version"))
    from dialogist.service.reviewed_text import columns_of  # its modules need a second

    connection.execute(sa.update(audit).values(who=_name_of_key(audit.c.key_id)))
    connection.execute(sa.text("DROP INDEX IF EXISTS ix_reviews_state"))  # sorts whole lists
    freed = {"former": keys.c.name, "name": keys.c.id}
    connection.execute(sa.update(keys).where(keys.c.revoked.is_not(None)).values(freed))
    every = "summaries batches reviews metrics"  # of a key that may do all
    widened = {"scopes": f"{every} forms"}
    connection.execute(sa.update(keys).where(keys.c.scopes == every).values(widened))
    # Before version 4 nothing was kept of a review that was decided but that it was, in the audit.
    connection.execute(sa.delete(reviews).where(reviews.c.state != "open"))
    for identity in connection.execute(sa.select(reviews.c.id)).scalars().all():
        here = reviews.c.id == identity
        row = connection.execute(sa.select(reviews).where(here)).one()
        values = {"at": row.created, **columns_of(row.dialogue, row.summary)}
        connection.execute(sa.update(reviews).where(here).values(values))


def executed(engine: sa.Engine, statement: sa.Executable) -> Sequence[sa.Row[Any]]:
    """The rows of a statement, if it gives any, in a transaction of its own."""
    with engine.begin() as connection:
        result = connection.execute(statement)
        return result.all() if result.returns_rows else ()


def has_passed(column: "sa.Column[float]", now: float, longest: float) -> "sa.ColumnElement[bool]":
    """Whether a stored time is over, which was set to be at most ``longest`` seconds ahead.

    What lies far further ahead is of a clock that went wrong; twice, for another process may have
    read the clock later, and got the store sooner.
    """
    return (column <= now) | (column > now + 2 * longest)


def note_change(
    connection: sa.Connection, key_id: str, action: str, subject: str, who: str = ""
) -> None:
    """Write into the audit who changed what; ``who`` is the name of the key where none is given."""
    values = {"at": time.time(), "key_id": key_id, "action": action, "subject": subject}
    connection.execute(sa.insert(audit).values(**values, who=who or _name_of_key(key_id)))


def _name_of_key(key_id: Any) -> Any:
    """An expression: the name of a key, if it was revoked the one that it had."""
    name = sa.func.coalesce(sa.func.nullif(keys.c.former, ""), keys.c.name)
    return sa.func.coalesce(sa.select(name).where(keys.c.id == key_id).scalar_subquery(), "")


Moment: TypeAlias = Annotated[
    datetime, AfterValidator(lambda when: when if when.tzinfo else when.replace(tzinfo=UTC))
]
"""A time in a request; without a zone it is UTC."""


class AuditFilter(Config):
    """Which changes are meant: those at or after ``since``, the newest first.

    ``after``: the number of the last one that is known. ``limit``: how many.
    """

    since: Moment | None = None
    after: int | None = Field(None, ge=1, le=2**31 - 1)
    limit: int = Field(100, ge=1, le=1000)


def find_changes(engine: sa.Engine, wanted: AuditFilter) -> list[dict[str, JSON]]:
    """Who changed what and when, the newest first; nothing of it is content."""
    query = sa.select(audit).order_by(audit.c.number.desc()).limit(wanted.limit)
    if wanted.since:
        query = query.where(audit.c.at >= wanted.since.timestamp())
    if wanted.after:
        query = query.where(audit.c.number < wanted.after)
    return [
        {
            "number": row.number,
            "at": time_of(row.at),
            "who": row.who or row.key_id,
            "action": row.action,
            "subject": row.subject,
        }
        for row in executed(engine, query)
    ]


def time_of(seconds: float | None) -> str:
    """A stored time as replies give it; empty for none."""
    return "" if seconds is None else f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"


def once_only(
    engine: sa.Engine,
    key_id: str,
    value: str,
    request: str,
    make: Callable[..., str],
    *arguments: object,
) -> tuple[str, bool]:
    """Make something, or find what the same request made before.

    ``value`` is the client's idempotency key, empty for none; ``request`` a digest of what it
    asks for; ``make`` is called with a connection, ``key_id`` and ``arguments``. Returns the id of
    what was made, and whether it was made now.

    Raises:
        Problem: ``value`` was used for another request, or what it made was deleted.
    """
    if not value:
        with engine.begin() as connection:
            return make(connection, key_id, *arguments), True
    here = (once.c.key_id == key_id) & (once.c.value == value)
    try:
        with engine.begin() as connection:
            before = connection.execute(sa.select(once).where(here)).first()
            if before is None:
                row = {"key_id": key_id, "value": value, "request": request, "subject": ""}
                connection.execute(sa.insert(once).values(**row, created=time.time()))
                subject = make(connection, key_id, *arguments)
                connection.execute(sa.update(once).where(here).values(subject=subject))
                return subject, True
    except sa.exc.IntegrityError:  # the same request came twice at the same time
        with engine.connect() as connection:
            before = connection.execute(sa.select(once).where(here)).first()
    if before is not None and before.request == DELETED:
        raise Problem("idempotency_conflict", "what this Idempotency-Key made was deleted")
    if before is None or before.request != request:
        raise Problem("idempotency_conflict", "use a new Idempotency-Key for another request")
    return str(before.subject), False


def forget(engine: sa.Engine, days: float, audit_days: float) -> None:
    """Delete what is older than ``days``, and content of reviews that can be undone no longer."""
    now = time.time()
    before, final = now - days * 86400, now - UNDO_SECONDS
    is_gone = (reviews.c.deleted < final) | (reviews.c.at < before)
    of_gone = feedback_table.c.review_id.in_(sa.select(reviews.c.id).where(is_gone))
    is_final = (reviews.c.reviewed < final) & reviews.c.dialogue.is_not(sa.null())
    blank = {"text": "", "draft_text": "", "conversation": "", "final": [], "speakers": []}
    was_rejected = is_final & (reviews.c.state == "rejected")
    emptied = {"dialogue": sa.null(), "summary": sa.null()}
    with engine.begin() as connection:
        connection.execute(sa.update(feedback_table).where(of_gone).values(content=sa.null()))
        connection.execute(sa.delete(reviews).where(is_gone))
        connection.execute(sa.update(reviews).where(was_rejected).values(blank))
        connection.execute(sa.update(reviews).where(is_final).values(emptied))
        for table in (feedback_table, deliveries, once, batches):
            connection.execute(sa.delete(table).where(table.c.created < before))
        connection.execute(sa.delete(sessions).where(sessions.c.expires < time.time()))
        connection.execute(sa.delete(audit).where(audit.c.at < now - audit_days * 86400))
    clear_log(engine)


def clear_log(engine: sa.Engine) -> None:
    """Empty the log beside an SQLite file, which has what was deleted until it is written over.

    Where another connection reads just now, it stays until the next time.
    """
    if engine.dialect.name == "sqlite":
        with suppress(sa.exc.OperationalError), engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
