"""The client of one file, as `dialogist client` makes it, asks a real service."""

import importlib.util
import time
from types import SimpleNamespace

import pytest
from tests.service.conftest import Slow, listening
from tests.service.test_api import CALL
from tests.service.test_stored_forms import FORM
from typer.testing import CliRunner

from dialogist.cli.main import command_line
from dialogist.service.api import description
from dialogist.service.keys import add_key


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The module that the command wrote."""
    path = tmp_path_factory.mktemp("client") / "dialogist_client.py"
    result = CliRunner().invoke(command_line("client"), ["client", "--output", str(path)])
    assert result.exit_code == 0
    spec = importlib.util.spec_from_file_location("dialogist_client", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_it_asks_all_routes(made, engine):
    called = {name for name in vars(made.Client) if not name.startswith("_")}
    with listening(engine) as port:
        client = made.Client(f"http://127.0.0.1:{port}", add_key(engine, "desk"))
        summary = client.summarize({**CALL, "review": True})
        assert summary["status"] == "ready"
        text = "\n".join(f"{one['speaker']}: {one['text']}" for one in CALL["utterances"])
        query = {"length": "short", "evidence": False}
        assert client.summarize(text, **query)["statements"][0]["evidence"] == []
        events = list(client.stream(CALL))
        assert [name for name, _ in events][-1] == "summary"
        assert events[-1][1]["text"] == summary["text"]
        batch = client.add_batch({"dialogues": [CALL]}, once="a")
        again = client.add_batch({"dialogues": [CALL]}, once="a")
        assert again["id"] == batch["id"]
        while client.batch(batch["id"])["status"] != "done":
            time.sleep(0.05)
        [result] = client.results(batch["id"])
        assert result["text"] == summary["text"]
        assert client.delete_batch(batch["id"]) is None
        [waiting] = client.list_reviews()["reviews"]
        assert client.review(waiting["id"])["summary"]["text"] == summary["text"]
        corrected = {"verdict": "edited", "statements": [{"text": "A new one comes."}]}
        assert client.decide(waiting["id"], corrected)["state"] == "edited"
        [kept] = client.list_reviews(state="approved,edited", search="NEW one")["reviews"]
        assert kept["id"] == waiting["id"]
        assert "A new one comes." in "".join(client.export_reviews(format="markdown"))
        assert client.undo(waiting["id"])["state"] == "open"
        with pytest.raises(made.ServiceError, match="no destination is set"):
            client.send_review(waiting["id"], {"to": "desk", "ticket": "1"})
        assert client.list_deliveries(state="dead")["deliveries"] == []
        with pytest.raises(made.ServiceError, match="no delivery of this id"):
            client.retry_delivery(waiting["id"])
        assert client.delete_review(waiting["id"]) is None
        assert client.audit(limit=1)["changes"][0]["action"] == "review deleted"
        stored = client.feedback({"verdict": "approved"})
        assert len(stored["id"]) == 16
        assert client.preview_form({"form": FORM})["filled"]["form"] == "Rückgabe"
        assert client.add_form(FORM)["own"]
        assert client.form("Rückgabe") == FORM
        assert client.forms()["forms"][-1]["name"] == "Rückgabe"
        assert client.delete_form("Rückgabe") is None
        assert client.models()["data"][0]["id"] == "highlights"
        assert client.version()["dialogist"]
        assert "dialogist_requests_total" in client.metrics()
        assert client.healthz() == {"status": "ok"}
        assert client.readyz() == {"status": "ready"}
        assert "/v1/batches" in client.openapi()["paths"]
        said = client.complete({"messages": [{"role": "user", "content": text}]})
        assert said["choices"][0]["message"]["content"]
    paths = description()["paths"].values()
    assert called == {route["operationId"] for path in paths for route in path.values()}


def test_a_refusal_is_an_error_with_its_code(made, engine):
    with listening(engine) as port:
        client = made.Client(f"http://127.0.0.1:{port}", add_key(engine, "desk"))
        with pytest.raises(made.ServiceError, match="cannot be read") as refused:
            client.summarize({"utterances": []})
        assert (refused.value.status, refused.value.code) == (422, "unreadable_dialogue")
        assert refused.value.request_id
        with pytest.raises(made.ServiceError) as unknown:
            made.Client(f"http://127.0.0.1:{port}", "dlg_x").models()
        assert unknown.value.code == "unauthorized"
        with pytest.raises(ValueError, match="'options'"):
            client.summarize(CALL, length="short")
    with pytest.raises(made.ServiceError, match="does not answer") as gone:
        client.models()
    assert gone.value.status == 0
    for scheme, key in (("", "dlg_x"), ("http://", "dlg_\u0175")):
        with pytest.raises(ValueError, match=r"^(?:address|key): "):
            made.Client(f"{scheme}127.0.0.1:{port}", key)


def test_it_comes_back_when_the_service_is_busy(made, engine, monkeypatch):
    """A key that may send one request a minute."""
    waited = []
    monkeypatch.setattr(made, "time", SimpleNamespace(sleep=waited.append))
    with listening(engine, Slow(), rate_per_minute=1) as port:
        address = f"http://127.0.0.1:{port}"
        client = made.Client(address, add_key(engine, "desk"), retries=2)
        client.models()
        with pytest.raises(made.ServiceError) as refused:
            client.models()
    assert refused.value.code == "rate_limited"
    assert len(waited) == 2
    assert all(30 < seconds <= 60 for seconds in waited)
