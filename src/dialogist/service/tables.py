"""The store of the service: its tables, in SQLite or PostgreSQL, and how they are brought up.

Times are seconds since 1970. Content (dialogues, summaries) lies only in columns that say so.
"""

import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from alembic import command
from alembic.config import Config as AlembicConfig
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from dialogist.errors import ConfigError, DataError
from dialogist.service.problems import Problem

metadata = sa.MetaData()

keys = sa.Table(
    "keys",
    metadata,
    sa.Column("id", sa.String(32), primary_key=True),
    sa.Column("name", sa.String(64), nullable=False, unique=True),
    sa.Column("digest", sa.String(64), nullable=False, unique=True),
    sa.Column("scopes", sa.String(200), nullable=False),
    sa.Column("created", sa.Float, nullable=False),
    sa.Column("revoked", sa.Float),
)
sessions = sa.Table(
    "sessions",
    metadata,
    sa.Column("digest", sa.String(64), primary_key=True),
    sa.Column("key_id", sa.String(32), sa.ForeignKey("keys.id"), nullable=False),
    sa.Column("expires", sa.Float, nullable=False),
)
batches = sa.Table(
    "batches",
    metadata,
    sa.Column("id", sa.String(32), primary_key=True),
    sa.Column("key_id", sa.String(32), sa.ForeignKey("keys.id"), nullable=False),
    sa.Column("created", sa.Float, nullable=False, index=True),
    sa.Column("total", sa.Integer, nullable=False),
    sa.Column("options", sa.JSON, nullable=False),
)
items = sa.Table(
    "batch_items",
    metadata,
    sa.Column(
        "batch_id",
        sa.String(32),
        sa.ForeignKey("batches.id", ondelete="CASCADE"),
        primary_key=True,
    ),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("tries", sa.Integer, nullable=False),
    sa.Column("owner", sa.String(32), nullable=False),
    sa.Column("lease", sa.Float, nullable=False),
    sa.Column("dialogue", sa.JSON),  # content: until it is summarized
    sa.Column("result", sa.JSON),  # content
    sa.Index("batch_items_state", "state", "lease"),
)
once = sa.Table(
    "idempotency",
    metadata,
    sa.Column("key_id", sa.String(32), primary_key=True),
    sa.Column("value", sa.String(128), primary_key=True),
    sa.Column("request", sa.String(64), nullable=False),
    sa.Column("subject", sa.String(32), nullable=False),
    sa.Column("created", sa.Float, nullable=False, index=True),
)
reviews = sa.Table(
    "reviews",
    metadata,
    sa.Column("id", sa.String(32), primary_key=True),
    sa.Column("key_id", sa.String(32), sa.ForeignKey("keys.id"), nullable=False),
    sa.Column("created", sa.Float, nullable=False, index=True),
    sa.Column("state", sa.String(16), nullable=False, index=True),
    sa.Column("dialogue", sa.JSON),  # content
    sa.Column("summary", sa.JSON),  # content
)
feedback_table = sa.Table(
    "feedback",
    metadata,
    sa.Column("id", sa.String(32), primary_key=True),
    sa.Column("key_id", sa.String(32), sa.ForeignKey("keys.id"), nullable=False),
    sa.Column("created", sa.Float, nullable=False, index=True),
    sa.Column("verdict", sa.String(16), nullable=False, index=True),
    sa.Column("edits", sa.JSON, nullable=False),
    sa.Column("content", sa.JSON),  # content: only with consent
)
audit = sa.Table(
    "audit",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("at", sa.Float, nullable=False, index=True),
    sa.Column("key_id", sa.String(32), nullable=False),
    sa.Column("action", sa.String(32), nullable=False),
    sa.Column("subject", sa.String(32), nullable=False),
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
        return sa.create_engine(url, pool_pre_ping=True, pool_size=8)
    if url.database:
        Path(url.database).expanduser().parent.mkdir(parents=True, exist_ok=True)
    if url.database and not url.database.startswith((":", "file:")):
        with suppress(OSError):  # SQLite says it better
            Path(url.database).touch(0o600)  # for dialogues; files beside it take its mode
    engine = sa.create_engine(url, connect_args={"timeout": 30})

    @sa.event.listens_for(engine, "connect")
    def _set_up(connection: Any, _: object) -> None:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")  # what was accepted survives a power cut
        connection.execute("PRAGMA foreign_keys=ON")
        connection.execute("PRAGMA secure_delete=ON")

    return engine


def alembic_config(connection: sa.Connection) -> AlembicConfig:
    """How alembic finds the migrations of this package."""
    config = AlembicConfig()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    return config


def upgrade(engine: sa.Engine, revision: str = "head") -> None:
    """Bring the tables up to date; several processes may start at the same time.

    Raises:
        DataError: the tables are of a newer release.
    """
    with engine.begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(sa.text("SELECT pg_advisory_xact_lock(7265001)"))
        config = alembic_config(connection)
        known = {one.revision for one in ScriptDirectory.from_config(config).walk_revisions()}
        current = MigrationContext.configure(connection).get_current_revision()
        if current is not None and current not in known:
            raise DataError("store: its tables are of a newer release of Dialogist")
        if current is None or current != revision:
            command.upgrade(config, revision)


def note_change(connection: sa.Connection, key_id: str, action: str, subject: str) -> None:
    """Write into the audit who changed what."""
    values = {"at": time.time(), "key_id": key_id, "action": action, "subject": subject}
    connection.execute(sa.insert(audit).values(values))


def once_only(
    engine: sa.Engine, key_id: str, value: str, request: str, make: Callable[[sa.Connection], str]
) -> tuple[str, bool]:
    """Make something, or find what the same request made before.

    ``value`` is the client's idempotency key, empty for none; ``request`` a digest of what it
    asks for. Returns the id of what was made, and whether it was made now.

    Raises:
        Problem: ``value`` was used for another request.
    """
    if not value:
        with engine.begin() as connection:
            return make(connection), True
    here = (once.c.key_id == key_id) & (once.c.value == value)
    try:
        with engine.begin() as connection:
            before = connection.execute(sa.select(once).where(here)).first()
            if before is None:
                row = {"key_id": key_id, "value": value, "request": request, "subject": ""}
                connection.execute(sa.insert(once).values(**row, created=time.time()))
                subject = make(connection)
                connection.execute(sa.update(once).where(here).values(subject=subject))
                return subject, True
    except sa.exc.IntegrityError:  # the same request came twice at the same time
        with engine.connect() as connection:
            before = connection.execute(sa.select(once).where(here)).first()
    if before is None or before.request != request:
        raise Problem("idempotency_conflict", "use a new Idempotency-Key for another request")
    return str(before.subject), False


def forget(engine: sa.Engine, days: float) -> Mapping[str, int]:
    """Delete what is older than ``days``; returns how many rows of each table went."""
    before = time.time() - days * 86400
    deleted: dict[str, int] = {}
    with engine.begin() as connection:
        for table in (feedback_table, reviews, once, batches):
            deleted[table.name] = connection.execute(
                sa.delete(table).where(table.c.created < before)
            ).rowcount
        connection.execute(sa.delete(sessions).where(sessions.c.expires < time.time()))
        connection.execute(sa.delete(audit).where(audit.c.at < before))
    if any(deleted.values()):
        clear_log(engine)
    return deleted


def clear_log(engine: sa.Engine) -> None:
    """Empty the log beside an SQLite file, which has what was deleted until it is written over.

    Where another connection reads just now, it stays until the next time.
    """
    if engine.dialect.name == "sqlite":
        with suppress(sa.exc.OperationalError), engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
