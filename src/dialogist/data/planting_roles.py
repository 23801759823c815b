"""Errors to plant into human summaries: roles exchanged, denials added and taken away."""

import re
from collections.abc import Sequence
from random import Random

from dialogist.data.planting import Ground, Place, Planted
from dialogist.text.tokens import sentence_spans

# What is said of both is no less true the other way round.
_TOGETHER = re.compile(r"\b(?:both|each|together|also|too|other|they|all|we)\b", re.I)
_DENIAL = re.compile(r"\b(?:not|no|never|nothing|nobody|none|cannot|without)\b|n['’]t\b", re.I)
_NEAR = 25  # characters
_ADDITIONS = (
    (re.compile(r"\b(is|are|was|were|will|should|could|would|must)\b"), r"\1 not"),
    (re.compile(r"\bcan\b"), "cannot"),
    (re.compile(r"\bhas to\b"), "doesn't have to"),
    (
        re.compile(r"\b(want|need|like|plan|hope|decide|agree|love|prefer|think|know|feel)s\b"),
        r"doesn't \1",
    ),
)
_REMOVALS = (
    (re.compile(r"\b(is|are|was|were|will|should|could|would|must|has|have) not\b"), r"\1"),
    (re.compile(r"\b(is|are|was|were|should|could|would|has|have)n['’]t\b"), r"\1"),
    (re.compile(r"\bcan(?:['’]t|not)\b"), "can"),
    (re.compile(r"\bwon['’]t\b"), "will"),
    (re.compile(r"\bdoes(?:n['’]t| not) (\w+)"), r"\1s"),
    (re.compile(r"\b(?:do|did)(?:n['’]t| not) "), ""),
)


def plant_swap(ground: Ground, random: Random) -> Planted | None:
    """Two speakers change places in one sentence; one who stands there alone becomes another."""
    sentences = [
        place
        for place in sentence_spans(ground.summary)
        if _can_swap(ground, ground.summary[slice(*place)])
    ]
    return _exchanged(ground, random.choice(sentences), random) if sentences else None


def plant_swaps(ground: Ground, random: Random) -> Planted | None:
    """Two speakers change places in the whole summary."""
    whole = (0, len(ground.summary))
    return _exchanged(ground, whole, random) if _can_swap(ground, ground.summary) else None


def _can_swap(ground: Ground, text: str) -> bool:
    names = ground.dialogue.speakers
    if len(names) < 2 or _TOGETHER.search(text) or not _named(names, text):
        return False
    either = "|".join(map(re.escape, names))
    joined = rf"(?:{either})(?:,| and| or) (?:{either}|[A-Z])|[A-Z]\w+(?:,| and| or) (?:{either})"
    return re.search(joined, text) is None


def _named(names: Sequence[str], text: str) -> list[str]:
    return [name for name in names if _mention([name]).search(text)]


def _mention(names: Sequence[str]) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, names))})(?!\w)")


def _exchanged(ground: Ground, place: Place, random: Random) -> Planted:
    text, names = ground.summary[slice(*place)], ground.dialogue.speakers
    first = random.choice(_named(names, text))
    others = [name for name in _named(names, text) if name != first]
    second = random.choice(others or [name for name in names if name != first])
    swap = {first: second, second: first}
    return ground.planted(place, _mention([first, second]).sub(lambda m: swap[m[0]], text))


def plant_denial(ground: Ground, random: Random) -> Planted | None:
    """What the summary asserts is denied, with no other denial near."""
    return _rewritten(ground, _ADDITIONS, random, lonely=True)


def plant_assertion(ground: Ground, random: Random) -> Planted | None:
    """What the summary denies is asserted."""
    return _rewritten(ground, _REMOVALS, random, lonely=False)


def _rewritten(
    ground: Ground,
    rules: Sequence[tuple[re.Pattern[str], str]],
    random: Random,
    *,
    lonely: bool,
) -> Planted | None:
    text = ground.summary
    found = [(m.span(), m.expand(new)) for rule, new in rules for m in rule.finditer(text)]
    if lonely:
        near = ((max(0, a - _NEAR), b + _NEAR) for (a, b), _ in found)
        denied = [_DENIAL.search(text, *span) is not None for span in near]
        found = [one for one, near_denial in zip(found, denied, strict=True) if not near_denial]
    return ground.planted(*random.choice(found)) if found else None
