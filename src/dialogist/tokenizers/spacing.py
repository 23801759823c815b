"""Spaces that a WordPiece tokenizer forgets: a rule says where they stand, a mark where it errs.

BERT splits a text at spaces and around every mark of punctuation, and keeps no trace of which was
which: "don't" and "5.00" come back as "don ' t" and "5 . 00". Here the units of a text are put
together again by a rule that knows English (and that Chinese has no spaces). Where a text departs
from the rule, one of two tokens says so, so every text comes back exactly, and well-written text
hardly needs them: an encoder that was trained without such tokens hardly meets them.

    He paid $5.00 - not "a lot".      he paid $ 5 . 00 ␣ - not " a lot " .
"""

import re
from collections.abc import Callable, Iterator, Sequence

JOIN = "\U0010f200"
"""No space here, though the rule has one. A private-use character: nobody can type it."""

SPACE = "\U0010f201"
"""A space here, though the rule has none."""

CHINESE = "\u3001-\u303f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff01-\uff65"
"""Characters written without spaces, and their punctuation, as a range for a regex's ``[]``."""

PRIVATE = "\U000f0000-\U0010fffd"
"""Placeholders of speakers and entities, and marks: each is a unit of its own."""

_REACH = 12  # characters of what stands before that the rule looks at
_CLOSING = frozenset(".,!?;:%)]}…»”")
_OPENING = frozenset("([{$£€@«“‘")
_APOSTROPHES = "'’"
_ENDINGS = frozenset(("s", "t", "m", "d", "ll", "re", "ve", "clock", "all"))
_CHINESE = re.compile(f"[{CHINESE}]")
_WORDLIKE = re.compile(f"[^\\W_]|[{PRIVATE}]")
_NUMBER = re.compile(r"\d[.,:]$")
_INITIAL = re.compile(r"(?:^|\W)[^\W\d_]\.$")
_TAG = re.compile(r"(?:^|\s)#$")
_TAGGED = re.compile(r"(?:^|\s)#\w+$")
_TIED = re.compile(r"[^\s/-](?:-+|/)$")


class Line:
    """A text as far as it is put together; units are added from left to right."""

    def __init__(self) -> None:
        self._tail = ""
        self._quoted = False  # inside "..."

    def wants_space(self, unit: str, following: str) -> bool:
        """Whether the rule has a space before ``unit``; ``following`` is the unit after it."""
        if not self._tail:
            return False
        last = self._tail[-1]
        if last.isalnum() and last.isascii():  # most units need no closer look
            if unit.isalnum() and unit.isascii():
                return True
            if unit in _CLOSING:
                return False
        for rule in _RULES:
            verdict = rule(self._tail, unit, following)
            if verdict is not None:
                return verdict
        if unit == '"':
            return not self._quoted
        return not (self._tail[-1] == '"' and self._quoted)

    def add(self, unit: str, space: bool) -> None:
        """Append a unit, with a space before it or without."""
        self._quoted ^= unit == '"'
        if len(unit) < _REACH:
            unit = f"{self._tail} {unit}" if space else self._tail + unit
        self._tail = unit[-_REACH:]


def marks_between(units: Sequence[tuple[str, bool]]) -> Iterator[str]:
    """Before each unit, given with whether a space stands before it: ``JOIN``, ``SPACE`` or ""."""
    line = Line()
    for place, (unit, space) in enumerate(units):
        following = units[place + 1][0] if place + 1 < len(units) else ""
        wanted = line.wants_space(unit, following)
        yield "" if space == wanted else SPACE if space else JOIN
        line.add(unit, space)


def joined(units: Sequence[tuple[str, str]]) -> str:
    """The text of units, each given with the mark before it (or "")."""
    line, parts = Line(), []
    for place, (unit, mark) in enumerate(units):
        following = units[place + 1][0] if place + 1 < len(units) else ""
        space = mark == SPACE if mark else line.wants_space(unit, following)
        parts.append(f" {unit}" if space else unit)
        line.add(unit, space)
    return "".join(parts)


# Each rule sees the end of what stands before, a unit, and the unit after it; None: no opinion.


def _in_number(tail: str, unit: str, following: str) -> bool | None:
    """5.00, 1,000, 6:30"""
    return False if unit[0].isdigit() and _NUMBER.search(tail) else None


def _initials(tail: str, unit: str, following: str) -> bool | None:
    """a.m., U.S."""
    single = len(unit) == 1 and unit.isalpha() and following == "."
    return False if single and _INITIAL.search(tail) else None


def _brackets(tail: str, unit: str, following: str) -> bool | None:
    return False if unit in _CLOSING or tail[-1] in _OPENING else None


def _apostrophe(tail: str, unit: str, following: str) -> bool | None:
    """don't, Ann's, o'clock; dogs' food; 'quoted'"""
    if unit in _APOSTROPHES:
        return _WORDLIKE.fullmatch(tail[-1]) is None
    if tail[-1] not in _APOSTROPHES:
        return None
    if len(tail) > 1 and _WORDLIKE.fullmatch(tail[-2]):
        return unit not in _ENDINGS
    return False


def _hyphen(tail: str, unit: str, following: str) -> bool | None:
    """twenty-five, and/or, yes--no; but not " - " once its first space is marked"""
    if unit in "-/":
        return False if tail[-1] in "-/" or _WORDLIKE.fullmatch(tail[-1]) else None
    return False if _TIED.search(tail) else None


def _hash(tail: str, unit: str, following: str) -> bool | None:
    """#1, #Person1#"""
    if unit == "#":
        return False if _TAGGED.search(tail) else None
    return False if _TAG.search(tail) else None


def _chinese(tail: str, unit: str, following: str) -> bool | None:
    return False if _CHINESE.match(unit) or _CHINESE.match(tail[-1]) else None


_RULES: tuple[Callable[[str, str, str], bool | None], ...] = (
    _in_number,
    _initials,
    _brackets,
    _apostrophe,
    _hyphen,
    _hash,
    _chinese,
)
