"""Connectors: how what was decided on a summary is written to the program where a team works.

A connector is a row of ``connectors.yaml``. Destinations are set by the operator, and a request
names one, never an address. Redirects are not followed, and no answer is read without an end.
"""

import asyncio
import base64
import binascii
import hashlib
import hmac
import json
import os
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from html import escape
from http.client import responses
from importlib import resources
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal, Self

import yaml
from pydantic import ConfigDict, Field, model_validator

from dialogist import __version__
from dialogist.config import Config
from dialogist.errors import ConfigError, UsageError, nearest
from dialogist.files import network_allowed

if TYPE_CHECKING:
    import httpx2 as httpx

DecisionEvent = Literal["approved", "edited", "rejected", "undone"]

LONGEST_PAUSE = 86_400.0
"""Seconds that a receiver can ask for."""
_DEADLINE = 20.0  # seconds of a request, to the end of its answer
_LARGEST_ANSWER = 4 << 20  # bytes: Intercom answers with the whole conversation
_OURS = {"ticket", "event", "decided", "data", "html", "mrkdwn"}
_REASON = re.compile(rb'"(?:error|code)"\s*:\s*"([\w.-]{1,60})"')
_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_PASSES = (408, 425, 429)
_HEADERS = {
    "Accept": "application/json",
    "Accept-Encoding": "identity",  # small data may unpack to large ones
    "Content-Type": "application/json",
    "User-Agent": f"Dialogist/{__version__}",
}


class Connector(Config):
    """A row of ``connectors.yaml``, which says what the fields mean."""

    address: str
    body: dict[str, Any]
    method: Literal["POST", "PUT"] = "POST"
    path: str = ""
    headers: dict[str, str] = Field({})
    basic: str = ""
    secrets: tuple[str, ...] = ()
    signed: bool = False
    events: tuple[DecisionEvent, ...] = ("approved", "edited")
    ticket: str = ""
    most: tuple[str, int, Literal["bytes", "characters"]] | None = None
    done: str = ""
    final: tuple[int, ...] = ()
    passing: tuple[str, ...] = ()


@cache
def connectors() -> Mapping[str, Connector]:
    """How each kind of destination is asked."""
    file = resources.files("dialogist") / "assets" / "service" / "connectors.yaml"
    rows = yaml.safe_load(file.read_text("utf-8"))
    return {kind: Connector.parse(row, f"{file.name}: {kind}") for kind, row in rows.items()}


class Destination(Config):
    """Where summaries are sent: its ``kind`` (`connectors`), and the settings that this one needs.

    ``when``: which decisions are sent at once; others are sent by hand. ``url``: another address
    than the usual one. A secret is the name of a variable of the environment.
    """

    model_config = ConfigDict(extra="allow")

    kind: str
    when: tuple[DecisionEvent, ...] = ()

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        rule = connectors().get(self.kind)
        if rule is None:
            raise ValueError(f"kind must be one of {', '.join(connectors())}")
        given = self.model_extra or {}
        address = "" if "url" in given else rule.address
        templates = json.dumps([address, rule.path, rule.headers, rule.basic, rule.body])
        needed = {*_PLACEHOLDER.findall(templates), *rule.secrets} - _OURS
        if unknown := sorted(given.keys() - needed - {"url"}):
            raise ValueError(f"unknown key '{unknown[0]}'{nearest(unknown[0], needed)}")
        if missing := sorted(needed - given.keys()):
            raise ValueError(f"kind {self.kind} needs {', '.join(missing)}")
        for name in rule.secrets:
            if not re.fullmatch("[A-Z_][A-Z0-9_]*", str(given[name])):
                raise ValueError(f"{name} must name a variable of the environment, as DESK_TOKEN")
        if not re.fullmatch("[A-Za-z0-9-]+", str(given.get("subdomain", "x"))):
            raise ValueError("subdomain must be the first word of the address alone")
        if others := set(self.when) - set(rule.events):
            raise ValueError(f"kind {self.kind} does not send what is {', '.join(sorted(others))}")
        return self


def _filled(template: Any, values: Mapping[str, Any]) -> Any:
    """A template with its values; one that is a placeholder alone becomes the value as it is."""
    if isinstance(template, Mapping):
        return {key: _filled(part, values) for key, part in template.items()}
    if not isinstance(template, str):
        return template
    alone = template == f"{{{template[1:-1]}}}" and template[1:-1] in values
    return values[template[1:-1]] if alone else template.format_map(values)


class Refused(Exception):
    """What no further try would get through; says why in one line, without content."""


@dataclass(frozen=True, slots=True)
class Target:
    """A destination whose secrets were found."""

    connector: Connector
    address: str
    values: Mapping[str, str]
    when: tuple[DecisionEvent, ...]

    def takes(self, ticket: str) -> bool:
        """Whether that can be the id of a ticket there."""
        return not self.connector.ticket or bool(re.fullmatch(self.connector.ticket, ticket))

    def request(self, row: Any, link: str) -> "httpx.Request":
        """What to send for a stored delivery; ``link`` leads to its review.

        Raises:
            Refused: the receiver would not take it, or not whole.
        """
        import httpx2 as httpx

        rule, body = self.connector, row.body
        if not self.takes(body["ticket"]):
            raise Refused("the conversation's id is no ticket there: send it with its ticket")
        decided = datetime.fromtimestamp(row.created, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        values = {**self.values, **_texts(body, link), "ticket": body["ticket"]}
        values |= {"event": row.event, "decided": decided, "data": {**body, "link": link}}
        if rule.most is not None:
            part, most, unit = rule.most
            size = len(values[part].encode() if unit == "bytes" else values[part])
            if size > most:
                raise Refused(f"too long: {size:,} {unit}, and the receiver takes {most:,}")
        content = json.dumps(_filled(rule.body, values), ensure_ascii=False).encode()
        headers = {**_HEADERS, **_filled(rule.headers, values)}
        if rule.basic:
            pair = base64.b64encode(rule.basic.format_map(values).encode())
            headers["Authorization"] = f"Basic {pair.decode()}"
        if rule.signed:
            headers |= signature_of(values["secret"], row.id, int(time.time()), content)
        address = self.address + rule.path.format_map(values)
        return httpx.Request(rule.method, address, headers=headers, content=content)


def _texts(body: Mapping[str, Any], link: str) -> dict[str, str]:
    """An approved summary in the markup of receivers, with a link to its review."""
    html, mrkdwn = "", ""
    for heading, group in groupby(body["statements"], lambda part: part["heading"]):
        parts = [*group]
        texts = [part["text"] for part in parts]
        if heading and not any(part["verdict"] for part in parts):  # values of fields
            value = ", ".join(texts)
            html += f"<p><b>{escape(heading)}:</b> {escape(value)}</p>"
            mrkdwn += f"*{escape(heading, quote=False)}:* {escape(value, quote=False)}\n"
            continue
        lines = "".join(f"<li>{escape(text).replace(chr(10), '<br>')}</li>" for text in texts)
        html += f"<h2>{escape(heading)}</h2>" * bool(heading) + f"<ul>{lines}</ul>"
        lines = "".join(f"• {escape(text, quote=False)}\n" for text in texts)
        mrkdwn += f"*{escape(heading, quote=False)}*\n" * bool(heading) + lines + "\n"
    if link:
        html += f'<p><a href="{escape(link)}">Open the review</a></p>'
        mrkdwn += f"<{escape(link, quote=False)}|Open the review>"
    return {"html": html, "mrkdwn": mrkdwn.strip()}


def signature_of(secret: str, identity: str, now: int, content: bytes) -> dict[str, str]:
    """The headers by which a receiver knows that a webhook is ours and new.

    They follow Standard Webhooks 1.0.0; ``secret``: ``whsec_`` and at least 24 bytes in base64.

    Raises:
        ValueError: the secret is none.
    """
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except binascii.Error:
        key = b""
    if not 24 <= len(key) <= 64:
        raise ValueError("must be 24 to 64 bytes in base64, as by: openssl rand -base64 32")
    signed = hmac.digest(key, f"{identity}.{now}.".encode() + content, hashlib.sha256)
    return {
        "webhook-id": identity,
        "webhook-timestamp": str(now),
        "webhook-signature": f"v1,{base64.b64encode(signed).decode()}",
    }


def open_destinations(
    destinations: Mapping[str, Destination], environment: Mapping[str, str] = os.environ
) -> dict[str, Target]:
    """Find the secrets of destinations.

    Raises:
        ConfigError: a secret is missing or is none, or an address cannot be used.
        UsageError: the network is not allowed.
    """
    if destinations:
        import httpx2 as httpx
    targets: dict[str, Target] = {}
    for name, destination in destinations.items():
        rule, where = connectors()[destination.kind], f"destinations.{name}"
        values = {key: str(value) for key, value in (destination.model_extra or {}).items()}
        for secret in rule.secrets:
            variable = values[secret]
            values[secret] = value = environment.get(variable, "").strip()
            if not (value and value.isascii() and value.isprintable()):
                raise ConfigError(f"{where}: set the variable {variable} to its {secret}")
            try:
                if rule.signed:
                    signature_of(value, "", 0, b"")
            except ValueError as error:
                raise ConfigError(f"{where}: {variable} {error}") from None
        try:
            url = httpx.URL(values.get("url") or rule.address.format_map(values))
        except httpx.InvalidURL:
            url = httpx.URL("")
        is_local = url.host in ("localhost", "127.0.0.1", "::1")
        if not url.host or url.userinfo or not (url.scheme == "https" or is_local):
            raise ConfigError(f"{where}: its address must be as https://example.com/path")
        if not (is_local or network_allowed()):
            raise UsageError(f"{where}: sends summaries to {url.host}: say --allow-network")
        address = str(url).rstrip("/") if rule.path else str(url)
        targets[name] = Target(rule, address, values, destination.when)
    return targets


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a try: no ``error``: done. ``pause``: seconds that the receiver asks for."""

    error: str = ""
    is_final: bool = False
    pause: float = 0.0


async def send(request: "httpx.Request", rule: Connector) -> Outcome:
    """Send a request, without following redirects, and judge its answer."""
    import httpx2 as httpx

    answer = bytearray()
    try:
        async with (
            asyncio.timeout(_DEADLINE),
            httpx.AsyncClient(timeout=None, follow_redirects=False, trust_env=False) as client,
        ):
            response = await client.send(request, stream=True)
            async for part in response.aiter_raw():
                answer += part
                if len(answer) > _LARGEST_ANSWER:
                    return Outcome("the answer is too large")
    except TimeoutError:
        return Outcome(f"no answer within {_DEADLINE:.0f} seconds")
    except httpx.HTTPError as error:
        return Outcome(f"not reached: {type(error).__name__}")
    status, reason = response.status_code, _REASON.search(answer)
    answered = f"{status} {responses.get(status, '')}".strip()
    answered += f": {reason[1].decode()}" if reason else ""
    if not 200 <= status < 300:
        is_final = 300 <= status < 500 and status not in _PASSES
        if rule.final:
            is_final = status in rule.final
        return Outcome(answered, is_final, _pause_of(response.headers.get("retry-after", "")))
    try:
        value = json.loads(answer) if rule.done else {}
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict) or rule.done not in {"", *value}:
        return Outcome(f"{status}, but the answer is of something else")
    if rule.done and not value[rule.done]:
        return Outcome(answered, value.get("error") not in rule.passing)
    return Outcome()


def _pause_of(header: str) -> float:
    """The seconds that a ``Retry-After`` asks for: a number, or a date."""
    try:
        if header.isascii() and header.isdigit():
            seconds = float(header)
        else:
            seconds = parsedate_to_datetime(header).timestamp() - time.time()
    except (ValueError, TypeError, OverflowError):  # there is none, or it is none
        return 0.0
    return min(max(0.0, seconds), LONGEST_PAUSE)
