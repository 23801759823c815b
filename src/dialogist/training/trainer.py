"""`Trainer`: one loop for every model and every objective; survives kill -9 and resumes exactly.

An update is: collate -> objective -> backward -> add up -> clip -> step -> cast. What a run needs
to go on is in its checkpoint (weights, moments, `Progress`). The order of the data is a function
of seed and epoch, what is drawn (dropout) one of seed, update, batch and process. With the same
thread and process counts a resumed run ends with the same bits.
"""

import math
import time
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

import torch
from torch import Tensor, nn

from dialogist.data.collate import BatchPlan, Indices
from dialogist.errors import CheckpointError, DataError, DialogistError
from dialogist.models.model_weights import average_weights
from dialogist.objectives import Objective
from dialogist.records import JSON
from dialogist.training.base import (
    Progress,
    TrainingConfig,
    TrainingData,
    TrainingReporter,
    Validate,
    add_sums,
    mean_of_sums,
    seed_batch,
)
from dialogist.training.checkpoints import (
    Checkpoint,
    checkpoint_folders,
    epoch_checkpoints,
    final_checkpoints,
    load_checkpoint,
    prune_checkpoints,
    rank_checkpoint,
    save_checkpoint,
    watch_gap,
)
from dialogist.training.distributed import Processes
from dialogist.training.master_weights import (
    MasterWeights,
    MovingAverage,
    resolve_training_precision,
    working_dtype,
)
from dialogist.training.optimizer import ParameterGroups, load_optimizer_tensors, optimizer_tensors
from dialogist.training.run_logs import RunLogs
from dialogist.training.runtime import (
    Interrupted,
    KeptMemory,
    SignalWatch,
    avoid_fused_attention,
)


class Trainer:
    """Trains ``model`` in the run folder ``folder``; see the module.

    From here to the end of `fit` the model's weights are views of `weights`, in the precision that
    training computes in; then they are fp32 again.
    """

    def __init__(
        self,
        model: nn.Module,
        objective: Objective,
        data: TrainingData,
        config: TrainingConfig,
        folder: Path,
        reporter: TrainingReporter,
    ) -> None:
        self.model, self.objective, self.data = model, objective, data
        self.config = config
        self.reporter = reporter
        self.device = next(model.parameters()).device
        working = working_dtype(resolve_training_precision(config.precision, self.device))
        avoid_fused_attention(self.device, working)
        self.weights = MasterWeights(model, working)
        self.average = MovingAverage(self.weights, config.moving_average)
        self.parts = ParameterGroups(config.parts, model, self.weights)
        self.optimizer = config.optimizer.build(self.weights)
        self.processes = Processes.joined()
        self.checkpoints = folder / "checkpoints"
        self.logs = RunLogs(folder)
        self._clock = self._since = time.perf_counter()
        self._latest: tuple[int, TrainingData] | None = None

    def fit(self, validate: Validate) -> Progress:
        """Train to the end, from the newest usable checkpoint if there is one.

        Raises:
            Interrupted: on SIGINT or SIGTERM, after saving.
            CheckpointError: checkpoints are there, but none fits this run or is whole.
            DialogistError: the loss is no longer a finite number.
        """
        if not self.data.pairs:
            raise DataError("no training pairs: the training data hold no summaries")
        memory, progress = KeptMemory(), self._begin()
        if not (progress.stopped or self._full(progress)):
            progress.reopen_epoch()  # max_steps was raised since
        _ = self._total_steps  # the plan of another epoch than the one to go on with
        self._since = time.perf_counter()
        self.model.train()
        with SignalWatch(second_leaves=self.processes.count == 1) as watch:
            while not self._finished(progress):
                self._train_epoch(progress, watch, memory)
                progress = self._end_epoch(progress, validate)
                received = self.processes.all_reduce_max(watch.received, self.device)
                if received:
                    raise Interrupted(received)
        self.weights.release()
        return progress

    def final_weights(self, progress: Progress) -> dict[str, Tensor]:
        """The weights to keep, as ``config.final`` says (``best`` without any score: the last)."""
        chosen = final_checkpoints(progress, self.config, self.checkpoints)
        return average_weights([load_checkpoint(p).tensors["weights"] for p in chosen])

    def _begin(self) -> Progress:
        """Resume, or start anew; the first process decides, the others are told."""
        fresh = Progress(data=self.data.fingerprint(), threads=torch.get_num_threads())
        fresh.processes = self.processes.count
        progress = self._resumed(fresh) if self.processes.first else None
        told = self.processes.broadcast_object((progress or fresh).to_json())
        moments = optimizer_tensors(self.optimizer)
        moments = self.processes.broadcast_tensors(moments, self.device)
        load_optimizer_tensors(self.optimizer, moments)
        for weights in (self.weights.master, self.average.flat):
            self.processes.broadcast_(weights)
        self.weights.refresh()
        return Progress.from_json(told)

    def _resumed(self, fresh: Progress) -> Progress:
        """From the newest usable checkpoint, or ``fresh`` if there is none at all."""
        reason = ""
        for folder in reversed(checkpoint_folders(self.checkpoints)):
            try:
                progress = self._restore(folder, fresh)
            except CheckpointError as error:
                reason = str(error)
                self.reporter.note(f"{reason}; trying the one before")
                continue
            self.reporter.note(f"resumed at update {progress.step} ({folder.name})")
            return progress
        if reason:
            raise CheckpointError(f"{reason}; no checkpoint is left to go on from")
        self.logs.rewind({})
        return fresh

    def _restore(self, folder: Path, fresh: Progress) -> Progress:
        checkpoint = load_checkpoint(folder)
        progress = Progress.from_json(dict(checkpoint.state))
        if progress.data != fresh.data:
            raise CheckpointError(f"{folder}: belongs to other training data")
        for what in ("threads", "processes"):
            before, now = getattr(progress, what), getattr(fresh, what)
            if before != now:
                self.reporter.note(
                    f"this run used {before} {what}, now {now}: it goes on, but its bits will "
                    "differ from an uninterrupted run's"
                )
                setattr(progress, what, now)
        self.average.restore(checkpoint.tensors, str(folder))
        load_optimizer_tensors(self.optimizer, dict(checkpoint.tensors["optimizer"]))
        self.logs.rewind(progress.lines)
        return progress

    def _finished(self, progress: Progress) -> bool:
        return progress.stopped or progress.epoch >= self.config.epochs or self._full(progress)

    def _full(self, progress: Progress) -> bool:
        return self.config.max_steps is not None and progress.step >= self.config.max_steps

    def _data_of(self, epoch: int) -> TrainingData:
        """The pairs of an epoch, whose lengths are found once."""
        if self._latest is None or self._latest[0] != epoch:
            self._latest = epoch, self.data.of_epoch(epoch)
        return self._latest[1]

    def _plan(self, epoch: int) -> BatchPlan:
        return self.config.sampler.plan(self._data_of(epoch).lengths, self.config.seed, epoch)

    def _updates(self, plan: BatchPlan) -> int:
        """How many updates, of ``accumulate`` batches each, an epoch takes."""
        return -(-len(plan) // self.config.accumulate)

    @cached_property
    def _total_steps(self) -> int:
        """The planned length of the run, for schedules that end at a given step."""
        planned = self.config.epochs * self._updates(self._plan(0))
        return min(planned, self.config.max_steps or planned)

    def _train_epoch(self, progress: Progress, watch: SignalWatch, memory: KeptMemory) -> None:
        plan, size = self._plan(progress.epoch), self.config.accumulate
        for number in range(progress.batch, self._updates(plan)):
            loss = self._update(progress, plan[number * size : (number + 1) * size])
            memory.watch()
            self.reporter.update(progress, self._updates(plan), loss)
            if self._full(progress):
                return
            received = self.processes.all_reduce_max(watch.received, self.device)
            if received or progress.step % self.config.checkpoint_every == 0:
                self._save(progress, f"step-{progress.step:08d}")
            if received:
                raise Interrupted(received)

    def _update(self, progress: Progress, group: Sequence[Indices]) -> float:
        """One optimizer update; returns its mean loss."""
        data = self._data_of(progress.epoch)
        tokens = sum(data.target_tokens(indices) for indices in group)
        count = sum(data.count(indices, self.objective.per) for indices in group)
        rate = self.config.schedule.rate(progress.step + 1, self._total_steps)
        self.parts.begin(progress.step + 1)
        sums: dict[str, float] = {}
        self.weights.begin()
        for number, indices in enumerate(group):
            seed_batch(self.config.seed, progress.step, number, self.processes.rank)
            add_sums(sums, self._learn(data, indices, count))
            self.weights.collect(add=number > 0)
        self.processes.all_reduce_sum_(self.weights.gradient)
        sums = self.processes.all_reduce_named(sums, self.device)
        sums |= {"tokens": float(tokens), "count": float(count)}
        self._require_finite("loss", sums["loss"], progress)
        # A finite loss may have a gradient that is not: no checkpoint shall hold what it makes.
        self._require_finite("gradient", self.weights.clip(self.config.clip_norm), progress)
        self.parts.update(self.optimizer, progress.step + 1, rate)
        self.weights.refresh()
        self.average.update(progress.step + 1)
        self._count(progress, sums, rate)
        return sums["loss"] / count

    def _learn(self, data: TrainingData, indices: Indices, count: int) -> dict[str, float]:
        """Forward and backward of this process's rows of a batch; the summed loss and its terms."""
        own = self.processes.share(indices)
        # A process without a row (a batch smaller than their number) takes one, at weight 0.
        weight = 1.0 if len(own) else 0.0
        batch = data.batch(own if len(own) else indices[:1]).to(self.device)
        loss = self.objective(self.model, batch)
        (loss.value * (weight / count)).backward()  # type: ignore[no-untyped-call]
        sums = {"loss": float(loss.value.detach()), **loss.terms}
        return {name: weight * value for name, value in sums.items()}

    def _require_finite(self, what: str, value: float, progress: Progress) -> None:
        if not math.isfinite(value):
            raise DialogistError(
                f"training: the {what} became {value} at update {progress.step + 1}; the last "
                "checkpoint is kept; lower the learning rate or set clip_norm"
            )

    def _count(self, progress: Progress, sums: Mapping[str, float], rate: float) -> None:
        progress.step += 1
        progress.batch += 1
        add_sums(progress.epoch_sums, sums)
        add_sums(progress.window_sums, sums)
        if progress.step % self.config.log_every:
            return
        if not self.processes.first:
            progress.window_sums = {}
            return
        record: dict[str, JSON] = {"kind": "train", "step": progress.step, "epoch": progress.epoch}
        self.logs.metrics.append(
            record | mean_of_sums(progress.window_sums) | {"learning_rate": rate}
        )
        speed = progress.window_sums["tokens"] / (time.perf_counter() - self._clock)
        self.logs.speed.append({"step": progress.step, "target_tokens_per_s": round(speed, 1)})
        self._clock = time.perf_counter()
        progress.window_sums = {}

    def _end_epoch(self, progress: Progress, validate: Validate) -> Progress:
        """Validate, log, rank, save; the run folder is complete after this."""
        means = {f"train_{name}": v for name, v in mean_of_sums(progress.epoch_sums).items()}
        progress.end_epoch(whole=progress.batch >= self._updates(self._plan(progress.epoch)))
        if self.processes.first:
            self._validate(progress, means, validate)
        told = self.processes.broadcast_object(progress.to_json())
        return Progress.from_json(told)

    def _validate(self, progress: Progress, means: Mapping[str, float], validate: Validate) -> None:
        self._time(progress, "training")
        self.model.eval()
        with self.average.in_place():
            validation = validate(progress.epoch)
        self.model.train()
        self._time(progress, "validation")
        record: dict[str, JSON] = {"kind": "epoch", "step": progress.step, "epoch": progress.epoch}
        record |= {**means, **validation.metrics}
        self.logs.metrics.append(record)
        self.logs.add_samples(progress.step, validation.samples)
        self.reporter.epoch(record)
        name = f"step-{progress.step:08d}-epoch-{progress.epoch:04d}"
        for text in (
            *rank_checkpoint(progress, self.config, validation.metrics, name),
            *watch_gap(progress, self.config, validation.metrics),
        ):
            self.reporter.note(text)
        self._save(progress, name)

    def _time(self, progress: Progress, what: str) -> None:
        """What was done since the last call, by the wall clock."""
        before, self._since = self._since, time.perf_counter()
        add_sums(progress.seconds, {what: self._since - before})

    def _save(self, progress: Progress, name: str) -> None:
        if not self.processes.first:
            return
        self._time(progress, "training")
        progress.lines = self.logs.lengths()
        tensors = self.average.tensors() | {"optimizer": optimizer_tensors(self.optimizer)}
        save_checkpoint(self.checkpoints / name, Checkpoint(tensors, progress.to_json()))
        names = [path.name for path in checkpoint_folders(self.checkpoints)]
        epochs = [path.name for path in epoch_checkpoints(self.checkpoints)]
        best = [entry for _, entry in progress.best]
        # The newest two stay whatever they are: should one be damaged, the other goes on. So does
        # this one: after going back, damaged ones of a later step may be before it.
        prune_checkpoints(
            self.checkpoints, {name, *best, *epochs[-self.config.keep_last :], *names[-2:]}
        )
