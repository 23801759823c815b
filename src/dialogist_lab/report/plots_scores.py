"""Figures of what was measured: intervals side by side, precision and recall, their spread."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from dialogist.evaluation.pages import displayable
from dialogist.evaluation.report_card import RowKind
from dialogist.evaluation.scoring import Scores
from dialogist.metrics.base import Column, Floats
from dialogist_lab.report.canvas import Key, Panel, Picture
from dialogist_lab.report.ink import Ink, marker
from dialogist_lab.report.model import Shown

HEADLINE = ("rouge1.f1", "rouge2.f1", "rougeL.f1", "bertscore.f1", "bleu", "chrf")
"""What systems are first compared by, as far as it was measured."""

_PARTS = ("precision", "recall", "f1")
_LONGEST = 20  # letters of a name beside an axis
_SHOWN = 6  # systems with a panel of their own
_NAMES = {
    "faithfulness.any": "Outputs with anything unsupported",
    "faithfulness.name": "Outputs with unsupported names",
    "faithfulness.number": "Outputs with unsupported numbers",
    "faithfulness.entity": "Outputs with unsupported entities",
    "faithfulness.swap": "Outputs with swapped roles",
    "faithfulness.negation": "Outputs with added denials",
    "copying.copied": "Words copied",
    "copying.novel2": "Pairs of words that are new",
    "copying.repeats4": "Outputs that repeat themselves",
}
"""What columns are called where they stand alone."""

_AHEAD = {"higher": "more is better", "lower": "less is better", "neither": ""}


def ranking(entries: Sequence[Shown], keys: Sequence[str], name: str, title: str) -> Picture | None:
    """A panel for every column: each entry's figure and where it may lie."""
    columns = [_column(entries, key) for key in keys if any(_has(e, key) for e in entries)]
    if not columns:
        return None
    panels = tuple(_ranked(entries, column) for column in columns)
    caption = (
        "A dot is the figure, the line its 95% interval. Systems have colours, baselines are grey, "
        "the last rows are ceilings."
    )
    return Picture(name, title, caption, panels)


def _ranked(entries: Sequence[Shown], column: Column) -> Panel:
    having = [entry for entry in entries if _has(entry, column.key)]
    name = _NAMES.get(column.key, f"{column.title}{_unit(column)}")
    title = ", ".join(filter(None, (name, _AHEAD[column.better])))
    return Panel(
        title,
        partial(_dots, entries=having, key=column.key),
        ", ".join(_told(entry, column.key) for entry in having),
        0.55 + 0.21 * len(having),
    )


def scatter(entries: Sequence[Shown], kind: str, title: str) -> Picture | None:
    """Precision over recall of every output, a panel for each system."""
    chosen = [e for e in entries if f"{kind}.precision" in e.scores][:_SHOWN]
    if not chosen:
        return None
    panels = tuple(
        Panel(
            short(e.name),
            partial(_cloud, entry=e, kind=kind),
            f"Mean precision {e.scores.figure(f'{kind}.precision'):.1f}, recall "
            f"{e.scores.figure(f'{kind}.recall'):.1f}",
        )
        for e in chosen
    )
    return Picture(
        "precision-recall",
        f"{title}: precision and recall of every output",
        "Each dot is an output; the cross is the mean. Curves: equal F1. "
        "Above the diagonal an output says less than its reference and what it says is in it; "
        "below it says much, and part of it is not.",
        panels,
    )


def spread(entries: Sequence[Shown], kind: str, title: str) -> Picture | None:
    """How precision, recall and F1 are spread over the outputs; beside the train sample."""
    chosen = [e for e in entries if f"{kind}.precision" in e.scores][:_SHOWN]
    if not chosen:
        return None
    sampled = any(entry.train is not None for entry in chosen)
    panels = tuple(
        Panel(short(e.name), partial(_violins, entry=e, kind=kind), _quartiles(e, f"{kind}.f1"))
        for e in chosen
    )
    halves = (
        " Left half: the sample of the training data; right half: the data of this report. Where "
        "the left is far higher, the system knows its training data by heart."
        if sampled
        else ""
    )
    return Picture(
        "spread",
        f"{title}: how scores are spread over the outputs",
        f"The wider, the more outputs have that score; the bar is the median.{halves}",
        panels,
        (Key("train sample", "muted"), Key("this data", "series")) if sampled else (),
    )


def colour_for(entry: Shown, ink: Ink) -> str:
    """An entry's own colour, the same in all figures."""
    if entry.leads:
        return ink.series(entry.number)
    return ink.floor if entry.entry.kind is RowKind.floor else ink.ceiling


def short(name: str) -> str:
    """A name that fits beside an axis and can be drawn: its beginning and its end."""
    name = displayable(" ".join(name.split()))
    if len(name) <= _LONGEST:
        return name
    half = _LONGEST // 2
    return f"{name[: half - 1]}…{name[-half:]}"


def _column(entries: Sequence[Shown], key: str) -> Column:
    return next(e.scores.column(key) for e in entries if key in e.scores)


def _unit(column: Column) -> str:
    return "" if column.unit in column.title else f" ({column.unit})" if column.unit != "%" else ""


def _has(entry: Shown, key: str) -> bool:
    return key in entry.intervals and not np.isnan(entry.intervals[key].figure)


def _told(entry: Shown, key: str) -> str:
    found = entry.intervals[key]
    return f"{entry.name} {found.figure:.1f} ({found.low:.1f} to {found.high:.1f})"


def _dots(axes: Any, ink: Ink, entries: Sequence[Shown], key: str) -> None:
    for row, entry in enumerate(entries):
        found = entry.intervals[key]
        colour = colour_for(entry, ink)
        if not np.isnan(found.low):
            axes.plot([found.low, found.high], [row, row], color=colour, linewidth=2.2, alpha=0.55)
        axes.plot(found.figure, row, marker="o", color=colour, markersize=4.5)
    axes.set_yticks(range(len(entries)), [short(entry.name) for entry in entries])
    axes.set_ylim(len(entries) - 0.5, -0.5)
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)


def _cloud(axes: Any, ink: Ink, entry: Shown, kind: str) -> None:
    precision, recall = (entry.scores.each(f"{kind}.{part}") for part in ("precision", "recall"))
    _equal_f1(axes, ink)
    # Many outputs have the very same scores: overlapping dots add up.
    axes.scatter(
        recall, precision, s=7, color=colour_for(entry, ink), alpha=0.45, linewidth=0, zorder=2
    )
    axes.plot(
        np.nanmean(recall),
        np.nanmean(precision),
        marker="P",
        markersize=8,
        zorder=3,
        color=ink.text,
        markeredgecolor=ink.ground,
    )
    axes.set(xlabel="recall", ylabel="precision", xlim=(-2, 102), ylim=(-2, 102))
    axes.set_aspect("equal")


def _equal_f1(axes: Any, ink: Ink) -> None:
    axes.plot([0, 100], [0, 100], color=ink.line, linewidth=0.8, zorder=1)
    for f1 in (20, 40, 60, 80):
        recall = np.linspace(f1 / (2 - f1 / 100) + 0.01, 100, 60)
        axes.plot(recall, f1 * recall / (2 * recall - f1), color=ink.line, linewidth=0.9, zorder=1)
        end = 100 * f1 / (200 - f1)
        axes.text(101, end, str(f1), color=ink.muted, fontsize=6, va="center", clip_on=False)
    axes.grid(visible=False)


def _violins(axes: Any, ink: Ink, entry: Shown, kind: str) -> None:
    colours = (colour_for(entry, ink), ink.text)
    if entry.train is None:
        _bodies(axes, _values(entry.scores, kind), colours, "both")
    else:
        _bodies(axes, _values(entry.train.scores, kind), (ink.muted, ink.text), "low")
        _bodies(axes, _values(entry.scores, kind), colours, "high")
    axes.set_xticks(range(len(_PARTS)), ["precision", "recall", "F1"])
    axes.set_ylim(-2, 102)
    axes.grid(axis="x", visible=False)


def _values(scores: Scores, kind: str) -> list[Floats]:
    each = [scores.each(f"{kind}.{part}") for part in _PARTS]
    return [values[~np.isnan(values)] for values in each]


def _bodies(axes: Any, values: Sequence[Floats], colours: tuple[str, str], side: str) -> None:
    for place, found in enumerate(values):
        if not len(found):
            continue
        fill, edge = colours
        parts = axes.violinplot(
            [found], [place], widths=0.8, showextrema=False, side=side, points=60
        )
        for body in parts["bodies"]:
            body.set(facecolor=fill, edgecolor=fill, alpha=0.5, linewidth=0.8)
        left, right = {"low": (-0.22, 0), "high": (0, 0.22), "both": (-0.22, 0.22)}[side]
        middle = float(np.median(found))
        axes.plot([place + left, place + right], [middle, middle], color=edge, linewidth=1.6)


def _quartiles(entry: Shown, key: str) -> str:
    values = entry.scores.each(key)
    low, middle, high = np.nanquantile(values, (0.25, 0.5, 0.75))
    return f"F1: median {middle:.1f}, half of the outputs {low:.1f} to {high:.1f}"


def series_marker(entry: Shown) -> str:
    """The marker of an entry in line figures."""
    return marker(entry.number) if entry.leads else "."
