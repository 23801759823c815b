"""Tables of masks in a file, one JSON line a dialogue. Such a file is personal data itself."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from dialogist.config import Config
from dialogist.errors import DataError
from dialogist.privacy.masks import MaskTable


class _Line(Config):
    schema_version: Annotated[int, Field(ge=1, le=1)]
    id: str
    original_id: str
    values: dict[str, str]
    mentions: tuple[tuple[tuple[str, str], ...], ...]
    taken: tuple[str, ...]


def table_line(table: MaskTable, identity: str, original: str) -> str:
    """One line of JSON, without its end: the table of the dialogue that is called ``identity``."""
    record = {
        "schema_version": 1,
        "id": identity,
        "original_id": original,
        "values": dict(table.values),
        "mentions": table.mentions,
        "taken": sorted(table.taken),
    }
    return json.dumps(record, ensure_ascii=False)


def read_tables(path: Path) -> Mapping[str, tuple[str, MaskTable]]:
    """The tables of a file by the ids of masked dialogues, each with the original id.

    They restore; to mask further texts with them they do not know enough.

    Raises:
        DataError: it cannot be read, or a line is no table; names the line.
    """
    try:
        lines = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    except (OSError, ValueError) as error:  # not UTF-8
        reason = getattr(error, "strerror", None) or "is not UTF-8"
        raise DataError(f"{path}: cannot be read: {reason}") from None
    read = (_line(text, f"{path}:{number}") for number, text in enumerate(lines, start=1))
    return {line.id: (line.original_id, _table(line)) for line in read}


def _line(text: str, where: str) -> _Line:
    try:
        return _Line.model_validate_json(text)
    except ValidationError as error:
        reason = error.errors()[0]["msg"]
        message = f"{where}: is no table of masks ({reason}): give a file of mask --table"
        raise DataError(message) from None


def _table(line: _Line) -> MaskTable:
    return MaskTable(line.values, {}, line.mentions, frozenset(line.taken))
