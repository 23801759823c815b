"""Nothing in a summary that its dialogue does not hold: constraints where they are broken.

Search with all names, numbers and ids of a dialogue as constraints would need to know every word's
pieces. Here search goes on freely, `metrics.faithfulness` looks at what was said, and only what
the dialogue does not bear out is forbidden, for that dialogue, and searched for again.
"""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from dialogist.engine.bundle import Bundle
from dialogist.engine.drafts import Draft
from dialogist.engine.pieces import ends_of, reader
from dialogist.engine.saying import parts_of
from dialogist.engine.written import Window
from dialogist.metrics.faithfulness import Finding, FindingKind, findings
from dialogist.records import Dialogue

ROUNDS = 4
"""How often a window is searched again at most."""

HARD: tuple[FindingKind, ...] = ("name", "speaker", "number", "entity", "oneself")
"""What is kept out: kinds in which the rules are hardly ever wrong (docs/explanation/trust.md)."""

Banned: TypeAlias = tuple[tuple[int, ...], ...]
"""Sequences of token ids that may not be said."""


def faults(text: str, dialogue: Dialogue) -> tuple[Finding, ...]:
    """What of a text the dialogue does not bear out, of the kinds that are kept out."""
    return findings(text, dialogue, HARD)


def clean_first(
    bundle: Bundle, window: Window, drafts: Sequence[Draft], wanted: int
) -> tuple[tuple[Draft, ...], bool]:
    """The best ``wanted`` drafts, clean ones first, and whether there is one.

    Those behind the last that is needed are not looked at.
    """
    clean: list[Draft] = []
    other: list[Draft] = []
    for draft in drafts:
        if len(clean) == wanted:
            break
        parts = parts_of(bundle, draft, window.example, window.encoded)
        found = faults("".join(text for _, text in parts), window.dialogue)
        (other if found else clean).append(draft)
    return (*clean, *other)[:wanted], bool(clean)


def bans_of(bundle: Bundle, window: Window, draft: Draft) -> set[tuple[int, ...]]:
    """The token sequences that spell what is at fault in a draft."""
    found: set[tuple[int, ...]] = set()
    parts = parts_of(bundle, draft, window.example, window.encoded)
    wrong = faults("".join(text for _, text in parts), window.dialogue)
    read, start = reader(bundle, window.example, window.encoded), 0
    for (_, text), hypothesis in zip(parts, draft.parts, strict=True):
        begin = start + len(text) - len(text.lstrip())
        here = [f for f in wrong if begin <= f.start < start + len(text)]
        if here:
            ends = ends_of(hypothesis.tokens, read)
            spans = ((f.start - begin, f.end - begin) for f in here)
            found |= set(_sequences(hypothesis.tokens, ends, spans))
        start += len(text)
    return found


def _sequences(
    tokens: Sequence[int], ends: Sequence[int], spans: Iterable[tuple[int, int]]
) -> Iterable[tuple[int, ...]]:
    """The tokens that cover each span of characters."""
    for start, end in spans:
        first = next((i for i, stop in enumerate(ends) if stop > start), len(tokens))
        last = next((i for i, stop in enumerate(ends) if stop >= end), len(tokens) - 1)
        if first <= last:
            yield tuple(tokens[first : last + 1])
