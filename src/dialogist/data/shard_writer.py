"""`ShardWriter`: encoded dialogues to shards on disk, in memory bounded by one dialogue.

A shard's files are written under temporary names, synced and renamed; then the manifest that
names the shard replaces the one before. Whoever dies in between leaves the earlier shards whole,
and going on after them gives the very same files.
"""

import hashlib
import struct
from collections.abc import Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path

import numpy as np

from dialogist.data.collate import EncodedPair, encoded_pairs
from dialogist.data.encode import Cuts, Encoded
from dialogist.data.shards import (
    INDEX_COLUMNS,
    SHARD_FILES,
    TOKEN_TYPES,
    FileEntry,
    Manifest,
    PairSum,
    SetCounts,
    ShardEntry,
    shard_file,
)
from dialogist.errors import DataError
from dialogist.files import sync, temporary_for

MOST_SHARD_TOKENS = 1 << 30  # the index counts places in four bytes

_ROW = struct.Struct(f"<{INDEX_COLUMNS}I")


class ShardWriter:
    """Writes to the folder of ``manifest``, after the shards it has already.

    A shard is closed by the dialogue with which it has ``shard_tokens`` tokens or more. Leaving
    the ``with`` block before `finish` throws the shard away that was not closed.
    """

    def __init__(self, folder: Path, manifest: Manifest, shard_tokens: int) -> None:
        self.folder = folder
        self.manifest = manifest
        self.shard_tokens = shard_tokens
        self._shard: _OpenShard | None = None

    def __enter__(self) -> "ShardWriter":
        return self

    def __exit__(self, *_: object) -> None:
        if self._shard is not None:
            self._shard.discard()

    def add(
        self, encoded: Encoded, pairs: Sequence[EncodedPair] | None = None, data_set: int = 0
    ) -> None:
        """Write one dialogue of the data set of that number; without pairs it is only counted.

        ``pairs``: None stands for those of its references.
        """
        if self._shard is None:
            self._shard = _OpenShard(self.folder, self.manifest)
        self._shard.add(encoded, encoded_pairs(encoded) if pairs is None else pairs, data_set)
        if self._shard.token_count >= self.shard_tokens:
            self._commit(self._shard)

    def finish(self, sets: list[SetCounts], sample: FileEntry | None) -> Manifest:
        """Close the last shard and declare the folder complete; its manifest.

        Raises:
            DataError: there is not a single pair.
        """
        if self._shard is not None:
            self._commit(self._shard)
        totals = self.manifest.summed()
        if not totals.pairs:
            raise DataError("no training pairs: the training data hold no summaries")
        end = {"complete": True, "sets": sets, "sample": sample, "totals": totals}
        self._replace_manifest(end)
        return self.manifest

    def _commit(self, shard: "_OpenShard") -> None:
        entry = shard.close()
        sync(self.folder)
        self._replace_manifest({"shards": [*self.manifest.shards, entry]})
        self._shard = None

    def _replace_manifest(self, changes: dict[str, object]) -> None:
        self.manifest = self.manifest.model_copy(update=changes)
        self.manifest.save(self.folder)
        sync(self.folder)


class _OpenShard:
    """The shard being written."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        number = len(manifest.shards)
        before = sum(shard.pairs for shard in manifest.shards)
        self.files = {k: _HashedFile(shard_file(folder, number, k)) for k in SHARD_FILES}
        self.token_count = 0
        self._dtype = np.dtype(TOKEN_TYPES[manifest.token_type])
        self._cuts = Cuts()
        self._first = before
        self._sum = PairSum(before)
        self._by_set: list[int] = []

    def add(self, encoded: Encoded, pairs: Sequence[EncodedPair], data_set: int) -> None:
        self._cuts.add(encoded.coverage)
        self._by_set += [0] * (data_set + 1 - len(self._by_set))
        self._by_set[data_set] += len(pairs)
        names: dict[str, tuple[int, int]] = {}
        places: dict[tuple[int, ...], int] = {}  # a dialogue's pairs share sequences
        for pair in pairs:
            row = names[pair.id] = names.get(pair.id) or self._name(pair.id)
            found = [self._place(sequence, places) for sequence in pair.sequences]
            lengths = map(len, pair.sequences)
            self.files["index"].write(_ROW.pack(*row, *chain(*zip(found, lengths, strict=True))))
            self._sum.add(pair.sequences)

    def _name(self, text: str) -> tuple[int, int]:
        """Where an id starts in the file, writing it, and its length."""
        name, start = text.encode("utf-8"), self.files["ids"].size
        self.files["ids"].write(name + b"\n")  # the line's end is for people
        return start, len(name)

    def _place(self, numbers: tuple[int, ...], places: dict[tuple[int, ...], int]) -> int:
        """Where a sequence starts in the file, writing it if it is not there yet."""
        if numbers not in places:
            places[numbers] = self.token_count
            self.files["tokens"].write(np.array(numbers, dtype=self._dtype).tobytes())
            self.token_count += len(numbers)
        return places[numbers]

    def close(self) -> ShardEntry:
        return ShardEntry(
            dialogues=self._cuts.dialogues,
            pairs=self._sum.count - self._first,
            tokens=self.token_count,
            pair_sum=f"{self._sum.value:064x}",
            by_set=self._by_set,
            cuts=self._cuts,
            files={kind: file.close() for kind, file in self.files.items()},
        )

    def discard(self) -> None:
        for file in self.files.values():
            file.discard()


class _HashedFile:
    """A file under a temporary name, hashed while it is written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = 0
        self._file = temporary_for(path).open("wb", buffering=1 << 20)
        self._digest = hashlib.sha256()

    def write(self, content: bytes) -> None:
        self._file.write(content)
        self._digest.update(content)
        self.size += len(content)

    def close(self) -> FileEntry:
        """Have it on disk under its own name."""
        self._file.close()
        sync(temporary_for(self.path))
        temporary_for(self.path).replace(self.path)
        return FileEntry(bytes=self.size, sha256=self._digest.hexdigest())

    def discard(self) -> None:
        """Leave nothing."""
        with suppress(OSError):  # a full disk is why we are here: it would say so again
            self._file.close()
        temporary_for(self.path).unlink(missing_ok=True)
