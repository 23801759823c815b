"""Figures of training: loss, learning rate and scores on development data, by update."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from dialogist.errors import DataError
from dialogist.training.run_logs import RunLogs
from dialogist_lab.report.canvas import Key, Panel, Picture
from dialogist_lab.report.ink import Ink, marker
from dialogist_lab.report.model import Run
from dialogist_lab.report.plots_scores import short

_TITLES = {"rouge1": "ROUGE-1", "rouge2": "ROUGE-2", "rougeL": "ROUGE-L"}


@dataclass(frozen=True, slots=True)
class Curve:
    """One line: of which run, and whether of its training data."""

    run: int
    training: bool
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Curves:
    """One panel."""

    title: str
    unit: str
    curves: tuple[Curve, ...]


def learning(runs: Sequence[Run]) -> Picture | None:
    """Curves of all runs, each quantity in a panel.

    Raises:
        DataError: a run's ``metrics.jsonl`` is damaged.
    """
    every = [one for one in _all_curves(runs) if one.curves]
    if not every:
        return None
    dashed = any(c.training for one in every for c in one.curves)
    return Picture(
        "learning",
        "Learning curves and learning rate",
        "By updates of the weights." + (" Dotted: on training data." if dashed else ""),
        tuple(
            Panel(one.title, partial(_lines, one=one, runs=runs), _told(one, runs), 2.3)
            for one in every
        ),
        tuple(Key(short(run.name), "series", run.number) for run in runs),
    )


def _all_curves(runs: Sequence[Run]) -> list[Curves]:
    loss = [("epoch", "dev_loss", False), ("train", "nll", True)]
    every = [
        Curves("Cross-entropy", "nats per token", _curves(runs, loss)),
        Curves("Learning rate", "", _curves(runs, [("train", "learning_rate", False)])),
    ]
    for kind, title in _TITLES.items():
        names = [("epoch", f"dev_{kind}", False), ("epoch", f"train_{kind}", True)]
        every.append(Curves(f"{title} while learning", "F1", _curves(runs, names)))
    return every


def _curves(runs: Sequence[Run], names: Sequence[tuple[str, str, bool]]) -> tuple[Curve, ...]:
    found = []
    for number, run in enumerate(runs):
        for kind, name, training in names:
            points = _series(run, kind, name)
            if points:
                found.append(Curve(number, training, points))
    return tuple(found)


def _series(run: Run, kind: str, name: str) -> tuple[tuple[float, float], ...]:
    logs = RunLogs(run.folder)
    try:
        rows = logs.series(kind, name)
    except (ValueError, AttributeError):
        raise DataError(f"{logs.metrics.path}: is damaged: a line is no JSON object") from None
    except OSError as error:
        raise DataError(f"{logs.metrics.path}: cannot be read: {error.strerror}") from None
    return tuple((float(row[0]), float(row[1])) for row in rows)


def _lines(axes: Any, ink: Ink, one: Curves, runs: Sequence[Run]) -> None:
    for curve in one.curves:
        few = len(curve.points) <= 30
        axes.plot(
            *zip(*curve.points, strict=True),
            color=ink.series(runs[curve.run].number),
            linewidth=1.0 if curve.training else 1.5,
            linestyle=":" if curve.training else "-",
            marker=marker(runs[curve.run].number) if few and not curve.training else None,
            markersize=3.5,
        )
    axes.set(xlabel="update", ylabel=one.unit)
    axes.margins(y=0.1)
    axes.ticklabel_format(axis="y", style="sci", scilimits=(-2, 4))


def _told(one: Curves, runs: Sequence[Run]) -> str:
    return ", ".join(
        f"{runs[c.run].name}{' (training)' if c.training else ''} {c.points[0][1]:.3g} to "
        f"{c.points[-1][1]:.3g}"
        for c in one.curves
    )
