"""``dialogist serve`` and ``dialogist keys`` as an operator meets them; one real process."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest
from tests.serve.test_api import CALL
from typer.testing import CliRunner

from dialogist.cli import serve as command
from dialogist.cli.main import app as command_line
from dialogist.data.readers import read_dialogues
from dialogist.errors import ConfigError, UsageError
from dialogist.serve.keys import add_key, valid_keys
from dialogist.serve.reviews import add_feedback, feedback_of
from dialogist.serve.settings import Settings, load_settings
from dialogist.serve.tables import open_store


def run(*words):
    return CliRunner().invoke(command_line, words)


@pytest.fixture
def store(tmp_path):
    return f"sqlite:///{tmp_path / 'service.db'}"


def test_keys_are_made_listed_and_revoked(store):
    made = run("keys", "add", "desk", "--scope", "summaries", "--store", store)
    assert re.fullmatch(r"dlg_[\w-]{43}\n", made.stdout)
    assert run("keys", "list", "--store", store).stdout == "desk\tsummaries\n"
    assert run("keys", "revoke", "desk", "--store", store).exit_code == 0
    assert run("keys", "list", "--store", store).stdout == ""


def test_shared_summaries_are_exported_as_data_to_train_on(store, tmp_path):
    engine = open_store(store)
    add_key(engine, "desk")
    pair = {"dialogue": CALL, "before": "x", "after": "The order is late."}
    shared = {"verdict": "edited", "consent": True, "content": pair}
    with engine.begin() as connection:
        for given in (shared, {**shared, "verdict": "rejected"}, {"verdict": "approved"}):
            add_feedback(connection, valid_keys(engine)[0].id, feedback_of(given))
    engine.dispose()
    output = tmp_path / "pairs.jsonl"
    assert run("feedback", "export", "--store", store, "--output", str(output)).exit_code == 0
    [found] = read_dialogues(output)
    assert found.references == ("The order is late.",)
    assert found.id == CALL["id"]


def test_an_open_address_wants_a_key_first(store, monkeypatch):
    served = []
    monkeypatch.setattr("dialogist.serve.server.run", lambda settings, app: served.append(settings))
    with pytest.raises(UsageError, match="dialogist keys add"):
        command.serve(host="0.0.0.0", store=store)
    assert served == []
    run("keys", "add", "desk", "--store", store)
    command.serve(host="0.0.0.0", store=store)
    assert [one.host for one in served] == ["0.0.0.0"]


def test_settings_come_from_file_environment_and_flags(tmp_path):
    (tmp_path / "service.yaml").write_text("port: 1\nqueue_requests: 7\nhost: localhost\n")
    environment = {"DIALOGIST_SERVE_PORT": "2", "DIALOGIST_SERVE_MODEL": "123", "HOME": "/"}
    found = load_settings(tmp_path / "service.yaml", {"host": "::1", "store": None}, environment)
    assert (found.port, found.queue_requests, found.host, found.model) == (2, 7, "::1", "123")
    with pytest.raises(ConfigError, match="did you mean 'DIALOGIST_SERVE_PORT'"):
        load_settings(None, {}, {"DIALOGIST_SERVE_PROT": "2"})
    with pytest.raises(ConfigError, match="DIALOGIST_SERVE_PORT: key 'port'"):
        load_settings(None, {}, {"DIALOGIST_SERVE_PORT": "many"})


@pytest.mark.parametrize(
    ("host", "is_loopback"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("a.b", False)],
)
def test_which_addresses_only_this_machine_reaches(host, is_loopback):
    assert Settings(host=host).is_loopback is is_loopback


def test_a_process_gives_a_first_key_answers_and_drains(store):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ["-m", "dialogist", "serve", "--port", str(port), "--store", store]
    process = subprocess.Popen([sys.executable, *words], stderr=subprocess.PIPE, text=True)
    try:
        key = process.stderr.readline().split("#key=")[1].strip()
        address = f"http://127.0.0.1:{port}"
        bearer = {"Authorization": f"Bearer {key}"}
        with httpx2.Client(base_url=address, headers=bearer, timeout=60) as client:
            _wait_for(client)
            said = [
                {"speaker": f"S{n % 2}", "text": f"I will call at {n} today."} for n in range(40)
            ]
            body = json.dumps({**CALL, "utterances": said, "options": {"style": "faithful"}})
            headers = {"Content-Type": "application/json"}
            with ThreadPoolExecutor(20) as pool:
                sent = [
                    pool.submit(client.post, "/v1/summaries", content=body, headers=headers)
                    for _ in range(20)
                ]
                while not any(one.done() for one in sent):
                    time.sleep(0.005)
                process.send_signal(signal.SIGTERM)
                statuses = [one.result().status_code for one in sent]
        assert statuses == [200] * 20
        assert process.wait(10) in (0, -signal.SIGTERM, 143)
        assert key not in process.stderr.read()
    finally:
        process.kill()
        process.stderr.close()
    assert os.path.exists(store.removeprefix("sqlite:///"))


def _wait_for(client):
    for _ in range(400):
        try:
            if client.get("/readyz").status_code == 200:
                return
        except httpx2.TransportError:
            time.sleep(0.05)
    raise AssertionError("the service does not start")
