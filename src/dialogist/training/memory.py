"""How a training process holds its memory: freed blocks are kept, but not without bound.

By default glibc maps and unmaps every large tensor, and the kernel clears its pages anew each
time; keeping them trains the report-1 network 1.7 times as fast (docs/results.md). But batches of
ever new shapes leave holes that fit nothing else, and the process grows for hours. So its size is
watched, and everything free is given back when it has grown too far.
"""

import os
from pathlib import Path

from dialogist.heap import glibc

_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_MAX = -1, -2, -4
_STATM = Path("/proc/self/statm")
_KERNELS = "ONEDNN_PRIMITIVE_CACHE_CAPACITY"
"""oneDNN keeps 1,024 kernels with their working memory unless told otherwise: 0.2 GB after 40
updates of the 32 M network, and growing. Making one takes 1 to 15 ms, so too few cost as well."""
KEPT = 1400 << 20
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
        """Call after every update: gives free memory back if more than `KEPT` is kept."""
        if self._trim is None:
            return
        if self._rest is None or resident_bytes() > self._rest + KEPT:
            self._trim(0)
            self.trims += 1
            self._rest = resident_bytes()


def resident_bytes() -> int:
    """The process's resident memory in bytes (Linux)."""
    return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
