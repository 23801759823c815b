"""The routes of ``/v1``, and those that operators ask. docs/how-to/deploy.md describes them."""

import hashlib
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from importlib import resources
from typing import Annotated, Any, TypeVar
from urllib.parse import quote

import yaml
from anyio import to_thread
from fastapi import APIRouter, Path
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from dialogist import __version__
from dialogist.config import Config
from dialogist.language.tokens import counted
from dialogist.records import JSON, Statement, to_json
from dialogist.service import (
    deliveries,
    feedback,
    guards,
    reviews,
    stored_batches,
    stored_forms,
    tables,
)
from dialogist.service.guards import Service
from dialogist.service.keys import Key
from dialogist.service.problems import CODES, Problem
from dialogist.service.requests import (
    QUERY,
    ConfigT,
    Options,
    SummaryRequest,
    build_request,
    checked_values,
    dialogue_of,
    dialogue_of_text,
    options_beside,
    options_of,
    timeout_of,
)
from dialogist.service.stored_forms import find_form
from dialogist.service.work_queue import followed
from dialogist.summarizer import Result

T = TypeVar("T")
router = APIRouter()

Identity = Annotated[str, Path(pattern="^[0-9a-f]{16}$")]
"""An id in a path; what looks otherwise is not found."""
_FLAGS = {"true": True, "1": True, "false": False, "0": False}


@router.post("/v1/summaries")
async def post_summary(request: Request) -> Response:
    """Summarize one dialogue: JSON, or a transcript as text."""
    result, headers = await _summary(request)
    return await _as_json(result, headers)


async def _as_json(result: Result, headers: Mapping[str, str] | None = None) -> Response:
    """A summary as a reply; a long one takes a while, which others do not wait for."""
    return await to_thread.run_sync(lambda: JSONResponse(result.to_json(), headers=headers))


@router.post("/v1/summaries/stream")
async def stream_summary(request: Request) -> Response:
    """Summarize one dialogue; the statements come as server-sent events, then the whole.

    While a language model writes, each statement comes as a ``draft`` first, not verified yet.
    What fails after that comes as a ``problem``.
    """
    drafts, task = await followed(partial(_summary, request))
    headers = guards.UNBUFFERED | (task.result()[1] if task.done() else {})

    async def events() -> AsyncIterator[str]:
        async for draft in drafts:
            yield _event("draft", to_json(draft))
        try:
            result, where = await task
        except Problem as problem:
            body = bytes(problem.response(request.state.request_id).body)
            yield _event("problem", json.loads(body))
            return
        values: dict[str, Any] = result.to_json()
        for part in values["statements"]:
            yield _event("statement", part)
        yield _event("summary", values)
        if where:
            yield _event("stored", {**where})

    return StreamingResponse(events(), media_type="text/event-stream", headers=headers)


def _event(name: str, value: JSON) -> str:
    return f"event: {name}\ndata: {json.dumps(value, ensure_ascii=False)}\n\n"


async def _summary(
    request: Request, on_statement: Callable[[Statement], None] | None = None
) -> tuple[Result, dict[str, str]]:
    """Have the request answered, and store the summary if that was asked.

    Returns the headers of the reply, too: they say where it is stored.
    """
    service, key = await guards.authorized(request, "summaries")
    read = partial(
        _read,
        guards.media_type(request),
        tuple(request.query_params.multi_items()),
        service.settings.max_depth,
        "reviews" in key.scopes,
    )
    given, result = await _answered(request, service, read, on_statement)
    if not given.for_review:
        return result, {}
    stored = await service.stored(reviews.add_review, key.id, result)
    return result, {"Location": f"/reviews/{stored}"}


async def _answered(
    request: Request,
    service: Service,
    read: Callable[[bytes], SummaryRequest],
    on_statement: Callable[[Statement], None] | None = None,
) -> tuple[SummaryRequest, Result]:
    """Hold a place, and have the body read and its dialogue summarized."""
    queue = service.queue
    with queue.place(guards.announced_size(request, service.settings.max_body)) as lane:
        read_body = partial(read, await guards.read_body(request))
        return await queue.summarize(read_body, lane, partial(guards.left, request), on_statement)


def _read(
    kind: str, query: Sequence[tuple[str, str]], depth: int, may_store: bool, body: bytes
) -> SummaryRequest:
    """Read a request; in a process of its own, it may be long."""
    if kind == "application/json":
        record = guards.strict_json(body, depth)
        guards.query_of(query, ())
        values: dict[str, Any] = record if isinstance(record, dict) else {}
        options = options_beside(record)
        dialogue = dialogue_of(record)
    elif kind == "text/plain":
        values = {**guards.query_of(query, (*QUERY, "id", "timeout_ms", "review"))}
        options = options_of({name: values[name] for name in QUERY if name in values})
        dialogue = dialogue_of_text(guards.strict_text(body), values.get("id", ""))
    else:
        raise Problem("unsupported_media_type", "send application/json or text/plain")
    for_review = values.get("review", False)
    if isinstance(for_review, str):
        for_review = _FLAGS.get(for_review.lower())
    if not isinstance(for_review, bool):
        raise Problem("invalid_options", "review must be true or false")
    if for_review and not may_store:
        raise Problem("forbidden", "this key lacks the scope reviews")
    return build_request(dialogue, options, timeout_of(values.get("timeout_ms")), for_review)


@router.post("/v1/batches")
async def post_batch(request: Request) -> Response:
    """Store dialogues to be summarized when there is time; they survive a restart."""
    service, key = await guards.authorized(request, "batches")
    settings = service.settings
    guards.announced_size(request, settings.max_batch_body)
    if service.uploads.locked():
        raise Problem("queue_full", "two batches are being read", 1)
    async with service.uploads:
        seconds = 4 * settings.receive_seconds
        body = await guards.read_body(request, settings.max_batch_body, seconds)
        batch = await to_thread.run_sync(_batch, request, body, service)
        identity, _ = await _stored_once(request, key, body, stored_batches.store_batch, *batch)
    service.runner.wake()
    status = await service.stored(stored_batches.batch_status, key.id, identity)
    return JSONResponse(status, 202, {"Location": f"/v1/batches/{identity}"})


def _batch(
    request: Request, body: bytes, service: Service
) -> "tuple[Sequence[JSON | Problem], JSON]":
    """The dialogues of a batch and their common options."""
    kind, depth = guards.media_type(request), service.settings.max_depth
    dialogues: JSON | list[JSON | Problem]
    if kind == "application/json":
        values = guards.strict_json(body, depth)
        if not isinstance(values, dict) or set(values) - {"dialogues", "options"}:
            raise Problem("bad_request", "send an object with 'dialogues' and 'options'")
        dialogues, options = values.get("dialogues"), values.get("options", {})
    elif kind in ("application/x-ndjson", "application/jsonl"):
        lines = guards.strict_text(body).split("\n")
        dialogues = [_line(line, n, depth) for n, line in enumerate(lines, 1) if line.strip()]
        options = {**guards.query_of(request.query_params.multi_items(), QUERY)}
    else:
        raise Problem("unsupported_media_type", "send application/json or application/x-ndjson")
    find_form(service.engine, options_of(options).form)
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
        return guards.strict_json(line.encode(), depth)
    except Problem as problem:
        detail = problem.detail.replace("line 1, ", "")  # of its own
        return Problem("unreadable_dialogue", f"line {number}: {detail}")


async def _stored_once(
    request: Request, key: Key, body: bytes, make: Callable[..., str], *arguments: object
) -> tuple[str, bool]:
    """Have something made that a request asks for; see `tables.once_only`."""
    value = request.headers.get("idempotency-key", "")
    if len(value) > 128 or not all("!" <= character <= "~" for character in value):
        raise Problem("bad_request", "Idempotency-Key: 1 to 128 visible ASCII characters")
    target = f"{request.method} {request.url.path} {guards.media_type(request)} "
    asked = target.encode() + request.scope["query_string"] + b"\n" + body
    digest, stored = hashlib.sha256(asked).hexdigest(), guards.service_of(request).stored
    return await stored(tables.once_only, key.id, value, digest, make, *arguments)


@router.get("/v1/batches/{identity}")
async def get_batch(request: Request, identity: Identity) -> Response:
    service, key = await guards.authorized(request, "batches")
    status = await service.stored(stored_batches.batch_status, key.id, identity)
    return JSONResponse(status)


@router.get("/v1/batches/{identity}/results")
async def get_results(request: Request, identity: Identity) -> Response:
    """Give the summaries of a finished batch as JSON lines, in the order of its dialogues."""
    service, key = await guards.authorized(request, "batches")
    status = await service.stored(stored_batches.batch_status, key.id, identity)
    if status["status"] != "done":
        raise Problem("not_finished", "ask again later", 2)
    return StreamingResponse(
        stored_batches.batch_results(service.engine, identity), media_type="application/x-ndjson"
    )


@router.delete("/v1/batches/{identity}")
async def delete_batch(request: Request, identity: Identity) -> Response:
    service, key = await guards.authorized(request, "batches")
    await service.stored(stored_batches.remove_batch, key.id, identity)
    return Response(status_code=204)


@router.post("/v1/feedback")
async def post_feedback(request: Request) -> Response:
    """Say what a person did with a summary; content is kept only with consent, masked."""
    service, key = await guards.authorized(request, "reviews")
    given, body = await _json_body(request, service, feedback.feedback_of)
    identity, is_new = await _stored_once(request, key, body, feedback.add_feedback, given)
    return JSONResponse({"id": identity}, 201 if is_new else 200)


async def _json_body(
    request: Request, service: Service, read: Callable[[JSON], T]
) -> tuple[T, bytes]:
    """What a request asks for in JSON, read in a process of its own, and its bytes."""
    guards.check_type(request, "application/json")
    body = await guards.read_body(request)
    return await service.worked(partial(_from_json, read, service.settings.max_depth, body)), body


def _from_json(read: Callable[[JSON], T], depth: int, body: bytes) -> T:
    return read(guards.strict_json(body, depth))


def _query(request: Request, model: type[ConfigT]) -> ConfigT:
    given = guards.query_of(request.query_params.multi_items(), (*model.model_fields,))
    return checked_values(model, given)


@router.get("/v1/reviews")
async def get_reviews(request: Request) -> Response:
    """List reviews: those that wait, the oldest first, or others, the newest first."""
    service, _ = await guards.authorized(request, "reviews")
    wanted = _query(request, reviews.ReviewPage)
    return JSONResponse(await service.stored(reviews.find_reviews, wanted))


@router.get("/v1/reviews/export")
async def get_export(request: Request) -> Response:
    """Give all reviews of a kind with their text, as CSV, JSON lines or Markdown."""
    service, _ = await guards.authorized(request, "reviews")
    wanted = _query(request, reviews.ExportFilter)
    media_type, ending = reviews.EXPORTS[wanted.format][:2]
    headers = {"Content-Disposition": f'attachment; filename="reviews.{ending}"'}
    text = reviews.export_reviews(service.engine, wanted)
    return StreamingResponse(text, headers=headers, media_type=media_type)


@router.get("/v1/reviews/{identity}")
async def get_review(request: Request, identity: Identity) -> Response:
    """Give a review with its text; while it waits with its dialogue and summary, too."""
    service, _ = await guards.authorized(request, "reviews")
    return JSONResponse(await service.stored(reviews.review_of, identity))


@router.post("/v1/reviews/{identity}/decision")
async def post_decision(request: Request, identity: Identity) -> Response:
    """Approve, correct or reject a summary that waits; what was approved is kept."""
    service, key = await guards.authorized(request, "reviews")
    given, _ = await _json_body(request, service, partial(checked_values, reviews.Decision))
    keep = service.settings.keep_approved
    decide = partial(reviews.decide, call=service.queue.call)
    return JSONResponse(await service.stored(decide, key, identity, given, keep))


@router.post("/v1/reviews/{identity}/undo")
async def post_undo(request: Request, identity: Identity) -> Response:
    """Take a deletion back, or else a decision; for a day."""
    service, key = await guards.authorized(request, "reviews")
    return JSONResponse(await service.stored(reviews.undo, key, identity))


@router.delete("/v1/reviews/{identity}")
async def erase_review(request: Request, identity: Identity) -> Response:
    """Delete a review; its content goes after a day, until which it can be undone."""
    service, key = await guards.authorized(request, "reviews")
    await service.stored(reviews.delete_review, key, identity)
    return Response(status_code=204)


@router.get("/v1/audit")
async def get_audit(request: Request) -> Response:
    """Tell who changed what and when, the newest first; it holds no content."""
    service, _ = await guards.authorized(request, "reviews")
    wanted = _query(request, tables.AuditFilter)
    return JSONResponse({"changes": await service.stored(tables.find_changes, wanted)})


@router.post("/v1/reviews/{identity}/deliveries")
async def post_delivery(request: Request, identity: Identity) -> Response:
    """Send an approved summary to a destination of the settings."""
    service, key = await guards.authorized(request, "reviews")
    read = partial(checked_values, deliveries.DeliveryRequest)
    given, body = await _json_body(request, service, read)
    add = service.outbox.add_by_hand
    stored, _ = await _stored_once(request, key, body, add, identity, given)
    return JSONResponse({"id": stored}, 202)


@router.get("/v1/deliveries")
async def get_deliveries(request: Request) -> Response:
    """List deliveries, the newest first, without what they say."""
    service, _ = await guards.authorized(request, "reviews")
    wanted = _query(request, deliveries.DeliveryFilter)
    return JSONResponse({"deliveries": await service.stored(deliveries.find_deliveries, wanted)})


@router.post("/v1/deliveries/{identity}/retry")
async def post_retry(request: Request, identity: Identity) -> Response:
    """Have a delivery sent again that failed."""
    service, key = await guards.authorized(request, "reviews")
    await service.stored(deliveries.retry_delivery, key.id, identity)
    return JSONResponse({"id": identity}, 202)


@router.post("/v1/forms")
async def post_form(request: Request) -> Response:
    """Store a form of your own; a higher version replaces the one before."""
    service, key = await guards.authorized(request, "forms")
    guards.check_type(request, *stored_forms.YAML_TYPES)
    text = guards.strict_text(await guards.read_body(request))
    entry, is_new = await service.stored(stored_forms.store_form, key.id, text)
    where = {"Location": f"/v1/forms/{quote(str(entry['name']))}"}
    return JSONResponse(entry, 201 if is_new else 200, where)


@router.get("/v1/forms")
async def get_forms(request: Request) -> Response:
    """List the forms that come with Dialogist, and your own."""
    service, _ = await guards.authorized(request, "summaries")
    return JSONResponse({"forms": await service.stored(stored_forms.known_forms)})


@router.post("/v1/forms/preview")
async def preview_form(request: Request) -> Response:
    """Fill a form that is not stored, from your dialogue or an example; nothing is kept."""
    service, _ = await guards.authorized(request, "summaries")
    guards.check_type(request, "application/json")
    read = partial(_from_json, stored_forms.preview_request, service.settings.max_depth)
    _, result = await _answered(request, service, read)
    return await _as_json(result)


@router.get("/v1/forms/{name}")
async def get_form(request: Request, name: str) -> Response:
    """Give a form's YAML."""
    service, _ = await guards.authorized(request, "summaries")
    text = await service.stored(stored_forms.form_text, name)
    return Response(text, media_type=stored_forms.YAML_TYPES[0])


@router.delete("/v1/forms/{name}")
async def delete_form(request: Request, name: str) -> Response:
    """Delete a form of your own."""
    service, key = await guards.authorized(request, "forms")
    await service.stored(stored_forms.remove_form, key.id, name)
    return Response(status_code=204)


@router.post("/v1/chat/completions")
async def post_chat(request: Request) -> Response:
    """Answer a chat whose user sends a transcript with its summary.

    What the system says is not followed, and settings of sampling have no effect.
    """
    service, _ = await guards.authorized(request, "summaries")
    guards.check_type(request, "application/json")
    read = partial(_from_json, _read_chat, service.settings.max_depth)
    given, result = await _answered(request, service, read)
    summary = result.summary
    if summary.status == "error":
        raise Problem("writer_failed", "try again; /v1/summaries says why")
    refusal = {"refusal": summary.reason} if summary.status == "refused" else {}
    shared: dict[str, JSON] = {
        "id": f"chatcmpl-{request.state.request_id}",
        "created": int(time.time()),
        "model": summary.writer,
    }
    content = summary.text or summary.reason
    message: JSON = {"role": "assistant", "content": content, **refusal}
    if given.is_stream:
        events = ""
        for delta, reason in ((message, None), ({}, "stop")):
            part = {"index": 0, "delta": delta, "finish_reason": reason}
            chunk = {**shared, "object": "chat.completion.chunk", "choices": [part]}
            events += f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n"
        return Response(events + "data: [DONE]\n\n", media_type="text/event-stream")
    choice: JSON = {"index": 0, "message": message, "finish_reason": "stop"}
    words, written = summary.coverage.words_read, len(content.split())
    usage: dict[str, JSON] = {"prompt_tokens": words, "completion_tokens": written}
    usage |= {"total_tokens": words + written}
    whole = {**shared, "object": "chat.completion", "choices": [choice], "usage": usage}
    return JSONResponse(whole)


def _read_chat(asked: JSON) -> SummaryRequest:
    request = build_request(dialogue_of_text(_transcript(asked), ""), Options())
    return replace(request, is_stream=isinstance(asked, dict) and asked.get("stream") is True)


def _transcript(asked: JSON) -> str:
    """The text of the user's messages, each of which is one text or a list of parts."""
    messages = asked.get("messages") if isinstance(asked, dict) else None
    if not isinstance(asked, dict) or not isinstance(messages, list):
        raise Problem("bad_request", "send an object with 'messages'")
    if asked.get("n", 1) not in (1, None):
        raise Problem("invalid_options", "n: there is one summary")
    texts: list[JSON] = []
    for message in messages:
        if isinstance(message, dict) and message.get("role") == "user":
            content = message.get("content")
            parts = content if isinstance(content, list) else [{"text": content}]
            texts += [part.get("text") for part in parts if isinstance(part, dict)]
    transcript = "\n".join(text for text in texts if isinstance(text, str))
    if not transcript:
        raise Problem("bad_request", "no message of the role user has text")
    return transcript


@router.get("/v1/models")
async def get_models(request: Request) -> Response:
    """List the writer in use, in the form that OpenAI's clients know."""
    service, _ = await guards.authorized(request, "summaries")
    name = service.queue.summarizer.writer.name
    entry = {"id": name, "object": "model", "owned_by": "dialogist"}
    return JSONResponse({"object": "list", "data": [entry]})


@router.get("/version")
async def get_version(request: Request) -> Response:
    await guards.authorized(request, "metrics")
    return JSONResponse({"dialogist": __version__})


@router.get("/metrics")
async def get_metrics(request: Request) -> Response:
    """Give counts in the format of Prometheus; they hold no content."""
    service, _ = await guards.authorized(request, "metrics")
    return Response(service.metrics.text(), media_type="text/plain; version=0.0.4")


@router.get("/healthz")
async def get_health() -> Response:
    return JSONResponse({"status": "ok"})


@router.get("/readyz")
async def get_ready(request: Request) -> Response:
    """Tell whether requests are taken: not while stopping, or when the queue is nearly full."""
    if not guards.service_of(request).queue.is_ready:
        raise Problem("draining", "another instance may answer", 1)
    return JSONResponse({"status": "ready"})


_QUERIES: Mapping[str, type[Config]] = {
    "/v1/deliveries": deliveries.DeliveryFilter,
    "/v1/reviews": reviews.ReviewPage,
    "/v1/reviews/export": reviews.ExportFilter,
    "/v1/audit": tables.AuditFilter,
}
"""What these routes take as a query."""


@cache
def description() -> dict[str, Any]:
    """The OpenAPI description of these routes: a file, and what the code knows."""
    assets = resources.files("dialogist") / "assets"
    described: dict[str, Any] = yaml.safe_load(
        (assets / "service" / "openapi.yaml").read_text("utf-8")
    )
    del described["x-parts"]
    described["info"]["version"] = __version__
    text = (assets / "summary.schema.json").read_text("utf-8")
    summary = json.loads(text.replace("#/$defs/", "#/components/schemas/"))
    schemas = described["components"]["schemas"]
    schemas |= {**summary.pop("$defs", {}), "Summary": summary}
    shown = (Options, feedback.Feedback, reviews.Decision, deliveries.DeliveryRequest)
    for model in (*shown, stored_forms.FormPreview):
        schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas |= {**schema.pop("$defs", {}), model.__name__: schema}
    schemas["Problem"]["properties"]["code"]["enum"] = list(CODES)
    options = {n: s for n, s in schemas["Options"]["properties"].items() if n != "speakers"}
    query = {
        "id": {"type": "string", "description": "The id of the dialogue."},
        **{name: schemas["Dialogue"]["properties"][name] for name in ("timeout_ms", "review")},
        **options,
    }
    for path in ("/v1/summaries", "/v1/summaries/stream", "/v1/batches"):
        named, kind = (options, "x-ndjson") if "batch" in path else (query, "text/plain")
        described["paths"][path]["post"].setdefault("parameters", []).extend(
            {"name": name, "in": "query", "schema": schema, "description": f"With {kind} only."}
            for name, schema in named.items()
        )
    for path, asked in _QUERIES.items():
        schema = asked.model_json_schema()["properties"]
        described["paths"][path]["get"]["parameters"] = [
            {"name": name, "in": "query", "schema": part} for name, part in schema.items()
        ]
    return described


@router.get("/openapi.json")
async def get_openapi(request: Request) -> Response:
    """Describe the routes, with examples that run as they are."""
    await guards.authorized(request, "summaries")
    return JSONResponse(description())
