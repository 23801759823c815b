"""What every request passes: its id, its key, its body within limits, the headers of every reply.

A body is read within a size and a time, and must be strict UTF-8 and strict JSON: what Python's
parser lets through (NaN, lone surrogates, NUL) breaks replies, logs and databases later. Whatever
is refused raises a `Problem`.
"""

import asyncio
import re
import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from math import isinf
from typing import TypeVar, cast
from urllib.parse import urlsplit

import sqlalchemy as sa
from anyio import CapacityLimiter, to_thread
from pydantic_core import from_json
from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dialogist.records import JSON
from dialogist.service import tables
from dialogist.service.deliveries import Outbox
from dialogist.service.keys import Key, KeyRing, bearer_of
from dialogist.service.problems import Problem
from dialogist.service.prometheus import Metrics, log_event, log_failure
from dialogist.service.settings import ProxySettings, Settings, address_of
from dialogist.service.stored_batches import Runner
from dialogist.service.work_queue import WorkQueue

T = TypeVar("T")
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_SURROGATE = re.compile("[\ud800-\udfff]")
_PLACE = re.compile(r"(line \d+) (column \d+)")
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
_UPLOADS = 2  # batches that are read at the same time: each may be large
_TURNS = 8  # threads that use the store, which has a few more connections
_LARGEST = "send at most {} bytes; longer input goes to /v1/batches"
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # none at all would hide the origin of our own forms
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}

UNBUFFERED = {"X-Accel-Buffering": "no"}
"""Of replies that come in parts: a proxy before the service passes each on at once."""


class Envelope:
    """The outermost layer: request ids, headers, counts, one log line, and no reply but ours."""

    def __init__(self, app: ASGIApp, metrics: Metrics, settings: Settings) -> None:
        self._app, self._metrics, self._settings = app, metrics, settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        state = scope.setdefault("state", {})
        heads = dict(scope["headers"])
        given = heads.get(b"x-request-id", b"").decode("latin-1")
        request_id = given if _REQUEST_ID.fullmatch(given) else secrets.token_hex(8)
        state["request_id"] = request_id
        # Where it ends, a proxy may see otherwise (RFC 9112, 6.1).
        is_ambiguous = b"content-length" in heads and b"transfer-encoding" in heads
        started, status = time.perf_counter(), 0

        async def sealed(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers.update({**HEADERS, "X-Request-ID": request_id})
                headers.setdefault("Cache-Control", "no-store")
                if is_ambiguous:
                    headers["Connection"] = "close"
            await send(message)

        app, host = self._app, heads.get(b"host", b"").decode("latin-1")
        if not scope["query_string"].isascii():  # it could not be decoded
            refusal = Problem("bad_request", "write the query in ASCII, other bytes as %XX")
            app = refusal.response(request_id)
        elif b"authorization" not in heads and not self._settings.is_known_host(host):
            # A page of another site knows no key.
            refusal = Problem("unknown_host", "set public_url to the address that people use")
            app = refusal.response(request_id)
        try:
            await app(scope, receive, sealed)
        except ClientDisconnect:
            status = status or 499
        except Exception as error:  # a bug of ours: one clean reply, the connection stays
            log_failure(error, request_id)
            if status == 0:
                await Problem("internal").response(request_id)(scope, receive, sealed)
        seconds = time.perf_counter() - started
        route = str(getattr(scope.get("route"), "path", ""))  # a pattern, never what was sent
        self._metrics.requests.labels(route or "none", str(status)).inc()
        self._metrics.seconds.labels(route or "none").observe(seconds)
        log_event(
            "request",
            method=scope["method"] if scope["method"] in _METHODS else "other",
            route=route,
            status=status,
            ms=round(seconds * 1000, 1),
            request_id=request_id,
            key=state.get("key_id", ""),
        )
        return None


COOKIE = "dialogist_session"
_UNSAFE = ("POST", "PUT", "PATCH", "DELETE")


@dataclass(frozen=True, slots=True)
class Service:
    """What every route needs.

    ``uploads`` bounds the batches that are read at the same time, ``turns`` those that use the
    store: where it is locked, keys are still found, and summaries made.
    """

    settings: Settings
    engine: sa.Engine
    keys: KeyRing
    queue: WorkQueue
    runner: Runner
    metrics: Metrics
    outbox: Outbox
    uploads: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_UPLOADS))
    turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_TURNS))

    async def worked(self, function: Callable[[], T]) -> T:
        """What a function of content gives, in a process that ends with its deadline."""
        return await to_thread.run_sync(self.queue.call, function)

    async def stored(self, function: Callable[..., T], *arguments: object) -> T:
        """Call a function of the store in a thread of its own, with the store first.

        Raises:
            Problem: others hold up the store.
        """
        try:
            async with asyncio.timeout(tables.PATIENCE):
                await self.turns.acquire()
        except TimeoutError:
            raise Problem("store_unavailable", "try again later", 2 * tables.PATIENCE) from None
        try:
            alone = CapacityLimiter(1)
            return await to_thread.run_sync(function, self.engine, *arguments, limiter=alone)
        finally:
            self.turns.release()


def service_of(request: Request) -> Service:
    return cast(Service, request.app.state.service)


async def authorized(request: Request, scope: str) -> tuple[Service, Key]:
    """The service, and the key of a request, by its header or by the session of the page.

    Raises:
        Problem: there is none, it lacks the scope, or it has sent too many requests; or a request
            of the page comes from another site.
    """
    service = service_of(request)
    key = await identified(request)
    request.state.key_id = "" if key is None else key.id
    try:
        return service, service.keys.admitted(key, scope)
    except Problem as problem:
        if problem.code != "forbidden":
            service.metrics.rejected.labels(problem.code).inc()
        raise


async def identified(request: Request) -> Key | None:
    """The key of a request, if it has a valid one; refuses what another site makes a page send."""
    keys = service_of(request).keys
    if secret := bearer_of(request.headers.get("authorization", "")):
        key = keys.remembered(secret)  # under load, nothing must wait for a thread
        return key or await to_thread.run_sync(keys.find, secret)
    proxy = service_of(request).settings.sign_in
    person = _named_by(proxy, request) if proxy else ""
    session = request.cookies.get(COOKIE, "")
    if (person or session) and request.method in _UNSAFE:
        check_same_site(request)
    if person and proxy:
        return await to_thread.run_sync(keys.person, person, proxy.scopes)
    return await to_thread.run_sync(keys.find_session, session) if session else None


def _named_by(proxy: ProxySettings, request: Request) -> str:
    """Whom a proxy names, if it is trusted; the address is that of the connection."""
    peer = request.scope.get("peer") or request.client
    named = request.headers.getlist(proxy.header)
    if peer is None or len(named) != 1:
        return ""
    address = address_of(peer[0])  # none: a socket of this machine
    is_trusted = address and any(address in network for network in proxy.addresses)
    return named[0].strip() if is_trusted else ""


def check_same_site(request: Request) -> None:
    """Refuse what another site makes a browser send, or a browser says nothing of."""
    origin = request.headers.get("origin", "")
    site = request.headers.get("sec-fetch-site", "")
    host = request.headers.get("host", "")
    if site == "same-origin" or (not site and origin and urlsplit(origin).netloc == host):
        return
    raise Problem("cross_site", "open the page at its own address")


async def left(request: Request) -> None:
    """Wait until the client closes the connection; its body was read."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def announced_size(request: Request, most: int) -> int:
    """The size of the body as announced, at most ``most``; that where the client does not say."""
    if request.headers.get("content-encoding", "identity") != "identity":
        raise Problem("unsupported_media_type", "send the body without compression")
    length = request.headers.get("content-length", "")
    if not length.isascii() or not length.isdigit():
        return most
    if int(length[:20]) > most:
        raise Problem("body_too_large", _LARGEST.format(most))
    return int(length)


async def read_body(request: Request, most: int = 0, seconds: float = 0.0) -> bytes:
    """The body, of at most ``most`` bytes, read within ``seconds``; by default as is set."""
    settings = service_of(request).settings
    most, seconds = most or settings.max_body, seconds or settings.receive_seconds
    announced_size(request, most)
    body = bytearray()
    try:
        async with asyncio.timeout(seconds):
            async for piece in request.stream():
                body += piece
                if len(body) > most:
                    raise Problem("body_too_large", _LARGEST.format(most))
    except TimeoutError:
        raise Problem("slow_body", f"send the body within {seconds:g} seconds") from None
    return bytes(body)


def strict_text(data: bytes) -> str:
    """The text of UTF-8 bytes without NUL."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Problem("invalid_encoding", f"byte {error.start} is not UTF-8") from None
    if "\0" in text:
        raise Problem("invalid_encoding", "the text holds a NUL character")
    return text


def strict_json(data: bytes, depth: int) -> JSON:
    """The value of a JSON text of ``depth`` levels at most, without NaN, NUL, lone surrogates."""
    text = strict_text(data)
    try:
        value: JSON = from_json(text, allow_inf_nan=False)
    except ValueError as error:
        place = _PLACE.search(str(error))
        where = f" at {place[1]}, {place[2]}" if place else ""
        raise Problem("invalid_json", f"cannot be read{where}") from None
    level: list[JSON] = [value]
    for _ in range(depth):  # without recursion
        inner: list[JSON] = []
        for item in level:
            if isinstance(item, list):
                inner += item
            elif isinstance(item, dict):
                inner += [*item, *item.values()]
            elif isinstance(item, str) and "\0" in item:
                raise Problem("invalid_encoding", "a text holds a NUL character")
            elif isinstance(item, float) and isinf(item):
                raise Problem("invalid_json", "a number is too large")
        if not inner:
            return value
        level = inner
    raise Problem("invalid_json", f"more than {depth} levels")


def media_type(request: Request) -> str:
    """The type of the body, without its parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def check_type(request: Request, *known: str) -> None:
    """Refuse a body of another type."""
    if media_type(request) not in known:
        raise Problem("unsupported_media_type", f"send {known[0]}")


def query_of(query: Iterable[tuple[str, str]], known: Sequence[str]) -> dict[str, str]:
    """The query parameters, each known, given once, and clean text."""
    given: dict[str, str] = {}
    for name, value in query:
        if name not in known:
            fault = f"use only {', '.join(known)}" if known else "options stand in the body"
            raise Problem("invalid_options", f"an unknown query parameter: {fault}")
        if name in given:
            raise Problem("invalid_options", f"{name} is given twice")
        if "\0" in value or "\ufffd" in value or _SURROGATE.search(value):
            raise Problem("invalid_encoding", f"{name} is not clean UTF-8 text")
        given[name] = value
    return given
