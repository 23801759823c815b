"""The page without JavaScript: forms, the summary beside its transcript, review, sessions."""

import html
import json
import re
from contextlib import contextmanager

import pytest
from tests.service.conftest import Says, serving
from tests.service.test_api import CALL
from tests.service.test_store import rows_of

from dialogist.records import Dialogue, Draft, ReadReport, Statement, Summary, Utterance
from dialogist.service import page, tables
from dialogist.service.problems import Problem
from dialogist.service.reviewed_text import edits_between
from dialogist.service.view import view_of

TALK = (
    "Guest: The air conditioning is dripping on the bed, and my number is 415 555 0132.\n"
    "Agent: I will send a porter in ten minutes.\nGuest: Thank you, I will wait here.\n"
)
OWN = {"Sec-Fetch-Site": "same-origin"}
BROWSER = {"Accept": "text/html", **OWN}


@contextmanager
def browsing(engine, **settings):
    """A client that signed in, with the session alone."""
    with serving(engine, **settings) as service, service.blocking("", **BROWSER) as client:
        signed = client.post("/login", data={"key": service.key})
        assert signed.status_code == 303
        yield client


def fields_of(text):
    """The fields of the form that approves: what is hidden, and the texts."""
    found = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', text)
    texts = r'<textarea(?: form="approve"[^>]*)? name="(\w+)"[^>]*>(.*?)</textarea>'
    found += re.findall(texts, text, re.S)
    return {name: html.unescape(value) for name, value in found}


def test_a_visitor_is_led_to_sign_in_and_a_wrong_key_is_told(engine):
    with serving(engine) as service, service.blocking("", **BROWSER) as client:
        led = client.get("/")
        wrong = client.post("/login", data={"key": "dlg_wrong"})
    assert (led.status_code, led.headers["Location"]) == (303, "/login")
    assert wrong.status_code == 401
    assert "This key is not known." in wrong.text
    assert "set-cookie" not in wrong.headers


def test_a_session_is_kept_from_scripts_and_ends(engine):
    with serving(engine) as service, service.blocking(key="", **OWN) as client:
        cookie = client.post("/login", data={"key": service.key}).headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    with browsing(engine) as client:
        cookie = client.cookies["dialogist_session"]
        out = client.post("/logout", data={"x": ""})
        client.cookies.set("dialogist_session", cookie)
        after = client.get("/")
    assert (out.headers["Location"], after.headers["Location"]) == ("/login", "/login")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "", "Origin": "http://evil.example"}, 403),
        ({"Sec-Fetch-Site": "", "Origin": "null"}, 403),
        ({"Sec-Fetch-Site": ""}, 403),
        ({"Sec-Fetch-Site": "", "Origin": "http://localhost"}, 200),
    ],
)
def test_other_sites_cannot_use_a_session(engine, headers, status):
    with browsing(engine) as client:
        assert client.post("/", data={"text": TALK}, headers=headers).status_code == status
        assert client.post("/v1/summaries", json=CALL, headers=headers).status_code == status


def test_each_statement_is_linked_to_its_turns(engine):
    with browsing(engine) as client:
        reply = client.post("/", data={"text": TALK, "mask": "data", "length": "long"})
    assert reply.status_code == 200
    assert '<a href="#u1" aria-label="Evidence in turn 1">' in reply.text
    assert re.search(r'<mark data-by="\d[ \d]*"[^>]*>The air conditioning', reply.text)
    assert "415 555" not in reply.text
    assert 'class="mask">[PHONE_1]<' in reply.text
    assert "1 value masked" in reply.text
    assert "3 of 3 turns read" in reply.text
    assert len(reply.content) < 100_000


def test_a_form_gives_headings(engine):
    words = "Guest: “The air conditioning is dripping on the bed, and my number is 415 555 0132.”"
    pattern = rf'data-heading="Issue".*?<p class="said">{words}'
    with browsing(engine) as client:
        assert re.search(pattern, client.post("/", data={"text": TALK, "form": "call"}).text, re.S)


def test_a_browser_gets_problems_as_pages_and_a_program_as_json(engine):
    with browsing(engine) as client:
        shown = client.get("/nowhere")
        data = client.get("/nowhere", headers={"Accept": "*/*"})
    assert shown.status_code == data.status_code == 404
    assert f"<h1>{data.json()['title']}</h1>" in shown.text
    assert shown.headers["X-Request-ID"] in shown.text


def test_a_text_that_there_is_no_room_for_is_not_lost(engine):
    with serving(engine, queue_requests=1) as service, service.blocking("", **BROWSER) as client:
        client.post("/login", data={"key": service.key})
        with service.queue.place(1):
            reply = client.post("/", data={"text": TALK})
    assert reply.status_code == 503
    assert "All places are taken" in reply.text
    assert "dripping on the bed" in reply.text


def test_what_cannot_be_read_is_told_beside_the_text(engine):
    with browsing(engine) as client:
        reply = client.post("/", data={"text": "no speaker <here>\nat all"})
    assert reply.status_code == 422
    assert "begin each turn with its speaker" in reply.text
    assert "no speaker &lt;here&gt;" in reply.text


def test_a_summary_is_edited_and_approved_by_a_form_alone(engine):
    with browsing(engine) as client:
        shown = client.post("/", data={"text": TALK, "length": "long", "review": "1"})
        stored = client.get(shown.headers["Location"])
        waiting = client.get("/reviews")
        form = fields_of(stored.text)
        form["after"] = "\n".join([*form["after"].split("\n")[1:], "The guest will be called."])
        done = client.post("/approve", data={**form, "consent": "1"})
        again = client.post("/approve", data=form)
        kept = client.get(done.headers["Location"])
        quality = client.get("/quality")
    assert waiting.text.count('<li><a href="/reviews/') == 1
    assert '<strong>Guest, Agent</strong> <span class="quiet">3 turns' in waiting.text
    assert done.status_code == 303
    assert again.status_code == 409
    assert "Approved with your edits." in kept.text
    assert "The guest will be called." in kept.text
    assert "by test 0" in kept.text
    assert "415" not in kept.text
    assert "<strong>0%</strong> of 1 approved unchanged" in quality.text
    [row] = rows_of(engine, tables.feedback_table)
    assert row.edits["removed"] == row.edits["added"] == 1
    assert "[PHONE_1]" in json.dumps(row.content)
    assert "415" not in json.dumps(row.content)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("summary", "{}"),
        ("summary", '{"schema_version": 4, "text": "", "filled": {"sections": [7]}}'),
        ("summary", "[" * 50),
        ("dialogue", '"no"'),
        ("verdict", "perhaps"),
    ],
)
def test_what_no_page_sends_is_refused_or_read_safely(engine, field, value):
    with browsing(engine) as client:
        form = fields_of(client.post("/", data={"text": TALK}).text)
        assert client.post("/approve", data={**form, field: value}).status_code == (
            303 if field == "verdict" else 400 if value[0] != '"' else 422
        )


def test_readers_say_whether_a_warning_is_right(engine):
    """The second sentence is contradicted, for a name and a number."""
    said = (Draft("Guest: The air conditioning", (0,)), Draft("Zoe has 45 porters.", (1,)))
    with browsing(engine, writer=Says(*said)) as client:
        shown = client.post("/", data={"text": TALK}).text
        form = fields_of(shown)
        for judged in ("right", "right", "wrong"):
            done = client.post("/approve", data={**form, "warning1": judged})
            assert done.status_code == 303
        quality = client.get("/quality").text
    assert "2 of 2 statements should be checked" in shown
    assert '<span class="kind contradicted" role="img" title="contradicted">' in shown
    assert re.search(r"<li>nobody says [^<]*45", shown)
    assert re.findall(r'name="warning1" value="(\w+)"', shown) == ["right", "wrong"]
    assert re.search(r">right</th><td>2</td>", quality)
    assert re.search(r">false alarm</th><td>1</td>", quality)


def rendered(view):
    values = {"form": page._EMPTY, "forms": [], "examples": [], "view": view, "review": "1"}
    values |= dict.fromkeys(("problem", "version", "done", "about", "order"), "")
    return page._PAGES.get_template("home.html.j2").render(values, path="/", signed_in=True)


def test_the_profile_stands_beside_the_transcript_and_is_linked():
    dialogue = Dialogue((), profile={"age": "31", "plan": "<b>Q7"})
    statement = Statement("The plan is dear.", 0, 17, profile=("profile.plan",))
    summary = Summary("The plan is dear.", statements=(statement,))
    shown = rendered(view_of(dialogue, summary.to_json()))
    assert '<div id="p1"><dt>plan</dt><dd>&lt;b&gt;Q7</dd></div>' in shown
    assert re.findall(r'href="#(p\d)"', shown) == ["p1"]


@pytest.mark.parametrize("order", ["", "order=ready"])
def test_review_goes_on_with_the_next_one(engine, order):
    with browsing(engine) as client:
        for _ in range(2):
            shown = client.post("/", data={"text": TALK, "review": "1"})
        first = re.findall("/reviews/([0-9a-f]{16})", client.get("/reviews").text)[0]
        form = fields_of(client.get(f"/reviews/{first}?{order}").text)
        done = client.post("/approve", data=form)
    where = f"{shown.headers['Location']}?done=approved&about={first}" + f"&{order}" * bool(order)
    assert done.headers["Location"] == where


@pytest.mark.parametrize(
    ("after", "edits"),
    [
        ("a b c\nd e f", {"kept": 2}),
        ("d e f\na b c", {"kept": 2, "moved": 1}),
        ("a b x\nd e f", {"kept": 1, "changed": 1}),
        ("d e f", {"kept": 1, "removed": 1}),
        ("a b c\nd e f\ng h", {"kept": 2, "added": 1}),
        ('a b c\nBo: "x y z"', {"kept": 1, "quoted": 1}),
    ],
)
def test_edits_are_counted_by_kind(after, edits):
    assert edits_between(["a b c", "d e f"], after.split("\n")) == edits


def test_more_statements_than_anybody_edits_are_refused():
    """Pairs of lines are compared: it would take hours."""
    with pytest.raises(Problem):
        edits_between(["a"], ["b"] * 2001)


PAYLOADS = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'-alert(1)-'",
    "</textarea><svg onload=alert(1)>",
    "{{7*7}}{% raw %}",
    "javascript:alert(1)",
    "\u202e<b>\u0000",
)


@pytest.mark.parametrize("payload", PAYLOADS)
def test_nothing_that_was_said_is_html(payload):
    said = f"{payload} I will call you at noon."
    summary = Summary(f"{payload} It was said.", id=payload, reason=payload, status="review")
    view = view_of(Dialogue.from_text("A: x\n"), summary.to_json())
    talk = view_of(Dialogue.from_text(f"{payload}: {said}\nB: {said}"), Summary("x").to_json())
    shown = rendered(view) + rendered(talk)
    assert [bad for bad in ("<script>alert", "<img", "<svg", "49", "\0") if bad in shown] == []
    assert shown.count("</textarea>") == shown.count("<textarea")


def test_times_and_what_was_left_out_are_shown():
    reading = ReadReport("chatwoot", 2, 2, {"internal notes": 1}, ("only one speaker is named",))
    said = (Utterance("Ann", "I lost it.", start=65), Utterance("Bo", "Oh.", start=70))
    summary = Summary("I lost it.", reading=reading)
    view = view_of(Dialogue(said), summary.to_json())
    assert [turn.label for turn in view.turns] == ["1:05", "1:10"]
    assert view.notes == ("only one speaker is named", "Left out: 1 internal note")
