"""What a job writes: parts, as JSON lines or Parquet; and where these go.

A worker makes a part in the job's folder, under a temporary name. A sink takes it over, all or
nothing, and again after an interruption: the same part then replaces itself.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

from dialogist.errors import DataError, UsageError, needs_extra
from dialogist.files import TEMPORARY, sha256_of, sync
from dialogist.batch.sources import database_table, file_system

_COLUMNS = ("id", "status", "reason", "text", "model", "record")
_ROWS = 1_000  # of a row group


class Form(StrEnum):
    """How records are written."""

    jsonl = "jsonl"
    parquet = "parquet"


def part_name(number: int, form: Form) -> str:
    """The name of a part: ``part-00000.jsonl``."""
    return f"part-{number:05d}.{form}"


def check_form(form: Form) -> None:
    """See that parts can be written so.

    Raises:
        MissingExtraError: pyarrow is not installed.
    """
    if form is Form.parquet:
        with needs_extra("writing Parquet", "scale"):
            import pyarrow  # noqa: F401


class PartWriter:
    """Writes one part under a temporary name; once closed, it is on disk and hashed."""

    def __init__(self, folder: Path, number: int, form: Form, owner: str) -> None:
        self.path = folder / f"{TEMPORARY}{owner}-{part_name(number, form)}"
        self.size, self.sha256 = 0, ""
        self._form = form
        self._rows: list[dict[str, Any]] = []
        self._digest = hashlib.sha256()

    def __enter__(self) -> "PartWriter":
        self._file = self.path.open("wb", buffering=1 << 20)
        self._table = _table_writer(self._file) if self._form is Form.parquet else None
        return self

    def add(self, record: Mapping[str, object]) -> None:
        """Write one record."""
        line = json.dumps(record, ensure_ascii=False)
        if self._table is None:
            data = f"{line}\n".encode("utf-8", "backslashreplace")
            self._file.write(data)
            self._digest.update(data)
            self.size += len(data)
            return
        row = {name: record.get(name, "") for name in _COLUMNS}
        self._rows.append({**row, "record": line})
        self.size += len(line)
        if len(self._rows) == _ROWS:
            self._flush()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            self._file.close()
            self.path.unlink(missing_ok=True)
            return
        if self._table is None:
            self.sha256 = self._digest.hexdigest()
            self._file.close()
        else:
            self._flush()
            self._table.close()
            self._file.close()
            self.size, self.sha256 = self.path.stat().st_size, sha256_of(self.path)
        sync(self.path)

    def _flush(self) -> None:
        import pyarrow

        if self._rows and self._table is not None:
            self._table.write_table(pyarrow.Table.from_pylist(self._rows, _schema()))
            self._rows = []


def _schema() -> Any:
    import pyarrow

    return pyarrow.schema([(name, pyarrow.string()) for name in _COLUMNS])


def _table_writer(file: Any) -> Any:
    from pyarrow import parquet

    return parquet.ParquetWriter(file, _schema(), compression="zstd")


class Sink(Protocol):
    """Where parts go. Calls of one job come from one process, one after the other."""

    def begin(self, new: bool) -> None:
        """Get ready; a ``new`` job finds nothing of another one there.

        Raises:
            DialogistError: it does, or nothing can be written there.
        """
        ...

    def clear(self) -> None:
        """Remove all parts that are there."""
        ...

    def take(self, number: int, staged: Path) -> None:
        """Take a part over; the file it was made in is gone afterwards."""
        ...

    def finish(self, manifest: Path) -> None:
        """All parts are there."""
        ...


class FolderSink:
    """Parts as files of the job's own folder."""

    def __init__(self, folder: Path, form: Form) -> None:
        self._folder, self._form = folder, form

    def begin(self, new: bool) -> None:
        """See that no parts of another job lie there.

        Raises:
            UsageError: they do.
        """
        if new and any(self._folder.glob("part-*")):
            raise UsageError(
                f"{self._folder}: holds parts, but no journal of the job that made them: "
                "name a new folder, or start over with --restart"
            )

    def clear(self) -> None:
        """Remove all parts."""
        for path in self._folder.glob("part-*"):
            path.unlink()

    def take(self, number: int, staged: Path) -> None:
        """Give the part its name."""
        staged.replace(self._folder / part_name(number, self._form))
        sync(self._folder)

    def finish(self, manifest: Path) -> None:
        """The manifest is there already."""


class UrlSink:
    """Parts as files below a URL; the manifest comes last."""

    def __init__(self, url: str, form: Form) -> None:
        self._url, self._form = url.rstrip("/"), form
        self._files = file_system(url)

    def begin(self, new: bool) -> None:
        """See that no parts of another job lie there.

        Raises:
            UsageError: they do.
            DataError: the place cannot be read.
        """
        if new and self._parts():
            raise UsageError(
                f"{self._url}: holds parts of another job: name another place, or start over "
                "with --restart"
            )

    def clear(self) -> None:
        """Remove all parts, and the manifest."""
        for path in (*self._parts(), f"{self._url}/manifest.json"):
            if self._files.exists(path):
                self._files.rm_file(path)

    def take(self, number: int, staged: Path) -> None:
        """Upload the part.

        Raises:
            DataError: that failed.
        """
        self._put(staged, part_name(number, self._form))
        staged.unlink()

    def finish(self, manifest: Path) -> None:
        """Upload the manifest."""
        self._put(manifest, manifest.name)

    def _put(self, path: Path, name: str) -> None:
        try:
            self._files.makedirs(self._url, exist_ok=True)
            self._files.put_file(str(path), f"{self._url}/{name}")
        except (OSError, ValueError) as error:
            raise DataError(f"{self._url}/{name}: cannot be written: {error}") from None

    def _parts(self) -> list[str]:
        try:
            self._files.invalidate_cache()
            return sorted(self._files.glob(f"{self._url}/part-*"))
        except (OSError, ValueError) as error:
            raise DataError(f"{self._url}: cannot be read: {error}") from None


class TableSink:
    """Records as rows of a table; a part is one transaction, and replaces what it was before."""

    def __init__(self, given: str) -> None:
        import sqlalchemy as sa

        self._engine, name, self._shown = database_table(given)
        columns = [sa.Column(each, sa.Text) for each in _COLUMNS]
        self._table = sa.Table(
            name,
            sa.MetaData(),
            sa.Column("part", sa.Integer, primary_key=True, autoincrement=False),
            sa.Column("place", sa.Integer, primary_key=True, autoincrement=False),
            *columns,
        )

    def begin(self, new: bool) -> None:
        """Make the table.

        Raises:
            UsageError: there is another one of that name, or it has rows of another job.
            DataError: the database cannot be written.
        """
        import sqlalchemy as sa

        with self._telling():
            inspected = sa.inspect(self._engine)
            if not inspected.has_table(self._table.name):
                self._table.create(self._engine)
                return
            there = {one["name"] for one in inspected.get_columns(self._table.name)}
            if there != set(self._table.columns.keys()):
                raise UsageError(f"{self._shown}: is a table of other columns: name a new one")
            with self._engine.connect() as connection:
                row = connection.execute(sa.select(self._table.c.part).limit(1)).first()
            if new and row is not None:
                raise UsageError(
                    f"{self._shown}: holds rows of another job: name another table, or start "
                    "over with --restart"
                )

    def clear(self) -> None:
        """Remove the table, if it is one of ours."""
        import sqlalchemy as sa

        with self._telling():
            inspected = sa.inspect(self._engine)
            if not inspected.has_table(self._table.name):
                return
            there = {one["name"] for one in inspected.get_columns(self._table.name)}
            if there == set(self._table.columns.keys()):
                self._table.drop(self._engine)

    def take(self, number: int, staged: Path) -> None:
        """Put the records into the table.

        Raises:
            DataError: that failed.
        """
        rows = []
        with staged.open(encoding="utf-8") as lines:
            for place, line in enumerate(lines):
                record = json.loads(line)
                row = {name: record.get(name, "") for name in _COLUMNS}
                rows.append({**row, "record": line.rstrip("\n"), "part": number, "place": place})
        with self._telling(), self._engine.begin() as connection:
            connection.execute(self._table.delete().where(self._table.c.part == number))
            connection.execute(self._table.insert(), rows)
        staged.unlink()

    def finish(self, manifest: Path) -> None:
        """The table is complete; the manifest stays in the job's folder."""

    @contextmanager
    def _telling(self) -> Iterator[None]:
        """Errors of the database in one line of ours."""
        import sqlalchemy as sa

        try:
            yield
        except sa.exc.SQLAlchemyError as error:
            reason = str(error).splitlines()[0]
            raise DataError(f"{self._shown}: cannot be written: {reason}") from None
