"""Figures by size: scores by length of the dialogue and by key points, and how long texts are.

Figures 2, 3(b) and 4 of the Leader-Writer paper (Liu et al., KDD 2019), for any system and data.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dialogist.evaluation.key_point_scoring import KEY_POINT_BINS, UTTERANCE_BINS
from dialogist.evaluation.report_card import RowKind
from dialogist.evaluation.scoring import Scores
from dialogist.evaluation.significance import Interval, intervals
from dialogist.metrics.base import Floats
from dialogist_lab.report.canvas import Key, Panel, Picture
from dialogist_lab.report.ink import Ink
from dialogist_lab.report.model import Shown, Subject, alone, known, length
from dialogist_lab.report.plots_scores import colour_for, series_marker, short

_BINS = 24
_SHOWN = 6
_FEW = 5  # outputs in a bin below which there is no interval to be drawn


@dataclass(frozen=True, slots=True)
class Bins:
    """Outputs by size: ``places`` (N,) the bin of each, ``names`` and ``counts`` of the bins."""

    places: NDArray[np.intp]
    names: tuple[str, ...]
    counts: tuple[int, ...]

    @classmethod
    def of(cls, sizes: Sequence[float], starts: Sequence[int]) -> "Bins":
        """Bins begin at ``starts``, the first takes what is smaller; empty ones are left out."""
        whole = np.floor(np.asarray(sizes, dtype=float) + 0.5)
        found = np.searchsorted(starts, whole, side="right").clip(min=1) - 1
        used, places, counts = np.unique(found, return_inverse=True, return_counts=True)
        ends = [*(start - 1 for start in starts[1:]), None]
        names = tuple(_range(starts[i], ends[i]) for i in used)
        return cls(places, names, tuple(map(int, counts)))


def by_size(subject: Subject) -> Picture | None:
    """ROUGE-L, and that of key points, by utterances of the dialogue and by key points."""
    entries = _compared(subject)
    asked = []
    if subject.utterances:
        bins = Bins.of(subject.utterances, UTTERANCE_BINS)
        asked.append((bins, "utterances of the dialogue"))
    if subject.key_points is not None:
        bins = Bins.of(subject.key_points, KEY_POINT_BINS)
        asked.append((bins, "key points of the reference"))
    measured = {"rougeL.f1": "ROUGE-L", "key_points.rougeL.f1": "Key points' ROUGE-L"}
    panels = [
        Panel(
            f"{title} by {of}",
            partial(_lines, entries=entries, key=key, bins=bins, of=of),
            "; ".join(_told(entry, key, bins) for entry in entries if key in entry.scores),
        )
        for bins, of in asked
        for key, title in measured.items()
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


def _compared(subject: Subject) -> list[Shown]:
    """Systems, ceilings and the best of the floors: more lines cannot be told apart."""
    able = [one for one in subject.shown if one.speaks and known(one.scores, ["rougeL.f1"])]
    floors = [one for one in able if one.entry.kind is RowKind.floor]
    best = max(floors, key=lambda one: one.scores.figure("rougeL.f1"), default=None)
    return [one for one in able if one.entry.kind is not RowKind.floor or one is best]


def lengths(subject: Subject) -> Picture | None:
    """Histograms: utterances and words of dialogues, words of references and of outputs."""
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
    alt = f"Mean {fmean(values):.1f}, from {min(values)} to {max(values)}"
    return Panel(title, partial(_histogram, values=values), alt, 2.1)


def binned(scores: Scores, key: str, bins: Bins) -> list[Interval]:
    """The mean of a column in every bin."""
    return [
        intervals(alone(scores, key, bins.places == place))[key] for place in range(len(bins.names))
    ]


def _lines(axes: Any, ink: Ink, entries: Sequence[Shown], key: str, bins: Bins, of: str) -> None:
    places = np.arange(len(bins.names))
    for entry in entries:
        if key not in entry.scores:
            continue
        found = binned(entry.scores, key, bins)
        colour = colour_for(entry, ink)
        lead = entry.leads
        axes.plot(
            places,
            [one.figure for one in found],
            color=colour,
            marker=series_marker(entry),
            markersize=4,
            linewidth=1.5 if lead else 0.9,
            linestyle="-" if lead else "--",
            zorder=3 if lead else 2,
        )
        if lead:
            shown = [count >= _FEW for count in bins.counts]
            low, high = (
                np.where(shown, [getattr(one, side) for one in found], np.nan)
                for side in ("low", "high")
            )
            axes.fill_between(places, low, high, color=colour, alpha=0.15, linewidth=0)
    axes.set_xticks(places, [f"{n}\n({c})" for n, c in zip(bins.names, bins.counts, strict=True)])
    axes.set_xlabel(of)
    axes.set_ylim(bottom=0)
    axes.grid(axis="x", visible=False)


def _histogram(axes: Any, ink: Ink, values: Sequence[float]) -> None:
    top = _top(values)
    axes.hist(np.clip(values, 0, top), bins=_edges(top), color=ink.floor, alpha=0.8)
    _mean_line(axes, values, ink.text)
    _counting(axes, "dialogues")


def _beside(axes: Any, ink: Ink, entry: Shown, wanted: Sequence[float], top: float) -> None:
    edges = _edges(top)
    own = _lengths(entry)
    axes.hist(np.clip(own, 0, top), bins=edges, color=colour_for(entry, ink), alpha=0.7)
    _mean_line(axes, own, colour_for(entry, ink))
    if wanted:
        axes.hist(np.clip(wanted, 0, top), bins=edges, histtype="step", color=ink.text, linewidth=1)
        _mean_line(axes, wanted, ink.text)
    _counting(axes, "outputs")


def _counting(axes: Any, what: str) -> None:
    axes.set_ylabel(what)
    axes.yaxis.get_major_locator().set_params(integer=True)
    axes.grid(axis="x", visible=False)


def _mean_line(axes: Any, values: Sequence[float], colour: str) -> None:
    axes.axvline(fmean(values), color=colour, linewidth=1, linestyle="--")


def _edges(top: float) -> Floats:
    """Whole numbers, so that no bin holds more of them than its neighbour."""
    step = max(1, int(np.ceil((top + 1) / _BINS)))
    return np.arange(0, top + 1 + step, step) - 0.5


def _top(values: Sequence[float]) -> float:
    """Where histograms end: a few very long texts must not flatten all others."""
    if not values:
        return 1.0
    return float(max(1.0, min(max(values), 3 * np.quantile(values, 0.95))))


def _lengths(entry: Shown) -> list[int]:
    return [length(output.prediction) for output in entry.outputs]


def _told(entry: Shown, key: str, bins: Bins) -> str:
    found = binned(entry.scores, key, bins)
    figures = ", ".join(
        f"{one.figure:.1f} at {name}" for one, name in zip(found, bins.names, strict=True)
    )
    return f"{entry.name} {figures}"


def _key(entry: Shown) -> Key:
    return Key(short(entry.name), "series" if entry.leads else entry.entry.kind, entry.number)


def _range(first: int, last: int | None) -> str:
    if last is None:
        return f"{first}+"
    return str(first) if first == last else f"{first}-{last}"
