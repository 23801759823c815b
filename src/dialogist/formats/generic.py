"""Anybody's JSON: the keys people use for turns, speakers, texts and summaries."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import chain, groupby, pairwise
from typing import NamedTuple

from dialogist.errors import DataError
from dialogist.formats.documents import message_text, plain_text
from dialogist.formats.fields import (
    KEYS,
    Record,
    RecordSelection,
    id_under,
    json_kind,
    missing_key,
    other_keys,
    profile_of,
    require_text,
    shortlist,
    text_pair,
    texts_under,
)
from dialogist.formats.json_records import JsonValue, convert_records, json_values
from dialogist.formats.read_options import (
    BadRecord,
    Dialogues,
    ProblemReporter,
    ReadOptions,
    has_path,
    value_at,
)
from dialogist.formats.source import Source
from dialogist.formats.speaker_lines import LINE_END, named_lines
from dialogist.language.roles import role_in_data, role_of
from dialogist.language.tokens import counted
from dialogist.records import JSON, PROFILE, Dialogue, Utterance

_NAMES = ("display_name", "displayName", "nickname", "real_name", "name", "username", "email", "id")
Columns = Mapping[str, str]


class RoleMessage(NamedTuple):
    """One utterance of a dialogue: where it stands in the file, and when it was written."""

    dialogue: str
    line: int
    utterance: Utterance
    time: str = ""
    summary: str = ""


def moment_of(text: str) -> float | None:
    """A time stamp as seconds, or None where it is none: a number, or ISO 8601."""
    for read in (float, lambda text: datetime.fromisoformat(text).timestamp()):
        try:
            return read(text.strip().removesuffix(" UTC"))
        except (ValueError, OverflowError, OSError):
            continue
    return None


def group_messages(
    messages: Iterator[RoleMessage],
    options: ReadOptions,
    report: ProblemReporter,
    refusal: str = "",
) -> Dialogues:
    """Put messages of one dialogue together and yield the dialogues as they first appeared.

    All messages are held in memory, unless they are known to be sorted by dialogue. ``refusal``
    is what to say if the ids turn out to be the messages' own.

    Raises:
        DataError: there is a ``refusal``, and no two messages have an id in common.
    """
    groups: Iterable[tuple[str, list[RoleMessage]]]
    if options.by_neighbours:
        groups = _neighbours(messages, report)
    else:
        held: dict[str, list[RoleMessage]] = {}
        for message in messages:
            held.setdefault(message.dialogue, []).append(message)
        if refusal and len(held) > 1 and all(len(group) == 1 for group in held.values()):
            raise DataError(f"{report.file}: {refusal}")
        groups = held.items()
    moved = single = count = 0
    for identity, group in groups:
        moments = [moment_of(message.time) for message in group]
        known = [moment for moment in moments if moment is not None]
        ordered = group
        if len(known) == len(moments) and any(a > b for a, b in pairwise(known)):
            ordered = [group[n] for n in sorted(range(len(known)), key=known.__getitem__)]
            moved += 1
        single += len(group) == 1
        count += 1
        summary = next((m.summary for m in group if m.summary), "")
        try:
            turns = require_text(message.utterance for message in ordered)
        except BadRecord as error:
            report(group[0].line, str(error))
            continue
        yield Dialogue(turns, id=identity, references=(summary,) if summary.strip() else ())
    if moved:
        report.note(f"{counted(moved, 'dialogues')} put in the order of the time stamps")
    if count > 1 and single == count:
        report.note(f"each of the {count} dialogues is a single message: is the id the dialogue's?")


def _neighbours(
    messages: Iterator[RoleMessage], report: ProblemReporter
) -> Iterator[tuple[str, list[RoleMessage]]]:
    """Groups of messages that follow each other; an id that comes back is a problem."""
    done: set[str] = set()
    for identity, run in groupby(messages, key=lambda message: message.dialogue):
        if identity not in done:
            done.add(identity)
            yield identity, list(run)
            continue
        for message in run:
            report(message.line, f"'{identity[:60]}' comes back: not sorted, read without --sorted")


def read_json(source: Source, options: ReadOptions, report: ProblemReporter) -> Dialogues:
    """Read records under whatever usual keys they have, or under those the options name.

    A record is a dialogue, or one message of the dialogue whose id it has.
    """
    selection = RecordSelection(options)
    values = json_values(source, report)
    first = next(values, None)
    if first is None:
        return
    values = chain([first], values)
    if isinstance(first.value, dict) and is_message(first.value, options.columns):
        key = next((key for key in (*KEYS["group"], *KEYS["own_id"]) if key in first.value), "")
        key = "" if options.one_dialogue else options.columns.get("id", key)
        is_own = key in KEYS["own_id"]
        refusal = id_refusal(first.value, key, options, source.name, is_own, is_table=False)
        messages = _messages(values, key, source.stem, options, selection, report)
        yield from group_messages(messages, options, report, refusal)
    elif options.one_dialogue and not first.alone:
        raise DataError(f"{source.name}: --one-dialogue, but each record is a dialogue of its own")
    else:

        def convert(record: Record) -> Dialogue | None:
            if is_message(record, options.columns):
                raise BadRecord("is one message, while the file's first record is a whole dialogue")
            return generic(record, options.columns, selection)

        yield from convert_records(values, source, convert, report)
    selection.tell(report)


def is_message(value: Record, columns: Columns) -> bool:
    """Whether a record is one message: a speaker and a text, or a text named by the options."""
    if "turns" in columns or "dialogue" in columns:
        return False
    if any(isinstance(value.get(key), list) for key in KEYS["turns"]):
        return False
    if "text" in columns:
        return True
    texts = (value[key] for key in KEYS["text"] if key in value)
    text = next((each for each in texts if isinstance(each, str)), None)
    has_speaker = "speaker" in columns or any(key in value for key in KEYS["speaker"])
    if text is None or not has_speaker:
        return False
    return len({turn.speaker for turn in named_lines(LINE_END.split(text))} - {""}) < 2


def generic(record: Record, columns: Columns, selection: RecordSelection) -> Dialogue | None:
    """Convert one record; None: it is not selected. Without turns it is a `BadRecord`."""
    key = _dialogue_key(record, columns)
    value = value_at(record, key)
    turns = value if isinstance(value, list) else []
    kept = selection.turns(record, turns)
    if kept is None:
        return None
    identity = _first(record, columns, "id")
    summary = _first(record, columns, "summary")
    used = {key.partition(".")[0], key, identity, summary}
    extra = record.get("metadata")
    if isinstance(extra, dict):
        used.add("metadata")
    profile, ignored = profile_of(record.get(PROFILE))
    if isinstance(record.get(PROFILE), dict):
        used.add(PROFILE)
    utterances = require_text(_utterances(kept or value, key, columns))
    as_read = (
        turn.values() if isinstance(turn, dict) else turn if isinstance(turn, list) else [turn]
        for turn in turns
    )
    return Dialogue(
        utterances,
        id=id_under({identity: value_at(record, identity)}, identity) if identity else "",
        references=texts_under({summary: value_at(record, summary)}, summary) if summary else (),
        metadata={
            **other_keys(record, *used),
            **(extra if isinstance(extra, dict) else {}),
            **({PROFILE: ignored} if ignored else {}),
        },
        profile=profile,
        is_verbatim=len(turns) == len(utterances)
        and all(u.text in held for u, held in zip(utterances, as_read, strict=True)),
    )


def id_refusal(
    found: Iterable[str], usual: str, options: ReadOptions, name: str, is_own: bool, is_table: bool
) -> str:
    """What to say if the ids of messages turn out to be their own (``is_own``: they may be).

    ``found`` are the keys or columns that are there, ``usual`` the one that names the dialogue.

    Raises:
        DataError: there is none.
    """
    message, place = ("row", "column") if is_table else ("message", "key")
    advice = (
        f"({place}s found: {shortlist(found)}); name the {place} with --column id=NAME, or give "
        "--one-dialogue if the whole file is one dialogue"
    )
    if options.one_dialogue:
        return ""
    if not usual:
        raise DataError(
            f"{name}: each {'row' if is_table else 'record'} is one message, but no {place} says "
            f"of which dialogue {advice}"
        )
    is_own = is_own and "id" not in options.columns
    return f"every {message} has its own '{usual}', so it is not the dialogue's {advice}" * is_own


def _messages(
    values: Iterator[JsonValue],
    key: str,
    stem: str,
    options: ReadOptions,
    selection: RecordSelection,
    report: ProblemReporter,
) -> Iterator[RoleMessage]:
    """Records as messages of the dialogue that stands under ``key``; without one, of ``stem``."""
    for line, value, _ in values:
        try:
            if not isinstance(value, dict):
                raise BadRecord(f"holds {json_kind(value)}, not an object of keys and values")
            if not selection.takes(value):
                continue
            identity = id_under({key: value_at(value, key)}, key) if key else stem
            if not identity:
                raise BadRecord(f"has no id under '{key}': it belongs to no dialogue")
            utterance = _utterance(value, "the message", options.columns)
        except BadRecord as error:
            report(line, str(error))
            continue
        time = next((value[each] for each in KEYS["time"] if each in value and each != key), "")
        is_time = isinstance(time, str | int | float)
        yield RoleMessage(identity, line, utterance, str(time) if is_time else "")


def _first(record: Record, columns: Columns, name: str) -> str:
    """The key mapped to ``name``, else the first usual one that is there, else nothing."""
    mapped = columns.get(name)
    if mapped is None:
        return next((key for key in KEYS[name] if key in record), "")
    if not has_path(record, mapped):
        raise missing_key(mapped, record)
    return mapped


def _dialogue_key(record: Record, columns: Columns) -> str:
    for name in ("turns", "dialogue"):
        if name in columns:
            return _first(record, columns, name)
    for kind, keys in ((list, KEYS["turns"]), (str, KEYS["dialogue"])):
        if key := next((key for key in keys if isinstance(record.get(key), kind)), None):
            return key
    for key in KEYS["turns"]:
        if key in record:
            raise BadRecord(f"key '{key}' holds {json_kind(record[key])}, not turns")
    raise missing_key("turns", record)


def _utterances(value: JSON, key: str, columns: Columns) -> list[Utterance]:
    if isinstance(value, str):
        return named_lines(LINE_END.split(plain_text(value)))
    if not isinstance(value, list):
        raise BadRecord(f"key '{key}' holds {json_kind(value)}, not turns")
    # A mapped speaker may be missing in some turns (of the system, say), but not in all.
    objects = [turn for turn in value if isinstance(turn, dict)]
    for name in ("speaker", "role"):
        mapped = columns.get(name)
        if mapped and objects and not any(has_path(turn, mapped) for turn in objects):
            raise missing_key(mapped, objects[0])
    return [_utterance(item, f"'{key}' item {n}", columns) for n, item in enumerate(value, 1)]


def _utterance(item: JSON, where: str, columns: Columns) -> Utterance:
    """A turn as ``[speaker, text]``, as an object, or as bare text without a speaker."""
    if isinstance(item, str):
        return Utterance("", item)
    if isinstance(item, list):
        speaker, text = text_pair(item, where)
        return Utterance(speaker, text, role_of(speaker))
    if not isinstance(item, dict):
        raise BadRecord(f"{where} is {json_kind(item)}, not a turn")
    text_key = _first(item, columns, "text")
    if not text_key:
        raise BadRecord(f"{where} has {missing_key('text', item)}")
    speaker_key = columns.get("speaker") or _first(item, {}, "speaker")
    speaker = name_of(value_at(item, speaker_key), speaker_key) if speaker_key else ""
    text = message_text(message_content(value_at(item, text_key), text_key))
    # A role given is kept as it is, even empty: so what we write is what we read.
    key = columns.get("role") or _first(item, {}, "role")
    role = value_at(item, key) if key else None
    if role is None:
        return Utterance(speaker, text, role_of(speaker))
    if not isinstance(role, str):
        raise BadRecord(f"key '{key}' holds {json_kind(role)}, not text")
    return Utterance(speaker, text, role_in_data(role) if key != "role" else role_of(role) or role)


def name_of(value: JSON, key: str) -> str:
    """A speaker's name: text, a number, or an object that describes the person."""
    if isinstance(value, dict):
        inner = value.get("user")  # as Microsoft Graph has it
        named = inner if isinstance(inner, dict) else value
        return next((id_under(named, each) for each in _NAMES if named.get(each)), "")
    return id_under({key: value}, key)


def message_content(value: JSON, key: str) -> str:
    """What was said: text, or the parts of a message, of which those that are no text are named."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and isinstance(value.get("content"), str):
        return str(value["content"])
    if not isinstance(value, list):
        raise BadRecord(f"key '{key}' holds {json_kind(value)}, not text")
    parts = []
    for item in value:
        if isinstance(item, dict):
            text, kind = item.get("text"), item.get("type")
            name = f"[{kind.removesuffix('_url')}]" if isinstance(kind, str) else ""
            parts.append(text if isinstance(text, str) else name)
        elif isinstance(item, str):
            parts.append(item)
        else:
            raise BadRecord(f"key '{key}' holds {json_kind(item)} among its parts")
    # Telegram writes pieces of one sentence, the others paragraphs.
    is_inline = any(isinstance(item, str) for item in value)
    return ("" if is_inline else "\n").join(parts).strip()
