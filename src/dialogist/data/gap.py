"""How much each utterance is like the rest of its dialogue (Zhang et al. 2020, section 3.1.1)."""

from collections import Counter
from collections.abc import Sequence


def likeness(utterances: Sequence[Sequence[int]]) -> list[float]:
    """ROUGE-1 F1 of each utterance and all the others, tokens being ids (PEGASUS: Ind-Orig)."""
    counts = [Counter(ids) for ids in utterances]
    everything: Counter[int] = Counter()
    for count in counts:
        everything.update(count)
    total = sum(everything.values())
    return [_f1(count, everything, total) for count in counts]


def _f1(own: Counter[int], everything: Counter[int], total: int) -> float:
    size = sum(own.values())
    rest = total - size
    same = sum(min(n, everything[token] - n) for token, n in own.items())
    return 2 * same / (size + rest) if size and rest else 0.0
