"""`Processes`: training by several processes that `torchrun` starts."""

import importlib
import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

import numpy as np
import numpy.typing as npt
import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.distributed_c10d import PrefixStore, Store
from torch.distributed.rendezvous import rendezvous

from dialogist.errors import ConfigError, DialogistError
from dialogist.records import JSON

_PATIENCE = timedelta(hours=24)
"""How long processes wait for the first one, which validates alone."""

TIMEOUT = "DIALOGIST_PROCESS_TIMEOUT"
"""Environment variable: seconds that one process waits for the others in an update (default 600).
If a process dies, `torchrun` ends the others of its machine at once; a machine that was cut off
says nothing, and only this limit finds it out."""


@dataclass
class _Group:
    """The process group of a run, whose operations have the limit of `TIMEOUT`."""

    store: Store
    limit: timedelta
    meetings: int = 0

    def await_first(self, first: bool) -> None:
        """Wait until the first process is here, however long it works alone."""
        self.meetings += 1
        key = f"meeting-{self.meetings}"
        if first:
            self.store.set(key, "")
            return
        until = time.monotonic() + _PATIENCE.total_seconds()
        while True:
            try:
                self.store.wait([key], self.limit)
                return
            except dist.DistStoreError:  # not yet
                if time.monotonic() > until:
                    raise


_joined: _Group | None = None


class Processes:
    """This process's number among ``count``; the operations do nothing for a single one."""

    def __init__(self, rank: int = 0, count: int = 1) -> None:
        self.rank, self.count = rank, count

    @classmethod
    def joined(cls) -> "Processes":
        """As the group that `join` entered, or alone."""
        if dist.is_available() and dist.is_initialized():
            return cls(dist.get_rank(), dist.get_world_size())
        return cls()

    @property
    def first(self) -> bool:
        """Whether this process is the one that reads, writes and shows."""
        return self.rank == 0

    def share(self, indices: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """This process's part of a batch: every ``count``-th, so lengths are spread evenly."""
        return indices[self.rank :: self.count]

    def all_reduce_sum_(self, tensor: Tensor) -> None:
        """Sum over the processes, in place."""
        if self.count > 1:
            with _with_others():
                dist.all_reduce(tensor)

    def all_reduce_named(self, sums: Mapping[str, float], device: torch.device) -> dict[str, float]:
        """Sum numbers of the same names over the processes."""
        if self.count == 1:
            return dict(sums)
        names = sorted(sums)
        values = torch.tensor([sums[n] for n in names], dtype=torch.float64, device=device)
        self.all_reduce_sum_(values)
        return dict(zip(names, values.tolist(), strict=True))

    def all_reduce_max(self, number: int | None, device: torch.device) -> int | None:
        """The largest number that any process has; None is none."""
        if self.count == 1:
            return number
        value = torch.tensor([number or 0], device=device)
        with _with_others():
            dist.all_reduce(value, dist.ReduceOp.MAX)
        return int(value) or None

    def broadcast_object(self, value: JSON) -> JSON:
        """The first process's ``value``, in every process."""
        if self.count == 1:
            return value
        box = [json.dumps(value)]
        with _with_others():
            self._await_first()
            dist.broadcast_object_list(box)
        told: JSON = json.loads(box[0])
        return told

    def broadcast_tensors(
        self, tensors: Mapping[str, Tensor], device: torch.device
    ) -> dict[str, Tensor]:
        """The first process's tensors, in every process, on ``device``."""
        if self.count == 1:
            return dict(tensors)
        box = [{name: (value.shape, value.dtype) for name, value in tensors.items()}]
        with _with_others():
            dist.broadcast_object_list(box)
        told = {}
        for name, (shape, dtype) in box[0].items():
            there = torch.empty(shape, dtype=dtype, device=device)
            told[name] = tensors[name].to(device) if self.first else there
            self.broadcast_(told[name])
        return told

    def broadcast_(self, tensor: Tensor) -> None:
        """Overwrite ``tensor`` with the first process's."""
        if self.count > 1:
            with _with_others():
                dist.broadcast(tensor, 0)

    def barrier(self) -> None:
        """Until all are here."""
        if self.count > 1:
            with _with_others():
                self._await_first()
                dist.barrier()

    def _await_first(self) -> None:
        if _joined is not None:
            _joined.await_first(self.first)


@contextmanager
def _with_others() -> Iterator[None]:
    """Say plainly that another process is gone, whatever the backend calls it."""
    try:
        yield
    except RuntimeError as error:
        reason = str(error).splitlines()[0]
        raise DialogistError(
            "training: another process of this run is gone; torchrun --max-restarts goes on from "
            f"the last checkpoint ({reason})"
        ) from None


@contextmanager
def process_group(device: torch.device) -> Iterator[Processes]:
    """Meet the other processes if `torchrun` started this one, and part at the end.

    Raises:
        ConfigError: `TIMEOUT` is set to what is no number of seconds.
    """
    global _joined
    if not launched_by_torchrun():
        yield Processes()
        return
    limit = _limit()
    # Functions of that module take the group there is at its import as their default, and so hold
    # it with its threads for ever; one that outlives Python aborts the process (pytorch #190489).
    # The optimizers import it: here there is no group yet.
    importlib.import_module("torch.distributed.nn.functional")
    # torchrun keeps one store for all attempts (pytorch #135712): without a name of its own, a
    # restarted process would look for the dead ones' addresses.
    store, rank, count = next(rendezvous("env://", timeout=_PATIENCE))
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    store = PrefixStore(f"attempt-{attempt}", store)
    backend = "nccl" if device.type == "cuda" else "gloo"
    dist.init_process_group(backend, store=store, rank=rank, world_size=count, timeout=limit)
    _joined = _Group(PrefixStore("meetings", store), limit)
    try:
        yield Processes.joined()
    finally:
        _joined = None
        dist.destroy_process_group()


def _limit() -> timedelta:
    text = os.environ.get(TIMEOUT, "600")
    try:
        return timedelta(seconds=max(1.0, float(text)))
    except (ValueError, OverflowError):
        raise ConfigError(f"{TIMEOUT}={text}: give a number of seconds") from None


def launched_by_torchrun() -> bool:
    """Whether the environment says so, and there are several processes."""
    return "RANK" in os.environ and int(os.environ.get("WORLD_SIZE", "1")) > 1


def device_of_process(device: torch.device) -> torch.device:
    """The GPU of this process among those of its machine; any other device stays what it is."""
    if device.type != "cuda" or not launched_by_torchrun():
        return device
    own = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(own)
    return own


def restarted() -> bool:
    """Whether `torchrun` started this process again after one had died."""
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")) > 0
