"""Lists of words, written as text."""


def listed(text: str) -> tuple[str, ...]:
    """The words between white space, in their order."""
    return tuple(text.split())


def word_set(text: str) -> frozenset[str]:
    """The words between white space."""
    return frozenset(text.split())
