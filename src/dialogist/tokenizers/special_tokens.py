"""Private-use characters that stand for entities and for the labels of a plan."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import tokenizers

from dialogist.errors import ModelError

# The characters that stand for entities (phone numbers, times ...) in prepared text.
#
# Like a speaker, an entity is one private-use character: one token of every tokenizer that was made
# for them, never a word that somebody can type. Each kind has its own numbered characters, so the
# model knows a phone number from a time (Liu et al., KDD 2019, section 4.1: PHONE, PLATE_NUM ...).

ENTITY_KINDS = (
    *("TIME", "PHONE", "EMAIL", "URL", "IP", "CARD", "IBAN"),
    *("AMOUNT", "PLATE_NUM", "ORDER", "TRIP", "FLIGHT", "ID"),
)
"""What is told apart. Only ever append: models know a kind by its place."""

ENTITIES_PER_KIND = 16
"""How many entities of one kind a dialogue can have; further ones stay text."""

_FIRST = 0x10F100  # beside the speakers' U+10F000


def entity_placeholder(kind: str, number: int) -> str:
    """The character of the entity ``number`` (from 1) of a kind.

    Raises:
        IndexError: there is none of that number.
        ValueError: there is no such kind.
    """
    if not 1 <= number <= ENTITIES_PER_KIND:
        raise IndexError(f"entity {kind} {number} of {ENTITIES_PER_KIND}")
    return chr(_FIRST + ENTITIES_PER_KIND * ENTITY_KINDS.index(kind) + number - 1)


def entity_placeholders() -> list[str]:
    """All of them, in order."""
    return [chr(_FIRST + i) for i in range(ENTITIES_PER_KIND * len(ENTITY_KINDS))]


ANY_ENTITY = f"{entity_placeholders()[0]}-{entity_placeholders()[-1]}"
"""All of them as a range inside a regular expression's ``[]``."""


def entity_kind(character: str) -> str:
    """The kind that a placeholder is of."""
    return ENTITY_KINDS[(ord(character) - _FIRST) // ENTITIES_PER_KIND]


def readable_entity(character: str) -> str:
    """``<PHONE_1>``: how people are shown a placeholder; nothing ever reads this form back."""
    number = (ord(character) - _FIRST) % ENTITIES_PER_KIND + 1
    return f"<{entity_kind(character)}_{number}>"


def add_entity_tokens(pipeline: tokenizers.Tokenizer) -> None:
    """Give every placeholder an id of its own, after all others."""
    pipeline.add_tokens([tokenizers.AddedToken(character) for character in entity_placeholders()])


# The tokens of a plan prefix: one for each label of a rule pack, and the border of a sub-summary.
#
# begin, label_1 ... label_K, border, sub-summary_1, ..., border, sub-summary_K, end
#
# They are private-use characters in the vocabulary, but no text: like begin and end, no text
# encodes to them and none is decoded from them. Their ids are consecutive, the border's first.

MOST_LABELS = 1023
"""How many labels can have a token."""

_BORDER = 0x10F400  # behind the speakers', the entities', and the marks and bytes of WordPiece


def plan_characters(labels: int) -> list[str]:
    """The border's and those of so many labels; none at all without labels."""
    return [chr(_BORDER + i) for i in range(labels + 1)] if labels else []


def add_plan_tokens(pipeline: tokenizers.Tokenizer, labels: int) -> None:
    """Give each of them an id of its own, after all others."""
    pipeline.add_tokens([tokenizers.AddedToken(c) for c in plan_characters(labels)])


@dataclass(frozen=True, slots=True)
class PlanTokens:
    """The ids of a plan's tokens: the border, and behind it those of ``count`` labels."""

    border: int
    count: int

    @classmethod
    def of(cls, pipeline: tokenizers.Tokenizer) -> "PlanTokens | None":
        """Those of a vocabulary; None where it has none.

        Raises:
            ModelError: they are not consecutive: nobody of ours made this vocabulary.
        """
        found = [pipeline.token_to_id(c) for c in plan_characters(MOST_LABELS)]
        ids = [int(index) for index in found if index is not None]
        if not ids:
            return None
        if len(ids) < 2 or None in found[: len(ids)] or ids != [*range(ids[0], ids[0] + len(ids))]:
            raise ModelError("tokenizer: the tokens of its plan are damaged")
        return cls(ids[0], len(ids) - 1)

    @property
    def ids(self) -> range:
        """All of them, the border's first."""
        return range(self.border, self.border + self.count + 1)

    def written(self, labels: Iterable[int], parts: Iterable[Sequence[int]]) -> list[int]:
        """The plan of some labels (from 0), then each sub-summary's ids behind a border."""
        plan = [self.border + 1 + label for label in labels]
        return [*plan, *(index for ids in parts for index in (self.border, *ids))]

    def read(self, ids: Sequence[int]) -> tuple[list[int], list[tuple[int, int]]]:
        """The labels (from 0) before the first border, and (start, end) of each part behind one."""
        borders = [place for place, index in enumerate(ids) if index == self.border]
        labels = [index - self.border - 1 for index in ids[: borders[0] if borders else len(ids)]]
        ends = [*borders[1:], len(ids)]
        return labels, [(place + 1, end) for place, end in zip(borders, ends, strict=bool(borders))]
