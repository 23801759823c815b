"""The model in a process of its own: same summaries, and a death that the service survives."""

import contextlib
import os
import signal
import threading
import time
from dataclasses import replace
from multiprocessing import Pipe
from pathlib import Path

import pytest

from dialogist.decoding import SearchStopped, check_stopped, stopping_when
from dialogist.errors import ModelError
from dialogist.jobs.workers import receive
from dialogist.pipeline.options import SummaryOptions
from dialogist.pipeline.summarizer import Summarizer
from dialogist.records import Dialogue, Summary, Utterance
from dialogist.serve.model_process import ModelProcess, work

OPTIONS = SummaryOptions(style="faithful")


def dialogues(*names):
    said = (Utterance("Ann", "My order has not come."), Utterance("Bo", "I will send a new one."))
    return [Dialogue(said, name, profile={"plan": "Gold"}) for name in names]


class Fake:
    """A model that fails on some ids, and writes for ever on others."""

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
            while dialogue.id == "endless":
                check_stopped()
                self.steps += 1
                time.sleep(0.001)
            yield Summary(dialogue.profile["plan"], dialogue.id)


class InThread(ModelProcess):
    """Its other side is a thread of this process."""

    def __init__(self, model):
        self._fake = model
        super().__init__("fake")

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


def test_a_process_that_hangs_is_replaced(model, fake, monkeypatch):
    monkeypatch.setattr("dialogist.serve.model_process._END", 0.1)
    first = model.thread
    with pytest.raises(SearchStopped), stopping_when(lambda: fake.steps > 0):
        list(model.stream(dialogues("hangs"), OPTIONS))
    assert ids(model.stream(dialogues("a"), OPTIONS)) == ["a"]
    assert model.thread is not first
    fake.go.set()
    first.join(5)
    assert not first.is_alive()


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
    for pid in (int(one.name) for one in Path("/proc").iterdir() if one.name.isdigit()):
        if _is_model_of_this_process(pid):
            os.kill(pid, signal.SIGKILL)
    with pytest.raises(ModelError, match="died"):
        without_timings(model)
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
