"""Which spans of words infilling takes out (Lewis et al. 2020, section 2.2)."""

from collections.abc import Sequence

from dialogist.data.chance import Chance

Span = tuple[int, int]

_TRIES = 20  # draws for each span that is wanted: dense texts leave no room for more


def draw_spans(
    texts: Sequence[Span], share: float, mean: float, chance: Chance
) -> list[list[Span]]:
    """For each text, which reaches from one place to another, spans [a, b) within it, in order.

    They have ``share`` of all places in sum, at least one; no two touch. Lengths are Poisson
    numbers before the ends of texts cut them (and long ones find room less often).
    An empty span stands before its place; there are fewer of these than places lost, so that
    a mask for each span makes no text longer than it was.
    """
    places = [(i, j) for i, (start, end) in enumerate(texts) for j in range(start, end)]
    wanted = max(1, round(share * len(places))) if places else 0
    free = [[True] * (end + 1) for _, end in texts]  # that a span may begin, end, or stand there
    spans: list[list[Span]] = [[] for _ in texts]
    lost = masks = 0
    for _ in range(_TRIES * wanted):
        if lost >= wanted:
            break
        text, start = places[chance.below(len(places))]
        length = min(chance.poisson(mean), texts[text][1] - start, wanted - lost)
        if length == 0 and masks >= lost:
            continue
        if not all(free[text][start : start + length + 1]):
            continue
        free[text][start : start + length + 1] = [False] * (length + 1)
        spans[text].append((start, start + length))
        lost, masks = lost + length, masks + 1
    if places and not lost:
        text, start = places[chance.below(len(places))]
        spans[text] = [(start, start + 1)]
    return [sorted(found) for found in spans]
