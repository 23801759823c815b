"""Figures of scores and of sizes: ranking, spread, scatter, lengths, scores by size."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from statistics import fmean
from typing import Any

import numpy as np

from dialogist.evaluation.report_card import RowKind
from dialogist.evaluation.scoring import Scores
from dialogist.evaluation.significance import Interval, intervals
from dialogist.metrics.base import Floats
from dialogist.records import JSON
from dialogist_lab.report.figures import (
    Ink,
    LegendKey,
    Panel,
    Picture,
    learning,
    marker,
    short,
)
from dialogist_lab.report.report_tables import column_head, has_figure
from dialogist_lab.report.subject import Bins, ShownSystem, Subject, length, shown_alone

HEADLINE = ("rouge1.f1", "rouge2.f1", "rougeL.f1", "bertscore.f1", "bleu", "chrf")
"""What systems are first compared by, as far as it was measured."""

_PARTS = ("precision", "recall", "f1")
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

_SAMPLE_KEYS = LegendKey("train sample", "muted"), LegendKey("this data", "series")
_HALVES = (
    " Left half: the sample of the training data; right half: the data of this report. Where "
    "the left is far higher, the system knows its training data by heart."
)

_AHEAD = {"higher": "more is better", "lower": "less is better", "neither": ""}


def ranking(
    entries: Sequence[ShownSystem], keys: Sequence[str], name: str, title: str
) -> Picture | None:
    """A panel for every column: each entry's figure and where it may lie."""
    having = (
        (key, [entry for entry in entries if has_figure(entry.intervals, key)]) for key in keys
    )
    panels = tuple(_ranked(found, key) for key, found in having if found)
    caption = (
        "A dot is the figure, the line its 95% interval. Systems have colours, baselines are grey, "
        "the last rows are ceilings."
    )
    return Picture(name, title, caption, panels) if panels else None


def _ranked(entries: Sequence[ShownSystem], key: str) -> Panel:
    column = entries[0].scores.column(key)
    name = _NAMES.get(key, column_head(column)[0])
    return Panel(
        ", ".join(filter(None, (name, _AHEAD[column.better]))),
        partial(_dots, entries=entries, key=key),
        ", ".join(
            f"{e.name} {e.intervals[key].figure:.1f} "
            f"({e.intervals[key].low:.1f} to {e.intervals[key].high:.1f})"
            for e in entries
        ),
        0.55 + 0.21 * len(entries),
    )


def _by_system(
    entries: Sequence[ShownSystem],
    kind: str,
    draw: Callable[..., None],
    told: Callable[[ShownSystem], str],
    words: tuple[str, str, str],
) -> Picture | None:
    """A panel for each of the first systems with such scores; ``words``: name, title, caption."""
    chosen = [e for e in entries if f"{kind}.precision" in e.scores][:_SHOWN]
    panels = (Panel(short(e.name), partial(draw, entry=e, kind=kind), told(e)) for e in chosen)
    sampled = draw is not _cloud and any(entry.train is not None for entry in chosen)
    name, title, caption = words
    name = name if kind.startswith("rouge") else f"{name}-{kind}"  # of other scores than ROUGE, too
    if sampled and draw is _violins:
        caption += _HALVES
    picture = Picture(name, title, caption, tuple(panels), _SAMPLE_KEYS * sampled)
    return picture if chosen else None


def scatter(entries: Sequence[ShownSystem], kind: str, title: str) -> Picture | None:
    """Precision over recall of every output, a panel for each system."""

    def told(entry: ShownSystem) -> str:
        precision, recall = (entry.scores.figure(f"{kind}.{part}") for part in _PARTS[:2])
        return f"Mean precision {precision:.1f}, recall {recall:.1f}"

    caption = (
        "Each dot is an output; the cross is the mean. Curves: equal F1. "
        "Above the diagonal an output says less than its reference and what it says is in it; "
        "below it says much, and part of it is not."
    )
    words = "precision-recall", f"{title}: precision and recall of every output", caption
    return _by_system(entries, kind, _cloud, told, words)


def spread(entries: Sequence[ShownSystem], kind: str, title: str) -> Picture | None:
    """How precision, recall and F1 are spread over the outputs; beside the train sample."""
    caption = "The wider, the more outputs have that score; the bar is the median."
    words = "spread", f"{title}: how scores are spread over the outputs", caption
    return _by_system(entries, kind, _violins, lambda e: _quartiles(e, f"{kind}.f1"), words)


def means(entries: Sequence[ShownSystem], kind: str, title: str) -> Picture | None:
    """Bars of mean precision, recall and F1; beside those of the train sample."""

    def told(entry: ShownSystem) -> str:
        return ", ".join(f"{part} {entry.scores.figure(f'{kind}.{part}'):.1f}" for part in _PARTS)

    caption = "Where precision is above recall, summaries say less than their references."
    words = "means", f"{title}: mean precision, recall and F1", caption
    return _by_system(entries, kind, _bars, told, words)


def _lowest(values: Sequence[Floats], kind: str) -> int:
    """Where an axis begins: scores that never come near 0 would lie in a corner."""
    if kind.startswith("rouge"):
        return 0
    least = min((float(found.min()) for found in values if len(found)), default=0.0)
    return max(0, int(least // 10) * 10)


def colour_for(entry: ShownSystem, ink: Ink) -> str:
    """An entry's own colour, the same in all figures."""
    if entry.leads:
        return ink.series(entry.number)
    return ink.floor if entry.kind is RowKind.floor else ink.ceiling


def _dots(axes: Any, ink: Ink, entries: Sequence[ShownSystem], key: str) -> None:
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


def _cloud(axes: Any, ink: Ink, entry: ShownSystem, kind: str) -> None:
    precision, recall = (entry.scores.each(f"{kind}.{part}") for part in ("precision", "recall"))
    low = _lowest(_values(entry.scores, kind), kind)
    _equal_f1(axes, ink, low)
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
    limits = low - 2, 102
    axes.set(xlabel="recall", ylabel="precision", xlim=limits, ylim=limits)
    axes.set_aspect("equal")


def _equal_f1(axes: Any, ink: Ink, low: int) -> None:
    axes.plot([low, 100], [low, 100], color=ink.line, linewidth=0.8, zorder=1)
    for f1 in (20, 40, 60, 80, 90):
        end = 100 * f1 / (200 - f1)
        if end < low or (f1 > 80 and low == 0):
            continue
        recall = np.linspace(end + 0.01, 100, 60)
        axes.plot(recall, f1 * recall / (2 * recall - f1), color=ink.line, linewidth=0.9, zorder=1)
        axes.text(101, end, str(f1), color=ink.muted, fontsize=6, va="center", clip_on=False)
    axes.grid(visible=False)


def _violins(axes: Any, ink: Ink, entry: ShownSystem, kind: str) -> None:
    colours = (colour_for(entry, ink), ink.text)
    if entry.train is None:
        _bodies(axes, _values(entry.scores, kind), colours, "both")
    else:
        _bodies(axes, _values(entry.train.scores, kind), (ink.muted, ink.text), "low")
        _bodies(axes, _values(entry.scores, kind), colours, "high")
    axes.set_xticks(range(len(_PARTS)), ["precision", "recall", "F1"])
    shown = [entry.scores, *([entry.train.scores] if entry.train is not None else [])]
    low = min(_lowest(_values(scores, kind), kind) for scores in shown)
    axes.set_ylim(low - 2, 102)
    axes.grid(axis="x", visible=False)


def _bars(axes: Any, ink: Ink, entry: ShownSystem, kind: str) -> None:
    places = np.arange(len(_PARTS))
    shown = [(entry.scores, colour_for(entry, ink), 0.0 if entry.train is None else 0.2)]
    if entry.train is not None:
        shown.append((entry.train.scores, ink.muted, -0.2))
    for scores, colour, aside in shown:
        heights = [scores.figure(f"{kind}.{part}") for part in _PARTS]
        bars = axes.bar(places + aside, heights, 0.38, color=colour)
        axes.bar_label(bars, fmt="%.1f", fontsize=7, color=ink.text)
    axes.set_xticks(places, ["precision", "recall", "F1"])
    axes.set_ylim(0, 105)
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


def _quartiles(entry: ShownSystem, key: str) -> str:
    values = entry.scores.each(key)
    low, middle, high = np.nanquantile(values, (0.25, 0.5, 0.75))
    return f"F1: median {middle:.1f}, half of the outputs {low:.1f} to {high:.1f}"


_KEY_POINTS = tuple(range(1, 11))
"""Where the bins of the paper's Figure 4(a) and (b) begin: key points of the references."""
_UTTERANCES = (1, 6, 11, 16, 21, 31, 41)
"""Where those of Figure 4(c) and (d) begin: utterances of the dialogue."""
_BY_SIZE = {"rougeL.f1": "ROUGE-L", "key_points.rougeL.f1": "Key points' ROUGE-L"}
_BINS = 24
_FEW = 5  # outputs in a bin below which there is no interval to be drawn
_FULL, _MANY = 20, 100  # outputs that a bin has at least, where there are so many in all


def by_size(subject: Subject) -> Picture | None:
    """ROUGE-L, and that of key points, by utterances of the dialogue and by key points."""
    entries = _compared(subject)
    least = _FULL if len(subject.outputs) >= _MANY else 0
    panels = [
        _sized(entries, key, bins, f"{title} by {of}")
        for of, bins in _sizes(subject, least)
        for key, title in _BY_SIZE.items()
        if any(key in entry.scores for entry in entries)
    ]
    if not panels:
        return None
    return Picture(
        "by-size",
        "Scores by size of the dialogue",
        "The mean of the outputs in each bin, in brackets how many these are; for systems with its "
        f"95% interval where they are {_FEW} or more. Of the baselines the best is shown.",
        tuple(panels),
        tuple(_key(entry) for entry in entries),
    )


def _sized(entries: Sequence[ShownSystem], key: str, bins: Bins, title: str) -> Panel:
    found = [(one, binned(one.scores, key, bins)) for one in entries if key in one.scores]
    told = (
        f"{entry.name} "
        + ", ".join(f"{m.figure:.1f} at {name}" for m, name in zip(means, bins.names, strict=True))
        for entry, means in found
    )
    of = title.rpartition(" by ")[2]
    return Panel(title, partial(_lines, found=found, bins=bins, of=of), "; ".join(told))


def _sizes(subject: Subject, least: int = 0) -> Iterator[tuple[str, Bins]]:
    if subject.utterances:
        yield "utterances of the dialogue", Bins.of(subject.utterances, _UTTERANCES, least)
    if subject.key_points is not None:
        yield "key points of the reference", Bins.of(subject.key_points, _KEY_POINTS, least)


def sizes_json(subject: Subject) -> list[JSON]:
    """What `by_size` draws: for each size the bins, and each row's mean in them by column."""
    rows = [one for one in subject.shown if one.speaks]
    return [
        {
            "of": of,
            "bins": list(bins.names),
            "outputs": list(bins.counts),
            "means": {
                key: {row.name: bins.means(row.scores.each(key)) for row in rows}
                for key in _BY_SIZE
                if all(key in row.scores for row in rows)
            },
        }
        for of, bins in _sizes(subject)
    ]


def overview(subject: Subject) -> Picture:
    """Lengths, key facts, scores by size (Figures 2 to 4 of the KDD'19 paper), learning curves."""
    drawn = (
        lengths(subject),
        ranking(subject.systems, ["key_facts.rougeL.f1"], "", ""),
        by_size(subject),
        learning(subject.numbered_runs),
    )
    panels = tuple(panel for one in drawn if one is not None for panel in one.panels)
    legend = tuple(_key(entry) for entry in _compared(subject))
    return Picture("comparison", "Systems side by side", "", panels, legend)


def _compared(subject: Subject) -> list[ShownSystem]:
    """Systems, ceilings and the best of the floors: more lines cannot be told apart."""
    able = [one for one in subject.shown if one.speaks and has_figure(one.intervals, "rougeL.f1")]
    floors = [one for one in able if one.kind is RowKind.floor]
    best = max(floors, key=lambda one: one.scores.figure("rougeL.f1"), default=None)
    return [one for one in able if one.kind is not RowKind.floor or one is best]


def lengths(subject: Subject) -> Picture | None:
    """Histograms: utterances and words of dialogues; words and key points of references; outputs.

    The first, third and fourth are Figure 2 of the KDD'19 paper.
    """
    systems = subject.systems[:_SHOWN]
    if not systems:
        return None
    wanted = subject.reference_words
    panels = []
    if subject.utterances:
        told = [one.dialogue for one in subject.outputs if one.dialogue is not None]
        words = [sum(length(u.text) for u in dialogue.utterances) for dialogue in told]
        panels += [
            _counted("Dialogues: utterances", subject.utterances),
            _counted("Dialogues: words", words),
        ]
    if wanted:
        panels.append(_counted("References: words", wanted))
    if subject.key_points is not None:
        panels.append(_counted("References: key points", subject.key_points))
    top = _top([*wanted, *(n for entry in systems for n in _lengths(entry))])
    panels += [
        Panel(
            f"Outputs of {short(entry.name)}: words",
            partial(_beside, entry=entry, wanted=wanted, top=top),
            f"Mean {fmean(_lengths(entry)):.1f}"
            + (f", of references {fmean(wanted):.1f}" if wanted else ""),
            2.1,
        )
        for entry in systems
    ]
    return Picture(
        "lengths",
        "How long dialogues and summaries are",
        "Words and single Chinese characters; punctuation is not counted. The outline is the "
        "references', dashed lines are means; the last bar also holds whatever is longer.",
        tuple(panels),
    )


def _counted(title: str, values: Sequence[float]) -> Panel:
    alt = f"Mean {fmean(values):.1f}, from {min(values):g} to {max(values):g}"
    return Panel(title, partial(_histogram, values=values), alt, 2.1)


def binned(scores: Scores, key: str, bins: Bins) -> list[Interval]:
    """The mean of a column in every bin."""
    return [
        intervals(shown_alone(scores, key, bins.places == place))[key]
        for place in range(len(bins.names))
    ]


def _lines(
    axes: Any, ink: Ink, found: Sequence[tuple[ShownSystem, list[Interval]]], bins: Bins, of: str
) -> None:
    places = np.arange(len(bins.names))
    for entry, means in found:
        colour, lead = colour_for(entry, ink), entry.leads
        axes.plot(
            places,
            [one.figure for one in means],
            color=colour,
            marker=marker(entry.number) if lead else ".",
            markersize=4,
            linewidth=1.5 if lead else 0.9,
            linestyle="-" if lead else "--",
            zorder=3 if lead else 2,
        )
        if lead:
            enough = np.array(bins.counts) >= _FEW
            ends = np.array([(one.low, one.high) for one in means])
            low, high = np.where(enough[:, None], ends, np.nan).T
            axes.fill_between(places, low, high, color=colour, alpha=0.15, linewidth=0)
    axes.set_xticks(places, [f"{n}\n({c})" for n, c in zip(bins.names, bins.counts, strict=True)])
    axes.set_xlabel(of)
    axes.set_ylim(bottom=0)
    axes.grid(axis="x", visible=False)


def _histogram(axes: Any, ink: Ink, values: Sequence[float]) -> None:
    drawn = ((values, ink.floor, ink.text, {"alpha": 0.8}),)
    _bars_of(axes, drawn, _top(values), "dialogues")


def _beside(axes: Any, ink: Ink, entry: ShownSystem, wanted: Sequence[float], top: float) -> None:
    own, outline = colour_for(entry, ink), {"histtype": "step", "linewidth": 1}
    drawn = ((_lengths(entry), own, own, {"alpha": 0.7}), (wanted, ink.text, ink.text, outline))
    _bars_of(axes, drawn, top, "outputs")


def _bars_of(
    axes: Any,
    drawn: Iterable[tuple[Sequence[float], str, str, dict[str, Any]]],
    top: float,
    what: str,
) -> None:
    """Histograms: values, their colour and that of their mean, and how they are drawn."""
    # Whole numbers, so that no bin holds more of them than its neighbour.
    step = max(1, int(np.ceil((top + 1) / _BINS)))
    edges = np.arange(0, top + 1 + step, step) - 0.5
    for values, colour, of_mean, how in drawn:
        if values:
            axes.hist(np.clip(values, 0, top), bins=edges, color=colour, **how)
            axes.axvline(fmean(values), color=of_mean, linewidth=1, linestyle="--")
    axes.set_ylabel(what)
    axes.yaxis.get_major_locator().set_params(integer=True)
    axes.grid(axis="x", visible=False)


def _top(values: Sequence[float]) -> float:
    """Where histograms end: a few very long texts must not flatten all others."""
    if not values:
        return 1.0
    return float(max(1.0, min(max(values), 3 * np.quantile(values, 0.95))))


def _lengths(entry: ShownSystem) -> list[int]:
    return [length(output.prediction) for output in entry.outputs]


def _key(entry: ShownSystem) -> LegendKey:
    return LegendKey(short(entry.name), "series" if entry.leads else entry.kind, entry.number)
