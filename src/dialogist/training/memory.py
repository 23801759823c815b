"""How a training process holds its memory: freed blocks are kept, but not without bound.

By default glibc maps and unmaps every large tensor, and the kernel clears its pages anew each
time; keeping them trains the report-1 network 1.7 times as fast (docs/results.md). But batches of
ever new shapes leave holes that fit nothing else, and the process grows for hours. So its size is
watched, and everything free is given back when it has grown too far.
"""

import ctypes
import os
import sys
from pathlib import Path

_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_MAX = -1, -2, -4
_STATM = Path("/proc/self/statm")
_KERNELS = "ONEDNN_PRIMITIVE_CACHE_CAPACITY"
"""oneDNN keeps 1,024 kernels with their working memory unless told otherwise: 0.2 GB after 40
updates of the 32 M network, and growing. With 128 the report-1 network trains no slower."""
SLACK = 256 << 20
"""Bytes a process may grow beyond the least that it ever needed while it settled."""
SETTLING = 2
"""Updates, at the start and after giving back, whose largest size is taken as what is needed: few,
for holes grow from the first on (1 GB in 35 updates of the 32 M network)."""


class KeptMemory:
    """Keeps freed memory from its creation on; `watch` bounds it. Does nothing without glibc."""

    def __init__(self) -> None:
        self.trims = 0
        self._needed = 0  # since memory was given back
        self._least: int | None = None  # of all that was ever needed
        self._updates = 0
        self._trim = None
        os.environ.setdefault(_KERNELS, "128")  # read when the first kernel is made
        if not sys.platform.startswith("linux"):
            return
        library = ctypes.CDLL(None)
        if not hasattr(library, "mallopt") or not hasattr(library, "malloc_trim"):
            return  # another C library
        library.mallopt(_M_MMAP_MAX, 0)
        library.mallopt(_M_TRIM_THRESHOLD, 1 << 30)
        library.mallopt(_M_TOP_PAD, 64 << 20)
        self._trim = library.malloc_trim

    def watch(self) -> None:
        """Call after every update: gives free memory back if the process has grown too far."""
        if self._trim is None:
            return
        size = resident_bytes()
        self._updates += 1
        if self._updates <= SETTLING:
            self._needed = max(self._needed, size)
        elif size > self._limit():
            self._trim(0)
            self.trims += 1
            self._needed = self._updates = 0

    def _limit(self) -> int:
        """The largest size that is left alone.

        What is needed depends on the batches one happens to settle with, so the least counts: an
        update may find no hole that fits and take all it needs anew, on top of what is kept.
        """
        self._least = min(self._needed, self._least or self._needed)
        return self._least + SLACK


def resident_bytes() -> int:
    """The process's resident memory in bytes (Linux)."""
    return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
