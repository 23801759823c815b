"""Anybody's JSON: the keys people use for turns, speakers, texts and summaries."""

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import chain

from dialogist.data.readers.base import BadRecord, ReadOptions, Reporter
from dialogist.data.readers.fields import id_of, missing, pair, rest_of, said, texts_of
from dialogist.data.readers.groups import Message, grouped
from dialogist.data.readers.keys import (
    GROUPS,
    IDS,
    RECORD_IDS,
    ROLES,
    SPEAKERS,
    SUMMARIES,
    TEXT_KEYS,
    TEXTS,
    TIMES,
    TURN_KEYS,
    some,
)
from dialogist.data.readers.markup import plain_text
from dialogist.data.readers.parsing import Record
from dialogist.data.readers.roles import role_in_data, role_of
from dialogist.data.readers.rows import Value, converted, json_values, kind_of
from dialogist.data.readers.selection import Selection
from dialogist.data.readers.source import Source
from dialogist.data.readers.speaker_lines import LINE_END, named_lines
from dialogist.data.readers.where import value_at
from dialogist.errors import DataError
from dialogist.records import JSON, Dialogue, Utterance

_NAMES = ("display_name", "displayName", "nickname", "real_name", "name", "username", "email", "id")

Columns = Mapping[str, str]


def read_json(source: Source, options: ReadOptions, report: Reporter) -> Iterator[Dialogue]:
    """Read records under whatever usual keys they have, or under those the options name.

    A record is a dialogue, or one message of the dialogue whose id it has.
    """
    selection = Selection(options)
    values = json_values(source, report)
    first = next(values, None)
    if first is None:
        return
    values = chain([first], values)
    if isinstance(first.value, dict) and is_message(first.value, options.columns):
        yield from _from_messages(values, source, options, selection, report)
    elif options.one_dialogue and not first.alone:
        raise DataError(f"{source.name}: --one-dialogue, but each record is a dialogue of its own")
    else:
        convert = partial(_not_a_message, columns=options.columns, selection=selection)
        yield from converted(values, source, convert, report)
    selection.tell(report)


def is_message(value: Record, columns: Columns) -> bool:
    """Whether a record is one message: a speaker and a text, or a text named by the options."""
    if "turns" in columns or "dialogue" in columns:
        return False
    if any(isinstance(value.get(key), list) for key in TURN_KEYS):
        return False
    if "text" in columns:
        return True
    texts = (value[key] for key in TEXTS if key in value)
    text = next((each for each in texts if isinstance(each, str)), None)
    speaker = next((key for key in SPEAKERS if key in value), "")
    if text is None or not (speaker or "speaker" in columns):
        return False
    return len({turn.speaker for turn in named_lines(LINE_END.split(text))} - {""}) < 2


def _not_a_message(record: Record, columns: Columns, selection: Selection) -> Dialogue | None:
    if is_message(record, columns):
        raise BadRecord("is one message, while the file's first record is a whole dialogue")
    return generic(record, columns, selection)


def generic(record: Record, columns: Columns, selection: Selection) -> Dialogue | None:
    """Convert one record; None: it is not selected.

    Raises:
        BadRecord: there are no turns under any usual key, or they have another form.
    """
    key = _dialogue_key(record, columns)
    value = value_at(record, key).value
    turns = value if isinstance(value, list) else []
    if not selection.takes_whole(record, turns):
        return None
    kept = selection.turns(record, turns)
    if turns and not kept:
        return None
    identity = _first(record, columns, "id", IDS)
    summary = _first(record, columns, "summary", SUMMARIES)
    extra = record.get("metadata")
    used = {
        key.partition(".")[0],
        key,
        identity,
        summary,
        *(("metadata",) if isinstance(extra, dict) else ()),
    }
    return Dialogue(
        said(_utterances(kept or value, key, columns)),
        id=_id_at(record, identity) if identity else "",
        references=texts_of({summary: value_at(record, summary).value}, summary) if summary else (),
        metadata={**rest_of(record, *used), **(extra if isinstance(extra, dict) else {})},
    )


def _from_messages(
    values: Iterator[Value],
    source: Source,
    options: ReadOptions,
    selection: Selection,
    report: Reporter,
) -> Iterator[Dialogue]:
    """Records that are single messages, put together by the id of their dialogue.

    Raises:
        DataError: they do not say which dialogue they belong to.
    """
    first = next(values)
    assert isinstance(first.value, dict)
    key = source.stem if options.one_dialogue else _group_key(first.value, options.columns)
    advice = (
        f"(keys found: {some(first.value)}); name the key with --column id=KEY, or give "
        "--one-dialogue if the whole file is one dialogue"
    )
    if not key:
        raise DataError(
            f"{source.name}: each record is one message, but no key says of which dialogue {advice}"
        )
    own = not options.one_dialogue and "id" not in options.columns and key in RECORD_IDS
    refusal = f"every message has its own '{key}', so it is not the dialogue's {advice}"
    only = key if options.one_dialogue else ""
    messages = _messages(chain([first], values), (key, only), options.columns, selection, report)
    yield from grouped(messages, options, report, refusal if own else "")


def _group_key(record: Record, columns: Columns) -> str:
    if "id" in columns:
        return columns["id"]
    return next((key for key in (*GROUPS, *RECORD_IDS) if key in record), "")


def _messages(
    values: Iterator[Value],
    group: tuple[str, str],
    columns: Columns,
    selection: Selection,
    report: Reporter,
) -> Iterator[Message]:
    key, only = group
    for line, value, _ in values:
        try:
            if not isinstance(value, dict):
                raise BadRecord(f"holds {kind_of(value)}, not an object of keys and values")
            if not selection.takes(value):
                continue
            identity = only or _id_at(value, key)
            if not identity:
                raise BadRecord(f"has no id under '{key}': it belongs to no dialogue")
            utterance = _utterance(value, "the message", columns)
        except BadRecord as error:
            report(line, str(error))
            continue
        time = next((value[each] for each in TIMES if each in value and each != key), "")
        yield Message(
            identity, line, utterance, str(time) if isinstance(time, str | int | float) else ""
        )


def _first(record: Record, columns: Columns, name: str, usual: tuple[str, ...]) -> str:
    """The key mapped to ``name``, else the first usual one that is there, else nothing."""
    mapped = columns.get(name)
    if mapped is None:
        return next((key for key in usual if key in record), "")
    if not value_at(record, mapped).there:
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


def _id_at(record: Record, key: str) -> str:
    return id_of({key: value_at(record, key).value}, key)


def _utterances(value: JSON, key: str, columns: Columns) -> list[Utterance]:
    if isinstance(value, str):
        return named_lines(LINE_END.split(plain_text(value)))
    if isinstance(value, list):
        _require_mapped(value, columns)
        return [_utterance(item, f"'{key}' item {n}", columns) for n, item in enumerate(value, 1)]
    raise BadRecord(f"key '{key}' holds {kind_of(value)}, not turns")


def _require_mapped(turns: list[JSON], columns: Columns) -> None:
    """A mapped speaker may be missing in some turns (of the system, say), but not in all."""
    objects = [turn for turn in turns if isinstance(turn, dict)]
    for name in ("speaker", "role"):
        key = columns.get(name)
        if key and objects and not any(value_at(turn, key).there for turn in objects):
            raise missing(key, objects[0])


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
    speaker_key = columns.get("speaker") or _first(item, {}, "speaker", SPEAKERS)
    speaker = name_of(value_at(item, speaker_key).value, speaker_key) if speaker_key else ""
    text = content_of(value_at(item, text_key).value, text_key)
    # A role given is kept as it is, even empty: so what we write is what we read.
    role_key = columns.get("role") or _first(item, {}, "role", ROLES)
    return Utterance(speaker, plain_text(text), _role(item, role_key, speaker))


def name_of(value: JSON, key: str) -> str:
    """A speaker's name: text, a number, or an object that describes the person.

    Raises:
        BadRecord: it is anything else.
    """
    if isinstance(value, dict):
        inner = value.get("user")  # as Microsoft Graph has it
        named = inner if isinstance(inner, dict) else value
        return next((id_of(named, each) for each in _NAMES if named.get(each)), "")
    return id_of({key: value}, key)


def content_of(value: JSON, key: str) -> str:
    """What was said: text, or the parts of a message, of which those that are no text are named.

    Raises:
        BadRecord: it is anything else.
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and isinstance(value.get("content"), str):
        return str(value["content"])
    if isinstance(value, list):
        # Telegram writes pieces of one sentence, the others paragraphs.
        inline = any(isinstance(item, str) for item in value)
        return ("" if inline else "\n").join(_part(item, key) for item in value).strip()
    raise BadRecord(f"key '{key}' holds {kind_of(value)}, not text")


def _part(item: JSON, key: str) -> str:
    if isinstance(item, str):
        return item
    if not isinstance(item, dict):
        raise BadRecord(f"key '{key}' holds {kind_of(item)} among its parts")
    text = item.get("text")
    if isinstance(text, str):
        return text
    kind = item.get("type")
    return f"[{kind.removesuffix('_url')}]" if isinstance(kind, str) else ""


def _role(item: Record, key: str, speaker: str) -> str:
    value = value_at(item, key).value if key else None
    if value is None:
        return role_of(speaker)
    if not isinstance(value, str):
        raise BadRecord(f"key '{key}' holds {kind_of(value)}, not text")
    return role_in_data(value) if key != "role" else role_of(value) or value
