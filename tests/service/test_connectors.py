"""What is sent to each kind of destination, and how its answers are understood."""

import asyncio
import base64
import json
import time
from email.utils import formatdate
from types import SimpleNamespace

import pytest
from tests.service.receiver import receiving

from dialogist.errors import ConfigError, UsageError
from dialogist.service import connectors
from dialogist.service.connectors import Refused, open_destinations, send, signature_of
from dialogist.service.settings import Settings

SECRET = "whsec_" + base64.b64encode(b"s" * 32).decode()
ENVIRONMENT = {"DESK_SECRET": SECRET, "DESK_TOKEN": "t0k3n", "WIDE": "tökén"}
STATEMENTS = [
    {"heading": "Issue & <cause>", "text": "Order 4711 is “late”.", "verdict": "ok", "lines": [1]},
    {"heading": "Issue & <cause>", "text": "She said: <!channel> & 'why'?\nTwice.", "lines": [2]},
    {"heading": "", "text": "Bo sends a new one.", "lines": [3]},
    {"heading": "Amounts", "text": "5 < 8 euros", "verdict": "", "lines": [1]},
    {"heading": "Amounts", "text": "38 euros", "verdict": "", "lines": [2]},
]
HTML = (
    "<h2>Issue &amp; &lt;cause&gt;</h2><ul><li>Order 4711 is “late”.</li>"
    "<li>She said: &lt;!channel&gt; &amp; &#x27;why&#x27;?<br>Twice.</li></ul>"
    "<ul><li>Bo sends a new one.</li></ul><p><b>Amounts:</b> 5 &lt; 8 euros, 38 euros</p>"
    '<p><a href="https://desk.example/reviews/r1?a=1&amp;b">Open the review</a></p>'
)
MRKDWN = (
    "*Issue &amp; &lt;cause&gt;*\n• Order 4711 is “late”.\n"
    "• She said: &lt;!channel&gt; &amp; 'why'?\nTwice.\n\n• Bo sends a new one.\n\n"
    "*Amounts:* 5 &lt; 8 euros, 38 euros\n"
    "<https://desk.example/reviews/r1?a=1&amp;b|Open the review>"
)
LINK = "https://desk.example/reviews/r1?a=1&b"
NOT_FOUND = {"error": "RecordNotFound", "description": "secret words"}
KINDS = {
    "webhook": {"secret": "DESK_SECRET"},
    "zendesk": {"email": "bo@acme.example", "token": "DESK_TOKEN"},
    "intercom": {"admin_id": 3156780, "token": "DESK_TOKEN"},
    "freshdesk": {"api_key": "DESK_TOKEN"},
    "slack": {"channel": "C123", "token": "DESK_TOKEN"},
}


def delivery(ticket="4711", statements=STATEMENTS, **values):
    body = {"ticket": ticket, "conversation": "c", "statements": statements, "text": "Line.\nLine."}
    row = {"id": "0123456789abcdef", "event": "review.approved", "created": 1.7e9, "body": body}
    return SimpleNamespace(**row | values)


def target(kind, url, **more):
    settings = Settings(destinations={"desk": {"kind": kind, "url": url, **KINDS[kind], **more}})
    return open_destinations(settings.destinations, ENVIRONMENT)["desk"]


def sent(kind, receiver, **values):
    """What became of a delivery."""
    chosen = target(kind, receiver.url)
    return asyncio.run(send(chosen.request(delivery(**values), LINK), chosen.connector))


def basic(text):
    return "Basic " + base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    ("kind", "asked", "headers", "body", "answer"),
    [
        (
            "zendesk",
            "PUT /api/v2/tickets/4711.json",
            {"authorization": basic("bo@acme.example/token:t0k3n")},
            {"ticket": {"comment": {"html_body": HTML, "public": False}}},
            {"ticket": {"id": 4711}, "audit": {}},
        ),
        (
            "intercom",
            "POST /conversations/4711/reply",
            {"authorization": "Bearer t0k3n", "intercom-version": "2.14"},
            {"message_type": "note", "type": "admin", "admin_id": "3156780", "body": HTML},
            {"type": "conversation", "id": "4711"},
        ),
        (
            "freshdesk",
            "POST /api/v2/tickets/4711/notes",
            {"authorization": basic("t0k3n:X")},
            {"body": HTML, "private": True},
            {"id": 5, "private": True},
        ),
        (
            "slack",
            "POST /api/chat.postMessage",
            {"authorization": "Bearer t0k3n"},
            {"channel": "C123", "text": MRKDWN, "unfurl_links": False, "unfurl_media": False},
            {"ok": True, "ts": "1.2"},
        ),
    ],
)
def test_each_program_gets_what_its_description_asks_for(kind, asked, headers, body, answer):
    with receiving((200, {}, answer)) as receiver:
        outcome = sent(kind, receiver)
    [got] = receiver.got
    assert (outcome.error, got.asked, json.loads(got.body)) == ("", asked, body)
    assert {"content-type": "application/json", **headers}.items() <= got.headers.items()
    assert got.headers["user-agent"].startswith("Dialogist/")
    assert "webhook-signature" not in got.headers


def test_a_webhook_is_signed_and_says_what_was_decided():
    with receiving((204, {}, "")) as receiver:
        assert sent("webhook", receiver).error == ""
    [got] = receiver.got
    data = {**delivery().body, "link": LINK}
    told = {"type": "review.approved", "timestamp": "2023-11-14T22:13:20Z", "data": data}
    assert (got.asked, json.loads(got.body)) == ("POST /", told)
    assert abs(int(got.headers["webhook-timestamp"]) - time.time()) < 5
    own = signature_of(SECRET, "0123456789abcdef", int(got.headers["webhook-timestamp"]), got.body)
    assert own.items() <= got.headers.items()


def test_the_signature_is_that_of_the_libraries_of_standard_webhooks():
    """The values are those of their own tests."""
    secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    identity, content = "msg_p5jXN8AQM9LWM0D4loKWxJek", b'{"test": 2432232314}'
    told = signature_of(secret, identity, 1614265330, content)["webhook-signature"]
    assert told == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_a_slack_webhook_is_its_secret_address():
    with receiving((200, {}, "ok")) as receiver:
        environment = {"HOOK": f"{receiver.url}/services/T/B/x"}
        settings = Settings(destinations={"team": {"kind": "slack-webhook", "hook": "HOOK"}})
        chosen = open_destinations(settings.destinations, environment)["team"]
        outcome = asyncio.run(send(chosen.request(delivery(), LINK), chosen.connector))
    [got] = receiver.got
    assert (outcome.error, got.asked) == ("", "POST /services/T/B/x")
    assert json.loads(got.body)["text"] == MRKDWN


@pytest.mark.parametrize(
    ("kind", "answer", "error", "is_final", "pause"),
    [
        ("webhook", (500, {}, "x"), "500 Internal Server Error", False, 0),
        ("webhook", (404, {}, "x"), "404 Not Found", False, 0),
        ("webhook", (410, {}, ""), "410 Gone", True, 0),
        ("webhook", (302, {"Location": "/other"}, ""), "302 Found", False, 0),
        ("zendesk", (429, {"Retry-After": "93"}, ""), "429 Too Many Requests", False, 93),
        ("zendesk", (503, {"Retry-After": "@date"}, ""), "503 Service Unavailable", False, 600),
        ("zendesk", (503, {"Retry-After": "9" * 30}, ""), "503 Service", False, 86_400),
        ("zendesk", (503, {"Retry-After": "-1 soon"}, ""), "503 Service", False, 0),
        ("zendesk", (302, {"Location": "/login"}, ""), "302 Found", True, 0),
        ("zendesk", (404, {}, NOT_FOUND), "404 Not Found: RecordNotFound", True, 0),
        ("freshdesk", (401, {}, {"code": "invalid_credentials", "message": "x"}), "401", True, 0),
        ("zendesk", (200, {}, "<html>Sign in</html>"), "answer is of something else", False, 0),
        ("zendesk", (200, {}, "[" * 100_000), "answer is of something else", False, 0),
        ("zendesk", (200, {}, {"tickets": []}), "answer is of something else", False, 0),
        ("slack", (200, {}, {"ok": False, "error": "channel_not_found"}), "channel", True, 0),
        ("slack", (200, {}, {"ok": False, "error": "internal_error"}), "internal", False, 0),
        ("slack", (200, {}, {"ok": False, "error": ["x"]}), "200 OK", True, 0),
        ("zendesk", "garbage", "not reached: RemoteProtocolError", False, 0),
        ("zendesk", "close", "not reached: RemoteProtocolError", False, 0),
        ("zendesk", "drip", "no answer within 1 seconds", False, 0),
        ("zendesk", "endless", "the answer is too large", False, 0),
    ],
)
def test_answers_say_whether_to_try_again(monkeypatch, kind, answer, error, is_final, pause):
    monkeypatch.setattr(connectors, "_DEADLINE", 0.6 if answer == "drip" else 20)
    if "@date" in str(answer):
        answer = (503, {"Retry-After": formatdate(time.time() + 600, usegmt=True)}, "")
    with receiving(answer) as receiver:
        outcome = sent(kind, receiver)
    assert len(receiver.got) == 1
    assert error in outcome.error
    assert "\n" not in outcome.error
    assert "secret words" not in outcome.error
    assert outcome.is_final is is_final
    assert outcome.pause == pytest.approx(pause, abs=2)


def test_a_receiver_that_is_not_there_is_asked_again():
    with receiving() as receiver:
        pass
    outcome = sent("zendesk", receiver)
    assert (outcome.error, outcome.is_final) == ("not reached: ConnectError", False)


@pytest.mark.parametrize(
    ("kind", "given", "error"),
    [
        ("zendesk", {"ticket": "call-17"}, "no ticket there"),
        ("zendesk", {"ticket": "../users/1"}, "no ticket there"),
        ("zendesk", {"ticket": "4711\n"}, "no ticket there"),
        ("zendesk", {"statements": [{"heading": "", "text": "é" * 32_800}]}, "takes 65,535"),
        ("slack", {"statements": [{"heading": "", "text": "é" * 40_000}]}, "takes 40,000"),
    ],
)
def test_what_a_receiver_would_refuse_or_cut_is_not_sent(kind, given, error):
    with pytest.raises(Refused, match=error):
        target(kind, "http://localhost:1").request(delivery(**given), "")


ZENDESK = {"kind": "zendesk", "subdomain": "acme", **KINDS["zendesk"]}
WEBHOOK = {"kind": "webhook", "url": "http://localhost/x", "secret": "DESK_SECRET"}


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"kind": "zendask"}, "kind must be one of webhook, zendesk, intercom"),
        ({"kind": "zendesk"}, "kind zendesk needs email, subdomain, token"),
        ({**ZENDESK, "tokn": "X"}, "unknown key 'tokn'; did you mean 'token'"),
        ({**ZENDESK, "token": "abc123secret"}, "token must name a variable of the environment"),
        ({**ZENDESK, "subdomain": "acme.zendesk.com"}, "the first word of the address alone"),
        ({**ZENDESK, "when": ["rejected"]}, "kind zendesk does not send what is rejected"),
        ({**ZENDESK, "when": ["always"]}, "when"),
        ({**WEBHOOK, "secret": "UNSET"}, "destinations.desk: set the variable UNSET to its secret"),
        ({**WEBHOOK, "secret": "WIDE"}, "set the variable WIDE"),
        ({**WEBHOOK, "secret": "DESK_TOKEN"}, "DESK_TOKEN must be 24 to 64 bytes in base64"),
        ({**WEBHOOK, "url": "http://example.com/x"}, "must be as https://example.com/path"),
        ({**WEBHOOK, "url": "https://me:pw@example.com"}, "must be as https://example.com/path"),
        ({**WEBHOOK, "url": "https://[::1"}, "must be as https://example.com/path"),
        ({**WEBHOOK, "url": "file:///etc/passwd"}, "must be as https://example.com/path"),
        (ZENDESK, "sends summaries to acme.zendesk.com: say --allow-network"),
    ],
)
def test_a_destination_that_cannot_work_is_told_at_the_start(monkeypatch, given, error):
    monkeypatch.delenv("DIALOGIST_ALLOW_NETWORK", raising=False)
    values = {"destinations": {"desk": given}}
    with pytest.raises((ConfigError, UsageError), match=error) as caught:
        open_destinations(Settings.parse(values, "service.yaml").destinations, ENVIRONMENT)
    assert "\n" not in str(caught.value)
    assert "abc123secret" not in str(caught.value)


def test_addresses_are_those_of_the_programs(monkeypatch):
    monkeypatch.setenv("DIALOGIST_ALLOW_NETWORK", "1")
    found = {}
    for kind, given in KINDS.items():
        more = {"webhook": {"url": "https://example.com/a/"}, "slack": {}, "intercom": {}}
        one = {"kind": kind, **given, **more.get(kind, {"subdomain": "acme"})}
        settings = Settings(destinations={kind: one})
        chosen = open_destinations(settings.destinations, ENVIRONMENT)[kind]
        found[kind] = str(chosen.request(delivery(), "").url)
    assert found == {
        "webhook": "https://example.com/a/",
        "zendesk": "https://acme.zendesk.com/api/v2/tickets/4711.json",
        "intercom": "https://api.intercom.io/conversations/4711/reply",
        "freshdesk": "https://acme.freshdesk.com/api/v2/tickets/4711/notes",
        "slack": "https://slack.com/api/chat.postMessage",
    }
