"""Anybody's JSON: the keys people use for turns, speakers, texts and summaries."""

from collections import ChainMap, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from itertools import chain, groupby, islice
from pkgutil import resolve_name
from typing import Any, NamedTuple

from dialogist.errors import DataError
from dialogist.formats import fields, json_records, read_options
from dialogist.formats.fields import KEYS, Record, RecordSelection, id_under, json_kind, keys_of
from dialogist.formats.json_records import JsonValue, Program, programs
from dialogist.formats.read_options import BadRecord, Dialogues, ProblemReporter, ReadOptions
from dialogist.formats.source import Source
from dialogist.formats.speaker_lines import named_lines
from dialogist.formats.turns import Participants, TurnReader, has_text, in_order, unwrapped
from dialogist.language.tokens import LINE_END, counted, listed
from dialogist.records import JSON, PROFILE, Dialogue, Utterance

_FACTS = listed("subject title status state priority tags channel created_at language name")
"""What is kept of a program's record beside its turns."""
_OURS = {"id", "turns", "summaries", "profile", "metadata"}
"""The keys of a record that Dialogist writes."""
_WEAK = ("name", "type", "channel")  # keys that alone make nothing a turn
_AHEAD = 20  # records that are looked at to tell messages from dialogues


class RoleMessage(NamedTuple):
    """One utterance of a dialogue, and where it stands in the file."""

    dialogue: str
    line: int
    utterance: Utterance
    summary: str = ""
    number: int | None = None


def group_messages(
    messages: Iterator[RoleMessage],
    options: ReadOptions,
    report: ProblemReporter,
    refusal: str = "",
    reader: TurnReader | None = None,
) -> Dialogues:
    """Put messages of one dialogue together and yield the dialogues as they first appeared.

    Messages that are not sorted are held in memory. ``refusal``: the `DataError` if no two have
    an id in common.
    """
    held: dict[str, list[RoleMessage]] = {}
    for message in () if options.by_neighbours else messages:
        held.setdefault(message.dialogue, []).append(message)
    if refusal and len(held) > 1 and all(len(group) == 1 for group in held.values()):
        raise DataError(f"{report.file}: {refusal}")
    groups = _neighbours(messages, report) if options.by_neighbours else iter(held.items())
    moved = single = count = 0
    for identity, group in groups:
        utterances = [message.utterance for message in group]
        if len({message.number for message in group} - {None}) == len(group):
            group.sort(key=lambda message: message.number or 0)
        ordered = in_order([m.utterance for m in group], reader.program.order if reader else "time")
        moved += ordered != utterances
        single += len(group) == 1
        count += 1
        summary = next((m.summary for m in group if m.summary), "")
        try:
            turns = fields.require_text(reader.finished(ordered) if reader else ordered)
        except BadRecord as error:
            report(group[0].line, str(error))
            continue
        yield Dialogue(turns, id=identity, references=(summary,) if summary.strip() else ())
    if moved:
        report.note(f"{counted(moved, 'dialogues')} put in the order of the time stamps or numbers")
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
    """Read dialogues, lists of them, or messages of the dialogue whose id each has."""
    program = programs()[options.format] if options.format in programs() else Program()
    selection = RecordSelection(options, report)
    reader = TurnReader(
        {**program.columns, **options.columns}, program, report.leave_out, options.internal_notes
    )
    values = json_records.json_values(source, report)
    ahead = list(islice(values, 1))
    if not ahead:
        return
    first = ahead[0].value
    is_by_message = isinstance(first, dict) and is_message(first, reader.columns)
    if isinstance(first, dict) and not is_by_message and not _holds_turns(first, reader):
        ahead += islice(values, _AHEAD)
        records = [value.value for value in ahead if isinstance(value.value, dict)]
        has_messages = any(is_message(record, reader.columns) for record in records)
        is_by_message = has_messages and not any(_holds_turns(r, reader) for r in records)
    values = chain(ahead, values)
    if is_by_message:
        yield from _messages_in(values, source, options, selection, reader, report)
    elif options.one_dialogue and not ahead[0].alone:
        raise DataError(f"{source.name}: --one-dialogue, but each record is a dialogue of its own")
    else:
        conversations = _conversations(values, reader)
        convert = partial(generic, reader=reader, selection=selection)
        yield from json_records.convert_records(conversations, source, convert, report)
    selection.tell()


def _conversations(values: Iterator[JsonValue], reader: TurnReader) -> Iterator[JsonValue]:
    """Each conversation of each value; the reader learns of the people whom the whole knows."""
    for value in values:
        whole: Any = value.value
        path = reader.program.dialogues
        if isinstance(whole, dict) and not reader.program.doc and not _usual_key(whole):
            path = find_turns(whole)[0]
        inner = turns_at(whole, path) if path and isinstance(whole, dict) else None
        reader.shared = Participants()
        if inner is None:
            yield value
            continue
        reader.shared.learn(whole)
        for item in inner:
            yield value._replace(value=item, alone=value.alone and len(inner) == 1)


def turns_at(
    record: Record, paths: str, accepts: Callable[[Any], bool] | None = None
) -> list[Any] | None:
    """The items of the first path with any that are accepted.

    A step is a key, a place in a list, or ``*`` for all values; a list stands for all its items.
    """
    empty = None
    for path in paths.split(" | "):
        values: list[Any] = [record]
        for step in path.split("."):
            if step.isdecimal():
                lists = [v for v in values if isinstance(v, list) and int(step) < len(v)]
                values = [v[int(step)] for v in lists]
                continue
            each = chain.from_iterable(v if isinstance(v, list) else [v] for v in values)
            inner = [i for i in each if isinstance(i, dict) and (step == "*" or step in i)]
            values = [v for i in inner for v in (i.values() if step == "*" else [i[step]])]
        if path.endswith("*"):
            return values
        lists = [v for v in map(as_list, values) if isinstance(v, list)]
        items = [*chain.from_iterable(lists)]
        if any(accepts(item) for item in items) if accepts else items:
            return items
        empty = items if lists else empty
    return empty


def as_list(value: Any) -> Any:
    """A value, or the JSON that it holds as text; objects under ids are a list of them."""
    if isinstance(value, str) and value[:1] in ("[", "{"):
        with suppress(json_records.NotParsed):
            value = json_records.parse_line(value)
    inner = [*value.values()] if isinstance(value, dict) else []
    return inner if inner and all(isinstance(v, dict) for v in inner) else value


_SEEN, _SAMPLE = 5_000, 20  # values and items that are looked at
_DEEPEST = 6


def find_turns(record: Record) -> tuple[str, str]:
    """The paths of a list of conversations and of the turns in one; empty where there are none."""
    places: deque[tuple[str, str, JSON]] = deque([("", "", dict(record))])
    for _ in range(_SEEN):
        if not places:
            break
        dialogues, path, value = places.popleft()
        if path.count(".") >= _DEEPEST:
            continue
        if isinstance(value, dict):
            for key, inner in value.items():
                if "." not in key and isinstance(inner, dict | list) and inner:
                    places.append((dialogues, f"{path}.{key}".strip("."), inner))
        elif isinstance(value, list):
            items = [item for item in value[:_SAMPLE] if isinstance(item, dict)]
            turns = sum(_is_turn(item) for item in items)
            if items and 2 * turns >= len(items):
                return dialogues, path
            if items and not dialogues:
                places.append((path, "", items[0]))
    return "", ""


def _is_turn(item: Record) -> bool:
    item = unwrapped(item)
    has_pieces = any(isinstance(item[key], list) for key in keys_of(item, "pieces"))
    who = [key for key in keys_of(item, "speaker") if key not in _WEAK]
    marks = who or keys_of(item, "start") or keys_of(item, "time")
    return bool(marks) and (has_text(item) or has_pieces)


def _usual_key(record: Record) -> str:
    """The usual key of turns that a record has; empty where there is none."""
    for key in keys_of(record, "turns"):
        if isinstance(value := record[key], list):  # of turns, or of conversations with some
            items = [item for item in value[:_SAMPLE] if isinstance(item, dict)]
            inner = [any(isinstance(i[k], list) for k in keys_of(i, "turns")) for i in items]
            if not items or not all(inner) or any(map(_is_turn, items)):
                return key
    return next((k for k in keys_of(record, "dialogue") if isinstance(record[k], str)), "")


def _holds_turns(record: Record, reader: TurnReader) -> bool:
    program = reader.program
    paths = " | ".join(filter(None, (program.dialogues, program.turns, program.words)))
    is_told = program.prepare or reader.columns.keys() & {"turns", "dialogue"}
    has_turns = is_told or (paths and turns_at(record, paths))
    return bool(has_turns) or isinstance(record.get(_usual_key(record)), list)


def is_message(value: Record, columns: read_options.Columns) -> bool:
    """Whether a record is one message: a speaker and a text, or a text named by the options."""
    if "turns" in columns or "dialogue" in columns:
        return False
    value = unwrapped(value)
    if any(isinstance(value[key], list) for key in keys_of(value, "turns")):
        return False
    if columns.get("text"):
        return read_options.has_path(value, columns["text"])
    mapped = columns.get("speaker")
    usual = keys_of(value, "speaker") or keys_of(value, "start")
    has_speaker = read_options.has_path(value, mapped) if mapped else bool(usual)
    if not has_speaker or not (has_text(value) or isinstance(value.get("words"), list)):
        return False
    text = next((t for key in keys_of(value, "text") if isinstance(t := value[key], str) and t), "")
    return len({turn.speaker for turn in named_lines(LINE_END.split(text))} - {""}) < 2


def generic(record: Record, reader: TurnReader, selection: RecordSelection) -> Dialogue | None:
    """Convert one record; None: it is not selected. Without turns it is a `BadRecord`."""
    program, columns = reader.program, reader.columns
    if is_message(record, columns):
        raise BadRecord("is one message, while the file's first record is a whole dialogue")
    if program.prepare:
        record = resolve_name(f"dialogist.formats.exports:{program.prepare}")(record)

    def is_told(turn: Any) -> bool:
        return not (isinstance(turn, dict) and reader.left_out(turn))

    words = turns_at(record, program.words or WORDS) or []
    is_known = bool(program.turns) and "turns" not in columns
    turns = turns_at(record, program.turns, is_told) if is_known else None
    is_spoken = bool(words) and (not turns or (program.tagged and any(map(_is_tagged, words))))
    key = program.turns
    value: Any = turns
    channels = turns_at(record, program.one_channel) if program.one_channel and not turns else None
    if channels and len(channels) > 1:
        raise BadRecord(f"{len(channels)} channels and no utterances: ask for utterances=true")
    if is_spoken:
        value = [w for w in words if not program.tagged or _is_tagged(w)]
        texts = (unwrapped(t).get("transcript") for t in turns or () if isinstance(t, dict))
        missing = sum(len(text.split()) for text in texts if isinstance(text, str)) - len(value)
        reader.leave_out("words without a speaker", max(0, missing) * program.tagged)
    elif turns is None or not (turns or program.instead):
        record, key, value = _located(record, columns)
    if isinstance(value, list):
        value = [*_opening(record, program, key, value), *value]
    kept = selection.turns(record, value if isinstance(value, list) else [])
    if kept is None:
        return None
    reader.people = Participants(ChainMap({}, reader.shared.known))
    reader.people.learn(record)
    if isinstance(value, str):
        utterances = reader.read(value, key)
    elif is_spoken:
        utterances = reader.finished(reader.spoken(kept))
    elif value and not kept:
        raise BadRecord("no utterances: nothing but internal notes")
    else:
        objects = [turn for turn in kept if isinstance(turn, dict)]
        for mapped in filter(None, map(columns.get, () if program.doc else ("speaker", "role"))):
            # It may be missing in some turns (of the system, say), but not in all.
            if objects and not any(read_options.has_path(turn, mapped) for turn in objects):
                raise fields.missing_key(mapped, objects[0])
        is_ours = "id" in record and {"turns"} <= record.keys() <= _OURS
        utterances = reader.read(kept, key, is_ours)
    return _dialogue(record, key, value, utterances, reader)


WORDS = "<words>"
"""The key under which a prepared record has single words."""


def _is_tagged(word: Any) -> bool:
    return isinstance(word, dict) and any(
        word[key] for key in keys_of(word, "speaker") if "peaker" in key
    )


def _opening(record: Record, program: Program, key: str, turns: list[Any]) -> list[Any]:
    """What a conversation was opened with, where it stands beside its turns."""
    created = record.get("created_at")
    for path in [*program.opening.split(), *(program.instead.split() if not turns else [])]:
        value = record.get(path) if path != key else None
        if isinstance(value, list | dict):
            return value if isinstance(value, list) else [{"created_at": created, **value}]
        if isinstance(value, str) and value.strip():
            by = {"author_id": record.get("requester_id"), "role": "user" if program.llm else None}
            return [{**by, "body": value, "date": created}]
    return []


def _asked(record: Record, path: list[str], turns: Any) -> dict[str, JSON]:
    """What comments are made on, as a turn, under its key beside their list or around it."""
    whole: dict[str, Any] = dict(record)
    for step in path[:-1]:
        whole |= whole[step]
    found = (next(filter(whole.get, keys_of(whole, part)), "") for part in ("asker", "asked"))
    who, key = found if keys_of(path, "answers") else ("", "")
    if not (who and key) or any(_holds(turn, whole[key]) for turn in turns[:1]):
        return {}
    times = {k: whole[k] for k in keys_of(whole, "time")}
    return {key: {**times, "author": whole[who], "body": whole[key]}}


def _located(record: Record, columns: read_options.Columns) -> tuple[Record, str, JSON]:
    """The record, the key and the value of its turns; a nested list is brought to the top."""
    for name in ("turns", "dialogue"):
        if name in columns:
            key = _first(record, columns, name)
            value = read_options.value_at(record, key)
            if not isinstance(value, list | str):
                raise BadRecord(f"key '{key}' holds {json_kind(value)}, not turns")
            return record, key, value
    key = _usual_key(record)
    is_beside = key in ("text", "transcript") and isinstance(record[key], str)
    path = find_turns(record)[1] if not key or (is_beside and not find_turns(record)[0]) else ""
    if not (key or path):
        for key in keys_of(record, "turns"):
            raise BadRecord(f"key '{key}' holds {json_kind(record[key])}, not turns")
        raise fields.missing_key("turns", record)
    *above, key = path.split(".") if path else [key]
    inner = read_options.value_at(record, ".".join(above)) if above else record
    whole = {**fields.other_keys(record, above[0]), **inner} if above else record
    turns: Any = inner[key]
    asked = {} if columns else _asked(record, [*above, key], turns)
    return fields.other_keys(whole, *asked), key, [*asked.values(), *turns] if asked else turns


def _dialogue(
    record: Record, key: str, value: Any, utterances: list[Utterance], reader: TurnReader
) -> Dialogue:
    """The dialogue of utterances, with what else its record says."""
    columns, is_program = reader.columns, bool(reader.program.doc)
    turns = value if isinstance(value, list) else []
    is_there = not is_program or read_options.has_path(record, columns.get("id", ""))
    identity = _first(record, columns if is_there else {}, "id")
    summary = "" if is_program else _first(record, columns, "summary")
    profile, ignored = fields.profile_of(record.get(PROFILE))
    facts: dict[str, JSON] = {
        k: v for k in _FACTS if isinstance(v := record.get(k), str | int | float | list)
    }
    if not is_program:
        inner = [name for name in ("metadata", PROFILE) if isinstance(record.get(name), dict)]
        facts = fields.other_keys(record, key.partition(".")[0], key, identity, summary, *inner)
        extra = record.get("metadata")
        facts |= extra if isinstance(extra, dict) else {}
        facts |= {PROFILE: ignored} if ignored else {}
    kept = fields.require_text(utterances)
    return Dialogue(
        kept,
        id=id_under(record, identity),
        references=fields.texts_under(record, summary) if summary else (),
        metadata=facts,
        profile=profile,
        is_verbatim=len(turns) == len(kept) and all(map(_holds, turns, (u.text for u in kept))),
    )


def _holds(turn: Any, text: JSON) -> bool:
    """Whether a turn as it was read has a text."""
    texts = turn.values() if isinstance(turn, dict) else turn if isinstance(turn, list) else [turn]
    return text in texts


def id_refusal(
    keys: Iterable[str], usual: str, options: ReadOptions, name: str, is_own: bool, is_table: bool
) -> str:
    """What to say if the ids of messages (``usual``, of their ``keys``) prove to be their own."""
    names = ("row", "row", "column") if is_table else ("record", "message", "key")
    record, message, place = names
    advice = (
        f"({place}s found: {fields.shortlist(keys)}); name the {place} with --column id=NAME, or "
        "give --one-dialogue if the whole file is one dialogue"
    )
    if not usual:
        what = f"each {record} is one message, but no {place} says of which dialogue"
        raise DataError(f"{name}: {what} {advice}")
    is_own = is_own and "id" not in options.columns
    return f"every {message} has its own '{usual}', so it is not the dialogue's {advice}" * is_own


def _messages_in(
    values: Iterator[JsonValue],
    source: Source,
    options: ReadOptions,
    selection: RecordSelection,
    reader: TurnReader,
    report: ProblemReporter,
) -> Dialogues:
    """Records as messages of the dialogue that each names; those of one array may name none."""
    held = next(values)
    values = chain([held], values)
    record = unwrapped(held.value) if isinstance(held.value, dict) else {}
    usual = [key for name in ("group", "own_id") for key in keys_of(record, name)]
    key = reader.columns.get("id", next(iter(usual), ""))
    is_own = key in KEYS["own_id"]
    if held.listed and is_own and "id" not in options.columns:
        everything = list(values)
        values = iter(everything)
        ids = [str(v.value.get(key)) for v in everything if isinstance(v.value, dict)]
        is_own = len(set(ids)) == len(ids)
        key = "" if is_own else key
    is_one = options.one_dialogue or (held.listed and not key) or reader.columns.get("id") == ""
    key = "" if is_one else key
    name = source.name
    refusal = "" if is_one else id_refusal(record, key, options, name, is_own, is_table=False)

    def messages() -> Iterator[RoleMessage]:
        for line, value, _, is_listed in values:
            try:
                if not isinstance(value, dict):
                    raise BadRecord(f"holds {json_kind(value)}, not an object of keys and values")
                item = unwrapped(value)
                if not selection.takes(item):
                    continue
                inner = read_options.value_at(item, key)  # of an object there, its own id
                where = (inner, "id") if isinstance(inner, dict) else (item, key)
                identity = id_under(*where) if key else source.stem
                number = fields.number_of(item)
                utterances = reader.turn(item, "the message")
            except BadRecord as error:
                if (reader.program.doc or is_listed) and isinstance(value, dict):
                    report.leave_out("items without text")
                else:
                    report(line, str(error))
                continue
            if utterances and not identity:
                report(line, f"has no id under '{key}': it belongs to no dialogue")
                continue
            yield from (RoleMessage(identity, line, u, number=number) for u in utterances)

    yield from group_messages(messages(), options, report, refusal, reader)


def _first(record: Record, columns: read_options.Columns, name: str) -> str:
    """The key mapped to ``name``, else the first usual one that is there, else nothing."""
    mapped = columns.get(name)
    if mapped is None:
        usual = keys_of(record, name)
        return next((k for k in usual if name != "id" or isinstance(record[k], str | int)), "")
    if mapped and not read_options.has_path(record, mapped):
        raise fields.missing_key(mapped, record)
    return mapped
