"""Rows of Parquet and Arrow files as lines of JSON, which the readers of records take from there.

Files are read a few rows at a time. A folder that ``datasets`` saved is a list of Arrow files.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from dialogist.errors import DataError, MissingExtraError

PARQUET, ARROW = ".parquet", ".arrow"
_ROWS = 256  # read at once
_STATE = "state.json"
_SPLITS = "dataset_dict.json"
_INFO = "dataset_info.json"


def is_columnar(name: str) -> bool:
    """Whether a file's name says that it holds columns."""
    return name.lower().endswith((PARQUET, ARROW))


def columnar_lines(file: Path | BinaryIO, name: str) -> Iterator[bytes]:
    """The rows of a Parquet or Arrow file, a JSON object a line; what is damaged ends with OSError.

    Raises:
        MissingExtraError: pyarrow is not installed.
    """
    try:
        import pyarrow
    except ImportError:
        raise MissingExtraError("reading Parquet and Arrow files", "scale") from None
    given = str(file) if isinstance(file, Path) else file
    read = _parquet_batches if name.lower().endswith(PARQUET) else _arrow_batches

    def lines() -> Iterator[bytes]:
        try:
            for batch in read(given):
                for start in range(0, batch.num_rows, _ROWS):
                    yield json_lines(batch.slice(start, _ROWS).to_pylist())
        except pyarrow.ArrowException as error:
            raise OSError(f"damaged Parquet or Arrow data: {error}") from None

    return lines()


def json_lines(rows: Iterable[dict[str, Any]]) -> bytes:
    """Rows as JSON lines; dates, decimals and the like become text."""
    dumped = (json.dumps(row, ensure_ascii=False, default=_text) for row in rows)
    return "".join(f"{line}\n" for line in dumped).encode("utf-8", "replace")


def dataset_files(folder: Path) -> list[Path]:
    """The Arrow files of a folder that ``datasets`` saved; none if it is another folder.

    Raises:
        DataError: it holds several splits, or does not say what its files are.
    """
    if (folder / _SPLITS).is_file():
        splits = sorted(path.parent.name for path in folder.glob(f"*/{_STATE}"))
        raise DataError(
            f"{folder}: holds the splits {', '.join(splits)} of a data set: name one of them "
            f"({folder / (splits[0] if splits else 'train')})"
        )
    state = folder / _STATE
    if not (state.is_file() and (folder / _INFO).is_file()):
        return []
    try:
        listed = json.loads(state.read_text(encoding="utf-8"))["_data_files"]
        return [folder / Path(one["filename"]).name for one in listed]
    except (OSError, ValueError, KeyError, TypeError):
        raise DataError(f"{state}: does not name the files of the data set") from None


def _parquet_batches(file: str | BinaryIO) -> Iterator[Any]:
    from pyarrow import parquet

    with parquet.ParquetFile(file) as table:
        yield from table.iter_batches(batch_size=_ROWS)


def _arrow_batches(file: str | BinaryIO) -> Iterator[Any]:
    """Of the stream format, as ``datasets`` saves it, or of the file format."""
    import pyarrow

    opened = pyarrow.memory_map(file) if isinstance(file, str) else file
    with opened:
        is_file = opened.read(6) == b"ARROW1"
        opened.seek(0)
        if not is_file:
            yield from pyarrow.ipc.open_stream(opened)
            return
        reader = pyarrow.ipc.open_file(opened)
        for number in range(reader.num_record_batches):
            yield reader.get_batch(number)


def _text(value: object) -> str:
    isoformat = getattr(value, "isoformat", None)
    return str(isoformat()) if isoformat is not None else str(value)
