"""Mutated requests against the service, in one process, without a socket.

Every reply must be ours: no 5xx but 503 and 504, no exception, and refusals that are short.

    python bench/serve_fuzz.py --count 10000
"""

import argparse
import asyncio
import json
import random
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from dialogist.engine.summarizer import Summarizer
from dialogist.serve.app import create_app
from dialogist.serve.keys import add_key
from dialogist.serve.openapi import EXAMPLE, TRANSCRIPT
from dialogist.serve.settings import Settings
from dialogist.serve.tables import open_store

_GOOD = json.dumps({**EXAMPLE, "options": {"style": "faithful"}}).encode()
_BATCH = json.dumps({"dialogues": [EXAMPLE], "options": {"style": "faithful"}}).encode()
_CHAT = json.dumps({"messages": [{"role": "user", "content": TRANSCRIPT}]}).encode()
_FEEDBACK = b'{"verdict": "edited", "edits": {"kept": 2}, "consent": true}'
_ROUTES = (
    ("POST", "/v1/summaries", b"application/json", _GOOD),
    ("POST", "/v1/summaries", b"text/plain", TRANSCRIPT.encode()),
    ("POST", "/v1/summaries/stream", b"application/json", _GOOD),
    ("POST", "/v1/chat/completions", b"application/json", _CHAT),
    ("POST", "/v1/batches", b"application/json", _BATCH),
    ("POST", "/v1/batches", b"application/x-ndjson", _GOOD),
    ("POST", "/v1/feedback", b"application/json", _FEEDBACK),
    ("GET", "/v1/batches/0123456789abcdef", b"", b""),
    ("GET", "/v1/reviews/0123456789abcdef", b"", b""),
    ("DELETE", "/v1/batches/0123456789abcdef", b"", b""),
    ("GET", "/openapi.json", b"", b""),
    ("POST", "/", b"application/x-www-form-urlencoded", b"text=Ann%3A+hi"),
    ("POST", "/login", b"application/x-www-form-urlencoded", b"key=dlg_x"),
    ("GET", "/reviews", b"", b""),
)
_PIECES = (
    b"\0",
    b"\xff",
    b"\xed\xa0\x80",
    b"NaN",
    b"1e999",
    b"-",
    b"[" * 50,
    b"{" * 50,
    b'"\\ud800"',
    b'"\\u0000"',
    b"null",
    b"\xe2\x80\xae",
    b"\xcc\x81" * 100,
    b"9" * 500,
    b"../../etc/passwd",
    b"%00",
    b"<script>alert(1)</script>",
    b"{{7*7}}",
    b"' OR 1=1 --",
)
_METHODS = ("GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE", "FOO")


async def fuzz(app: Any, key: str, count: int, rng: random.Random) -> tuple[Counter[int], int]:
    """Send ``count`` mutated requests; how often each status came, and the longest refusal."""
    statuses: Counter[int] = Counter()
    longest = 0
    for _ in range(count):
        status, body = await _send(app, _request(key, rng))
        statuses[status] += 1
        if status >= 400:
            longest = max(longest, len(body))
    return statuses, longest


def _request(key: str, rng: random.Random) -> tuple[dict[str, Any], list[bytes]]:
    method, path, kind, body = rng.choice(_ROUTES)
    raw = path.encode()
    headers = [(b"authorization", f"Bearer {key}".encode()), (b"content-type", kind)]
    headers += [(b"host", b"localhost"), (b"sec-fetch-site", b"same-origin")]
    query = b""
    for _ in range(rng.choice((0, 1, 1, 2, 4))):
        what = rng.random()
        if what < 0.6:
            body = _mutated(body, rng)
        elif what < 0.7:
            raw = b"/" + _mutated(raw[1:], rng).replace(b"\0", b"%00")
        elif what < 0.8:
            query = _mutated(b"style=faithful&id=x&timeout_ms=5&review=1", rng)
        elif what < 0.9:
            headers.append((b"idempotency-key", _mutated(b"abc", rng)))
        elif what < 0.95:
            method = rng.choice(_METHODS)
        else:
            headers[1] = (b"content-type", _mutated(kind, rng))
    if rng.random() < 0.8:
        headers.append((b"content-length", str(len(body)).encode()))
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": raw.decode("utf-8", "replace"),
        "raw_path": raw,
        "query_string": query,
        "headers": headers,
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
        "root_path": "",
    }
    cut = rng.randrange(len(body) + 1)
    return scope, [body[:cut], body[cut:]]


def _mutated(data: bytes, rng: random.Random) -> bytes:
    start = rng.randrange(len(data) + 1)
    end = min(len(data), start + rng.choice((0, 0, 1, 5, 40)))
    other = rng.choice((*_PIECES, data, bytes(rng.randrange(256) for _ in range(4))))
    return data[:start] + other + data[end:]


async def _send(app: Any, request: tuple[dict[str, Any], list[bytes]]) -> tuple[int, bytes]:
    scope, pieces = request
    waiting = [
        {"type": "http.request", "body": piece, "more_body": number + 1 < len(pieces)}
        for number, piece in enumerate(pieces)
    ]
    status, got = 0, b""

    async def receive() -> dict[str, Any]:
        if waiting:
            return waiting.pop(0)
        await asyncio.sleep(3600)
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        nonlocal status, got
        status = message.get("status", status)
        got += message.get("body", b"")

    await app(scope, receive, send)
    return status, got


def _resident() -> int:
    """MiB of memory that this process holds."""
    text = Path("/proc/self/status").read_text()
    return int(text.split("VmRSS:")[1].split()[0]) >> 10


async def _main(count: int, seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        engine = open_store(f"sqlite:///{Path(folder) / 'service.db'}")
        app = create_app(Settings(rate_per_minute=10_000_000), engine, Summarizer.load)
        async with app.router.lifespan_context(app):
            key = add_key(engine, "fuzz")
            await fuzz(app, key, 200, random.Random(seed + 1))  # what is loaded once is loaded
            before = _resident()
            started = time.perf_counter()
            statuses, longest = await fuzz(app, key, count, random.Random(seed))
            seconds = time.perf_counter() - started
            grown = _resident() - before
    print(f"{count} requests in {seconds:.1f} s, memory {before} MiB before, {grown:+} MiB after")
    print("statuses:", dict(sorted(statuses.items())), "longest refusal:", longest, "bytes")
    failed = sum(n for status, n in statuses.items() if status >= 500 and status != 504)
    print("5xx:", failed)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    asyncio.run(_main(given.count, given.seed))
