"""What every route needs, and who may call it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

import sqlalchemy as sa
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from dialogist.service.batches import Runner
from dialogist.service.keys import Key, KeyRing
from dialogist.service.metrics import Metrics
from dialogist.service.problems import Problem
from dialogist.service.settings import Settings
from dialogist.service.worker import Worker
from dialogist.language.tokens import counted

COOKIE = "dialogist_session"
_UNSAFE = ("POST", "PUT", "PATCH", "DELETE")


@dataclass(frozen=True, slots=True)
class Service:
    """What every route needs; ``uploads`` bounds the batches that are read at the same time."""

    settings: Settings
    engine: sa.Engine
    keys: KeyRing
    worker: Worker
    runner: Runner
    metrics: Metrics
    uploads: asyncio.Semaphore


def service_of(request: Request) -> Service:
    """The service that a request is for."""
    service: Service = request.app.state.service
    return service


async def authorized(request: Request, scope: str) -> Key:
    """The key of a request, by its header or by the session of the page.

    Raises:
        Problem: there is none, it lacks the scope, or it has sent too many requests; or a request
            of the page comes from another site.
    """
    service = service_of(request)
    key = await identified(request)
    if key is None:
        service.metrics.rejected.labels("unauthorized").inc()
        raise Problem("unauthorized", "send 'Authorization: Bearer KEY' (dialogist keys add)")
    request.state.key_id = key.id
    if scope not in key.scopes:
        raise Problem("forbidden", f"this key lacks the scope {scope}")
    wait = service.keys.wait_for(key)
    if wait:
        service.metrics.rejected.labels("rate_limited").inc()
        most = service.settings.rate_per_minute
        raise Problem(
            "rate_limited", f"this key may send {counted(most, 'requests')} a minute", wait
        )
    return key


async def identified(request: Request) -> Key | None:
    """The key of a request, if it has a valid one.

    Raises:
        Problem: a request of the page that changes something comes from another site.
    """
    keys = service_of(request).keys
    kind, _, secret = request.headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer" and secret:
        if keys.is_fresh:  # what is refused under load must not wait for a thread
            return keys.find(secret.strip())
        return await run_in_threadpool(keys.find, secret.strip())
    session = request.cookies.get(COOKIE, "")
    if not session:
        return None
    if request.method in _UNSAFE:
        check_same_site(request)
    return await run_in_threadpool(keys.find_session, session)


def check_same_site(request: Request) -> None:
    """Refuse what another site makes a browser send.

    Raises:
        Problem: the browser says that it comes from elsewhere, or says nothing.
    """
    origin = request.headers.get("origin", "")
    site = request.headers.get("sec-fetch-site", "")
    host = request.headers.get("host", "")
    if site == "same-origin" or (not site and origin and urlsplit(origin).netloc == host):
        return
    raise Problem("cross_site", "open the page at its own address")


@asynccontextmanager
async def until_left(request: Request) -> AsyncIterator[asyncio.Task[None]]:
    """Give a task that ends when the client closes the connection; its body was read."""

    async def listen() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    task = asyncio.create_task(listen())
    try:
        yield task
    finally:
        task.cancel()
