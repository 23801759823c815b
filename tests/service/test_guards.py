"""What every request passes: size, encoding, depth, keys, rates, headers."""

import asyncio
import importlib
import json
import logging
import random
from pathlib import Path

import pytest
from tests.service.conftest import Slow, ask, asking, serving
from tests.service.test_api import JSON, TEXT, get, post

from dialogist.service import api, page
from dialogist.service.guards import strict_json
from dialogist.service.problems import Problem
from dialogist.service.prometheus import log_as_json

CANARY = "Zanzibarquux"
OPEN = {"/healthz", "/readyz", "/login", "/static/{name}"}


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b'{"utterances": [', "invalid_json"),
        (b'{"a": NaN}', "invalid_json"),
        (b'{"a": 1e400}', "invalid_json"),
        (b'{"a": ' + b"9" * 5000 + b"}", "invalid_json"),
        (b"[" * 100_000, "invalid_json"),
        (b"[" * 40 + b"]" * 40, "invalid_json"),
        (b'{"a": "\xff"}', "invalid_encoding"),
        (b'{"a": "\\u0000"}', "invalid_encoding"),
        (b'{"a": "\\ud800"}', "invalid_json"),
        (b'{"\\udfff": 1}', "invalid_json"),
        (b'{"a": "\x00"}', "invalid_encoding"),
    ],
)
def test_json_is_strict(body, code):
    with pytest.raises(Problem) as raised:
        strict_json(body, 32)
    assert raised.value.code == code


def test_sound_json_passes():
    assert strict_json('\ufeff{"a": ["ä", 1.5, null, "😀"]}'.encode(), 32) == {
        "a": ["ä", 1.5, None, "😀"]
    }


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        (JSON, b"x" * 2000, 413),
        (TEXT, b"", 422),
        (TEXT, b"PK\x03\x04\x14\x00", 400),
        (TEXT, b"\x1f\x8b\x08\x00", 400),
        ({"Content-Type": "application/xml"}, b"<a/>", 415),
        ({}, b"Ann: hi", 415),
        ({**JSON, "Content-Encoding": "gzip"}, b"{}", 415),
    ],
)
def test_bodies_that_cannot_be_read_are_refused(engine, headers, body, status):
    reply = post(engine, "/v1/summaries", body, headers, max_body=1024)
    assert reply.status_code == status
    assert reply.json()["status"] == status


def test_a_body_without_a_length_is_cut_off_at_the_limit(engine):
    sent = []

    async def endless():
        while True:
            sent.append(1)
            yield b"x" * 1000

    reply = post(engine, "/v1/summaries", endless(), JSON, max_body=10_000)
    assert reply.status_code == 413
    assert len(sent) < 15


def test_a_body_that_comes_too_slowly_is_refused(engine):
    async def slow():
        yield b"{"
        await asyncio.sleep(5)

    reply = post(engine, "/v1/summaries", slow(), JSON, receive_seconds=0.05)
    assert (reply.status_code, reply.json()["code"]) == (408, "slow_body")


def test_every_route_wants_a_key(engine):
    statuses = {}
    with (
        serving(engine) as service,
        service.blocking("") as client,
        service.blocking("dlg_no") as wrong,
    ):
        for route in (*api.router.routes, *page.router.routes):
            for method in getattr(route, "methods", None) or ():
                path = route.path.replace("{identity}", "0" * 16).replace("{action}", "undo")
                replies = [each.request(method, path) for each in (client, wrong)]
                statuses[method, path] = [reply.status_code for reply in replies]
    assert ("POST", "/v1/summaries") in statuses
    for (method, path), found in statuses.items():
        if path in OPEN:
            continue
        refused = 403 if path == "/logout" else 401  # a form of another site comes first
        assert found == [refused, refused], (method, path)


def test_a_key_has_a_rate(engine):
    [*allowed, last] = get(engine, *["/version"] * 6, rate_per_minute=5)
    assert [one.status_code for one in allowed] == [200] * 5
    assert (last.status_code, last.json()["code"]) == (429, "rate_limited")
    assert 1 <= int(last.headers["Retry-After"]) <= 12


def test_replies_have_an_id_and_headers_that_browsers_obey(engine):
    with asking(engine) as client:
        heads = {"X-Request-ID": "mine-1"}
        replies = [client.get(path, headers=heads) for path in ("/version", "/nowhere")]
    for reply in replies:
        assert reply.headers["X-Request-ID"] == "mine-1"
        assert reply.headers["Content-Security-Policy"].startswith("default-src 'none'")
        assert reply.headers["X-Content-Type-Options"] == "nosniff"
        assert "Access-Control-Allow-Origin" not in reply.headers
        assert "Server" not in reply.headers


PUBLIC = {"host": "0.0.0.0", "public_url": "https://team.example:8443/dialogist"}


@pytest.mark.parametrize(
    ("host", "settings", "status"),
    [
        ("localhost:8765", {}, 200),
        ("dialogist:8765", {}, 200),
        ("127.0.0.1", {}, 200),
        ("[::1]:8765", {}, 200),
        ("rebound.example", {}, 421),
        ("[", {}, 421),
        ("team.example", {"host": "0.0.0.0"}, 200),
        ("team.example:8443", PUBLIC, 200),
        ("10.0.0.7", PUBLIC, 200),
        ("team.example.rebound.example", PUBLIC, 421),
    ],
)
def test_a_browser_must_come_by_a_name_of_this_service(engine, host, settings, status):
    with serving(engine, **settings) as service:
        with service.blocking("", Host=host) as client:
            assert client.get("/healthz").status_code == status
            assert client.get("/login").status_code == status
        with service.blocking(Host=host) as client:  # whoever has a key is no page
            assert client.get("/v1/models").status_code == 200


@pytest.fixture
def _loggers():
    """They are as they were afterwards."""
    loggers = [logging.getLogger(name) for name in ("dialogist", "uvicorn", "asyncio")]
    before = [(logger, logger.handlers, logger.level, logger.propagate) for logger in loggers]
    yield
    for logger, handlers, level, propagate in before:
        logger.handlers, logger.propagate = handlers, propagate
        logger.setLevel(level)


@pytest.mark.usefixtures("_loggers")
def test_content_is_in_no_log_no_count_and_no_refusal(engine, capsys):
    log_as_json()
    said = {"speaker": CANARY, "text": f"My name is {CANARY}, and I will call {CANARY} today."}
    good = {"id": CANARY, "utterances": [said, said]}

    def broken(*_):
        raise ValueError(CANARY)

    with serving(engine, Slow()) as service, service.blocking() as client:
        ok = client.post("/v1/summaries", json=good)
        service.queue.summarizer.result = broken
        refused = [
            client.post("/v1/summaries", json={**good, "options": {CANARY: 1}}),
            client.post("/v1/summaries", json={CANARY: [CANARY]}),
            client.post("/v1/summaries", content=CANARY.encode() + b"\xff", headers=TEXT),
            client.post("/v1/summaries", content=b'{"a' + CANARY.encode(), headers=JSON),
            client.post("/v1/summaries", json={**good, "timeout_ms": CANARY}),
            client.get(f"/v1/batches/{CANARY}"),
            client.get(f"/{CANARY}?{CANARY}={CANARY}"),
            client.post("/v1/feedback", json={"verdict": CANARY, CANARY: CANARY}),
            client.post("/v1/summaries", json=good),
        ]
        counts = client.get("/metrics").text
    assert CANARY in ok.text
    assert [one.status_code >= 400 for one in refused] == [True] * len(refused)
    assert refused[-1].status_code == 500
    logged = capsys.readouterr().err
    assert '"event": "request"' in logged
    assert '"type": "ValueError"' in logged
    for text in (logged, counts, *(one.text for one in refused)):
        assert CANARY not in text
    for line in logged.splitlines():
        json.loads(line)


def test_mutated_requests_never_break_the_service(engine, monkeypatch):
    """Some hundred here; ``python bench/serve_fuzz.py`` sends more."""
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "bench"))
    fuzz = importlib.import_module("serve_fuzz").fuzz

    async def conversation(service):
        return await fuzz(service.app, service.key, 500, random.Random(7))

    statuses, longest = ask(engine, conversation)
    assert not [status for status in statuses if status >= 500 and status != 504]
    assert len(statuses) > 5
    assert longest < 4096
