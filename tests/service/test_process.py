"""``dialogist serve`` and ``dialogist keys`` as an operator meets them; one real process."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx2
import pytest
from tests.service.conftest import finished, wait_for
from tests.service.test_api import CALL, TEXT
from typer.testing import CliRunner

import dialogist
from dialogist.cli import service_command as command
from dialogist.cli.main import command_line
from dialogist.errors import ConfigError, UsageError
from dialogist.formats import read_dialogues
from dialogist.service.keys import KeyRing, add_key, valid_keys
from dialogist.service.settings import Settings, load_settings
from dialogist.service.tables import open_store


def run(*words):
    return CliRunner().invoke(command_line(words[0]), words)


@pytest.fixture
def store(tmp_path):
    return f"sqlite:///{tmp_path / 'service.db'}"


def test_keys_are_made_listed_and_revoked(store, tmp_path):
    made = run("keys", "add", "desk", "--scope", "summaries", "--store", store)
    assert re.fullmatch(r"dlg_[\w-]{43}\n", made.stdout)
    listed = run("keys", "list", "--store", store)
    assert listed.stdout == "desk\tsummaries\n"
    assert f"1 key in {store} " in listed.stderr
    (tmp_path / "service.yaml").write_text(f"store: {store}\n")
    by_settings = run("keys", "list", "--config", str(tmp_path / "service.yaml"))
    assert by_settings.stdout == listed.stdout
    assert run("keys", "revoke", "desk", "--store", store).exit_code == 0
    assert run("keys", "list", "--store", store).stdout == ""
    again = run("keys", "list", "--revoked", "--store", store).stdout
    assert re.fullmatch(r"desk\trevoked \d{4}-\d\d-\d\d \d\d:\d\d UTC\n", again)


def test_the_first_key_is_not_told_to_a_log(store, tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("DIALOGIST_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("dialogist.service.server.run", lambda *given: None)
    command.serve(port=0, store=store)
    path = tmp_path / "home" / "first-key"
    output = "".join(capfd.readouterr())
    assert "dlg_" not in output
    assert str(path) in output
    assert path.stat().st_mode & 0o777 == 0o600
    secret = path.read_text().split("#key=")[1].strip()
    assert KeyRing(open_store(store), 60).find(secret).name == "first"


def test_a_terminal_shows_the_first_key(store, monkeypatch, capsys):
    monkeypatch.setattr("dialogist.service.server.run", lambda *given: None)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    command.serve(port=0, store=store)
    assert "#key=dlg_" in capsys.readouterr().err


def test_no_key_is_made_that_nobody_could_see(store, tmp_path, monkeypatch):
    (tmp_path / "home").write_text("a file")
    monkeypatch.setenv("DIALOGIST_HOME", str(tmp_path / "home"))
    with pytest.raises(UsageError, match="dialogist keys add"):
        command.serve(port=0, store=store)
    assert valid_keys(open_store(store)) == []


def test_an_open_address_wants_a_key_first(store, monkeypatch):
    served = []
    monkeypatch.setattr("dialogist.service.server.run", lambda *given: served.append(given[0]))
    with pytest.raises(UsageError, match="dialogist keys add"):
        command.serve(host="0.0.0.0", port=0, store=store)
    assert served == []
    run("keys", "add", "desk", "--store", store)
    command.serve(host="0.0.0.0", port=0, store=store)
    assert [one.host for one in served] == ["0.0.0.0"]


def test_no_key_is_made_where_the_service_cannot_start(store):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(UsageError, match="cannot listen there: Address already in use"):
            command.serve(port=other.getsockname()[1], store=store)
    with pytest.raises(UsageError, match="cannot listen"):
        command.serve(host="no.such.host.invalid", store=store)
    with pytest.raises(UsageError, match="nope"):
        command.serve(port=0, writer="nope", store=store)
    assert valid_keys(open_store(store)) == []


def test_what_annotators_write_is_stored_with_the_rest_and_once(store, tmp_path):
    engine = open_store(store)
    add_key(engine, "desk")
    engine.dispose()
    turns = [["Ann Lee", "My number is 555 010 0199."], ["Bo", "I will call you."]]
    records = [
        {"id": "a", "turns": turns, "summaries": ["Bo will call 555 010 0199."]},
        {"id": "b", "turns": turns, "summary": "Bo will call.", "metadata": {"draft_kept": True}},
        {"id": "c", "turns": turns},
    ]
    path = tmp_path / "summaries.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in records) + '{"a": 1}\n')
    words = ["feedback", "import", str(path), "--key", "desk", "--store", store]
    refused = run(*words)
    assert "--consent" in str(refused.exception)
    stored = run(*words, "--consent").output
    assert "2 dialogues stored" in stored
    assert "1 record could not be read" in stored
    assert "0 dialogues stored; 2 dialogues stored before" in run(*words, "--consent").output
    unknown = run(*words[:4], "nobody", *words[5:], "--consent")
    assert "there is no such key" in str(unknown.exception)
    run("feedback", "export", "--store", store, "--output", str(tmp_path / "pairs.jsonl"))
    found = list(read_dialogues(tmp_path / "pairs.jsonl"))
    assert [one.id for one in found] == ["a", "b"]
    assert found[0].references == ("[PERSON_2] will call [PHONE_1].",)
    assert "0199" not in (tmp_path / "pairs.jsonl").read_text()


def test_settings_come_from_file_environment_and_flags(tmp_path):
    (tmp_path / "service.yaml").write_text("port: 1\nqueue_requests: 7\nhost: localhost\n")
    environment = {"DIALOGIST_SERVE_PORT": "2", "DIALOGIST_SERVE_WRITER": "123", "HOME": "/"}
    found = load_settings(tmp_path / "service.yaml", {"host": "::1", "store": None}, environment)
    assert (found.port, found.queue_requests, found.host, found.writer) == (2, 7, "::1", "123")
    with pytest.raises(ConfigError, match="did you mean 'DIALOGIST_SERVE_PORT'"):
        load_settings(None, {}, {"DIALOGIST_SERVE_POTR": "2"})
    with pytest.raises(ConfigError, match="DIALOGIST_SERVE_PORT: key 'port'"):
        load_settings(None, {}, {"DIALOGIST_SERVE_PORT": "many"})


@pytest.mark.parametrize(
    ("given", "asks_model", "times"),
    [
        ({}, False, (30, 5, 30)),
        ({}, True, (180, 30, 180)),
        ({"deadline_seconds": 60.5, "drain_seconds": 10}, True, (60.5, 30, 61)),
        ({"drain_seconds": 300}, True, (180, 30, 300)),
        ({"drain_seconds": 10, "queue_seconds": 1}, False, (30, 1, 10)),
    ],
)
def test_the_time_to_stop_is_enough_for_what_a_model_began(given, asks_model, times):
    assert Settings(**given).times(asks_model) == times


@pytest.mark.parametrize(
    ("host", "is_loopback"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("a.b", False)],
)
def test_which_addresses_only_this_machine_reaches(host, is_loopback):
    assert Settings(host=host).is_loopback is is_loopback


def test_a_process_gives_a_first_key_answers_and_drains(store, monkeypatch):
    monkeypatch.setenv("DIALOGIST_SERVE_QUEUE_SECONDS", "60")
    said = [{"speaker": f"S{n % 2}", "text": f"I will call at {n} today."} for n in range(40)]
    body = {**CALL, "utterances": said}
    with service_process(store) as (process, client, logged), ThreadPoolExecutor(20) as pool:
        sent = [pool.submit(client.post, "/v1/summaries", json=body) for _ in range(20)]
        wait_for(lambda: any(reply.done() for reply in sent))
        process.send_signal(signal.SIGTERM)
        assert [reply.result().status_code for reply in sent] == [200] * 20
        assert process.wait(10) == 0
    assert client.headers["Authorization"].removeprefix("Bearer ") not in "".join(logged)
    assert os.path.exists(store.removeprefix("sqlite:///"))


@pytest.mark.slow
def test_a_killed_service_loses_nothing_of_a_stored_batch(store):
    """kill -9 in the middle of 200 dialogues; another start does the rest, each once, in order."""
    dialogues = [{**CALL, "id": str(n)} for n in range(200)]
    with service_process(store) as (process, client, _):
        path = client.post("/v1/batches", json={"dialogues": dialogues}).headers["Location"]
        wait_for(lambda: client.get(path).json()["done"] >= 20)
        process.kill()
    key = client.headers["Authorization"].removeprefix("Bearer ")
    with service_process(store, key=key) as (process, client, _):
        # What the dead process had leased is free after a minute; a key has 10 requests a second.
        wait_for(lambda: time.sleep(0.2) or client.get(path).json()["status"] == "done", 200)
        status, results = finished(client, path)
        assert (status["done"], status["failed"]) == (200, 0)
        assert [result["id"] for result in results] == [str(n) for n in range(200)]
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0


@contextmanager
def service_process(store, *flags, key=""):
    """A service in a process of its own that answers, its client, and the lines that it logs.

    ``key``: by default the first one that it gives.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ["-m", "dialogist", "serve", "--port", str(port), "--store", store, *flags]
    home = store.removeprefix("sqlite:///").rpartition("/")[0]
    environment = {**os.environ, "DIALOGIST_HOME": home}
    process = subprocess.Popen(
        [sys.executable, *words],
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,  # so that its own processes end with it
    )
    logged = [process.stderr.readline()]  # where it listens
    reading = threading.Thread(target=lambda: logged.extend(process.stderr))
    reading.start()
    try:
        key = key or Path(home, "first-key").read_text().split("#key=")[1].strip()
        bearer, address = {"Authorization": f"Bearer {key}"}, f"http://127.0.0.1:{port}"
        with httpx2.Client(base_url=address, headers=bearer, timeout=60) as client:
            wait_for(lambda: _is_ready(client), 120)
            yield process, client, logged
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        reading.join()
        process.stderr.close()


def _is_ready(client):
    try:
        return client.get("/readyz").status_code == 200
    except httpx2.TransportError:
        return False


@pytest.mark.slow
def test_a_package_that_is_replaced_under_a_service_answers_on(tmp_path, monkeypatch):
    """Its folder is gone: pages, forms, masks and formats, also in processes begun since."""
    package = Path(dialogist.__file__).parent
    shutil.copytree(package, tmp_path / "lib" / "dialogist")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "lib"))
    options = [{}, {"mask": "input", "mask_names": "all"}, {"focus": "Ann", "perspective": "role"}]
    options += [{"form": path.stem} for path in (package / "assets" / "forms").glob("*.yaml")]
    texts = ("WEBVTT\n\n00:01.000 --> 00:02.000\n<v Ann>I will call.</v>\n", "Ann: Hi\nBo: Yes.\n")
    with service_process(f"sqlite:///{tmp_path}/service.db") as (process, client, _):
        shutil.rmtree(tmp_path / "lib")
        pages = ("/", "/login", "/reviews", "/quality", "/static/page.css", "/openapi.json")
        replies = [client.get(path) for path in pages]
        for _ in range(2):
            for each in options:
                replies.append(client.post("/v1/summaries", json={**CALL, "options": each}))
            for text in texts:
                replies.append(client.post("/v1/summaries", content=text, headers=TEXT))
            slow = "A: b\n" + "a:" * 7_000  # its process is ended
            client.post("/v1/summaries?timeout_ms=1500", content=slow, headers=TEXT)
        assert [reply.status_code for reply in replies] == [200] * len(replies)
        assert not [reply for reply in replies if '"status":"error"' in reply.text]
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0


@pytest.mark.slow
def test_several_processes_share_an_address_and_one_that_is_killed_is_replaced(store):
    """Also: SIGHUP reaches all of them, figures are summed, and SIGTERM ends all."""
    with service_process(store, "--workers", "2") as (process, client, logged):
        address, bearer = client.base_url, client.headers

        def ask():
            """With a connection of its own, which one of the processes takes."""
            while True:
                try:
                    path = address.join("/v1/summaries")
                    return httpx2.post(path, json=CALL, headers=bearer, timeout=60).status_code
                except httpx2.TransportError:
                    time.sleep(0.05)

        def count(words):
            return sum(words in line for line in logged)

        wait_for(lambda: count("Application startup complete") == 2, 60)
        assert {ask() for _ in range(20)} == {200}
        text = httpx2.get(address.join("/metrics"), headers=bearer).text
        assert 'dialogist_requests_total{code="200",route="/v1/summaries"} 20.0' in text
        process.send_signal(signal.SIGHUP)
        wait_for(lambda: count('"writer reloaded"') == 2, 60)
        children = _children(process.pid)
        os.kill(children[-1], signal.SIGKILL)
        assert {ask() for _ in range(20)} == {200}
        wait_for(lambda: count("Application startup complete") == 3, 60)
        assert {ask() for _ in range(20)} == {200}
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        assert not any(os.path.exists(f"/proc/{pid}") for pid in children)


def _children(pid):
    """The processes that a supervisor started to answer requests."""
    found = []
    for entry in os.listdir("/proc"):
        try:
            with open(f"/proc/{entry}/stat") as file:
                parent = int(file.read().rpartition(")")[2].split()[1])
            with open(f"/proc/{entry}/cmdline") as file:
                is_ours = parent == pid and "spawn_main" in file.read()
        except (OSError, ValueError):
            continue
        if is_ours:
            found.append(int(entry))
    return sorted(found)
