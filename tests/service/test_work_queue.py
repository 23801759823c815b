"""The queue: limits, deadlines, clients that leave, draining, reloading."""

import asyncio
import re
import time
from functools import partial

import pytest
from tests.service.conftest import Slow, ask, asking, finished, serving, until
from tests.service.test_api import CALL

from dialogist.errors import ModelError
from dialogist.service.server import reload_writer
from dialogist.summarizer import Summarizer


def post(client, body=CALL, **headers):
    return client.post("/v1/summaries", json=body, headers=headers)


@pytest.mark.parametrize(
    "limit", [{"queue_requests": 2}, {"queue_bytes": 1024}, {"queue_seconds": 2}]
)
def test_what_is_too_much_is_refused_before_it_is_read(engine, limit):
    """And what was taken is answered; then there is room again."""
    writer = Slow(is_open=False)
    big = {**CALL, "metadata": {"x": "y" * 100}}

    async def conversation(service):
        service.queue.lane(1).cost = 1.5
        async with service.client() as client:
            taken = [asyncio.create_task(post(client, big)) for _ in range(2)]
            await until(lambda: service.queue._requests == 2)
            refused = await post(client, big)
            ready = await client.get("/readyz")
            writer.go.set()
            return refused, ready, await asyncio.gather(*taken), await post(client)

    refused, ready, taken, after = ask(engine, conversation, writer, **limit)
    assert (refused.status_code, refused.json()["code"]) == (503, "queue_full")
    assert int(refused.headers["Retry-After"]) >= 1
    assert [reply.status_code for reply in (*taken, after)] == [200] * 3
    assert ready.status_code == (503 if "queue_requests" in limit else 200)


def test_a_deadline_is_told_and_its_dialogue_is_not_begun(engine):
    writer = Slow(is_open=False)

    async def conversation(service):
        service.queue.lane(1).process.start()
        async with service.client() as client:
            first = asyncio.create_task(post(client))
            await until(lambda: writer.begun)
            late = await post(client, {**CALL, "id": "late"})
            writer.go.set()
            return late, await first, await post(client, {**CALL, "timeout_ms": 5000})

    late, first, after = ask(engine, conversation, writer, deadline_seconds=2)
    assert (late.status_code, late.json()["code"]) == (504, "deadline")
    assert first.status_code == 504
    assert after.status_code == 200
    assert "late" not in writer.begun


def test_a_request_may_have_a_shorter_deadline(engine):
    writer = Slow(is_open=False)

    with serving(engine, writer) as service, service.blocking() as client:
        service.queue.lane(1).process.start()
        started = time.monotonic()
        late = post(client, {**CALL, "timeout_ms": 50})
        took = time.monotonic() - started
        writer.go.set()
    assert (late.status_code, took < 10) == (504, True)


def test_many_dialogues_at_a_time_where_the_writer_takes_them(engine):
    writer = Slow(is_open=False)
    writer.at_once = 4

    async def conversation(service):
        async with service.client() as client:
            asked = [asyncio.create_task(post(client)) for _ in range(4)]
            await until(lambda: len(writer.begun) == 4)
            writer.go.set()
            return await asyncio.gather(*asked)

    assert [reply.status_code for reply in ask(engine, conversation, writer)] == [200] * 4


def test_a_writer_that_cannot_write_is_told_and_its_batch_waits(engine):
    class Away(Slow):
        def write(self, dialogue, form, options):
            if not self.go.is_set():
                raise ModelError("nobody listens at secret.example")
            return super().write(dialogue, form, options)

    writer = Away(is_open=False)

    with asking(engine, writer) as client:
        refused = post(client)
        batch = client.post("/v1/batches", json={"dialogues": [CALL]})
        time.sleep(0.3)
        waits = client.get(batch.headers["Location"]).json()
        writer.go.set()
        done, _ = finished(client, batch.headers["Location"])
    assert (refused.status_code, refused.json()["code"]) == (503, "writer_unavailable")
    assert "secret" not in refused.text
    assert (waits["status"], done["done"]) == ("queued", 1)


def test_what_was_taken_is_finished_when_the_service_stops(engine):
    writer = Slow(is_open=False)

    async def conversation(service):
        async with service.client() as client:
            taken = asyncio.create_task(post(client))
            await until(lambda: writer.begun)
            service.queue.drain()
            refused, ready = await post(client), await client.get("/readyz")
            writer.go.set()
            return refused, ready, await taken

    refused, ready, taken = ask(engine, conversation, writer)
    assert (refused.status_code, refused.json()["code"]) == (503, "draining")
    assert (ready.status_code, taken.status_code) == (503, 200)


def test_a_writer_is_loaded_anew_and_one_that_fails_is_not_used(engine):
    names = iter(("first", "second", "broken"))

    class Named(Slow):
        def __init__(self):
            super().__init__()
            self.name = next(names)

        def write(self, dialogue, form, options):
            if self.name == "broken":
                raise ValueError
            return super().write(dialogue, form, options)

    def load():
        return Summarizer(Named())

    with serving(engine, load=load) as service, service.blocking() as client:
        writers = []
        for _ in range(3):
            writers.append(post(client).json()["writer"])
            service.portal.call(reload_writer, service.queue, load)
        assert [*writers, post(client).json()["writer"]] == ["first", "second", "second", "second"]


def test_who_has_waited_too_long_is_refused_in_time(engine):
    """``queue_seconds`` holds, whatever the wait was thought to be."""
    writer = Slow(is_open=False)

    async def conversation(service):
        async with service.client() as client:
            first = asyncio.create_task(post(client))
            await until(lambda: writer.begun)
            began = time.monotonic()
            late = await post(client, {**CALL, "id": "late"})
            took = time.monotonic() - began
            writer.go.set()
            return late, took, await first

    late, took, first = ask(engine, conversation, writer, queue_seconds=0.3)
    assert (late.status_code, late.json()["code"]) == (503, "queue_full")
    assert 0.2 < took < 10
    assert "Retry-After" in late.headers
    assert first.status_code == 200
    assert "late" not in writer.begun


def test_work_that_never_ends_is_ended_and_holds_up_nobody(engine):
    """A pattern that backtracks keeps all threads of its process waiting; short or long."""
    endless = partial(re.match, "(a*)*b", "a" * 40)

    async def conversation(service):
        lanes = [service.queue.lane(1), service.queue.lane()]
        for lane in lanes:
            lane.process.start()
        enough, service.queue.deadline = service.queue.deadline, 3
        hung = [asyncio.create_task(service.queue.summarize(endless, lane)) for lane in lanes]
        await asyncio.sleep(0)
        service.queue.deadline = enough  # a slow machine may take its time to begin a process
        async with service.client() as client:
            reply = await post(client)
        return reply, await asyncio.gather(*hung, return_exceptions=True)

    reply, problems = ask(engine, conversation)
    assert reply.status_code == 200
    assert [problem.code for problem in problems] == ["deadline"] * 2


def test_a_process_that_is_killed_costs_nothing(engine):
    async def conversation(service):
        async with service.client() as client:
            replies = [await post(client)]
            for _ in range(2):
                service.queue.lane(1).process._process.kill()
                replies.append(await post(client))
            return replies

    assert [reply.status_code for reply in ask(engine, conversation)] == [200] * 3
