"""What a job writes: parts, as JSON lines or Parquet; and where these go.

A sink takes a part all or nothing, and again after an interruption: it then replaces itself.
"""

import hashlib
import io
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, TypeAlias

from dialogist.batch.journal import MANIFEST, Parts, ShardDone
from dialogist.batch.sources import database_table, file_system
from dialogist.errors import DataError, UsageError, needs_extra
from dialogist.files import sha256_of, sync, temporary_for, writing

Form = Literal["jsonl", "parquet"]
"""How records are written."""

_COLUMNS = ("id", "status", "reason", "text", "writer", "record")
_ROWS = 1_000  # of a row group
PART = "part-{:05d}.{}"
"""The name of a part, of its number and form."""
_PIECE = 1 << 20  # bytes read at once
_PART = re.compile(r"part-\d{5,}\.(?:jsonl|parquet)")
_OF_ANOTHER = (
    "a part, but there is no journal of the job that made it: name a new place, or move it away"
)


def _row(line: str) -> dict[str, str]:
    record = json.loads(line)
    return {name: record.get(name, "") for name in _COLUMNS} | {"record": line}


def encoded_part(lines: Sequence[str], form: Form) -> bytes:
    """The bytes of a part; MissingExtraError where Parquet is asked for without pyarrow."""
    if form == "jsonl":
        return "".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace")
    with needs_extra("writing Parquet", "scale"):
        import pyarrow
        from pyarrow import parquet
    schema = pyarrow.schema([(name, pyarrow.string()) for name in _COLUMNS])
    table = pyarrow.Table.from_pylist([_row(line) for line in lines], schema)
    data = io.BytesIO()
    parquet.write_table(table, data, row_group_size=_ROWS, compression="zstd")
    return data.getvalue()


class FolderSink:
    """Parts as files of the job's own folder."""

    def __init__(self, folder: Path, form: Form = "jsonl") -> None:
        self._folder, self.form = folder, form
        encoded_part([], form)  # told before any work is done

    def begin(self, new: bool) -> None:
        if new and (parts := self._parts()):
            raise UsageError(f"{parts[0]}: {_OF_ANOTHER}")

    def clear(self, parts: Parts) -> None:
        for part in parts:
            (self._folder / PART.format(*part)).unlink(missing_ok=True)

    def holds(self, shard: ShardDone) -> bool:
        path = self._folder / PART.format(shard.number, self.form)
        return path.is_file() and sha256_of(path) == shard.sha256

    def write(self, number: int, lines: Sequence[str], data: bytes) -> None:
        path = self._folder / PART.format(number, self.form)
        with writing(path):
            temporary = temporary_for(path)
            temporary.write_bytes(data)
            sync(temporary)
            temporary.replace(path)
            sync(self._folder)

    def finish(self, manifest: Path) -> None:
        """The manifest is there already."""

    def _parts(self) -> list[Path]:
        return [path for path in self._folder.glob("part-*") if _PART.fullmatch(path.name)]


class UrlSink:
    """Parts as files below a URL; the manifest comes last."""

    def __init__(self, url: str, form: Form = "jsonl") -> None:
        self._url, self.form = url.rstrip("/"), form
        self._files = file_system(url)
        encoded_part([], form)

    def begin(self, new: bool) -> None:
        if new and (parts := self._parts()):
            raise UsageError(f"{parts[0]}: {_OF_ANOTHER}")

    def clear(self, parts: Parts) -> None:
        for name in (*(PART.format(*part) for part in parts), MANIFEST) if parts else ():
            if self._files.exists(f"{self._url}/{name}"):
                self._files.rm_file(f"{self._url}/{name}")

    def holds(self, shard: ShardDone) -> bool:
        path, found = f"{self._url}/{PART.format(shard.number, self.form)}", hashlib.sha256()
        try:
            with self._files.open(path, "rb") as file:
                while piece := file.read(_PIECE):
                    found.update(piece)
        except FileNotFoundError:
            return False
        except (OSError, ValueError) as error:
            raise DataError(f"{path}: cannot be read: {error}") from None
        return found.hexdigest() == shard.sha256

    def write(self, number: int, lines: Sequence[str], data: bytes) -> None:
        self._put(PART.format(number, self.form), data)

    def finish(self, manifest: Path) -> None:
        self._put(manifest.name, manifest.read_bytes())

    def _put(self, name: str, data: bytes) -> None:
        try:
            self._files.makedirs(self._url, exist_ok=True)
            self._files.pipe_file(f"{self._url}/{name}", data)
        except (OSError, ValueError) as error:
            raise DataError(f"{self._url}/{name}: cannot be written: {error}") from None

    def _parts(self) -> list[str]:
        try:
            self._files.invalidate_cache()
            paths = sorted(self._files.glob(f"{self._url}/part-*"))
            return [path for path in paths if _PART.fullmatch(path.rpartition("/")[2])]
        except (OSError, ValueError) as error:
            raise DataError(f"{self._url}: cannot be read: {error}") from None


class TableSink:
    """Records as rows of a table; a part is one transaction, and replaces what it was before."""

    form: Form = "jsonl"

    def __init__(self, given: str) -> None:
        self._engine, name, self._shown = database_table(given)
        import sqlalchemy as sa

        self._sa = sa
        self._table = sa.Table(
            name,
            sa.MetaData(),
            sa.Column("part", sa.Integer, primary_key=True, autoincrement=False),
            sa.Column("place", sa.Integer, primary_key=True, autoincrement=False),
            *(sa.Column(column, sa.Text) for column in _COLUMNS),
        )

    def begin(self, new: bool) -> None:
        with self._telling():
            is_ours = self._is_ours()
            if is_ours is None:
                self._table.create(self._engine)
            elif not is_ours:
                raise UsageError(f"{self._shown}: is a table of other columns: name a new one")
            elif new:
                with self._engine.connect() as connection:
                    row = connection.execute(self._sa.select(self._table.c.part).limit(1)).first()
                if row is not None:
                    raise UsageError(f"{self._shown}: {_OF_ANOTHER}")

    def clear(self, parts: Parts) -> None:
        with self._telling(), self._engine.begin() as connection:
            for number, _ in parts if self._is_ours() else ():
                connection.execute(self._table.delete().where(self._table.c.part == number))

    def holds(self, shard: ShardDone) -> bool:
        rows = self._sa.select(self._table.c.record).where(self._table.c.part == shard.number)
        with self._telling(), self._engine.connect() as connection:
            lines = connection.scalars(rows.order_by(self._table.c.place)).all()
        return hashlib.sha256(encoded_part(lines, self.form)).hexdigest() == shard.sha256

    def write(self, number: int, lines: Sequence[str], data: bytes) -> None:
        rows = [{**_row(line), "part": number, "place": n} for n, line in enumerate(lines)]
        with self._telling(), self._engine.begin() as connection:
            connection.execute(self._table.delete().where(self._table.c.part == number))
            connection.execute(self._table.insert(), rows)

    def finish(self, manifest: Path) -> None:
        """The table is complete; the manifest stays in the job's folder."""

    def _is_ours(self) -> bool | None:
        """Whether the table has our columns; None: there is none."""
        inspected = self._sa.inspect(self._engine)
        if not inspected.has_table(self._table.name):
            return None
        there = {column["name"] for column in inspected.get_columns(self._table.name)}
        return there == set(self._table.columns.keys())

    @contextmanager
    def _telling(self) -> Iterator[None]:
        """Errors of the database in one line of ours."""
        try:
            yield
        except self._sa.exc.SQLAlchemyError as error:
            reason = str(error).splitlines()[0]
            raise DataError(f"{self._shown}: cannot be written: {reason}") from None


Sink: TypeAlias = FolderSink | UrlSink | TableSink
"""Where parts go. Calls of one job come from one process, one after the other.

``begin``: a new job finds nothing of another one there. ``clear`` removes the parts that a journal
names, and nothing else. ``holds``: whether the part of a shard is there with the bytes that its
journal says. ``write`` puts a part there, its lines or their bytes. ``finish``: all parts are
there. They raise UsageError where parts of another job are, DataError where something cannot be
read or written.
"""
