"""Values that a dialogue told once, found again wherever they stand, however they are spaced.

"My order number is 48 213" tells what ``48213`` is; the summary says it without that word. The
values form one tree over characters, so the time does not grow with their number.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from dialogist.data.entity_rules import BEFORE

_SHORTEST = 4  # letters and digits: "PIN 123" must not make a PIN of every 123
_SEPARATORS = frozenset(" .-()/·•")
_MOST_SEPARATORS = 2  # in a row
_START = re.compile(rf"{BEFORE}[^\s.,;:!?()/·•-]")
_BORDERS = re.compile(r"[0-9A-Za-z_]")
_END = ""  # no character: a value that ends here


class KnownValues:
    """Values to be found again, each with its kind."""

    def __init__(self, kinds: Mapping[str, str]) -> None:
        """Those that are too short to be telling are left out."""
        self._tree: dict[str, Any] = {}
        for value, kind in kinds.items():
            telling = [c.upper() for c in value if c not in _SEPARATORS]
            if sum(map(str.isalnum, telling)) < _SHORTEST:
                continue
            here = self._tree
            for character in telling:
                here = here.setdefault(character, {})
            here.setdefault(_END, kind)

    def matches(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Where values stand in a plain text, from left to right, the longest first."""
        position = 0
        while self._tree and (found := _START.search(text, position)):
            end, kind = self._longest(text, found.start())
            if end:
                yield found.start(), end, kind
            position = max(end, found.start() + 1)

    def _longest(self, text: str, start: int) -> tuple[int, str]:
        """End and kind of the longest value that begins at ``start``; 0 without one."""
        here, separators = self._tree, 0
        best = (0, "")
        for place in range(start, len(text)):
            character = text[place]
            if character in _SEPARATORS:
                separators += 1
                if separators > _MOST_SEPARATORS:
                    break
                continue
            separators = 0
            here = here.get(character.upper(), {})
            if not here:
                break
            if _END in here and not _goes_on(text, place + 1):
                best = (place + 1, here[_END])
        return best


def _goes_on(text: str, place: int) -> bool:
    """Whether a word or number that reaches ``place`` goes on there; Chinese does not border."""
    before = _BORDERS.match(text[place - 1])
    return before is not None and _BORDERS.match(text[place : place + 1]) is not None
