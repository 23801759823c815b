"""Keys, roles and values of records: names that people use, and typed access to values.

What is not there under a key, or of another kind, is a `BadRecord` that says so.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

from dialogist.errors import DataError
from dialogist.formats.moments import format_table
from dialogist.formats.read_options import (
    INTERNAL_NOTES,
    BadRecord,
    ProblemReporter,
    ReadOptions,
    has_path,
    value_at,
)
from dialogist.language.roles import role_of
from dialogist.language.tokens import counted, listed, word_set
from dialogist.records import JSON, Dialogue, Utterance

Record: TypeAlias = Mapping[str, JSON]
_LONGEST_KEY = 64
_DIGITS = 15  # of the number of a turn; longer ones are ids


def folded_key(key: str) -> str:
    """A key as it is compared: ``Ticket ID``, ``ticket_id`` and ``ticketId`` are ``ticketid``."""
    return _folded_key(key[:_LONGEST_KEY])


@lru_cache(1 << 14)
def _folded_key(key: str) -> str:
    return "".join(filter(str.isalnum, key.casefold())) or key


def by_folded_key(table: Mapping[str, Any]) -> dict[str, Any]:
    """What a table says of several keys a row, by each of them."""
    return {folded_key(key): value for keys, value in table.items() for key in listed(keys)}


TABLES = format_table("keys")
KEYS = {name: listed(keys) for name, keys in TABLES["keys"].items()}
"""The keys or columns that people use for each part of a dialogue, the likeliest first.

``dialogue`` are those of a whole dialogue as text, in tables ``column``. A ``group`` names the
dialogue that a message belongs to, while ``own_id`` may be the message's.
"""
# A whole dialogue's own id comes first: a ticket may name its conversation besides.
KEYS["id"] = (*KEYS["own_id"], *KEYS["group"])
_FOLDED = {name: tuple(map(folded_key, keys)) for name, keys in KEYS.items()}
_INTERNAL = {key: word_set(words) for key, words in by_folded_key(TABLES["internal"]).items()}


def keys_of(record: Iterable[str], name: str) -> list[str]:
    """The keys of a record that people use for a part, the likeliest first."""
    keys = tuple(record)
    # The turns of a file mostly have the same keys; what somebody made up is not held.
    is_usual = len(keys) < _LONGEST_KEY and sum(map(len, keys)) < _LONGEST_KEY**2
    return (_keys_of if is_usual else _keys_of.__wrapped__)(keys, name)


@lru_cache(1 << 12)
def _keys_of(keys: tuple[str, ...], name: str) -> list[str]:
    there = {folded_key(key): key for key in reversed(keys)}
    return [there[key] for key in _FOLDED[name] if key in there]


def shortlist(names: Iterable[str], most: int = 20) -> str:
    """The first of some names, shortened, for an error message."""
    every = list(names)
    shown = ", ".join(" ".join(name.split())[:40] for name in every[:most])
    return f"{shown}, ..." if len(every) > most else shown or "none"


def missing_key(key: str, record: Iterable[str]) -> BadRecord:
    """The error for a missing key, naming the keys that are there."""
    return BadRecord(f"no key '{key}' (keys found: {shortlist(sorted(record), 12)})")


def id_under(record: Record, path: str = "id") -> str:
    """The record's own id (text, or a whole number), or an empty string."""
    value = value_at(record, path)
    if value is None or (isinstance(value, str | int) and not isinstance(value, bool)):
        return "" if value is None else str(value)
    raise BadRecord(f"key '{path}' holds {json_kind(value)}, not an id")


def number_of(record: Record) -> int | None:
    """Which turn of its dialogue a record says that it is."""
    texts = (str(record[key]).removesuffix(".0") for key in keys_of(record, "number"))
    return next((int(text) for text in texts if text.isdecimal() and len(text) <= _DIGITS), None)


def texts_under(record: Record, path: str) -> tuple[str, ...]:
    """The texts under ``path``: a list of them, or a single one. Null means none."""
    if not has_path(record, path):
        raise missing_key(path, record)
    value = value_at(record, path)
    values = value if isinstance(value, list) else [value]
    return tuple(text_of_value(item, f"key '{path}'") for item in values if item is not None)


def list_under(record: Record, key: str) -> list[JSON]:
    """The list under ``key``."""
    if key not in record:
        raise missing_key(key, record)
    if not isinstance(value := record[key], list):
        raise BadRecord(f"key '{key}' holds {json_kind(value)}, not a list")
    return value


def objects_under(record: Record, key: str) -> list[Record]:
    """The list of objects under ``key``."""
    objects: list[Record] = []
    for number, item in enumerate(list_under(record, key), 1):
        if not isinstance(item, dict):
            raise BadRecord(f"'{key}' item {number} is {json_kind(item)}, not an object")
        objects.append(item)
    return objects


def text_pair(item: JSON, where: str) -> tuple[str, str]:
    """Two texts out of a list of two."""
    if not isinstance(item, list) or len(item) != 2:
        raise BadRecord(f"{where} is {json_kind(item)}, not a pair [speaker, text]")
    return text_of_value(item[0], where), text_of_value(item[1], where)


def require_text(utterances: Iterable[Utterance]) -> tuple[Utterance, ...]:
    """The utterances, if they hold any text at all."""
    result = tuple(utterances)
    if not any(utterance.text.strip() for utterance in result):
        raise BadRecord("no utterances: the dialogue is empty")
    return result


def other_keys(record: Record, *used: str) -> dict[str, JSON]:
    """What a record holds beside the keys already used: the dialogue's metadata."""
    return {key: value for key, value in record.items() if key not in used}


def text_of_value(value: JSON, where: str) -> str:
    """A value that is text."""
    if not isinstance(value, str):
        raise BadRecord(f"{where} holds {json_kind(value)}, not text")
    return value


def json_kind(value: JSON) -> str:
    """What a JSON value is, in the words of an error message."""
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false"}
    return "nothing (null)" if value is None else names.get(type(value), "a number")


def is_internal(turn: object) -> bool:
    """Whether a turn is a note that the customer does not see."""
    return isinstance(turn, Mapping) and any(
        isinstance(value, str | int)
        and folded_key(str(value)) in _INTERNAL.get(folded_key(str(key)), ())
        for key, value in turn.items()
    )


class RecordSelection:
    """Applies conditions to records (those that have the key) or to turns, and counts what goes."""

    def __init__(self, options: ReadOptions, report: ProblemReporter) -> None:
        self._report = report
        self._conditions = options.where
        self._notes_out = not options.internal_notes and all(
            folded_key(condition.key) not in _INTERNAL for condition in options.where
        )
        self._met: set[str] = set()
        self._keys: tuple[str, ...] = ()
        self._left: Counter[str] = Counter()

    def takes(self, record: Record) -> bool:
        """Whether a record that is one turn or row is to be read."""
        if self._notes_out and is_internal(record):
            self._report.leave_out(INTERNAL_NOTES)
            return False
        return self.turns(record, ()) is not None

    def turns(self, record: Record, turns: Sequence[JSON]) -> list[JSON] | None:
        """The turns of a record that are to be read; None: it is left out as a whole."""
        objects = [turn for turn in turns if isinstance(turn, dict)]
        of_turns = []
        is_taken = True
        for condition in self._conditions:
            is_here = has_path(record, condition.key)
            if not is_here and any(has_path(turn, condition.key) for turn in objects):
                of_turns.append(condition)
                self._met.add(condition.key)
                continue
            is_taken = is_taken and condition.holds(record)
            self._met.update([condition.key] * is_here)
            self._keys = self._keys or (() if is_here else tuple(record))
        if not is_taken:
            self._left["records"] += 1
            return None
        kept = [turn for turn in turns if not (self._notes_out and is_internal(turn))]
        self._report.leave_out(INTERNAL_NOTES, len(turns) - len(kept))
        chosen = [t for t in kept if not isinstance(t, dict) or all(c.holds(t) for c in of_turns)]
        self._left["turns"] += len(kept) - len(chosen)
        return chosen if chosen or not turns else None

    def tell(self) -> None:
        """Note what was left out, or raise a `DataError`: nothing has the key of a condition."""
        for condition in self._conditions:
            if condition.key not in self._met and self._keys:
                what = f"nothing has '{condition.key}' (found: {shortlist(self._keys)})"
                raise DataError(f"{self._report.file}: --where {condition}: {what}")
        asked = " ".join(f"--where {condition}" for condition in self._conditions)
        for what in ("records", "turns"):
            if self._left[what]:
                self._report.note(f"{counted(self._left[what], what)} left out by {asked}")


def dialogue_to_json(dialogue: Dialogue) -> dict[str, JSON]:
    """The dialogue as JSON that is read back unchanged; a role where no speaker says it."""
    turns: list[JSON] = []
    for u in dialogue.utterances:
        role = None if u.role == role_of(u.speaker) else u.role
        more: dict[str, JSON] = {"role": role, "start": u.start, "end": u.end}
        known = {name: value for name, value in more.items() if value is not None}
        turns.append({"speaker": u.speaker, "text": u.text, **known})
    rest: dict[str, JSON] = {
        "summaries": list(dialogue.references),
        "profile": dict(dialogue.profile),
        "metadata": dict(dialogue.metadata),
    }
    return {"id": dialogue.id, "turns": turns, **{key: rest[key] for key in rest if rest[key]}}


def dialogue_to_line(dialogue: Dialogue) -> str:
    """Return the dialogue as one line of JSON, without the line's end."""
    return json.dumps(dialogue_to_json(dialogue), ensure_ascii=False)


MOST_FIELDS = 50
_LONGEST_NAME, _LONGEST_VALUE = 64, 500  # characters


def profile_of(value: JSON) -> tuple[dict[str, str], dict[str, JSON]]:
    """The fields of a profile as text (lists with semicolons), and those that cannot be read."""
    fields: dict[str, str] = {}
    ignored: dict[str, JSON] = {}
    for name, field in value.items() if isinstance(value, dict) else ():
        text = _profile_text(field)
        is_named = bool(name.strip()) and name.isprintable() and len(name) <= _LONGEST_NAME
        if text and is_named and len(text) <= _LONGEST_VALUE and len(fields) < MOST_FIELDS:
            fields[name.strip()] = text
        else:
            ignored[name] = field
    return fields, ignored


def _profile_text(value: JSON) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        texts = [_profile_text(item) for item in value if not isinstance(item, list)]
        return "; ".join(texts) if all(texts) else ""
    return " ".join(str(value).split()) if isinstance(value, str | int | float) else ""
