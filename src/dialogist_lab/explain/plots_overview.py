"""Two pictures for the whole: the summary token by token, and how widely each head looks."""

import math
from typing import TYPE_CHECKING

from dialogist_lab.explain.drawing import (
    COPIED,
    GENERATED,
    INK,
    PALE,
    Folder,
    colours,
)
from dialogist_lab.explain.explanation import Explanation, TargetToken
from dialogist_lab.explain.focus import Focus, focus_of
from dialogist_lab.explain.labels import tick

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PER_LINE = 48  # tokens


def plot_tokens(explanation: Explanation, folder: Folder) -> None:
    """``tokens.png``: the probability of each token, and below it p_gen, line by line."""
    from matplotlib.figure import Figure

    tokens = explanation.target
    lines = [tokens[i : i + _PER_LINE] for i in range(0, len(tokens), _PER_LINE)] or [()]
    widest = max(map(len, lines))
    figure = Figure(
        figsize=(max(5.0, 1.4 + 0.22 * widest), 0.7 + 1.75 * len(lines)), layout="constrained"
    )
    grid = figure.subplots(len(lines), 1, squeeze=False)[:, 0]
    for axes, line in zip(grid, lines, strict=True):
        _draw_line(axes, line, widest)
    handles, labels = grid[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=3, fontsize=8, frameon=False)
    folder.save(figure, "tokens")


def _draw_line(axes: "Axes", line: tuple[TargetToken, ...], widest: int) -> None:
    places = list(range(len(line)))
    axes.bar(places, [math.exp(t.log_prob) for t in line], 0.8, color=PALE, label="probability")
    gates = [t.copying.p_gen for t in line if t.copying is not None]
    if gates:
        depth, lefts = [-0.16] * len(gates), [place - 0.5 for place in places]
        axes.bar(lefts, depth, gates, align="edge", color=GENERATED, label="generated (p_gen)")
        rights, rest = [x + g for x, g in zip(lefts, gates, strict=True)], [1 - g for g in gates]
        axes.bar(rights, depth, rest, align="edge", color=COPIED, label="copied")
    names = [tick(t.text) for t in line]
    axes.set_xticks(places, names, rotation=90, fontsize=7, parse_math=False)
    axes.set(xlim=(-0.6, widest - 0.4), ylim=(-0.2 if gates else 0, 1.02))
    axes.set_yticks([0, 0.5, 1])
    axes.tick_params(labelsize=7, length=2, color=PALE)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def plot_focus(explanation: Explanation, folder: Folder) -> None:
    """``focus.png``: e to the mean entropy of each head; nothing where there is no attention."""
    from matplotlib.figure import Figure

    found = list(focus_of(explanation))
    if not found:
        return
    across = min(3, len(found))
    down = math.ceil(len(found) / across)
    highest = max(len(focus.layers) for focus in found)
    figure = Figure(
        figsize=(4.2 * across, 0.4 + down * (0.8 + 0.32 * highest)), layout="constrained"
    )
    grid = figure.subplots(down, across, squeeze=False).flatten()
    for axes in grid[len(found) :]:
        axes.set_axis_off()
    for axes, focus in zip(grid, found, strict=False):
        _draw_focus(axes, focus)
    figure.suptitle("on how many columns a row's weight lies (e to the mean entropy)", fontsize=9)
    folder.save(figure, "focus")


def _draw_focus(axes: "Axes", focus: Focus) -> None:
    widths, most = focus.widths(), math.log(max(2, focus.columns))
    shades = [[1 - value / most for value in row] for row in focus.entropies]
    axes.imshow(shades, cmap=colours(), vmin=0, vmax=1.6, aspect="auto")
    for layer, row in enumerate(widths):
        for head, width in enumerate(row):
            colour = "white" if shades[layer][head] > 0.7 else INK
            axes.text(head, layer, f"{width:.1f}", ha="center", va="center", size=8, color=colour)
    several = len(widths[0]) > 1
    axes.set_xticks(
        range(len(widths[0])), [f"head {h + 1}" if several else "" for h in range(len(widths[0]))]
    )
    axes.set_yticks(range(len(widths)), [f"layer {n}" if n else "" for n in focus.layers])
    axes.tick_params(labelsize=7, length=0)
    axes.set_title(f"{focus.title} (of {focus.columns})", fontsize=8)
