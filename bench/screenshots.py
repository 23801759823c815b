"""Take the picture of the service's page in docs/images anew: ``python bench/screenshots.py``.

Needs playwright and Debian's Chromium (extra ``dev``). Look at the picture before you commit it.
"""

import os
import socket
import tempfile
import threading
import time
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
WIDTH, HEIGHT = 1200, 680


def page(browser: Any, folder: Path) -> None:
    """The page of the service with a summary, its second statement pointed at."""
    engine = open_store(f"sqlite:///{folder / 'service.db'}")
    app = create_app(Settings(), engine, Summarizer)
    server = uvicorn.Server(config_of(Settings(), app))
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            while not server.started and thread.is_alive():
                time.sleep(0.05)
            shown = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
            address = f"http://127.0.0.1:{listener.getsockname()[1]}/"
            shown.goto(f"{address}#key={add_key(engine, 'picture')}")
            shown.wait_for_selector("#text")
            shown.click("[value=support-chat]")
            shown.wait_for_selector("#statements")
            shown.hover(".statement >> nth=1")
            shown.wait_for_timeout(300)  # until what lights up has lit up
            shown.screenshot(path=IMAGES / "page.png")
        finally:
            server.should_exit = True
            thread.join()
            engine.dispose()


def main() -> None:
    os.environ.setdefault("DIALOGIST_HOME", tempfile.mkdtemp())
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        path = os.environ.get("CHROMIUM", "/usr/bin/chromium")
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page(browser, Path(folder))
        browser.close()


if __name__ == "__main__":
    main()
