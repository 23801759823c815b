"""Real lengths, and batches of like lengths for the peers that have no sampler of their own."""

import random
from pathlib import Path

import numpy as np
import numpy.typing as npt

Lengths = npt.NDArray[np.int64]


def load_arrays(path: Path) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """``source`` (N, S) and ``target`` (N, T + 1) of `arrays.write_arrays`."""
    with np.load(path) as arrays:
        return arrays["source"], arrays["target"]


def lengths_of(
    source: npt.NDArray[np.int32], target: npt.NDArray[np.int32]
) -> tuple[Lengths, Lengths]:
    """Real source tokens (N,) and real target positions (N,), one less than the target's ids."""
    return (source > 0).sum(1), (target > 0).sum(1) - 1


def bucketed(lengths: tuple[Lengths, Lengths], tokens: int, seed: int) -> list[list[int]]:
    """Batches of like lengths of at most ``tokens`` padded tokens, in random order.

    What Dialogist's token-bucket sampler does (sort within random chunks of 24 batches), written
    once more for the peers: they shall not be slowed by padding that we do not have.
    """
    source, target = lengths[0], lengths[1] + 1
    chance = random.Random(seed)
    order = chance.sample(range(len(source)), len(source))
    width = max(1, int(24 * tokens / (source + target).mean()))
    batches: list[list[int]] = []
    for start in range(0, len(order), width):
        batch: list[int] = []
        longest = (0, 0)
        for row in sorted(order[start : start + width], key=lambda i: (source[i], target[i])):
            grown = (max(longest[0], source[row]), max(longest[1], target[row]))
            if batch and (len(batch) + 1) * sum(grown) > tokens:
                batches.append(batch)
                batch, grown = [], (source[row], target[row])
            batch.append(row)
            longest = grown
        batches.append(batch)
    chance.shuffle(batches)
    return batches


def tokens_for(lengths: tuple[Lengths, Lengths], examples: int) -> int:
    """The ``tokens`` of bucketed batches that hold ``examples`` examples on average."""
    guess = int(examples * (lengths[0] + lengths[1] + 1).mean())
    found = len(lengths[0]) / len(bucketed(lengths, guess, seed=0))
    return round(guess * examples / found)
