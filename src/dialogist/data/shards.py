"""Encoded training pairs on disk, whatever their number: the manifest of a folder, its shards."""

import hashlib
import json
import struct
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any, Final, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from dialogist.config import Config
from dialogist.data.collate import EncodedPair, LazySequence, Lengths
from dialogist.data.encode import Cuts
from dialogist.errors import ConfigError, DataError
from dialogist.files import sha256_of, write_text_atomically

# A digest of training pairs in their order, whether they lie in memory or in many shards.
#
# Each pair is hashed together with its position; the hashes are added up modulo 2**256. So parts
# that were made one after the other, by processes that may have died, are put together by adding.
# (No seal against a forger, who could make other pairs of the same sum: it tells data apart.)


_MODULUS = 1 << 256


class PairSum:
    """The sum over pairs that follow each other, the first at position ``count`` of all."""

    def __init__(self, count: int = 0) -> None:
        self.count = count
        self.value = 0

    def add(self, sequences: Sequence[ArrayLike]) -> None:
        """Take in the next pair: its sequences (`EncodedPair.sequences`) of numbers below 2**32."""
        arrays = [np.asarray(sequence, dtype="<u4") for sequence in sequences]
        sizes = (self.count, *(array.size for array in arrays))
        digest = hashlib.sha256(struct.pack(f"<{len(sizes)}Q", *sizes))
        for array in arrays:
            digest.update(array.tobytes())
        self.value = (self.value + int.from_bytes(digest.digest(), "little")) % _MODULUS
        self.count += 1


def combined_digest(count: int, sums: Iterable[int]) -> str:
    """The fingerprint of ``count`` pairs from the sums over their parts, in hexadecimal."""
    return hashlib.sha256(f"{count} pairs {sum(sums) % _MODULUS:064x}".encode()).hexdigest()


def fingerprint_of(pairs: Iterable[EncodedPair]) -> str:
    """The fingerprint of pairs in memory."""
    total = PairSum()
    for pair in pairs:
        total.add(pair.sequences)
    return combined_digest(total.count, [total.value])


# `Manifest`: what a folder of encoded data holds, what made it, and how to tell damage.
#
# FOLDER/manifest.json          this; the one place where a shard becomes part of the folder
# FOLDER/shard-00000.tokens     ids and places, two or four bytes each
# FOLDER/shard-00000.index      twelve numbers a pair: where its id and its sequences are
# FOLDER/shard-00000.ids        the dialogues' ids
# FOLDER/tokenizer/             what made the ids
# FOLDER/sample.jsonl           a random sample of the dialogues, to watch for overfitting


SHARDS_FORMAT: Final = "dialogist-encoded"
SHARDS_VERSION = 2
MANIFEST = "manifest.json"
SAMPLE = "sample.jsonl"
TOKENIZER = "tokenizer"
SHARD_FILES = ("tokens", "index", "ids")


class FileEntry(Config):
    """A file's size and checksum."""

    bytes: int = Field(ge=0)
    sha256: str

    @classmethod
    def of(cls, path: Path) -> Self:
        """Measure a file.

        Raises:
            DataError: it cannot be read.
        """
        try:
            return cls(bytes=path.stat().st_size, sha256=sha256_of(path))
        except OSError as error:
            raise DataError(f"{path}: cannot be read: {error.strerror}") from None

    def check_size(self, path: Path) -> None:
        """See that the file is there in its length.

        Raises:
            DataError: it is missing, shorter or longer.
        """
        size = path.stat().st_size if path.is_file() else None
        if size != self.bytes:
            what = "is missing" if size is None else f"has {size} bytes, not {self.bytes}"
            raise DataError(f"{path}: {what}: copy the folder again, or encode again")

    def check(self, path: Path) -> None:
        """See that the file is what it was when written, byte for byte.

        Raises:
            DataError: it is missing or damaged.
        """
        self.check_size(path)
        if FileEntry.of(path) != self:
            raise DataError(
                f"{path}: is damaged (its checksum differs): copy the folder again, or encode again"
            )


class ShardEntry(Config):
    """One shard: ``pairs`` of the ``dialogues`` read for it, with ``tokens`` numbers in its file.

    ``by_set``: how many pairs are of each data set, as far as there are any of later ones.
    ``pair_sum`` is its part of the fingerprint (`dialogist.data.shards`), in hexadecimal;
    ``files`` are by the ending of their names.
    """

    dialogues: int = Field(ge=0)
    pairs: int = Field(ge=0)
    tokens: int = Field(ge=0)
    pair_sum: str = Field(pattern="^[0-9a-f]{64}$")
    by_set: list[int] = Field(default_factory=list)
    cuts: Cuts
    files: dict[str, FileEntry]


class SetCounts(Config):
    """One data set as it was read: dialogues taken, bad records and excluded rows left out."""

    path: str
    dialogues: int = 0
    bad: int = 0
    excluded: int = 0


class ShardTotals(Config):
    """The sums over all shards."""

    dialogues: int
    pairs: int
    tokens: int
    cuts: Cuts


class Manifest(Config):
    """What ``manifest.json`` holds.

    ``settings`` are the caller's: whatever made the data, for others to compare. ``sets``,
    ``sample`` and ``totals`` are there once the folder is ``complete``.
    """

    format: Literal["dialogist-encoded"] = SHARDS_FORMAT
    format_version: int = SHARDS_VERSION
    complete: bool = False
    settings: dict[str, Any]
    vocabulary: int = 0
    token_type: Literal["uint16", "uint32"] = "uint16"
    tokenizer: dict[str, FileEntry] = Field(default_factory=dict)
    shards: list[ShardEntry] = Field(default_factory=list)
    sets: list[SetCounts] = Field(default_factory=list)
    sample: FileEntry | None = None
    totals: ShardTotals | None = None

    def pairs_by_set(self, sets: int) -> list[int]:
        """How many pairs each of so many data sets has; of earlier releases it is not known (0)."""
        counts = [0] * sets
        for shard in self.shards:
            for number, count in enumerate(shard.by_set):
                counts[number] += count
        return counts

    def summed(self) -> ShardTotals:
        """The totals of the shards that are there so far."""
        return ShardTotals(
            dialogues=sum(shard.dialogues for shard in self.shards),
            pairs=sum(shard.pairs for shard in self.shards),
            tokens=sum(shard.tokens for shard in self.shards),
            cuts=sum((shard.cuts for shard in self.shards), Cuts()),
        )

    def save(self, folder: Path) -> None:
        """Replace the folder's manifest, all or nothing."""
        text = json.dumps(self.model_dump(mode="json"), ensure_ascii=False, indent=1)
        write_text_atomically(folder / MANIFEST, text + "\n")


def read_manifest(folder: Path) -> Manifest:
    """Read a folder's manifest, complete or not; the files it names are not looked at.

    Raises:
        DataError: there is none, it is damaged, or a later release wrote it.
    """
    path = folder / MANIFEST
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(
            f"{folder}: holds no encoded data; make them with: dialogist data encode"
        ) from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise DataError(f"{path}: is damaged: {error}") from None
    if not isinstance(values, dict) or values.get("format") != SHARDS_FORMAT:
        raise DataError(f"{path}: is no manifest of encoded data")
    if values.get("format_version") != SHARDS_VERSION:
        raise DataError(
            f"{path}: has format version {values.get('format_version')}, this release reads "
            f"{SHARDS_VERSION}: update Dialogist, or encode again"
        )
    try:
        manifest = Manifest.parse(values, str(path))
    except ConfigError as error:
        raise DataError(f"{error} (damaged, or written by another release)") from None
    if manifest.complete and manifest.totals != manifest.summed():
        raise DataError(f"{path}: is damaged: its totals are not the sums of its shards")
    return manifest


def token_type(vocabulary: int, bounded: bool) -> Literal["uint16", "uint32"]:
    """The smallest type that holds every number of a pair.

    That are ids below ``vocabulary`` and places in the source, unless these are not ``bounded``.
    """
    return "uint16" if bounded and vocabulary <= 1 << 16 else "uint32"


def shard_file(folder: Path, number: int, kind: str) -> Path:
    """Where a file of a shard lies; ``kind`` is one of `SHARD_FILES`."""
    return folder / f"shard-{number:05d}.{kind}"


# `ShardedPairs`: training pairs that stay on disk, whatever their number.
#
# Files are mapped into memory, so the system holds what is in use and drops what is not. All
# numbers are little-endian; the index has one row of twelve uint32 a pair: start and length of the
# dialogue's id (bytes of ``ids``), then of each of its `EncodedPair.sequences` (in ``tokens``).


INDEX_COLUMNS = 12
TOKEN_TYPES = {"uint16": "<u2", "uint32": "<u4"}

_OPEN = 128  # shards mapped at once; each takes three file descriptors of the usual 1,024


@dataclass(frozen=True, slots=True)
class _Shard:
    """The mapped files of one shard."""

    tokens: NDArray[Any]
    index: NDArray[np.uint32]
    ids: NDArray[np.uint8]

    def pair(self, row: int) -> EncodedPair:
        (named, name), *places = self.index[row].reshape(-1, 2).tolist()
        sequences = [tuple(self.tokens[i : i + length].tolist()) for i, length in places]
        return EncodedPair.of(sequences, self.ids[named : named + name].tobytes().decode("utf-8"))


class ShardedPairs(LazySequence[EncodedPair]):
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

    def _made(self, place: int) -> EncodedPair:
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
        return combined_digest(len(self), (int(s.pair_sum, 16) for s in self.manifest.shards))

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
