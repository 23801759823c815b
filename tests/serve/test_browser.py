"""The page in a real browser: evidence both ways, keys alone, no script, hostile text.

Skipped where playwright or Debian's Chromium are not installed.
"""

import contextlib
import shutil

import pytest
from tests.serve.conftest import listening

from dialogist.serve.keys import add_key
from dialogist.serve.tables import open_store

sync_api = pytest.importorskip("playwright.sync_api")
CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium")

TALK = (
    "Guest: The air conditioning is dripping on the bed.\n"
    "Agent: I will send a porter in ten minutes.\n"
    "Guest: Thank you, I will wait here.\n"
)
_ARGUMENTS = ["--no-sandbox", "--disable-background-networking", "--disable-component-update"]


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """The address of a service, and a key."""
    engine = open_store(f"sqlite:///{tmp_path_factory.mktemp('store') / 'service.db'}")
    with listening(engine) as port:
        yield f"http://127.0.0.1:{port}/", add_key(engine, "browser")
    engine.dispose()


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


def summarize(page, talk):
    page.fill("#text", talk)
    page.select_option("#length", "long")
    page.click("form#ask button.main")
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
        for key in ("j", "q", "j", "e"):
            page.keyboard.press(key)
        page.keyboard.type(" Soon.")
        for key in ("Enter", "j", "x"):
            page.keyboard.press(key)
        lines = page.input_value("#after").split("\n")
        assert lines[0] == "Guest: “The air conditioning is dripping on the bed.”"
        assert lines[1].endswith("in ten minutes. Soon.")
        assert len(lines) == 2
        page.keyboard.press("u")
        assert len(page.input_value("#after").split("\n")) == 3
        page.keyboard.press("a")
        page.keyboard.press("Enter")
        page.wait_for_url("**/?done=edited")


def test_the_main_job_needs_no_script(chromium, service):
    with signed_in(chromium, service, java_script_enabled=False) as page:
        page.fill("#text", TALK)
        page.click("form#ask button.main")
        page.click(".statement a >> nth=0")
        assert page.url.endswith("#u1")
        page.click("#plain summary")
        page.fill("#after", "All is well.")
        page.click("#approve button.main")
        assert "Your edit is recorded." in page.text_content("main")


@pytest.mark.parametrize("without_policy", [False, True])
def test_no_script_that_was_said_runs(chromium, service, without_policy):
    """Even where the browser does not enforce the policy: everything is escaped."""
    parts = ("<script>{}</script>", "<img src=x onerror={}>", "<svg/onload={}>", '"onfocus="{}"x="')
    more = ("</textarea><script>{}</script>", "';{};//", "`${{{}}}`", "<a href=javascript:{}>x</a>")
    closing = (
        "</p></li><iframe srcdoc='<script>parent.{}</script>'>",
        "{{{{constructor('{}')()}}}}",
    )
    payloads = [one.format("alert(1)") for one in (*parts, *more, *closing)]
    talk = "".join(
        f"P{n}{p}: I will pay {p} {n} euros.\nB: {p} is fine.\n" for n, p in enumerate(payloads * 5)
    )
    with signed_in(chromium, service, bypass_csp=without_policy) as page:
        summarize(page, talk)
        for number in range(page.locator(".statement").count())[:5]:
            page.hover(f".statement >> nth={number}")
        page.keyboard.press("j")
        page.keyboard.press("q")
        assert page.locator("main iframe, main img, main svg, main script").count() == 0
        page.goto(f"{service[0]}?done={payloads[0]}")
        page.goto(f"{service[0]}reviews/{payloads[0]}")


def test_the_page_is_small(chromium, service):
    with signed_in(chromium, service) as page:
        sizes = page.evaluate(
            "['navigation', 'resource'].flatMap((kind) => performance.getEntriesByType(kind))"
            ".map((entry) => entry.decodedBodySize)"
        )
        assert len(sizes) >= 3
        assert 10_000 < sum(sizes) < 100_000
