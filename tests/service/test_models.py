"""A language model writes for the service: one that is slow, away, or does not want to."""

import asyncio
import json
import re
import time

import httpx2
import pytest
from tests.chat_server import ChatServer
from tests.core.test_language_model import answer, statements, verdicts
from tests.service.conftest import ask, asking, finished, listening
from tests.service.test_api import CALL, TRANSCRIPT
from tests.service.test_page import TALK, browsing

from dialogist.service.keys import add_key
from dialogist.service.server import reload_writer
from dialogist.service.settings import Settings, load_settings
from dialogist.summarizer import Summarizer

pytest.importorskip("openai")

WRITTEN = statements("Ann's order 4711 has not arrived.", "Bo sends a new one today.")
JUDGED = verdicts("supported", "contradicted", wrong="it is tomorrow")


@pytest.fixture
def server(monkeypatch):
    monkeypatch.delenv("DIALOGIST_OPENAI_KEY", raising=False)
    with ChatServer(WRITTEN) as made:
        yield made


def named(server, options="retries=0"):
    return Settings(writer=f"openai:{server.url}#tiny?{options}").writers


def asked(engine, server, *requests, **settings):
    """The replies to some requests (path, body), one after the other."""
    with asking(engine, load=lambda: Summarizer(*named(server)), **settings) as client:
        return [client.post(path, json=body) for path, body in requests]


def events(text):
    pairs = [one.split("\n", 1) for one in text.strip().split("\n\n")]
    return [(n.removeprefix("event: "), json.loads(d.removeprefix("data: "))) for n, d in pairs]


def test_settings_of_a_team_and_of_the_service(tmp_path):
    (tmp_path / "service.yaml").write_text("verify: rules\n")
    team = {"DIALOGIST_WRITER": "ollama:a", "DIALOGIST_VERIFY": "model"}
    team["DIALOGIST_UNSUPPORTED"] = ""
    found = load_settings(tmp_path / "service.yaml", {"prompt": "/p.txt"}, team)
    assert found.writers == ("ollama:a?prompt=%2Fp.txt&cache=off", "rules")
    service = {**team, "DIALOGIST_SERVE_WRITER": "llamacpp?cache=on"}
    assert load_settings(None, {}, service).writers == ("llamacpp?cache=on", "model")
    assert Settings(verifier="vllm:b").writers == ("highlights", "vllm:b?cache=off")


@pytest.mark.parametrize(
    ("setting", "options", "texts"),
    [
        ({}, {}, 2),
        ({"unsupported": "drop"}, {}, 1),
        ({"unsupported": "drop"}, {"unsupported": "mark"}, 2),
    ],
)
def test_a_summary_and_what_was_sent(engine, server, caplog, setting, options, texts):
    answer(server, WRITTEN, JUDGED)
    caplog.set_level("INFO", "dialogist.service")
    [reply] = asked(engine, server, ("/v1/summaries", {**CALL, "options": options}), **setting)
    summary = reply.json()
    assert len(summary["statements"]) == texts
    assert summary["statements"][0]["verdict"] == "supported"
    [sent] = summary["sent"]
    assert (sent["to"], sent["masked"], sent["requests"]) == (server.url[7:-3], False, 2)
    [line] = [record.fields for record in caplog.records if record.getMessage() == "sent"]
    assert line == sent


@pytest.mark.parametrize(
    ("fault", "path", "status", "told"),
    [
        ("refuse", "/v1/summaries", 200, '"status":"refused"'),
        (500, "/v1/summaries", 200, '"status":"error"'),
        (500, "/v1/summaries/stream", 200, '"status": "error"'),
        (500, "/v1/chat/completions", 502, "writer_failed"),
        ("refuse", "/v1/chat/completions", 200, '"refusal":"the model declines'),
        (401, "/v1/summaries", 503, "writer_unavailable"),
        (401, "/v1/summaries/stream", 503, "writer_unavailable"),
    ],
)
def test_what_a_model_does_not_answer(engine, server, fault, path, status, told):
    """And the service goes on."""
    server.faults.append(fault)
    body = {"messages": [{"role": "user", "content": TALK}]} if "chat" in path else CALL
    first, after = asked(engine, server, (path, body), (path, body))
    assert (first.status_code, after.status_code) == (status, 200)
    assert told in first.text
    assert told not in after.text
    assert ("Retry-After" in first.headers) == (status == 503)


def test_a_model_that_is_away_at_the_start_and_comes(engine, server):
    port = server.server_address[1]
    server.shutdown()
    server.server_close()
    with asking(engine, load=lambda: Summarizer(*named(server))) as client:
        away = client.post("/v1/summaries", json=CALL)
        models = client.get("/v1/models").json()["data"]
        with ChatServer(WRITTEN, port):
            there = client.post("/v1/summaries", json=CALL)
    assert (away.status_code, away.json()["code"]) == (503, "writer_unavailable")
    assert [model["id"] for model in models] == [f"openai:{server.url}#tiny"]
    assert there.status_code == 200


def test_drafts_come_before_they_are_verified(engine, server):
    server.seconds = 0.4
    answer(server, WRITTEN, JUDGED)
    with listening(engine, named(server)[0]) as port:
        headers = {"Authorization": f"Bearer {add_key(engine, 'desk')}"}
        address = f"http://127.0.0.1:{port}/v1/summaries/stream"
        came, text = [], ""
        with httpx2.stream("POST", address, json=CALL, headers=headers, timeout=20) as reply:
            assert reply.headers["X-Accel-Buffering"] == "no"
            for part in reply.iter_text():
                text += part
                came.append(time.monotonic())
    told = events(text)
    assert [name for name, _ in told] == ["draft"] * 2 + ["statement"] * 2 + ["summary"]
    assert [draft["text"] for _, draft in told[:2]] == [
        "Ann's order 4711 has not arrived.",
        "Bo sends a new one today.",
    ]
    assert {draft["verdict"] for _, draft in told[:2]} == {"unverified"}
    assert [s["verdict"] for _, s in told[2:4]] == ["supported", "quoted"]
    assert came[-1] - came[0] > 0.3


@pytest.mark.parametrize(("masks", "number"), [("input", "[PHONE_1]"), ("output", "555 010 0199")])
def test_drafts_tell_nothing_that_is_masked(engine, server, masks, number):
    answer(server, statements(f"Call {number}."), verdicts("supported"))
    body = {**CALL, "options": {"mask": masks}}
    [reply] = asked(engine, server, ("/v1/summaries/stream", body))
    told = events(reply.text)
    assert told[-1][1]["text"] == "Call [PHONE_1]."
    assert "010 0199" not in reply.text
    assert ("draft" in dict(told)) == (masks == "input")  # else the writer has read the number


def test_a_stream_that_fails_ends_in_a_problem(engine, server):
    answer(server, WRITTEN)
    server.faults.append(401)
    [reply] = asked(engine, server, ("/v1/summaries/stream", CALL))
    *drafts, (name, problem) = events(reply.text)
    assert [name for name, _ in drafts] == ["draft"] * 2
    assert (name, problem["code"]) == ("problem", "writer_unavailable")


@pytest.mark.parametrize("leaves", [True, False])
def test_nothing_more_is_asked_for_who_left_or_waits_no_more(engine, server, leaves):
    answer(server, WRITTEN, JUDGED, WRITTEN, JUDGED)
    body = CALL if leaves else {**CALL, "timeout_ms": 1500}
    with listening(engine, named(server)[0]) as port:
        headers = {"Authorization": f"Bearer {add_key(engine, 'desk')}"}
        address = f"http://127.0.0.1:{port}/v1/summaries"
        seconds = 1.5 if leaves else 20
        httpx2.post(address, json=CALL, headers=headers, timeout=20)  # starts who reads
        server.requests.clear()
        server.seconds = 2.5
        try:
            reply = httpx2.post(address, json=body, headers=headers, timeout=seconds)
            assert (leaves, reply.status_code) == (False, 504)
        except httpx2.TimeoutException:
            assert leaves
        time.sleep(2.5)
        assert len(server.requests) == 1


def test_a_model_works_for_several_at_a_time_and_is_given_time(engine, server):
    server.seconds = 0.5

    async def conversation(service):
        assert (service.queue.threads, service.queue.deadline) == (8, 180)
        async with service.client() as client:
            sent = [client.post("/v1/summaries", json=CALL) for _ in range(8)]
            replies = await asyncio.gather(*sent)
            busiest = server.busiest
            await reload_writer(service.queue, lambda: Summarizer())
            assert (service.queue.threads, service.queue.deadline) == (1, 30)
            after = await client.post("/v1/summaries", json=CALL)
            return [one.status_code for one in (*replies, after)], busiest

    names = named(server, "at_once=8")[0], "rules"
    statuses, busiest = ask(engine, conversation, load=lambda: Summarizer(*names))
    assert statuses == [200] * 9
    assert 1 < busiest <= 8


def test_a_stored_batch_is_written_by_the_model(engine, server):
    names = named(server)[0], "rules"
    with asking(engine, load=lambda: Summarizer(*names)) as client:
        batch = client.post("/v1/batches", json={"dialogues": [CALL] * 6})
        results = finished(client, batch.headers["Location"])[1]
    assert {result["writer"] for result in results} == {f"openai:{server.url}#tiny"}
    assert len(results) == len(server.requests) == 6


@pytest.mark.parametrize(
    ("faults", "status", "told"),
    [
        ([{"content": WRITTEN}, {"content": JUDGED}], 200, "it is tomorrow"),
        ([{"content": "I cannot help with that."}], 502, "Not summarized: the model declines"),
        ([500], 502, "Not summarized: the endpoint answered with status 500"),
        ([{"content": WRITTEN}, 401], 200, "The writer cannot be used"),
        ([401], 503, "The writer cannot be used"),
    ],
)
def test_the_page_shows_what_is_written_and_keeps_the_text_otherwise(
    engine, server, faults, status, told
):
    server.faults.extend(faults)
    with browsing(engine, load=lambda: Summarizer(*named(server))) as client:
        reply = client.post("/", data={"text": TRANSCRIPT})
    assert reply.status_code == status
    assert told in reply.text
    is_written = {"content": WRITTEN} in faults
    assert ("Being written" in reply.text) == is_written
    if is_written:
        assert reply.text.partition("</section>")[0].count('<li class="statement">') == 2
        assert reply.text.count("<main") == reply.text.count("</main>") == 1
    kept = re.findall(r'<textarea[^>]*name="text"[^>]*>([^<]*)', reply.text)
    assert "4711" in kept[-1]  # it can be summarized again
