"""Anybody's JSON: the keys people use for turns, speakers, texts and summaries."""

from collections.abc import Iterator, Mapping
from functools import partial

from dialogist.data.readers.base import BadRecord, ReadOptions, Reporter
from dialogist.data.readers.fields import id_of, missing, pair, rest_of, said, text_of, texts_of
from dialogist.data.readers.parsing import Record
from dialogist.data.readers.roles import role_of
from dialogist.data.readers.rows import kind_of, read_records
from dialogist.data.readers.source import Source
from dialogist.data.readers.speaker_lines import LINE_END, named_lines
from dialogist.records import JSON, Dialogue, Utterance

TURN_KEYS = ("turns", "messages", "utterances", "conversation", "conversations", "dialogue")
TEXT_KEYS = ("dialogue", "transcript", "conversation", "text")
SPEAKERS = ("speaker", "role", "from", "name", "author", "sender", "user")
TEXTS = ("text", "content", "utterance", "message", "value", "body")
SUMMARIES = ("summary", "summaries", "reference", "references")
IDS = ("id", "fname", "dialogue_id", "conversation_id", "session_id")

Columns = Mapping[str, str]


def read_json(source: Source, options: ReadOptions, report: Reporter) -> Iterator[Dialogue]:
    """Read records under whatever usual keys they have, or under those the options name."""
    return read_records(source, partial(generic, columns=options.columns), report)


def generic(record: Record, columns: Columns) -> Dialogue:
    """Convert one record.

    Raises:
        BadRecord: there are no turns under any usual key, or they have another form.
    """
    key = _dialogue_key(record, columns)
    identity = _first(record, columns, "id", IDS)
    summary = _first(record, columns, "summary", SUMMARIES)
    extra = record.get("metadata")
    used = {key, identity, summary, *(("metadata",) if isinstance(extra, dict) else ())}
    return Dialogue(
        said(_utterances(record[key], key, columns)),
        id=id_of(record, identity) if identity else "",
        references=texts_of(record, summary) if summary else (),
        metadata={**rest_of(record, *used), **(extra if isinstance(extra, dict) else {})},
    )


def _first(record: Record, columns: Columns, name: str, usual: tuple[str, ...]) -> str:
    """The key mapped to ``name``, else the first usual one that is there, else nothing."""
    mapped = columns.get(name)
    if mapped is None:
        return next((key for key in usual if key in record), "")
    if mapped not in record:
        raise missing(mapped, record)
    return mapped


def _dialogue_key(record: Record, columns: Columns) -> str:
    for name in ("turns", "dialogue"):
        if name in columns:
            return _first(record, columns, name, ())
    for key in TURN_KEYS:
        if isinstance(record.get(key), list):
            return key
    for key in TEXT_KEYS:
        if isinstance(record.get(key), str):
            return key
    raise missing("turns", record)


def _utterances(value: JSON, key: str, columns: Columns) -> list[Utterance]:
    if isinstance(value, str):
        return named_lines(LINE_END.split(value))
    if isinstance(value, list):
        return [_utterance(item, f"'{key}' item {n}", columns) for n, item in enumerate(value, 1)]
    raise BadRecord(f"key '{key}' holds {kind_of(value)}, not turns")


def _utterance(item: JSON, where: str, columns: Columns) -> Utterance:
    """A turn as ``[speaker, text]``, as an object, or as bare text without a speaker."""
    if isinstance(item, str):
        return Utterance("", item)
    if isinstance(item, list):
        speaker, text = pair(item, where)
        return Utterance(speaker, text, role_of(speaker))
    if not isinstance(item, dict):
        raise BadRecord(f"{where} is {kind_of(item)}, not a turn")
    text_key = _first(item, columns, "text", TEXTS)
    if not text_key:
        raise BadRecord(f"{where} has {missing('text', item)}")
    speaker_key = _first(item, columns, "speaker", SPEAKERS)
    speaker = id_of(item, speaker_key) if speaker_key else ""
    role_key = _first(item, columns, "role", ("role",))
    # A role given is kept as it is, even empty: so what we write is what we read.
    role = _role(item, role_key, speaker)
    return Utterance(speaker, text_of(item, text_key), role)


def _role(item: Record, key: str, speaker: str) -> str:
    if not key or item[key] is None:
        return role_of(speaker)
    role = text_of(item, key)
    return role_of(role) or role
