"""The routes of ``/v1``, and those that operators ask. docs/how-to/deploy.md describes them."""

import hashlib
import json
import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from dialogist import __version__
from dialogist.present import PresentedSummary
from dialogist.records import JSON
from dialogist.service import batches, chat, reviews, tables
from dialogist.service.guards import (
    announced_size,
    media_type,
    query_of,
    read_body,
    strict_json,
    strict_text,
)
from dialogist.service.keys import Key
from dialogist.service.openapi import (
    BATCH,
    FEEDBACK,
    OBJECT,
    STREAM,
    SUMMARY,
    described,
    openapi_of,
)
from dialogist.service.problems import Problem
from dialogist.service.requests import (
    Options,
    SummaryRequest,
    build_request,
    dialogue_of,
    dialogue_of_text,
    notes_in,
    options_of,
    timeout_of,
)
from dialogist.service.service import Service, authorized, service_of, until_left
from dialogist.language.tokens import counted

router = APIRouter(generate_unique_id_function=lambda route: route.name)

_ID = re.compile("[0-9a-f]{16}")
_ONCE = re.compile("[!-~]{1,128}")
_FLAGS = {"true": True, "1": True, "false": False, "0": False}


@dataclass(frozen=True, slots=True)
class Asked:
    """A request for one summary, read and checked."""

    request: SummaryRequest
    seconds: float
    for_review: bool


@router.post("/v1/summaries", openapi_extra=SUMMARY)
async def summarize(request: Request) -> Response:
    """Summarize one dialogue: JSON, or a transcript as text."""
    key = await authorized(request, "summaries")
    asked, presented = await _summary(request, key)
    headers = await _review(request, key, asked, presented)
    return JSONResponse(presented.to_json(), headers=headers)


@router.post("/v1/summaries/stream", openapi_extra=STREAM)
async def stream(request: Request) -> Response:
    """Summarize one dialogue; the statements come as server-sent events, then the whole."""
    key = await authorized(request, "summaries")
    asked, presented = await _summary(request, key)
    headers = await _review(request, key, asked, presented)
    whole = presented.to_json()
    statements = whole["sentences"] or whole["key_points"]

    async def events() -> AsyncIterator[bytes]:
        for one in statements if isinstance(statements, list) else []:
            yield _event("statement", one)
        yield _event("summary", whole)

    return StreamingResponse(events(), media_type="text/event-stream", headers=headers)


def _event(name: str, value: object) -> bytes:
    return f"event: {name}\ndata: {json.dumps(value, ensure_ascii=False)}\n\n".encode()


async def _summary(request: Request, key: Key) -> tuple[Asked, PresentedSummary]:
    """Hold a place, read the request, and have the worker answer it."""
    service = service_of(request)
    settings = service.settings
    with service.worker.place(announced_size(request, settings.max_body)) as place:
        body = await read_body(request, settings.max_body, settings.receive_seconds)
        asked = await run_in_threadpool(_asked, request, body, service)
        if asked.for_review and "reviews" not in key.scopes:
            raise Problem("forbidden", "this key lacks the scope reviews")
        place.fill(asked.request.size)
        async with until_left(request) as leaves:
            return asked, await service.worker.summarize(asked.request, asked.seconds, leaves)


async def _review(
    request: Request, key: Key, asked: Asked, presented: PresentedSummary
) -> dict[str, str]:
    """Store the summary for review if that was asked for; the headers that say where."""
    if not asked.for_review:
        return {}
    engine = service_of(request).engine
    stored = await run_in_threadpool(reviews.add_review, engine, key.id, presented)
    return {"Location": f"/reviews/{stored}"}


def _asked(request: Request, body: bytes, service: Service) -> Asked:
    """Read a request; in a thread of its own, it may be long.

    Raises:
        Problem: see `dialogist.service.requests`.
    """
    kind = media_type(request)
    if kind == "application/json":
        record = strict_json(body, service.settings.max_depth)
        query_of(request, lambda name: False)
        values = record if isinstance(record, dict) else {}
        options, extra = options_of(values.get("options", {})), values
        dialogue, notes = dialogue_of(record), notes_in(record)
    elif kind == "text/plain":
        extra = dict(query_of(request, _is_parameter))
        options = options_of(_from_query(extra))
        dialogue = dialogue_of_text(strict_text(body), str(extra.get("id", "")))
        notes = 0
    else:
        raise Problem("unsupported_media_type", "send application/json or text/plain")
    for_review = extra.get("review", False)
    if isinstance(for_review, str):
        for_review = _FLAGS.get(for_review.lower())
    if not isinstance(for_review, bool):
        raise Problem("invalid_options", "review must be true or false")
    seconds = timeout_of(extra.get("timeout_ms"), service.settings.deadline_seconds)
    summary_request = build_request(dialogue, options, service.worker.model.options, notes)
    return Asked(summary_request, seconds, for_review)


def _is_parameter(name: str) -> bool:
    scalars = Options.model_fields.keys() - {"speakers"}
    return name in scalars or name in ("id", "timeout_ms", "review")


def _from_query(given: dict[str, JSON]) -> dict[str, JSON]:
    """Options as a query gives them: texts."""
    return {name: value for name, value in given.items() if name in Options.model_fields}


@router.post("/v1/batches", status_code=202, openapi_extra=BATCH)
async def add_batch(request: Request) -> Response:
    """Store dialogues to be summarized when there is time; they survive a restart."""
    key = await authorized(request, "batches")
    service = service_of(request)
    settings = service.settings
    announced_size(request, settings.max_batch_body)
    if service.uploads.locked():
        raise Problem("queue_full", "two batches are being read", 1)
    async with service.uploads:
        body = await read_body(request, settings.max_batch_body, 4 * settings.receive_seconds)
        dialogues, options = await run_in_threadpool(_batch, request, body, service)
        identity, _ = await run_in_threadpool(
            tables.once_only,
            service.engine,
            key.id,
            _once(request),
            hashlib.sha256(body).hexdigest(),
            lambda connection: batches.store_batch(connection, key.id, dialogues, options),
        )
    service.runner.wake()
    status = await run_in_threadpool(batches.batch_status, service.engine, key.id, identity)
    return JSONResponse(status, 202, {"Location": f"/v1/batches/{identity}"})


def _batch(
    request: Request, body: bytes, service: Service
) -> "tuple[Sequence[JSON | Problem], JSON]":
    """The dialogues of a batch and their common options."""
    kind, depth = media_type(request), service.settings.max_depth
    dialogues: JSON | list[JSON | Problem]
    if kind == "application/json":
        value = strict_json(body, depth)
        values = value if isinstance(value, dict) else {}
        if not isinstance(value, dict) or set(values) - {"dialogues", "options"}:
            raise Problem("bad_request", "send an object with 'dialogues' and 'options'")
        dialogues, options = values.get("dialogues"), values.get("options", {})
    elif kind in ("application/x-ndjson", "application/jsonl"):
        lines = strict_text(body).split("\n")
        dialogues = [_line(line, n, depth) for n, line in enumerate(lines, 1) if line.strip()]
        options = _from_query(dict(query_of(request, _is_parameter)))
    else:
        raise Problem("unsupported_media_type", "send application/json or application/x-ndjson")
    options_of(options)
    if not isinstance(dialogues, list) or not dialogues:
        raise Problem("bad_request", "'dialogues' must be a list with at least one dialogue")
    if len(dialogues) > service.settings.max_dialogues:
        raise Problem(
            "body_too_large", f"at most {counted(service.settings.max_dialogues, 'dialogues')}"
        )
    return dialogues, options


def _line(line: str, number: int, depth: int) -> "JSON | Problem":
    """The dialogue of a line, or what is wrong with it: then it fails alone."""
    try:
        return strict_json(line.encode(), depth)
    except Problem as problem:
        said = problem.detail.replace("line 1, ", "")  # of its own
        return Problem("unreadable_dialogue", f"line {number}: {said}")


def _once(request: Request) -> str:
    value = request.headers.get("idempotency-key", "")
    if value and not _ONCE.fullmatch(value):
        raise Problem("bad_request", "Idempotency-Key: 1 to 128 visible ASCII characters")
    return value


def checked_id(identity: str) -> str:
    """An id from a path.

    Raises:
        Problem: no id looks like that.
    """
    if not _ID.fullmatch(identity):
        raise Problem("not_found", "an id has 16 digits from 0 to f")
    return identity


@router.get("/v1/batches/{identity}", openapi_extra=described("Batch"))
async def batch(request: Request, identity: str) -> Response:
    """Tell how far a batch is."""
    key = await authorized(request, "batches")
    engine = service_of(request).engine
    status = await run_in_threadpool(batches.batch_status, engine, key.id, checked_id(identity))
    return JSONResponse(status)


@router.get(
    "/v1/batches/{identity}/results", openapi_extra=described(OBJECT, "application/x-ndjson")
)
async def results(request: Request, identity: str) -> Response:
    """Give the summaries of a finished batch as JSON lines, in the order of its dialogues."""
    key = await authorized(request, "batches")
    engine = service_of(request).engine
    status = await run_in_threadpool(batches.batch_status, engine, key.id, checked_id(identity))
    if status["status"] != "done":
        raise Problem("not_finished", "ask again later", 2)
    return StreamingResponse(
        batches.batch_results(engine, identity), media_type="application/x-ndjson"
    )


@router.delete("/v1/batches/{identity}", status_code=204, openapi_extra=described(status=204))
async def delete_batch(request: Request, identity: str) -> Response:
    """Delete a batch with its dialogues and results."""
    key = await authorized(request, "batches")
    engine = service_of(request).engine
    await run_in_threadpool(batches.remove_batch, engine, key.id, checked_id(identity))
    return Response(status_code=204)


@router.post("/v1/feedback", status_code=201, openapi_extra=FEEDBACK)
async def feedback(request: Request) -> Response:
    """Say what a person did with a summary; content is kept only with consent, masked."""
    key = await authorized(request, "reviews")
    service = service_of(request)
    settings = service.settings
    if media_type(request) != "application/json":
        raise Problem("unsupported_media_type", "send application/json")
    body = await read_body(request, settings.max_body, settings.receive_seconds)
    value = await run_in_threadpool(strict_json, body, settings.max_depth)
    given = reviews.feedback_of(value)
    identity, is_new = await run_in_threadpool(
        tables.once_only,
        service.engine,
        key.id,
        _once(request),
        hashlib.sha256(body).hexdigest(),
        lambda connection: reviews.add_feedback(connection, key.id, given),
    )
    return JSONResponse({"id": identity}, 201 if is_new else 200)


@router.get("/v1/reviews", openapi_extra=described(OBJECT))
async def list_reviews(request: Request) -> Response:
    """List the summaries that wait for review, the oldest first."""
    await authorized(request, "reviews")
    found = await run_in_threadpool(reviews.open_reviews, service_of(request).engine)
    return JSONResponse({"reviews": found})


@router.get("/v1/reviews/{identity}", openapi_extra=described(OBJECT))
async def review(request: Request, identity: str) -> Response:
    """Give a summary that waits for review, with its dialogue."""
    await authorized(request, "reviews")
    engine = service_of(request).engine
    return JSONResponse(await run_in_threadpool(reviews.open_review, engine, checked_id(identity)))


@router.get("/v1/models", openapi_extra=described(OBJECT))
async def models(request: Request) -> Response:
    """List the model in use, in the form that OpenAI's clients know."""
    await authorized(request, "summaries")
    found = service_of(request).worker.model
    style = found.options.style
    entry = {"id": found.name, "object": "model", "owned_by": "dialogist", "style": style}
    return JSONResponse({"object": "list", "data": [entry]})


@router.get("/version", openapi_extra=described(OBJECT))
async def version(request: Request) -> Response:
    """Tell the release."""
    await authorized(request, "metrics")
    return JSONResponse({"dialogist": __version__})


@router.get("/metrics", openapi_extra=described({"type": "string"}, "text/plain"))
async def metrics(request: Request) -> Response:
    """Give counts in the format of Prometheus; they hold no content."""
    await authorized(request, "metrics")
    return Response(service_of(request).metrics.text(), media_type="text/plain; version=0.0.4")


@router.get("/healthz", openapi_extra=described(OBJECT, is_open=True))
async def healthz() -> Response:
    """Tell that the process is alive."""
    return JSONResponse({"status": "ok"})


@router.get("/readyz", openapi_extra=described(OBJECT, is_open=True))
async def readyz(request: Request) -> Response:
    """Tell whether requests are taken: not while stopping, or when the queue is nearly full."""
    if not service_of(request).worker.is_ready:
        raise Problem("draining", "another instance may answer", 1)
    return JSONResponse({"status": "ready"})


@router.get("/openapi.json", openapi_extra=described(OBJECT))
async def openapi(request: Request) -> Response:
    """Describe the routes, with examples that run as they are."""
    await authorized(request, "summaries")
    schema: dict[str, Any] = openapi_of(request.app, (*router.routes, *chat.router.routes))
    return JSONResponse(schema)
