"""Lists of words, and counts of things, written as text."""


def listed(text: str) -> tuple[str, ...]:
    """The words between white space, in their order."""
    return tuple(text.split())


def word_set(text: str) -> frozenset[str]:
    """The words between white space."""
    return frozenset(text.split())


def counted(count: int, things: str) -> str:
    """``1 dialogue``, ``312 summaries``; ``things`` is the plural."""
    if count != 1:
        return f"{count:,} {things}"
    singular = f"{things[:-3]}y" if things.endswith("ies") else things.removesuffix("s")
    return f"1 {singular}"
