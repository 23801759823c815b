"""The page in a real browser: evidence both ways, keys alone, no script, hostile text.

Skipped where playwright or Debian's Chromium are not installed.
"""

import contextlib
import shutil
from urllib.parse import quote

import httpx2
import pytest
from tests.service.conftest import listening

from dialogist.model_folder.options import SummaryOptions
from dialogist.records import Coverage, EvidenceSpan, Statement, Summary, Warning
from dialogist.service.keys import add_key
from dialogist.service.tables import open_store

sync_api = pytest.importorskip("playwright.sync_api")
CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium")

TALK = (
    "Guest: The air conditioning is dripping on the bed.\n"
    "Agent: I will send a porter in ten minutes.\n"
    "Guest: Thank you, I will wait here.\n"
)
_RUN = ("alert(1)", "alert`1`", "top.alert(1)", "eval('alert(1)')", "\\u0061lert(1)")
_AROUND = (
    "<script>{}</script>",
    "<ScRiPt>{}</sCrIpT>",
    "<img src=x onerror={}>",
    "<svg/onload={}>",
    "<svg><animate onbegin={} attributeName=x dur=1s>",
    "<body onpageshow={}>",
    "<iframe src=javascript:{}>",
    "<iframe srcdoc='<script>parent.{}</script>'>",
    "<details open ontoggle={}>",
    "<video><source onerror={}>",
    "<input autofocus onfocus={}>",
    "<a href=javascript:{}>x</a>",
    "<form action=javascript:{}><button>x",
    "<math href=javascript:{}>x",
    "<object data=javascript:{}>",
    "<style>@keyframes x{{}}</style><b style=animation-name:x onanimationstart={}>",
    '"><script>{}</script>',
    '"autofocus onfocus="{}',
    "' onmouseover='{}",
    "</textarea><script>{}</script>",
    "</p></li></ol><script>{}</script>",
    "--><script>{}</script>",
    "javascript:{}",
    "{{{{constructor.constructor('{}')()}}}}",
    "';{};//",
    "`${{{}}}`",
)
PAYLOADS = [around.format(run) for run in _RUN for around in _AROUND]
FOREIGN = r"""[...document.querySelectorAll("main *")].filter((one) =>
    /^(script|iframe|img|svg|math|object|video|style|b)$/i.test(one.localName)
        && !one.matches("b.speaker")
    || [...one.attributes].some((a) => a.name.startsWith("on")
        || /^javascript:/i.test(a.value) && a.name != "value")
).map((one) => one.outerHTML.slice(0, 200))"""
"""Elements and attributes that no page of ours has; each would be something that was said."""
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
    talk = "".join(
        f"P{n}{p}: I will pay {p} {n} euros.\nB: {p} is fine.\n"
        for n, p in enumerate(PAYLOADS[::5])
    )
    with signed_in(chromium, service, bypass_csp=without_policy) as page:
        summarize(page, talk)
        poke(page)
        page.goto(f"{service[0]}?done={quote(PAYLOADS[0])}")
        page.goto(f"{service[0]}reviews/{quote(PAYLOADS[0])}")


class Parrot:
    """A model that says the same, whatever it reads, and doubts every statement."""

    name, options = "parrot", SummaryOptions(style="faithful")

    def __init__(self, *said):
        self.said = said

    def stream(self, dialogues, options, window=64):
        for dialogue in dialogues:
            statements, warnings, place = [], [], 0
            for number, text in enumerate(self.said):
                span = EvidenceSpan(min(number, 2), 0, 5, 1.0)
                end = place + len(text)
                statements.append(Statement(text, place, end, evidence=(span,)))
                warnings.append(Warning("name", text, place, end, text))
                place = end + 1
            parts = tuple(statements), Coverage(), tuple(warnings)
            yield Summary(
                " ".join(self.said), dialogue.id, "warning", self.said[0], None, (), *parts
            )


@pytest.mark.slow
def test_hundred_payloads_in_every_place_run_nowhere(chromium, tmp_path):
    """Speaker, text, id, profile, what the model says, and address; without the policy's help."""
    assert len(set(PAYLOADS)) >= 100
    engine = open_store(f"sqlite:///{tmp_path / 'service.db'}")
    with listening(engine, Parrot(*PAYLOADS)) as port:
        service = f"http://127.0.0.1:{port}/", add_key(engine, "browser")
        bearer = {"Authorization": f"Bearer {service[1]}"}
        turns = [{"speaker": p, "text": p} for p in PAYLOADS]
        for payload in PAYLOADS:
            body = {"id": payload, "utterances": turns, "review": True, "profile": {"x": payload}}
            reply = httpx2.post(f"{service[0]}v1/summaries", json=body, headers=bearer)
            assert reply.status_code == 200
        with signed_in(chromium, service, bypass_csp=True) as page:
            page.goto(f"{service[0]}reviews")
            assert page.locator(".queue a").count() == 100
            assert page.evaluate(FOREIGN) == []
            page.click(".queue a >> nth=0")
            page.wait_for_selector("#statements")
            assert page.locator(".statement").count() == len(PAYLOADS)
            poke(page)
            for payload in PAYLOADS:
                page.goto(f"{service[0]}?done={quote(payload)}#{payload}")
                assert page.evaluate(FOREIGN) == []
            for payload in PAYLOADS[::10]:
                page.goto(f"{service[0]}{quote(payload)}?{quote(payload)}")
    engine.dispose()


def poke(page):
    """Point at statements, edit and quote one; nothing that was said is an element."""
    for number in range(page.locator(".statement").count())[:5]:
        page.hover(f".statement >> nth={number}")
    for key in ("j", "q", "e"):
        page.keyboard.press(key)
    page.keyboard.type(PAYLOADS[0])
    page.keyboard.press("Enter")
    assert page.evaluate(FOREIGN) == []


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(chromium, tmp_path, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    engine = open_store(f"sqlite:///{tmp_path / 'service.db'}")
    look = {"color_scheme": scheme, "viewport": {"width": 390, "height": 844}}
    with contextlib.ExitStack() as stack:
        port = stack.enter_context(listening(engine, Parrot("It drips.", "A porter comes.")))
        address = f"http://127.0.0.1:{port}/"
        service = address, add_key(engine, "browser")
        page = stack.enter_context(signed_in(chromium, service, **look))

        def check(name):
            page.wait_for_timeout(250)  # until what fades has faded
            found = axe.run(page).response["violations"]
            serious = [one for one in found if one["impact"] in ("serious", "critical")]
            told = [(one["id"], [node["html"][:200] for node in one["nodes"]]) for one in serious]
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
        page.click("#plain summary")
        page.click("#approve button.main")
        page.check("[name=review]")
        summarize(page, TALK)
        for path in ("reviews", "quality", "nowhere"):
            page.goto(f"{address}{path}")
            check(path)
        page.goto(address)
        page.click("header button")
        page.wait_for_selector("#login")
        check("login")
    engine.dispose()


def test_the_page_is_small_and_soon_there(chromium, service):
    with signed_in(chromium, service) as page:
        page.reload()
        loaded = page.evaluate("performance.getEntriesByType('navigation')[0].domInteractive")
        assert 0 < loaded < 1000
        sizes = page.evaluate(
            "['navigation', 'resource'].flatMap((kind) => performance.getEntriesByType(kind))"
            ".map((entry) => entry.decodedBodySize)"
        )
        assert len(sizes) >= 3
        assert 10_000 < sum(sizes) < 100_000
