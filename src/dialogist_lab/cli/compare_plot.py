"""Figures 3 and 4 of the Leader-Writer paper (KDD 2019) of a comparison, as one PNG file."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dialogist.errors import MissingExtraError

if TYPE_CHECKING:
    from dialogist.evaluation.key_point_scoring import Bin, Figures
    from dialogist_lab.cli.compare_table import Comparison
    from dialogist_lab.comparison.compare import Row

# Okabe and Ito's colours, which the colour-blind can tell apart, and two more.
_COLOURS = (
    *("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#000000", "#999999"),
    *("#6A3D9A", "#8C510A"),
)
_MARKERS = "osD^vPX*"

_Panel = Callable[[Any], None]


def plot_comparison(comparison: "Comparison", path: Path) -> None:
    """Draw key facts, lengths, losses by epoch, and ROUGE-L by key points and by utterances.

    Without a rule pack, or a system that was trained here, only the panels that need none.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("--plot", "eval") from None
    bars, lines = list(_bar_panels(comparison)), list(_line_panels(comparison))
    columns = max(len(bars), min(2, len(lines)))
    systems = len(comparison.rows)
    heights = [0.6 + 0.28 * systems, *[2.8] * (-(-len(lines) // columns))]
    size = (5.6 * columns, sum(heights) + 0.9 + 0.16 * systems)
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.add_gridspec(len(heights), columns, height_ratios=heights)
    for place, panel in enumerate(bars):
        panel(figure.add_subplot(grid[0, place]))
    for place, panel in enumerate(lines):
        panel(figure.add_subplot(grid[1 + place // columns, place % columns]))
    handles, labels = figure.axes[-1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(systems, 2 * columns))
    figure.savefig(path, dpi=120)


def _bar_panels(comparison: "Comparison") -> Iterator[_Panel]:
    rows = comparison.rows
    if comparison.pack is not None and comparison.pack.key_facts:
        facts = [row.figures.key_facts for row in rows]
        scores = [0.0 if fact is None else fact.rougeL_f1 or 0.0 for fact in facts]
        yield lambda axes: _bars(axes, rows, scores, "ROUGE-L on key facts")
    lengths = [row.figures.length for row in rows]
    wanted = comparison.references.length

    def length(axes: Any) -> None:
        _bars(axes, rows, lengths, f"mean length in {comparison.unit}")
        axes.axvline(wanted, color="black", linestyle="--", linewidth=1, zorder=1.5)
        axes.text(wanted, 1.0, f" references {wanted:.1f}", transform=axes.get_xaxis_transform())

    yield length


def _line_panels(comparison: "Comparison") -> Iterator[_Panel]:
    def panel(of: Callable[["Figures"], Sequence["Bin"]], name: str, x: str) -> _Panel:
        title = {"summaries": "summaries", "key_points": "key points"}[name]
        return lambda axes: _lines(axes, comparison.rows, of, (name, title, x))

    names = ("summaries", "key_points") if comparison.pack is not None else ("summaries",)
    for name in names:
        if comparison.pack is not None:
            yield panel(lambda f: f.by_key_points, name, "key points of the reference")
    for name in names:
        yield panel(lambda f: f.by_utterances, name, "utterances of the dialogue")
    if any(row.run.losses for row in comparison.rows):
        yield lambda axes: _losses(axes, comparison.rows)


def _bars(axes: Any, rows: Sequence["Row"], values: Sequence[float], title: str) -> None:
    places = range(len(rows))  # two folders may end alike
    colours = [_COLOURS[i % len(_COLOURS)] for i in range(len(rows))]
    bars = axes.barh(places, values, color=colours)
    axes.set_yticks(places, [_short(row) for row in rows])
    ground = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}  # a line may pass behind
    axes.bar_label(bars, fmt="%.1f", padding=4, bbox=ground)
    axes.invert_yaxis()  # the first system on top, as in the table
    axes.margins(x=0.15)
    axes.set_title(title, pad=16)


def _lines(
    axes: Any,
    rows: Sequence["Row"],
    of: Callable[["Figures"], Sequence["Bin"]],
    what: tuple[str, str, str],
) -> None:
    """ROUGE-L of every system over the same bins; under each how many outputs it holds."""
    name, title, x = what
    bins = of(rows[0].figures)  # they depend on the references and the dialogues alone
    for i, row in enumerate(rows):
        values = [getattr(one, name) for one in of(row.figures)]
        axes.plot(range(len(bins)), values, label=_short(row), **_style(i))
    axes.set_xticks(range(len(bins)), [f"{_range(one)}\n({one.count})" for one in bins])
    axes.set(xlabel=f"{x} (how many)", ylabel="ROUGE-L", title=f"ROUGE-L of {title}")
    axes.grid(alpha=0.3)


def _losses(axes: Any, rows: Sequence["Row"]) -> None:
    """What was learned, by epoch: on dev, and dotted in training."""
    for i, row in enumerate(rows):
        losses = row.run.losses or ()
        epochs, style = [one.epoch for one in losses], _style(i)
        axes.plot(epochs, [one.dev for one in losses], label=_short(row), **style)
        axes.plot(epochs, [one.train for one in losses], **style | {"marker": "", "ls": ":"})
    axes.xaxis.get_major_locator().set_params(integer=True)
    title = "cross-entropy of dev (dotted: in training)"
    axes.set(xlabel="epoch", ylabel="nats per token", title=title)
    axes.grid(alpha=0.3)


def _short(row: "Row") -> str:
    """Of a path the last part: the table beside the picture has it all."""
    return Path(row.name).name


def _style(i: int) -> dict[str, Any]:
    """Of the i-th system's lines."""
    return {
        "color": _COLOURS[i % len(_COLOURS)],
        "marker": _MARKERS[(i // len(_COLOURS) + i) % len(_MARKERS)],
        "markersize": 5,
        "linewidth": 1.3,
    }


def _range(one: "Bin") -> str:
    if one.last is None:
        return f"{one.first}+"
    return str(one.first) if one.first == one.last else f"{one.first}-{one.last}"
