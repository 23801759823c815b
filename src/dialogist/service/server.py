"""The application, and how it runs as a server: its signals, time limits and processes."""

import asyncio
import math
import os
import signal
import socket
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from importlib import import_module
from types import FrameType

import sqlalchemy as sa
import uvicorn
from anyio import to_thread
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from prometheus_client.multiprocess import mark_process_dead
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Match
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.supervisors import Multiprocess

from dialogist.errors import DialogistError, ModelError, UsageError
from dialogist.records import Dialogue, SummaryOptions
from dialogist.service import api, page
from dialogist.service.connectors import open_destinations
from dialogist.service.deliveries import Outbox
from dialogist.service.guards import Envelope, Service
from dialogist.service.keys import KeyRing
from dialogist.service.problems import Problem
from dialogist.service.prometheus import SHARED, Metrics, log_as_json, log_event, log_failure
from dialogist.service.settings import Settings
from dialogist.service.stored_batches import Runner
from dialogist.service.stored_forms import find_form
from dialogist.service.tables import open_store
from dialogist.service.work_process import PRELOADED
from dialogist.service.work_queue import WorkQueue
from dialogist.summarizer import Summarizer

_KEEP_ALIVE = 75
"""Seconds; longer than proxies and clients keep idle connections, which would else be reset."""
_LONGEST_HEAD = 32 << 10
_HUNG = 60
"""Seconds without an answer after which a process is replaced."""
_LAST = 1.0  # seconds for what is in work when the time to stop is over
_STORE_IS_AWAY = sa.exc.OperationalError, sa.exc.TimeoutError  # or it is locked or full


def create_app(
    settings: Settings,
    engine: sa.Engine,
    load: Callable[[], Summarizer],
    leave: Callable[[], object] = lambda: None,
) -> FastAPI:
    """Make the application; ``engine`` is an open store.

    ``load`` gives the summarizer, now and again on SIGHUP. ``leave`` is called at the end if work
    goes on when the time to stop is over.
    """
    metrics = Metrics()
    queue = WorkQueue(load(), settings, metrics, partial(find_form, engine))
    runner = Runner(engine, queue, settings)
    outbox = Outbox(engine, open_destinations(settings.destinations), settings.public_url)
    service = Service(
        settings,
        engine,
        KeyRing(engine, settings.rate_per_minute),
        queue,
        runner,
        metrics,
        outbox,
    )

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        running = asyncio.create_task(runner.run())
        outbox.start()
        with _signals(queue, load, runner.stop) as ends:
            yield
        runner.stop()
        left = max(_LAST, ends() + settings.drain_seconds - time.monotonic())
        end = time.monotonic() + left  # the server has waited for the requests already
        await asyncio.gather(
            asyncio.wait({running}, timeout=left), to_thread.run_sync(outbox.stop, left)
        )
        running.cancel()
        if not await queue.close(max(_LAST, end - time.monotonic())):
            leave()

    # Its own description has no key before it, and its pages load scripts from elsewhere.
    app = FastAPI(openapi_url=None, lifespan=life, redirect_slashes=False)
    app.state.service = service
    app.add_middleware(Envelope, metrics=metrics, settings=settings)
    for kind in (Problem, HTTPException, RequestValidationError, *_STORE_IS_AWAY):
        app.add_exception_handler(kind, _refuse)
    for router in (api.router, page.router):
        for methods in (vars(route)["methods"] for route in router.routes):
            methods.update({"HEAD"} if "GET" in methods else ())  # its body is not sent
        app.include_router(router)
    if settings.oidc is not None:
        from dialogist.service import oidc  # of an extra

        app.include_router(oidc.router)
    return app


@contextmanager
def _signals(
    queue: WorkQueue, load: Callable[[], Summarizer], stop: Callable[[], None]
) -> Iterator[Callable[[], float]]:
    """SIGHUP loads the writer anew; SIGTERM calls ``stop`` before the server waits for requests.

    Gives when SIGTERM came. Where signals cannot come (not in the main thread), they do nothing.
    """
    loop, lock, since = asyncio.get_running_loop(), asyncio.Lock(), math.inf
    tasks: set[asyncio.Task[None]] = set()
    before = signal.getsignal(signal.SIGTERM)

    async def reload() -> None:
        async with lock:
            await reload_writer(queue, load)

    def on_hup() -> None:
        task = loop.create_task(reload())
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    def on_term(number: int, frame: FrameType | None) -> None:
        nonlocal since
        since = min(since, time.monotonic())
        loop.call_soon_threadsafe(stop)
        if callable(before):
            before(number, frame)

    is_main = threading.current_thread() is threading.main_thread()
    if is_main:
        loop.add_signal_handler(signal.SIGHUP, on_hup)
        if callable(before):
            signal.signal(signal.SIGTERM, on_term)
    try:
        yield lambda: min(since, time.monotonic())
    finally:
        if is_main:
            loop.remove_signal_handler(signal.SIGHUP)
            signal.signal(signal.SIGTERM, before)


async def reload_writer(queue: WorkQueue, load: Callable[[], Summarizer]) -> None:
    """Load the writer anew, try it, and use it; one that fails changes nothing.

    Requests are answered meanwhile.
    """

    def tried() -> Summarizer:
        summarizer = load()
        dialogue = Dialogue.from_text("Ann: Can you send the report by Friday?\nBo: Yes, I will.")
        if summarizer.result(dialogue, SummaryOptions()).summary.status == "error":
            raise ModelError("the writer fails on the example")
        return summarizer

    try:
        queue.use(await to_thread.run_sync(tried))
    except Exception as error:  # whatever is wrong with it: the old one goes on
        log_failure(error)
    else:
        log_event("writer reloaded")


async def _refuse(request: Request, error: Exception) -> Response:
    """A reply of ours to whatever is refused: FastAPI's own would repeat what was sent."""
    problem = error if isinstance(error, Problem) else Problem("not_found")  # no such id
    if isinstance(error, HTTPException):
        codes = {404: "not_found", 405: "method_not_allowed"}
        problem = Problem(codes.get(error.status_code, "bad_request"))
    elif isinstance(error, _STORE_IS_AWAY):
        log_failure(error, request.state.request_id)
        problem = Problem("store_unavailable", "try again later", 10)
    is_of_page = not request.url.path.startswith("/v1/")
    is_of_page = is_of_page and "text/html" in request.headers.get("accept", "")
    if is_of_page and problem.code == "unauthorized" and request.method in ("GET", "HEAD"):
        return RedirectResponse("/login", 303)
    told = problem.response(request.state.request_id)
    reply = page.problem_page(request, problem) if is_of_page else told
    if problem.status == 405:
        routes = (*api.router.routes, *page.router.routes)
        fitting = [r for r in routes if r.matches(request.scope)[0] is not Match.NONE]
        reply.headers["Allow"] = ", ".join(sorted({m for r in fitting for m in vars(r)["methods"]}))
    return reply


class _Prompt(H11Protocol):
    """Closes a connection whose next request does not begin in time: uvicorn would wait for ever.

    The body has a time of its own (`guards.read_body`).
    """

    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        if self._waiting is None and self._is_idle():
            self._wait()
        super().data_received(data)
        if not self._is_idle():
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _is_idle(self) -> bool:
        """Whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def _wait(self) -> None:
        assert isinstance(self.config, _Config)
        self._waiting = self.loop.call_later(self.config.receive_seconds, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None


class _Config(uvicorn.Config):
    """The server's configuration, and how long a client may take to begin a request."""

    receive_seconds = 15.0

    def load(self) -> None:
        """Note whose connection it is, before what a proxy says of its client takes the place."""
        super().load()
        app = self.loaded_app

        async def noted(scope: Scope, receive: Receive, send: Send) -> None:
            scope["peer"] = scope.get("client")
            await app(scope, receive, send)

        self.loaded_app = noted


class _Processes(Multiprocess):
    """Several processes on one socket; one that dies or hangs is replaced."""

    def handle_hup(self) -> None:
        """Have each process load its writer anew."""
        for process in self.processes:
            if process.pid is not None:
                os.kill(process.pid, signal.SIGHUP)

    def keep_subprocess_alive(self) -> None:
        """Forget the figures of processes that died, and start others."""
        before = {process.pid for process in self.processes}
        super().keep_subprocess_alive()
        for pid in before - {process.pid for process in self.processes}:
            mark_process_dead(pid)  # type: ignore[no-untyped-call]


def config_of(settings: Settings, app: FastAPI | Callable[[], FastAPI]) -> _Config:
    """How the server runs an application, or one that a function makes in each process."""
    config = _Config(
        app,
        factory=not isinstance(app, FastAPI),
        host=settings.host,
        port=settings.port,
        workers=settings.workers,
        loop="asyncio",
        http=_Prompt,
        ws="none",
        access_log=False,
        log_config=None,
        server_header=False,
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=settings.drain_seconds,
        timeout_worker_healthcheck=_HUNG,
        h11_max_incomplete_event_size=_LONGEST_HEAD,
    )
    config.receive_seconds = settings.receive_seconds
    return config


def listen_at(settings: Settings) -> socket.socket:
    """A socket at the address of the service, which nobody else can have from now on.

    Raises:
        UsageError: another program has it, or it is none of this machine.
    """
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # asyncio turns Nagle's wait off only where a socket names its protocol: 40 ms for each reply.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
    except OSError as error:
        listener.close()
        where = f"--host {settings.host} --port {settings.port}"
        raise UsageError(f"{where}: cannot listen there: {error.strerror}") from None
    listener.listen()  # who comes while everything is loaded waits, and is not turned away
    listener.set_inheritable(True)
    return listener


def run(settings: Settings, make: Callable[[], FastAPI], listener: socket.socket) -> None:
    """Serve until SIGTERM or SIGINT; what was begun is finished first.

    ``make`` makes the application, in each process anew where there are several.

    Raises:
        DialogistError: the application did not start; its log says why.
    """
    log_as_json()
    if settings.workers == 1:
        server = uvicorn.Server(config_of(settings, make()))
        # Once drained, uvicorn sends itself the signal again; to have drained is no failure.
        signal.signal(signal.SIGTERM, lambda *_: None)
        server.run([listener])
        if not server.started:
            raise DialogistError("the service did not start: its last log line says why")
        return
    with tempfile.TemporaryDirectory(prefix="dialogist-") as folder:
        os.environ[SHARED] = folder  # read when a process imports prometheus_client
        _Processes(config_of(settings, make), [listener]).run()


def app_of(settings: Settings) -> FastAPI:
    """The application as it runs in a process of its own."""
    log_as_json()  # here, too, in a process that was started for it
    store = open_store(settings.store_url)

    def leave() -> None:
        """End the process although a thread still works: it has had its time."""
        log_event("stopped with work that took too long")
        os._exit(0)

    app = create_app(settings, store, lambda: Summarizer(*settings.writers), leave)
    import_module(PRELOADED)
    api.description()
    app.state.service.queue.start()
    return app
