"""Settings of the service: a YAML file, then the environment, then flags; the last one counts."""

import os
from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from pydantic import Field

from dialogist.config import Config, override, read_yaml
from dialogist.errors import ConfigError, nearest
from dialogist.model_folder.model_files import DEFAULT_MODEL, user_models

PREFIX = "DIALOGIST_SERVE_"
"""Each setting is also an environment variable: ``DIALOGIST_SERVE_PORT=8080``."""


class Settings(Config):
    """What an operator can set; sizes are in bytes, times in seconds.

    ``workers``: processes that share the address, each with its own queue. ``store``: an SQLAlchemy
    URL. ``max_body``, ``max_batch_body``: size of a request. ``max_depth``: levels of JSON.
    ``receive_seconds``: time to send a body. ``queue_requests``, ``queue_bytes``, ``queue_tokens``,
    ``queue_seconds``: beyond them requests are refused before they are read; until then four bytes
    count as a token. ``batch_wait``: how long a worker waits for more requests to work on together.
    ``deadline_seconds``: time to answer. ``stall_seconds``: a model that works and gives no sign of
    life for so long is replaced. ``rate_per_minute``: requests of a key, in each process.
    ``retention_days``: when stored content is deleted. ``drain_seconds``: time to stop.

    ``host``, ``port``: where it listens. ``model``: a name, folder or file. ``batch_requests``:
    requests that are worked on together at most. ``max_dialogues``: of a stored batch.
    ``session_hours``: how long a person stays signed in.
    """

    host: str = "127.0.0.1"
    port: int = Field(8765, ge=0, le=65535)
    workers: int = Field(1, ge=1, le=256)
    store: str = ""
    model: str = DEFAULT_MODEL
    max_body: int = Field(1 << 20, ge=1024, le=1 << 30)
    max_batch_body: int = Field(32 << 20, ge=1024, le=1 << 30)
    max_depth: int = Field(32, ge=4, le=200)
    receive_seconds: float = Field(15, gt=0, le=600)
    queue_requests: int = Field(64, ge=1, le=100_000)
    queue_bytes: int = Field(16 << 20, ge=1024)
    queue_tokens: int = Field(200_000, ge=100)
    queue_seconds: float = Field(5, gt=0)
    batch_requests: int = Field(8, ge=1, le=1024)
    batch_wait: float = Field(0.005, ge=0, le=1)
    deadline_seconds: float = Field(30, gt=0, le=3600)
    stall_seconds: float = Field(10, gt=0, le=3600)
    rate_per_minute: int = Field(600, ge=1)
    max_dialogues: int = Field(10_000, ge=1)
    retention_days: float = Field(30, gt=0)
    session_hours: float = Field(12, gt=0)
    drain_seconds: int = Field(30, ge=0, le=3600)

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach the address."""
        if self.host == "localhost":
            return True
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def store_url(self) -> str:
        """The store; by default a file beside the user's models."""
        return self.store or f"sqlite:///{user_models().parent / 'service.db'}"

    @property
    def crash_folder(self) -> Path:
        """Where processes note what they work on: beside the store, or the user's models."""
        kind, _, file = self.store_url.partition(":///")
        is_file = kind.startswith("sqlite") and file not in ("", ":memory:")
        parent = Path(file).expanduser().parent if is_file else user_models().parent
        return parent / "working"


def load_settings(
    file: Path | None = None,
    flags: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] = os.environ,
) -> Settings:
    """Read the settings of a service.

    Raises:
        ConfigError: a setting is unknown or out of range; says where it was given.
    """
    values = read_yaml(file) if file is not None else {}
    Settings.parse(values, str(file))
    for variable, text in environment.items():
        if not variable.startswith(PREFIX):
            continue
        name = variable.removeprefix(PREFIX).lower()
        if name not in Settings.model_fields:
            known = [PREFIX + field.upper() for field in Settings.model_fields]
            raise ConfigError(f"{variable}: no such setting{nearest(variable, known)}")
        given = {name: text} if Settings.model_fields[name].annotation is str else {}
        Settings.parse(given or override({}, [f"{name}={text}"]), variable)
        values |= given or override({}, [f"{name}={text}"])
    values |= {name: value for name, value in (flags or {}).items() if value is not None}
    return Settings.parse(values, "settings")
