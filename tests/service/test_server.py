"""Connections: slow clients, broken requests, clients that leave."""

import asyncio
import contextlib
import json
import socket
import time

import httpx2
import pytest
from tests.service.conftest import listening
from tests.service.test_api import CALL, JSON

from dialogist.service.keys import add_key
from dialogist.service.server import listen_at
from dialogist.service.settings import Settings


def connect(port, sent):
    connection = socket.create_connection(("127.0.0.1", port))
    connection.settimeout(5)
    with contextlib.suppress(ConnectionError):  # it may be refused before all is sent
        connection.sendall(sent)
    return connection


def reply_of(connection):
    """A whole reply of JSON: its head and body may come apart."""
    got = b""
    while not got.endswith(b"}"):
        got += connection.recv(4000)
    return got


def test_half_open_connections_are_closed_and_disturb_nobody(engine):
    with listening(engine, receive_seconds=0.5) as port:
        key = add_key(engine, "desk")
        started = time.monotonic()
        heads = (b"", b"POST /v1/summaries HTTP/1.1\r\nHost: x\r\n")
        slow = [connect(port, heads[n % 2]) for n in range(50)]
        headers = {"Authorization": f"Bearer {key}"}
        address = f"http://127.0.0.1:{port}/v1/summaries"
        assert httpx2.post(address, json=CALL, headers=headers).status_code == 200
        for connection in slow:
            assert connection.recv(100) == b""
            connection.close()
        assert 0.4 < time.monotonic() - started < 20


def test_a_connection_may_be_idle_between_requests(engine):
    with listening(engine, receive_seconds=0.2) as port:
        request = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
        with connect(port, request) as connection:
            assert reply_of(connection).startswith(b"HTTP/1.1 200")
            time.sleep(0.4)
            connection.sendall(request[:20])
            time.sleep(0.05)
            connection.sendall(request[20:])
            assert reply_of(connection).startswith(b"HTTP/1.1 200")
            connection.sendall(request[:20])
            assert connection.recv(4000) == b""


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GARBAGE\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nHost: x\r\nA: " + b"a" * 3_000_000 + b"\r\n\r\n", b"400"),
        (
            b"POST /v1/summaries HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /readyz HTTP/1.1\r\nHost: x\r\n\r\n",
            b"401",
        ),
        (b"GET /\xff?\xfe HTTP/1.1\r\nHost: x\r\n\r\n", b"400"),
        (b"GET /%ff%00 HTTP/1.1\r\nHost: x\r\n\r\n", b"404"),
    ],
)
def test_broken_requests_get_a_clean_reply(engine, sent, status):
    with listening(engine) as port:
        with connect(port, sent) as connection:
            assert connection.recv(4000).split()[1] == status
        assert httpx2.get(f"http://127.0.0.1:{port}/healthz").status_code == 200


def test_a_request_whose_end_is_ambiguous_is_the_last_one(engine):
    sent = (
        b"POST /v1/summaries HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    )
    with listening(engine) as port, connect(port, sent + b"GET /healthz HTTP/1.1\r\n\r\n") as one:
        got = b""
        while piece := one.recv(4000):  # closed, not idle
            got += piece
    assert got.count(b"HTTP/1.1") == 1
    assert b"connection: close" in got.lower()


def test_a_client_that_leaves_gives_its_place_back(engine):
    with listening(engine) as port:
        key = add_key(engine, "desk")
        body = json.dumps(CALL).encode()
        head = (
            f"POST /v1/summaries HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n"
            f"Content-Type: {JSON['Content-Type']}\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        for _ in range(20):
            connect(port, head.encode() + body).close()
        connect(port, head.encode() + body[:10]).close()
        headers = {"Authorization": f"Bearer {key}"}
        for _ in range(100):
            text = httpx2.get(f"http://127.0.0.1:{port}/metrics", headers=headers).text
            if "dialogist_queue_depth 0.0" in text:
                break
            time.sleep(0.05)
        assert "dialogist_queue_depth 0.0" in text
        assert 'code="500"' not in text


def test_a_reply_does_not_wait_for_the_acknowledgement_of_its_head():
    """Nagle's wait is off: with it, a reply whose body follows its head takes 40 ms more."""

    async def no_delay():
        accepted = asyncio.get_running_loop().create_future()

        async def accept(reader, writer):
            found = writer.get_extra_info("socket")
            accepted.set_result(found.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        listener = listen_at(Settings(port=0))
        async with await asyncio.start_server(accept, sock=listener):
            _, writer = await asyncio.open_connection(*listener.getsockname())
            found = await accepted
            writer.close()
            return found

    assert asyncio.run(no_delay())


def test_who_comes_while_it_starts_is_not_turned_away():
    with listen_at(Settings(port=0)) as listener:
        socket.create_connection(listener.getsockname()).close()
