"""What the pictures share: matplotlib, fonts for every script there is, colours, saving."""

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from dialogist.errors import MissingExtraError

if TYPE_CHECKING:
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

INK, PALE, GENERATED, COPIED = "#1f2328", "#9aa3ab", "#0b5cad", "#b3307e"
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
