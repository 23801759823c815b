"""The documentation: its links, its navigation, its code, its reference, its language."""

import importlib
import pkgutil
import re
import shlex
import shutil
import subprocess
import sys
import threading
import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.parse import urljoin

import pytest
import typer.main
import yaml

from dialogist.cli.main import app
from dialogist.language.reported_speech import telling

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
OTHERS = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "bench/README.md", "examples/README.md")
BUDGET = 20_000
"""Words of the four parts, as `wc -w` counts them, without what is generated."""
PARTS = ("tutorials", "how-to", "reference", "explanation")
MEAN, LONGEST = 18, 40
"""Words of a sentence: of a page on average, and at most."""


@pytest.fixture(scope="module")
def bench() -> Iterator[Any]:
    """Import a module of bench/."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "bench"))
        yield importlib.import_module


@pytest.fixture(scope="module")
def site(bench, tmp_path_factory) -> Path:
    """The docs with their reference, as `make docs` builds them."""
    folder = tmp_path_factory.mktemp("site") / "docs"
    shutil.copytree(DOCS, folder, ignore=shutil.ignore_patterns("generated"))
    bench("reference").main(folder / "reference" / "generated")
    return folder


def text_of(page: Path) -> str:
    """A page without its code blocks."""
    return re.sub(r"^ *```.*?^ *```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as Python-Markdown makes them."""
    found = set()
    for heading in re.findall(r"^#+ (.*)$", text_of(page), re.M):
        found.add(slug(heading))
    return found


def slug(heading: str) -> str:
    """The anchor of one heading."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
    ascii_only = unicodedata.normalize("NFKD", plain).encode("ascii", "ignore").decode()
    kept = re.sub(r"[^\w\s-]", "", ascii_only).strip().lower()
    return re.sub(r"[-\s]+", "-", kept)


def broken_links(page: Path, outside: Path | None = None) -> list[str]:
    """Links of a page that lead nowhere; addresses of the web are not asked."""
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", text_of(page)):
        path, _, anchor = target.partition("#")
        if "://" in target or target.startswith("mailto:"):
            continue
        file = page.parent / path if path else page
        if not file.exists() and outside is not None:  # from the site back into the repository
            file = outside.parent / path
        is_there = file.exists() and (not anchor or file.suffix != ".md" or anchor in anchors(file))
        if not is_there:
            broken.append(target)
    return broken


def test_no_link_is_broken(site):
    broken = {
        page.relative_to(site).as_posix(): found
        for page in site.rglob("*.md")
        if (found := broken_links(page))
    }
    assert not broken


@pytest.mark.parametrize("name", OTHERS)
def test_no_link_into_the_docs_is_broken(name):
    assert broken_links(ROOT / name) == []


def test_a_broken_link_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# A heading\n[x](gone.md) [y](#a-heading) [z](#another)\n```\n[c](no)\n```\n")
    assert broken_links(page) == ["gone.md", "#another"]


def nav_pages(entries: list[Any]) -> Iterator[str]:
    for entry in entries:
        for value in entry.values():
            yield from nav_pages(value) if isinstance(value, list) else (value,)


def test_every_page_is_in_the_navigation(site):
    settings = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    listed = list(nav_pages(settings["nav"]))
    assert len(listed) == len(set(listed))
    pages = {page.relative_to(site).as_posix() for page in site.rglob("*.md")}
    dated = {page for page in pages if re.match(r"notes/\d{4}-\d\d-\d\d-", page)}
    assert pages - dated == set(listed)
    index = (site / "notes" / "index.md").read_text(encoding="utf-8")
    assert {page.removeprefix("notes/") for page in dated} == set(re.findall(r"\((20.*?)\)", index))


def test_every_page_is_three_clicks_from_the_start(site):
    reached, border = {site / "index.md"}, [site / "index.md"]
    for _ in range(3):
        targets = (
            (page.parent / target).resolve()
            for page in border
            for target in re.findall(r"\]\(([^)#\s]+\.md)", text_of(page))
        )
        border = [page for page in targets if page.exists() and page not in reached]
        reached.update(border)
    assert {page.relative_to(site) for page in site.rglob("*.md") if page not in reached} == set()


def test_the_language_is_plain(bench):
    readability = bench("readability")
    long = []
    for page in readability.written_pages():
        text = page.read_text(encoding="utf-8")
        counts = [(len(readability._WORD.findall(one)), one) for one in readability.sentences(text)]
        mean = sum(count for count, _ in counts) / len(counts)
        assert mean <= MEAN, f"{page}: {mean:.1f} words a sentence"
        long += [f"{page.name}: {one}" for count, one in counts if count > LONGEST]
    assert not long


def test_the_four_parts_are_short():
    made = re.compile(r"<!-- (table|drawn): [\w-]+ -->\n.*?<!-- /\1 -->", re.S)
    pages = [page for part in PARTS for page in sorted((DOCS / part).glob("*.md"))]
    assert {page.parent.name for page in pages} == set(PARTS)
    words = {page: len(made.sub("", page.read_text("utf-8")).split()) for page in pages}
    assert sum(words.values()) <= BUDGET, sorted(words.items(), key=lambda item: -item[1])[:5]


def test_sentences_are_counted_as_people_do(bench):
    readability = bench("readability")
    text = "# Title\n\nOne two. Three `a b` four?\n\n* five [six](x.md)\n* seven\n\n| no | no |\n"
    found = list(readability.sentences(text))
    assert found == ["One two.", "Three code four?", "* five six", "* seven"]
    assert len(readability._WORD.findall(found[1])) == 3


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= 900


def test_the_page_of_results_is_short_and_its_tables_are_those_of_the_data(bench):
    results = bench("results_page")
    for page in results.PAGES:
        text = page.read_text(encoding="utf-8")
        assert results.BLOCK.search(text)
        assert results.filled(text) == text, f"{page}: run python bench/results_page.py"
    assert bench("readability").words((DOCS / "results.md").read_text("utf-8")) <= 700


def test_papers_quote_measured_figures_only(bench):
    quoted = bench("results_page").quoted
    row = {"from": "kdd19-systems/corpus/kdd-transformer"}
    assert quoted("{bleu} and {rougeL}", row) == "37.2 and 47.4 (45.4 to 49.4)"
    assert quoted("{/kdd19-systems/cost/corpus/updates} updates", {}) == "1250 updates"
    with pytest.raises(KeyError):
        quoted("{meteor}", row)


def written() -> list[Path]:
    pages = (page for page in sorted(DOCS.rglob("*.md")) if page.parent.name != "generated")
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *pages]


@pytest.fixture(scope="module")
def commands() -> dict[str, set[str]]:
    """Every command and its options."""
    found: dict[str, set[str]] = {}

    def add(command: Any, path: str) -> None:
        for name, inner in getattr(command, "commands", {}).items():
            add(inner, f"{path} {name}")
        shown = (one for one in command.params if not getattr(one, "hidden", False))
        found[path] = {"--help", *(f for one in shown for f in (*one.opts, *one.secondary_opts))}

    add(typer.main.get_command(app), "dialogist")
    return found


@pytest.mark.parametrize("page", written(), ids=lambda page: page.name)
def test_commands_exist(page, commands):
    """Every `$ dialogist ...` of a page names a real command with real options."""
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    lines = re.findall(r"^(?:\$ (?:\.venv/bin/)?|.*`)(dialogist [a-z][^\n|<`]*)", text, re.M)
    for line in lines:
        words = shlex.split(line.partition(" > ")[0], comments=True)
        name = next((n for n in (" ".join(words[:k]) for k in (3, 2)) if n in commands), None)
        assert name, line
        for flag in (word for word in words if re.match(r"--?[a-z]", word)):
            assert flag in commands[name] | {"--install-completion"}, f"{line}: {flag}"


PYTHON = [
    page
    for page in written()
    if re.search(r"^```python\n(?!>>>)", page.read_text(encoding="utf-8"), re.M)
    and page.parent.name != "notes"
]


UNSTEADY = {"summary.status, summary.text"}
"""What differs between processors: a network computes in what is fastest there."""


@pytest.mark.parametrize("page", PYTHON, ids=lambda page: page.name)
def test_python_says_what_the_page_shows(page, tmp_path, monkeypatch, capsys):
    """The blocks of a page, one after the other; the file that a page reads is there.

    What a block prints stands in comments at its end.
    """
    monkeypatch.chdir(tmp_path)
    turns = '[["Ann", "Shall we have lunch at noon?"], ["Bo", "Yes, let us go to Luigi."]]'
    Path("chats.jsonl").write_text(f'{{"id": "1", "turns": {turns}}}\n', encoding="utf-8")
    names: dict[str, object] = {}
    for block in re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.M | re.S):
        code, _, comments = block.partition("\n# ")
        exec(compile(block, str(page), "exec"), names)
        printed = capsys.readouterr().out
        if not any(f"print({one})" in code for one in UNSTEADY):
            shown = "\n".join(re.findall(r"^# ?(.*)$", f"# {comments}", re.M))
            assert shown.rstrip() == printed.rstrip(), block


@pytest.mark.parametrize("page", written(), ids=lambda page: page.name)
def test_yaml_is_yaml(page):
    for block in re.findall(r"^```yaml\n(.*?)^```", page.read_text("utf-8"), re.M | re.S):
        assert yaml.safe_load(block), block


def test_the_reference_names_every_option(site, commands):
    page = (site / "reference" / "generated" / "command-line.md").read_text(encoding="utf-8")
    for name, flags in commands.items():
        if name != "dialogist":
            section = page.split(f"## {name}\n")[1].split("\n## ")[0]
            missing = {flag for flag in flags - {"--help", "-h"} if f"`{flag}`" not in section}
            assert not missing, name


TASKS = {
    "Make a first summary of my file": (
        ["tutorials/first-summary.md"],
        "dialogist summarize visit.txt",
    ),
    "Which names of CSV columns are known?": (
        ["reference/generated/formats.md#names-of-columns-and-keys"],
        "`ticket_id`",
    ),
    "Mask names, and get them back": (["how-to/mask.md"], "--restore"),
    "Get minutes of a meeting": (["how-to/meetings.md"], "--template meeting"),
    "Fine-tune the bundled model on my chats": (
        ["tutorials/train-your-own.md"],
        "dialogist finetune chats.csv",
    ),
    "How good is it on customer service?": (["results.md#scores"], "TweetSumm"),
    "May I use it at work?": (["reference/licences.md"], "commercial use"),
    "What does coverage mean?": (["reference/summary.md#coverage"], "`utterances_read`"),
    "Where do I get DialogSum, and how do I name its folder?": (
        ["reference/data-sets.md"],
        "`dialogsum/train.jsonl`",
    ),
    "Use my own model in Python": (
        ["reference/summary.md#your-own-model"],
        'Summarizer.load("runs/chats")',
    ),
    "Why does a warning say `tentative`?": (
        ["reference/generated/summary-json.md#values-of-kind-of-a-warning"],
        "`tentative`",
    ),
    "Which options can a template's section have?": (
        ["how-to/templates.md", "../reference/generated/configuration.md#sectionconfig"],
        "`labels`",
    ),
}
"""Tasks of new users: the links that lead there from the start page, and what answers them.

docs/notes/2026-11-25-ten-tasks.md has how they were walked."""
READ_IN_A_MINUTE = 250
"""Words that people read in a minute, at leisure."""


def after(text: str, anchor: str) -> str:
    """What stands from a heading on."""
    for heading in re.finditer(r"^#+ (.*)$", text, re.M):
        if anchor in ("", slug(heading[1])):
            return text[heading.start() :]
    raise AssertionError(f"no heading #{anchor}")


@pytest.mark.parametrize("task", TASKS)
def test_tasks_are_found_from_the_start(site, task):
    path, answer = TASKS[task]
    assert len(path) <= 3
    page, seen = site / "index.md", ""
    for link in path:
        assert f"]({link})" in page.read_text("utf-8"), f"{page.name} has no link {link}"
        name, _, anchor = link.partition("#")
        page = (page.parent / name).resolve()
        seen = after(page.read_text("utf-8"), anchor)
    assert answer in seen
    assert len(seen.partition(answer)[0].split()) <= READ_IN_A_MINUTE


@pytest.fixture(scope="module")
def built(site, tmp_path_factory) -> Path:
    """The site in HTML."""
    folder, build = tmp_path_factory.mktemp("built"), Path(sys.executable).with_name("zensical")
    if not build.exists():
        pytest.skip("zensical is not installed: pip install '.[docs]'")
    shutil.copytree(site, folder / "docs")
    (folder / "src").symlink_to(ROOT / "src")
    shutil.copy(ROOT / "mkdocs.yml", folder)
    done = subprocess.run([build, "build", "--clean"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "site"


@pytest.mark.slow
def test_the_site_builds(built):
    folder = built / "reference" / "generated"
    assert (folder / "command-line" / "index.html").exists()
    text = (folder / "python" / "index.html").read_text(encoding="utf-8")
    assert re.search(r"Many\s+threads\s+may\s+call\s+one\s+summarizer", text)  # a docstring


@pytest.fixture(scope="module")
def browser(built) -> Iterator[Any]:
    """A page of Debian's chromium, and the address of the built site."""
    api = pytest.importorskip("playwright.sync_api")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("chromium is not installed")
    handler = partial(SimpleHTTPRequestHandler, directory=str(built))
    with (
        patch.object(SimpleHTTPRequestHandler, "log_message"),
        ThreadingHTTPServer(("127.0.0.1", 0), handler) as server,
        api.sync_playwright() as run,
    ):
        threading.Thread(target=server.serve_forever, daemon=True).start()
        opened = run.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield opened.new_page(), f"http://127.0.0.1:{server.server_address[1]}/"
        opened.close()
        server.shutdown()


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1440])
def test_tasks_are_clicked_through(browser, width):
    page, start = browser
    page.set_viewport_size({"width": width, "height": 900})
    for path, answer in TASKS.values():
        page.goto(start)
        for link in path:
            name, _, anchor = link.partition("#")
            address = urljoin(page.url.partition("#")[0], "x" if page.url == start else "../x")
            target = urljoin(address, name.removesuffix(".md") + "/") + (anchor and f"#{anchor}")
            found = page.locator("article a").evaluate_all(
                "(all, target) => all.findIndex((one) => one.href == target)", target
            )
            assert found >= 0, f"{page.url} has no link to {target}"
            page.locator("article a").nth(found).click()
            page.wait_for_url(target)
        assert answer.strip("`") in page.locator("article").inner_text(), page.url
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width, f"{page.url} is {wide} pixels wide"


@pytest.mark.parametrize("page", written(), ids=lambda page: page.name)
def test_files_of_the_repository_exist(page):
    """Files that a page names are there; a note names those of its day."""
    if page.parent.name == "notes":
        return
    text = page.read_text(encoding="utf-8")
    for name in re.findall(r"`((?:bench|tests|results|deploy|examples|src)/[\w./-]+\.\w+)`", text):
        assert (ROOT / name).exists(), name
    for name in re.findall(r"`([a-z_]+/[\w/]+\.py)`", text):
        places = (ROOT, ROOT / "src" / "dialogist", ROOT / "src")
        assert any((place / name).exists() for place in places), name


PACKAGES = ("dialogist", "dialogist_lab")
OURS = {path.stem for name in PACKAGES for path in (ROOT / "src" / name).iterdir()}


def unresolved(text: str) -> list[str]:
    """The dotted names in single backticks that begin with a module of ours and name nothing."""
    names = re.findall(r"(?<!`)`([a-z_]+(?:\.\w+)+)`(?!`)", text)
    return [name for name in names if not is_found(name)]


def is_found(name: str) -> bool:
    first = name.partition(".")[0]
    if first not in (*PACKAGES, *OURS):
        return True  # of another package
    for whole in (name,) if first in PACKAGES else (f"{one}.{name}" for one in PACKAGES):
        with suppress(ImportError, AttributeError):
            pkgutil.resolve_name(whole)
            return True
    return False


def test_a_name_that_is_gone_is_found():
    text = "`data.speakers`, `dialogist.data.profile`, `records.Dialogue.spoken` and `numpy.gone`"
    assert unresolved(text) == ["dialogist.data.profile", "records.Dialogue.spoken"]


def test_names_in_comments_and_docstrings_exist():
    """Modules, classes and functions by their dotted names, and the notes that hold figures."""
    gone = {}
    files = (file for part in ("src", "bench", "tests") for file in (ROOT / part).rglob("*.py"))
    for file in (one for one in files if one != Path(__file__)):
        text = file.read_text(encoding="utf-8")
        notes = re.findall(r"docs/notes\b(?:/[\w-]+\.md)?", text)
        if names := [*unresolved(text), *(note for note in notes if not (ROOT / note).is_file())]:
            gone[file.relative_to(ROOT).as_posix()] = names
    assert not gone


@pytest.mark.parametrize("page", written(), ids=lambda page: page.name)
def test_names_of_modules_on_a_page_exist(page):
    """A note names those of its day."""
    names = re.findall(r"`(dialogist\w*\.[\w.]+)[`(]", page.read_text(encoding="utf-8"))
    assert page.parent.name == "notes" or all(map(is_found, names))


def test_the_order_of_the_rules_of_reported_speech_is_that_of_the_code(bench):
    order = ", ".join(f"{rule.__name__}s" for rule in telling._RULES)
    assert order in " ".join(bench("design").PAGE.read_text(encoding="utf-8").split())


def test_the_pictures_of_the_design_are_those_of_the_code(bench):
    design = bench("design")
    page = design.PAGE.read_text(encoding="utf-8")
    assert page.count("<!-- drawn: ") == len(design.pictures())
    assert design.drawn(page) == page, "python bench/design.py draws them anew"
    assert design.drawn(page.replace("errors.py", "mistakes.py")) == page  # it would be seen
    assert bench("readability").words(page) <= 1_500
