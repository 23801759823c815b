"""The attention maps of an explanation as pictures (matplotlib)."""

import math
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dialogist.errors import MissingExtraError
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
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure


_FONTS = (
    *("DejaVu Sans", "Noto Sans", "Noto Sans CJK SC", "Noto Sans CJK JP", "Source Han Sans SC"),
    *("WenQuanYi Zen Hei", "PingFang SC", "PingFang HK", "Hiragino Sans GB", "Microsoft YaHei"),
    *(
        "SimHei",
        "Arial Unicode MS",
        "Noto Sans Arabic",
        "Noto Sans Hebrew",
        "Noto Sans Devanagari",
        "Noto Emoji",
        "Symbola",
    ),
)
"""What is tried in turn for a character, as far as it is installed."""

INK, PALE = "#1f2328", "#9aa3ab"
_RAMP = ("#ffffff", "#ffb020", "#96280a", "#3c0514")  # as on the page
_MISSING = re.compile(r"Glyph \d+ \((.*?)\) missing from")
DPI = 120


@dataclass(slots=True)
class Folder:
    """Where pictures go; ``files`` so far, and ``missing``: characters that no font has."""

    path: Path
    files: list[Path] = field(default_factory=list)
    missing: set[str] = field(default_factory=set)

    def save(self, figure: "Figure", name: str) -> None:
        """Write one picture."""
        file = self.path / f"{name}.png"
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            figure.savefig(file, dpi=DPI)
        for warning in caught:
            found = _MISSING.search(str(warning.message))
            if found is None:
                warnings.warn_explicit(
                    warning.message, warning.category, warning.filename, warning.lineno
                )
            else:
                self.missing.add(found[1])
        self.files.append(file)


@contextmanager
def pictures(path: Path) -> Iterator[Folder]:
    """Make a folder for pictures, and draw with fonts for as many scripts as there are.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    try:
        import matplotlib
        from matplotlib import font_manager
    except ImportError:
        raise MissingExtraError("--png", "eval") from None
    installed = set(font_manager.get_font_names())
    families = [name for name in _FONTS if name in installed]
    path.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context({"font.family": families or ["sans-serif"], "text.color": INK}):
        yield Folder(path)


def colours() -> "Colormap":
    """White to nearly black, by way of amber; the order can be seen in grey as well."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("weights", _RAMP)


# All in inches.
_CELL, _SMALLEST_LABELLED = 0.15, 0.1
_WIDEST, _HIGHEST, _PAGE, _LONGEST_PAGE = 14.0, 12.0, 17.0, 90.0
_CHARACTER, _GAP, _TITLE = 0.066, 0.35, 0.28
_FONT_SIZE = 6.5


def plot_explanation(
    explanation: Explanation, selected: SelectedMaps, folder: Path
) -> tuple[list[Path], set[str]]:
    """Draw all maps; return the files, and the characters that no installed font has.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    with pictures(folder) as made:
        for shown in selected.maps:
            _plot_map(explanation, shown, made)
    return made.files, made.missing


def file_name(shown: ShownMap) -> str:
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


def _plot_map(explanation: Explanation, shown: ShownMap, folder: Folder) -> None:
    """Mean and heads side by side as far as the page is wide, on one scale."""
    from matplotlib.colors import PowerNorm
    from matplotlib.figure import Figure

    stack = shown.stack
    rows = _side(explanation, shown.map.rows, _HIGHEST)
    columns = _side(explanation, shown.map.columns, _WIDEST)
    across = max(1, min(len(stack), int((_PAGE - rows.margin) / (columns.size + _GAP))))
    down = math.ceil(len(stack) / across)
    high = min(rows.size, _LONGEST_PAGE / down)
    width = rows.margin + across * (columns.size + _GAP) + 0.9
    height = 0.6 + down * (high + _TITLE + 0.1) + columns.margin
    figure = Figure(figsize=(max(width, 4.5), height))
    norm = PowerNorm(0.5, vmin=0, vmax=max(float(stack.max()), 1e-9))
    for i, (name, weights) in enumerate(zip(shown.names, stack, strict=True)):
        left = rows.margin + (i % across) * (columns.size + _GAP)
        top = height - 0.5 - (i // across) * (high + _TITLE + 0.1) - _TITLE
        box = _box(figure, left, top - high, columns.size, high)
        axes = figure.add_axes(box)
        image = axes.imshow(weights, cmap=colours(), norm=norm, aspect="auto")
        axes.set_title("" if shown.single else name, fontsize=8, pad=3)
        _name_sides(axes, rows, columns, i % across == 0, i + across >= len(stack))
    bar = _box(figure, width - 0.7, height - 0.5 - _TITLE - min(high, 2.5), 0.12, min(high, 2.5))
    figure.colorbar(image, cax=figure.add_axes(bar)).ax.tick_params(labelsize=_FONT_SIZE)
    label = map_label(explanation, shown)
    title = ", ".join(part for part in (TITLES[shown.map.role], label) if part)
    figure.text(
        0.08 / figure.get_figwidth(), 1 - 0.12 / height, title, va="top", parse_math=False, size=9
    )
    folder.save(figure, file_name(shown))


def _box(
    figure: "Figure", left: float, bottom: float, width: float, height: float
) -> tuple[float, float, float, float]:
    """From inches to shares of the figure."""
    across, up = figure.get_size_inches()
    return left / across, bottom / up, width / across, height / up


def _name_sides(axes: "Axes", rows: _Side, columns: _Side, at_left: bool, at_bottom: bool) -> None:
    """Names at the outer sides only; lines where utterances meet.

    They are plain texts: ticks of matplotlib take ten times as long to make.
    """
    # (parse_math: a "$" of a dialogue is no formula)
    plain: dict[str, Any] = {"fontsize": _FONT_SIZE, "parse_math": False}
    axes.set_xticks([])
    axes.set_yticks([])
    below, beside = axes.get_xaxis_transform(), axes.get_yaxis_transform()
    for place, name in zip(columns.ticks, columns.names, strict=True) if at_bottom else ():
        shift = -0.04 / columns.size
        axes.text(place, shift, name, transform=below, rotation=90, ha="center", va="top", **plain)
    for place, name in zip(rows.ticks, rows.names, strict=True) if at_left else ():
        axes.text(
            -0.04 / columns.size, place, name, transform=beside, ha="right", va="center", **plain
        )
    for border in columns.borders:
        axes.axvline(border, color=PALE, linewidth=0.5)
    for border in rows.borders:
        axes.axhline(border, color=PALE, linewidth=0.5)
    for spine in axes.spines.values():
        spine.set(color=PALE, linewidth=0.5)
