"""The page in a real browser: evidence both ways, keys alone, no script, hostile text.

Skipped where playwright or Debian's Chromium are not installed.
"""

import contextlib
import json
import shutil
from pathlib import Path
from urllib.parse import quote

import httpx2
import pytest
from tests.chat_server import ChatServer
from tests.core.test_language_model import statements, verdicts
from tests.service.conftest import Says, listening
from tests.service.receiver import receiving
from tests.service.test_connectors import KINDS

from dialogist.records import Draft
from dialogist.service.keys import add_key
from dialogist.service.tables import open_store

sync_api = pytest.importorskip("playwright.sync_api")
CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium")

TALK = (
    "Guest: The air conditioning is dripping on the bed.\n"
    "Agent: I will send a porter in ten minutes.\n"
    "Guest: Thank you, I will wait in the bar until he is done.\n"
)
TALKS = Path(__file__).parent / "talks"
JACKET = (TALKS / "jacket.txt").read_text("utf-8")
RETURNS = """name: returns
title: Return of goods
language: en
version: 1
sections:
  - {title: Order, source: field, type: order}
  - {title: Why <b>now</b>, source: issue}
"""
PAYLOADS = [
    "<script>alert(1)</script>",
    "<ScRiPt>top.alert(1)</sCrIpT>",
    "<img src=x onerror=alert(1)>",
    "<svg/onload=alert`1`>",
    "<svg><animate onbegin=alert(1) attributeName=x dur=1s>",
    "<iframe srcdoc='<script>parent.alert(1)</script>'>",
    "<details open ontoggle=alert(1)>",
    "<input autofocus onfocus=alert(1)>",
    "<a href=javascript:alert(1)>x</a>",
    "<style>@keyframes x{}</style><b style=animation-name:x onanimationstart=alert(1)>",
    '"><script>alert(1)</script>',
    '"autofocus onfocus="alert(1)',
    "</textarea><script>alert(1)</script>",
    "</p></li></ol><script>alert(1)</script>",
    "{{constructor.constructor('alert(1)')()}}",
    "`${alert(1)}`",
]
FOREIGN = r"""[...document.querySelectorAll("main *")].filter((one) =>
    /^(script|iframe|img|svg|math|object|video|style|b)$/i.test(one.localName)
        && !one.matches("b.speaker")
    || [...one.attributes].some((a) => a.name.startsWith("on")
        || /^javascript:/i.test(a.value) && a.name != "value")
).map((one) => one.outerHTML.slice(0, 200))"""
"""Elements and attributes that no page of ours has; each would be something that was said."""
_ARGUMENTS = ["--no-sandbox", "--disable-background-networking", "--disable-component-update"]


@contextlib.contextmanager
def at_a_port(folder, writer="highlights", **settings):
    """The address of a service, and a key."""
    engine = open_store(f"sqlite:///{folder / 'service.db'}")
    with listening(engine, writer, **settings) as port:
        yield f"http://127.0.0.1:{port}/", add_key(engine, "browser")
    engine.dispose()


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with at_a_port(tmp_path_factory.mktemp("store")) as service:
        yield service


@pytest.fixture(scope="module")
def chromium():
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=_ARGUMENTS)
        yield browser
        browser.close()


@contextlib.contextmanager
def signed_in(chromium, service, **options):
    """A page after signing in; what goes wrong in its scripts fails the test."""
    address, key = service
    context = chromium.new_context(**options)
    page = context.new_page()
    failures = []
    page.on("pageerror", lambda error: failures.append(error))
    page.on("dialog", lambda dialog: (failures.append(dialog.message), dialog.dismiss()))
    page.goto(f"{address}login")
    page.fill("#key", key)
    page.keyboard.press("Enter")
    page.wait_for_url(address)
    yield page
    assert failures == []
    context.close()


def summarize(page, talk, length="long", form=""):
    page.fill("#text", talk)
    page.select_option("#length", length)
    page.select_option("#form", form)
    page.click("#ask button.main")
    page.wait_for_selector("#statements")


def test_the_first_key_signs_in_by_its_link_alone(chromium, service):
    address, key = service
    page = chromium.new_page()
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{address}#key={key}")
    page.wait_for_selector("#text")
    assert page.url == address
    assert not [url for url in asked if key in url]
    page.close()


def test_evidence_lights_up_both_ways(chromium, service):
    with signed_in(chromium, service) as page:
        summarize(page, TALK)
        page.hover(".statement >> nth=1")
        assert page.text_content("mark.lit") == "I will send a porter in ten minutes."
        page.hover("#u1 mark")
        assert "air conditioning" in page.text_content(".statement.lit .said")
        page.click("#u3 mark")
        page.mouse.move(0, 0)
        assert "wait" in page.text_content(".statement.lit .said")


def test_a_review_is_done_by_keys_alone(chromium, service):
    with signed_in(chromium, service) as page:
        page.check("[name=review]")
        summarize(page, TALK)
        page.goto(f"{service[0]}reviews")
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        page.wait_for_selector("#statements")
        for key in ("j", "j", "e"):
            page.keyboard.press(key)
        page.keyboard.type(" Soon.")
        for key in ("Enter", "j", "x"):
            page.keyboard.press(key)
        lines = page.input_value("#after").split("\n")
        assert lines[1].endswith(" Soon.")
        assert len(lines) == 2
        page.keyboard.press("u")
        assert len(page.input_value("#after").split("\n")) == 3
        page.keyboard.press("a")
        page.wait_for_url("**?done=edited*")
        page.click("text=Undo >> nth=0")
        page.wait_for_selector("#approve", state="attached")
        assert " Soon." not in page.text_content("#statements")


def test_a_quote_of_two_people_keeps_both(chromium, service):
    with signed_in(chromium, service) as page:
        summarize(page, JACKET)
        said = page.text_content(".said >> nth=0")
        assert said.count("“") == 2
        for key in ("j", "e", "x", "Escape", "q"):
            page.keyboard.press(key)
        assert page.text_content(".said >> nth=0") == said


def test_what_is_rejected_says_why_and_comes_back(chromium, service):
    with signed_in(chromium, service, java_script_enabled=False) as page:
        page.check("[name=review]")
        page.fill("#text", TALK.replace("porter", "plumber"))
        page.click("#ask button.main")
        page.click("#reject summary")
        page.fill("#reason", "The plumber <b>was</b> not asked for.")
        page.click("button[value=rejected]")
        page.goto(f"{service[0]}reviews?state=rejected&search=plumber")
        page.click(".queue a >> nth=0")
        assert "The plumber <b>was</b> not asked for." in page.text_content("main")
        page.click("text=Delete")
        assert "Deleted." in page.text_content("main")
        for _ in range(2):  # the deletion, then the rejection
            page.click("button:text-is('Undo') >> nth=0")
            page.wait_for_url("**?done=undone")
        page.wait_for_selector("button[value=approved]")


def test_a_note_reaches_its_ticket(chromium, tmp_path, monkeypatch):
    monkeypatch.setenv("DESK_TOKEN", "t0k3n")
    with receiving((404, {}, {}), (200, {}, {"ticket": {"id": 4711}})) as server:
        desk = {"kind": "zendesk", "url": server.url, **KINDS["zendesk"]}
        with (
            at_a_port(tmp_path, destinations={"desk": desk}) as service,
            signed_in(chromium, service) as page,
        ):
            summarize(page, TALK)
            page.click("button[value=approved]")
            for given, state in (("4711a", ":invalid"), (" #4711", ".badge.dead")):
                page.fill("[name=ticket]", given)
                page.click("text=Send to desk")
                page.wait_for_selector(state)
            assert "404 Not Found (ticket 4711)" in page.text_content(".queue")
            page.click("text=Send again")
            page.wait_for_selector(".badge.sent")
    assert [one.asked for one in server.got] == ["PUT /api/v2/tickets/4711.json"] * 2
    assert "air conditioning" in server.got[1].body.decode()


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [
        ("text", "Problem\n- Customer: “"),
        ("markdown", "## Problem\n\n- Customer: “"),
        ("rich", "<h3>Problem</h3><ul><li>Customer: “"),
        ("json", '"schema_version"'),
    ],
)
def test_copies_have_headings_labels_and_lines(chromium, service, kind, wanted):
    with signed_in(chromium, service, permissions=["clipboard-read", "clipboard-write"]) as page:
        summarize(page, JACKET, form="ticket")
        page.click("#copy summary")
        page.click(f"[data-copy={kind}]")
        page.wait_for_selector("#toast.on")
        mime = "text/html" if kind == "rich" else "text/plain"
        copied = page.evaluate(f"""navigator.clipboard.read().then(([one]) =>
            one.getType("{mime}")).then((blob) => blob.text())""")
        assert wanted in copied.replace('"Hi', "“Hi").replace("\\", "")
        if kind != "json":
            assert "jacket last week" in copied
            assert "[1]" in copied
            label = {"rich": "<b>Order: </b>48", "markdown": "**Order:** 48", "text": "Order: 48"}
            assert label[kind] in copied


def test_it_is_done_again_without_pasting(chromium, service):
    with signed_in(chromium, service) as page:
        page.click("[value=support-chat]")
        page.wait_for_selector("#statements")
        assert page.input_value("#form") == "ticket"
        assert page.locator(".values .said").count() >= 2
        page.select_option("#form", "")
        page.select_option("#length", "short")
        page.click("text=Summarize again")
        page.wait_for_selector("#statements")
        assert not page.locator(".part").count()
        assert page.locator(".statement").count() <= 3


@pytest.mark.parametrize("script", [True, False])
def test_an_own_form_is_checked_filled_in_stored_and_chosen(chromium, service, script):
    with signed_in(chromium, service, java_script_enabled=script) as page:
        page.goto(f"{service[0]}forms")
        page.fill("#text", RETURNS.replace("field", "feld"))
        page.click("[value=preview]")
        assert "line 6" in page.text_content("[role=alert]")
        page.fill("#text", RETURNS)
        page.click("[value=preview]")
        assert "down since Monday" in page.text_content("[data-heading='Why <b>now</b>']")
        page.click("[value=store]")
        assert "Return of goods" in page.text_content(".queue")
        page.goto(service[0])
        page.fill("#text", JACKET)
        page.select_option("#form", label="Return of goods")
        page.click("#ask button.main")
        assert "48-22917" in page.text_content(".values")
        assert "within 14 days." in page.text_content("details.note")
        assert "inside is an XL" not in page.text_content("details.note")  # but in a section
        page.goto(f"{service[0]}forms")
        page.click("[value=delete]")
        assert "Return of goods" not in page.text_content(".queue")


@pytest.mark.parametrize(
    ("talk", "form", "most"),
    [("jacket", "", 450), ("jacket", "ticket", 520), ("router", "call", 1400)],
)
def test_a_summary_fits_its_screens(chromium, service, talk, form, most):
    """At a width of 1280: its height, what is sent in all, and nothing moves once it is drawn."""
    with signed_in(chromium, service, viewport={"width": 1280, "height": 800}) as page:
        page.add_init_script("""window.moved = 0; new PerformanceObserver((list) => {
            for (const one of list.getEntries()) window.moved += one.value;
        }).observe({ type: "layout-shift", buffered: true });""")
        sizes = []
        page.on("requestfinished", lambda one: sizes.append(one.sizes()["responseBodySize"]))
        summarize(page, (TALKS / f"{talk}.txt").read_text("utf-8"), "", form)
        page.wait_for_timeout(200)
        assert page.evaluate("document.querySelector('.summary').offsetHeight") <= most
        assert page.evaluate("window.moved") == 0
        assert sum(sizes) < 100_000


def test_a_phone_jumps_both_ways(chromium, service):
    look = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    with signed_in(chromium, service, **look) as page:
        summarize(page, JACKET)
        page.tap(".said >> nth=3")
        assert "refund of 89.90" in page.text_content("#proof")
        page.tap("#proof a")
        assert page.url.endswith("#u8")
        assert page.evaluate("document.querySelector('#u8').getBoundingClientRect().top") < 600
        page.tap("#u11 mark")
        said = page.locator(".statement.lit .said")
        assert "My email changed" in said.text_content()
        assert 0 < said.bounding_box()["y"] < 500
        page.tap("#turns a.number >> nth=0")
        assert -1 < page.locator(".statement.lit").bounding_box()["y"] < 500
        assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_the_main_job_needs_no_script(chromium, service):
    with signed_in(chromium, service, java_script_enabled=False) as page:
        page.fill("#text", TALK)
        page.click("#ask button.main")
        page.click(".statement a >> nth=0")
        assert page.url.endswith("#u1")
        page.click("#u1 a")
        assert page.url.endswith("#s1")
        page.click("#plain summary")
        page.fill("#after", "All is well.")
        page.click("button[value=approved]")
        assert "Approved with your edits." in page.text_content("main")
        assert "All is well." in page.text_content("#statements")


@pytest.mark.parametrize("script", [True, False])
def test_statements_appear_while_a_model_writes(chromium, tmp_path, script):
    """And give way to the whole, with a script and without one."""
    pytest.importorskip("openai")
    both = json.dumps(json.loads(statements("A porter comes.")) | json.loads(verdicts("supported")))
    with ChatServer(both, seconds=1.0) as server:
        writer = f"openai:{server.url}#tiny?cache=off"
        with (
            at_a_port(tmp_path, writer) as service,
            signed_in(chromium, service, java_script_enabled=script) as page,
        ):
            page.fill("#text", TALK)
            page.click("#ask button.main", no_wait_after=True)
            page.wait_for_selector(".writing .said")
            assert not page.locator("#statements").count()
            page.wait_for_selector("#statements")
            assert page.get_attribute("#statements .kind", "title") == "supported"
            assert not page.is_visible(".writing")


def parrot(*texts):
    """A writer of whom every statement is doubted."""
    return Says(*(Draft(text, (min(n, 2),)) for n, text in enumerate(texts)))


@pytest.mark.slow
def test_payloads_in_every_place_run_nowhere(chromium, tmp_path):
    """Speaker, text, id, profile, what the writer says, and address; without the policy's help."""
    with at_a_port(tmp_path, parrot(*PAYLOADS)) as service:
        bearer = {"Authorization": f"Bearer {service[1]}"}
        turns = [{"speaker": p, "text": p} for p in PAYLOADS]
        for payload in PAYLOADS:
            body = {"id": payload, "utterances": turns, "review": True, "profile": {"x": payload}}
            body["options"] = {"unsupported": "mark"}
            reply = httpx2.post(f"{service[0]}v1/summaries", json=body, headers=bearer)
            assert reply.status_code == 200
        with signed_in(chromium, service, bypass_csp=True) as page:
            page.goto(f"{service[0]}reviews")
            assert page.locator(".queue a").count() == len(PAYLOADS)
            assert page.evaluate(FOREIGN) == []
            page.click(".queue a >> nth=0")
            page.wait_for_selector("#statements")
            assert page.locator(".statement").count() == len(PAYLOADS)
            for number in range(5):
                page.hover(f".statement >> nth={number}")
            for key in ("j", "q", "e"):
                page.keyboard.press(key)
            page.keyboard.type(PAYLOADS[0])
            page.keyboard.press("Enter")
            assert page.evaluate(FOREIGN) == []
            for payload in PAYLOADS:
                page.goto(f"{service[0]}?done={quote(payload)}#{payload}")
                assert page.evaluate(FOREIGN) == []
                page.goto(f"{service[0]}{quote(payload)}?{quote(payload)}")


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(chromium, tmp_path, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    look = {"color_scheme": scheme, "viewport": {"width": 390, "height": 844}}
    with (
        at_a_port(tmp_path, parrot("It drips.", "A porter comes.")) as service,
        signed_in(chromium, service, **look) as page,
    ):
        address = service[0]

        def check(name):
            page.wait_for_timeout(250)  # until what fades has faded
            found = axe.run(page).response["violations"]
            told = [(one["id"], [node["html"][:200] for node in one["nodes"]]) for one in found]
            assert told == [], name

        check("form")
        summarize(page, TALK)
        assert page.locator(".doubt").count()
        page.keyboard.press("j")
        check("summary")
        page.keyboard.press("e")
        check("editing")
        page.set_viewport_size({"width": 1440, "height": 900})
        page.keyboard.press("Enter")
        check("wide")
        for menu in ("reject", "copy", "plain"):
            page.click(f"#{menu} summary")
            check(menu)
        page.click("button[value=approved]")
        page.wait_for_selector(".kept")
        check("approved")
        page.goto(address)
        page.check("[name=review]")
        summarize(page, TALK)
        pages = "reviews reviews?state=approved,edited forms?like=ticket audit quality docs nowhere"
        for path in pages.split():
            page.goto(f"{address}{path}")
            check(path)
            assert page.evaluate("document.documentElement.scrollWidth") == 1440, path
        page.goto(address)
        page.click("header button")
        page.wait_for_selector("#login")
        check("login")
