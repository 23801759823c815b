"""Figures as SVG for a page and as PNG files, from the same drawing (matplotlib, without pyplot).

A picture is a few small panels. In the page each is an SVG of its own, which a style sheet puts
side by side or, on a phone, below each other, so letters never shrink; as PNG they are one file.
SVG is made to be repeatable and to stand in HTML: no date, no metadata, no identifier that another
figure has, text as text. In the page a colour is a variable of the style sheet, so a figure follows
dark mode and print; matplotlib wants real colours, so each variable is drawn as a colour of its own
that is put back afterwards.
"""

import io
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from html import escape
from typing import Any, NamedTuple, TypeAlias

from dialogist.errors import DataError, needs_extra
from dialogist.evaluation.pages import displayable
from dialogist.files import reading
from dialogist.training.run_logs import RunLogs
from dialogist_lab.report.subject import Run

# Okabe and Ito's colours, which the colour-blind can tell apart, and two more.
_SERIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#56b4e9", "#6a3d9a", "#8c510a")
_MARKERS = "osD^vPX*"
_PLAIN = {
    "text": "#1f2328",
    "muted": "#57606a",
    "line": "#d9d6cf",
    "ground": "#ffffff",
    "floor": "#7d8590",
    "ceiling": "#3d444d",
}

SERIES = len(_SERIES)
"""How many systems have a colour of their own."""


@dataclass(frozen=True, slots=True)
class Ink:
    """What to draw with."""

    text: str  # words and axes
    muted: str  # what should not catch the eye first
    line: str  # grids
    ground: str  # what a figure stands on
    floor: str  # baselines
    ceiling: str  # people and oracles; references
    palette: tuple[str, ...]  # systems

    def series(self, number: int) -> str:
        """The colour of a system; the ninth has that of the first, and another marker."""
        return self.palette[number % SERIES]


def marker(number: int) -> str:
    """A system's marker: systems of one colour have different ones."""
    return _MARKERS[(number // SERIES + number) % len(_MARKERS)]


_VARIABLES = {
    f"#fe{place:02x}ef": f"var(--{name})"
    for place, name in enumerate((*_PLAIN, *(f"series-{i}" for i in range(SERIES))))
}
"""Colours that nothing else has, and what they are in the page."""

INK = Ink(**_PLAIN, palette=_SERIES)
PAGE_INK = Ink(
    **dict(zip(_PLAIN, _VARIABLES, strict=False)), palette=tuple(_VARIABLES)[len(_PLAIN) :]
)
"""In colours that stand for the page's variables."""


Draw: TypeAlias = Callable[[Any, Ink], None]
"""Draws on the axes."""

_FONT = 8.0
_NAME_LETTERS = 20  # letters of a name beside an axis
_DPI = 150
_NOT_WANTED = re.compile(
    r"^.*?(?=<svg)|<metadata>.*?</metadata>|<!--.*?-->|<style.*?</style>|font-family: [^;\"]*;?",
    re.DOTALL,
)
_SIZE = re.compile(r' (?:width|height)="[^"]*pt"')
_IDENTIFIED = re.compile(r' id="([^"]*)"')
_REFERENCE = re.compile(r'(?:url\(|href=")#([^")]*)')
_BLANK = re.compile(r"\s+")
_LONG_NUMBER = re.compile(r"(\d+\.\d{2})\d+")


@dataclass(frozen=True, slots=True)
class Panel:
    """One small chart; ``height`` in inches, all are as wide.

    ``alt`` says what can be seen to whoever cannot.
    """

    title: str
    draw: Draw
    alt: str
    height: float = 2.5


@dataclass(frozen=True, slots=True)
class LegendKey:
    """A line of a legend: whose colour is which. ``colour`` names a colour of `Ink`."""

    label: str
    colour: str
    number: int = 0


@dataclass(frozen=True, slots=True)
class Picture:
    """Panels that belong together: ``name`` is that of the file, the rest is for people."""

    name: str
    title: str
    caption: str
    panels: tuple[Panel, ...]
    legend: tuple[LegendKey, ...] = ()

    def svgs(self) -> list[str]:
        """Each panel as an SVG element.

        Raises:
            MissingExtraError: matplotlib is not installed.
        """
        found = []
        for number, panel in enumerate(self.panels):
            name = f"{self.name}-{number}"
            with _drawing(name):
                figure = _figure((_WIDTH, panel.height))
                figure.patch.set_alpha(0.0)
                _draw(figure.add_subplot(), panel, PAGE_INK, titled=False)
                data = io.StringIO()
                figure.savefig(data, format="svg", metadata={"Date": None})
            found.append(_for_page(data.getvalue(), name, f"{panel.title}. {panel.alt}"))
        return found

    def png(self) -> bytes:
        """All panels in one image.

        Raises:
            MissingExtraError: matplotlib is not installed.
        """
        columns = min(len(self.panels), 3)
        rows = -(-len(self.panels) // columns)
        height = rows * (max(panel.height for panel in self.panels) + 0.2) + 0.3
        with _drawing(self.name):
            figure = _figure((_WIDTH * columns, height))
            figure.set_facecolor(INK.ground)
            for place, panel in enumerate(self.panels, 1):
                _draw(figure.add_subplot(rows, columns, place), panel, INK, titled=True)
            self._add_legend(figure, columns)
            data = io.BytesIO()
            figure.savefig(data, format="png", dpi=_DPI, metadata={"Software": None})
        return data.getvalue()

    def _add_legend(self, figure: Any, columns: int) -> None:
        if not self.legend:
            return
        from matplotlib.patches import Patch

        patches = [Patch(color=colour_of(key, INK), label=key.label) for key in self.legend]
        width = min(len(patches), 2 * columns)
        figure.legend(handles=patches, loc="outside lower center", ncols=width, frameon=False)


_WIDTH = 3.5  # inches of a panel


def colour_of(key: LegendKey, ink: Ink) -> str:
    """The colour of a line of the legend."""
    return ink.series(key.number) if key.colour == "series" else str(getattr(ink, key.colour))


def _figure(size: tuple[float, float]) -> Any:
    from matplotlib.figure import Figure

    return Figure(figsize=size, layout="constrained")


def _draw(axes: Any, panel: Panel, ink: Ink, *, titled: bool) -> None:
    axes.set_facecolor("none")
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(ink.muted)
    axes.tick_params(colors=ink.muted, labelcolor=ink.text, length=2.5)
    axes.xaxis.label.set_color(ink.text)
    axes.yaxis.label.set_color(ink.text)
    axes.grid(color=ink.line, linewidth=0.6)
    axes.set_axisbelow(True)
    panel.draw(axes, ink)
    if titled:
        axes.set_title(panel.title, color=ink.text)


@contextmanager
def _drawing(name: str) -> Iterator[None]:
    """matplotlib's settings for figures that can be repeated and hold any text."""
    with needs_extra("figures", "eval"):
        import matplotlib as mpl
    settings: Any = {  # matplotlib's type for them is a list of all its names
        "svg.fonttype": "none",
        "svg.hashsalt": name,
        "text.parse_math": False,  # a system may be called "$x"
        "axes.unicode_minus": False,
        "font.size": _FONT,
        "axes.titlesize": _FONT + 1,
        "axes.labelsize": _FONT,
        "path.simplify": True,
    }
    with mpl.rc_context(settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from font")
        yield


def _for_page(svg: str, name: str, alt: str) -> str:
    """An SVG file as an element of a page."""
    svg = _SIZE.sub("", _NOT_WANTED.sub("", svg))
    used = set(_REFERENCE.findall(svg))
    svg = _IDENTIFIED.sub(lambda m: f' id="{name}-{m[1]}"' if m[1] in used else "", svg)
    svg = _REFERENCE.sub(lambda m: m[0].replace(f"#{m[1]}", f"#{name}-{m[1]}"), svg)
    svg = _LONG_NUMBER.sub(r"\1", svg)
    for colour, variable in _VARIABLES.items():
        svg = svg.replace(colour, variable)
    svg = _BLANK.sub(" ", svg).replace("> <", "><").strip()
    return svg.replace("<svg", f'<svg role="img" aria-label="{escape(displayable(alt))}"', 1)


def short(name: str) -> str:
    """A name that fits beside an axis and can be drawn: its beginning and its end."""
    name = displayable(" ".join(name.split()))
    if len(name) <= _NAME_LETTERS:
        return name
    half = _NAME_LETTERS // 2
    return f"{name[: half - 1]}…{name[-half:]}"


_TITLES = {"rouge1": "ROUGE-1", "rouge2": "ROUGE-2", "rougeL": "ROUGE-L"}


class Curve(NamedTuple):
    """One line: of which run, whether of its training data, and its (update, value) points."""

    run: Run
    training: bool
    points: Sequence[tuple[float, ...]]


def learning(runs: Sequence[Run]) -> Picture | None:
    """Curves of all runs, each quantity in a panel.

    Raises:
        DataError: a run's ``metrics.jsonl`` is damaged.
    """
    wanted = {
        ("Cross-entropy", "nats per token"): [("epoch", "dev_loss", False), ("train", "nll", True)],
        ("Learning rate", ""): [("train", "learning_rate", False)],
    }
    for kind, title in _TITLES.items():
        names = [("epoch", f"dev_{kind}", False), ("epoch", f"train_{kind}", True)]
        wanted[f"{title} while learning", "F1"] = names
    panels, dotted = [], False
    for (title, unit), names in wanted.items():
        drawn = [
            Curve(run, training, points)
            for run in runs
            for kind, name, training in names
            if (points := _series(run, kind, name))
        ]
        dotted |= any(curve.training for curve in drawn)
        if drawn:
            draw = partial(_lines, unit=unit, curves=drawn)
            panels.append(Panel(title, draw, ", ".join(map(_told, drawn)), 2.3))
    if not panels:
        return None
    return Picture(
        "learning",
        "Learning curves and learning rate",
        "By updates of the weights." + (" Dotted: on training data." if dotted else ""),
        tuple(panels),
        tuple(LegendKey(short(run.name), "series", run.number) for run in runs),
    )


def _series(run: Run, kind: str, name: str) -> Sequence[tuple[float, ...]]:
    logs = RunLogs(run.folder)
    try:
        with reading(logs.metrics.path):
            return logs.series(kind, name)
    except (ValueError, AttributeError):
        raise DataError(f"{logs.metrics.path}: is damaged: a line is no JSON object") from None


def _lines(axes: Any, ink: Ink, unit: str, curves: Sequence[Curve]) -> None:
    for run, training, points in curves:
        axes.plot(
            *zip(*points, strict=True),
            color=ink.series(run.number),
            linewidth=1.0 if training else 1.5,
            linestyle=":" if training else "-",
            marker=marker(run.number) if len(points) <= 30 and not training else None,
            markersize=3.5,
        )
    axes.set(xlabel="update", ylabel=unit)
    axes.margins(y=0.1)
    axes.ticklabel_format(axis="y", style="sci", scilimits=(-2, 4))


def _told(curve: Curve) -> str:
    name = f"{curve.run.name}{' (training)' if curve.training else ''}"
    return f"{name} {curve.points[0][1]:.3g} to {curve.points[-1][1]:.3g}"
