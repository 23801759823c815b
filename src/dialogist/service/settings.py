"""Settings of the service: a YAML file, then the environment, then flags; the last one counts."""

import os
from collections.abc import Mapping
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from math import ceil
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeAlias, get_args
from urllib.parse import urlsplit

from pydantic import Field, model_validator

from dialogist.config import Config, config_text, read_yaml
from dialogist.errors import ConfigError, nearest
from dialogist.records import Unsupported, VerifyMode
from dialogist.service.connectors import Destination
from dialogist.writers import writer_names

KeepApproved: TypeAlias = Literal["masked", "as_is"]
Scope: TypeAlias = Literal["summaries", "batches", "reviews", "forms", "metrics"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
"""What keys may do."""
_SAFE = r"^(https://|http://(localhost|127\.0\.0\.1)([:/]|$))"
PREFIX = "DIALOGIST_SERVE_"
"""Each setting is also an environment variable: ``DIALOGIST_SERVE_PORT=8080``."""

TEAM = ("writer", "verify", "verifier", "unsupported")
"""What the environment sets for all commands, as ``DIALOGIST_WRITER``; the file counts more."""


def address_of(name: str) -> IPv4Address | IPv6Address | None:
    """The address that a name is; none for one that has to be looked up."""
    try:
        return ip_address(name)
    except ValueError:
        return None


class PersonSettings(Config):
    """What people may do who sign in without a key: ``scopes``, as of a key."""

    scopes: tuple[Scope, ...] = ("summaries", "reviews", "forms")


class ProxySettings(PersonSettings):
    """A reverse proxy signs people in, and names each in a ``header``; ``from``: its addresses.

    The proxy must set the header itself, whatever a browser sends.
    """

    header: Annotated[str, Field(pattern=r"^[A-Za-z0-9-]+$")]
    addresses: Annotated[tuple[IPv4Network | IPv6Network, ...], Field(alias="from", min_length=1)]


class OidcSettings(PersonSettings):
    """People sign in at an identity provider (OpenID Connect); it sends them to
    ``public_url/login/callback``.

    ``issuer``: its address. ``client_id``, ``client_secret_file``: of this service there.
    ``email_domains``, ``claims``: who may come in: one of the domains, and all of the claims (of a
    list, one is enough).
    """

    issuer: Annotated[str, Field(pattern=_SAFE)]
    client_id: str
    client_secret_file: str = ""
    email_domains: tuple[str, ...] = ()
    claims: dict[str, str] = Field({})

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not self.email_domains and not self.claims:
            raise ValueError("say who may come in: email_domains or claims")
        return self

    def client_secret(self) -> str:
        """The secret, read anew each time."""
        return config_text(Path(self.client_secret_file)).strip()


class Settings(Config):
    """What an operator can set; sizes are in bytes, times in seconds.

    ``host``, ``port``: where it listens. ``workers``: processes that share the address, each with
    its own queue. ``store``: an SQLAlchemy URL. ``writer``: its name (`dialogist.writers`);
    ``verify``, ``verifier``: who judges what is written (`VerifyMode`, another writer's name);
    ``unsupported``: what becomes of what nothing supports, where a request does not say (the page
    marks it); ``prompt``: a file with another prompt. Answers of a language model are kept on disk
    only where its name says so (``?cache=on``).
    ``max_body``, ``max_batch_body``: size of a request. ``max_depth``: levels of JSON.
    ``max_dialogues``: of a stored batch. ``receive_seconds``: time to send a body.
    ``queue_requests``, ``queue_bytes``, ``queue_seconds``: beyond them requests are refused before
    they are read. ``deadline_seconds``: time to answer; 30 by default, and ``queue_seconds`` 5;
    with a language model 180 and 30. ``rate_per_minute``: requests of a key, in
    each process. ``retention_days``: when stored content is deleted; ``audit_days``: when the
    audit is, which holds none. ``keep_approved``: whether
    personal data and speakers are masked in summaries that are kept once they are approved.
    ``destinations``: where decisions on summaries are sent, by name (`Destination`);
    ``public_url``: where people reach this service, for links to its reviews; browsers that come
    by another name are refused.
    ``sign_in``, ``oidc``: how people sign in without a key (`ProxySettings`, `OidcSettings`).
    ``session_hours``: how long a person stays signed in. ``drain_seconds``: time to stop, with a
    language model at least ``deadline_seconds``.
    """

    host: str = "127.0.0.1"
    port: int = Field(8765, ge=0, le=65535)
    workers: int = Field(1, ge=1, le=256)
    store: str = ""
    writer: str = "highlights"
    verify: VerifyMode = "auto"
    verifier: str = ""
    unsupported: Unsupported = "quote"
    prompt: str = ""
    max_body: int = Field(1 << 20, ge=1024, le=1 << 30)
    max_batch_body: int = Field(32 << 20, ge=1024, le=1 << 30)
    max_depth: int = Field(32, ge=4, le=200)
    max_dialogues: int = Field(10_000, ge=1)
    receive_seconds: float = Field(15, gt=0, le=600)
    queue_requests: int = Field(64, ge=1, le=100_000)
    queue_bytes: int = Field(16 << 20, ge=1024)
    queue_seconds: float | None = Field(None, gt=0)
    deadline_seconds: float | None = Field(None, gt=0, le=3600)
    rate_per_minute: int = Field(600, ge=1)
    retention_days: float = Field(30, gt=0)
    audit_days: float = Field(400, gt=0)
    keep_approved: KeepApproved = "masked"
    sign_in: ProxySettings | None = None
    oidc: OidcSettings | None = None
    session_hours: float = Field(12, gt=0)
    destinations: dict[Annotated[str, Field(pattern=r"^[\w-]{1,64}$")], Destination] = Field({})
    public_url: str = Field("", pattern=r"^(https?://[^\s/]+(/\S*)?)?$")
    drain_seconds: int = Field(30, ge=0, le=3600)

    @model_validator(mode="after")
    def _check_oidc(self) -> Self:
        if self.oidc is not None and not self.public_url:
            raise ValueError("oidc needs public_url: where people reach this service")
        return self

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach the address."""
        return self.host in ("localhost", "127.0.0.1", "::1")

    def is_known_host(self, host: str) -> bool:
        """Whether a ``Host`` may be this service's.

        A page of another site can make a browser take its own name for this machine, but no
        address, and no name without a dot, which is of this network. Where nobody said by which
        names it is reached, all are taken.
        """
        if not (self.is_loopback or self.public_url):
            return True
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:  # half an IPv6 address
            return False
        known = (self.host, urlsplit(self.public_url).hostname)
        return "." not in name or name in known or address_of(name) is not None

    def times(self, asks_model: bool) -> tuple[float, float, int]:
        """``deadline_seconds``, ``queue_seconds`` and ``drain_seconds`` of a writer."""
        deadline, longest_wait = (180.0, 30.0) if asks_model else (30.0, 5.0)
        deadline = self.deadline_seconds or deadline
        drain = max(self.drain_seconds, ceil(deadline)) if asks_model else self.drain_seconds
        return deadline, self.queue_seconds or longest_wait, drain

    @property
    def writers(self) -> tuple[str, str]:
        """The names of the writer and of the verifier, for `Summarizer`."""
        prompt = Path(self.prompt) if self.prompt else None
        return writer_names(self.writer, self.verify, self.verifier, prompt, "off")

    @property
    def home(self) -> Path:
        """The user's folder, for what no setting puts elsewhere."""
        return Path(os.environ.get("DIALOGIST_HOME") or Path.home() / ".dialogist")

    @property
    def store_url(self) -> str:
        """The store; by default a file in the user's folder."""
        return self.store or f"sqlite:///{self.home / 'service.db'}"


def load_settings(
    file: Path | None = None,
    flags: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] = os.environ,
) -> Settings:
    """Read the settings of a service: the environment of all commands, ``file``, the environment
    of the service, flags; the last one counts.

    Raises:
        ConfigError: a setting is unknown or out of range; says where it was given.
    """
    given_in_file = read_yaml(file) if file is not None else {}
    Settings.parse(given_in_file, str(file))
    team = {n: text for n in TEAM if (text := environment.get(f"DIALOGIST_{n.upper()}"))}
    values: dict[str, Any] = {**team, **given_in_file}
    for variable, text in environment.items():
        if not variable.startswith(PREFIX):
            continue
        name = variable.removeprefix(PREFIX).lower()
        if name not in Settings.model_fields:
            known = [PREFIX + field.upper() for field in Settings.model_fields]
            raise ConfigError(f"{variable}: no such setting{nearest(variable, known)}")
        Settings.parse({name: text}, variable)
        values[name] = text
    values |= {name: value for name, value in (flags or {}).items() if value is not None}
    return Settings.parse(values, "settings")
