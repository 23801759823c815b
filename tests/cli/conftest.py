"""A real browser, for the pages that commands write; and runs without plots."""

import importlib.util
from pathlib import Path

import pytest

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = ["--no-sandbox", "--disable-background-networking", "--disable-component-update"]


@pytest.fixture
def browser():
    """Chromium; tests of pages are skipped where there is none."""
    if importlib.util.find_spec("playwright") is None or not CHROMIUM.exists():
        pytest.skip("pages are tried in a browser where playwright and Chromium are installed")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        yield found
        found.close()


@pytest.fixture(scope="module", autouse=True)
def _no_plots():
    """A second for each run; `test_init_train_use` is in a process that draws them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dialogist.recipe.training_run.plot_run", lambda run: None)
        yield
