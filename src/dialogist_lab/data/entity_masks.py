"""Entities as atomic tokens: phone numbers, times, order numbers out of the text and back, exactly.

A small model cannot spell a number it has never seen, and it must not invent one. So each distinct
value of a dialogue becomes one private-use character that says its kind and its number in the
dialogue (Liu et al., KDD 2019, section 4.1); what the model writes of it is put back word for word.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from dialogist.language.entities import AFTER, BEFORE, EntitySpan, find_entities
from dialogist.language.tokens import replaced
from dialogist_lab.data.vocabulary import ENTITIES_PER_KIND, ENTITY_CHARACTERS, MASKED_KINDS

_MASK = re.compile(f"[{ENTITY_CHARACTERS[0]}-{ENTITY_CHARACTERS[-1]}]")
_CODES = frozenset(("PHONE", "CARD", "IBAN", "PLATE_NUM", "ORDER", "TRIP", "FLIGHT", "ID"))
_SHORTEST_KNOWN = 4  # letters and digits: "order 12" must not make an entity of every 12


@dataclass(slots=True)
class EntityTable:
    """The entities of one dialogue, numbered within their kind by first appearance.

    ``surfaces`` maps each mask to the words of its first appearance; values beyond
    `ENTITIES_PER_KIND` stay text.
    """

    surfaces: dict[str, str] = field(default_factory=dict)
    _masks: dict[tuple[str, str], str] = field(default_factory=dict)
    _known: re.Pattern[str] | None = None

    @classmethod
    def of(cls, texts: Sequence[str], keep: Iterable[str]) -> tuple[list[str], "EntityTable"]:
        """The masked texts of a dialogue, and its table; ``keep`` stays text (speakers' names).

        A value that a word told once (``order number 12345``) is found without that word, too, and
        is of that kind everywhere.
        """
        table, kept = cls(), frozenset(keep)
        texts = [_MASK.sub("\ufffd", text) for text in texts]
        found = [
            (text[span.start : span.end], span) for text in texts for span in find_entities(text)
        ]
        kinds: dict[tuple[str, str], str] = {}
        for surface, span in sorted(found, key=lambda entry: not entry[1].cued):
            kinds.setdefault(_compared(span, surface), span.kind)
        cued = dict.fromkeys(surface for surface, span in found if span.cued)
        telling = [s for s in cued if sum(map(str.isalnum, s)) >= _SHORTEST_KNOWN]
        if telling:
            forms = "|".join(map(re.escape, sorted(telling, key=lambda s: (-len(s), s))))
            table._known = re.compile(f"{BEFORE}(?P<v>{forms}){AFTER}")
        counts = dict.fromkeys(MASKED_KINDS, 0)
        for text in texts:
            for span in find_entities(text, table._known):
                surface = text[span.start : span.end]
                key = _compared(span, surface)
                kind = kinds.get(key, span.kind)
                if key in table._masks or surface in kept or counts[kind] == ENTITIES_PER_KIND:
                    continue
                place = ENTITIES_PER_KIND * MASKED_KINDS.index(kind) + counts[kind]
                counts[kind] += 1
                table._masks[key] = ENTITY_CHARACTERS[place]
                table.surfaces[ENTITY_CHARACTERS[place]] = surface
        return [table.mask(text) for text in texts], table

    def mask(self, text: str) -> str:
        """A text of the dialogue or about it, masked: values that only it has stay text."""
        text = _MASK.sub("\ufffd", text)
        spans = find_entities(text, self._known)
        keys = ((s.start, s.end, _compared(s, text[s.start : s.end])) for s in spans)
        return replaced(text, ((a, b, self._masks[k]) for a, b, k in keys if k in self._masks)).text


def _compared(span: EntitySpan, surface: str) -> tuple[str, str]:
    """What two mentions of one value share: ``555-1234`` and ``555 1234`` are one."""
    if span.kind in _CODES:  # they share one namespace
        return "", "".join(c for c in surface.upper() if c.isalnum())
    folded = surface if span.kind == "URL" else surface.casefold().replace(" ", "")
    if span.kind == "TIME":
        folded = re.sub(r"([ap])\.?m\.?$", r"\1m", folded)
    return span.kind, folded.replace(",", "") if span.kind == "AMOUNT" else folded
