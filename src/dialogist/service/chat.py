"""``/v1/chat/completions``, as far as a summarizer can be one: for clients that know nothing else.

The text of all messages of the user is the transcript. What the system says is not followed, and
settings of sampling have no effect: the summary is what ``/v1/summaries`` gives.
"""

import json
import time
from collections.abc import AsyncIterator

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from dialogist.present import PresentedSummary
from dialogist.records import JSON
from dialogist.service.guards import announced_size, media_type, read_body, strict_json
from dialogist.service.openapi import CHAT
from dialogist.service.problems import Problem
from dialogist.service.requests import Options, build_request, dialogue_of_text
from dialogist.service.service import authorized, service_of, until_left

router = APIRouter(generate_unique_id_function=lambda route: route.name)


@router.post("/v1/chat/completions", openapi_extra=CHAT)
async def complete(request: Request) -> Response:
    """Answer a chat whose user sends a transcript with its summary."""
    await authorized(request, "summaries")
    service = service_of(request)
    settings, worker = service.settings, service.worker
    if media_type(request) != "application/json":
        raise Problem("unsupported_media_type", "send application/json")
    with worker.place(announced_size(request, settings.max_body)) as place:
        body = await read_body(request, settings.max_body, settings.receive_seconds)
        asked = await run_in_threadpool(strict_json, body, settings.max_depth)
        text = _transcript(asked)
        dialogue = await run_in_threadpool(dialogue_of_text, text, "")
        summary_request = build_request(dialogue, Options(), worker.model.options)
        place.fill(summary_request.size)
        async with until_left(request) as leaves:
            presented = await worker.summarize(summary_request, settings.deadline_seconds, leaves)
    shared: dict[str, JSON] = {
        "id": f"chatcmpl-{request.state.request_id}",
        "created": int(time.time()),
        "model": worker.model.name,
    }
    content = presented.summary.text or presented.summary.reason
    if isinstance(asked, dict) and asked.get("stream") is True:
        return StreamingResponse(_pieces(shared, content), media_type="text/event-stream")
    message: JSON = {"role": "assistant", "content": content}
    choice: JSON = {"index": 0, "message": message, "finish_reason": "stop"}
    whole = {**shared, "object": "chat.completion", "choices": [choice], "usage": _usage(presented)}
    return JSONResponse(whole)


def _transcript(asked: JSON) -> str:
    """The text of the user's messages.

    Raises:
        Problem: there is none, or several answers are wanted.
    """
    messages = asked.get("messages") if isinstance(asked, dict) else None
    if not isinstance(asked, dict) or not isinstance(messages, list):
        raise Problem("bad_request", "send an object with 'messages'")
    if asked.get("n", 1) not in (1, None):
        raise Problem("invalid_options", "n: there is one summary")
    contents = [
        one.get("content")
        for one in messages
        if isinstance(one, dict) and one.get("role") == "user"
    ]
    texts = [text for content in contents for text in _texts(content)]
    if not texts:
        raise Problem("bad_request", "no message of the role user has text")
    return "\n".join(texts)


def _texts(content: JSON) -> list[str]:
    """The texts of a message, which may be one text or a list of parts."""
    if isinstance(content, str):
        return [content]
    parts = content if isinstance(content, list) else []
    found = [part.get("text") for part in parts if isinstance(part, dict)]
    return [text for text in found if isinstance(text, str)]


def _usage(presented: PresentedSummary) -> JSON:
    read, written = presented.summary.coverage.tokens_read, len(presented.summary.text.split())
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}


async def _pieces(shared: dict[str, JSON], content: str) -> AsyncIterator[bytes]:
    for delta, reason in (({"role": "assistant", "content": content}, None), ({}, "stop")):
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        chunk = {**shared, "object": "chat.completion.chunk", "choices": [choice]}
        yield f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n".encode()
    yield b"data: [DONE]\n\n"
