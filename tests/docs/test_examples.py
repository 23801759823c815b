"""The examples do what their first lines say; the notebooks run to their end."""

import csv
import hashlib
import hmac
import importlib
import json
import os
import sys
import time
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
CHAT = "Agent: Hello.\nCustomer: My order 48213 has not come.\nAgent: I'll send it today.\n"


@pytest.fixture
def example(monkeypatch):
    """Import an example by name."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    return importlib.import_module


def test_the_route(example):
    client = pytest.importorskip("fastapi.testclient").TestClient(example("fastapi_route").app)
    reply = client.post("/summaries", json={"text": CHAT})
    assert reply.status_code == 200
    assert reply.json()["status"] in ("ready", "review")
    lines = reply.json()["lines"]
    assert any("48213" in line["statement"] and line["utterances"] == [1] for line in lines)
    assert {line["verdict"] for line in lines} == {"quoted"}
    assert client.post("/summaries", json={"text": "x", "length": "huge"}).status_code == 422


def test_the_route_gives_up_in_time(example, monkeypatch):
    module = example("fastapi_route")
    client = pytest.importorskip("fastapi.testclient").TestClient(module.app)
    monkeypatch.setattr(module, "SECONDS", 0.05)
    monkeypatch.setattr(module, "_summary", lambda conversation: time.sleep(0.5))
    assert client.post("/summaries", json={"text": CHAT}).status_code == 504


def test_the_bot_answers_with_lines(example):
    bot = example("slack_webhook")
    keys = ("user", "text")
    messages = [dict(zip(keys, line.split(": "), strict=True)) for line in CHAT.splitlines()]
    reply = bot.answer(json.dumps({"messages": messages}).encode())
    assert "> *Customer*: My order 48213 has not come." in reply["blocks"][0]["text"]["text"]
    assert bot.answer(b'{"messages": []}')["text"].startswith("Nothing to summarize")
    with pytest.raises(ValueError, match="no list"):
        bot.answer(b"{}")


def test_the_bot_hears_its_chat_alone(example):
    is_signed, now = example("slack_webhook").is_signed, str(int(time.time()))

    def sign(stamp: str) -> str:
        made = hmac.new(b"key", f"v0:{stamp}:body".encode(), hashlib.sha256)
        return f"v0={made.hexdigest()}"

    assert is_signed("key", now, b"body", sign(now))
    assert not is_signed("key", now, b"other", sign(now))
    old = str(int(now) - 1000)
    assert not is_signed("key", old, b"body", sign(old))


def test_days_are_worked_off_once(example, tmp_path, capfd, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    calls, summaries = tmp_path / "calls", tmp_path / "summaries"
    for day in ("2026-01-01", "2999-01-01"):
        (calls / day).mkdir(parents=True)
        (calls / day / "one.txt").write_text(CHAT)
    main = example("nightly_batch").main
    assert main(calls, summaries) == 0
    assert "2026-01-01: 1 summaries (1 review)" in capfd.readouterr().out
    assert not (summaries / "2999-01-01").exists()
    assert main(calls, summaries) == 0
    assert capfd.readouterr().out == ""
    (calls / "2026-01-02").mkdir()
    assert main(calls, summaries) == 1
    assert "2026-01-02: not complete (exit code" in capfd.readouterr().out


def test_tickets_become_a_table(example, tmp_path):
    rows = ["ticket_id,author_name,author_role,body,created_at,public"]
    rows += [
        '7,Ann,end-user,"My invoice is wrong, it says 40 euros.",2026-01-01T10:00,true',
        "8,Cy,end-user,Do you ship to Malta?,2026-01-01T10:01,true",
        "7,Bo,agent,This one shouts a lot.,2026-01-01T10:02,false",
        "7,Bo,agent,I have refunded 10 euros. I'll send a new invoice today.,2026-01-01T10:03,true",
        "8,Bo,agent,I don't know yet.,2026-01-01T10:04,true",
    ]
    source, target = tmp_path / "tickets.csv", tmp_path / "summaries.csv"
    source.write_text("\n".join(rows) + "\n")
    example("tickets_to_csv").main(source, target)
    with target.open(encoding="utf-8-sig", newline="") as file:
        table = list(csv.DictReader(file))
    assert {row["Ticket"] for row in table} == {"7", "8"}
    [row] = [row for row in table if row["Ticket"] == "7"]
    assert "40 euros" in row["Problem"]
    assert "refunded 10 euros" in row["Outcome"].lower()
    assert "send a new invoice today" in row["Next steps"]
    assert "shouts" not in target.read_text(encoding="utf-8-sig")


def test_a_metric_of_ones_own(example, tmp_path, capsys):
    metric = example("custom_metric")
    turns = [["Ann", "It costs 20 euros."], ["Bo", "No, it costs 30 euros, I will pay today."]]
    lines = (json.dumps({"id": str(n), "turns": turns}) for n in range(5))
    (tmp_path / "d.jsonl").write_text("\n".join(lines) + "\n")
    metric.main(tmp_path / "d.jsonl")
    printed = capsys.readouterr().out
    assert "first three turns: 100.0 (100.0 to 100.0)" in printed
    assert "difference:" in printed


def test_every_example_is_listed_and_tested():
    listed = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    here = Path(__file__).read_text(encoding="utf-8")
    for file in (*EXAMPLES.glob("*.py"), *EXAMPLES.glob("*.ipynb")):
        assert f"({file.name})" in listed, file.name
        assert file.suffix == ".ipynb" or f'example("{file.stem}")' in here, file.name


@pytest.mark.slow
@pytest.mark.parametrize("notebook", sorted(EXAMPLES.glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebooks_run(notebook, tmp_path):
    nbformat = pytest.importorskip("nbformat")
    client = pytest.importorskip("nbclient").NotebookClient
    pytest.importorskip("ipykernel")
    os.environ.setdefault("PYTHONPATH", os.pathsep.join(sys.path))
    content = nbformat.read(notebook, as_version=4)
    client(content, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
