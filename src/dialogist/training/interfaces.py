"""What a trainer is given: the data, a validation, and a place to show progress."""

import hashlib
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from dialogist.batch import Batch
from dialogist.data.collate import Pair, collate
from dialogist.records import JSON
from dialogist.training.progress import Progress


@dataclass(frozen=True, slots=True)
class TrainingData:
    """The encoded training pairs and the padding id."""

    pairs: Sequence[Pair]
    pad_id: int

    def fingerprint(self) -> str:
        """A digest of every id of every pair: a run is resumed on the same data or not at all."""
        digest = hashlib.sha256()
        for pair in self.pairs:
            digest.update(array("q", [len(pair.source), *pair.source, *pair.target]).tobytes())
        return digest.hexdigest()

    def batch(self, indices: Sequence[int]) -> Batch:
        """The padded batch of the given pairs."""
        return collate([self.pairs[i] for i in indices], self.pad_id)


@dataclass(frozen=True, slots=True)
class Validation:
    """What a validation found: metrics for the log and sample summaries."""

    metrics: Mapping[str, float]
    samples: Sequence[Mapping[str, JSON]] = ()


Validate = Callable[[int], Validation]
"""Called with the number of epochs done, while the model is in evaluation mode."""


class Reporter(Protocol):
    """Where progress is shown."""

    def update(self, progress: Progress, batches: int, loss: float) -> None:
        """After every update."""
        ...

    def epoch(self, record: Mapping[str, JSON]) -> None:
        """After every validation."""
        ...

    def note(self, text: str) -> None:
        """Something a person should know."""
        ...
