"""The attention maps of an explanation as pictures (matplotlib)."""

import math
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dialogist.errors import needs_extra
from dialogist_lab.explain.explanation import (
    TITLES,
    Axis,
    Explanation,
    SelectedMaps,
    ShownMap,
    map_label,
    tick,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_FONTS = (
    *("DejaVu Sans", "Noto Sans", "Noto Sans CJK SC", "Noto Sans CJK JP", "Source Han Sans SC"),
    *("WenQuanYi Zen Hei", "PingFang SC", "PingFang HK", "Hiragino Sans GB", "Microsoft YaHei"),
    *("SimHei", "Arial Unicode MS", "Noto Sans Arabic", "Noto Sans Hebrew"),
    *("Noto Sans Devanagari", "Noto Emoji", "Symbola"),
)
"""What is tried in turn for a character, as far as it is installed."""

_INK, _PALE = "#1f2328", "#9aa3ab"
_RAMP = ("#ffffff", "#ffb020", "#96280a", "#3c0514")  # as on the page
_MISSING = re.compile(r"Glyph \d+ \((.*?)\) missing from")
_DPI = 120

# All in inches.
_CELL, _SMALLEST_LABELLED = 0.15, 0.1
_WIDEST, _HIGHEST, _PAGE, _LONGEST_PAGE = 14.0, 12.0, 17.0, 90.0
_CHARACTER, _GAP, _TITLE = 0.066, 0.35, 0.38
_FONT_SIZE = 6.5


def plot_explanation(
    explanation: Explanation, selected: SelectedMaps, folder: Path
) -> tuple[list[Path], set[str]]:
    """Draw all maps; return the files, and the characters that no installed font has.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    with needs_extra("--png", "eval"):
        import matplotlib as mpl
        from matplotlib import font_manager
    installed = set(font_manager.get_font_names())
    settings: Any = {  # matplotlib types them as a list of all its names
        "font.family": [name for name in _FONTS if name in installed] or ["sans-serif"],
        "font.size": _FONT_SIZE,
        "text.color": _INK,
        "text.parse_math": False,  # a "$" of a dialogue is no formula
    }
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    with mpl.rc_context(settings), warnings.catch_warnings(record=True) as caught:
        warnings.filterwarnings("always", message="Glyph")
        for shown in selected.maps:
            files.append(folder / f"{_file_name(shown)}.png")
            _drawn(explanation, shown).savefig(files[-1], dpi=_DPI)
    found = (_MISSING.search(str(warning.message)) for warning in caught)
    return files, {one[1] for one in found if one is not None}


def _file_name(shown: ShownMap) -> str:
    """The map's name, and of which utterance or sub-summary it is."""
    found = shown.map
    if found.group is None:
        return found.name
    return f"{found.name}_{'utterance' if found.role == 'within' else 'part'}{found.group + 1}"


@dataclass(frozen=True, slots=True)
class _Side:
    """The rows or columns of a heat-map: how long in inches, what is written where.

    ``ticks``: the middles of what is named, ``names``, ``borders`` between utterances; in cells.
    """

    size: float
    ticks: list[float]
    names: list[str]
    borders: list[float]

    @property
    def margin(self) -> float:
        """Room for the names, in inches."""
        return 0.15 + _CHARACTER * max(map(len, self.names), default=0)


def _side(explanation: Explanation, axis: Axis, most: float) -> _Side:
    cell = min(_CELL, most / len(axis))
    labels = explanation.labels(axis.kind)
    utterances = [
        explanation.source[place].utterance if axis.kind == "source" else 0 for place in axis.places
    ]
    starts = [i for i in range(1, len(axis)) if utterances[i] != utterances[i - 1]]
    borders = [i - 0.5 for i in starts]
    if cell >= _SMALLEST_LABELLED or not starts:
        step = max(1, math.ceil(_SMALLEST_LABELLED / cell))
        ticks = range(0, len(axis), step)
        names = [tick(labels[axis.places[i]]) for i in ticks]
        return _Side(cell * len(axis), [float(i) for i in ticks], names, borders)
    return _Side(cell * len(axis), *_by_utterance(explanation, utterances, cell), borders)


def _by_utterance(
    explanation: Explanation, utterances: Sequence[int], cell: float
) -> tuple[list[float], list[str]]:
    """One tick in the middle of each utterance that is not too near the one before."""
    labels = explanation.labels("utterances")
    ticks: list[float] = []
    names: list[str] = []
    for number, group in groupby(range(len(utterances)), key=lambda i: utterances[i]):
        cells = list(group)
        middle = (cells[0] + cells[-1]) / 2
        near = ticks and (middle - ticks[-1]) * cell < _SMALLEST_LABELLED
        if number >= 0 and not near:
            ticks.append(middle)
            names.append(tick(labels[number]))
    return ticks, names


def _drawn(explanation: Explanation, shown: ShownMap) -> "Figure":
    """Mean and heads side by side as far as the page is wide, on one scale."""
    from matplotlib.colors import LinearSegmentedColormap, PowerNorm
    from matplotlib.figure import Figure

    stack = shown.stack
    rows = _side(explanation, shown.map.rows, _HIGHEST)
    columns = _side(explanation, shown.map.columns, _WIDEST)
    across = max(1, min(len(stack), int((_PAGE - rows.margin) / (columns.size + _GAP))))
    down = math.ceil(len(stack) / across)
    high = min(rows.size, _LONGEST_PAGE / down)
    width = max(4.5, rows.margin + across * (columns.size + _GAP) + 0.9)
    height = 0.5 + down * (high + _TITLE) + columns.margin
    figure = Figure(figsize=(width, height))
    room = {
        "left": rows.margin / width,
        "right": (rows.margin + across * (columns.size + _GAP) - _GAP) / width,
        "bottom": columns.margin / height,
        "top": 1 - 0.7 / height,
        "wspace": _GAP / columns.size,
        "hspace": _TITLE / high,
    }
    grid = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False, gridspec_kw=room)
    # White to nearly black, by way of amber: the order can be seen in grey as well.
    ramp = LinearSegmentedColormap.from_list("weights", _RAMP)
    norm = PowerNorm(0.5, vmin=0, vmax=max(float(stack.max()), 1e-9))
    for axes in grid.flat[len(stack) :]:
        axes.set_visible(False)
    for axes, name, weights in zip(grid.flat, shown.names, stack, strict=False):
        image = axes.imshow(weights, cmap=ramp, norm=norm, aspect="auto")
        axes.set_title("" if shown.single else name, fontsize=8, pad=3)
        _mark(axes, rows, columns)
    for axes in grid.flat[max(0, len(stack) - across) : len(stack)]:
        axes.tick_params(labelbottom=True)  # also above a place that is empty
    axes.set_xticks(columns.ticks, columns.names, rotation=90)  # all axes share them
    axes.set_yticks(rows.ticks, rows.names)
    figure.colorbar(
        image, cax=grid[0, -1].inset_axes((1 + 0.1 / columns.size, 0, 0.12 / columns.size, 1))
    )
    label = map_label(explanation, shown)
    title = ", ".join(part for part in (TITLES[shown.map.role], label) if part)
    figure.text(0.08 / width, 1 - 0.12 / height, title, va="top", size=9)
    return figure


def _mark(axes: "Axes", rows: _Side, columns: _Side) -> None:
    """Lines where utterances meet; names stand at the outer sides alone."""
    axes.tick_params(length=0, pad=2)
    for border in columns.borders:
        axes.axvline(border, color=_PALE, linewidth=0.5)
    for border in rows.borders:
        axes.axhline(border, color=_PALE, linewidth=0.5)
    for spine in axes.spines.values():
        spine.set(color=_PALE, linewidth=0.5)
