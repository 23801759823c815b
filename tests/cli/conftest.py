"""A real browser, for the pages that commands write; runs without plots, few bootstrap samples."""

import importlib.util
from dataclasses import replace
from pathlib import Path

import pytest

from dialogist.evaluation import significance

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
    """A second for each run; `test_init_train_use` draws them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dialogist.recipe.training_run.plot_run", lambda run: None)
        yield


@pytest.fixture(scope="module", autouse=True)
def _few_samples():
    """Half a second for each table; tests/evaluation looks at the intervals themselves."""
    real = significance.bootstrap_counts
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "dialogist.evaluation.significance.bootstrap_counts",
            lambda outputs, options: real(outputs, replace(options, samples=200)),
        )
        yield
