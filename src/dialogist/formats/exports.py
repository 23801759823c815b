"""Exports of chats and help desks: Slack, Zendesk, Intercom."""

import html
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from dialogist.errors import DataError
from dialogist.formats.documents import message_text
from dialogist.formats.fields import (
    Record,
    RecordSelection,
    id_under,
    json_kind,
    list_under,
    require_text,
    text_or_empty,
)
from dialogist.formats.generic import RoleMessage, group_messages
from dialogist.formats.json_records import JsonValue, convert_records, json_values
from dialogist.formats.read_options import BadRecord, Parse, ProblemReporter, ReadOptions
from dialogist.formats.source import Source, open_source
from dialogist.language.roles import role_in_data, role_of
from dialogist.language.tokens import counted
from dialogist.records import JSON, Dialogue, Utterance

_USERS = "users.json"
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
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
    channel = folder.name if folder is not None and _DAY.fullmatch(day) else ""
    posts = (_Post(channel, day, line, value) for line, value, _ in json_values(source, report))
    users = _users(folder, folder.parent) if folder is not None else {}
    yield from _threads(posts, users, source.stem, options, report)


def is_slack_export(folder: Path) -> bool:
    """Whether a folder is an export: users, and at least one folder of days."""
    return (folder / _USERS).is_file() and bool(_days(folder))


def read_slack_folder(
    folder: Path, options: ReadOptions, report: ProblemReporter
) -> Iterator[Dialogue]:
    """Read an export channel by channel; threads are whole even if they last for days."""
    days = _days(folder)
    for channel in sorted({day.parent for day in days}):
        of_channel = sorted(day for day in days if day.parent == channel)
        posts = chain.from_iterable(_posts(day, options, report) for day in of_channel)
        yield from _threads(posts, _users(folder), folder.name, options, report)


def _days(folder: Path) -> list[Path]:
    return [day for day in folder.glob("*/*.json") if _DAY.fullmatch(day.stem)]


def _posts(day: Path, options: ReadOptions, report: ProblemReporter) -> Iterator[_Post]:
    of_file = ProblemReporter(str(day), report.strict, report.on_problem, report.on_note)
    try:
        source = open_source(day, options.encoding)
    except DataError as error:
        of_file(0, str(error).removeprefix(f"{day}: "))
        return
    for line, value, _ in json_values(source, of_file):
        yield _Post(day.parent.name, day.stem, line, value)


def _users(*folders: Path) -> dict[str, str]:
    """The names of users by id, from the first of the folders that has them."""
    path = next((f / _USERS for f in folders if (f / _USERS).is_file()), None)
    try:
        users = json.loads(path.read_text("utf-8")) if path else []
    except (ValueError, OSError, RecursionError):
        return {}
    listed = users if isinstance(users, list) else []
    return {str(user.get("id")): _name(user) for user in listed if isinstance(user, dict)}


def _name(user: Record) -> str:
    profile = user.get("profile")
    places = [profile, user] if isinstance(profile, dict) else [user]
    keys = ("display_name", "real_name", "name")
    names = (text_or_empty(place, key) for key in keys for place in places)
    return next(filter(None, names), "")


def _threads(
    posts: Iterator[_Post],
    users: Mapping[str, str],
    stem: str,
    options: ReadOptions,
    report: ProblemReporter,
) -> Iterator[Dialogue]:
    """The dialogues of posts: each thread, and the rest of each day."""
    selection = RecordSelection(options)
    kept: list[tuple[_Post, Record, str]] = []  # with the time stamp of its thread
    threads: set[str] = set()
    events = 0
    for post in posts:
        try:
            if not isinstance(post.value, dict):
                raise BadRecord(f"holds {json_kind(post.value)}, not a message")
            id_under(post.value, "user")
            stamp, thread = id_under(post.value, "ts"), id_under(post.value, "thread_ts")
        except BadRecord as error:
            report(post.line, str(error))
            continue
        if not selection.takes(post.value):
            continue
        if post.value.get("subtype") in _EVENTS:
            events += 1
        else:
            kept.append((post, post.value, thread or stamp))
        if thread and thread != stamp:
            threads.add(thread)
    if events:
        report.note(f"{counted(events, 'notices')} left out (who joined a channel, its topic ...)")

    def messages() -> Iterator[RoleMessage]:
        for post, value, thread in kept:
            if not (text := _text(value, users)):
                continue
            place = thread if thread in threads else post.day
            identity = f"{post.channel}/{place}" if post.channel else f"{stem}:{place}"
            if options.one_dialogue or (place == post.day and not post.channel):
                identity = stem
            speaker = _speaker(value, users)
            utterance = Utterance(speaker, text, role_of(speaker))
            yield RoleMessage(identity, post.line, utterance, id_under(value, "ts"))

    yield from group_messages(messages(), options, report)
    selection.tell(report)


def _speaker(message: Record, users: Mapping[str, str]) -> str:
    identity = id_under(message, "user")
    profile = message.get("user_profile") or message.get("bot_profile")
    name = _name(profile) if isinstance(profile, dict) else ""
    other = name or text_or_empty(message, "username")
    return users.get(identity) or other or identity or "bot"


def _text(message: Record, users: Mapping[str, str]) -> str:
    """What a message says, its mentions and links in words."""

    def in_words(match: re.Match[str]) -> str:
        sign, target, label = match["sign"], match["target"], match["label"]
        if sign == "@":
            return f"@{users.get(target) or label or target}"
        return f"{'' if sign == '!' else sign}{label or target}"

    text = text_or_empty(message, "text")
    if not text.strip():
        text = " ".join(_attached(message))
    return html.unescape(_MENTION.sub(in_words, text)).strip()


def _attached(message: Record) -> Iterator[str]:
    for key, fields in (("attachments", ("text", "fallback")), ("files", ("title", "name"))):
        listed = message.get(key)
        for item in listed if isinstance(listed, list) else []:
            texts = (text_or_empty(item, name) for name in fields if isinstance(item, dict))
            if text := next(filter(None, texts), ""):
                yield text if key == "attachments" else f"[{text}]"


# Help desks.

_FACTS = ("subject", "title", "status", "state", "priority", "tags", "channel", "created_at")
# What Intercom calls those who write to a company; the same words mean more elsewhere.
_INTERCOM_CUSTOMERS = ("user", "lead", "contact")


@dataclass(slots=True)
class _People:
    """Who wrote: names and roles by id; somebody without a name is called by the role."""

    known: dict[str, tuple[str, str]] = field(default_factory=dict)
    labels: dict[tuple[str, str], str] = field(default_factory=dict)

    def learn(self, person: JSON) -> None:
        if isinstance(person, dict) and person.get("id") is not None:
            identity = id_under(person)
            name, role = self.known.get(identity, ("", ""))
            stated = role_in_data(text_or_empty(person, "role"))
            self.known[identity] = (text_or_empty(person, "name") or name, stated or role)

    def role(self, identity: str) -> str:
        return self.known.get(identity, ("", ""))[1]

    def speaker(self, identity: str, name: str, role: str) -> tuple[str, str]:
        """The speaker's name and role."""
        known_name, known_role = self.known.get(identity, ("", ""))
        role = role or known_role
        name = name or known_name
        if not name:
            key = (role, identity)
            if key not in self.labels:
                count = sum(other == role for other, _ in self.labels) + 1
                label = role.capitalize() or "Person"
                self.labels[key] = label if count == 1 else f"{label} {count}"
            name = self.labels[key]
        return name, role


def zendesk(record: Record, selection: RecordSelection) -> Dialogue | None:
    """Convert a ticket with its comments; None: it is not selected."""
    inner = record.get("ticket")
    ticket: Record = {**record, **inner} if isinstance(inner, dict) else record
    comments = list_under(ticket, "comments")
    if not comments and text_or_empty(ticket, "description"):
        comments = [{"author_id": ticket.get("requester_id"), "body": ticket["description"]}]
    people = _People()
    users = ticket.get("users")
    requester = ticket.get("requester")
    for person in (
        *(users if isinstance(users, list) else []),
        *(requester, ticket.get("assignee"), ticket.get("submitter")),
    ):
        people.learn(person)

    def utterance(comment: Record) -> Utterance:
        author = comment.get("author")
        people.learn(author)
        identity = id_under(comment, "author_id") or (
            id_under(author) if isinstance(author, dict) else ""
        )
        asked_by = id_under(ticket, "requester_id") or (
            id_under(requester) if isinstance(requester, dict) else ""
        )
        role = role_in_data(text_or_empty(comment, "author_role"))
        if asked_by and identity and not role:
            role = "customer" if identity == asked_by else people.role(identity) or "agent"
        name, role = people.speaker(identity, text_or_empty(comment, "author_name"), role)
        plain = html.unescape(text_or_empty(comment, "plain_body"))
        text = plain or text_or_empty(comment, "body") or text_or_empty(comment, "html_body")
        return Utterance(name, message_text(text), role)

    return _ticket(ticket, comments, selection, utterance)


def intercom(record: Record, selection: RecordSelection) -> Dialogue | None:
    """Convert a conversation with its parts; None: it is not selected."""
    parts = record.get("conversation_parts")
    if isinstance(parts, dict):
        parts = parts.get("conversation_parts")
    opening = record.get("source") or record.get("conversation_message")
    turns: list[JSON] = [
        {**turn, "public": turn.get("part_type") != "note"}
        for turn in (opening, *(parts if isinstance(parts, list) else []))
        if isinstance(turn, dict) and text_or_empty(turn, "body")
    ]
    people = _People()

    def utterance(part: Record) -> Utterance:
        author = part.get("author")
        person: Record = author if isinstance(author, dict) else {}
        kind = text_or_empty(person, "type")
        role = "customer" if kind in _INTERCOM_CUSTOMERS else role_in_data(kind)
        name, role = people.speaker(id_under(person), text_or_empty(person, "name"), role)
        return Utterance(name, message_text(text_or_empty(part, "body")), role)

    return _ticket(record, turns, selection, utterance)


def _ticket(
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


def _helpdesk_reader(
    convert: Callable[[Record, RecordSelection], Dialogue | None], *lists: str
) -> Parse:
    """Make a reader of records that stand alone, in an array, or in a list under some key."""

    def unwrapped(values: Iterator[JsonValue]) -> Iterator[JsonValue]:
        """The records of an answer of the API, each with the people that the answer tells about."""
        for value in values:
            answer = value.value if isinstance(value.value, dict) else {}
            inner = next((answer[key] for key in lists if isinstance(answer.get(key), list)), None)
            if not isinstance(inner, list):
                yield value
                continue
            users = {"users": answer["users"]} if answer.get("users") is not None else {}
            for item in inner:
                record = {**users, **item} if isinstance(item, dict) else item
                yield JsonValue(value.line, record, False)

    def parse(source: Source, options: ReadOptions, report: ProblemReporter) -> Iterator[Dialogue]:
        selection = RecordSelection(options)
        values = unwrapped(json_values(source, report))
        yield from convert_records(values, source, lambda item: convert(item, selection), report)
        selection.tell(report)

    return parse


read_zendesk = _helpdesk_reader(zendesk, "tickets")
read_intercom = _helpdesk_reader(intercom, "conversations", "data")
