"""The whole report: it holds any text, is the same every time, and loads nothing."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from dialogist import __version__ as VERSION
from dialogist.evaluation.report_card import RowKind
from dialogist.evaluation.system_outputs import Output
from dialogist.records import Dialogue, Utterance
from dialogist_lab.report.contents import (
    contents_of,
    escape_markdown,
    render_markdown,
    render_page,
    write_report,
)
from dialogist_lab.report.figures import Panel, Picture
from dialogist_lab.report.subject import Run, Subject

from .reporting import subject
from .test_parts import run_folder

NASTY = (
    "</p><script>alert(1)</script><img src=x onerror=alert(2)> \"'`&amp; \x00\x1b[1m \ud800 "
    "\u202e 中文 😀 $\\frac"
)
VOID = {"meta", "link", "br", "img", "input", "hr"}


def nothing(output):
    return ()


class Page(HTMLParser):
    """What stands in a page: tags, attributes, text; and whether all that is opened is closed."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.open, self.text = [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not self.open or self.open[-1] != "style":
            self.text.append(data)


def nasty(output):
    dialogue = Dialogue(
        (Utterance(NASTY, NASTY), Utterance("", "fine")), NASTY, (NASTY, f"{NASTY} two")
    )
    return Output.of(replace(output.summary, text=f"{NASTY} {output.id}", id=NASTY), dialogue)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    run = run_folder(tmp_path_factory.mktemp("runs") / "run")
    return contents_of(
        subject(runs=(run,), environment={"python": "3"}, stated="today"), 2, nothing
    )


@pytest.fixture(scope="module")
def page(whole):
    return render_page(whole, "1.0")


def test_the_page_has_every_part(page):
    for anchor in ("cautions", "systems", "spread", "sizes", "learning", "progress", "examples"):
        assert f'id="{anchor}"' in page
        assert f'href="#{anchor}"' in page
    assert "today" in page


def test_the_page_is_well_formed_and_its_links_lead_somewhere(page):
    found = Page(page)
    assert found.open == []
    identities = [value for name, value in found.attributes if name == "id"]
    assert len(identities) == len(set(identities))
    links = [v for n, v in found.attributes if n in ("href", "xlink:href")]
    inside = re.findall(r"url\(#([^)]*)\)", page)
    assert {link.removeprefix("#") for link in links} | set(inside) <= set(identities)
    assert all(link.startswith("#") for link in links)


def test_the_page_loads_nothing_and_runs_nothing(page):
    found = Page(page)
    assert not {"script", "link", "iframe", "object", "embed", "base"} & set(found.tags)
    assert not [name for name, _ in found.attributes if name.startswith("on") or name == "src"]
    for outside in re.findall(r"https?://[^\s\"'<]*", page):
        assert outside.startswith("http://www.w3.org/")  # names of SVG, nothing is fetched
    assert "default-src &#39;none&#39;" in page
    assert "@import" not in page


def test_figures_and_tables_can_be_understood_without_eyes(page):
    found = Page(page)
    svgs = [
        dict(attrs)
        for attrs in re.findall(r"<svg ([^>]*)>", page)
        for attrs in [re.findall(r'([\w:-]+)="([^"]*)"', attrs)]
    ]
    assert svgs
    assert all(attrs["role"] == "img" and attrs["aria-label"] for attrs in svgs)
    assert found.tags.count("table") == found.tags.count("caption") > 2
    assert found.attributes.count(("scope", "row")) > 8
    assert ("lang", "en") in found.attributes


def test_nothing_of_a_dialogue_is_markup():
    odd = subject(count=4, systems=(NASTY, "two"), change=nasty, title=NASTY, stated=NASTY)
    contents = contents_of(odd, 2, nothing)
    page = render_page(contents, "1.0")
    page.encode("utf-8")
    found = Page(page)
    assert found.open == []
    assert "script" not in found.tags
    assert "img" not in found.tags
    assert "\x00" not in page
    assert "\x1b" not in page
    assert "<script>alert(1)</script>" in "".join(found.text)
    text = render_markdown(contents, "1.0", "figures")
    text.encode("utf-8")
    assert not re.search(r"(?<!\\)<", text)
    assert [picture.png()[:4] for picture in contents.pictures]


@pytest.fixture(scope="module")
def written(tmp_path_factory, whole):
    folder = tmp_path_factory.mktemp("written") / "deep" / "report"
    write_report(whole, folder)
    return folder


def test_the_same_subject_gives_the_same_bytes(written, whole, page):
    assert page.replace("Dialogist 1.0", "") == (
        (written / "report.html").read_text(encoding="utf-8").replace(f"Dialogist {VERSION}", "")
    )
    picture = whole.pictures[0]
    assert (written / "figures" / f"{picture.name}.png").read_bytes() == picture.png()


def test_markdown_shows_every_figure_and_example(written, whole):
    text = (written / "report.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"\]\((figures/[\w-]+\.png)\)", text))
    assert shown == {f"figures/{path.name}" for path in (written / "figures").iterdir()}
    assert len(shown) == len(whole.pictures)
    for choice in whole.choices:
        assert f"### {choice.title}" in text


def test_figures_of_an_earlier_report_do_not_stay(tmp_path, whole):
    (tmp_path / "figures").mkdir()
    for name in ("mine.txt", "old.png"):
        (tmp_path / "figures" / name).write_text("kept")
    write_report(replace(whole, sections=()), tmp_path)
    assert [path.name for path in (tmp_path / "figures").iterdir()] == ["mine.txt"]


def test_a_report_of_training_alone(tmp_path):
    run = Run("mine", run_folder(tmp_path / "run").folder)
    contents = contents_of(Subject(runs=(run,)), 3, nothing)
    assert [section.anchor for section in contents.sections] == ["learning"]
    page = render_page(contents, "1.0")
    assert Page(page).open == []
    assert "What it wrote as it learned" in page
    assert 'href="#examples"' not in page


@pytest.mark.parametrize("count", [1, 2, 7])
def test_few_dialogues_and_no_words(count):
    def silent(output):
        return replace(output, summary=replace(output.summary, text="", status="empty"))

    contents = contents_of(subject(count=count, change=silent), 3, nothing)
    assert "(says nothing)" in render_page(contents, "1.0")


def test_dialogues_that_are_not_known_are_told_so():
    contents = contents_of(
        subject(count=6, change=lambda one: replace(one, dialogue=None)), 1, nothing
    )
    page = render_page(contents, "1.0")
    assert "Not known." in page
    titles = [panel.title for picture in contents.pictures for panel in picture.panels]
    assert not [title for title in titles if "utterances" in title]


def test_a_very_long_dialogue_is_told_to_go_on():
    def long(output):
        turns = tuple(Utterance("Ann", "word " * 200) for _ in range(50))
        return replace(output, dialogue=Dialogue(turns, output.id, output.references))

    contents = contents_of(subject(count=3, change=long), 1, nothing)
    page = render_page(contents, "1.0")
    assert "more utterances are not shown here" in page
    assert len(page) < 1_000_000


def test_five_systems_of_five_hundred_stay_below_three_megabytes():
    odd = subject(count=500, systems=("a", "b", "c", "d", "e"))
    size = len(render_page(contents_of(odd, 3, nothing), "1.0").encode())
    assert size < 3_000_000


def test_train_samples_stand_beside_their_system():
    one, two = subject(count=5).systems
    assert one.train.kind is RowKind.train
    assert two.train is None


def test_a_figure_follows_dark_mode_and_is_named_by_no_other():
    def draw(axes, ink):
        axes.plot([0, 1], [0, 1], color=ink.series(0))

    panels = tuple(Panel(title, draw, 'says "it" <b>') for title in "ab")
    picture = Picture("x", "T", "C", panels)
    first, second = picture.svgs()
    assert "var(--series-0)" in first
    assert not re.search(r"#fe[0-9a-f]{4}", first)
    assert "&lt;b&gt;" in first
    own = [set(re.findall(r'id="([^"]+)"', svg)) for svg in (first, second)]
    assert not own[0] & own[1]
    assert picture.png() == picture.png()


@pytest.mark.parametrize("text", ["a | b", "*a*", "<b>", "[x](y)", "# a", "`a`", "_a_", "~a~"])
def test_markdown_of_a_text_is_the_text(text):
    told = escape_markdown(text)
    assert re.sub(r"\\(.)", r"\1", told) == text
    assert not re.search(r"(?<!\\)[|*<\[#`_~]", told)
