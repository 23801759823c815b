"""How glibc is asked for memory and gives it back; with another C library nothing happens."""

import ctypes
import sys

_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
LARGE = 2 << 20
"""Bytes of a block that is given back as soon as it is free.

glibc itself raises that bound to the largest block that was ever freed, 32 MB at most; what a
search needs next then fits into no hole that the last one left, and the process grows. With half
as much, searches took a quarter more time
(docs/notes/2026-11-24-summary-speed.md).
"""

KEPT = 32 << 20
"""Bytes of free room at the heap's end that stay with the process.

glibc keeps 128 kB once the other bound was set: a step of search would fault its pages in anew,
15,000 of them for a dialogue (docs/notes/2026-11-24-summary-speed.md).
"""


def glibc() -> ctypes.CDLL | None:
    """The C library, if it is glibc."""
    if not sys.platform.startswith("linux"):
        return None
    library = ctypes.CDLL(None)
    known = hasattr(library, "mallopt") and hasattr(library, "malloc_trim")
    return library if known else None


def give_back_large() -> None:
    """From now on blocks of `LARGE` bytes and more are given back when they are freed."""
    if library := glibc():
        library.mallopt(_M_MMAP_THRESHOLD, LARGE)
        library.mallopt(_M_TRIM_THRESHOLD, KEPT)
