"""`Manifest`: what a folder of encoded data holds, what made it, and how to tell damage.

FOLDER/manifest.json          this; the one place where a shard becomes part of the folder
FOLDER/shard-00000.tokens     ids and places, two or four bytes each
FOLDER/shard-00000.index      twelve numbers a pair: where its id and its sequences are
FOLDER/shard-00000.ids        the dialogues' ids
FOLDER/tokenizer/             what made the ids
FOLDER/sample.jsonl           a random sample of the dialogues, to watch for overfitting
"""

import json
from pathlib import Path
from typing import Any, Final, Literal, Self

from pydantic import Field

from dialogist.config import Config
from dialogist.data.encode import Cuts
from dialogist.errors import ConfigError, DataError
from dialogist.files import sha256_of, write_text_atomically

FORMAT: Final = "dialogist-encoded"
FORMAT_VERSION = 2
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
    ``pair_sum`` is its part of the fingerprint (`dialogist.data.fingerprint`), in hexadecimal;
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


class Totals(Config):
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

    format: Literal["dialogist-encoded"] = FORMAT
    format_version: int = FORMAT_VERSION
    complete: bool = False
    settings: dict[str, Any]
    vocabulary: int = 0
    token_type: Literal["uint16", "uint32"] = "uint16"
    tokenizer: dict[str, FileEntry] = Field(default_factory=dict)
    shards: list[ShardEntry] = Field(default_factory=list)
    sets: list[SetCounts] = Field(default_factory=list)
    sample: FileEntry | None = None
    totals: Totals | None = None

    def pairs_by_set(self, sets: int) -> list[int]:
        """How many pairs each of so many data sets has; of earlier releases it is not known (0)."""
        counts = [0] * sets
        for shard in self.shards:
            for number, count in enumerate(shard.by_set):
                counts[number] += count
        return counts

    def summed(self) -> Totals:
        """The totals of the shards that are there so far."""
        return Totals(
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
    if not isinstance(values, dict) or values.get("format") != FORMAT:
        raise DataError(f"{path}: is no manifest of encoded data")
    if values.get("format_version") != FORMAT_VERSION:
        raise DataError(
            f"{path}: has format version {values.get('format_version')}, this release reads "
            f"{FORMAT_VERSION}: update Dialogist, or encode again"
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
