"""A service in this process, asked through an ASGI client; no socket is opened."""

import asyncio
import inspect
import json
import os
import socket
import threading
import time
from contextlib import asynccontextmanager, contextmanager
from functools import partial

import httpx2
import pytest
import sqlalchemy as sa
import uvicorn
from anyio.from_thread import start_blocking_portal

from dialogist.records import Draft, WriterOutput
from dialogist.service import tables
from dialogist.service.keys import add_key
from dialogist.service.server import config_of, create_app
from dialogist.service.settings import Settings
from dialogist.service.tables import open_store
from dialogist.service.work_process import WorkProcess
from dialogist.summarizer import Summarizer


def stores():
    """SQLite always; PostgreSQL where DIALOGIST_TEST_POSTGRESQL names an empty database."""
    return ("sqlite", "postgresql") if os.environ.get("DIALOGIST_TEST_POSTGRESQL") else ("sqlite",)


@pytest.fixture(params=stores())
def engine(request, tmp_path):
    if request.param == "sqlite":
        store = open_store(f"sqlite:///{tmp_path / 'service.db'}")
    else:
        url = os.environ["DIALOGIST_TEST_POSTGRESQL"]
        bare = sa.create_engine(sa.make_url(url).set(drivername="postgresql+psycopg"))
        with bare.begin() as connection:
            connection.execute(sa.text("DROP SCHEMA public CASCADE"))
            connection.execute(sa.text("CREATE SCHEMA public"))
        bare.dispose()
        store = open_store(url)
    yield store
    store.dispose()


@pytest.fixture(scope="session", autouse=True)
def _forked():
    """Start what processes are forked from: that takes a second, and a test has its own time."""
    process = WorkProcess()
    process.call(os.getpid, 60)
    process.close()


class Service:
    """A running application, its store, and a key with all scopes."""

    def __init__(self, app, engine, key):
        self.app, self.engine, self.key = app, engine, key

    @property
    def queue(self):
        return self.app.state.service.queue

    @contextmanager
    def blocking(self, key=None, **headers):
        """The same without ``await``, where it is `serving`."""
        with self.portal.wrap_async_context_manager(self.client(key, **headers)) as client:
            yield BlockingClient(client, self.portal)

    def client(self, key=None, **headers):
        """A client with a key ("": without one)."""
        if key != "":
            headers["Authorization"] = f"Bearer {key or self.key}"
        transport = httpx2.ASGITransport(self.app, raise_app_exceptions=False)
        return httpx2.AsyncClient(transport=transport, base_url="http://localhost", headers=headers)


@asynccontextmanager
async def running(engine, writer="highlights", load=None, **settings):
    """Start a service on a store, and stop it."""
    chosen = Settings(**{"rate_per_minute": 100_000, **settings})
    app = create_app(chosen, engine, load or (lambda: Summarizer(writer)))
    async with app.router.lifespan_context(app):
        with engine.connect() as connection:
            count = connection.scalar(sa.select(sa.func.count()).select_from(tables.keys))
        yield Service(app, engine, add_key(engine, f"test {count}"))


def ask(engine, conversation, writer="highlights", load=None, **settings):
    """Run ``conversation(service)`` with a service on a store; ``load`` gives each summarizer."""

    async def all_of_it():
        async with running(engine, writer, load, **settings) as service:
            return await conversation(service)

    return asyncio.run(all_of_it())


class BlockingClient:
    """A client of a service in another thread, for tests that ask one thing after the other."""

    def __init__(self, client, portal):
        self._client, self._portal = client, portal

    def __getattr__(self, name):
        value = getattr(self._client, name)
        if not inspect.iscoroutinefunction(value):
            return value
        return lambda *given, **more: self._portal.call(partial(value, *given, **more))


@contextmanager
def serving(engine, writer="highlights", load=None, **settings):
    """A service whose clients need no ``await``."""
    with start_blocking_portal() as portal:
        started = running(engine, writer, load, **settings)
        with portal.wrap_async_context_manager(started) as service:
            service.portal = portal
            yield service


@contextmanager
def asking(engine, writer="highlights", load=None, **settings):
    """A client with all scopes of a service."""
    with serving(engine, writer, load, **settings) as service, service.blocking() as client:
        yield client


def wait_for(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


async def until(condition):
    await asyncio.to_thread(wait_for, condition)


def finished(client, path):
    """The status of a stored batch when it is done, and its results."""
    wait_for(lambda: client.get(path).json()["status"] == "done")
    lines = client.get(f"{path}/results").text.splitlines()
    return client.get(path).json(), [json.loads(line) for line in lines]


@contextmanager
def listening(engine, writer="highlights", **settings):
    """A service behind a real socket; its port."""
    chosen = Settings(**{"rate_per_minute": 100_000, **settings})
    app = create_app(chosen, engine, lambda: Summarizer(writer))
    server = uvicorn.Server(config_of(chosen, app))
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(500)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield listener.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join()


class Slow:
    """A writer that waits for ``go`` before each dialogue; ``begun`` has their ids."""

    name, licence, language, at_once = "slow", "", "", 1

    def __init__(self, is_open=True):
        self.go, self.begun = threading.Event(), []
        if is_open:
            self.go.set()

    def write(self, dialogue, form, options):
        self.begun.append(dialogue.id)
        assert self.go.wait(20)
        return WriterOutput((Draft(dialogue.utterances[0].text),))


class Says:
    """A writer that says the same of each dialogue."""

    name, licence, language, at_once = "says", "", "", 1

    def __init__(self, *drafts):
        self.drafts = drafts

    def write(self, dialogue, form, options):
        return WriterOutput(self.drafts)
