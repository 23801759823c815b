"""Slack's export: a folder for each channel with a file for each day, and who the users are."""

import html
import json
import re
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from dialogist.data.readers.base import BadRecord, ReadOptions, Reporter
from dialogist.data.readers.fields import id_of
from dialogist.data.readers.groups import Message, grouped
from dialogist.data.readers.parsing import Record
from dialogist.data.readers.roles import role_of
from dialogist.data.readers.rows import json_values, kind_of
from dialogist.data.readers.selection import Selection
from dialogist.data.readers.source import Source, open_source
from dialogist.errors import DataError
from dialogist.records import JSON, Dialogue, Utterance
from dialogist.text.listing import counted

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


def read_slack(source: Source, options: ReadOptions, report: Reporter) -> Iterator[Dialogue]:
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


def read_slack_folder(folder: Path, options: ReadOptions, report: Reporter) -> Iterator[Dialogue]:
    """Read an export channel by channel; threads are whole even if they last for days."""
    users = _users(folder)
    channels = sorted({day.parent for day in _days(folder)})
    for channel in channels:
        days = sorted(day for day in channel.glob("*.json") if DAY.fullmatch(day.stem))
        posts = chain.from_iterable(_posts(day, options, report) for day in days)
        yield from _dialogues(posts, users, (options, folder.name), report)


def _days(folder: Path) -> Iterator[Path]:
    return (day for day in folder.glob("*/*.json") if DAY.fullmatch(day.stem))


def _posts(day: Path, options: ReadOptions, report: Reporter) -> Iterator[_Post]:
    own = Reporter(str(day), report.strict, report.on_problem, report.on_note)
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
    report: Reporter,
) -> Iterator[Dialogue]:
    options, stem = how
    selection = Selection(options)
    kept = [post for post in posts if _is_message(post, selection, report)]
    events = sum(isinstance(p.value, dict) and p.value.get("subtype") in _EVENTS for p in kept)
    if events:
        report.note(f"{counted(events, 'notices')} left out (who joined a channel, its topic ...)")
    threads = {_thread(post.value) for post in kept if _is_reply(post.value)}
    yield from grouped(_messages(kept, threads, users, options, stem), options, report)
    selection.tell(report)


def _is_message(post: _Post, selection: Selection, report: Reporter) -> bool:
    value = post.value
    if not isinstance(value, dict):
        report(post.line, f"holds {kind_of(value)}, not a message")
        return False
    try:
        id_of(value, "user"), id_of(value, "thread_ts"), id_of(value, "ts")
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
) -> Iterator[Message]:
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
            yield Message(identity, post.line, utterance, id_of(value, "ts"))


def _thread(value: JSON) -> str:
    """The time stamp that names the thread of a message, or the message."""
    if not isinstance(value, dict):
        return ""
    return id_of(value, "thread_ts") or id_of(value, "ts")


def _is_reply(value: JSON) -> bool:
    if not isinstance(value, dict):
        return False
    thread = id_of(value, "thread_ts")
    return bool(thread) and thread != id_of(value, "ts")


def _speaker(message: Record, users: Mapping[str, str]) -> str:
    identity = id_of(message, "user")
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
