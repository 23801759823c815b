"""Exports of chats and help desks: Slack, Zendesk, Intercom."""

import html
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from dialogist.formats.base import BadRecord, Parse, ProblemReporter, ReadOptions
from dialogist.formats.documents import message_text
from dialogist.formats.fields import (
    Record,
    RecordSelection,
    id_under,
    json_kind,
    list_under,
    require_text,
)
from dialogist.formats.generic import RoleMessage, group_messages
from dialogist.formats.json_records import FileHead, JsonValue, convert_records, json_values
from dialogist.formats.source import Source, open_source
from dialogist.errors import DataError
from dialogist.records import JSON, Dialogue, Utterance
from dialogist.language.roles import INTERCOM_CUSTOMERS, role_in_data, role_of
from dialogist.language.tokens import counted

USERS = "users.json"
DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_MENTION = re.compile(r"<(?P<sign>[@#!]?)(?P<target>[^<>|]{1,500})(?:\|(?P<label>[^<>]{0,500}))?>")
_EVENTS = frozenset(
    (
        *("channel_join", "channel_leave", "channel_topic", "channel_purpose", "channel_name"),
        *("channel_archive", "channel_unarchive", "group_join", "group_leave", "bot_add"),
        *("bot_remove", "pinned_item", "tombstone"),
    )
)


class _Post(NamedTuple):
    """A record of a day's file, and where it stands."""

    channel: str
    day: str
    line: int
    value: JSON


def read_slack(source: Source, options: ReadOptions, report: ProblemReporter) -> Iterator[Dialogue]:
    """Read one file of an export: a dialogue for each thread, and one for what is left."""
    day = source.stem.rpartition("/")[2]
    folder = source.path.parent if source.path is not None else None
    named = folder is not None and DAY.fullmatch(day)
    channel = folder.name if folder is not None and named else ""
    posts = (_Post(channel, day, line, value) for line, value, _ in json_values(source, report))
    users = _users(folder, folder.parent) if folder is not None else {}
    yield from _dialogues(posts, users, (options, source.stem), report)


def is_slack_export(folder: Path) -> bool:
    """Whether a folder is an export: users, and at least one folder of days."""
    return (folder / USERS).is_file() and next(_days(folder), None) is not None


def read_slack_folder(
    folder: Path, options: ReadOptions, report: ProblemReporter
) -> Iterator[Dialogue]:
    """Read an export channel by channel; threads are whole even if they last for days."""
    users = _users(folder)
    channels = sorted({day.parent for day in _days(folder)})
    for channel in channels:
        days = sorted(day for day in channel.glob("*.json") if DAY.fullmatch(day.stem))
        posts = chain.from_iterable(_posts(day, options, report) for day in days)
        yield from _dialogues(posts, users, (options, folder.name), report)


def _days(folder: Path) -> Iterator[Path]:
    return (day for day in folder.glob("*/*.json") if DAY.fullmatch(day.stem))


def _posts(day: Path, options: ReadOptions, report: ProblemReporter) -> Iterator[_Post]:
    own = ProblemReporter(str(day), report.strict, report.on_problem, report.on_note)
    try:
        source = open_source(day, options.encoding)
    except DataError as error:
        own(0, str(error).removeprefix(f"{day}: "))
        return
    for line, value, _ in json_values(source, own):
        yield _Post(day.parent.name, day.stem, line, value)


def _users(*folders: Path) -> dict[str, str]:
    """The names of users by id, from the first of the folders that has them."""
    path = next((f / USERS for f in folders if (f / USERS).is_file()), None)
    if path is None:
        return {}
    try:
        listed = json.loads(path.read_text("utf-8"))
    except (ValueError, OSError, RecursionError):
        return {}
    found = listed if isinstance(listed, list) else []
    return {str(user.get("id")): _name(user) for user in found if isinstance(user, dict)}


def _name(user: Record) -> str:
    profile = user.get("profile")
    places = [profile, user] if isinstance(profile, dict) else [user]
    keys = ("display_name", "real_name", "name")
    names = (place.get(key) for key in keys for place in places)
    return next((name for name in names if isinstance(name, str) and name), "")


def _dialogues(
    posts: Iterator[_Post],
    users: Mapping[str, str],
    how: tuple[ReadOptions, str],
    report: ProblemReporter,
) -> Iterator[Dialogue]:
    options, stem = how
    selection = RecordSelection(options)
    kept = [post for post in posts if _is_message(post, selection, report)]
    events = sum(isinstance(p.value, dict) and p.value.get("subtype") in _EVENTS for p in kept)
    if events:
        report.note(f"{counted(events, 'notices')} left out (who joined a channel, its topic ...)")
    threads = {_thread(post.value) for post in kept if _is_reply(post.value)}
    yield from group_messages(_messages(kept, threads, users, options, stem), options, report)
    selection.tell(report)


def _is_message(post: _Post, selection: RecordSelection, report: ProblemReporter) -> bool:
    value = post.value
    if not isinstance(value, dict):
        report(post.line, f"holds {json_kind(value)}, not a message")
        return False
    try:
        id_under(value, "user"), id_under(value, "thread_ts"), id_under(value, "ts")
    except BadRecord as error:
        report(post.line, str(error))
        return False
    return selection.takes(value)


def _messages(
    posts: list[_Post],
    threads: set[str],
    users: Mapping[str, str],
    options: ReadOptions,
    stem: str,
) -> Iterator[RoleMessage]:
    for post in posts:
        value = post.value
        if not isinstance(value, dict) or value.get("subtype") in _EVENTS:
            continue
        text = _text(value, users)
        if text:
            thread = _thread(value)
            place = thread if thread in threads else post.day
            identity = f"{post.channel}/{place}" if post.channel else f"{stem}:{place}"
            if options.one_dialogue or (place == post.day and not post.channel):
                identity = stem
            speaker = _speaker(value, users)
            utterance = Utterance(speaker, text, role_of(speaker))
            yield RoleMessage(identity, post.line, utterance, id_under(value, "ts"))


def _thread(value: JSON) -> str:
    """The time stamp that names the thread of a message, or the message."""
    if not isinstance(value, dict):
        return ""
    return id_under(value, "thread_ts") or id_under(value, "ts")


def _is_reply(value: JSON) -> bool:
    if not isinstance(value, dict):
        return False
    thread = id_under(value, "thread_ts")
    return bool(thread) and thread != id_under(value, "ts")


def _speaker(message: Record, users: Mapping[str, str]) -> str:
    identity = id_under(message, "user")
    profile = message.get("user_profile") or message.get("bot_profile")
    own = _name(profile) if isinstance(profile, dict) else ""
    username = message.get("username")
    other = username if isinstance(username, str) else ""
    return users.get(identity) or own or other or identity or "bot"


def _text(message: Record, users: Mapping[str, str]) -> str:
    """What a message says, its mentions and links in words."""

    def in_words(match: re.Match[str]) -> str:
        sign, target, label = match["sign"], match["target"], match["label"]
        if sign == "@":
            return f"@{users.get(target) or label or target}"
        return f"{'' if sign == '!' else sign}{label or target}" if sign else label or target

    text = message.get("text")
    if not isinstance(text, str) or not text.strip():
        text = " ".join(_attached(message))
    return html.unescape(_MENTION.sub(in_words, text)).strip()


def _attached(message: Record) -> Iterator[str]:
    for key, fields in (("attachments", ("text", "fallback")), ("files", ("title", "name"))):
        listed = message.get(key)
        for item in listed if isinstance(listed, list) else []:
            found = [item.get(field) for field in fields] if isinstance(item, dict) else []
            text = next((each for each in found if isinstance(each, str) and each), "")
            if text:
                yield text if key == "attachments" else f"[{text}]"


def is_slack(head: FileHead) -> bool:
    """Messages with Slack's kind of time stamp."""
    stamp = head.record.get("ts")
    message = head.record.get("type") == "message"
    return bool(head.shape) and message and isinstance(stamp, str) and "." in stamp


_FACTS = ("subject", "title", "status", "state", "priority", "tags", "channel", "created_at")


@dataclass(slots=True)
class _People:
    """Who wrote: names and roles by id; somebody without a name is called by the role."""

    known: dict[str, tuple[str, str]] = field(default_factory=dict)
    labels: dict[tuple[str, str], str] = field(default_factory=dict)

    def learn(self, person: JSON) -> None:
        if isinstance(person, dict) and person.get("id") is not None:
            name, role = (
                _text_or_empty(person, "name"),
                role_in_data(_text_or_empty(person, "role")),
            )
            before = self.known.get(id_under(person), ("", ""))
            self.known[id_under(person)] = (name or before[0], role or before[1])

    def speaker(self, identity: str, name: str, role: str) -> tuple[str, str]:
        """The speaker's name and role."""
        known = self.known.get(identity, ("", ""))
        role = role or known[1]
        return name or known[0] or self._label(identity, role), role

    def _label(self, identity: str, role: str) -> str:
        key = (role, identity)
        if key not in self.labels:
            count = sum(other == role for other, _ in self.labels) + 1
            label = role.capitalize() or "Person"
            self.labels[key] = label if count == 1 else f"{label} {count}"
        return self.labels[key]


def zendesk(record: Record, selection: RecordSelection) -> Dialogue | None:
    """Convert a ticket with its comments; None: it is not selected."""
    inner = record.get("ticket")
    ticket: Record = {**record, **inner} if isinstance(inner, dict) else record
    comments = list_under(ticket, "comments")
    if not comments and _text_or_empty(ticket, "description"):
        comments = [{"author_id": ticket.get("requester_id"), "body": ticket["description"]}]
    return _dialogue(
        ticket, comments, selection, partial(_comment, ticket, _zendesk_people(ticket))
    )


def _zendesk_people(ticket: Record) -> _People:
    people = _People()
    users = ticket.get("users")
    for person in users if isinstance(users, list) else []:
        people.learn(person)
    for key in ("requester", "assignee", "submitter"):
        people.learn(ticket.get(key))
    return people


def _comment(ticket: Record, people: _People, comment: Record) -> Utterance:
    author = comment.get("author")
    people.learn(author)
    person: Record = author if isinstance(author, dict) else {}
    identity = id_under(comment, "author_id") or id_under(person)
    requester = ticket.get("requester")
    asked_by = id_under(ticket, "requester_id") or (
        id_under(requester) if isinstance(requester, dict) else ""
    )
    role = role_in_data(_text_or_empty(comment, "author_role"))
    if asked_by and identity and not role:
        role = "customer" if identity == asked_by else people.known.get(identity, ("", ""))[1]
        role = role or "agent"
    name, role = people.speaker(identity, _text_or_empty(comment, "author_name"), role)
    plain = html.unescape(_text_or_empty(comment, "plain_body"))
    text = plain or _text_or_empty(comment, "body") or _text_or_empty(comment, "html_body")
    return Utterance(name, message_text(text), role)


def intercom(record: Record, selection: RecordSelection) -> Dialogue | None:
    """Convert a conversation with its parts; None: it is not selected."""
    parts = record.get("conversation_parts")
    if isinstance(parts, dict):
        parts = parts.get("conversation_parts")
    opening = record.get("source") or record.get("conversation_message")
    listed = [opening, *(parts if isinstance(parts, list) else [])]
    turns: list[JSON] = [
        {**turn, "public": turn.get("part_type") != "note"}
        for turn in listed
        if isinstance(turn, dict) and _text_or_empty(turn, "body")
    ]
    return _dialogue(record, turns, selection, partial(_part, _People()))


def _part(people: _People, part: Record) -> Utterance:
    author = part.get("author")
    person: Record = author if isinstance(author, dict) else {}
    kind = _text_or_empty(person, "type")
    role = "customer" if kind in INTERCOM_CUSTOMERS else role_in_data(kind)
    name, role = people.speaker(id_under(person), _text_or_empty(person, "name"), role)
    return Utterance(name, message_text(_text_or_empty(part, "body")), role)


def _dialogue(
    record: Record,
    turns: list[JSON],
    selection: RecordSelection,
    convert: Callable[[Record], Utterance],
) -> Dialogue | None:
    """The dialogue of the selected turns; None: there are none."""
    kept = selection.turns(record, turns)
    if kept is None:
        return None
    utterances = []
    for number, turn in enumerate(kept, 1):
        if not isinstance(turn, dict):
            raise BadRecord(f"message {number} is {json_kind(turn)}, not an object")
        utterances.append(convert(turn))
    return Dialogue(
        require_text(utterance for utterance in utterances if utterance.text.strip()),
        id=id_under(record) or id_under(record, "ticket_id"),
        metadata={key: record[key] for key in _FACTS if record.get(key) is not None},
    )


def _text_or_empty(record: Record, key: str) -> str:
    value = record.get(key)
    return value if isinstance(value, str) else ""


def helpdesk_reader(
    convert: Callable[[Record, RecordSelection], Dialogue | None], lists: tuple[str, ...]
) -> Parse:
    """Make a reader of records that stand alone, in an array, or in a list under some key."""

    def parse(source: Source, options: ReadOptions, report: ProblemReporter) -> Iterator[Dialogue]:
        selection = RecordSelection(options)
        values = _unwrapped(json_values(source, report), lists)
        yield from convert_records(
            values, source, lambda record: convert(record, selection), report
        )
        selection.tell(report)

    return parse


def _unwrapped(values: Iterator[JsonValue], lists: tuple[str, ...]) -> Iterator[JsonValue]:
    """The records of an answer of the API, each with the people that the answer tells about."""
    for value in values:
        record = value.value
        found = record if isinstance(record, dict) else {}
        inner = next((found[key] for key in lists if isinstance(found.get(key), list)), None)
        if not isinstance(inner, list):
            yield value
            continue
        users = found.get("users")
        for item in inner:
            if isinstance(item, dict) and "users" not in item and users is not None:
                item = {**item, "users": users}
            yield JsonValue(value.line, item, False)


def is_zendesk(head: FileHead) -> bool:
    """Tickets, or a ticket's comments, by people who are known by number."""
    if head.has("tickets"):
        return isinstance(head.record.get("tickets", []), list)
    comments = head.record.get("comments")
    first = comments[0] if isinstance(comments, list) and comments else None
    if isinstance(first, dict):
        return "author_id" in first and not first.keys().isdisjoint(("body", "html_body"))
    return head.has("comments", "requester_id") or head.has("comments", "author_id")


def is_intercom(head: FileHead) -> bool:
    """A conversation with parts, or a list of conversations."""
    kind = head.record.get("type")
    return head.has("conversation_parts") or (bool(head.shape) and kind == "conversation.list")
