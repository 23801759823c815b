"""Exports with a shape of their own: Slack's folders, SMS as XML, and what is prepared.

A function that is named under ``prepare`` in assets/formats/programs.yaml takes a record of a
program and gives it turns under usual keys, or single words.
"""

import html
import json
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, groupby
from pathlib import Path
from typing import Any

from dialogist.errors import DataError
from dialogist.formats.fields import RecordSelection, id_under, json_kind, list_under, objects_under
from dialogist.formats.generic import WORDS, RoleMessage, group_messages, turns_at
from dialogist.formats.json_records import Program, json_values
from dialogist.formats.read_options import BadRecord, Dialogues, ProblemReporter, ReadOptions
from dialogist.formats.source import Source, open_source
from dialogist.formats.turns import Participants, Person, TurnReader, as_seconds, person_of
from dialogist.records import JSON, Utterance

_USERS = "users.json"
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_MENTION = re.compile(r"<(?P<sign>[@#!]?)(?P<target>[^<>|]{1,500})(?:\|(?P<label>[^<>]{0,500}))?>")


_Post = tuple[str, str, int, JSON]
"""The channel, the day and the line of a record, and what it holds."""


def read_slack(source: Source, options: ReadOptions, report: ProblemReporter) -> Dialogues:
    """Read one file of an export: a dialogue for each thread, and one for what is left."""
    day = source.stem.rpartition("/")[2]
    folder = source.path.parent if source.path is not None else None
    channel = folder.name if folder is not None and _DAY.fullmatch(day) else ""
    posts = ((channel, day, line, value) for line, value, *_ in json_values(source, report))
    users = _users(folder, folder.parent) if folder is not None else []
    yield from _threads(posts, users, source.stem, options, report)


def is_slack_export(folder: Path) -> bool:
    """Whether a folder is an export: users, and at least one folder of days."""
    return (folder / _USERS).is_file() and bool(_days(folder))


def read_slack_folder(folder: Path, options: ReadOptions, report: ProblemReporter) -> Dialogues:
    """Read an export channel by channel; threads are whole even if they last for days."""
    for _, days in groupby(sorted(_days(folder)), key=lambda day: day.parent):
        posts = chain.from_iterable(_posts(day, options, report) for day in days)
        yield from _threads(posts, _users(folder), folder.name, options, report)


def _days(folder: Path) -> list[Path]:
    return [day for day in folder.glob("*/*.json") if _DAY.fullmatch(day.stem)]


def _posts(day: Path, options: ReadOptions, report: ProblemReporter) -> Iterator[_Post]:
    of_file = replace(report, file=str(day), left_out=Counter())
    try:
        for line, value, *_ in json_values(open_source(day, options.encoding), of_file):
            yield day.parent.name, day.stem, line, value
    except DataError as error:
        if report.strict:
            raise
        of_file(0, str(error).removeprefix(f"{day}: "))


def _users(*folders: Path) -> list[Any]:
    """What the first of the folders that has a list of users knows of them."""
    path = next((f / _USERS for f in folders if (f / _USERS).is_file()), None)
    try:
        users = json.loads(path.read_text("utf-8")) if path else []
    except (ValueError, OSError, RecursionError):
        return []
    return users if isinstance(users, list) else []


def _threads(
    posts: Iterable[_Post],
    users: list[Any],
    stem: str,
    options: ReadOptions,
    report: ProblemReporter,
) -> Dialogues:
    """The dialogues of posts: each thread, and the rest of each day."""
    selection = RecordSelection(options, report)
    reader = TurnReader({}, Program(), report.leave_out)
    reader.people.learn({"users": users})
    kept: list[tuple[str, str, int, list[Utterance], str]] = []
    threads: set[str] = set()
    for channel, day, line, value in posts:
        try:
            if not isinstance(value, dict):
                raise BadRecord(f"holds {json_kind(value)}, not a message")
            if not selection.takes(value):
                continue
            id_under(value, "user")
            stamp, thread = id_under(value, "ts"), id_under(value, "thread_ts")
            turns = reader.turn(_worded(value, reader.people), "the message")
        except BadRecord as error:
            report(line, str(error))
            continue
        kept.append((channel, day, line, [u for u in turns if u.text], thread or stamp))
        if thread and thread != stamp:
            threads.add(thread)

    def messages() -> Iterator[RoleMessage]:
        for channel, day, line, utterances, thread in kept:
            place = thread if thread in threads else day
            identity = f"{channel}/{place}" if channel else f"{stem}:{place}"
            if options.one_dialogue or (place == day and not channel):
                identity = stem
            yield from (RoleMessage(identity, line, utterance) for utterance in utterances)

    yield from group_messages(messages(), options, report)
    selection.tell()


def _worded(message: dict[str, Any], people: Participants) -> dict[str, Any]:
    """A message with links and who is mentioned in words, and with its author's name."""

    def in_words(match: re.Match[str]) -> str:
        sign, target, label = match["sign"], match["target"], match["label"]
        if sign == "@":
            return f"@{people.known.get(target, Person()).name or label or target}"
        return f"{'#' if sign == '#' else ''}{label or target}"

    profile = message.get("user_profile") or message.get("bot_profile")
    author = message.get("user") or message.get("username") or "bot"
    if str(author) not in people.known and isinstance(profile, dict):
        author = person_of(profile).name or author
    text = message.get("text")
    text = html.unescape(_MENTION.sub(in_words, text)) if isinstance(text, str) else ""
    return {**message, "text": text, "user": author, "username": None}


# Programs.


def slack_messages(record: dict[str, Any]) -> dict[str, Any]:
    """An answer of Slack's API, or a channel of Slackdump."""
    people = Participants()
    people.learn(record)
    messages = []
    for message in list_under(record, "messages"):
        if isinstance(message, dict):
            replies = message.get("slackdump_thread_replies") or ()
            messages.append({**_worded(message, people), "slackdump_thread_replies": None})
            messages += [_worded(r, people) for r in replies if isinstance(r, dict)]  # type: ignore[union-attr]
    return {**record, "messages": messages}


def edits(record: dict[str, Any]) -> dict[str, Any]:
    """Events of a Matrix room: what is edited has its last text, and people their names."""
    events: Any = record.get("messages") or record.get("chunk") or []
    texts, names = {}, {}
    messages = [dict(event) for event in events if isinstance(event, dict)]
    for event in messages:
        content = _object(event.get("content"))
        relation = _object(content.get("m.relates_to"))
        if relation.get("rel_type") == "m.replace":
            texts[str(relation.get("event_id"))] = content.get("m.new_content")
            event["type"] = "edit"
        names[str(event.get("state_key"))] = content.get("displayname")
    for event in messages:
        sender = str(event.get("sender") or "")
        event["sender"] = names.get(sender) or sender.partition(":")[0].lstrip("@")
        event["content"] = texts.get(str(event.get("event_id")), event.get("content"))
    return {**record, "messages": messages}


def branch(record: dict[str, Any]) -> dict[str, Any]:
    """The branch of a tree of messages that somebody last looked at."""
    whole = {**record, **_object(record.get("chat"))}
    history = _object(whole.get("history"))
    tree = history.get("messages") or whole.get("mapping")
    if not isinstance(tree, dict):
        return whole
    here = whole.get("current_node") or history.get("currentId") or next(reversed(tree), "")
    path: list[Any] = []
    while isinstance(here, str) and isinstance(node := tree.pop(here, None), dict):
        message = node.get("message", node)
        if isinstance(message, dict):
            kind = _object(message.get("content")).get("content_type", "text")
            is_text = kind in ("text", "multimodal_text")
            is_said = is_text and message.get("recipient") in ("all", None)
            facts = _object(message.get("metadata"))
            if not facts.get("is_visually_hidden_from_conversation"):
                path.append({**message, "type": "message" if is_said else "tool"})
        here = node.get("parent") or node.get("parentId")
    rest = {k: v for k, v in whole.items() if k not in ("mapping", "history")}
    return {**rest, "messages": path[::-1]}


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def turns_of_pairs(record: dict[str, Any]) -> dict[str, Any]:
    """Speakers in one list, what they say in another."""
    speakers, texts = list_under(record, "speaker"), list_under(record, "utt")
    if len(speakers) != len(texts):
        raise BadRecord(f"'speaker' has {len(speakers)} items, 'utt' {len(texts)}")
    rest = {key: value for key, value in record.items() if key not in ("speaker", "utt")}
    return {**rest, "turns": [list(pair) for pair in zip(speakers, texts, strict=True)]}


_PAUSE = 0.7  # seconds of silence in a channel, after which another may come first


def transcribe(record: dict[str, Any]) -> dict[str, Any]:
    """A job of Amazon Transcribe: its segments with speakers, the words of its channels, or all."""
    results = record.get("results")
    if not isinstance(results, dict):
        raise BadRecord("key 'results' holds no transcription")
    named = {"id": id_under(record, "jobName")}
    segments = results.get("audio_segments")
    segments = list(map(_object, segments)) if isinstance(segments, list) else []
    if any(s.get("speaker_label") for s in segments):
        return {**named, "turns": [{**s, "items": []} for s in segments if s]}
    if isinstance(labels := results.get("channel_labels"), dict):
        phrases: list[list[dict[str, Any]]] = []
        for channel in objects_under(labels, "channels"):
            ended = float("-inf")
            for item in objects_under(channel, "items"):
                start = as_seconds(item.get("start_time"))
                if start is not None and start - ended > _PAUSE:
                    phrases.append([])
                ended = as_seconds(item.get("end_time")) or ended
                if phrases:
                    phrases[-1].append({**item, "speaker_label": channel.get("channel_label")})
        phrases.sort(key=lambda phrase: as_seconds(phrase[0].get("start_time")) or 0)
        return {**named, WORDS: [word for phrase in phrases for word in phrase]}
    labels = _object(results.get("speaker_labels"))
    segments = objects_under(labels, "segments") if labels else []
    items = chain.from_iterable(objects_under(segment, "items") for segment in segments)
    by_time = {str(item.get("start_time")): item.get("speaker_label") for item in items}
    words = [
        {"speaker_label": by_time.get(str(item.get("start_time"))), **item}
        for item in objects_under(results, "items")
    ]
    return {**named, WORDS: words}


def watson(record: dict[str, Any]) -> dict[str, Any]:
    """Results of Watson: words as ``[word, from, to]``, and who spoke from when to when."""
    labels = turns_at(record, "speaker_labels") or []
    by_time = {str(i.get("from")): i.get("speaker") for i in labels if isinstance(i, dict)}
    words = []
    for word in turns_at(record, "results.alternatives.0.timestamps") or []:
        parts = word if isinstance(word, list) else [word]
        item = dict(zip(("word", "start", "end"), parts, strict=False))
        words.append({**item, "speaker": by_time.get(str(item.get("start")))})
    return {WORDS: words}


def paragraphs(record: dict[str, Any]) -> dict[str, Any]:
    """Words and paragraphs apart: each word is of the last paragraph that began before it."""
    listed = objects_under(record, "paragraphs")
    spans = sorted((as_seconds(p.get("start")) or 0.0, str(p.get("speaker") or "")) for p in listed)
    begins, speakers = [start for start, _ in spans], [speaker for _, speaker in spans] or [""]
    words = []
    for word in objects_under(record, "words"):
        place = bisect_right(begins, as_seconds(word.get("start")) or 0.0)
        words.append({**word, "speaker": speakers[max(0, place - 1)]})
    return {WORDS: words}


# SMS.

_HALVES = re.compile(r"&#(5[56]\d{3});&#(5[67]\d{3});")
_HEADER = re.compile(r"<\?xml[^>]{0,200}\?>")


def read_sms(source: Source, options: ReadOptions, report: ProblemReporter) -> Dialogues:
    """Read the XML of SMS Backup & Restore: a dialogue for each number or group."""
    from xml.etree.ElementTree import Element, ParseError, XMLPullParser

    parser: Any = XMLPullParser(["end"])

    def elements() -> Iterator[Element]:
        try:
            for line in source.lines(report):
                if "<!DOCTYPE" in line.text or "<!ENTITY" in line.text:
                    raise DataError(f"{source.name}: declares a document type: no SMS backup")
                parser.feed(_HALVES.sub(_character, _HEADER.sub("", line.text, 1)) + "\n")
                for _, element in parser.read_events():
                    if element.tag in ("sms", "mms"):
                        yield element
                        element.clear()
            parser.close()
        except ParseError as error:
            report(error.position[0], f"not XML: {error}")

    def messages() -> Iterator[RoleMessage]:
        for number, element in enumerate(elements(), 1):
            kind = element.get("type") or element.get("msg_box")
            texts = [element.get("body") or ""]
            for part in element.iter("part"):
                media = (part.get("ct") or "").partition("/")[0]
                is_text = part.get("ct") == "text/plain"
                texts.append(part.get("text") or "" if is_text else f"[{media}]")
            text = "\n".join(t for t in texts if t not in ("", "null", "[application]"))
            if kind == "3" or not text:
                report.leave_out("drafts" if kind == "3" else "messages without text")
                continue
            address, named = element.get("address") or "", element.get("contact_name")
            other = address if named in (None, "", "null", "(Unknown)") else named
            if "~" in address:  # of a group: who sent it stands apart
                sender = {a.get("type"): a.get("address") for a in element.iter("addr")}.get("137")
                people, names = address.split("~"), other.split(", ")
                known = dict(zip(people, names, strict=True)) if len(people) == len(names) else {}
                other = known.get(sender or "", sender) or other
            speaker = "Me" if kind in ("2", "4", "5", "6") else other or address
            identity = source.stem if options.one_dialogue else f"{source.stem}:{address}"
            utterance = Utterance(speaker, text, "", as_seconds(element.get("date")))
            yield RoleMessage(identity, number, utterance)

    yield from group_messages(messages(), options, report)


def _character(halves: re.Match[str]) -> str:
    """The character that a backup wrote in two halves, which XML does not have."""
    pair = b"".join(int(half).to_bytes(2, "big") for half in halves.groups())
    return pair.decode("utf-16-be", "replace")
