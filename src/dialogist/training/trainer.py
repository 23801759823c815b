"""`Trainer`: one loop for every model and every objective; survives kill -9 and resumes exactly.

An update is: collate -> objective -> backward -> clip -> step. What a run needs to go on is in its
checkpoint (weights, moments, generator states, `Progress`); the order of the data is a pure
function of seed and epoch. With the same thread count a resumed run ends with the same bits.
"""

import math
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from dialogist.errors import CheckpointError, DataError, DialogistError
from dialogist.models.base import GeneratorModule
from dialogist.models.checkpoint import average_weights, load_weights, weights_of
from dialogist.objectives.base import Objective
from dialogist.records import JSON
from dialogist.training.config import TrainingConfig
from dialogist.training.interfaces import Reporter, TrainingData, Validate
from dialogist.training.interrupt import SignalWatch
from dialogist.training.logs import RunLogs
from dialogist.training.optim import load_optimizer_tensors, optimizer_tensors
from dialogist.training.precision import computing_in, keep_freed_memory, resolve_precision
from dialogist.training.progress import (
    Progress,
    add_to,
    mean_of,
    random_state,
    restore_random_state,
)
from dialogist.training.saving import (
    Checkpoint,
    checkpoint_folders,
    load_checkpoint,
    prune,
    save_checkpoint,
)
from dialogist.training.selection import rank, watch_gap


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
        reason = ""
        for folder in reversed(checkpoint_folders(self.checkpoints)):
            try:
                progress = self._restore(folder, fingerprint)
            except CheckpointError as error:
                reason = str(error)
                self.reporter.note(f"{reason}; trying the one before")
                continue
            self.reporter.note(f"resumed at update {progress.step} ({folder.name})")
            return progress
        if reason:
            raise CheckpointError(f"{reason}; no checkpoint is left to go on from")
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
        sums = {"tokens": float(tokens)}
        for batch in batches:
            with computing_in(self.precision, self.device):
                loss = self.objective(self.model, batch)
            (loss.value / tokens).backward()  # type: ignore[no-untyped-call]
            add_to(sums, {"loss": float(loss.value.detach()), **loss.terms})
        self._require_finite("loss", sums["loss"], progress)
        limit = math.inf if self.config.clip_norm is None else self.config.clip_norm
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), limit)
        # A finite loss may have a gradient that is not: no checkpoint shall hold what it makes.
        self._require_finite("gradient", float(norm), progress)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self._count(progress, sums, rate)
        return sums["loss"] / tokens

    def _require_finite(self, what: str, value: float, progress: Progress) -> None:
        if not math.isfinite(value):
            raise DialogistError(
                f"training: the {what} became {value} at update {progress.step + 1}; the last "
                "checkpoint is kept; lower the learning rate or set clip_norm"
            )

    def _count(self, progress: Progress, sums: Mapping[str, float], rate: float) -> None:
        progress.step += 1
        progress.batch += 1
        add_to(progress.epoch_sums, sums)
        add_to(progress.window_sums, sums)
        if progress.step % self.config.log_every:
            return
        record: dict[str, JSON] = {"kind": "train", "step": progress.step, "epoch": progress.epoch}
        self.logs.metrics.append(record | mean_of(progress.window_sums) | {"learning_rate": rate})
        speed = progress.window_sums["tokens"] / (time.perf_counter() - self._clock)
        self.logs.speed.append({"step": progress.step, "target_tokens_per_s": round(speed, 1)})
        self._clock = time.perf_counter()
        progress.window_sums = {}

    def _end_epoch(self, progress: Progress, validate: Validate) -> None:
        """Validate, log, rank, save; the run folder is complete after this."""
        means = {f"train_{name}": v for name, v in mean_of(progress.epoch_sums).items()}
        progress.epoch += 1
        progress.batch, progress.epoch_sums = 0, {}
        self.model.eval()
        validation = validate(progress.epoch)
        self.model.train()
        record: dict[str, JSON] = {"kind": "epoch", "step": progress.step, "epoch": progress.epoch}
        record |= {**means, **validation.metrics}
        self.logs.metrics.append(record)
        self.logs.add_samples(progress.step, validation.samples)
        self.reporter.epoch(record)
        name = f"step-{progress.step:08d}-epoch-{progress.epoch:04d}"
        for text in (
            *rank(progress, self.config, validation.metrics, name),
            *watch_gap(progress, self.config, validation.metrics),
        ):
            self.reporter.note(text)
        self._save(progress, name)

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
