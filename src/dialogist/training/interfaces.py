"""What a trainer is given: the data, a validation, and a place to show progress."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from dialogist.batch import Batch
from dialogist.data.collate import Lengths, Pair, collate, lengths_of
from dialogist.data.epochs import EpochPairs, Epochs
from dialogist.data.fingerprint import fingerprint_of
from dialogist.data.sampler import Indices
from dialogist.data.shards import ShardedPairs
from dialogist.objectives.base import Per
from dialogist.records import JSON
from dialogist.tokenizers import Symbols
from dialogist.training.progress import Progress


@dataclass(frozen=True)  # no slots: they leave no room for what is cached
class TrainingData:
    """The encoded training pairs, in memory or on disk, and the ids that a batch is made with.

    ``epochs``: what each epoch makes of them, where they are not the same in all.
    """

    pairs: Sequence[Pair]
    symbols: Symbols
    epochs: Epochs | None = None

    @cached_property
    def lengths(self) -> Lengths:
        """(pairs, 2) source and target lengths, by which a sampler plans an epoch."""
        if isinstance(self.pairs, ShardedPairs | EpochPairs):
            return self.pairs.lengths
        return lengths_of(self.pairs)

    def of_epoch(self, epoch: int) -> "TrainingData":
        """The pairs that an epoch has; their fingerprint is not that of all."""
        if self.epochs is None:
            return self
        lengths = self.lengths if self.epochs.keep_lengths else None
        return TrainingData(EpochPairs(self.pairs, lengths, self.epochs, epoch), self.symbols)

    def fingerprint(self) -> str:
        """A digest of every id of every pair: a run is resumed on the same data or not at all.

        It is the same wherever the pairs lie.
        """
        if isinstance(self.pairs, ShardedPairs):
            return self.pairs.fingerprint()
        return fingerprint_of(self.pairs)

    def target_tokens(self, indices: Indices) -> int:
        """How many tokens the given pairs' targets have, the begin symbol not counted."""
        return int(self.lengths[indices, 1].sum()) - len(indices)

    def count(self, indices: Indices, per: Per) -> int:
        """How many things an objective's loss is a mean over, for the given pairs."""
        return self.target_tokens(indices) if per == "token" else len(indices)

    def batch(self, indices: Iterable[int]) -> Batch:
        """The padded batch of the given pairs (a `Plan`'s batch will do)."""
        return collate([self.pairs[int(i)] for i in indices], self.symbols)


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
