"""The characters that stand for entities (phone numbers, times ...) in prepared text.

Like a speaker, an entity is one private-use character: one token of every tokenizer that was made
for them, never a word that somebody can type. Each kind has its own numbered characters, so the
model knows a phone number from a time (Liu et al., KDD 2019, section 4.1: PHONE, PLATE_NUM ...).
"""

import tokenizers

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


def kind_of(character: str) -> str:
    """The kind that a placeholder is of."""
    return ENTITY_KINDS[(ord(character) - _FIRST) // ENTITIES_PER_KIND]


def readable(character: str) -> str:
    """``<PHONE_1>``: how people are shown a placeholder; nothing ever reads this form back."""
    number = (ord(character) - _FIRST) % ENTITIES_PER_KIND + 1
    return f"<{kind_of(character)}_{number}>"


def add_entity_tokens(pipeline: tokenizers.Tokenizer) -> None:
    """Give every placeholder an id of its own, after all others."""
    pipeline.add_tokens([tokenizers.AddedToken(character) for character in entity_placeholders()])
