"""Entities as atomic tokens: phone numbers, times ... out of the text and back, exactly."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dialogist.language.tokens import replaced
from dialogist.language.entities import AFTER, BEFORE, EntitySpan, find_entities
from dialogist.tokenizers.special_tokens import (
    ANY_ENTITY,
    ENTITIES_PER_KIND,
    ENTITY_KINDS,
    entity_placeholder,
    readable_entity,
)

_SHORTEST_KNOWN = 4  # letters and digits: "order 12" must not make an entity of every 12
_MOST_KNOWN = 128  # more could hardly all get a mask, and each is looked for at every place


def known_values(
    texts: Sequence[str], spans: Sequence[Sequence[EntitySpan]]
) -> re.Pattern[str] | None:
    """A pattern for the first values that a word told, wherever they stand without that word."""
    surfaces = dict.fromkeys(
        text[span.start : span.end]
        for text, found in zip(texts, spans, strict=True)
        for span in found
        if span.cued
    )
    telling = [s for s in surfaces if sum(map(str.isalnum, s)) >= _SHORTEST_KNOWN]
    if not telling:
        return None
    longest_first = sorted(telling[:_MOST_KNOWN], key=lambda s: (-len(s), s))
    return re.compile(f"{BEFORE}(?P<v>{'|'.join(map(re.escape, longest_first))}){AFTER}")


# Entities as atomic tokens: phone numbers, times, order numbers out of the text and back, exactly.
#
# A small model cannot spell a number it has never seen, and it must not invent one. So each
# distinct value of a dialogue becomes one private-use character that says its kind and its number
# in the dialogue (Liu et al., KDD 2019, section 4.1); what the model says of it is put back word
# for word.
#
#     texts -find-> spans -number-> EntityTable -mask-> masked texts ... -restore-> text


MASK = re.compile(f"[{ANY_ENTITY}]")
"""A mask: the one character that stands for an entity."""

_REPLACEMENT = "\ufffd"
_CODES = frozenset(("PHONE", "CARD", "IBAN", "PLATE_NUM", "ORDER", "TRIP", "FLIGHT", "ID"))

EntityKey = tuple[str, str]
"""What two mentions of one value share: a kind (or that it is a code) and the compared form."""


def compared(kind: str, surface: str) -> EntityKey:
    """The form in which two mentions are compared: ``555-1234`` and ``555 1234`` are one value.

    Codes (phone and order numbers, plates ...) share one namespace: by their letters and digits.
    """
    if kind in _CODES:
        return "code", "".join(c for c in surface.upper() if c.isalnum())
    if kind == "URL":
        return kind, surface
    folded = surface.casefold().replace(" ", "")
    if kind == "TIME":
        return kind, re.sub(r"([ap])\.?m\.?$", r"\1m", folded).replace("：", ":")
    return kind, re.sub(r",(?=[0-9]{3})", "", folded) if kind == "AMOUNT" else folded


@dataclass(frozen=True, slots=True)
class EntityTable:
    """The entities of one dialogue, numbered within their kind by first appearance.

    ``surfaces`` maps each mask to the words of its first appearance. ``mentions[i]`` are the words
    behind each mask of text ``i``, in order. ``overflow`` counts, per kind, the values beyond
    `ENTITIES_PER_KIND`, which stay text. ``foreign`` are mask characters that the dialogue itself
    held: they stand for nothing but themselves. ``known`` finds values without their cue.
    """

    surfaces: Mapping[str, str] = field(default_factory=dict)
    masks: Mapping[EntityKey, str] = field(default_factory=dict)
    mentions: tuple[tuple[str, ...], ...] = ()
    overflow: Mapping[str, int] = field(default_factory=dict)
    foreign: frozenset[str] = frozenset()
    known: re.Pattern[str] | None = None

    def mask(self, text: str) -> str:
        """A summary of the dialogue, masked: values that the dialogue holds become their masks.

        Values that only the summary has stay text: nothing in the dialogue supports them. A mask
        character that the dialogue did not hold is replaced by U+FFFD.
        """
        clean = MASK.sub(lambda m: m[0] if m[0] in self.foreign else _REPLACEMENT, text)
        return _replace(clean, find_entities(clean, self.known), self.masks)[0]

    def restore(self, text: str) -> str:
        """The words of their first appearance for masks; one with nothing behind it is removed."""
        return MASK.sub(self._words, text)

    def restore_dialogue(self, texts: Sequence[str]) -> tuple[str, ...]:
        """The dialogue's own masked texts exactly as they were, each mention in its own words.

        Raises:
            ValueError: these are not the masked texts of this dialogue.
        """
        masks = [[c for c in MASK.findall(text) if c not in self.foreign] for text in texts]
        if list(map(len, masks)) != list(map(len, self.mentions)):
            raise ValueError("these are not the masked texts of this dialogue")
        return tuple(map(self._in_order, texts, self.mentions))

    def readable(self, text: str) -> str:
        """Masks as ``<PHONE_1>``, for people."""
        return MASK.sub(lambda m: m[0] if m[0] in self.foreign else readable_entity(m[0]), text)

    def _words(self, match: re.Match[str]) -> str:
        character = match[0]
        return self.surfaces.get(character, character if character in self.foreign else "")

    def _in_order(self, text: str, said: Sequence[str]) -> str:
        words = iter(said)
        return MASK.sub(lambda m: m[0] if m[0] in self.foreign else next(words), text)


def mask_entities(
    texts: Sequence[str], keep: Iterable[str] = ()
) -> tuple[tuple[str, ...], EntityTable]:
    """Mask the texts of a dialogue: (its texts, in order) -> (masked texts, table).

    A value that a word told once (``order number 12345``) is found without that word, too.
    ``keep`` are values that stay text (speakers whose names are phone numbers).
    """
    spans = [find_entities(text) for text in texts]
    kinds = _kinds(texts, spans)
    known = known_values(texts, spans)
    if known is not None:
        spans = [find_entities(text, known) for text in texts]
    foreign = frozenset(character for text in texts for character in MASK.findall(text))
    numbering = _Numbering(foreign)
    kept = frozenset(keep)
    for text, found in zip(texts, spans, strict=True):
        for span in found:
            surface = text[span.start : span.end]
            if surface not in kept:
                key = compared(span.kind, surface)
                numbering.add(key, kinds.get(key, span.kind), surface)
    done = [_replace(t, found, numbering.masks) for t, found in zip(texts, spans, strict=True)]
    table = EntityTable(
        numbering.surfaces,
        numbering.masks,
        tuple(said for _, said in done),
        numbering.overflow,
        foreign,
        known,
    )
    return tuple(masked for masked, _ in done), table


def _kinds(texts: Sequence[str], spans: Sequence[Sequence[EntitySpan]]) -> dict[EntityKey, str]:
    """One kind for each value: what a word before it said, else what it first looked like."""
    kinds: dict[EntityKey, str] = {}
    for cued in (True, False):
        for text, found in zip(texts, spans, strict=True):
            for span in found:
                if span.cued == cued:
                    kinds.setdefault(compared(span.kind, text[span.start : span.end]), span.kind)
    return kinds


def _replace(
    text: str, spans: Iterable[EntitySpan], masks: Mapping[EntityKey, str]
) -> tuple[str, tuple[str, ...]]:
    """The text with masks for those spans that have one, and the words they stand for."""
    keys = ((one.start, one.end, compared(one.kind, text[one.start : one.end])) for one in spans)
    done = replaced(text, ((start, end, masks[key]) for start, end, key in keys if key in masks))
    return done.text, tuple(text[start:end] for start, end, _ in done.spans)


class _Numbering:
    """Gives each new value the next mask of its kind that no text held before."""

    def __init__(self, foreign: frozenset[str]) -> None:
        self.masks: dict[EntityKey, str] = {}
        self.surfaces: dict[str, str] = {}
        self.overflow: Counter[str] = Counter()
        self._free = {kind: _free(kind, foreign) for kind in ENTITY_KINDS}
        self._beyond: set[EntityKey] = set()

    def add(self, key: EntityKey, kind: str, surface: str) -> None:
        if key in self.masks or key in self._beyond:
            return
        character = next(self._free[kind], None)
        if character is None:
            self._beyond.add(key)
            self.overflow[kind] += 1
        else:
            self.masks[key] = character
            self.surfaces[character] = surface


def _free(kind: str, foreign: frozenset[str]) -> Iterator[str]:
    every = (entity_placeholder(kind, n + 1) for n in range(ENTITIES_PER_KIND))
    return (character for character in every if character not in foreign)
