"""The application: its routes, and how it starts and stops."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import sqlalchemy as sa
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from dialogist import __version__
from dialogist.serve import api, chat, page
from dialogist.serve.batches import Runner
from dialogist.serve.guards import Envelope
from dialogist.serve.keys import KeyRing
from dialogist.serve.metrics import Metrics
from dialogist.serve.problems import Problem
from dialogist.serve.service import Service
from dialogist.serve.settings import Settings
from dialogist.serve.worker import Model, Worker

_UPLOADS = 2  # batches that are read at the same time: each may be large


def create_app(settings: Settings, engine: sa.Engine, model: Model) -> FastAPI:
    """Make the application; ``engine`` is an open store."""
    metrics = Metrics(model.name)
    worker = Worker(model, settings, metrics)
    keys = KeyRing(engine, settings.rate_per_minute)
    runner = Runner(engine, worker, settings)
    uploads = asyncio.Semaphore(_UPLOADS)
    service = Service(settings, engine, keys, worker, runner, metrics, uploads)

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        worker.start()
        running = asyncio.create_task(runner.run())
        yield
        runner.stop()
        await asyncio.wait({running}, timeout=settings.drain_seconds)
        running.cancel()
        await run_in_threadpool(worker.close)

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
    app.add_middleware(Envelope, metrics=metrics)
    app.add_exception_handler(Problem, _problem)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(RequestValidationError, _not_valid)
    app.include_router(api.router)
    app.include_router(chat.router)
    app.include_router(page.router)
    return app


async def _problem(request: Request, error: Exception) -> Response:
    problem = error if isinstance(error, Problem) else Problem("internal")
    is_visit = request.method in ("GET", "HEAD") and "text/html" in request.headers.get(
        "accept", ""
    )
    if problem.code == "unauthorized" and is_visit:
        return RedirectResponse("/login", 303)
    return problem.response(request.state.request_id)


async def _http_error(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    codes = {404: "not_found", 405: "method_not_allowed"}
    return await _problem(request, Problem(codes.get(status, "bad_request")))


async def _not_valid(request: Request, _: Exception) -> Response:
    return await _problem(request, Problem("bad_request"))
