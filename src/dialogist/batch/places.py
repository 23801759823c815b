"""Where a job reads and writes: files, URLs and tables.

``calls/*.jsonl.gz``                a pattern, a file or a folder
``s3://bucket/calls/*.jsonl.gz``    anything that fsspec opens; its packages have to be there
``sqlite:///calls.db#calls``        a table, by the URL of SQLAlchemy and its name

What is read becomes items in order. What is written are parts, as JSON lines or Parquet; a sink
takes a part all or nothing, and again after an interruption: it then replaces itself.
"""

import hashlib
import io
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import partial
from glob import glob
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeAlias, cast

from dialogist.batch.journal import MANIFEST, Parts, ShardDone
from dialogist.errors import DataError, UsageError, needs_extra
from dialogist.files import replacing, sha256_of, sync, writing
from dialogist.formats import ReadOptions, ReadProblem, files_of, no_note, read_dialogues
from dialogist.formats.readers import ENDINGS
from dialogist.formats.source import found_file, json_lines, without_compression
from dialogist.records import Dialogue

SourceItem: TypeAlias = Dialogue | ReadProblem
"""What a job has a record for."""

_DATABASES = ("sqlite", "postgresql", "mysql", "mariadb", "oracle", "mssql")
_SCHEME = re.compile(r"([a-z][a-z0-9]*)(?:\+[a-z0-9]+)?://")
_LOCAL = re.compile(r"(?:file|local)://")
_PAGE = 1_000  # rows of a table read at once

Kind = Literal["path", "url", "table"]


def kind_of(given: str) -> Kind:
    """What somebody names: a path, a URL of fsspec, or a table of a database."""
    scheme = _SCHEME.match(given)
    if scheme is None or _LOCAL.match(given):
        return "path"
    return "table" if scheme[1] in _DATABASES else "url"


def shown_name(given: str) -> str:
    """The name of a place without the password that a URL may hold."""
    return re.sub(r"(?<=://)([^/@:]*):[^/@]*@", r"\1:***@", given)


def path_of(given: str) -> Path:
    """The path that is named, as it is or as ``file://``."""
    return Path(_LOCAL.sub("", given))


@dataclass(frozen=True, slots=True)
class RecordOrigin:
    """One input: its name, its size where that is known, and how its dialogues are read.

    ``path`` is where it lies, if it is a file or folder here. ``form`` is the format of what has
    no name to tell it, ``stem`` names dialogues that have no id.
    """

    name: str
    size: int | None
    open: Callable[[], Path | BinaryIO]
    path: Path | None = None
    form: str = "auto"
    stem: str = ""


@dataclass(frozen=True, slots=True)
class Since:
    """What is old is left out: files changed before ``when``, rows with a lesser ``column``."""

    when: datetime
    column: str = ""

    @classmethod
    def parse(cls, text: str) -> "Since":
        """Read ``2026-11-01`` or ``created=2026-11-01T08:00``; without a zone it is local time.

        Raises:
            UsageError: it is neither.
        """
        column, _, when = text.rpartition("=")
        try:
            return cls(datetime.fromisoformat(when.strip()), column.strip())
        except ValueError:
            raise UsageError(
                f"--since {text}: write a date or time, as 2026-11-01 or 2026-11-01T08:00 "
                "(of a table's rows: COLUMN=2026-11-01)"
            ) from None


def origins_of(
    given: Sequence[str],
    since: Since | None = None,
    known: Sequence[str] = (),
    on_note: Callable[[str], None] = no_note,
) -> list[RecordOrigin]:
    """The inputs that somebody names; patterns and folders stand for their files, sorted.

    Inputs that are ``known`` from an earlier run come first, in their order: so new files are at
    the end, whatever their names.

    Raises:
        DataError: there is no such file, or none changed ``since``.
        UsageError: it is not clear which table is meant, or which column ``since`` is about.
        MissingExtraError: a package for such a place is not installed.
    """
    find: dict[str, Callable[[str, Since | None], Iterable[RecordOrigin]]]
    find = {"path": partial(_files, on_note=on_note), "url": _urls, "table": _tables}
    origins = [origin for name in given for origin in find[kind_of(name)](name, since)]
    if not origins:
        raise DataError(f"{', '.join(map(shown_name, given))}: no file was changed since then")
    places = {name: place for place, name in enumerate(known)}
    return sorted(origins, key=lambda origin: places.get(origin.name, len(places)))


def items_of(
    origins: Sequence[RecordOrigin], options: ReadOptions, on_note: Callable[[str], None]
) -> Iterator[SourceItem]:
    """All dialogues of all inputs; what cannot be read stands between them as a problem.

    Raises:
        DataError: the only input cannot be read at all; with ``strict``, at the first problem.
    """
    waiting: list[ReadProblem] = []
    anything = False
    for origin in origins:
        chosen = replace(options, format=origin.form) if options.format == "auto" else options
        try:
            read = read_dialogues(origin.open(), chosen, waiting.append, on_note, origin.stem)
            for dialogue in read:
                yield from waiting
                waiting.clear()
                anything = True
                yield dialogue
        except DataError as error:
            if options.strict or (len(origins) == 1 and not anything and not waiting):
                raise
            waiting.append(ReadProblem(origin.name, 0, str(error).removeprefix(f"{origin.name}: ")))
        anything = anything or bool(waiting)
        yield from waiting
        waiting.clear()


def _files(given: str, since: Since | None, on_note: Callable[[str], None]) -> list[RecordOrigin]:
    path = path_of(given)
    if given == "-":
        return [RecordOrigin(given, None, lambda: path, path)]
    opened = Path if path.exists() and not path.is_dir() else found_file
    paths = [path] if path.exists() else map(Path, sorted(glob(str(path), recursive=True)))
    origins, is_there = [], False
    for place in paths:
        is_there = True
        files = files_of(place, on_note) if place.is_dir() else []
        for file, stem in files or [(place, "")]:  # or a folder that is read as a whole
            all_of_it = [part for part in (file, *file.rglob("*")) if part.exists()]
            size = sum(part.stat().st_size for part in all_of_it if part.is_file())
            changed = max((part.stat().st_mtime for part in all_of_it), default=math.inf)
            if since is None or changed >= since.when.timestamp():
                origins.append(
                    RecordOrigin(str(file), size, partial(opened, file), file, stem=stem)
                )
    if not is_there:
        raise DataError(f"{given}: no such file")
    return origins


def _urls(given: str, since: Since | None) -> list[RecordOrigin]:
    """The files of a URL: itself, those that fit a pattern, or those in a folder."""
    files = file_system(given)
    with _telling(given, "read"):
        if any(sign in given for sign in "*?["):
            paths = sorted(files.glob(given))
        elif files.isdir(given):
            paths = sorted(
                path
                for path in files.find(given)
                if Path(without_compression(path.lower())).suffix in ENDINGS
            )
        else:
            paths = [given] if files.exists(given) else []
        if not paths:
            raise DataError(f"{given}: no such file")
        if since is not None:
            oldest = since.when.timestamp()
            try:
                paths = [path for path in paths if files.modified(path).timestamp() >= oldest]
            except NotImplementedError:
                what = "--since: such files do not say when they changed"
                raise UsageError(f"{given}: {what}") from None
        return [_remote(files, path) for path in paths]


def _remote(files: Any, path: str) -> RecordOrigin:
    name = files.unstrip_protocol(path)

    def opened() -> BinaryIO:
        with _telling(name, "read"):
            file = files.open(path, "rb")
        with suppress(AttributeError):
            file.name = name  # messages tell it, and its ending the format
        return cast(BinaryIO, file)

    return RecordOrigin(name, files.size(path), opened)


@contextmanager
def _telling(
    place: str, done: str, errors: tuple[type[Exception], ...] = (OSError, ValueError)
) -> Iterator[None]:
    """Errors of a file system, or of a database, in one line of ours; ``done``: read, written."""
    try:
        yield
    except errors as error:
        reason = str(error).partition("\n")[0]
        raise DataError(f"{place}: cannot be {done}: {reason}") from None


def file_system(url: str) -> Any:
    """The file system of a URL, as fsspec has it.

    Raises:
        MissingExtraError: fsspec is not installed.
        DataError: its package for such URLs is not, which its message names.
        UsageError: there are no such URLs.
    """
    with needs_extra(f"{url}: reading and writing URLs", "scale"):
        import fsspec
    try:
        return fsspec.core.url_to_fs(url)[0]
    except ImportError as error:
        raise DataError(f"{url}: {error}") from None
    except ValueError as error:
        raise UsageError(f"{url}: {error}") from None


def database_table(given: str) -> tuple[Any, str, str]:
    """The engine of a database, the name of the table, and both as they may be shown.

    Raises:
        UsageError: no table is named, or the URL is not understood.
        MissingExtraError: SQLAlchemy is not installed.
        DataError: the package of this database is not.
    """
    with needs_extra("reading and writing tables", "scale"):
        import sqlalchemy
    url, _, table = given.partition("#")
    try:
        parsed = sqlalchemy.make_url(url)
        shown = f"{parsed.render_as_string(hide_password=True)}#{table}"
        if not table:
            raise UsageError(f"{shown}TABLE: name the table behind the URL, after #")
        return sqlalchemy.create_engine(parsed), table, shown
    except ImportError as error:
        raise DataError(f"{url.partition('://')[0]}: {error}") from None
    except sqlalchemy.exc.ArgumentError:
        raise UsageError("a table is named as sqlite:///FILE#TABLE (docs, batch)") from None


def _tables(given: str, since: Since | None) -> list[RecordOrigin]:
    engine, table, shown = database_table(given)
    if since is not None and not since.column:
        raise UsageError(f"{shown}: --since COLUMN={since.when:%Y-%m-%d}: name the column to go by")

    def opened() -> BinaryIO:
        return cast(BinaryIO, _Rows(_pages(engine, table, shown, since), shown))

    return [RecordOrigin(shown, None, opened, form="jsonl")]


def _pages(engine: Any, name: str, shown: str, since: Since | None) -> Iterator[bytes]:
    """The rows of a table by its primary key, a page at a time: no row is read twice."""
    import sqlalchemy as sa

    with _telling(shown, "read", (sa.exc.SQLAlchemyError,)), engine.connect() as connection:
        try:
            table = sa.Table(name, sa.MetaData(), autoload_with=engine)
        except sa.exc.NoSuchTableError:
            raise DataError(f"{shown}: there is no table of that name") from None
        key = list(table.primary_key.columns)
        if not key:
            raise DataError(f"{shown}: has no primary key, by which its rows are read in order")
        query = sa.select(table).order_by(*key).limit(_PAGE)
        if since is not None:
            query = query.where(_is_recent(table, since, shown))
        page = query
        while rows := connection.execute(page).all():
            yield json_lines(dict(row._mapping) for row in rows)
            last = [sa.literal(rows[-1]._mapping[column], column.type) for column in key]
            is_later = key[0] > last[0] if len(key) == 1 else sa.tuple_(*key) > sa.tuple_(*last)
            page = query.where(is_later)


def _is_recent(table: Any, since: Since, shown: str) -> Any:
    """The condition on a row, by the type of its column: a time, a day, or their text."""
    if since.column not in table.columns:
        names = ", ".join(column.name for column in table.columns)
        raise DataError(f"{shown}: has no column '{since.column}' (it has {names})")
    column = table.columns[since.column]
    try:
        kind = column.type.python_type
    except NotImplementedError:  # of a type that SQLAlchemy does not know
        kind = str
    values = {datetime: since.when, date: since.when.date(), float: since.when.timestamp()}
    values[int] = int(since.when.timestamp())
    text = since.when.isoformat(" ")
    return column >= values.get(kind, text.removesuffix(" 00:00:00"))


class _Rows:
    """Pieces of bytes as a file that is read once."""

    def __init__(self, pieces: Iterator[bytes], name: str) -> None:
        self.name = name
        self._pieces = pieces

    def read(self, size: int) -> bytes:
        """The next piece, whatever its ``size``; none at the end."""
        return next(self._pieces, b"")


PartFormat = Literal["jsonl", "parquet"]
"""How records are written."""

_COLUMNS = ("id", "status", "reason", "text", "writer", "record")
_GROUP_ROWS = 1_000  # of Parquet
PART = "part-{:05d}.{}"
"""The name of a part, of its number and form."""
_PART = re.compile(r"part-\d{5,}\.(?:jsonl|parquet)")
_OF_ANOTHER = (
    "a part, but there is no journal of the job that made it: name a new place, or move it away"
)


def _row(line: str) -> dict[str, str]:
    record = json.loads(line)
    return {name: record.get(name, "") for name in _COLUMNS} | {"record": line}


def encoded_part(lines: Sequence[str], form: PartFormat) -> bytes:
    """The bytes of a part; MissingExtraError where Parquet is asked for without pyarrow."""
    if form == "jsonl":
        return "".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace")
    with needs_extra("writing Parquet", "scale"):
        import pyarrow
        from pyarrow import parquet
    schema = pyarrow.schema([(name, pyarrow.string()) for name in _COLUMNS])
    table = pyarrow.Table.from_pylist([_row(line) for line in lines], schema)
    data = io.BytesIO()
    parquet.write_table(table, data, row_group_size=_GROUP_ROWS, compression="zstd")
    return data.getvalue()


class FolderSink:
    """Parts as files of the job's own folder."""

    def __init__(self, folder: Path, form: PartFormat = "jsonl") -> None:
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
            with replacing(path) as temporary:
                temporary.write_bytes(data)
            sync(self._folder)

    def finish(self, manifest: Path) -> None:
        """The manifest is there already."""

    def _parts(self) -> list[Path]:
        return [path for path in self._folder.glob("part-*") if _PART.fullmatch(path.name)]


class UrlSink:
    """Parts as files below a URL; the manifest comes last."""

    def __init__(self, url: str, form: PartFormat = "jsonl") -> None:
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
        path = f"{self._url}/{PART.format(shard.number, self.form)}"
        with _telling(path, "read"):
            try:
                with self._files.open(path, "rb") as file:
                    digest = hashlib.file_digest(file, "sha256")
            except FileNotFoundError:
                return False
        return digest.hexdigest() == shard.sha256

    def write(self, number: int, lines: Sequence[str], data: bytes) -> None:
        self._put(PART.format(number, self.form), data)

    def finish(self, manifest: Path) -> None:
        self._put(manifest.name, manifest.read_bytes())

    def _put(self, name: str, data: bytes) -> None:
        with _telling(f"{self._url}/{name}", "written"):
            self._files.makedirs(self._url, exist_ok=True)
            self._files.pipe_file(f"{self._url}/{name}", data)

    def _parts(self) -> list[str]:
        with _telling(self._url, "read"):
            self._files.invalidate_cache()
            paths = sorted(self._files.glob(f"{self._url}/part-*"))
        return [path for path in paths if _PART.fullmatch(path.rpartition("/")[2])]


class TableSink:
    """Records as rows of a table; a part is one transaction, and replaces what it was before."""

    form: PartFormat = "jsonl"

    def __init__(self, given: str) -> None:
        self._engine, name, self._shown = database_table(given)
        import sqlalchemy as sa

        self._sa = sa
        self._telling = partial(_telling, self._shown, "written", (sa.exc.SQLAlchemyError,))
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


Sink: TypeAlias = FolderSink | UrlSink | TableSink
"""Where parts go. Calls of one job come from one process, one after the other.

``begin``: a new job finds nothing of another one there. ``clear`` removes the parts that a journal
names, and nothing else. ``holds``: whether the part of a shard is there with the bytes that its
journal says. ``write`` puts a part there, its lines or their bytes. ``finish``: all parts are
there. They raise UsageError where parts of another job are, DataError where something cannot be
read or written.
"""
