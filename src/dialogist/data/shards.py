"""`ShardedPairs`: training pairs that stay on disk, whatever their number.

Files are mapped into memory, so the system holds what is in use and drops what is not. All
numbers are little-endian; the index has one row of twelve uint32 a pair: start and length of the
dialogue's id (bytes of ``ids``), then of each of its `Pair.sequences` (places in ``tokens``).
"""

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dialogist.data.collate import Lengths, Pair
from dialogist.data.fingerprint import combined
from dialogist.data.manifest import (
    SAMPLE,
    SHARD_FILES,
    TOKENIZER,
    FileEntry,
    read_manifest,
    shard_file,
)
from dialogist.data.pairs import MadePairs
from dialogist.errors import DataError

INDEX_COLUMNS = 12
TOKEN_TYPES = {"uint16": "<u2", "uint32": "<u4"}

_OPEN = 128  # shards mapped at once; each takes three file descriptors of the usual 1,024


@dataclass(frozen=True, slots=True)
class _Shard:
    """The mapped files of one shard."""

    tokens: NDArray[Any]
    index: NDArray[np.uint32]
    ids: NDArray[np.uint8]

    def pair(self, row: int) -> Pair:
        (named, name), *places = self.index[row].reshape(-1, 2).tolist()
        sequences = [tuple(self.tokens[i : i + length].tolist()) for i, length in places]
        return Pair.of(sequences, self.ids[named : named + name].tobytes().decode("utf-8"))


class ShardedPairs(MadePairs):
    """The pairs of a complete folder of encoded data, in the order in which they were written."""

    def __init__(self, folder: Path) -> None:
        """Read the manifest and see that every file is there in its length.

        Raises:
            DataError: no encoded data, not complete, or a file is missing or cut short.
        """
        self.folder = folder
        self.manifest = read_manifest(folder)
        if not self.manifest.complete:
            raise DataError(
                f"{folder}: the encoding was interrupted: run the same dialogist data encode again"
            )
        for path, entry in self._files():
            entry.check_size(path)
        self._ends = list(accumulate(shard.pairs for shard in self.manifest.shards))
        self._opened: dict[int, _Shard] = {}

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def _made(self, place: int) -> Pair:
        number = bisect_right(self._ends, place)
        before = self._ends[number - 1] if number else 0
        return self._shard(number).pair(place - before)

    @cached_property
    def lengths(self) -> Lengths:
        """The lengths of all pairs: the one thing of theirs that is held in memory."""
        lengths = np.empty((len(self), 2), dtype=np.int32)
        start = 0
        for number, end in enumerate(self._ends):
            lengths[start:end] = self._shard(number).index[:, (3, 5)]
            start = end
        return lengths

    def fingerprint(self) -> str:
        """The same as `fingerprint_of` says of these pairs in memory; nothing is read for it."""
        return combined(len(self), (int(s.pair_sum, 16) for s in self.manifest.shards))

    def verify(self) -> None:
        """Read every file once and compare its checksum.

        Raises:
            DataError: a file is damaged; names it.
        """
        for path, entry in self._files():
            entry.check(path)

    def _files(self) -> list[tuple[Path, FileEntry]]:
        """All that the manifest names."""
        found = [(self.folder / TOKENIZER / n, e) for n, e in self.manifest.tokenizer.items()]
        if self.manifest.sample is not None:
            found.append((self.folder / SAMPLE, self.manifest.sample))
        for number, shard in enumerate(self.manifest.shards):
            found += [(shard_file(self.folder, number, k), e) for k, e in shard.files.items()]
        return found

    def _shard(self, number: int) -> _Shard:
        if number not in self._opened:
            if len(self._opened) >= _OPEN:
                del self._opened[next(iter(self._opened))]
            self._opened[number] = self._open(number)
        return self._opened[number]

    def _open(self, number: int) -> _Shard:
        entry = self.manifest.shards[number]
        types = (TOKEN_TYPES[self.manifest.token_type], "<u4", "u1")
        paths = [shard_file(self.folder, number, kind) for kind in SHARD_FILES]
        tokens, index, ids = map(_mapped, paths, types)
        if (tokens.size, index.size) != (entry.tokens, entry.pairs * INDEX_COLUMNS):
            raise DataError(f"{self.folder}: shard {number} is not as its manifest says")
        return _Shard(tokens, index.reshape(entry.pairs, INDEX_COLUMNS), ids)


def _mapped(path: Path, dtype: str) -> NDArray[Any]:
    """A file as an array that is read where it is looked at; an empty file cannot be mapped."""
    try:
        if path.stat().st_size == 0:
            return np.empty(0, dtype=dtype)
        return np.memmap(path, dtype=dtype, mode="r").view(np.ndarray)
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read: {error}") from None
