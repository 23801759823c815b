"""What every request passes: its id, its body within limits, the headers of every reply.

A body is read within a size and a time, and must be strict UTF-8 and strict JSON: what Python's
parser lets through (NaN, lone surrogates, NUL) breaks replies, logs and databases later.
"""

import asyncio
import json
import re
import secrets
import time
from collections.abc import Callable
from typing import Any, NoReturn

from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dialogist.records import JSON
from dialogist.service.metrics import Metrics, log_access, log_failure
from dialogist.service.problems import Problem

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_SURROGATE = re.compile("[\ud800-\udfff]")
_WANT_A_PLACE = ("/v1/summaries", "/v1/summaries/stream", "/v1/chat/completions")
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


class Envelope:
    """The outermost layer: request ids, headers, counts, one log line, and no reply but ours.

    ``full`` says why no summary can be asked for now, if so. That is answered here, before route
    and key are looked up: it must cost next to nothing, and tells no more than ``/readyz`` does.
    """

    def __init__(
        self, app: ASGIApp, metrics: Metrics, full: Callable[[], Problem | None] = lambda: None
    ) -> None:
        self._app, self._metrics, self._full = app, metrics, full

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        state = scope.setdefault("state", {})
        state["request_id"] = request_id = _request_id(scope)
        started, status = time.perf_counter(), 0

        async def sealed(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in {**HEADERS, "X-Request-ID": request_id}.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        try:
            await self._app_or_refusal(scope)(scope, receive, sealed)
        except ClientDisconnect:
            status = status or 499
        except Exception as error:  # a bug of ours: one clean reply, the connection stays
            log_failure(error, request_id)
            if status == 0:
                await Problem("internal").response(request_id)(scope, receive, sealed)
        seconds = time.perf_counter() - started
        path = scope["path"] if scope["path"] in _WANT_A_PLACE else ""  # refused before routing
        route = str(getattr(scope.get("route"), "path", path))
        self._metrics.answered(route or "none", status, seconds)
        log_access(scope["method"], route, status, seconds, state)
        return None

    def _app_or_refusal(self, scope: Scope) -> ASGIApp:
        """The application, unless it is full, or would fail to decode the address."""
        wants_place = scope["method"] == "POST" and scope["path"] in _WANT_A_PLACE
        refusal = self._full() if wants_place else None
        if refusal is None and not scope["query_string"].isascii():
            refusal = Problem("bad_request", "write the query in ASCII, other bytes as %XX")
        return self._app if refusal is None else refusal.response(scope["state"]["request_id"])


def _request_id(scope: Scope) -> str:
    for name, value in scope["headers"]:
        if name == b"x-request-id" and _REQUEST_ID.fullmatch(value.decode("latin-1")):
            return str(value.decode("latin-1"))
    return secrets.token_hex(8)


def announced_size(request: Request, most: int) -> int:
    """The size of the body as announced; ``most`` where the client does not say.

    Raises:
        Problem: it is more than ``most``, or is packed.
    """
    if request.headers.get("content-encoding", "identity") != "identity":
        raise Problem("unsupported_media_type", "send the body without compression")
    length = request.headers.get("content-length", "")
    if not length.isascii() or not length.isdigit():
        return most
    if int(length[:20]) > most:
        _too_large(most)
    return int(length)


async def read_body(request: Request, most: int, seconds: float) -> bytes:
    """The body, read within a size and a time.

    Raises:
        Problem: it is larger than ``most`` bytes, or does not come within ``seconds``.
    """
    announced_size(request, most)
    pieces: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(seconds):
            async for piece in request.stream():
                size += len(piece)
                if size > most:
                    _too_large(most)
                pieces.append(piece)
    except TimeoutError:
        raise Problem("slow_body", f"send the body within {seconds:g} seconds") from None
    return b"".join(pieces)


def _too_large(most: int) -> NoReturn:
    raise Problem("body_too_large", f"send at most {most} bytes; longer input goes to /v1/batches")


def strict_text(data: bytes) -> str:
    """The text of UTF-8 bytes.

    Raises:
        Problem: they are not UTF-8, or hold NUL.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Problem("invalid_encoding", f"byte {error.start} is not UTF-8") from None
    if "\0" in text:
        raise Problem("invalid_encoding", "the text holds a NUL character")
    return text


def strict_json(data: bytes, depth: int) -> JSON:
    """The value of a JSON text.

    Raises:
        Problem: it is not JSON, or holds NaN, a lone surrogate, NUL, or more than ``depth`` levels.
    """
    text = strict_text(data)
    try:
        value = json.loads(text, parse_constant=_no_constant, parse_int=_number, parse_float=_real)
    except RecursionError:
        raise Problem("invalid_json", f"more than {depth} levels") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise Problem("invalid_json", f"cannot be read at {where}") from None
    _check(value, depth)
    found: JSON = value
    return found


def _no_constant(_: str) -> NoReturn:
    raise Problem("invalid_json", "NaN and Infinity are not JSON")


def _number(digits: str) -> int:
    if len(digits) > 300:
        raise Problem("invalid_json", "a number has more than 300 digits")
    return int(digits)


def _real(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise Problem("invalid_json", "a number is too large")
    return number


def _check(value: Any, depth: int) -> None:
    """Look through a value level by level, without recursion."""
    level = [value]
    for _ in range(depth):
        inner: list[Any] = []
        for one in level:
            if isinstance(one, str):
                _check_text(one)
            elif isinstance(one, list):
                inner += one
            elif isinstance(one, dict):
                inner += [*one, *one.values()]
        if not inner:
            return
        level = inner
    raise Problem("invalid_json", f"more than {depth} levels")


def _check_text(text: str) -> None:
    if "\0" in text:
        raise Problem("invalid_encoding", "a text holds a NUL character")
    if not text.isascii() and _SURROGATE.search(text):
        raise Problem("invalid_encoding", "a text holds half of a surrogate pair")


def media_type(request: Request) -> str:
    """The type of the body, without its parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def query_of(request: Request, known: Callable[[str], bool]) -> dict[str, str]:
    """The query parameters, each given once.

    Raises:
        Problem: one is unknown, given twice, or is not clean text.
    """
    found: dict[str, str] = {}
    for name, value in request.query_params.multi_items():
        if not known(name):
            message = "an unknown query parameter; with a JSON body, options stand in its 'options'"
            raise Problem("invalid_options", message)
        if name in found:
            raise Problem("invalid_options", f"{name} is given twice")
        if "\0" in value or "\ufffd" in value or _SURROGATE.search(value):
            raise Problem("invalid_encoding", f"{name} is not clean UTF-8 text")
        found[name] = value
    return found
