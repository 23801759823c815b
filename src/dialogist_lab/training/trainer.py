"""`Trainer`: one loop for every model and every objective; survives kill -9 and resumes exactly.

An update is: batches -> objective -> backward -> add up -> clip -> step. What a run needs to go on
is in one file, `CHECKPOINT`: weights, moments and `Progress`. The order of the data is a function
of seed and epoch, what is drawn (dropout) one of seed, update, batch and process: so the sampler's
position and the random numbers follow from two integers. With the same counts of threads and
processes a resumed run ends with the same bits.
"""

import ctypes
import hashlib
import json
import math
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, Literal, TypeVar

import torch
import torch.distributed as dist
from pydantic import Field
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from dialogist.config import Config
from dialogist.errors import CheckpointError, DataError, DialogistError, Stopped, UsageError
from dialogist.files import replacing
from dialogist_lab.data.batching import Indices, SamplerConfig, TokenBucketConfig, TrainingData
from dialogist_lab.training.objective import Objective
from dialogist_lab.training.run_tracking import ProgressLines

CHECKPOINT, BEST, LOG = "checkpoint.safetensors", "best.safetensors", "log.jsonl"
"""What the trainer writes into a run folder."""


class InverseSquareRootSchedule(Config):
    """eta(t) = scale * d^-0.5 * min(t^-0.5, t * warm^-1.5): report 1, equation 3; Vaswani et al.

    ``d_model``: the width d. ``warmup``: warm, in updates. ``scale``: multiplies the rate.
    """

    kind: Literal["inverse-sqrt"] = "inverse-sqrt"
    d_model: int = Field(ge=1)
    warmup: int = Field(4000, ge=1)
    scale: float = Field(1.0, gt=0)

    def rate(self, step: int, total: int) -> float:
        """The learning rate of update ``step``, from 1; ``total`` does not matter here."""
        warm: float = min(step**-0.5, step * self.warmup**-1.5)
        return float(self.scale * self.d_model**-0.5 * warm)


class WarmedSchedule(Config):
    """Linear warm-up to ``peak``; then constant, or falling to ``floor`` x peak at the last update.

    ``kind``: ``constant``, ``linear`` or (half a) ``cosine``. ``peak``: the largest rate.
    ``warmup``: updates of growth. ``floor``: the last rate as a share of the peak.
    """

    kind: Literal["constant", "linear", "cosine"] = "linear"
    peak: float = Field(gt=0)
    warmup: int = Field(0, ge=0)
    floor: float = Field(0.0, ge=0, le=1)

    def rate(self, step: int, total: int) -> float:
        """The learning rate of update ``step``, from 1, of ``total``."""
        warm = min(1.0, step / self.warmup) if self.warmup else 1.0
        done = min(1.0, max(0.0, (step - self.warmup) / max(1, total - self.warmup)))
        half = (1 + math.cos(math.pi * done)) / 2
        left = {"constant": 1.0, "linear": 1 - done, "cosine": half}[self.kind]
        return self.peak * warm * (self.floor + (1 - self.floor) * left)


class SweptSchedule(Config):
    """From ``low`` to ``high``, each rate the same multiple of the one before: to find one that
    suits (Smith 2017, section 3.3)."""

    kind: Literal["sweep"] = "sweep"
    low: float = Field(1e-6, gt=0)
    high: float = Field(1.0, gt=0)

    def rate(self, step: int, total: int) -> float:
        """The learning rate of update ``step``, from 1, of ``total``."""
        return float(self.low * (self.high / self.low) ** (step / total))


LearningRateSchedule = Annotated[
    InverseSquareRootSchedule | WarmedSchedule | SweptSchedule, Field(discriminator="kind")
]


class OptimizerConfig(Config):
    """Adam (Kingma and Ba 2015), or with decay of its own (Loshchilov and Hutter 2019).

    ``kind``: ``adam`` adds the decay to the gradient (L2), ``adamw`` decays the weights themselves;
    norms and biases are never decayed. ``betas``: decay of the means of gradients
    and of their squares. ``eps``: added to the root of the latter. ``weight_decay``: its strength.
    ``shares``: how names of weights begin that learn at a share of the rate.
    """

    kind: Literal["adam", "adamw"] = "adamw"
    betas: tuple[float, float] = (0.9, 0.98)
    eps: float = Field(1e-9, gt=0)
    weight_decay: float = Field(0.0, ge=0)
    shares: dict[str, float] = Field(default_factory=dict)

    def build(self, model: nn.Module) -> torch.optim.Optimizer:
        """torch's fused kernel, over weights that are decayed and the others."""
        groups: dict[tuple[float, float], list[nn.Parameter]] = {}
        for name, p in model.named_parameters():
            share = next((s for begin, s in self.shares.items() if name.startswith(begin)), 1.0)
            decay = 0.0 if p.ndim < 2 else self.weight_decay
            groups.setdefault((share, decay), []).extend([p] if p.requires_grad else [])
        made = [{"params": p, "share": s, "weight_decay": d} for (s, d), p in groups.items()]
        kind = torch.optim.Adam if self.kind == "adam" else torch.optim.AdamW
        return kind(made, lr=0.0, betas=self.betas, eps=self.eps, fused=True)


Precision = Literal["auto", "fp32", "bf16"]


def uses_bf16(precision: Precision, device: torch.device) -> bool:
    """Whether linear layers compute in bf16; ``auto``: where the hardware multiplies it itself.

    Raises UsageError: bf16 was asked for and the hardware lacks it (it would be slow, not wrong).
    """
    if device.type == "cuda":
        able = torch.cuda.is_bf16_supported()
    else:  # AVX512-BF16 or AMX
        able = torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    if precision == "bf16" and not able:
        raise UsageError(f"precision bf16: this {device.type} has no bf16 units; use fp32 or auto")
    return able and precision != "fp32"


class TrainingConfig(Config):
    """Options of a training run.

    ``epochs``: passes over the training pairs. ``max_steps``: updates at most. ``seed``: of
    weights, order and dropout. ``precision``: number format of the linear layers. ``sampler``: how
    batches are filled. ``accumulate``: batches that make one update; more take less memory and
    change nothing else. ``optimizer``: how gradients change weights. ``schedule``: the rate.
    ``clip_norm``: the largest norm of the gradient. ``checkpoint_every``, ``log_every``: updates.
    ``select_by``: the validation metric that ranks epochs (larger is better; ``dev_loss``:
    smaller). ``patience``: stop after so many scored validations without improvement. ``final``:
    the weights that are kept: the best epoch's, the last one's, or an average. ``keep_last``: the
    epochs of that average.
    """

    epochs: int = Field(20, ge=1)
    max_steps: int | None = Field(None, ge=1)
    seed: int = Field(1, ge=0)
    precision: Precision = "auto"
    sampler: SamplerConfig = TokenBucketConfig()
    accumulate: int = Field(1, ge=1)
    optimizer: OptimizerConfig = OptimizerConfig()
    schedule: LearningRateSchedule = WarmedSchedule(peak=1e-3, warmup=400)
    clip_norm: float | None = Field(1.0, gt=0)
    log_every: int = Field(20, ge=1)
    checkpoint_every: int = Field(200, ge=1)
    select_by: str = "dev_rougeL"
    patience: int | None = Field(None, ge=1)
    final: Literal["best", "last", "average"] = "best"
    keep_last: int = Field(3, ge=1)


@dataclass(frozen=True, slots=True)
class Validation:
    """What a validation measured: metrics, and samples that are logged as they are."""

    metrics: Mapping[str, float]
    samples: Sequence[Mapping[str, Any]] = ()


class Interrupted(Stopped):
    """Training was stopped by a signal; a checkpoint is saved."""

    def __init__(self, number: int) -> None:
        super().__init__(f"stopped by {signal.Signals(number).name}; --resume goes on")
        self.exit_code = 128 + number


@dataclass(slots=True)
class Progress:
    """Where a run stands: all that it needs to go on, beside weights and moments."""

    step: int = 0  # optimizer updates done
    epoch: int = 0  # epochs completed
    batch: int = 0  # updates done of the next one
    sums: dict[str, float] = field(default_factory=dict)  # of loss, terms, count, in this epoch
    window: dict[str, float] = field(default_factory=dict)  # the same since the last log line
    best: float | None = None  # the best score so far, larger is better
    stale: int = 0  # scored validations since then
    stopped: bool = False  # early stopping has ended the run
    lines: int = 0  # how long the log was, so that a resumed run writes none twice
    data: str = ""  # fingerprint of the training pairs; another one cannot be resumed
    threads: int = 0  # bit-exactness depends on the two
    processes: int = 1


class Trainer:
    """Trains ``model`` in the run folder ``run``; see the module."""

    def __init__(
        self,
        model: nn.Module,
        objective: Objective,
        data: TrainingData,
        config: TrainingConfig,
        run: Path,
        reporter: ProgressLines,
    ) -> None:
        """
        Raises DataError: there are no training pairs.
        """
        if not data.pairs:
            raise DataError("no training pairs: the training data hold no summaries")
        self.model, self.objective, self.data, self.config = model, objective, data, config
        self.run, self.reporter = run, reporter
        self.device = next(model.parameters()).device
        self.parameters = {n: p for n, p in model.named_parameters() if p.requires_grad}
        self.bf16 = uses_bf16(config.precision, self.device)
        self.optimizer = config.optimizer.build(model)
        self.processes = Processes()
        self.memory = KeptMemory()
        fresh = Progress(
            data=data.fingerprint(), threads=torch.get_num_threads(), processes=self.processes.count
        )
        self.progress = self._resumed(fresh)
        planned = config.epochs * self._updates(self._plan(0))
        self.total_steps = min(planned, config.max_steps or planned)

    def fit(self, validate: Callable[[int], Validation]) -> None:
        """Train to the end; then the model has the weights to keep, as ``config.final`` says.

        ``validate`` is called with the number of epochs done, the model in evaluation mode, by the
        first process alone.

        Raises Interrupted: on SIGINT or SIGTERM, after saving; DialogistError: the loss is no
        longer a finite number.
        """
        config = self.config
        with watched_signals() as received:
            while not self.progress.stopped and self.progress.step < self.total_steps:
                progress = self.progress
                plan = self._plan(progress.epoch)
                updates = self._updates(plan)
                self.model.train()
                for number in range(progress.batch, updates):
                    start = number * config.accumulate
                    self._update(plan[start : start + config.accumulate], updates)
                    self.memory.watch()
                    stop = max(self.processes.gathered(received[0] or 0))
                    if stop or progress.step % config.checkpoint_every == 0:
                        self._save()
                    if stop:
                        raise Interrupted(stop)
                    if progress.step == self.total_steps:
                        break
                self._end_epoch(validate)
        self._keep_final()

    def _updates(self, plan: Sequence[Indices]) -> int:
        return -(-len(plan) // self.config.accumulate)

    def _plan(self, epoch: int) -> list[Indices]:
        """The batches of an epoch."""
        return self.config.sampler.plan(self.data.lengths, self.config.seed, epoch)

    def _update(self, group: Sequence[Indices], updates: int) -> None:
        """One optimizer update from the batches of ``group``."""
        progress, config = self.progress, self.config
        tokens = sum(self.data.target_tokens(indices) for indices in group)
        count = tokens if self.objective.per == "token" else sum(map(len, group))
        sums: dict[str, float] = {}
        self.optimizer.zero_grad(set_to_none=True)
        for number, indices in enumerate(map(self.processes.share, group)):
            if not len(indices):  # a batch smaller than the number of processes
                continue
            seed_batch(config.seed, progress.step, number, self.processes.rank)
            batch = self.data.batch(indices).to(self.device)
            with torch.autocast(self.device.type, torch.bfloat16, enabled=self.bf16):
                loss = self.objective(self.model, batch, self.data.symbols)
            (loss.value / count).backward()  # type: ignore[no-untyped-call]
            add_up(sums, {"loss": float(loss.value.detach()), **loss.terms})
        self.processes.add_up_gradients(self.parameters.values())
        gathered = self.processes.gathered(sums)
        sums = {}
        for part in gathered:
            add_up(sums, part)
        gradients = [p.grad for p in self.parameters.values() if p.grad is not None]
        total = nn.utils.get_total_norm(gradients)
        if config.clip_norm is not None:
            nn.utils.clip_grads_with_norm_(self.parameters.values(), config.clip_norm, total)
        norm = float(total)
        for what, value in (("loss", sums["loss"]), ("gradient", norm)):
            if not math.isfinite(value):
                raise DialogistError(
                    f"training: the {what} became {value} at update {progress.step + 1}; the last "
                    "checkpoint is kept; lower the learning rate or set clip_norm"
                )
        rate = config.schedule.rate(progress.step + 1, self.total_steps)
        for parameters in self.optimizer.param_groups:
            parameters["lr"] = rate * parameters["share"]
        self.optimizer.step()
        progress.step += 1
        progress.batch += 1
        for totals in (progress.sums, progress.window):
            add_up(totals, {**sums, "count": float(count)})
        if progress.step % config.log_every == 0:
            record = {"kind": "train", "step": progress.step, "epoch": progress.epoch}
            self._log({**record, **means(progress.window), "learning_rate": rate})
            progress.window = {}
        self.reporter.update(progress, updates, self.total_steps, sums["loss"] / count, tokens)

    def _end_epoch(self, validate: Callable[[int], Validation]) -> None:
        """Validate, log, rank, save."""
        progress, config = self.progress, self.config
        trained = {f"train_{name}": value for name, value in means(progress.sums).items()}
        progress.epoch += 1
        progress.batch, progress.sums = 0, {}
        if self.processes.first:
            self.model.eval()
            validation = validate(progress.epoch)
            record = {"kind": "epoch", "step": progress.step, "epoch": progress.epoch}
            self._log({**record, **trained, **validation.metrics})
            shown = {**trained, **validation.metrics}.items()
            figures = ", ".join(f"{name} {value:.3f}" for name, value in shown)
            self.reporter.note(f"epoch {progress.epoch}: {figures}")
            for sample in validation.samples:
                self._log({"kind": "sample", "epoch": progress.epoch, **sample})
            self._rank(validation.metrics)
            if config.final == "average":
                write_tensors(self._epoch_file(progress.epoch), self.parameters)
                self._epoch_file(progress.epoch - config.keep_last).unlink(missing_ok=True)
        self.progress = Progress(**self.processes.gathered(asdict(progress))[0])
        self._save()

    def _rank(self, metrics: Mapping[str, float]) -> None:
        """Keep the best weights, and decide about stopping.

        A validation without the metric (ROUGE is measured at intervals) ranks nothing.
        """
        progress, name = self.progress, self.config.select_by
        if name not in metrics:
            return
        score = -metrics[name] if name.endswith("loss") else metrics[name]
        if progress.best is None or score > progress.best:
            progress.best, progress.stale = score, 0
            if self.config.final == "best":
                write_tensors(self.run / BEST, self.parameters)
            return
        progress.stale += 1
        if self.config.patience is not None and progress.stale >= self.config.patience:
            progress.stopped = True
            self.reporter.note(f"stopping early: {name} has not improved {progress.stale} times")

    def _epoch_file(self, epoch: int) -> Path:
        return self.run / f"epoch-{epoch:04d}.safetensors"

    def _keep_final(self) -> None:
        """Give the model the weights to keep."""
        epochs = range(self.progress.epoch, 0, -1)[: self.config.keep_last]
        files = {"best": [self.run / BEST], "average": [*map(self._epoch_file, epochs)]}
        held = [load_file(path) for path in files.get(self.config.final, []) if path.exists()]
        with torch.no_grad():
            for name, parameter in self.parameters.items() if held else ():
                weights = torch.stack([tensors[name].double() for tensors in held])
                parameter.copy_(weights.mean(dim=0))

    def _log(self, record: Mapping[str, Any]) -> None:
        """One line; nothing that differs between two runs of the same seed (no clock)."""
        if not self.processes.first:
            return
        self.progress.lines += 1
        with (self.run / LOG).open("a", encoding="utf-8") as file:
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
        self.reporter.record(record)

    def _save(self) -> None:
        """Write the checkpoint: at any moment the old or the new one is whole."""
        if not self.processes.first:
            return
        tensors = {f"weights.{name}": p.detach() for name, p in self.parameters.items()}
        for name, parameter in self.parameters.items():
            moments = self.optimizer.state[parameter].items()
            tensors |= {f"optimizer.{key}.{name}": value for key, value in moments}
        state = {"progress": json.dumps(asdict(self.progress))}
        write_tensors(self.run / CHECKPOINT, tensors, state)

    def _resumed(self, fresh: Progress) -> Progress:
        """From the checkpoint, if there is one.

        Raises CheckpointError: it is damaged, or of another run.
        """
        path = self.run / CHECKPOINT
        log = self.run / LOG
        if not path.exists():
            if self.processes.first:
                log.write_text("", encoding="utf-8")
            return fresh
        try:
            with safe_open(path, "pt") as file:
                progress = Progress(**json.loads(file.metadata()["progress"]))
            tensors = load_file(path, device=str(self.device))
        except (SafetensorError, OSError, ValueError, KeyError, TypeError) as error:
            raise CheckpointError(f"{path}: is damaged, or of another release: {error}") from None
        if progress.data != fresh.data:
            raise CheckpointError(f"{path}: belongs to other training data")
        for what in ("threads", "processes"):
            before, now = getattr(progress, what), getattr(fresh, what)
            if before != now:
                self.reporter.note(
                    f"this run used {before} {what}, now {now}: it goes on, but its bits will "
                    "differ from an uninterrupted run's"
                )
                setattr(progress, what, now)
        try:
            with torch.no_grad():
                for name, parameter in self.parameters.items():
                    parameter.copy_(tensors.pop(f"weights.{name}"))
            for key, tensor in tensors.items():
                _, moment, name = key.split(".", 2)
                self.optimizer.state[self.parameters[name]][moment] = tensor
        except (KeyError, RuntimeError) as error:
            raise CheckpointError(f"{path}: is of another model: {error}") from None
        if self.processes.first:
            # Not `splitlines`: a text may hold U+2028, which JSON leaves as it is.
            lines = log.read_bytes().split(b"\n")[: progress.lines]
            with replacing(log) as temporary:
                temporary.write_bytes(b"".join(line + b"\n" for line in lines))
        self.reporter.note(f"resumed at update {progress.step}")
        return progress


def seed_batch(seed: int, step: int, batch: int, rank: int) -> None:
    """Seed torch's generators for one batch of an update, in one process.

    So all that is drawn (dropout) is a function of these four: it needs no place in a checkpoint.
    """
    text = f"dialogist batch {seed} {step} {batch} {rank}"
    torch.manual_seed(int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]))


def add_up(sums: dict[str, float], more: Mapping[str, float]) -> None:
    """Add ``more`` to ``sums``, name by name."""
    for name, value in more.items():
        sums[name] = sums.get(name, 0.0) + value


def means(sums: Mapping[str, float]) -> dict[str, float]:
    """Sums over ``count`` things as means."""
    return {name: value / sums["count"] for name, value in sums.items() if name != "count"}


def write_tensors(
    path: Path, tensors: Mapping[str, Tensor], metadata: dict[str, str] | None = None
) -> None:
    """A safetensors file, complete or absent."""
    whole = {name: tensor.detach().contiguous() for name, tensor in tensors.items()}
    with replacing(path) as temporary:
        save_file(whole, temporary, metadata)


@contextmanager
def watched_signals() -> Iterator[list[int | None]]:
    """Remember the first SIGINT or SIGTERM instead of dying of it; a second one is let through."""
    received: list[int | None] = [None]
    previous = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def remember(number: int, _: FrameType | None) -> None:
        received[0] = number
        signal.signal(number, previous[signal.Signals(number)])

    for number in previous:
        signal.signal(number, remember)
    try:
        yield received
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


class KeptMemory:
    """Keeps freed memory of this process from its creation on; `watch` bounds it.

    By default glibc maps and unmaps every large tensor, and the kernel clears its pages anew each
    time; keeping them trains the report-1 network 1.7 times as fast. But batches of ever new shapes
    leave holes that fit nothing else, so everything free is given back when the process has grown
    by more than `MOST`. Without glibc nothing happens.
    """

    MOST = 1400 << 20

    def __init__(self) -> None:
        self._rest: int | None = None  # the size when everything free had just been given back
        self._library = ctypes.CDLL(None) if sys.platform.startswith("linux") else None
        if self._library is None or not hasattr(self._library, "malloc_trim"):
            self._library = None
        else:  # M_MMAP_MAX, M_TRIM_THRESHOLD and M_TOP_PAD of malloc.h
            for parameter, value in ((-4, 0), (-1, (1 << 31) - 1), (-2, 64 << 20)):
                self._library.mallopt(parameter, value)

    def watch(self) -> None:
        """Call after every update."""
        if self._library is None:
            return
        if self._rest is None or _resident_bytes() > self._rest + self.MOST:
            self._library.malloc_trim(0)
            self._rest = _resident_bytes()


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


_T = TypeVar("_T")


@contextmanager
def process_group(device: torch.device) -> Iterator["Processes"]:
    """Meet the other processes if `torchrun` started this one, and part at the end."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield Processes()
        return
    backend = "nccl" if device.type == "cuda" else "gloo"
    # The others wait while the first one validates; torchrun ends them if it dies.
    dist.init_process_group(backend, timeout=timedelta(hours=24))
    try:
        yield Processes()
    finally:
        dist.destroy_process_group()


class Processes:
    """This process's number among ``count``; the operations do nothing for a single one.

    Gradients are summed, not averaged: the mean of processes would not be the mean over tokens.
    """

    def __init__(self) -> None:
        joined = dist.is_available() and dist.is_initialized()
        self.rank, self.count = (dist.get_rank(), dist.get_world_size()) if joined else (0, 1)

    @property
    def first(self) -> bool:
        """Whether this process is the one that writes and shows."""
        return self.rank == 0

    def share(self, indices: Indices) -> Indices:
        """This process's part of a batch: every ``count``-th, so lengths are spread evenly."""
        return indices[self.rank :: self.count]

    def add_up_gradients(self, parameters: Any) -> None:
        """Sum the gradients of all processes, in place."""
        for p in parameters if self.count > 1 else ():
            p.grad = torch.zeros_like(p) if p.grad is None else p.grad
            dist.all_reduce(p.grad)

    def gathered(self, value: _T) -> list[_T]:
        """What each process has, in the order of their numbers."""
        every = [value] * self.count
        if self.count > 1:
            dist.all_gather_object(every, value)
        return every
