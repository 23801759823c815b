"""Whether a dialogue holds a name, in any of its usual forms."""

from collections.abc import Collection
from itertools import pairwise

from dialogist.metrics.evidence import Evidence
from dialogist.text.aliases import NICKNAMES, SHORT_FORMS
from dialogist.text.names import Mention

_SHORTEST_MISSPELT = 4
_SHORTEST_SQUASHED = 6
_SHORTEST_ACRONYM = 3
_LONGEST_SPELT = 4  # D. C.


def supports_name(evidence: Evidence, mention: Mention) -> bool:
    """Whether all words of a name are in the dialogue, side by side where there are several.

    Or it is written in one word there, or with its words as one.
    """
    words, joined = mention.words, "".join(mention.words)
    if len(words) == 1:
        long = len(joined) >= _SHORTEST_SQUASHED and joined in evidence.squashed
        return long or _supports(evidence, joined)
    if len(joined) >= _SHORTEST_SQUASHED and any(joined in piece for piece in evidence.words):
        return True
    return all(_side_by_side(evidence, *pair) for pair in pairwise(words))


def _side_by_side(evidence: Evidence, first: str, second: str) -> bool:
    """Whether two words of a name are neighbours, or have one short word or initial between."""
    if any(short in evidence.words for short in _initials_of(first, second)):
        return True
    firsts, seconds = _forms(first) or {first}, _forms(second) or {second}
    return any(
        _means(firsts, piece) and any(_means(seconds, other) for other in near)
        for piece, near in evidence.neighbours.items()
    )


def _initials_of(first: str, second: str) -> set[str]:
    """Short forms that stand for both words: ``ny`` for New York."""
    return set(SHORT_FORMS.get(first, _NONE) & SHORT_FORMS.get(second, _NONE))


def _means(forms: Collection[str], piece: str) -> bool:
    """Whether a piece of the dialogue may be a word of a name, which has these forms."""
    return any(
        form == piece
        or piece in NICKNAMES.get(form, _NONE)
        or piece in SHORT_FORMS.get(form, _NONE)
        or _alike(form, piece)
        for form in forms
    )


def _supports(evidence: Evidence, word: str) -> bool:
    return any(_holds(evidence, form) for form in _forms(word))


def _forms(word: str) -> set[str]:
    """The word, without apostrophes, each side of one, and what it may be the plural of."""
    forms = {word.replace("'", ""), *word.split("'")}
    forms |= {form.removesuffix("s") for form in forms}
    return {form for form in forms if len(form) > 1}


def _holds(evidence: Evidence, word: str) -> bool:
    if word in evidence.words:
        return True
    if not NICKNAMES.get(word, _NONE).isdisjoint(evidence.capitals):
        return True
    if not SHORT_FORMS.get(word, _NONE).isdisjoint(evidence.words):
        return True
    if len(word) >= _SHORTEST_ACRONYM and word in evidence.initials:
        return True
    if len(word) <= _LONGEST_SPELT and f" {' '.join(word)} " in evidence.spaced:
        return True
    return any(_alike(word, other) for other in evidence.capitals)


_NONE: frozenset[str] = frozenset()


def _alike(word: str, other: str) -> bool:
    """Whether two words are one slip of the pen apart."""
    short, long = sorted((word, other), key=len)
    if len(short) < _SHORTEST_MISSPELT or len(long) - len(short) > 1 or short[0] != long[0]:
        return False
    return _one_slip(short, long)


def _one_slip(short: str, long: str) -> bool:
    """One letter more, another, or two that changed places."""
    place = next(
        (i for i, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short)
    )
    if len(short) < len(long):
        return short[place:] == long[place + 1 :]
    if short[place + 1 :] == long[place + 1 :]:
        return len(short) > _SHORTEST_MISSPELT  # Mike is not Mick, Karen may be Karin
    swapped = short[place + 1 : place + 2] + short[place : place + 1]
    return long[place : place + 2] == swapped and short[place + 2 :] == long[place + 2 :]
