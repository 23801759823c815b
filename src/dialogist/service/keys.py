"""API keys: made, hashed, checked; their scopes and rates; sessions of the page.

A key is 256 random bits, so a plain SHA-256 of it is enough: nobody can guess it from its hash.
"""

import hashlib
import hmac
import re
import secrets
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa

from dialogist.errors import UsageError, nearest
from dialogist.language.tokens import counted
from dialogist.service import tables
from dialogist.service.problems import Problem
from dialogist.service.settings import SCOPES

_PREFIX = "dlg_"
_PERSON = "person:"  # in place of a digest: somebody signed in elsewhere; no secret has it
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,63}")
_FRESH = 5.0
"""Seconds for which keys are remembered: a key that is revoked elsewhere works no longer."""
_LOOKS = 600
"""Times a minute that each process asks the store for keys it does not know: some are guesses."""


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


def bearer_of(authorization: str) -> str:
    """The key in a header; empty where it holds none."""
    kind, _, secret = authorization.partition(" ")
    return secret.strip() if kind.lower() == "bearer" else ""


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
    try:
        _insert(engine, name, digest_of(secret), " ".join(wanted), "key added")
    except sa.exc.IntegrityError:
        raise UsageError(f"name {name}: another key has it") from None
    return secret


def _insert(engine: sa.Engine, name: str, digest: str, scopes: str, action: str) -> None:
    values = {"name": name, "digest": digest, "scopes": scopes, "created": time.time()}
    identity = tables.new_id()
    with engine.begin() as connection:
        connection.execute(sa.insert(tables.keys).values(**values, id=identity))
        tables.note_change(connection, identity, action, identity)


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
        free = {"revoked": time.time(), "former": name, "name": key_id}  # another may have the name
        connection.execute(sa.update(table).where(table.c.id == key_id).values(free))
        connection.execute(sa.delete(tables.sessions).where(tables.sessions.c.key_id == key_id))
        tables.note_change(connection, key_id, "key revoked", key_id)


def valid_keys(engine: sa.Engine) -> list[Key]:
    """The keys that were not revoked, by name."""
    return [_key_of(row) for row in tables.executed(engine, _VALID.order_by(tables.keys.c.name))]


def revoked_keys(engine: sa.Engine) -> list[tuple[str, float]]:
    """The names that revoked keys had, and when they were revoked, the newest first."""
    table = tables.keys
    query = sa.select(table.c.former, table.c.revoked).where(table.c.revoked.is_not(None))
    rows = tables.executed(engine, query.order_by(-table.c.revoked))
    return [(row.former, row.revoked) for row in rows]


_VALID = sa.select(tables.keys).where(tables.keys.c.revoked.is_(None))


def _key_of(row: "sa.Row[Any]") -> Key:
    return Key(row.id, row.name, row.digest, frozenset(row.scopes.split()))


class KeyRing:
    """The keys of a store, remembered for some seconds, and the rate of each."""

    def __init__(self, engine: sa.Engine, per_minute: int) -> None:
        self._engine = engine
        self._keys: list[Key] = []
        self._read = -_FRESH
        self._rates: dict[str, TokenBucket] = {}
        self._per_minute = per_minute
        self._looks = TokenBucket(_LOOKS)
        self._lock, self._reading = threading.Lock(), threading.Lock()

    def remembered(self, secret: str) -> Key | None:
        """The key that a client holds, without a look at the store."""
        return None if time.monotonic() - self._read > _FRESH else self._read_key(secret)

    def _read_key(self, secret: str) -> Key | None:
        """Every digest is compared, in constant time."""
        digest = digest_of(secret)
        same = [key for key in self._keys if hmac.compare_digest(key.digest, digest)]
        return same[0] if same else None

    def find(self, secret: str) -> Key | None:
        """The key that a client holds; one that is not known is looked for in the store.

        Of many that nobody knows only so many a minute are: a new key works at once, and who
        guesses does not keep the store busy.
        """
        key = self.remembered(secret)
        if key is not None:
            return key
        with self._reading:
            now = time.monotonic()
            if now - self._read <= _FRESH and self._looks.take(now):
                return None
            self._keys, self._read = valid_keys(self._engine), now
            return self._read_key(secret)

    def find_session(self, secret: str) -> Key | None:
        """The key that a session of the page stands for."""
        table = tables.sessions
        statement = _VALID.join(table, table.c.key_id == tables.keys.c.id).where(
            table.c.digest == digest_of(secret), table.c.expires > time.time()
        )
        rows = tables.executed(self._engine, statement)
        return _key_of(rows[0]) if rows else None

    def open_session(self, key: Key, hours: float) -> str:
        """Begin a session of the page; returns its secret, for a cookie."""
        secret = secrets.token_urlsafe(32)
        expires = time.time() + hours * 3600
        values = {"digest": digest_of(secret), "key_id": key.id, "expires": expires}
        tables.executed(self._engine, sa.insert(tables.sessions).values(values))
        return secret

    def close_session(self, secret: str) -> None:
        table = tables.sessions
        here = table.c.digest == digest_of(secret)
        tables.executed(self._engine, sa.delete(table).where(here))

    def person(self, name: str, scopes: Iterable[str]) -> Key:
        """What a person may do who signed in elsewhere; stored, so that it can be revoked.

        Raises:
            Problem: a key has the name, or the person was revoked.
        """
        table, wanted = tables.keys, " ".join(scopes)
        if not 1 <= len(name) <= 64 or not name.isprintable():
            raise Problem("forbidden", "a name has 1 to 64 characters")
        digest = f"{_PERSON}{digest_of(name)[: 64 - len(_PERSON)]}"
        here = sa.select(table).where(table.c.digest == digest)
        rows = tables.executed(self._engine, here)
        if not rows:
            # Another process may be first, or a key have the name.
            with suppress(sa.exc.IntegrityError):
                _insert(self._engine, name, digest, wanted, "person added")
            rows = tables.executed(self._engine, here)
        if not rows or rows[0].revoked is not None:
            raise Problem("forbidden", "a key has this name, or it was revoked: ask the operator")
        known = _key_of(rows[0])
        if rows[0].scopes != wanted:
            changed = sa.update(table).where(table.c.id == known.id).values(scopes=wanted)
            tables.executed(self._engine, changed)
        return replace(known, scopes=frozenset(wanted.split()))

    def admitted(self, key: Key | None, scope: str) -> Key:
        """Count a request with a key, if it has one.

        Raises:
            Problem: there is none, it lacks the scope, or it has sent too many requests.
        """
        if key is None:
            raise Problem("unauthorized", "send 'Authorization: Bearer KEY' (dialogist keys add)")
        if scope not in key.scopes:
            raise Problem("forbidden", f"this key lacks the scope {scope}")
        with self._lock:
            bucket = self._rates.setdefault(key.id, TokenBucket(self._per_minute))
            wait = bucket.take(time.monotonic())
        if wait:
            most = counted(self._per_minute, "requests")
            raise Problem("rate_limited", f"this key may send {most} a minute", wait)
        return key


class TokenBucket:
    """So many requests a minute, and as many at once after a pause."""

    def __init__(self, per_minute: int) -> None:
        self._most = self._left = float(per_minute)
        self._rate = per_minute / 60
        self._at = 0.0

    def take(self, now: float) -> float:
        """Take one; returns 0, or the seconds until there is one."""
        self._left = min(self._most, self._left + (now - self._at) * self._rate)
        self._at = now
        if self._left >= 1:
            self._left -= 1
            return 0
        return (1 - self._left) / self._rate
