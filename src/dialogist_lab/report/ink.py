"""Colours of figures: one drawing serves the page, where they are style variables, and PNG files.

In the page a colour is a variable of the style sheet, so a figure follows dark mode and print.
matplotlib wants real colours, so each variable is drawn as a colour of its own that is put back
afterwards (`canvas`).
"""

from dataclasses import dataclass

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
    """What to draw with; ``variables``: in colours that stand for the page's variables."""

    variables: bool

    @property
    def text(self) -> str:
        """Words and axes."""
        return self._named("text")

    @property
    def muted(self) -> str:
        """What should not catch the eye first."""
        return self._named("muted")

    @property
    def line(self) -> str:
        """Grids."""
        return self._named("line")

    @property
    def ground(self) -> str:
        """What a figure stands on."""
        return self._named("ground")

    @property
    def floor(self) -> str:
        """Baselines."""
        return self._named("floor")

    @property
    def ceiling(self) -> str:
        """People and oracles; references."""
        return self._named("ceiling")

    def series(self, number: int) -> str:
        """The colour of a system; the ninth has that of the first, and another marker."""
        place = number % SERIES
        return _stand_in(len(_PLAIN) + place) if self.variables else _SERIES[place]

    def _named(self, name: str) -> str:
        place = list(_PLAIN).index(name)
        return _stand_in(place) if self.variables else _PLAIN[name]


def marker(number: int) -> str:
    """A system's marker: systems of one colour have different ones."""
    return _MARKERS[(number // SERIES + number) % len(_MARKERS)]


def variables() -> dict[str, str]:
    """What each stand-in colour is in the page."""
    names = [*_PLAIN, *(f"series-{i}" for i in range(SERIES))]
    return {_stand_in(place): f"var(--{name})" for place, name in enumerate(names)}


def _stand_in(place: int) -> str:
    """A colour that nothing else has."""
    return f"#fe{place:02x}ef"
