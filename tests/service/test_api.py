"""``/v1/summaries``, the routes of operators, and the page ``/docs``, whose calls by curl run."""

import html
import json
import re
import shlex
from itertools import pairwise

import pytest
from tests.service.conftest import asking, serving
from typer.testing import CliRunner

from dialogist import __version__
from dialogist.cli.main import command_line
from dialogist.service import api
from dialogist.service.api import description
from dialogist.service.api_docs import documented_routes
from dialogist.service.keys import add_key

CALL = {
    "id": "call-17",
    "utterances": [
        {"speaker": "Ann", "text": "My order 4711 has not arrived yet, call me at 555 010 0199."},
        {"speaker": "Bo", "text": "I will send a new one today, free of charge."},
        {"speaker": "Ann", "text": "Thank you, please use my office address."},
    ],
}
TRANSCRIPT = "Ann: My order 4711 has not arrived yet.\nBo: I will send a new one today.\n"
TEXT = {"Content-Type": "text/plain"}
JSON = {"Content-Type": "application/json"}


def without_timings(summary):
    return {name: value for name, value in summary.items() if name != "timings"}


def get(engine, *paths, key=None, **settings):
    """The replies of a service on a store to some paths."""
    with serving(engine, **settings) as service, service.blocking(key) as client:
        return [client.get(path) for path in paths]


def post(engine, path, body, headers=None, **settings):
    """The reply to a body: a value of JSON, or bytes or text as they are."""
    with asking(engine, **settings) as client:
        if isinstance(body, dict):
            return client.post(path, json=body)
        return client.post(path, content=body, headers=headers)


@pytest.mark.parametrize(
    ("options", "flags"),
    [
        ({}, []),
        ({"length": "short", "evidence": False}, ["--length", "short", "--no-evidence"]),
        (
            {"mask": "output", "mask_names": "speakers"},
            ["--mask", "output", "--mask-names", "speakers"],
        ),
        ({"form": "call"}, ["--form", "call"]),
        ({"template": "call"}, ["--form", "call"]),
        ({"focus": "Ann", "speakers": {"Ann": "Eve"}}, ["--focus", "Ann", "--speaker", "Ann=Eve"]),
    ],
)
def test_a_reply_is_what_the_command_line_prints(engine, tmp_path, options, flags):
    (tmp_path / "call.jsonl").write_text(json.dumps(CALL) + "\n")
    words = ["summarize", str(tmp_path / "call.jsonl"), "--format=json", *flags]
    [printed] = json.loads(CliRunner().invoke(command_line("summarize"), words).stdout)
    reply = post(engine, "/v1/summaries", {**CALL, "options": options})
    assert reply.status_code == 200
    assert without_timings(reply.json()) == without_timings(printed)


def test_a_transcript_is_read_as_text_with_options_in_the_query(engine):
    query = "/v1/summaries?id=t1&length=short&evidence=false"
    reply = post(engine, query, TRANSCRIPT, TEXT)
    assert reply.status_code == 200
    assert reply.json()["id"] == "t1"
    assert reply.json()["statements"][0]["evidence"] == []


def test_a_stream_gives_the_statements_and_then_the_whole(engine):
    reply = post(engine, "/v1/summaries/stream", CALL)
    events = [one.split("\n", 1) for one in reply.text.strip().split("\n\n")]
    names = [name.removeprefix("event: ") for name, _ in events]
    data = [json.loads(text.removeprefix("data: ")) for _, text in events]
    assert names == ["statement"] * len(data[-1]["statements"]) + ["summary"]
    assert data[:-1] == data[-1]["statements"]


def test_operators_see_health_readiness_version_model_and_counts(engine):
    paths = ("/healthz", "/readyz", "/version", "/v1/models")
    with asking(engine) as client:
        health, ready, version, models = map(client.get, paths)
        client.post("/v1/summaries", json=CALL)
        text = client.get("/metrics").text
    assert (health.status_code, ready.status_code) == (200, 200)
    assert version.json() == {"dialogist": __version__}
    assert models.json()["data"][0]["id"] == "highlights"
    assert 'dialogist_requests_total{code="200",route="/v1/summaries"} 1.0' in text
    assert 'dialogist_summaries_total{status="ready"} 1.0' in text


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"length": "huge"}, "invalid_options"),
        ({"colour": "red"}, "invalid_options"),
        ({"form": "/etc/passwd"}, "invalid_options"),
        ({"mask_names": "all"}, "invalid_options"),
        ({"style": "free"}, "invalid_options"),
        ({"form": "call", "template": "call"}, "invalid_options"),
        ({"focus": "Zoe"}, "unknown_speaker"),
    ],
)
def test_options_that_are_not_valid_are_refused_without_an_echo(engine, options, code):
    reply = post(engine, "/v1/summaries", {**CALL, "options": options})
    assert reply.status_code == 422
    assert reply.headers["Content-Type"] == "application/problem+json"
    assert reply.json()["code"] == code
    for value in ("huge", "colour", "red", "passwd", "Zoe"):
        assert value not in reply.text


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"id": "x"}, "unreadable_dialogue"),
        ({"utterances": []}, "unreadable_dialogue"),
        ({"utterances": [{"speaker": 3, "text": None}]}, "unreadable_dialogue"),
        ({**CALL, "id": [1]}, "unreadable_dialogue"),
        ({**CALL, "profile": "gold"}, "unreadable_dialogue"),
        ({**CALL, "options": {"speakers": {"Ann": "Bo"}}}, "invalid_options"),
        ({**CALL, "options": {"speakers": {"Ann": ""}}}, "invalid_options"),
        ({**CALL, "timeout_ms": -1}, "invalid_options"),
        ({**CALL, "review": "perhaps"}, "invalid_options"),
        ({**CALL, "mask": "input"}, "invalid_options"),
        ({**CALL, "words": 20}, "invalid_options"),
    ],
)
def test_a_body_that_holds_no_dialogue_is_refused(engine, body, code):
    reply = post(engine, "/v1/summaries", body)
    assert (reply.status_code, reply.json()["code"]) == (422, code)


def test_fields_of_a_profile_that_cannot_be_read_are_told(engine):
    profile = {"plan": "Gold", "x": None, "y": {"a": 1}}
    reply = post(engine, "/v1/summaries", {**CALL, "profile": profile}).json()
    [told] = [one["message"] for one in reply["warnings"] if one["kind"] == "input"]
    assert told.startswith("profile: x, y: not read")
    assert post(engine, "/v1/summaries", {**CALL, "profile": None}).status_code == 200


def test_the_description_names_each_route_and_refers_to_what_it_has(engine):
    [reply] = get(engine, "/openapi.json")
    paths, known = reply.json()["paths"], reply.json()["components"]["schemas"]
    routes = {
        (route.path, *map(str.lower, route.methods - {"HEAD"})) for route in api.router.routes
    }
    assert {(path, method) for path, methods in paths.items() for method in methods} == routes
    refs = set(reply.text.split('"#/components/schemas/')[1:])
    assert {ref.partition('"')[0] for ref in refs} <= known.keys()


def test_a_method_that_a_route_does_not_have(engine):
    with asking(engine) as client:
        reply = client.delete("/v1/forms")
    assert (reply.status_code, reply.headers["Allow"]) == (405, "GET, HEAD, POST")


def test_a_head_is_that_of_a_get(engine):
    with asking(engine) as client:
        for path in ("/healthz", "/readyz", "/v1/forms", "/login"):
            head, got = client.head(path), client.get(path)
            assert (head.status_code, head.content) == (200, b"")
            assert head.headers["Content-Length"] == str(len(got.content))


def test_a_query_that_a_route_does_not_have_is_told_what_it_has(engine):
    [reply] = get(engine, "/v1/reviews?status=zz")
    assert (reply.status_code, reply.json()["code"]) == (422, "invalid_options")
    assert "use only state, search, " in reply.json()["detail"]


def test_lines_of_a_batch_and_their_options_are_described():
    route = description()["paths"]["/v1/batches"]["post"]
    assert [*route["requestBody"]["content"]] == ["application/json", "application/x-ndjson"]
    assert {"Idempotency-Key", "length", "form"} <= {one["name"] for one in route["parameters"]}


SCOPED = {
    "summaries": ("GET /v1/models", "GET /v1/forms", "GET /openapi.json", "POST /v1/summaries"),
    "batches": ("POST /v1/batches", "GET /v1/batches/0123456789abcdef"),
    "reviews": ("GET /v1/reviews", "GET /v1/audit", "GET /v1/deliveries", "POST /v1/feedback"),
    "forms": ("POST /v1/forms", "DELETE /v1/forms/none"),
    "metrics": ("GET /version", "GET /metrics"),
}


@pytest.mark.parametrize("scope", SCOPED)
def test_a_key_may_do_what_its_scopes_say(engine, scope):
    with serving(engine) as service, service.blocking(add_key(engine, "narrow", [scope])) as client:
        for needed, routes in SCOPED.items():
            for route in routes:
                is_refused = client.request(*route.split()).status_code == 403
                assert is_refused == (needed != scope), route


def test_a_client_of_chats_gets_the_summary_as_the_answer(engine):
    parts = [{"type": "text", "text": TRANSCRIPT}]
    asked = {"messages": [{"role": "system", "content": "x"}, {"role": "user", "content": parts}]}
    path = "/v1/chat/completions"
    with asking(engine) as client:
        whole = client.post(path, json=asked).json()
        pieces = client.post(path, json={**asked, "stream": True}).text
        plain = client.post("/v1/summaries", content=TRANSCRIPT, headers=TEXT).json()
        bad = [client.post(path, json=b) for b in ({}, {"messages": []}, {**asked, "n": 2})]
    assert whole["choices"][0]["message"]["content"] == plain["text"]
    assert whole["usage"]["prompt_tokens"] == plain["coverage"]["words_read"]
    assert json.dumps(plain["text"], ensure_ascii=False) in pieces
    assert pieces.endswith("data: [DONE]\n\n")
    assert [one.status_code for one in bad] == [400, 400, 422]


def test_evidence_refers_to_text_that_the_client_has(engine):
    """It is what was sent, or the reply has what was read."""
    said = [{"speaker": "Ann", "text": "<p>Hello &amp; hi,</p> <b>I want</b> to return the shoes."}]
    said.append({"speaker": "Bo", "text": "We will refund 40 dollars on Monday."})
    body = {"utterances": said, "options": {"length": "long"}}
    reply = post(engine, "/v1/summaries", body).json()
    read = "Hello & hi,\nI want to return the shoes."
    assert reply["utterances"][0] == {"speaker": "Ann", "text": read}
    for span in (span for statement in reply["statements"] for span in statement["evidence"]):
        text = reply["utterances"][span["utterance"]]["text"][span["start"] : span["end"]]
        assert any(text in statement["text"] for statement in reply["statements"])
    said[0]["text"] = "Hello, I want to return the shoes."
    assert "utterances" not in post(engine, "/v1/summaries", body).json()
    said[0]["text"] = "<p>Call me at 415-555-0132, I want to return the shoes.</p>"
    for mask in ("output", "input"):
        masked = {**body, "options": {"length": "long", "mask": mask}}
        reply = post(engine, "/v1/summaries", masked).json()
        assert "555-0132" not in json.dumps(reply)
        assert reply["utterances"][0]["text"].startswith("Call me at [PHONE_1]")
        [[wish, *_]] = [s["evidence"] for s in reply["statements"] if "return" in s["text"]]
        text = reply["utterances"][0]["text"][wish["start"] : wish["end"]]
        assert text.endswith("I want to return the shoes.")


def test_internal_notes_are_left_out_and_counted(engine):
    said = [
        {"speaker": "Ann", "text": "I want to return the shoes that I bought on Monday."},
        {"speaker": "Bo", "text": "INTERNAL: the customer is a liar, says Cy.", "public": False},
        {"speaker": "Bo", "text": "We will refund 40 dollars on Friday."},
    ]
    body = {"utterances": said, "options": {"length": "long"}}
    reply = post(engine, "/v1/summaries", body).json()
    [evidence] = [s["evidence"] for s in reply["statements"] if "refund" in s["text"]]
    assert {one["utterance"] for one in evidence} == {1}
    assert reply["utterances"][1] == {"speaker": "Bo", "text": said[2]["text"]}
    assert reply["reading"]["left_out"] == {"internal notes": 1}
    assert "liar" not in json.dumps(reply)


def test_the_page_shows_each_route_and_loads_nothing_from_elsewhere(engine):
    [shown] = get(engine, "/docs")
    for path, methods in description()["paths"].items():
        for method, route in methods.items():
            assert f'<h2 id="{route["operationId"]}"><code>{method.upper()} {path}<' in shown.text
    assert set(re.findall(r'(?:src|href)="([^"#?][^"?]*)[^"]*"', shown.text)) <= {
        *("/", "/docs", "/forms", "/reviews", "/quality", "/openapi.json"),
        *("/static/icon.svg", "/static/page.css", "/static/page.js"),
    }
    assert "<td>header</td><td>string</td>" in shown.text
    assert "-H 'Content-Type: application/json'" in html.unescape(shown.text)


def test_the_calls_run_as_they_are_shown(engine):
    calls = [call for route in documented_routes("http://localhost") for call in route["calls"]]
    statuses = {}
    with serving(engine) as service, service.blocking("") as client:
        for call in calls:
            words = shlex.split(call.replace("\\\n", " ").replace("$KEY", service.key))
            assert words[:2] == ["curl", "-X"]
            headers = dict(w.split(": ", 1) for f, w in pairwise(words) if f == "-H")
            body = words[words.index("--data-binary") + 1] if "--data-binary" in words else None
            if "{" not in words[3]:
                reply = client.request(words[2], words[3], headers=headers, content=body)
                statuses[call] = reply.status_code
    assert len(statuses) >= 15
    assert {call: status for call, status in statuses.items() if status >= 400} == {}
