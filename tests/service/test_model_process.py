"""The model in a process of its own: same summaries, and a death that the service survives."""

import asyncio
import contextlib
import os
import signal
import threading
import time
from dataclasses import replace
from multiprocessing import Pipe
from pathlib import Path

import pytest
from tests.service.test_worker import code_of, wish
from tests.service.test_worker import work as run

from dialogist.decoding import SearchStopped, check_stopped, stopping_when
from dialogist.errors import ModelError
from dialogist.batch.workers import receive
from dialogist.model_folder.options import SummaryOptions
from dialogist.pipeline.summarizer import Summarizer
from dialogist.records import Dialogue, Summary, Utterance
from dialogist.service.model_process import ModelProcess, work
from dialogist.service.requests import dialogue_of

OPTIONS = SummaryOptions(style="faithful")


def dialogues(*names):
    said = (Utterance("Ann", "My order has not come."), Utterance("Bo", "I will send a new one."))
    return [Dialogue(said, name, profile={"plan": "Gold"}) for name in names]


class Fake:
    """A model that fails on some ids, and writes long or for ever on others, or does nothing."""

    name, options = "fake", OPTIONS

    def __init__(self):
        self.steps, self.read, self.go = 0, [], threading.Event()

    def stream(self, dialogues, options, window=64):
        for dialogue in dialogues:
            self.read.append(dialogue.id)
            if dialogue.id == "crash":
                raise MemoryError
            if dialogue.id == "hangs":
                self.steps += 1
                self.go.wait(20)
            for _ in range(100 if dialogue.id == "long" else 0):
                check_stopped()
                time.sleep(0.015)
            while dialogue.id == "endless":
                check_stopped()
                self.steps += 1
                time.sleep(0.001)
            yield Summary(dialogue.profile.get("plan", "None"), dialogue.id)


class InThread(ModelProcess):
    """Its other side is a thread of this process."""

    def __init__(self, model, stall_seconds=10):
        self._fake, self.go = model, model.go
        super().__init__("fake", stall_seconds)

    def _start(self):
        self._connection, theirs = Pipe()
        self._end = self._connection.close
        self.thread = threading.Thread(target=self._work, args=(theirs,))
        self.thread.start()
        return receive(self._connection)

    def _work(self, connection):
        with contextlib.suppress(BrokenPipeError):
            work(connection, self._fake)


@pytest.fixture
def fake():
    return Fake()


@pytest.fixture
def model(fake):
    model = InThread(fake)
    yield model
    model._end()
    model.thread.join(5)
    assert not model.thread.is_alive()


def ids(summaries):
    return [one.id for one in summaries]


def test_summaries_come_in_order_and_dialogues_go_ahead_by_one(model):
    taken = []

    def asked():
        for one in dialogues("a", "b", "c", "d"):
            taken.append(one.id)
            yield one

    found = model.stream(asked(), OPTIONS, window=1)
    assert next(found) == Summary("Gold", "a")
    assert taken == ["a", "b"]
    assert ids(found) == ["b", "c", "d"]
    assert list(model.stream([], OPTIONS)) == []


def test_a_failure_ends_its_batch_alone(model, fake, caplog):
    with pytest.raises(ModelError, match="failed"):
        list(model.stream(dialogues("a", "crash", "b"), OPTIONS, 8))
    assert [one.fields["type"] for one in caplog.records] == ["MemoryError"]
    assert ids(model.stream(dialogues("a", "b"), OPTIONS)) == ["a", "b"]


def test_a_search_stops_when_nobody_waits(model, fake):
    found = model.stream(dialogues("endless", "never"), OPTIONS, 8)
    with pytest.raises(SearchStopped), stopping_when(lambda: fake.steps > 0):
        next(found)
    assert ids(model.stream(dialogues("a"), OPTIONS)) == ["a"]
    assert "never" not in fake.read


@pytest.mark.parametrize("is_left", [False, True])
def test_a_process_that_hangs_is_replaced(fake, is_left):
    """Whether somebody still waits or not."""
    model = InThread(fake, stall_seconds=0.1)
    first = model.thread
    over = stopping_when(lambda: is_left and fake.steps > 0)
    with pytest.raises(ModelError, match="hangs"), over:
        list(model.stream(dialogues("hangs"), OPTIONS))
    assert ids(model.stream(dialogues("a"), OPTIONS)) == ["a"]
    assert model.thread is not first
    fake.go.set()
    model._end()
    for thread in (first, model.thread):
        thread.join(5)
        assert not thread.is_alive()


def test_a_search_that_takes_long_is_no_hang(fake):
    model = InThread(fake, stall_seconds=0.9)  # less than it takes, more than between two signs
    assert ids(model.stream(dialogues("long", "a"), OPTIONS, 8)) == ["long", "a"]
    model._end()


def wishes_and_poison(**options):
    """Two dialogues, and one of other words that hangs the model."""
    poison, *others = (wish(name, **options) for name in ("hangs", "a", "b"))
    poison.dialogue = replace(dialogue_of({"text": "Ann: Boom."}), id="hangs")
    return poison, *others


@pytest.mark.parametrize("style", ["faithful", "free"])
def test_a_dialogue_that_hangs_the_model_twice_is_quarantined(fake, style):
    """The others of its batch, and those after it, are answered."""
    poison, *others = wishes_and_poison(style=style)

    async def conversation(worker):
        together = (code_of(worker.summarize(one, 10)) for one in (poison, *others))
        after = [poison, others[0]]
        return [
            await asyncio.gather(*together),
            [await code_of(worker.summarize(one, 10)) for one in after],
        ]

    found, after = run(conversation, InThread(fake, stall_seconds=0.1), batch_wait=0.1)
    assert found == ["internal", "done", "done"]
    assert after == ["quarantined", "done"]
    assert fake.read.count("hangs") == 2


def test_a_hang_is_noted_when_the_client_has_left_before(fake):
    poison, other, _ = wishes_and_poison()

    async def conversation(worker):
        found = []
        for _ in range(3):
            found.append(await code_of(worker.summarize(poison, 0.3)))
            found.append(await code_of(worker.summarize(other, 10)))
        return found

    found = run(conversation, InThread(fake, stall_seconds=0.5))
    assert found == ["deadline", "done", "deadline", "done", "quarantined", "done"]


def test_what_is_left_unread_does_not_come_with_the_next(model):
    found = model.stream(dialogues("a", "b", "c"), OPTIONS, 8)
    assert next(found).id == "a"
    found.close()
    assert ids(model.stream(dialogues("d", "e"), OPTIONS)) == ["d", "e"]


def test_a_real_process_gives_the_same_and_is_replaced_when_it_dies():
    model, here = ModelProcess("default"), Summarizer.load("default")
    assert (model.name, model.options) == (here.name, here.options)
    asked = dialogues("a", "b")

    def without_timings(of):
        return [replace(one, timings={}) for one in of.stream(asked, here.options, 1)]

    assert without_timings(model) == without_timings(here)

    def kill():
        for pid in (int(one.name) for one in Path("/proc").iterdir() if one.name.isdigit()):
            if _is_model_of_this_process(pid):
                os.kill(pid, signal.SIGKILL)
                os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)

    def killed_while_it_works():
        yield asked[0]
        kill()
        yield asked[1]

    with pytest.raises(ModelError, match="died"):
        list(model.stream(killed_while_it_works(), here.options, 1))
    assert len(without_timings(model)) == 2
    kill()  # while it has nothing to do: nobody notices
    assert len(without_timings(model)) == 2


def _is_model_of_this_process(pid):
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
        words = Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return False
    return int(text.rpartition(")")[2].split()[1]) == os.getpid() and "model_process" in words


def test_a_model_that_is_not_there_is_told_in_the_words_of_loading():
    with pytest.raises(ModelError, match="'nope'"):
        ModelProcess("nope")
