"""`batches_of`: windows of like length together, few enough for the caches and for memory."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import torch

from dialogist.engine.written import Window


class BatchLimits(NamedTuple):
    """How much is computed at once.

    ``tokens``: padded source tokens of a batch; one window may hold more, and is then alone.
    ``windows``: what bounds the scores over the vocabulary, which are ``beam_size`` times as many.
    """

    tokens: int
    windows: int

    @classmethod
    def on(cls, device: torch.device) -> "BatchLimits":
        """Those of a device.

        On a CPU larger batches were slower and took more memory (docs/notes); on a GPU, where
        nothing was measured, each kernel's start costs, so they are larger.
        """
        return cls(4_000, 16) if device.type == "cpu" else cls(8_000, 256)


def batches_of(
    windows: Sequence[Window], wanted: Iterable[int], limits: BatchLimits
) -> Iterator[list[int]]:
    """The numbers ``wanted``, sorted by the windows' lengths and cut into batches."""
    batch: list[int] = []
    for i in sorted(wanted, key=lambda i: len(windows[i].encoded.source)):
        tokens = (len(batch) + 1) * len(windows[i].encoded.source)
        if batch and (tokens > limits.tokens or len(batch) == limits.windows):
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch
