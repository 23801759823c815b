"""Take the pictures of the service's pages in docs/images anew: ``python bench/screenshots.py``.

Needs playwright and Debian's Chromium (extra ``dev``). Look at them before you commit them.
"""

import base64
import os
import socket
import tempfile
import threading
from pathlib import Path
from typing import Any

import uvicorn
from playwright.sync_api import sync_playwright

from dialogist.service.keys import add_key
from dialogist.service.server import config_of, create_app
from dialogist.service.settings import Settings
from dialogist.service.tables import open_store
from dialogist.summarizer import Summarizer

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
EXAMPLES = ROOT / "src" / "dialogist" / "assets" / "examples"
TALK = (ROOT / "tests" / "service" / "talks" / "jacket.txt").read_text("utf-8")
STORED = {"visit": "", "hard-chat": "rejected", "meeting": "approved", "support-chat": "approved"}
PAGES = {  # where each is, and what to click there
    "Summarize": ("/", ""),
    "A summary": ("/", "#ask button.main"),
    "With a form": ("/", "[value=support-chat]"),
    "Reviews": ("/reviews?state=open,approved,edited,rejected", ""),
    "A review, approved": ("/reviews?state=approved", "#queue a"),
    "Forms": ("/forms?like=ticket", ""),
    "Quality": ("/quality", ""),
    "Failed deliveries": ("/deliveries", ""),
    "Audit log": ("/audit", ""),
    "Sign in": ("/login", ""),
    "API": ("/docs", ""),
}
WIDE = {"viewport": {"width": 1280, "height": 800}, "device_scale_factor": 1 / 3}
NARROW = {"viewport": {"width": 390, "height": 844}, "device_scale_factor": 1 / 2}
SHEETS = {"1280": WIDE, "390": NARROW, "dark": {**WIDE, "color_scheme": "dark"}}
CELL = """<figure style="display: inline-block; margin: 8px; font: 18px sans-serif">
<img style="outline: 1px solid #ccc" src="data:image/png;base64,{}"><br>{}</figure>"""


def fill(request: Any) -> None:
    """Store reviews; the last one is sent, in vain."""
    for name, verdict in STORED.items():
        talk, as_text = (EXAMPLES / f"{name}.txt").read_text(), {"Content-Type": "text/plain"}
        reply = request.post("/v1/summaries?review=true", data=talk, headers=as_text)
        review = "/v1" + reply.headers["location"]
        if verdict:
            request.post(f"{review}/decision", data={"verdict": verdict})
    request.post(f"{review}/deliveries", data={"to": "desk", "ticket": "4711"})


def shot(shown: Any, name: str) -> str:
    """The picture of a page, in base64."""
    path, click = PAGES[name]
    shown.goto(path)
    if click:
        shown.fill("#text", TALK) if path == "/" else None
        shown.click(click)
        shown.wait_for_selector("#statements, .kept")
    return base64.b64encode(shown.screenshot()).decode()


def pictures(browser: Any, signed_in: dict[str, Any]) -> None:
    """A summary, its second statement pointed at; all pages, small, on three sheets."""
    shown = browser.new_page(**signed_in, viewport={"width": 1200, "height": 680})
    shot(shown, "With a form")
    shown.hover(".statement >> nth=1")
    shown.screenshot(path=IMAGES / "page.png", animations="disabled")  # lit up
    for name, look in SHEETS.items():
        shown = browser.new_page(**signed_in, **look)
        sheet = browser.new_page(viewport={"width": 1360, "height": 100})
        sheet.set_content("".join(CELL.format(shot(shown, one), one) for one in PAGES))
        sheet.screenshot(path=IMAGES / f"pages-{name}.png", full_page=True)


def main() -> None:
    os.environ.setdefault("DIALOGIST_HOME", tempfile.mkdtemp())
    engine = open_store(f"sqlite:///{tempfile.mkdtemp()}/service.db")
    with sync_playwright() as playwright, socket.create_server(("127.0.0.1", 0)) as listener:
        path = os.environ.get("CHROMIUM", "/usr/bin/chromium")
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"  # also its desk, which refuses notes
        desk = {"kind": "zendesk", "url": url, "email": "a@b.example", "token": "DIALOGIST_HOME"}
        settings = Settings.parse({"destinations": {"desk": desk}}, "pictures")
        server = uvicorn.Server(config_of(settings, create_app(settings, engine, Summarizer)))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            key = {"Authorization": f"Bearer {add_key(engine, 'picture')}"}
            signed_in: dict[str, Any] = {"base_url": url, "extra_http_headers": key}
            fill(playwright.request.new_context(**signed_in, fail_on_status_code=True))
            pictures(browser, signed_in)
        finally:
            server.should_exit = True
            thread.join()


if __name__ == "__main__":
    main()
