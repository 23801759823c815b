"""Mutated requests against the service in this process, and schemathesis against a server.

Every reply must be ours: no 5xx but 503 and 504, no exception, and refusals that are short.

    python bench/serve_fuzz.py --count 100000 --examples 100 --results results/serve-fuzz.json
"""

import argparse
import asyncio
import json
import os
import random
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import uvicorn
from fastapi.routing import APIRoute

from dialogist.service import page
from dialogist.service.api import description
from dialogist.service.keys import add_key
from dialogist.service.server import config_of, create_app
from dialogist.service.settings import Settings
from dialogist.service.tables import open_store
from dialogist.summarizer import Summarizer

_FORM = b"application/x-www-form-urlencoded"
_MOST = 40  # ids that are known


def _routes() -> list[tuple[str, str, tuple[str, ...], bytes, bytes]]:
    """All routes: method, path, query, type and body; the page's with what its forms send."""
    found = []
    for path, methods in description()["paths"].items():
        for method, told in methods.items():
            named = told.get("parameters", ())
            query = tuple(one["name"] for one in named if one["in"] == "query")
            bodies = told.get("requestBody", {}).get("content", {"": {"example": ""}})
            for kind, content in bodies.items():
                given = content["example"]
                body = given if isinstance(given, str) else json.dumps(given)
                found.append((method.upper(), path, query, kind.encode(), body.encode()))
    talk = next(body for _, _, _, kind, body in found if kind == b"text/plain").decode()
    lines = next(body for _, _, _, kind, body in found if kind == b"application/json")
    found.append(("POST", "/v1/batches", ("length",), b"application/x-ndjson", lines))
    turns = [{"speaker": "Ann", "text": "I will call Bo."}]
    statement = {"text": "Ann calls Bo.", "verdict": "supported", "evidence": []}
    fields = {
        "text": talk,
        "key": "dlg_x",
        "verdict": "approved",
        "consent": "1",
        "to": "desk",
        "do": "preview",
        "after": "Ann calls Bo.",
        "dialogue": json.dumps({"utterances": turns}),
        "summary": json.dumps({"schema_version": 4, "text": "", "statements": [statement]}),
    }
    for route in page.router.routes:
        assert isinstance(route, APIRoute)
        for method in route.methods:
            body = urlencode(fields).encode() if method == "POST" else b""
            found.append((method, route.path, ("state", "after"), _FORM if body else b"", body))
    return found


_ROUTES = _routes()
_PARTS = {"name": ("call", "own"), "action": ("undo", "delete", "send")}
_VALUES = {"state": "open", "format": "csv", "since": "2026-01-01", "until": "2027-01-01T00:00:00Z"}
_PIECES = (
    *b'\0 \xff \xed\xa0\x80 NaN 1e999 - null %00 "\\ud800" "\\u0000" \xe2\x80\xae {{7*7}}'.split(
        b" "
    ),
    *(b"[" * 50, b"{" * 50, b"9" * 500, b"\xcc\x81" * 100, b"' OR 1=1 --"),
    *(b"../../etc/passwd", b"<script>alert(1)</script>"),
)
_CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,"
    "response_headers_conformance,response_schema_conformance,ignored_auth"
)
_EXPECTED = '[checks.not_a_server_error]\nexpected-statuses = ["2xx", "3xx", "4xx", "503", "504"]\n'
"""A client may set a deadline that is too short, or ask for more than there is room for."""
_NOWHERE = {"kind": "webhook", "url": "http://127.0.0.1:9", "secret": "FUZZ_SECRET"}
_SETTINGS: dict[str, Any] = {"rate_per_minute": 10_000_000, "destinations": {"desk": _NOWHERE}}
os.environ["FUZZ_SECRET"] = "whsec_" + "A" * 32
_METHODS = ("GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE", "FOO")


async def fuzz(app: Any, key: str, count: int, rng: random.Random) -> tuple[Counter[int], int]:
    """Send ``count`` mutated requests; how often each status came, and the longest refusal.

    The page's form is no refusal: it comes back with what was written, to be mended.
    """
    statuses: Counter[int] = Counter()
    longest, known = 0, deque(["0123456789abcdef"], maxlen=_MOST)
    for _ in range(count):
        request = _request(key, rng, known)
        status, body = await _send(app, request)
        statuses[status] += 1
        if status < 300:
            known += re.findall(r'"id": ?"([0-9a-f]{16})"', body.decode(errors="replace"))[:2]
        if status >= 500 and status not in (503, 504):
            print("failed:", request, flush=True)
        if status >= 400 and not body.startswith(b"<!"):
            longest = max(longest, len(body))
    return statuses, longest


def _request(
    key: str, rng: random.Random, known: Sequence[str]
) -> tuple[dict[str, Any], list[bytes]]:
    method, path, names, kind, body = rng.choice(_ROUTES)
    parts = {name: rng.choice(values) for name, values in _PARTS.items()}
    raw = path.format(identity=rng.choice(known), **parts).encode()
    asked = [f"{name}={_VALUES.get(name, '1')}" for name in names if rng.random() < 0.3]
    headers = [(b"authorization", f"Bearer {key}".encode()), (b"content-type", kind)]
    headers += [(b"host", b"localhost"), (b"sec-fetch-site", b"same-origin")]
    query = "&".join(asked).encode()
    for _ in range(rng.choice((0, 1, 1, 2, 4))):
        what = rng.random()
        if what < 0.6:
            body = _mutated(body, rng)
        elif what < 0.7:
            raw = b"/" + _mutated(raw[1:], rng).replace(b"\0", b"%00")
        elif what < 0.8:
            query = _mutated(query or b"id=x&timeout_ms=5", rng)
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


async def _mutated_requests(count: int, seed: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        engine = open_store(f"sqlite:///{Path(folder) / 'service.db'}")
        app = create_app(Settings(**_SETTINGS), engine, Summarizer)
        async with app.router.lifespan_context(app):
            key = add_key(engine, "fuzz")
            started = time.perf_counter()
            statuses, longest = await fuzz(app, key, count, random.Random(seed))
            seconds = time.perf_counter() - started
    failed = sum(n for status, n in statuses.items() if status >= 500 and status not in (503, 504))
    return {
        "requests": statuses.total(),
        "seed": seed,
        "seconds": round(seconds, 1),
        "statuses": {str(status): n for status, n in sorted(statuses.items())},
        "failed": failed,
        "longest_refusal_bytes": longest,
    }


def _described_requests(examples: int, seed: int) -> dict[str, Any]:
    """What schemathesis makes of the OpenAPI description, valid and not, against a real server."""
    with tempfile.TemporaryDirectory() as folder, socket.socket() as listener:
        engine = open_store(f"sqlite:///{Path(folder) / 'service.db'}")
        settings = Settings(**_SETTINGS)
        server = uvicorn.Server(config_of(settings, create_app(settings, engine, Summarizer)))
        listener.bind(("127.0.0.1", 0))
        listener.listen(500)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        (Path(folder) / "schemathesis.toml").write_text(_EXPECTED)
        address = f"http://127.0.0.1:{listener.getsockname()[1]}/openapi.json"
        words = ["--config-file", "schemathesis.toml", "run", address, "--seed", str(seed)]
        words += ["-H", f"Authorization: Bearer {add_key(engine, 'fuzz')}"]
        words += ["--max-examples", str(examples), "--checks", _CHECKS, "--mode", "all"]
        words += ["--no-color", "--request-timeout", "40"]
        program = str(Path(sys.executable).parent / "schemathesis")
        done = subprocess.run([program, *words], capture_output=True, text=True, cwd=folder)
        server.should_exit = True
        thread.join()
    if done.returncode:
        print(done.stdout[-6000:])
    generated = re.search(r"Test cases:\s*([^\n]+)", done.stdout)
    return {
        "examples": examples,
        "checks": _CHECKS.split(","),
        "exit_code": done.returncode,
        "cases": generated[1].strip() if generated else "",
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=10_000, help="mutated requests; 0: none")
    parser.add_argument("--examples", type=int, default=0, help="of schemathesis for each route")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--results", type=Path, help="JSON file; other figures in it stay")
    given = parser.parse_args()
    figures: dict[str, Any] = {}
    if given.count:
        figures["mutated"] = asyncio.run(_mutated_requests(given.count, given.seed))
    if given.examples:
        figures["described"] = _described_requests(given.examples, given.seed)
    print(json.dumps(figures))
    if given.results:
        known = json.loads(given.results.read_text())
        known["figures"] |= figures
        known["command"] = f"python {' '.join(sys.argv)}"
        given.results.write_text(json.dumps(known, indent=1) + "\n")
    failed = figures.get("mutated", {}).get("failed", 0)
    raise SystemExit(bool(failed or figures.get("described", {}).get("exit_code", 0)))
