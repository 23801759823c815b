"""The state of a job: which shards are done, and what they were made with.

FOLDER/.lock           held while a process works on the job; it dies with the process
FOLDER/journal.jsonl   what the job is made of, then a line for each shard that is done
FOLDER/manifest.json   both, and the sums; it is there once the job is complete
FOLDER/part-00000.*    the records, unless they go to another place
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self, TypeAlias

from pydantic import Field

from dialogist.config import Config, differences
from dialogist.errors import ConfigError, DataError, UsageError
from dialogist.files import TEMPORARY, alone_in, sync, write_text_atomically
from dialogist.records import JSON

JOURNAL, MANIFEST = "journal.jsonl", "manifest.json"
FORMAT = "dialogist-job"
FORMAT_VERSION = 1


class ShardDone(Config):
    """A shard whose part is made: it is put in its place next.

    ``input`` is the SHA-256 of what was read for it, ``sha256`` that of the part. ``statuses``
    count its records.
    """

    number: int = Field(ge=0)
    records: int = Field(ge=0)
    statuses: dict[str, int]
    bytes: int = Field(ge=0)
    sha256: str
    input: str


Parts: TypeAlias = Sequence[tuple[int, str]]
"""Parts by their number and form."""


class Totals(Config):
    """The sums over all shards."""

    records: int
    statuses: dict[str, int]
    bytes: int

    @property
    def failed(self) -> int:
        return self.statuses.get("error", 0)


def known_inputs(folder: Path) -> list[str]:
    """The names of the inputs that a job was begun or finished with, in order; none without one.

    Raises:
        DataError: its journal is damaged.
    """
    journal = Journal(folder, {})
    return [name for name, _ in journal._read()[0]["inputs"]] if journal.exists else []


class Journal:
    """The journal of one folder, open to be gone on with."""

    def __init__(self, folder: Path, description: Mapping[str, JSON]) -> None:
        """``description``: all that the job's records depend on, but the model; plain values."""
        self.folder = folder
        self.done: dict[int, ShardDone] = {}
        self.complete: Totals | None = None
        self._description = {"format": FORMAT, "format_version": FORMAT_VERSION, **description}

    @classmethod
    @contextmanager
    def alone(cls, folder: Path, description: Mapping[str, JSON]) -> Iterator[Self]:
        """The journal of a folder that no other process works on.

        Raises:
            UsageError: one does, or the folder cannot be made.
        """
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"{folder}: cannot be made a folder: {error.strerror}") from None
        with alone_in(folder, "working on this job"):
            for path in folder.glob(f"{TEMPORARY}*"):  # of a process that was killed
                path.unlink(missing_ok=True)
            yield cls(folder, description)

    @property
    def exists(self) -> bool:
        return (self.folder / JOURNAL).exists() or (self.folder / MANIFEST).exists()

    @property
    def parts(self) -> Parts:
        """The parts that the journal names, of whatever job it is.

        Raises:
            DataError: it is damaged.
        """
        if not self.exists:
            return []
        values, shards, _ = self._read()
        return [(shard.number, str(values["form"])) for shard in shards]

    def clear(self) -> None:
        for name in (JOURNAL, MANIFEST):
            (self.folder / name).unlink(missing_ok=True)
        self.done, self.complete = {}, None

    def begin(self, settings: Mapping[str, JSON], grown: bool = False) -> None:
        """Begin the job, or go on with it; ``settings`` say what the model is and does.

        ``grown``: its inputs may have become more, and a job that is complete goes on.

        Raises:
            UsageError: it was begun with other settings or inputs.
            DataError: the journal is damaged.
        """
        described = {**self._description, "settings": dict(settings)}
        self._description = json.loads(json.dumps(described))  # as it reads back: tuples are lists
        if not self.exists:
            self._write()
            return
        before, shards, totals = self._read()
        changed = differences(before, self._description)
        is_more = grown and all(change.startswith(("inputs:", "inputs[")) for change in changed)
        if changed and not is_more:
            raise UsageError(
                f"{self.folder}: this job was begun with other settings or inputs "
                f"({'; '.join(changed[:3])}): give the same ones, name another --output, or start "
                "over with --restart (inputs that grow at their end: --grow)"
            )
        self.done = {shard.number: shard for shard in shards}
        if is_more or totals is None:
            self._write()  # without a last line that a kill cut short: its shard is not done
        self.complete = None if is_more else totals

    def add(self, shard: ShardDone) -> None:
        """A shard is done as soon as its part is in its place, which `Sink` knows."""
        with (self.folder / JOURNAL).open("a", encoding="utf-8") as file:
            file.write(shard.model_dump_json() + "\n")
            file.flush()
        sync(self.folder / JOURNAL)
        self.done[shard.number] = shard

    def forget(self, numbers: Iterable[int]) -> None:
        """The parts of some shards are gone: the job is not complete, and they are made again."""
        for number in numbers:
            del self.done[number]
        self._write()
        self.complete = None

    def finish(self) -> Totals:
        """All shards are done: the manifest replaces the journal."""
        statuses: Counter[str] = Counter()
        for shard in self.done.values():
            statuses.update(shard.statuses)
        totals = Totals(
            records=statuses.total(),
            statuses=dict(sorted(statuses.items())),
            bytes=sum(shard.bytes for shard in self.done.values()),
        )
        shards = [self.done[number].model_dump(mode="json") for number in sorted(self.done)]
        manifest = {**self._description, "totals": totals.model_dump(), "shards": shards}
        text = json.dumps(manifest, ensure_ascii=False, indent=1)
        write_text_atomically(self.folder / MANIFEST, text + "\n")
        sync(self.folder)
        (self.folder / JOURNAL).unlink(missing_ok=True)
        return totals

    def _write(self) -> None:
        """The journal anew, and no manifest: what the job is made of, the shards that are done."""
        lines = [json.dumps(self._description, ensure_ascii=False)]
        lines += [shard.model_dump_json() for shard in self.done.values()]
        write_text_atomically(self.folder / JOURNAL, "".join(f"{line}\n" for line in lines))
        sync(self.folder)
        (self.folder / MANIFEST).unlink(missing_ok=True)

    def _read(self) -> tuple[dict[str, Any], list[ShardDone], Totals | None]:
        """What was begun, which shards are done, and the sums if all are."""
        path = self.folder / (MANIFEST if (self.folder / MANIFEST).exists() else JOURNAL)
        try:
            text = path.read_text(encoding="utf-8")
            if path.name == MANIFEST:
                values = json.loads(text)
                shards, totals = values.pop("shards"), values.pop("totals")
            else:
                values, *shards = map(json.loads, text.split("\n")[:-1])
                totals = None
            done = [ShardDone.parse(shard, str(path)) for shard in shards]
            return values, done, None if totals is None else Totals.parse(totals, str(path))
        except (OSError, ValueError, KeyError, ConfigError) as error:
            fault = f"{path}: is damaged ({error}): name a new --output"
            raise DataError(fault) from None
