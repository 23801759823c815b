"""A report worked out once, and written as HTML page, Markdown and PNG files."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from dialogist import __version__
from dialogist.evaluation.diagnostics import Caution
from dialogist.evaluation.pages import asset, content_policy, displayable, page_templates, trusted
from dialogist.evaluation.report_card import Card
from dialogist.files import writing
from dialogist.metrics.base import BEST
from dialogist.records import Dialogue, Utterance
from dialogist.language.tokens import counted
from dialogist_lab.report.examples import (
    ExampleChoice,
    FindSpots,
    Timeline,
    choose_examples,
    timelines,
)
from dialogist_lab.report.figures import Picture, learning
from dialogist_lab.report.plots import HEADLINE, by_size, lengths, means, ranking, scatter, spread
from dialogist_lab.report.report_tables import (
    ReportTable,
    differences_table,
    figures_table,
    outputs_table,
    verdict,
)
from dialogist_lab.report.subject import SUPPORT, Subject, environment_of

_DRAWN = (
    *("faithfulness.any", "faithfulness.name", "faithfulness.number", "faithfulness.entity"),
    *("faithfulness.swap", "faithfulness.negation", "slots.precision", "slots.recall"),
    *("copying.copied", "copying.novel2", "copying.repeats4"),
)

_SEVERITIES = ("serious", "warning", "note")
_Part = TypeVar("_Part")


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the report: ``anchor`` is its name in links."""

    anchor: str
    title: str
    about: str = ""
    tables: tuple[ReportTable, ...] = ()
    pictures: tuple[Picture, ...] = ()
    more: tuple[ReportTable, ...] = ()
    """Tables that are folded away."""


@dataclass(frozen=True, slots=True)
class Contents:
    """The parts of a report, in their order; what there is nothing to say about is not there."""

    title: str
    about: str
    verdict: tuple[str, ...]
    cautions: tuple[Caution, ...]
    sections: tuple[Section, ...]
    timelines: tuple[Timeline, ...]
    choices: tuple[ExampleChoice, ...]
    signatures: Mapping[str, str]
    method: str
    environments: Mapping[str, Mapping[str, str]]

    @property
    def pictures(self) -> list[Picture]:
        """All figures, in their order."""
        return [picture for section in self.sections for picture in section.pictures]


def contents_of(subject: Subject, examples: int, spots: FindSpots) -> Contents:
    """Work out tables, figures and sentences; ``examples`` of each choice.

    Raises:
        DataError: the log of a run is damaged.
    """
    card = subject.card
    made = {"Scored and drawn with": subject.environment}
    made |= {f"Trained with: {run.name}": environment_of(run) for run in subject.runs}
    cautions = card.cautions if card is not None else ()
    pictures = _those(learning(subject.numbered_runs))
    sections = [*_of_scores(subject), Section("learning", "Training", pictures=pictures)]
    return Contents(
        title=subject.title,
        about=_about(subject),
        verdict=tuple(verdict(subject)),
        cautions=tuple(sorted(cautions, key=lambda one: _SEVERITIES.index(one.severity))),
        sections=tuple(one for one in sections if one.tables or one.pictures or one.more),
        timelines=tuple(timelines(subject.runs)),
        choices=tuple(choose_examples(subject, examples, spots)),
        signatures=dict(card.signatures) if card is not None else {},
        method=card.resampling.signature if card is not None else "",
        environments={what: found for what, found in made.items() if found},
    )


def _about(subject: Subject) -> str:
    card = subject.card
    if card is None:
        runs = f"{len(subject.runs)} training run{'' if len(subject.runs) == 1 else 's'}"
        return ", ".join(filter(None, [runs, subject.stated]))
    references = f"{card.references:.3g} reference{'' if card.references == 1 else 's'} each"
    parts = [card.data, counted(card.dialogues, "dialogues"), references, subject.stated]
    return ", ".join(filter(None, parts))


def _of_scores(subject: Subject) -> list[Section]:
    card = subject.card
    if card is None:
        return []
    keys = [column.key for column in card.columns]
    headline = [key for key in HEADLINE if key in keys]
    support = [key for name in SUPPORT for key in card.groups.get(name, ())]
    differences = differences_table(card, headline)
    return [
        Section(
            "systems",
            "Systems",
            "Each figure with its 95% interval: what other dialogues of this kind would do to it.",
            _those(figures_table(card, headline, "Main figures"), differences),
            _those(ranking(subject.shown, headline, "systems", "Main figures side by side")),
            (outputs_table(card), *_others(card, {*headline, *support})),
        ),
        Section(
            "support",
            "What the dialogue supports",
            "Found by rules, without a large model: a finding is a reason to look, no proof. What "
            "they find in references tells how often they are wrong.",
            tuple(_supporting(card)),
            _those(ranking(subject.shown, _DRAWN, "support", "Support side by side")),
        ),
        Section(
            "spread",
            "Output by output",
            pictures=_those(
                scatter(subject.systems, "rouge1", "ROUGE-1"),
                spread(subject.systems, "rougeL", "ROUGE-L"),
                scatter(subject.systems, "bertscore", "BERTScore"),
                spread(subject.systems, "bertscore", "BERTScore"),
                means(subject.systems, "bertscore", "BERTScore"),
            ),
        ),
        Section(
            "sizes",
            "Length",
            pictures=_those(by_size(subject), lengths(subject)),
        ),
    ]


def _others(card: Card, shown: Collection[str]) -> Iterator[ReportTable]:
    """All other figures, metric by metric; those of the best reference where there are several."""
    for name, keys in card.groups.items():
        rest = [key for key in keys if key not in shown]
        best = [key for key in rest if BEST in key]
        mean = [key for key in rest if key not in best]
        yield from _those(figures_table(card, mean, name))
        if card.references > 1:
            yield from _those(figures_table(card, best, f"{name}, the best of the references"))


def _supporting(card: Card) -> Iterator[ReportTable]:
    """A table for each metric, what is drawn first."""
    for name, caption in SUPPORT.items():
        keys = card.groups.get(name, ())
        drawn = [key for key in _DRAWN if key in keys]
        rest = [key for key in keys if key not in drawn]
        yield from _those(figures_table(card, [*drawn, *rest], caption))


def _those(*parts: _Part | None) -> tuple[_Part, ...]:
    return tuple(part for part in parts if part is not None)


_MARKS = "\\`*_{}[]<>|#~"


def escape_markdown(text: str) -> str:
    """One line of text in which nothing is Markdown or HTML."""
    line = " ".join(displayable(text).split())
    return "".join(f"\\{c}" if c in _MARKS else "&amp;" if c == "&" else c for c in line)


def render_markdown(contents: Contents, version: str, figures: str) -> str:
    """The whole text; ``figures``: the folder of the PNG files, as links see it.

    What no reference has is in italics, what the dialogue does not support is bold.

    Raises:
        MissingExtraError: jinja2 is not installed.
    """
    engine = page_templates("dialogist report", lambda text: trusted(escape_markdown(text)))
    template = engine.get_template("report.md.j2")
    return f"{template.render(contents=contents, version=version, figures=figures)}\n"


_LONGEST = 20_000  # characters of a dialogue that stand in the page; more is counted


def render_page(contents: Contents, version: str) -> str:
    """The whole page.

    Raises:
        MissingExtraError: jinja2 or matplotlib is not installed.
    """
    engine = page_templates("dialogist report")
    engine.globals.update(panels=_panels, turns=_turns)
    return engine.get_template("report.html.j2").render(
        policy=content_policy(),
        style=trusted(asset("style.css") + asset("report.css")),
        contents=contents,
        version=version,
    )


def _panels(picture: Picture) -> list[tuple[str, str]]:
    """Title and SVG of every panel; the SVG is ours and safe."""
    titles = (panel.title for panel in picture.panels)
    return list(zip(titles, map(trusted, picture.svgs()), strict=True))


def _turns(dialogue: Dialogue) -> list[tuple[int, Utterance]]:
    """The turns with their speakers' numbers; of a very long dialogue the first ones."""
    found: list[tuple[int, Utterance]] = []
    total = 0
    for utterance in dialogue.utterances:
        total += len(utterance.text)
        if total > _LONGEST and found:
            break
        number = dialogue.speakers.index(utterance.speaker) if utterance.speaker else 0
        found.append((number, utterance))
    return found


PAGE = "report.html"
TEXT = "report.md"
FIGURES = "figures"


def write_report(contents: Contents, folder: Path) -> None:
    """Write all files; figures of an earlier report that are no longer there are removed.

    Raises:
        DataError: they cannot be written.
        MissingExtraError: jinja2 or matplotlib is not installed.
    """
    page = render_page(contents, __version__)
    text = render_markdown(contents, __version__, FIGURES)
    images = {f"{picture.name}.png": picture.png() for picture in contents.pictures}
    figures = folder / FIGURES
    with writing(folder):
        figures.mkdir(parents=True, exist_ok=True)
        for old in figures.glob("*.png"):
            if old.name not in images:
                old.unlink()
        for name, data in images.items():
            (figures / name).write_bytes(data)
        (folder / TEXT).write_text(text, encoding="utf-8")
        (folder / PAGE).write_text(page, encoding="utf-8")
