"""JSON of other programs: chats of Slack, help desks, and transcriptions of recordings."""

import html
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, groupby
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
    objects_under,
    require_text,
    text_or_empty,
    text_under,
)
from dialogist.formats.generic import RoleMessage, group_messages
from dialogist.formats.json_records import JsonValue, convert_records, json_values, record_reader
from dialogist.formats.read_options import BadRecord, Dialogues, Parse, ProblemReporter, ReadOptions
from dialogist.formats.source import Source, open_source
from dialogist.language.roles import role_in_data, role_of
from dialogist.language.tokens import counted
from dialogist.records import JSON, Dialogue, Utterance

_USERS = "users.json"
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_MENTION = re.compile(r"<(?P<sign>[@#!]?)(?P<target>[^<>|]{1,500})(?:\|(?P<label>[^<>]{0,500}))?>")
# Notices of the channel itself.
_EVENT = re.compile(
    r"(?:channel|group)_(?:join|leave|topic|purpose|name|archive|unarchive)|bot_(?:add|remove)|"
    r"pinned_item|tombstone"
)


class _Post(NamedTuple):
    """A record of a day's file, and where it stands."""

    channel: str
    day: str
    line: int
    value: JSON


def read_slack(source: Source, options: ReadOptions, report: ProblemReporter) -> Dialogues:
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


def read_slack_folder(folder: Path, options: ReadOptions, report: ProblemReporter) -> Dialogues:
    """Read an export channel by channel; threads are whole even if they last for days."""
    for _, days in groupby(sorted(_days(folder)), key=lambda day: day.parent):
        posts = chain.from_iterable(_posts(day, options, report) for day in days)
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
) -> Dialogues:
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
        if _EVENT.fullmatch(text_or_empty(post.value, "subtype")):
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
            author = id_under(value, "user")
            profile = value.get("user_profile") or value.get("bot_profile")
            name = _name(profile) if isinstance(profile, dict) else ""
            other = name or text_or_empty(value, "username")
            speaker = users.get(author) or other or author or "bot"
            utterance = Utterance(speaker, text, role_of(speaker))
            yield RoleMessage(identity, post.line, utterance, id_under(value, "ts"))

    yield from group_messages(messages(), options, report)
    selection.tell(report)


def _text(message: Record, users: Mapping[str, str]) -> str:
    """What a message says, or what is attached to it; mentions and links in words."""

    def in_words(match: re.Match[str]) -> str:
        sign, target, label = match["sign"], match["target"], match["label"]
        if sign == "@":
            return f"@{users.get(target) or label or target}"
        return f"{'' if sign == '!' else sign}{label or target}"

    texts = [text_or_empty(message, "text")]
    if not texts[0].strip():
        for key, fields in (("attachments", ("text", "fallback")), ("files", ("title", "name"))):
            listed = message.get(key)
            for item in listed if isinstance(listed, list) else []:
                each = (text_or_empty(item, name) for name in fields if isinstance(item, dict))
                if text := next(filter(None, each), ""):
                    texts.append(text if key == "attachments" else f"[{text}]")
    return html.unescape(_MENTION.sub(in_words, " ".join(texts))).strip()


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

    def said(self, identity: str, name: str, role: str, text: str) -> Utterance:
        """What somebody wrote, under the name and in the role that are known."""
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
        return Utterance(name, message_text(text), role)


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
        identity = id_under(comment, "author_id") or _id_of(author)
        asked_by = id_under(ticket, "requester_id") or _id_of(requester)
        role = role_in_data(text_or_empty(comment, "author_role"))
        if asked_by and identity and not role:
            known = people.known.get(identity, ("", ""))[1]
            role = "customer" if identity == asked_by else known or "agent"
        plain = html.unescape(text_or_empty(comment, "plain_body"))
        text = plain or text_or_empty(comment, "body") or text_or_empty(comment, "html_body")
        return people.said(identity, text_or_empty(comment, "author_name"), role, text)

    return _ticket(ticket, comments, selection, utterance)


def _id_of(person: JSON) -> str:
    return id_under(person) if isinstance(person, dict) else ""


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
        name, text = text_or_empty(person, "name"), text_or_empty(part, "body")
        return people.said(id_under(person), name, role, text)

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

    def parse(source: Source, options: ReadOptions, report: ProblemReporter) -> Dialogues:
        selection = RecordSelection(options)
        values = unwrapped(json_values(source, report))
        yield from convert_records(values, source, lambda item: convert(item, selection), report)
        selection.tell(report)

    return parse


read_zendesk = _helpdesk_reader(zendesk, "tickets")
read_intercom = _helpdesk_reader(intercom, "conversations", "data")

# Recordings.

_LABEL = re.compile(r"(?:spk_|ch_|speaker[_ ]?)?([0-9]{1,3}|[A-Z])", re.IGNORECASE)
_NO_SPACE = re.compile(r"\s+([.,!?;:%])")


def aws(record: Record) -> Dialogue:
    """Convert a job of Amazon Transcribe, or a call of its call analytics."""
    if isinstance(record.get("Transcript"), list):
        calls = [
            (text_under(item, "ParticipantRole").capitalize(), text_under(item, "Content"))
            for item in objects_under(record, "Transcript")
        ]
        return Dialogue(_spoken(calls, is_whole=True), id=id_under(record, "JobName"))
    results = _results(record)
    has_segments = isinstance(results.get("audio_segments"), list)
    segments = objects_under(results, "audio_segments") if has_segments else []
    if any(segment.get("speaker_label") for segment in segments):
        turns = [(_label(s, "speaker_label"), text_under(s, "transcript")) for s in segments]
    else:
        turns = list(_aws_words(results))
    return Dialogue(_spoken(turns), id=id_under(record, "jobName"))


def _aws_words(results: Record) -> Iterator[tuple[str, str]]:
    """Word by word; older files name speakers in a list of their own, by the time of the word."""
    by_time: dict[str, str] = {}
    labels = results.get("speaker_labels")
    for segment in objects_under(labels, "segments") if isinstance(labels, dict) else ():
        for item in objects_under(segment, "items"):
            by_time[str(item.get("start_time"))] = _label(item, "speaker_label")
    speaker = ""
    for item in objects_under(results, "items"):
        best = next(iter(objects_under(item, "alternatives")), None)
        if best is None:
            continue
        if item.get("type") != "punctuation":
            speaker = _label(item, "speaker_label") or by_time.get(str(item.get("start_time")), "")
        yield speaker, text_under(best, "content")


def deepgram(record: Record) -> Dialogue:
    """Convert a transcription of Deepgram: its utterances, else its words."""
    results = _results(record)
    metadata = record.get("metadata")
    identity = id_under(metadata, "request_id") if isinstance(metadata, dict) else ""
    if isinstance(results.get("utterances"), list):
        items = objects_under(results, "utterances")
        turns = [(_label(i, "speaker", "channel"), text_under(i, "transcript")) for i in items]
        return Dialogue(_spoken(turns), id=identity)
    channels = objects_under(results, "channels")
    if len(channels) != 1:
        raise BadRecord(
            f"{len(channels)} channels and no utterances: ask Deepgram for utterances=true"
        )
    best = next(iter(objects_under(channels[0], "alternatives")), None)
    if best is None:
        raise BadRecord("no alternatives: nothing was transcribed")
    if isinstance(best.get("words"), list):
        turns = []
        for word in objects_under(best, "words"):
            key = "punctuated_word" if "punctuated_word" in word else "word"
            turns.append((_label(word, "speaker"), text_under(word, key)))
    else:
        turns = [("", text_under(best, "transcript"))]
    return Dialogue(_spoken(turns), id=identity)


def assemblyai(record: Record) -> Dialogue:
    """Convert a transcription of AssemblyAI: its utterances, else its words, else its text."""
    key = "utterances" if record.get("utterances") else "words"
    if not isinstance(record.get(key), list):
        return Dialogue(_spoken([("", text_under(record, "text"))], True), id=id_under(record))
    items = objects_under(record, key)
    turns = [(_label(item, "speaker"), text_under(item, "text")) for item in items]
    return Dialogue(_spoken(turns), id=id_under(record))


def whisper(record: Record) -> Dialogue:
    """Convert one transcription: an utterance per segment, its speaker where one was found."""
    turns = []
    for number, segment in enumerate(list_under(record, "segments"), 1):
        if not isinstance(segment, dict):
            raise BadRecord(f"segment {number} is {json_kind(segment)}, not an object")
        speaker = segment.get("speaker")
        if not isinstance(speaker, str):  # WhisperX: to whom most of its words were given
            words = segment.get("words")
            listed = words if isinstance(words, list) else []
            names = (word.get("speaker") for word in listed if isinstance(word, dict))
            counts = Counter(name for name in names if isinstance(name, str) and name)
            speaker = counts.most_common(1)[0][0] if counts else ""
        turns.append((speaker, text_under(segment, "text").strip()))
    language = record.get("language")
    metadata: dict[str, JSON] = {"language": language} if isinstance(language, str) else {}
    return Dialogue(_spoken(turns, is_whole=True), metadata=metadata)


def _results(record: Record) -> Record:
    results = record.get("results")
    if not isinstance(results, dict):
        raise BadRecord("key 'results' holds no transcription")
    return results


def _label(item: Record, *keys: str) -> str:
    """The first label of a speaker, as a name: ``spk_0`` and 0 are ``Speaker 0``."""
    value = next(filter(None, (id_under(item, key) for key in keys)), "")
    label = _LABEL.fullmatch(value)
    return f"Speaker {label[1].upper()}" if label else value


def _spoken(turns: Iterable[tuple[str, str]], is_whole: bool = False) -> tuple[Utterance, ...]:
    """Speakers and texts as utterances: what one says in a row is joined, unless it ``is_whole``.

    Raises:
        BadRecord: nobody says anything.
    """
    if not is_whole:
        runs = groupby(turns, key=lambda turn: turn[0])
        joined = ((speaker, " ".join(text for _, text in run)) for speaker, run in runs)
        turns = ((speaker, _NO_SPACE.sub(r"\1", text).strip()) for speaker, text in joined)
    return require_text(Utterance(speaker, text, role_of(speaker)) for speaker, text in turns)


read_aws, read_deepgram = record_reader(aws), record_reader(deepgram)
read_assemblyai, read_whisper = record_reader(assemblyai), record_reader(whisper)
