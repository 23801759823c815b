"""Answers of language models that were paid for, by the hash of what was asked."""

import os
import sqlite3
import threading
from pathlib import Path

from dialogist.errors import UsageError


class AnswerCache:
    """A file of answers that many threads and processes share; only its owner may read it.

    An answer may hold personal data as the request did: masked, where that was.
    """

    def __init__(self, path: Path | None) -> None:
        """``path``: the file; None: nothing is kept.

        Raises:
            UsageError: it cannot be made or is no such file.
        """
        self._lock = threading.Lock()
        self._database: sqlite3.Connection | None = None
        if path is None:
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            path.touch(mode=0o600)
            self._database = sqlite3.connect(
                path, timeout=30, isolation_level=None, check_same_thread=False
            )
            self._database.execute("PRAGMA journal_mode=WAL")
            self._database.execute("PRAGMA synchronous=NORMAL")  # a kill loses nothing
            self._database.execute("CREATE TABLE IF NOT EXISTS answers (key PRIMARY KEY, content)")
        except (OSError, sqlite3.Error) as error:
            raise UsageError(f"{path}: no cache of answers: {error} (cache=off)") from None

    @classmethod
    def open(cls, place: str) -> "AnswerCache":
        """The cache of a setting: ``on`` (in the user's folder), ``off``, or a folder."""
        if place == "off":
            return cls(None)
        home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        return cls((Path(home) / "dialogist" if place == "on" else Path(place)) / "answers.db")

    def get(self, key: str) -> str | None:
        """The answer to a request, if there is one."""
        if self._database is None:
            return None
        with self._lock:
            row = self._database.execute(
                "SELECT content FROM answers WHERE key = ?", (key,)
            ).fetchone()
        return str(row[0]) if row else None

    def put(self, key: str, content: str) -> None:
        """Keep an answer."""
        if self._database is not None:
            with self._lock:
                self._database.execute(
                    "INSERT OR REPLACE INTO answers VALUES (?, ?)", (key, content)
                )
