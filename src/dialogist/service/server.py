"""How the application runs as a server: its signals, time limits and threads."""

import asyncio
import os
import secrets
import signal
import socket
import tempfile
from collections.abc import Callable
from functools import partial
from http import HTTPStatus

import h11
import uvicorn
from fastapi import FastAPI
from prometheus_client.multiprocess import mark_process_dead
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.supervisors import Multiprocess

from dialogist.errors import DialogistError, UsageError
from dialogist.service.app import create_app
from dialogist.service.crashes import CrashLog
from dialogist.service.guards import HEADERS
from dialogist.service.metrics import SHARED, log_as_json
from dialogist.service.model_process import ModelProcess
from dialogist.service.problems import Problem
from dialogist.service.settings import Settings
from dialogist.service.tables import open_store

_KEEP_ALIVE = 75
"""Seconds; longer than proxies and clients keep idle connections, which would else be reset."""
_LONGEST_HEAD = 32 << 10
_HUNG = 60
"""Seconds without an answer after which a process is replaced."""


class _Prompt(H11Protocol):
    """Closes a connection whose next request does not begin in time: uvicorn would wait for ever.

    The body has a time of its own (`guards.read_body`).
    """

    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        if self._waiting is None and self._is_idle():
            self._wait()
        super().data_received(data)
        if not self._is_idle():
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP as anything else is refused; uvicorn would repeat its parser."""
        problem = Problem("bad_request", "the request is not HTTP/1.1, or its head is too long")
        reply = problem.response(secrets.token_hex(8))
        fields = {**HEADERS, **reply.headers, "Connection": "close"}
        headers = [(name.encode(), value.encode()) for name, value in fields.items()]
        reason = HTTPStatus.BAD_REQUEST.phrase.encode()
        for event in (
            h11.Response(status_code=problem.status, headers=headers, reason=reason),
            h11.Data(data=bytes(reply.body)),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _is_idle(self) -> bool:
        """Whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def _wait(self) -> None:
        assert isinstance(self.config, _Config)
        self._waiting = self.loop.call_later(self.config.receive_seconds, self._give_up)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _give_up(self) -> None:
        self._waiting = None
        if self._is_idle():
            self.transport.close()


class _Config(uvicorn.Config):
    """The server's configuration, and how long a client may take to begin a request."""

    receive_seconds = 15.0


class _Processes(Multiprocess):
    """Several processes on one socket; one that dies or hangs is replaced."""

    def handle_hup(self) -> None:
        """Have each process reload its model."""
        for process in self.processes:
            if process.pid is not None:
                os.kill(process.pid, signal.SIGHUP)

    def keep_subprocess_alive(self) -> None:
        """Forget the figures of processes that died, and start others."""
        before = {process.pid for process in self.processes}
        super().keep_subprocess_alive()
        for pid in before - {process.pid for process in self.processes}:
            mark_process_dead(pid)  # type: ignore[no-untyped-call]


def config_of(settings: Settings, app: FastAPI | Callable[[], FastAPI]) -> _Config:
    """How the server runs an application, or one that a function makes in each process."""
    config = _Config(
        app,
        factory=not isinstance(app, FastAPI),
        host=settings.host,
        port=settings.port,
        workers=settings.workers,
        loop="asyncio",
        http=_Prompt,
        ws="none",
        access_log=False,
        log_config=None,
        server_header=False,
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=settings.drain_seconds,
        timeout_worker_healthcheck=_HUNG,
        h11_max_incomplete_event_size=_LONGEST_HEAD,
    )
    config.receive_seconds = settings.receive_seconds
    return config


def listen_at(settings: Settings) -> socket.socket:
    """A socket at the address of the service, which nobody else can have from now on.

    Raises:
        UsageError: another program has it, or it is none of this machine.
    """
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # asyncio turns Nagle's wait off only where a socket names its protocol: 40 ms for each reply.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
    except OSError as error:
        listener.close()
        where = f"--host {settings.host} --port {settings.port}"
        raise UsageError(f"{where}: cannot listen there: {error.strerror}") from None
    listener.set_inheritable(True)
    return listener


def run(settings: Settings, make: Callable[[], FastAPI], listener: socket.socket) -> None:
    """Serve until SIGTERM or SIGINT; what was begun is finished first.

    ``make`` makes the application, in each process anew where there are several.

    Raises:
        DialogistError: the application did not start; its log says why.
    """
    log_as_json()
    if settings.workers == 1:
        server = uvicorn.Server(config_of(settings, make()))
        # Once drained, uvicorn sends itself the signal again; to have drained is no failure.
        signal.signal(signal.SIGTERM, lambda *_: None)
        server.run([listener])
        if not server.started:
            raise DialogistError("the service did not start: its last log line says why")
        return
    with tempfile.TemporaryDirectory(prefix="dialogist-") as folder:
        os.environ[SHARED] = folder  # read when a process imports prometheus_client
        _Processes(config_of(settings, make), [listener]).run()


def app_of(settings: Settings) -> FastAPI:
    """The application as it runs in a process of its own."""
    log_as_json()  # here, too, in a process that was started for it
    load = partial(ModelProcess, settings.model, settings.stall_seconds)
    crashes = CrashLog(settings.crash_folder)
    with_network = partial(load, with_network=True)
    return create_app(settings, open_store(settings.store_url), load, crashes, with_network)
