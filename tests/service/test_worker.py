"""The worker: what is taken, refused, grouped, given up, tried again."""

import asyncio
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from dataclasses import replace
from functools import partial

import pytest
from tests.service.conftest import ask
from tests.service.test_api import CALL

from dialogist.decoding import check_stopped
from dialogist.errors import ModelError
from dialogist.model_folder.options import SummaryOptions
from dialogist.records import Summary
from dialogist.service.crashes import CrashLog
from dialogist.service.metrics import Metrics
from dialogist.service.problems import Problem
from dialogist.service.requests import Options, build_request, dialogue_of
from dialogist.service.settings import Settings
from dialogist.service.worker import Worker, _mark_of

BASE = SummaryOptions(style="faithful")


class Slow:
    """A model that waits until it is told to go on, and fails on some words."""

    name = "slow"
    options = BASE

    def __init__(self, is_open=True):
        self.go = threading.Event()
        self.batches = []
        self.windows = []
        self.begun = []
        if is_open:
            self.go.set()

    def stream(self, dialogues, options, window=64):
        self.windows.append(window)
        self.batches.append([])
        for dialogue in dialogues:
            self.batches[-1].append(dialogue.id)
            self.begun.append(dialogue.id)
            self.go.wait(5)
            if "crash" in dialogue.id:
                raise MemoryError
            status = "error" if "bad" in dialogue.id else "ok"
            yield Summary("It was said.", dialogue.id, status)


def wish(identity, size=10, **options):
    return replace(
        build_request(dialogue_of({**CALL, "id": identity}), Options(**options), BASE), size=size
    )


def work(conversation, model=None, crashes=None, make=Worker, **settings):
    """Run ``conversation(worker)``."""
    model = model or Slow()
    worker = make(model, Settings(**settings), Metrics("slow"), crashes)

    async def all_of_it():
        worker.start()
        try:
            return await conversation(worker)
        finally:
            model.go.set()
            await asyncio.to_thread(worker.close, 30)

    return asyncio.run(all_of_it())


async def code_of(waiting):
    try:
        await waiting
    except Problem as problem:
        return problem.code
    return "done"


def test_requests_of_like_options_are_worked_on_together():
    model = Slow(is_open=False)

    async def conversation(worker):
        first = asyncio.create_task(worker.summarize(wish("0"), 5))
        while not model.begun:
            await asyncio.sleep(0.001)
        others = [worker.summarize(wish(str(n), size=n), 5) for n in (1, 2, 3)]
        others += [worker.summarize(wish("short", length="short"), 4)]
        waiting = [asyncio.create_task(one) for one in others]
        await asyncio.sleep(0.01)
        model.go.set()
        return [one.summary.id for one in await asyncio.gather(first, *waiting)]

    assert work(conversation, model, batch_wait=0) == ["0", "1", "2", "3", "short"]
    assert model.batches == [["0"], ["short"], ["1", "2", "3"]]


def test_a_batch_has_a_size():
    model = Slow()

    async def conversation(worker):
        wishes = [wish(str(n), style="free") for n in range(7)]
        await asyncio.gather(*(worker.summarize(one, 5) for one in wishes))

    work(conversation, model, batch_requests=3, batch_wait=0.2)
    assert [len(batch) for batch in model.batches] == [3, 3, 1]


def test_without_a_network_no_other_request_is_waited_for():
    async def conversation(worker):
        started = time.monotonic()
        await worker.summarize(wish("alone"), 5)
        return time.monotonic() - started

    assert work(conversation, batch_wait=0.5) < 0.3


def test_a_network_is_loaded_beside_the_work():
    """Faithful requests are answered meanwhile; a network that cannot be loaded is told."""
    plain, networked, go = Slow(), Slow(), threading.Event()

    def load():
        go.wait(5)
        if not loads:
            raise ModelError("it is damaged")
        return loads.pop()

    async def conversation(worker):
        found = []
        for _ in range(2):
            go.clear()
            free = [worker.summarize(wish(f"free {n}", style="free"), 5) for n in range(2)]
            free = [asyncio.create_task(code_of(one)) for one in free]
            found += [await code_of(worker.summarize(wish(str(n)), 5)) for n in range(3)]
            assert not any(one.done() for one in free)
            go.set()
            found += await asyncio.gather(*free)
            worker.replace(plain)  # as on SIGHUP
        return found

    loads = [networked]
    worker = partial(Worker, load_network=load)
    found = work(conversation, plain, make=worker)
    assert found == [*["done"] * 8, "invalid_options", "invalid_options"]
    assert plain.begun == ["0", "1", "2"] * 2
    assert sorted(networked.begun) == ["free 0", "free 1"]


def test_places_are_bounded_by_requests_and_bytes():
    async def conversation(worker):
        with worker.place(10), worker.place(1000):
            assert not worker.is_ready
            with pytest.raises(Problem) as refused, worker.place(10):
                pass
        with worker.place(1000), pytest.raises(Problem) as too_large, worker.place(100):
            pass
        with worker.place(10_000):  # alone it is taken: it could never be answered else
            pass
        assert worker.is_ready
        return refused.value, too_large.value

    for problem in work(conversation, queue_requests=2, queue_bytes=1024):
        assert (problem.code, problem.status) == ("queue_full", 503)
        assert problem.retry_after > 0


def test_places_are_bounded_by_tokens():
    """Before it is read a request counts as a token for each four bytes."""

    async def conversation(worker):
        with worker.place(400), pytest.raises(Problem) as announced, worker.place(104):
            pass
        with worker.place(200) as first, worker.place(200) as second:
            first.fill(70)
            second.fill(40)
            with pytest.raises(Problem) as counted:
                second.fill(56)
        with worker.place(400) as place:
            place.fill(1000)  # alone it is taken
        with worker.place(400), worker.place(100):
            pass
        return announced.value, counted.value

    for problem in work(conversation, queue_tokens=125):
        assert problem.code == "queue_full"


class Writing(Slow):
    """A model that writes for ever, step by step."""

    def __init__(self):
        super().__init__()
        self.steps = 0

    def stream(self, dialogues, options, window=64):
        for dialogue in list(dialogues):
            self.begun.append(dialogue.id)
            while dialogue.id != "last":
                check_stopped()
                self.steps += 1
                time.sleep(0.001)
            yield Summary("It was said.", dialogue.id)


@pytest.mark.parametrize("why", ["client_closed", "deadline"])
def test_a_network_stops_at_the_next_step_when_nobody_waits(why):
    model = Writing()

    async def conversation(worker):
        seconds = 5 if why == "client_closed" else 0.05
        gone = asyncio.Event()
        leaves = asyncio.create_task(gone.wait())
        asked = asyncio.create_task(code_of(worker.summarize(wish("a"), seconds, leaves)))
        while not model.steps:
            await asyncio.sleep(0.001)
        if why == "client_closed":
            gone.set()
        found, steps = await asked, model.steps
        await worker.summarize(wish("last"), 5)
        return found, model.steps - steps

    found, more = work(conversation, model, batch_wait=0)
    assert found == why
    assert more <= 2  # the one that was begun, and the loop's way to tell


def test_a_network_goes_on_while_one_of_a_batch_waits():
    model = Writing()

    async def conversation(worker):
        gone = asyncio.Event()
        leaves = [asyncio.create_task(gone.wait()) for _ in range(2)]
        wishes = [wish("a", style="free"), wish("b", style="free")]
        asked = [worker.summarize(w, 5, one) for w, one in zip(wishes, leaves, strict=True)]
        tasks = [asyncio.create_task(code_of(one)) for one in asked]
        while not model.steps:
            await asyncio.sleep(0.001)
        tasks[0].cancel()
        await asyncio.sleep(0.05)
        steps = model.steps
        await asyncio.sleep(0.05)
        went_on = model.steps > steps
        gone.set()
        return went_on, await tasks[1]

    assert work(conversation, model, batch_wait=0.2) == (True, "client_closed")


def test_what_would_wait_too_long_is_refused():
    """A dialogue is expected to take 0.05 s until some were measured."""

    async def conversation(worker):
        with worker.place(1), worker.place(1), worker.place(1):
            return await code_of(_take(worker))

    async def _take(worker):
        with worker.place(1):
            pass

    assert work(conversation, queue_seconds=0.12) == "queue_full"
    assert work(conversation, queue_seconds=0.2) == "done"


def test_what_is_late_or_left_never_reaches_the_model():
    model = Slow(is_open=False)

    async def conversation(worker):
        first = asyncio.create_task(worker.summarize(wish("first"), 5))
        while not model.begun:
            await asyncio.sleep(0.001)
        gone = asyncio.create_task(asyncio.sleep(0.02))
        started = time.monotonic()
        late = await code_of(worker.summarize(wish("late"), 0.05))
        waited = time.monotonic() - started
        left = await code_of(worker.summarize(wish("left"), 5, gone))
        model.go.set()
        await first
        await worker.summarize(wish("last"), 5)
        return late, waited, left

    late, waited, left = work(conversation, model)
    assert (late, left) == ("deadline", "client_closed")
    assert waited < 0.15
    assert model.begun == ["first", "last"]


def test_a_failure_leaves_the_others_and_is_tried_once_more():
    model = Slow()

    async def conversation(worker):
        names = ("a", "crash", "b")
        wishes = [wish(name) for name in names]
        wishes[1].dialogue = dialogue_of({**CALL, "id": "crash", "utterances": [{"text": "boom"}]})
        found = await asyncio.gather(*(code_of(worker.summarize(one, 5)) for one in wishes))
        again = await code_of(worker.summarize(wishes[1], 5))
        return found, again

    found, again = work(conversation, model, batch_wait=0.1)
    assert found == ["done", "internal", "done"]
    assert again == "quarantined"
    assert model.begun.count("crash") == 2


def test_no_dialogue_is_to_blame_where_no_process_starts():
    class Absent(Slow):
        def stream(self, dialogues, options, window=64):
            if not self.begun:
                raise MemoryError
            return super().stream(dialogues, options, window)

    model = Absent()

    async def conversation(worker):
        found = [await code_of(worker.summarize(wish("a"), 5)) for _ in range(3)]
        model.begun.append("it is there")
        return [*found, await code_of(worker.summarize(wish("a"), 5))]

    assert work(conversation, model) == ["internal", "internal", "internal", "done"]


def test_a_dialogue_that_fails_twice_is_refused():
    async def conversation(worker):
        return [await code_of(worker.summarize(wish("bad"), 5)) for _ in range(3)]

    assert work(conversation) == ["done", "done", "quarantined"]


def test_a_worker_that_stops_finishes_what_it_took():
    model = Slow(is_open=False)

    async def conversation(worker):
        with worker.place(1):
            taken = asyncio.create_task(worker.summarize(wish("taken"), 5))
            await asyncio.sleep(0.01)
            worker.drain()
            with pytest.raises(Problem) as refused, worker.place(1):
                pass
            model.go.set()
            return refused.value.code, await code_of(taken), worker.is_ready

    assert work(conversation, model) == ("draining", "done", False)


def test_a_full_service_refuses_before_it_reads_anything(engine):
    model = Slow(is_open=False)
    read = []

    async def body():
        read.append(1)
        yield b"{}"

    async def conversation(service):
        async with service.client() as client:
            first = asyncio.create_task(client.post("/v1/summaries", json=CALL))
            while not model.begun:
                await asyncio.sleep(0.001)
            full = await client.post("/v1/summaries", content=body())
            ready = await client.get("/readyz")
            counts = (await client.get("/metrics")).text
            model.go.set()
            return full, ready, counts, await first

    full, ready, counts, first = ask(engine, conversation, model, queue_requests=1)
    assert (full.status_code, full.json()["code"], read) == (503, "queue_full", [])
    assert int(full.headers["Retry-After"]) >= 1
    assert full.headers["X-Request-ID"] == full.json()["request_id"]
    assert full.headers["X-Frame-Options"] == "DENY"
    assert 'dialogist_requests_total{code="503",route="/v1/summaries"} 1.0' in counts
    assert 'dialogist_rejected_total{reason="queue_full"} 1.0' in counts
    assert (ready.status_code, first.status_code) == (503, 200)


def test_a_client_can_set_a_deadline(engine):
    model = Slow(is_open=False)

    async def conversation(service):
        async with service.client() as client:
            reply = await client.post("/v1/summaries", json={**CALL, "timeout_ms": 30})
            model.go.set()
            return reply

    reply = ask(engine, conversation, model)
    assert (reply.status_code, reply.json()["code"]) == (504, "deadline")


def test_a_model_is_replaced_without_an_error(engine):
    """Requests come all the time; a model that is broken is not used."""
    models = iter([Slow(), Slow(), Broken(), Slow()])
    names = ["one", "two", "broken", "three"]

    def load():
        model = next(models)
        model.name = names.pop(0)
        return model

    async def conversation(service):
        statuses, shown = [], []
        is_done = False
        async with service.client() as client:

            async def keep_asking():
                while not is_done:
                    statuses.append((await client.post("/v1/summaries", json=CALL)).status_code)

            asking = [asyncio.create_task(keep_asking()) for _ in range(4)]
            while names:
                left = len(names)
                signal.raise_signal(signal.SIGHUP)
                while len(names) == left:
                    await asyncio.sleep(0.01)
                await asyncio.sleep(0.1)  # it is tried before it is used
                shown.append((await client.get("/v1/models")).json()["data"][0]["id"])
            is_done = True
            await asyncio.gather(*asking)
            return shown, statuses

    shown, statuses = ask(engine, conversation, load=load)
    assert shown == ["two", "two", "three"]
    assert len(statuses) > 20
    assert set(statuses) == {200}


class Broken(Slow):
    def stream(self, dialogues, options, window=64):
        for dialogue in dialogues:
            yield Summary("", dialogue.id, "error")


DIES = """
import os, sys
from pathlib import Path
from dialogist.service.crashes import CrashLog
CrashLog(Path(sys.argv[1])).begin(sys.argv[2:])
os._exit(9)
"""


def test_a_dialogue_of_which_two_processes_died_is_refused(tmp_path):
    """What was worked on beside it is not: it did not die twice."""
    model = Slow()
    first, other = wish("first"), wish("other")
    other.dialogue = dialogue_of({"utterances": [{"text": "Something else."}]})
    marks = [_mark_of(one.dialogue) for one in (first, other)]
    log = CrashLog(tmp_path)

    def die(*marks):
        command = [sys.executable, "-c", DIES, str(tmp_path), *marks]
        assert subprocess.run(command).returncode == 9

    async def conversation(worker):
        found = []
        for dying in (marks, marks[:1]):
            await asyncio.to_thread(die, *dying)
            found += [await code_of(worker.summarize(one, 5)) for one in (first, other)]
        return found

    found = work(conversation, model, crashes=log)
    assert found == ["done", "done", "quarantined", "done"]
    assert len(list(tmp_path.iterdir())) == 2  # of those that died; the own one is gone


def test_one_slow_request_does_not_make_an_idle_service_refuse():
    """The first free summary loads the network: that tells nothing of the next ones."""
    worker = Worker(Slow(), Settings(queue_seconds=2), Metrics("slow"))
    for style, seconds in (("free", 20), ("faithful", 20), ("faithful", 0.06)):
        worker._note_cost(style, seconds)
    for _ in range(2):
        with ExitStack() as held:
            for _ in range(20):
                held.enter_context(worker.place(10))  # a refusal is a Problem, raised
        worker._note_cost("free", 3)
