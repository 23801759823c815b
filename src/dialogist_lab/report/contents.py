"""Everything that a report shows, worked out once: page, Markdown and PNG files are made of it."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from dialogist.evaluation.card import Card
from dialogist.evaluation.cautions.caution import Caution
from dialogist.metrics.base import BEST
from dialogist.text.listing import counted
from dialogist_lab.report.canvas import Picture
from dialogist_lab.report.environment import environment_of
from dialogist_lab.report.examples import Choice, FindSpots, choose
from dialogist_lab.report.model import SUPPORT, Subject
from dialogist_lab.report.plots_runs import learning
from dialogist_lab.report.plots_scores import HEADLINE, ranking, scatter, spread
from dialogist_lab.report.plots_sizes import by_size, lengths
from dialogist_lab.report.samples import Timeline, timelines
from dialogist_lab.report.tables import (
    Table,
    differences_table,
    figures_table,
    outputs_table,
)
from dialogist_lab.report.verdict import verdict

_DRAWN = (
    *("faithfulness.any", "faithfulness.name", "faithfulness.number", "faithfulness.entity"),
    *("faithfulness.swap", "faithfulness.negation", "slots.precision", "slots.recall"),
    *("copying.copied", "copying.novel2", "copying.repeats4"),
)

_SEVERITIES = ("serious", "warning", "note")


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the report: ``anchor`` is its name in links."""

    anchor: str
    title: str
    about: str = ""
    tables: tuple[Table, ...] = ()
    pictures: tuple[Picture, ...] = ()
    more: tuple[Table, ...] = ()
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
    choices: tuple[Choice, ...]
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
    return Contents(
        title=subject.title,
        about=_about(subject),
        verdict=tuple(verdict(subject)),
        cautions=tuple(sorted(cautions, key=lambda one: _SEVERITIES.index(one.severity))),
        sections=tuple(section for section in _sections(subject) if _has_any(section)),
        timelines=tuple(timelines(subject.runs)),
        choices=tuple(choose(subject, examples, spots)),
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


def _sections(subject: Subject) -> list[Section]:
    """The sections with tables and figures."""
    trained = Section(
        "learning",
        "Training",
        pictures=_those(learning(subject.numbered_runs)),
    )
    return [*_of_scores(subject), trained]


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
            _tables(figures_table(card, headline, "Main figures"), differences),
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
            ),
        ),
        Section(
            "sizes",
            "Length",
            pictures=_those(by_size(subject), lengths(subject)),
        ),
    ]


def _others(card: Card, shown: Collection[str]) -> Iterator[Table]:
    """All other figures, metric by metric; those of the best reference where there are several."""
    for name, keys in card.groups.items():
        rest = [key for key in keys if key not in shown]
        best = [key for key in rest if BEST in key]
        mean = [key for key in rest if key not in best]
        yield from _tables(figures_table(card, mean, name))
        if card.references > 1:
            yield from _tables(figures_table(card, best, f"{name}, the best of the references"))


def _supporting(card: Card) -> Iterator[Table]:
    """A table for each metric, what is drawn first."""
    for name, caption in SUPPORT.items():
        keys = card.groups.get(name, ())
        drawn = [key for key in _DRAWN if key in keys]
        rest = [key for key in keys if key not in drawn]
        yield from _tables(figures_table(card, [*drawn, *rest], caption))


def _those(*pictures: Picture | None) -> tuple[Picture, ...]:
    return tuple(picture for picture in pictures if picture is not None)


def _tables(*tables: Table | None) -> tuple[Table, ...]:
    return tuple(table for table in tables if table is not None)


def _has_any(section: Section) -> bool:
    parts: Sequence[object] = (*section.tables, *section.pictures, *section.more)
    return bool(parts)
