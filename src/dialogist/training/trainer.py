"""`Trainer`: one loop for every model and every objective; survives kill -9 and resumes exactly.

An update is: collate -> objective -> backward -> clip -> step. What a run needs to go on is in its
checkpoint (weights, moments, generator states, `Progress`); the order of the data is a pure
function of seed and epoch. With the same thread count a resumed run ends with the same bits.
"""

import hashlib
import math
import time
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import torch
from torch import Tensor, nn

from dialogist.batch import Batch
from dialogist.data.collate import Pair, collate
from dialogist.errors import CheckpointError, DataError, DialogistError
from dialogist.models.base import GeneratorModule
from dialogist.models.checkpoint import average_weights, load_weights, weights_of
from dialogist.objectives.base import Objective
from dialogist.records import JSON
from dialogist.training.config import TrainingConfig
from dialogist.training.interrupt import SignalWatch
from dialogist.training.logs import RunLogs
from dialogist.training.optim import load_optimizer_tensors, optimizer_tensors
from dialogist.training.precision import computing_in, keep_freed_memory, resolve_precision
from dialogist.training.progress import Progress, random_state, restore_random_state
from dialogist.training.saving import (
    Checkpoint,
    checkpoint_folders,
    load_checkpoint,
    prune,
    save_checkpoint,
)


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


class Trainer:
    """Trains ``model`` in the run folder ``folder``; see the module."""

    def __init__(
        self,
        model: GeneratorModule,
        objective: Objective,
        data: TrainingData,
        config: TrainingConfig,
        folder: Path,
        reporter: Reporter,
    ) -> None:
        self.model = model
        self.objective = objective
        self.data = data
        self.config = config
        self.reporter = reporter
        self.device = next(model.parameters()).device
        self.precision = resolve_precision(config.precision, self.device)
        self.optimizer = config.optimizer.build(model)
        self.checkpoints = folder / "checkpoints"
        self.logs = RunLogs(folder)
        self._clock = time.perf_counter()

    def fit(self, validate: Validate) -> Progress:
        """Train to the end, from the newest usable checkpoint if there is one.

        Raises:
            Interrupted: on SIGINT or SIGTERM, after saving.
            CheckpointError: checkpoints are there, but none fits this run or is whole.
            DialogistError: the loss is no longer a finite number.
        """
        if not self.data.pairs:
            raise DataError("no training pairs: the training data hold no summaries")
        keep_freed_memory()
        progress = self._begin()
        self.model.train()
        with SignalWatch() as watch:
            while not self._finished(progress):
                self._train_epoch(progress, watch)
                self._end_epoch(progress, validate)
                watch.check()
        return progress

    def final_weights(self, progress: Progress) -> dict[str, Tensor]:
        """The weights to keep, as ``config.final`` says (``best`` without any score: the last)."""
        epochs = [p for p in checkpoint_folders(self.checkpoints) if "-epoch-" in p.name]
        chosen = epochs[-1:]
        if self.config.final == "average":
            chosen = epochs[-self.config.keep_last :]
        elif self.config.final == "best" and progress.best:
            chosen = [self.checkpoints / progress.best[0][1]]
        return average_weights([load_checkpoint(p).tensors["weights"] for p in chosen])

    def _begin(self) -> Progress:
        """Resume, or start anew with the generators seeded."""
        fingerprint = self.data.fingerprint()
        folders = checkpoint_folders(self.checkpoints)
        for folder in reversed(folders):
            try:
                progress = self._restore(folder, fingerprint)
            except CheckpointError as error:
                self.reporter.note(f"{error}; trying the one before")
                continue
            self.reporter.note(f"resumed at update {progress.step} ({folder.name})")
            return progress
        if folders:
            raise CheckpointError(
                f"{self.checkpoints}: no usable checkpoint; train into another folder"
            )
        torch.manual_seed(self.config.seed)
        self.logs.rewind({})
        return Progress(data=fingerprint, threads=torch.get_num_threads())

    def _restore(self, folder: Path, fingerprint: str) -> Progress:
        checkpoint = load_checkpoint(folder)
        progress = Progress.from_json(dict(checkpoint.state))
        if progress.data != fingerprint:
            raise CheckpointError(f"{folder}: belongs to other training data")
        if progress.threads != torch.get_num_threads():
            self.reporter.note(
                f"this run used {progress.threads} threads, now {torch.get_num_threads()}: "
                "it goes on, but its bits will differ from an uninterrupted run's"
            )
        load_weights(self.model, checkpoint.tensors["weights"], str(folder))
        load_optimizer_tensors(self.optimizer, dict(checkpoint.tensors["optimizer"]))
        restore_random_state(dict(checkpoint.tensors["random"]))
        self.logs.rewind(progress.lines)
        return progress

    def _finished(self, progress: Progress) -> bool:
        return progress.stopped or progress.epoch >= self.config.epochs or self._full(progress)

    def _full(self, progress: Progress) -> bool:
        return self.config.max_steps is not None and progress.step >= self.config.max_steps

    def _updates(self, epoch: int) -> list[list[list[int]]]:
        """An epoch's updates, each of ``accumulate`` batches of pair indices."""
        plan = self.config.sampler.plan(self.data.pairs, self.config.seed, epoch)
        size = self.config.accumulate
        return [plan[i : i + size] for i in range(0, len(plan), size)]

    def _total_steps(self) -> int:
        """The planned length of the run, for schedules that end at a given step."""
        planned = self.config.epochs * len(self._updates(0))
        return min(planned, self.config.max_steps or planned)

    def _train_epoch(self, progress: Progress, watch: SignalWatch) -> None:
        updates, total = self._updates(progress.epoch), self._total_steps()
        for group in updates[progress.batch :]:
            loss = self._update(progress, group, total)
            self.reporter.update(progress, len(updates), loss)
            if self._full(progress):
                return
            if watch.received or progress.step % self.config.checkpoint_every == 0:
                self._save(progress, f"step-{progress.step:08d}")
            watch.check()

    def _update(self, progress: Progress, group: Sequence[Sequence[int]], total: int) -> float:
        """One optimizer update; returns its mean loss per token."""
        batches = [self.data.batch(indices).to(self.device) for indices in group]
        tokens = sum(batch.target_tokens for batch in batches)
        rate = self.config.schedule.rate(progress.step + 1, total)
        for parameters in self.optimizer.param_groups:
            parameters["lr"] = rate
        summed = 0.0
        for batch in batches:
            with computing_in(self.precision, self.device):
                loss = self.objective(self.model, batch)
            (loss.value / tokens).backward()  # type: ignore[no-untyped-call]
            summed += float(loss.value.detach())
        self._require_finite("loss", summed, progress)
        limit = math.inf if self.config.clip_norm is None else self.config.clip_norm
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), limit)
        # A finite loss may have a gradient that is not: no checkpoint shall hold what it makes.
        self._require_finite("gradient", float(norm), progress)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self._count(progress, summed, tokens, rate)
        return summed / tokens

    def _require_finite(self, what: str, value: float, progress: Progress) -> None:
        if not math.isfinite(value):
            raise DialogistError(
                f"training: the {what} became {value} at update {progress.step + 1}; the last "
                "checkpoint is kept; lower the learning rate or set clip_norm"
            )

    def _count(self, progress: Progress, summed: float, tokens: int, rate: float) -> None:
        progress.step += 1
        progress.batch += 1
        progress.epoch_loss += summed
        progress.epoch_tokens += tokens
        progress.window_loss += summed
        progress.window_tokens += tokens
        if progress.step % self.config.log_every:
            return
        self.logs.metrics.append(
            {
                "kind": "train",
                "step": progress.step,
                "epoch": progress.epoch,
                "loss": progress.window_loss / progress.window_tokens,
                "learning_rate": rate,
            }
        )
        seconds = time.perf_counter() - self._clock
        speed = progress.window_tokens / seconds
        self.logs.speed.append({"step": progress.step, "target_tokens_per_s": round(speed, 1)})
        self._clock = time.perf_counter()
        progress.window_loss, progress.window_tokens = 0.0, 0

    def _end_epoch(self, progress: Progress, validate: Validate) -> None:
        """Validate, log, rank, save; the run folder is complete after this."""
        loss = progress.epoch_loss / max(1, progress.epoch_tokens)
        progress.epoch += 1
        progress.batch, progress.epoch_loss, progress.epoch_tokens = 0, 0.0, 0
        self.model.eval()
        validation = validate(progress.epoch)
        self.model.train()
        record: dict[str, JSON] = {"kind": "epoch", "step": progress.step, "epoch": progress.epoch}
        record |= {"train_loss": loss, **validation.metrics}
        self.logs.metrics.append(record)
        self.logs.add_samples(progress.step, validation.samples)
        self.reporter.epoch(record)
        name = f"step-{progress.step:08d}-epoch-{progress.epoch:04d}"
        self._rank(progress, validation.metrics, name)
        self._watch_gap(progress, validation.metrics)
        self._save(progress, name)

    def _rank(self, progress: Progress, metrics: Mapping[str, float], name: str) -> None:
        """Enter a checkpoint into the best list and decide about early stopping."""
        if self.config.select_by not in metrics:
            return
        sign = -1.0 if self.config.select_by.endswith("loss") else 1.0
        score = sign * metrics[self.config.select_by]
        improved = not progress.best or score > progress.best[0][0]
        ranked = sorted([*progress.best, (score, name)], key=lambda entry: -entry[0])
        progress.best = ranked[: self.config.keep_best]
        progress.stale = 0 if improved else progress.stale + 1
        if self.config.patience is not None and progress.stale >= self.config.patience:
            progress.stopped = True
            self.reporter.note(
                f"stopping early: {self.config.select_by} has not improved for "
                f"{progress.stale} validations"
            )

    def _watch_gap(self, progress: Progress, metrics: Mapping[str, float]) -> None:
        """Warn when the train sample's score runs away from dev's (report 3: .958 and .858)."""
        train_name = self.config.select_by.replace("dev_", "train_", 1)
        if train_name == self.config.select_by or train_name not in metrics:
            return
        gap = metrics[train_name] - metrics.get(self.config.select_by, math.nan)
        if gap > self.config.gap_warning and gap > (progress.gap or 0.0):
            self.reporter.note(
                f"overfitting: {train_name} leads {self.config.select_by} by {gap:.1f} points, "
                "and the gap is growing"
            )
        progress.gap = gap

    def _save(self, progress: Progress, name: str) -> None:
        progress.lines = self.logs.lengths()
        tensors = {
            "weights": weights_of(self.model),
            "optimizer": optimizer_tensors(self.optimizer),
            "random": random_state(),
        }
        save_checkpoint(self.checkpoints / name, Checkpoint(tensors, progress.to_json()))
        names = [path.name for path in checkpoint_folders(self.checkpoints)]
        epochs = [entry for entry in names if "-epoch-" in entry]
        best = [entry for _, entry in progress.best]
        # The newest two stay whatever they are: should one be damaged, the other goes on. So does
        # this one: after going back, damaged ones of a later step may be before it.
        prune(self.checkpoints, {name, *best, *epochs[-self.config.keep_last :], *names[-2:]})
