"""The documentation: its links, navigation, commands, code, tables and size."""

import importlib
import re
import shlex
import shutil
import subprocess
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main
import yaml

from dialogist.cli.main import command_line

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
OUTSIDE = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "bench/README.md", "examples/README.md")


@pytest.fixture(scope="module")
def bench() -> Iterator[Any]:
    """Import a module of bench/."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "bench"))
        yield importlib.import_module


@pytest.fixture(scope="module")
def site(bench: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The docs with their reference, as `make docs` builds them."""
    folder = tmp_path_factory.mktemp("site") / "docs"
    shutil.copytree(DOCS, folder, ignore=shutil.ignore_patterns("generated"))
    bench("reference").main(folder / "reference" / "generated")
    return folder


def written() -> list[Path]:
    """The pages that are written by hand."""
    pages = (page for page in sorted(DOCS.rglob("*.md")) if page.parent.name != "generated")
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *pages]


every_page = pytest.mark.parametrize("page", written(), ids=lambda page: page.name)


def prose(page: Path) -> str:
    """A page without its blocks of code."""
    return re.sub(r"^ *```.*?^ *```$", "", page.read_text("utf-8"), flags=re.M | re.S)


def anchor_of(heading: str) -> str:
    """The anchor of a heading, as Python-Markdown makes it."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
    ascii_only = unicodedata.normalize("NFKD", plain).encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", ascii_only).strip().lower())


def broken_links(page: Path) -> list[str]:
    """Links of a page that lead nowhere; addresses of the web are not asked."""
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        path, _, anchor = target.partition("#")
        if "://" in target or target.startswith("mailto:"):
            continue
        file = page.parent / path if path else page
        if not file.exists():
            broken.append(target)
        elif anchor and file.suffix == ".md":
            anchors = map(anchor_of, re.findall(r"^#+ (.*)$", prose(file), re.M))
            broken += [target] if anchor not in anchors else []
    return broken


def test_no_link_is_broken(site: Path, tmp_path: Path) -> None:
    broken = {page.name: links for page in site.rglob("*.md") if (links := broken_links(page))}
    generated = "reference/generated"
    for name in OUTSIDE:
        links = [link for link in broken_links(ROOT / name) if generated not in link]
        broken |= {name: links} if links else {}
    assert not broken
    (tmp_path / "page.md").write_text("# A heading\n[x](gone.md) [y](#a-heading) [z](#other)\n")
    assert broken_links(tmp_path / "page.md") == ["gone.md", "#other"]


def test_every_page_is_in_the_navigation_and_three_clicks_from_the_start(site: Path) -> None:
    settings = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))
    listed = re.findall(r"[\w./-]+\.md", str(settings["nav"]))
    pages = {page.relative_to(site).as_posix() for page in site.rglob("*.md")}
    assert len(listed) == len(set(listed))
    assert pages == set(listed)
    reached, border = {site / "index.md"}, [site / "index.md"]
    for _ in range(3):
        links = {
            (page.parent / target).resolve()
            for page in border
            for target in re.findall(r"\]\(([^)#\s]+\.md)", prose(page))
        }
        border = [page for page in links - reached if page.exists()]
        reached |= links
    assert {site / page for page in pages} <= reached


@pytest.fixture(scope="module")
def commands() -> dict[str, set[str]]:
    """Every command and its options."""
    options: dict[str, set[str]] = {}

    def add(command: Any, path: str) -> None:
        for name, inner in getattr(command, "commands", {}).items():
            add(inner, f"{path} {name}")
        flags = (f for param in command.params for f in (*param.opts, *param.secondary_opts))
        options[path] = {"--help", *(flag for flag in flags if flag.startswith("-"))}

    add(typer.main.get_command(command_line()), "dialogist")
    return options


@every_page
def test_commands_exist(page: Path, commands: dict[str, set[str]]) -> None:
    """Every `$ dialogist ...` of a page names a real command with real options."""
    text = page.read_text("utf-8").replace("\\\n", " ")
    lines = re.findall(r"^(?:\$ (?:\.venv/bin/)?|.*`)(dialogist [a-z][^\n|<`]*)", text, re.M)
    for line in lines:
        words = shlex.split(line.partition(" > ")[0], comments=True)
        name = next((n for n in (" ".join(words[:k]) for k in (3, 2)) if n in commands), None)
        assert name, line
        for flag in (word for word in words if re.match(r"--?[a-z]", word)):
            assert flag in commands[name] | {"--install-completion"}, f"{line}: {flag}"


@every_page
def test_python_says_what_the_page_shows(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """The blocks of a page, one after the other; what a block prints stands in comments behind."""
    monkeypatch.chdir(tmp_path)
    turns = '[["Ann", "Shall we have lunch at noon?"], ["Bo", "Yes, let us go to Luigi."]]'
    Path("chats.jsonl").write_text(f'{{"id": "1", "turns": {turns}}}\n', "utf-8")
    names: dict[str, object] = {}
    for block in re.findall(r"^```python\n(?!>>>)(.*?)^```", page.read_text("utf-8"), re.M | re.S):
        code, _, comments = block.partition("\n# ")
        exec(compile(code, str(page), "exec"), names)
        shown = "\n".join(re.findall(r"^# ?(.*)$", f"# {comments}", re.M))
        assert shown.rstrip() == capsys.readouterr().out.rstrip(), block


@every_page
def test_what_a_page_names_is_there(page: Path) -> None:
    """Files of the repository, modules, targets of make; YAML is YAML."""
    text = page.read_text("utf-8")
    for block in re.findall(r"^```yaml\n(.*?)^```", text, re.M | re.S):
        assert yaml.safe_load(block), block
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for target in re.findall(r"(?:`|\$ )make ([a-z-]+)", text):
        assert re.search(rf"^{target}:", makefile, re.M), f"make {target}"
    if page.parent.name == "notes":  # a record names the files of its day
        return
    for name in re.findall(r"`((?:bench|tests|results|deploy|examples|src)/[\w./-]+\.\w+)`", text):
        assert (ROOT / name).exists(), name
    for name in re.findall(r"`([a-z_]+/[\w/]+\.py)`", text):
        places = (ROOT, ROOT / "src" / "dialogist", ROOT / "src" / "dialogist_lab", ROOT / "src")
        assert any((place / name).exists() for place in places), name


def test_names_in_comments_and_docstrings_exist() -> None:
    """Modules, classes and functions by their dotted names."""
    gone = {}
    for file in (*(ROOT / "src").rglob("*.py"), *(ROOT / "bench").rglob("*.py")):
        for name in re.findall(r"`(dialogist(?:_lab)?(?:\.\w+)+)`", file.read_text("utf-8")):
            module, _, member = name.rpartition(".")
            parts = (ROOT / "src" / name.replace(".", "/"), ROOT / "src" / module.replace(".", "/"))
            is_module = parts[0].is_dir() or parts[0].with_suffix(".py").is_file()
            sources = [parts[1].with_suffix(".py"), parts[1] / "__init__.py"]
            has_member = any(
                re.search(rf"\b{member}\b", source.read_text("utf-8"))
                for source in sources
                if source.is_file()
            )
            if not (is_module or has_member):
                gone[name] = str(file.relative_to(ROOT))
    assert not gone


def test_there_are_few_words() -> None:
    """As `wc -w` counts them, without what is generated."""
    words = {page: len(page.read_text("utf-8").split()) for page in written()}
    limits = {ROOT / "README.md": 800, ROOT / "CONTRIBUTING.md": 1500}
    assert {page.name for page, most in limits.items() if words[page] > most} == set()
    assert sum(count for page, count in words.items() if page not in limits) <= 15_750


def test_tables_and_pictures_are_those_of_the_data(bench: Any) -> None:
    results = bench("results_page")
    for page in results.PAGES:
        text = page.read_text("utf-8")
        assert results.BLOCK.search(text), page
        assert results.filled(text) == text, f"{page}: run python bench/results_page.py"
    design = bench("design")
    text = design.PAGE.read_text("utf-8")
    assert design.drawn(text) == text, "run python bench/design.py"


def test_the_reference_names_every_option(site: Path, commands: dict[str, set[str]]) -> None:
    page = (site / "reference" / "generated" / "command-line.md").read_text("utf-8")
    for name, flags in commands.items():
        if name != "dialogist":
            section = page.split(f"## {name}\n")[1].split("\n## ")[0]
            missing = {flag for flag in flags - {"--help", "-h"} if f"`{flag}`" not in section}
            assert missing == set(), name


@pytest.mark.slow
def test_the_site_builds(site: Path, tmp_path: Path) -> None:
    shutil.copytree(site, tmp_path / "docs")
    (tmp_path / "src").symlink_to(ROOT / "src")
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    build = [Path(sys.executable).with_name("zensical"), "build", "--clean"]
    done = subprocess.run(build, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "site" / "reference" / "generated" / "command-line" / "index.html").exists()


def test_the_page_of_formats_has_the_readers_own_table(bench: Any) -> None:
    page = (DOCS / "reference" / "formats.md").read_text("utf-8")
    made = page.partition("<!-- made by bench/reference.py -->")[2].partition("<!-- end -->")[0]
    assert made.strip() == bench("reference").formats_by_ending().strip()
