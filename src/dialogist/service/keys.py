"""API keys: made, hashed, checked; their scopes and rates; sessions of the page.

A key is 256 random bits, so a plain SHA-256 of it is enough: nobody can guess it from its hash.
"""

import hashlib
import hmac
import re
import secrets
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import sqlalchemy as sa

from dialogist.errors import UsageError, nearest
from dialogist.service import tables

SCOPES: Mapping[str, str] = {
    "summaries": "summarize dialogues",
    "batches": "store batches of dialogues, and read their results",
    "reviews": "review stored summaries, and send feedback",
    "metrics": "read metrics and the version",
}
_PREFIX = "dlg_"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,63}")
_FRESH = 5.0
"""Seconds for which keys are remembered: a key that is revoked elsewhere works no longer."""


@dataclass(frozen=True, slots=True)
class Key:
    """An API key as it is stored: its digest, not itself."""

    id: str
    name: str
    digest: str
    scopes: frozenset[str]


def digest_of(secret: str) -> str:
    """The form in which a key or a session is stored."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def add_key(engine: sa.Engine, name: str, scopes: Iterable[str] = SCOPES) -> str:
    """Make a key and store its digest; returns the key itself, which nobody can see again.

    Raises:
        UsageError: the name is taken or not valid, or there is no such scope.
    """
    wanted = list(dict.fromkeys(scopes))
    for scope in wanted:
        if scope not in SCOPES:
            hint = f"{nearest(scope, SCOPES)} (one of {', '.join(SCOPES)})"
            raise UsageError(f"scope {scope}: none of this name{hint}")
    if not _NAME.fullmatch(name):
        raise UsageError("name: use 1 to 64 letters, digits, spaces, dots and dashes")
    secret = _PREFIX + secrets.token_urlsafe(32)
    identity = tables.new_id()
    values = {"id": identity, "name": name, "digest": digest_of(secret), "created": time.time()}
    try:
        with engine.begin() as connection:
            connection.execute(sa.insert(tables.keys).values(**values, scopes=" ".join(wanted)))
            tables.note_change(connection, identity, "key added", identity)
    except sa.exc.IntegrityError:
        raise UsageError(f"name {name}: another key has it") from None
    return secret


def revoke_key(engine: sa.Engine, name: str) -> None:
    """Make a key useless, and end its sessions.

    Raises:
        UsageError: there is no such key.
    """
    table = tables.keys
    with engine.begin() as connection:
        key_id = connection.scalar(
            sa.select(table.c.id).where(table.c.name == name, table.c.revoked.is_(None))
        )
        if key_id is None:
            raise UsageError(f"key {name}: there is no such key")
        connection.execute(sa.update(table).where(table.c.id == key_id).values(revoked=time.time()))
        connection.execute(sa.delete(tables.sessions).where(tables.sessions.c.key_id == key_id))
        tables.note_change(connection, key_id, "key revoked", key_id)


def valid_keys(engine: sa.Engine) -> list[Key]:
    """The keys that were not revoked, by name."""
    table = tables.keys
    with engine.connect() as connection:
        rows = connection.execute(
            sa.select(table).where(table.c.revoked.is_(None)).order_by(table.c.name)
        )
        return [Key(row.id, row.name, row.digest, frozenset(row.scopes.split())) for row in rows]


class KeyRing:
    """The keys of a store, remembered for some seconds, and the rate of each."""

    def __init__(self, engine: sa.Engine, per_minute: int) -> None:
        self._engine = engine
        self._keys: list[Key] = []
        self._read = 0.0
        self._rates: dict[str, TokenBucket] = {}
        self._per_minute = per_minute
        self._lock = threading.Lock()

    @property
    def is_fresh(self) -> bool:
        """Whether keys are found without a look at the store."""
        return bool(self._keys) and time.monotonic() - self._read <= _FRESH

    def find(self, secret: str) -> Key | None:
        """The key that a client holds; every stored digest is compared, in constant time."""
        return self._where("digest", digest_of(secret))

    def find_session(self, secret: str) -> Key | None:
        """The key that a session of the page stands for."""
        table = tables.sessions
        statement = sa.select(table.c.key_id).where(
            table.c.digest == digest_of(secret), table.c.expires > time.time()
        )
        with self._engine.connect() as connection:
            key_id = connection.scalar(statement)
        return None if key_id is None else self._where("id", key_id)

    def open_session(self, key: Key, hours: float) -> str:
        """Begin a session of the page; returns its secret, for a cookie."""
        secret = secrets.token_urlsafe(32)
        expires = time.time() + hours * 3600
        values = {"digest": digest_of(secret), "key_id": key.id, "expires": expires}
        with self._engine.begin() as connection:
            connection.execute(sa.insert(tables.sessions).values(values))
        return secret

    def close_session(self, secret: str) -> None:
        table = tables.sessions
        with self._engine.begin() as connection:
            connection.execute(sa.delete(table).where(table.c.digest == digest_of(secret)))

    def wait_for(self, key: Key) -> float:
        """Count a request; returns 0, or the seconds after which the key may send another."""
        with self._lock:
            bucket = self._rates.setdefault(key.id, TokenBucket(self._per_minute))
            return bucket.take(time.monotonic())

    def _where(self, field: str, value: str) -> Key | None:
        with self._lock:
            if not self.is_fresh:
                self._keys, self._read = valid_keys(self._engine), time.monotonic()
            keys = self._keys
        same = [key for key in keys if hmac.compare_digest(getattr(key, field), value)]
        return same[0] if same else None


class TokenBucket:
    """So many requests a minute, and as many at once after a pause."""

    def __init__(self, per_minute: int) -> None:
        self._most = self._left = float(per_minute)
        self._rate = per_minute / 60
        self._at: float | None = None

    def take(self, now: float) -> float:
        """Take one; returns 0, or the seconds until there is one."""
        if self._at is not None:
            self._left = min(self._most, self._left + (now - self._at) * self._rate)
        self._at = now
        if self._left >= 1:
            self._left -= 1
            return 0
        return (1 - self._left) / self._rate
