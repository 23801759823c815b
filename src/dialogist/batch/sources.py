"""What a job reads: files, URLs and tables, as items in order.

``calls/*.jsonl.gz``                a pattern, a file or a folder
``s3://bucket/calls/*.jsonl.gz``    anything that fsspec opens; its packages have to be there
``sqlite:///calls.db#calls``        a table, by the URL of SQLAlchemy and its name
"""

import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import partial
from glob import glob
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeAlias, cast

from dialogist.errors import DataError, UsageError, needs_extra
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
            all_of_it = [file, *file.rglob("*")]
            size = sum(part.stat().st_size for part in all_of_it if part.is_file())
            changed = max(part.stat().st_mtime for part in all_of_it)
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
    try:
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
            paths = [path for path in paths if files.modified(path).timestamp() >= oldest]
        return [_remote(files, path) for path in paths]
    except NotImplementedError:
        raise UsageError(f"{given}: --since: such files do not say when they changed") from None
    except (OSError, ValueError) as error:
        raise DataError(f"{given}: cannot be read: {error}") from None


def _remote(files: Any, path: str) -> RecordOrigin:
    name = files.unstrip_protocol(path)

    def opened() -> BinaryIO:
        try:
            file = files.open(path, "rb")
        except OSError as error:
            raise DataError(f"{name}: cannot be read: {error}") from None
        with suppress(AttributeError):
            file.name = name  # messages tell it, and its ending the format
        return cast(BinaryIO, file)

    return RecordOrigin(name, files.size(path), opened)


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
        rows = _Rows(_pages(engine, table, shown, since), shown)
        return cast(BinaryIO, io.BufferedReader(rows, 1 << 16))

    return [RecordOrigin(shown, None, opened, form="jsonl")]


def _pages(engine: Any, name: str, shown: str, since: Since | None) -> Iterator[bytes]:
    """The rows of a table by its primary key, a page at a time: no row is read twice."""
    import sqlalchemy as sa

    try:
        table = sa.Table(name, sa.MetaData(), autoload_with=engine)
        key = list(table.primary_key.columns)
        if not key:
            raise DataError(f"{shown}: has no primary key, by which its rows are read in order")
        recent = [] if since is None else [_is_recent(table, since, shown)]
        last: tuple[Any, ...] | None = None
        with engine.connect() as connection:
            while True:
                query = sa.select(table).where(*recent).order_by(*key).limit(_PAGE)
                if last is not None:
                    query = query.where(
                        key[0] > last[0]
                        if len(key) == 1
                        else sa.tuple_(*key) > sa.tuple_(*map(sa.literal, last))
                    )
                rows = connection.execute(query).all()
                if not rows:
                    return
                last = tuple(rows[-1]._mapping[column] for column in key)
                yield json_lines(dict(row._mapping) for row in rows)
    except sa.exc.NoSuchTableError:
        raise DataError(f"{shown}: there is no table of that name") from None
    except sa.exc.SQLAlchemyError as error:
        reason = str(error).splitlines()[0]
        raise DataError(f"{shown}: cannot be read: {reason}") from None


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


class _Rows(io.RawIOBase):
    """Pieces of bytes as a file that is read once."""

    def __init__(self, pieces: Iterator[bytes], name: str) -> None:
        self.name = name
        self._pieces, self._rest = pieces, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer as far as the next piece goes."""
        while not self._rest and (piece := next(self._pieces, None)) is not None:
            self._rest = piece
        count = min(len(buffer), len(self._rest))
        buffer[:count], self._rest = self._rest[:count], self._rest[count:]
        return count
