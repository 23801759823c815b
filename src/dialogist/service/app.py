"""The application: its routes, and how it starts and stops."""

import asyncio
import math
import signal
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from types import FrameType

import sqlalchemy as sa
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from dialogist import __version__
from dialogist.errors import ModelError
from dialogist.records import Dialogue, Utterance
from dialogist.service import api, chat, page
from dialogist.service.batches import Runner
from dialogist.service.crashes import CrashLog
from dialogist.service.guards import Envelope
from dialogist.service.keys import KeyRing
from dialogist.service.metrics import Metrics, log_event, log_failure
from dialogist.service.openapi import EXAMPLE
from dialogist.service.problems import Problem
from dialogist.service.service import Service
from dialogist.service.settings import Settings
from dialogist.service.worker import Model, Worker

_LAST = 1.0  # seconds for what is in work when the time to stop is over
_UPLOADS = 2  # batches that are read at the same time: each may be large


def create_app(
    settings: Settings,
    engine: sa.Engine,
    load: Callable[[], Model],
    crashes: CrashLog | None = None,
    load_network: Callable[[], Model] | None = None,
) -> FastAPI:
    """Make the application; ``engine`` is an open store.

    ``load`` gives the model, now and again on SIGHUP; ``load_network`` with its network, once free
    style is asked for. ``crashes`` knows of what processes died.
    """
    model = load()
    metrics = Metrics(model.name)
    worker = Worker(model, settings, metrics, crashes, load_network)
    keys = KeyRing(engine, settings.rate_per_minute)
    runner = Runner(engine, worker, settings)
    uploads = asyncio.Semaphore(_UPLOADS)
    service = Service(settings, engine, keys, worker, runner, metrics, uploads)

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        worker.start()
        running = asyncio.create_task(runner.run())
        with _reloading(partial(reload_model, worker, load)), _told_of_the_end(runner.stop) as ends:
            yield
        runner.stop()

        def left() -> float:  # the server has waited for the requests already
            return max(_LAST, ends() + settings.drain_seconds - time.monotonic())

        await asyncio.wait({running}, timeout=left())
        running.cancel()
        await run_in_threadpool(worker.close, left())

    app = FastAPI(
        title="Dialogist",
        version=__version__,
        description="Conversations to short, checkable summaries.",
        docs_url=None,  # their pages load scripts from elsewhere
        redoc_url=None,
        openapi_url=None,  # served behind a key by `api`
        lifespan=life,
        redirect_slashes=False,
    )
    app.state.service = service
    app.add_middleware(Envelope, metrics=metrics, full=worker.full)
    app.add_exception_handler(Problem, _problem)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(RequestValidationError, _not_valid)
    app.include_router(api.router)
    app.include_router(chat.router)
    app.include_router(page.router)
    return app


@contextmanager
def _reloading(reload: Callable[[], Coroutine[object, object, bool]]) -> Iterator[None]:
    """Reload the model on SIGHUP, one time after the other; where signals cannot come, never."""
    loop, lock = asyncio.get_running_loop(), asyncio.Lock()
    tasks: set[asyncio.Task[None]] = set()

    async def one() -> None:
        async with lock:
            await reload()

    def on_signal() -> None:
        task = loop.create_task(one())
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    is_possible = threading.current_thread() is threading.main_thread()
    if is_possible:
        loop.add_signal_handler(signal.SIGHUP, on_signal)
    try:
        yield
    finally:
        if is_possible:
            loop.remove_signal_handler(signal.SIGHUP)


@contextmanager
def _told_of_the_end(stop: Callable[[], None]) -> Iterator[Callable[[], float]]:
    """Call ``stop`` on SIGTERM, before the server waits for its requests; gives when that was."""
    loop, since = asyncio.get_running_loop(), [math.inf]
    before = signal.getsignal(signal.SIGTERM)

    def on_signal(number: int, frame: FrameType | None) -> None:
        since[0] = min(since[0], time.monotonic())
        loop.call_soon_threadsafe(stop)
        if callable(before):
            before(number, frame)

    is_possible = threading.current_thread() is threading.main_thread() and callable(before)
    if is_possible:
        signal.signal(signal.SIGTERM, on_signal)
    try:
        yield lambda: min(since[0], time.monotonic())
    finally:
        if is_possible:
            signal.signal(signal.SIGTERM, before)


async def reload_model(worker: Worker, load: Callable[[], Model]) -> bool:
    """Load the model anew, try it, and use it; one that fails changes nothing. Whether it is used.

    Requests are answered meanwhile.
    """
    try:
        model = await run_in_threadpool(_tried, load)
    except Exception as error:  # whatever is wrong with it: the old one goes on
        log_failure(error, "")
        return False
    worker.replace(model)
    log_event("model reloaded")
    return True


def _tried(load: Callable[[], Model]) -> Model:
    """A model that has summarized a dialogue.

    Raises:
        ModelError: it could not.
    """
    model = load()
    dialogue = Dialogue(tuple(Utterance(**one) for one in EXAMPLE["utterances"]))
    [summary] = model.stream([dialogue], model.options)
    if summary.status == "error":
        raise ModelError("the model fails on the example")
    return model


async def _problem(request: Request, error: Exception) -> Response:
    problem = error if isinstance(error, Problem) else Problem("internal")
    is_of_page = not request.url.path.startswith("/v1/")
    if is_of_page and "text/html" in request.headers.get("accept", ""):
        if problem.code == "unauthorized" and request.method in ("GET", "HEAD"):
            return RedirectResponse("/login", 303)
        return page.problem_page(request, problem)
    return problem.response(request.state.request_id)


async def _http_error(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    codes = {404: "not_found", 405: "method_not_allowed"}
    return await _problem(request, Problem(codes.get(status, "bad_request")))


async def _not_valid(request: Request, _: Exception) -> Response:
    return await _problem(request, Problem("bad_request"))
