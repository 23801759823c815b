"""Figures as SVG for a page and as PNG files, from the same drawing (matplotlib, without pyplot).

A picture is a few small panels. In the page each is an SVG of its own, which a style sheet puts
side by side or, on a phone, below each other, so letters never shrink; as PNG they are one file.
SVG is made to be repeatable and to stand in HTML: no date, no metadata, no identifier that another
figure has, text as text, colours as variables.
"""

import io
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

from dialogist.errors import MissingExtraError
from dialogist.evaluation.pages import displayable
from dialogist_lab.report.ink import Ink, variables

Draw: TypeAlias = Callable[[Any, Ink], None]
"""Draws on the axes."""

_FONT = 8.0
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
class Key:
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
    legend: tuple[Key, ...] = ()

    def svgs(self) -> list[str]:
        """Each panel as an SVG element.

        Raises:
            MissingExtraError: matplotlib is not installed.
        """
        return [self._svg(i, panel) for i, panel in enumerate(self.panels)]

    def png(self) -> bytes:
        """All panels in one image.

        Raises:
            MissingExtraError: matplotlib is not installed.
        """
        ink = Ink(variables=False)
        columns = min(len(self.panels), 3)
        rows = -(-len(self.panels) // columns)
        height = rows * (max(panel.height for panel in self.panels) + 0.2) + 0.3
        with _drawing(self.name):
            figure = _figure((_WIDTH * columns, height))
            figure.set_facecolor(ink.ground)
            for place, panel in enumerate(self.panels, 1):
                _draw(figure.add_subplot(rows, columns, place), panel, ink, titled=True)
            self._add_legend(figure, ink, columns)
            data = io.BytesIO()
            figure.savefig(data, format="png", dpi=_DPI, metadata={"Software": None})
        return data.getvalue()

    def _svg(self, number: int, panel: Panel) -> str:
        name = f"{self.name}-{number}"
        with _drawing(name):
            figure = _figure((_WIDTH, panel.height))
            figure.patch.set_alpha(0.0)
            _draw(figure.add_subplot(), panel, Ink(variables=True), titled=False)
            data = io.StringIO()
            figure.savefig(data, format="svg", metadata={"Date": None})
        return _for_page(data.getvalue(), name, f"{panel.title}. {panel.alt}")

    def _add_legend(self, figure: Any, ink: Ink, columns: int) -> None:
        if not self.legend:
            return
        from matplotlib.patches import Patch

        patches = [Patch(color=colour_of(key, ink), label=key.label) for key in self.legend]
        width = min(len(patches), 2 * columns)
        figure.legend(handles=patches, loc="outside lower center", ncols=width, frameon=False)


_WIDTH = 3.5  # inches of a panel


def colour_of(key: Key, ink: Ink) -> str:
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
    try:
        import matplotlib as mpl
    except ImportError:
        raise MissingExtraError("figures", "eval") from None
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
    for colour, variable in variables().items():
        svg = svg.replace(colour, variable)
    svg = _BLANK.sub(" ", svg).replace("> <", "><").strip()
    return svg.replace("<svg", f'<svg role="img" aria-label="{_attribute(displayable(alt))}"', 1)


def _attribute(text: str) -> str:
    for mark, name in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")):
        text = text.replace(mark, name)
    return text
