"""Batches that a language model writes: threads, limits, budgets, what a second run pays."""

import json
import os
import signal
import subprocess
import time

import pytest
from tests.batch.conftest import dialogue_line, records, wait_until
from tests.chat_server import ChatServer
from tests.core.test_language_model import statements, verdicts

pytest.importorskip("openai")

COUNT = 40
BOTH = json.dumps(json.loads(statements("Ann has a wish.")) | json.loads(verdicts("supported")))


@pytest.fixture
def server():
    with ChatServer(BOTH) as made:
        yield made


@pytest.fixture
def calls(tmp_path):
    path = tmp_path / "calls.jsonl"
    said = (f"My wish is to get report {n} by Friday, please." for n in range(COUNT))
    path.write_text("".join(dialogue_line(f"c{n}", text) for n, text in enumerate(said)))
    return path


def words(server, calls, output, options="", cache="off"):
    writer = f"openai:{server.url}#tiny?retries=0&cache={cache}&{options}"
    return ("batch", calls, "--writer", writer, "-o", output, "-q")


def test_dialogues_are_written_side_by_side_and_the_order_stays(dialogist, server, calls, tmp_path):
    server.seconds = 0.1
    (tmp_path / "more.jsonl").write_text("broken\n")
    done = dialogist(*words(server, "*.jsonl", "out", "at_once=20"), "--verify", "rules")
    assert done.returncode == 3
    assert [one["id"] for one in records(tmp_path / "out")] == [
        *(f"c{n}" for n in range(COUNT)),
        "more.jsonl",
    ]
    assert len(server.requests) == COUNT
    assert 1 < server.busiest <= 20


@pytest.mark.parametrize("flags", [("--workers", "2"), ("--engine", "ray")])
def test_one_process_keeps_the_budget(dialogist, server, calls, tmp_path, flags):
    done = dialogist(*words(server, calls, "out"), *flags)
    assert (done.returncode, done.stderr.count(b"\n")) == (2, 1)
    assert b"one process asks a language model" in done.stderr
    assert not server.requests


@pytest.mark.parametrize(
    ("options", "faults", "told"),
    [
        ("budget=20000", [], ("error", "the budget of 20,000 tokens does not allow it")),
        ("at_once=1", ["hang"], ("error", "no whole answer within 1 s")),
        ("at_once=1", ["refuse"], ("refused", "the model declines")),
    ],
)
def test_what_is_not_written_costs_its_own_dialogue(
    dialogist, server, calls, options, faults, told
):
    server.faults.extend(faults)
    dialogist(*words(server, calls, "out", f"{options}&timeout=1"))
    found = records(dialogist.folder / "out")
    assert len(found) == COUNT
    assert {one["status"] for one in found} <= {told[0], "review", "ready"}
    assert all(one["reason"].startswith(told[1]) for one in found if one["status"] == told[0])


def test_the_time_of_a_dialogue_is_limited(dialogist, server, calls, tmp_path):
    server.seconds = 1.1
    calls.write_text(dialogue_line("a", "My wish is to get the report by Friday, please."))
    done = dialogist(*words(server, calls, "out"), "--time-limit", "1")
    assert done.returncode == 3
    [record] = records(tmp_path / "out")
    assert (record["status"], record["reason"]) == ("error", "gave no answer for 1 s")
    assert len(server.requests) == 1  # it is not verified


def test_a_model_that_goes_away_ends_the_run_and_the_next_goes_on(
    dialogist, server, calls, tmp_path
):
    server.faults.extend([{"content": BOTH}] * 20 + [401] * COUNT)
    flags = words(server, calls, "out", "at_once=2", tmp_path)
    away = dialogist(*flags, "--shard-size", "5")
    assert away.returncode == 1
    told = away.stderr.splitlines()  # and, by chance, of dialogues that were on their way
    assert all(b"the run was stopped" in line for line in told[:-1])
    assert b"the key is refused" in told[-1]
    server.faults.clear()
    server.requests.clear()
    again = dialogist(*flags, "--shard-size", "5")
    assert again.returncode == 0
    assert len(records(tmp_path / "out")) == COUNT
    assert len(server.requests) == 2 * COUNT - 20


def test_a_killed_batch_pays_nothing_twice(dialogist, server, calls, tmp_path):
    """What was answered is in the cache; what was on its way is asked again."""
    server.seconds = 0.05
    flags = words(server, calls, "out", "at_once=4", tmp_path)
    with dialogist.start(*flags, stderr=subprocess.PIPE) as process:
        wait_until(lambda: len(server.requests) >= COUNT, process)
        os.kill(process.pid, signal.SIGKILL)
    time.sleep(0.1)
    assert dialogist(*flags).returncode == 0
    assert len(server.requests) <= 2 * COUNT + 4
    assert {one["status"] for one in records(tmp_path / "out")} == {"ready"}


def test_a_repeated_batch_makes_no_calls(dialogist, server, calls, tmp_path):
    assert dialogist(*words(server, calls, "one", cache=tmp_path)).returncode == 0
    assert len(server.requests) == 2 * COUNT
    for output in ("one", "two"):
        assert dialogist(*words(server, calls, output, cache=tmp_path)).returncode == 0
    assert len(server.requests) == 2 * COUNT
    one, two = ([{**r, "sent": []} for r in records(tmp_path / name)] for name in ("one", "two"))
    assert one == two


def test_a_sample_shows_what_all_would_cost(dialogist, server, calls, tmp_path):
    flags = ("batch", calls, "--sample", "4", "--writer")
    writer = f"openai:{server.url}#tiny?cache={tmp_path}&price_in=1000000&price_out=1000000"
    shown = dialogist(*flags, writer)
    asked = server.requests[:]
    spent = sum(sum(len(m["content"]) for m in one["messages"]) // 4 for one in asked)
    tokens = spent + len(asked) * (len(BOTH) // 4)
    assert len(asked) == 8
    assert f", {10 * tokens:,} tokens, which cost {10 * tokens:,}.00, 4 at a time" in shown.err
    again = dialogist(*flags, writer)
    assert "tokens not known, the answers were in the cache" in again.err


def test_a_batch_that_is_stopped_asks_nothing_more(dialogist, server, calls, tmp_path):
    server.seconds = 0.5
    flags = words(server, calls, "out", "at_once=2", tmp_path)
    with dialogist.start(*flags, stderr=subprocess.PIPE) as process:
        wait_until(lambda: server.requests, process)
        process.send_signal(signal.SIGINT)
        told = process.stderr.read()
    assert process.returncode == 130
    assert b"stopped: run the same command again to go on" in told
    assert len(server.requests) <= 4
