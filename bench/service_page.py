"""The picture of the service's page in the documentation: a real summary in a real browser.

Needs playwright and Debian's chromium. ``make service-page`` draws it anew.

    python bench/service_page.py --output docs/images/page.png
"""

import argparse
import json
import shutil
import socket
import tempfile
import threading
import time
from pathlib import Path

import uvicorn
from playwright.sync_api import Page, sync_playwright

from dialogist.pipeline.summarizer import Summarizer
from dialogist.serve.app import create_app
from dialogist.serve.keys import add_key
from dialogist.serve.server import config_of
from dialogist.serve.settings import Settings
from dialogist.serve.tables import open_store

_TALK = {
    "profile": {"plan": "Gold", "earlier tickets": "late delivery"},
    "utterances": [
        ["Customer", "Hello, my order 4711 was due on Monday and it has not arrived yet."],
        ["Agent", "I am sorry to hear that. Let me look at the tracking for you."],
        [
            "Agent",
            "The courier lost the parcel in Hull. I will send a new one today for free.",
        ],
        ["Customer", "Great. Can it come to the office this time?"],
        ["Agent", "Yes, I have changed the address. It will be with you on Thursday before noon."],
        ["Customer", "I also want to cancel my plan at the end of the month."],
        ["Agent", "I will ask our contracts team to call you tomorrow."],
        ["Customer", "Thank you."],
    ],
}


def _shoot(page: Page, address: str, key: str, output: Path) -> None:
    page.goto(f"{address}#key={key}")
    page.wait_for_selector("#text")
    page.fill("#text", json.dumps(_TALK))
    page.select_option("#length", "long")
    page.click("form#ask button.main")
    page.wait_for_selector("#statements")
    page.hover(".statement >> nth=1")
    page.wait_for_timeout(300)  # until what lights up has lit up
    page.screenshot(path=output, clip={"x": 0, "y": 0, "width": 1280, "height": 820})


def _main(output: Path) -> None:
    with tempfile.TemporaryDirectory() as folder, socket.socket() as listener:
        engine = open_store(f"sqlite:///{folder}/service.db")
        settings = Settings()
        server = uvicorn.Server(config_of(settings, create_app(settings, engine, Summarizer.load)))
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        while not server.started:
            time.sleep(0.05)
        address = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox"]
            )
            page = browser.new_page(viewport={"width": 1280, "height": 820})
            _shoot(page, address, add_key(engine, "picture"), output)
            browser.close()
        server.should_exit = True
        thread.join()
        engine.dispose()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--output", type=Path, default=Path("docs/images/page.png"))
    _main(parser.parse_args().output)
