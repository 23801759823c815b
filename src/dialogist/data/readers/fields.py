"""Typed access to the values of a record; whatever does not fit is named in the error."""

from collections.abc import Iterable

from dialogist.data.readers.base import BadRecord
from dialogist.data.readers.parsing import Record
from dialogist.data.readers.roles import role_of
from dialogist.data.readers.rows import kind_of
from dialogist.records import JSON, Utterance

_SHOWN = 12


def missing(key: str, found: Iterable[str]) -> BadRecord:
    """The error for a missing key, naming the keys that are there."""
    keys = sorted(found)
    shown = ", ".join(key[:40] for key in keys[:_SHOWN]) + (", ..." if len(keys) > _SHOWN else "")
    return BadRecord(f"no key '{key}' (keys found: {shown or 'none'})")


def value_of(record: Record, key: str) -> JSON:
    """The value under ``key``.

    Raises:
        BadRecord: there is none.
    """
    if key not in record:
        raise missing(key, record)
    return record[key]


def text_of(record: Record, key: str) -> str:
    """The text under ``key``.

    Raises:
        BadRecord: there is none, or it is no text.
    """
    value = value_of(record, key)
    if not isinstance(value, str):
        raise BadRecord(f"key '{key}' holds {kind_of(value)}, not text")
    return value


def id_of(record: Record, key: str = "id") -> str:
    """The record's own id (a number will do), or an empty string.

    Raises:
        BadRecord: it is neither text nor a whole number.
    """
    value = record.get(key)
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise BadRecord(f"key '{key}' holds {kind_of(value)}, not an id")


def texts_of(record: Record, key: str) -> tuple[str, ...]:
    """The texts under ``key``: a list of them, or a single one. Null means none.

    Raises:
        BadRecord: there is no such key, or something in it is no text.
    """
    value = value_of(record, key)
    if value is None:
        return ()
    values = value if isinstance(value, list) else [value]
    return tuple(_text(item, f"key '{key}'") for item in values if item is not None)


def list_of(record: Record, key: str) -> list[JSON]:
    """The list under ``key``.

    Raises:
        BadRecord: there is none, or it is no list.
    """
    value = value_of(record, key)
    if not isinstance(value, list):
        raise BadRecord(f"key '{key}' holds {kind_of(value)}, not a list")
    return value


def pairs_of(record: Record, key: str) -> list[tuple[str, str]]:
    """The list of pairs of texts under ``key``.

    Raises:
        BadRecord: there is no such list, or one of its items is no pair of texts.
    """
    return [pair(item, f"'{key}' item {n}") for n, item in enumerate(list_of(record, key), 1)]


def pair(item: JSON, where: str) -> tuple[str, str]:
    """Two texts out of a list of two.

    Raises:
        BadRecord: it is none.
    """
    if not isinstance(item, list) or len(item) != 2:
        raise BadRecord(f"{where} is {kind_of(item)}, not a pair [speaker, text]")
    return _text(item[0], where), _text(item[1], where)


def turns_of(record: Record, key: str) -> tuple[Utterance, ...]:
    """The utterances in a list of ``[speaker, text]`` pairs.

    Raises:
        BadRecord: there is no such list, or nothing is said in it.
    """
    turns = (Utterance(name, text, role_of(name)) for name, text in pairs_of(record, key))
    return said(turns)


def said(utterances: Iterable[Utterance]) -> tuple[Utterance, ...]:
    """The utterances, if they hold any text at all.

    Raises:
        BadRecord: nobody says anything.
    """
    result = tuple(utterances)
    if not any(utterance.text.strip() for utterance in result):
        raise BadRecord("no utterances: the dialogue is empty")
    return result


def rest_of(record: Record, *used: str) -> dict[str, JSON]:
    """What a record holds beside the keys already used: the dialogue's metadata."""
    return {key: value for key, value in record.items() if key not in used}


def _text(value: JSON, where: str) -> str:
    if not isinstance(value, str):
        raise BadRecord(f"{where} holds {kind_of(value)}, not text")
    return value
