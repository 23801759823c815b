"""How the application runs as a server: its signals, time limits and threads."""

import asyncio
import sys

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from dialogist.serve.settings import Settings

_SWITCH = 0.001
"""Seconds after which the worker's thread lets the event loop answer; Python's own are 5 ms."""
_KEEP_ALIVE = 75
"""Seconds; longer than proxies and clients keep idle connections, which would else be reset."""
_LONGEST_HEAD = 32 << 10


class _Prompt(H11Protocol):
    """Closes a connection whose next request does not begin in time: uvicorn would wait for ever.

    The body has a time of its own (`guards.read_body`).
    """

    seconds = 15.0
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

    def _is_idle(self) -> bool:
        """Whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def _wait(self) -> None:
        self._waiting = self.loop.call_later(self.seconds, self._give_up)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _give_up(self) -> None:
        self._waiting = None
        if self._is_idle():
            self.transport.close()


def server_of(settings: Settings, app: FastAPI) -> uvicorn.Server:
    """Make the server of an application."""
    protocol = type("Prompt", (_Prompt,), {"seconds": settings.receive_seconds})
    config = uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        loop="asyncio",
        http=protocol,
        ws="none",
        access_log=False,
        log_config=None,
        server_header=False,
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=settings.drain_seconds,
        h11_max_incomplete_event_size=_LONGEST_HEAD,
    )
    return uvicorn.Server(config)


def run(settings: Settings, app: FastAPI) -> None:
    """Serve until SIGTERM or SIGINT; what was begun is finished first."""
    sys.setswitchinterval(_SWITCH)
    server_of(settings, app).run()
