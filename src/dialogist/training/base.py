"""What a trainer is given: configuration, data, progress, a validation, a reporter."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, Literal, Protocol

import torch
from pydantic import Field

from dialogist.config import Config
from dialogist.data.changes import EpochPairs, Epochs
from dialogist.data.collate import (
    EncodedPair,
    Indices,
    Lengths,
    SamplerConfig,
    TokenBucketConfig,
    collate,
    lengths_of,
)
from dialogist.data.shards import ShardedPairs, fingerprint_of
from dialogist.errors import CheckpointError
from dialogist.objectives import Per
from dialogist.records import JSON
from dialogist.tensors import Batch
from dialogist.tokenizers import Symbols
from dialogist.training.master_weights import TrainingPrecision
from dialogist.training.optimizer import (
    LearningRateSchedule,
    LinearSchedule,
    OptimizerConfig,
    ParameterGroupConfig,
)

# `Progress`: everything, beside weights and optimizer, that a run needs to go on exactly.


@dataclass(slots=True)
class Progress:
    """Where a run stands.

    Attributes:
        step: optimizer updates done.
        epoch: epochs completed; ``batch`` updates of the next one are done.
        epoch_sums: ``tokens``, ``count`` (what the loss is a mean over), ``loss`` and every term of
            it, summed over the running epoch;
            ``window_sums``: the same since the last log line.
        cut_batch: updates done of the last epoch where ``max_steps`` cut it off; 0: it was whole.
            ``cut_sums``: its ``epoch_sums``.
        best: validated checkpoints, best first: (score, checkpoint name).
        stale: score validations since the last improvement.
        gap: how far the train sample's score led dev's at the last validation.
        stopped: early stopping has ended the run.
        lines: how long each log was, so that a resumed run writes none twice.
        data: fingerprint of the training pairs; another one cannot be resumed.
        threads, processes: their counts, on which bit-exactness depends.
        seconds: of the wall clock, for ``training`` and for ``validation``; work that was lost and
            done again counts once. Nothing depends on them.
    """

    step: int = 0
    epoch: int = 0
    batch: int = 0
    epoch_sums: dict[str, float] = field(default_factory=dict)
    window_sums: dict[str, float] = field(default_factory=dict)
    cut_batch: int = 0
    cut_sums: dict[str, float] = field(default_factory=dict)
    best: list[tuple[float, str]] = field(default_factory=list)
    stale: int = 0
    gap: float | None = None
    stopped: bool = False
    lines: dict[str, int] = field(default_factory=dict)
    data: str = ""
    threads: int = 0
    processes: int = 1
    seconds: dict[str, float] = field(default_factory=dict)

    def end_epoch(self, whole: bool) -> None:
        """Count an epoch; of one that is not ``whole`` remember where it was cut off."""
        self.cut_batch, self.cut_sums = (0, {}) if whole else (self.batch, self.epoch_sums)
        self.epoch += 1
        self.batch, self.epoch_sums = 0, {}

    def reopen_epoch(self) -> None:
        """Go back to where the last epoch was cut off, if it was, to train the rest of it."""
        if self.cut_batch:
            self.epoch -= 1
            self.batch, self.epoch_sums = self.cut_batch, self.cut_sums
            self.cut_batch, self.cut_sums = 0, {}

    def to_json(self) -> dict[str, JSON]:
        """Plain values; floats survive exactly."""
        values: dict[str, Any] = asdict(self)
        values["best"] = [list(entry) for entry in self.best]
        return values

    @classmethod
    def from_json(cls, values: Any) -> "Progress":
        """Back from `to_json`.

        Raises:
            CheckpointError: written by another release, with other fields.
        """
        try:
            best = [(float(score), str(name)) for score, name in values["best"]]
            return cls(**{**values, "best": best})
        except (KeyError, TypeError, ValueError) as error:
            raise CheckpointError(f"its state is of another release: {error}") from None


def mean_of_sums(sums: Mapping[str, float]) -> dict[str, float]:
    """Sums over ``count`` things as means."""
    count = max(1.0, sums.get("count", 0.0))
    return {k: value / count for k, value in sums.items() if k not in ("tokens", "count")}


def add_sums(sums: dict[str, float], more: Mapping[str, float]) -> None:
    """Add up, name by name."""
    for name, value in more.items():
        sums[name] = sums.get(name, 0.0) + value


def seed_batch(seed: int, step: int, batch: int, rank: int) -> None:
    """Seed torch's generators for one batch of an update, in one process.

    So all that is drawn (dropout) is a function of these four: it needs no place in a checkpoint,
    and a batch sees the same draws whichever updates this process made before.
    """
    text = f"dialogist batch {seed} {step} {batch} {rank}"
    torch.manual_seed(int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]))


# `TrainingConfig`: how a model is trained, whatever the model and the objective.


class TrainingConfig(Config):
    """Options of a training run.

    ``epochs``: passes over the training pairs; 0 keeps a pretrained model as it is. ``max_steps``:
    updates at most. ``seed``: of weights, order and dropout. ``precision``: number format.
    ``sampler``: how batches are filled. ``accumulate``: batches that make one update; more take
    less memory and change nothing else. ``clip_norm``: the largest norm of the gradients.
    ``parts``: weights with a rate of their own, or frozen at first. ``checkpoint_every``,
    ``log_every``: in updates. ``keep_last``, ``keep_best``: checkpoints that stay. ``select_by``:
    the validation metric that ranks checkpoints (larger is better; ``dev_loss``: smaller).
    ``patience``: stop after so many validations without improvement. ``moving_average``: decay of
    an exponential moving average of the weights, which is then validated and kept (0.999 remembers
    about the last thousand updates); None: none. ``final``: the model that is kept is the ``best``
    checkpoint, the ``last``, or the ``average`` of the last ``keep_last`` epochs'. ``gap_warning``:
    warn when the train sample's score leads dev's by more points than this, and the lead is
    growing: overfitting, as the third report found it.

    ``optimizer``: how gradients change weights. ``schedule``: the learning rate, update by update.
    """

    epochs: int = Field(20, ge=0)
    max_steps: int | None = Field(None, ge=1)
    seed: int = Field(1, ge=0)
    precision: TrainingPrecision = "auto"
    sampler: SamplerConfig = TokenBucketConfig()
    accumulate: int = Field(1, ge=1)
    optimizer: OptimizerConfig = OptimizerConfig()
    schedule: LearningRateSchedule = LinearSchedule(peak=1e-3, warmup=400)
    parts: tuple[ParameterGroupConfig, ...] = ()
    clip_norm: float | None = Field(1.0, gt=0)
    log_every: int = Field(20, ge=1)
    checkpoint_every: int = Field(200, ge=1)
    keep_last: int = Field(3, ge=1)
    keep_best: int = Field(1, ge=1)
    select_by: str = "dev_rougeL"
    patience: int | None = Field(None, ge=1)
    moving_average: float | None = Field(None, gt=0, lt=1)
    final: Literal["best", "last", "average"] = "best"
    gap_warning: float = Field(10.0, gt=0)


# What a trainer is given: the data, a validation, and a place to show progress.


@dataclass(frozen=True)  # no slots: they leave no room for what is cached
class TrainingData:
    """The encoded training pairs, in memory or on disk, and the ids that a batch is made with.

    ``epochs``: what each epoch makes of them, where they are not the same in all.
    """

    pairs: Sequence[EncodedPair]
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


class TrainingReporter(Protocol):
    """Where progress is shown."""

    def update(self, progress: Progress, updates: int, loss: float) -> None:
        """After every update; an epoch has so many ``updates``."""
        ...

    def epoch(self, record: Mapping[str, JSON]) -> None:
        """After every validation."""
        ...

    def note(self, text: str) -> None:
        """Something a person should know."""
        ...
