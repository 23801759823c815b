"""Which tokens say which stretch of a text."""

from collections.abc import Sequence


def token_ranges(ends: Sequence[int], spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """For each span of characters the first of its tokens, and the one after the last.

    Args:
        ends: where the text of each token ends (`dialogist.engine.saying.token_ends`).
        spans: from left to right, none inside another.

    A token that reaches into two spans belongs to the one that has more of it; one that adds no
    character (several make one) to where the next one belongs. White space between spans is in
    none; a span without a token of its own has an empty range.
    """
    owners = _owners(ends, spans)
    found: list[tuple[int, int]] = []
    place = 0
    for number in range(len(spans)):
        own = [i for i, owner in enumerate(owners) if owner == number]
        found.append((own[0], own[-1] + 1) if own else (place, place))
        place = found[-1][1]
    return found


def _owners(ends: Sequence[int], spans: Sequence[tuple[int, int]]) -> list[int | None]:
    owners: list[int | None] = [None] * len(ends)
    following: int | None = None
    for i in range(len(ends) - 1, -1, -1):
        start, end = (ends[i - 1] if i else 0), ends[i]
        if start < end:
            shares = [min(end, b) - max(start, a) for a, b in spans]
            most = max(shares, default=0)
            following = shares.index(most) if most > 0 else None
        owners[i] = following
    return owners
