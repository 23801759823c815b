"""The training process: signals that interrupt it, the memory it holds, kernels it avoids."""

import os
import signal
import threading
from pathlib import Path
from types import FrameType

import torch

from dialogist.errors import Stopped
from dialogist.heap import glibc

# SIGINT and SIGTERM during training: finish the update, save, leave; a second one leaves now.

_WATCHED = (signal.SIGINT, signal.SIGTERM)


class Interrupted(Stopped):
    """Training stopped on a signal after saving a checkpoint.

    ``exit_code`` is 128 + the signal's number: 130 for SIGINT, 143 for SIGTERM.
    """

    def __init__(self, number: int) -> None:
        super().__init__(f"stopped by {signal.Signals(number).name}")
        self.exit_code = 128 + number


class SignalWatch:
    """Remembers the first SIGINT or SIGTERM while active, and lets the second one through.

    Python runs handlers in the main thread only. While that is inside a library which calls us
    back in a thread of its own (the tokenizer trainer), `check` learns of a signal from the
    descriptor to which Python writes its number at once.
    """

    def __init__(self, second_leaves: bool = True) -> None:
        """``second_leaves`` False: torchrun repeats a signal that came to all its processes."""
        self._second_leaves = second_leaves
        self.received: int | None = None
        self._previous: dict[int, signal.Handlers | object] = {}
        self._wakeup: tuple[int, int, int] | None = None  # ours to read, ours to write, the former

    def __enter__(self) -> "SignalWatch":
        if threading.current_thread() is not threading.main_thread():
            return self  # Python lets only the main thread set handlers
        for number in _WATCHED:
            self._previous[number] = signal.getsignal(number)
            signal.signal(number, self._remember)
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        os.set_blocking(writing, False)
        former = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        self._wakeup = reading, writing, former
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)  # type: ignore[arg-type]
        if self._wakeup is not None:
            reading, writing, former = self._wakeup
            self._wakeup = None
            signal.set_wakeup_fd(former)
            os.close(reading)
            os.close(writing)

    def _remember(self, number: int, _: FrameType | None) -> None:
        self.received = number
        if self._second_leaves:
            signal.signal(number, signal.SIG_DFL)

    def check(self) -> None:
        """Raise `Interrupted` if a signal came; any thread may ask."""
        if self.received is None:
            self.received = self._announced()
        if self.received is not None:
            raise Interrupted(self.received)

    def _announced(self) -> int | None:
        """A signal of ours whose handler has not run yet."""
        if self._wakeup is None:
            return None
        try:
            numbers = os.read(self._wakeup[0], 64)
        except BlockingIOError:
            return None
        return next((number for number in numbers if number in _WATCHED), None)


# How a training process holds its memory: freed blocks are kept, but not without bound.
#
# By default glibc maps and unmaps every large tensor, and the kernel clears its pages anew each
# time; keeping them trains the report-1 network 1.7 times as fast
# (docs/notes/2026-11-24-training-speed.md). But batches of ever new shapes leave holes that fit
# nothing else, and the process grows for hours. So its size is watched, and everything free is
# given back when it has grown too far.

_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_MAX = -1, -2, -4
_STATM = Path("/proc/self/statm")
_KERNELS = "ONEDNN_PRIMITIVE_CACHE_CAPACITY"
"""oneDNN keeps 1,024 kernels with their working memory unless told otherwise: 0.2 GB after 40
updates of the 32 M network, and growing. Making one takes 1 to 15 ms, so too few cost as well."""
KEPT_BYTES = 1400 << 20
"""Bytes that may be kept beyond what a process holds at rest.

An update that finds no hole that fits takes all it needs anew, on top of what is kept: so a process
reaches at most its size at rest, this, and what an update needs. The networks of the benchmarks
need less than this, and keep it all.
"""


class KeptMemory:
    """Keeps freed memory from its creation on; `watch` bounds it. Does nothing without glibc."""

    def __init__(self) -> None:
        self.trims = 0
        self._rest: int | None = None  # the size when everything free had just been given back
        self._trim = None
        os.environ.setdefault(_KERNELS, "384")  # read when the first kernel is made
        library = glibc()
        if library is None:
            return
        library.mallopt(_M_MMAP_MAX, 0)
        library.mallopt(_M_TRIM_THRESHOLD, (1 << 31) - 1)
        library.mallopt(_M_TOP_PAD, 64 << 20)
        self._trim = library.malloc_trim

    def watch(self) -> None:
        """Call after every update: gives free memory back if more than `KEPT_BYTES` is kept."""
        if self._trim is None:
            return
        if self._rest is None or resident_bytes() > self._rest + KEPT_BYTES:
            self._trim(0)
            self.trims += 1
            self._rest = resident_bytes()


def resident_bytes() -> int:
    """The process's resident memory in bytes (Linux)."""
    return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def avoid_fused_attention(device: torch.device, working: torch.dtype) -> None:
    """Have a GPU compute attention step by step where it trains in bf16.

    On an H100 (torch 2.11) three of eight trainings with the fused kernels ended in a NaN gradient,
    after 47 to 1,300 updates. Of seven without them none did, in 13,500 updates.
    """
    if device.type == "cuda" and working == torch.bfloat16:
        torch.backends.cuda.enable_flash_sdp(False)
        torch.backends.cuda.enable_mem_efficient_sdp(False)
        torch.backends.cuda.enable_cudnn_sdp(False)
