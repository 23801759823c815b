"""Tickets and conversations of help desks: Zendesk's export and API, Intercom's API."""

import html
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

from dialogist.data.readers.base import BadRecord, Parse, ReadOptions, Reporter
from dialogist.data.readers.fields import id_of, list_of, said
from dialogist.data.readers.markup import message_text
from dialogist.data.readers.parsing import Record
from dialogist.data.readers.roles import role_in_data
from dialogist.data.readers.rows import Value, converted, json_values, kind_of
from dialogist.data.readers.selection import Selection
from dialogist.data.readers.source import Source
from dialogist.records import JSON, Dialogue, Utterance

_FACTS = ("subject", "title", "status", "state", "priority", "tags", "channel", "created_at")
_CUSTOMERS = ("user", "lead", "contact")


@dataclass(slots=True)
class _People:
    """Who wrote: names and roles by id; somebody without a name is called by the role."""

    known: dict[str, tuple[str, str]] = field(default_factory=dict)
    labels: dict[tuple[str, str], str] = field(default_factory=dict)

    def learn(self, person: JSON) -> None:
        if isinstance(person, dict) and person.get("id") is not None:
            name, role = _text(person, "name"), role_in_data(_text(person, "role"))
            before = self.known.get(id_of(person), ("", ""))
            self.known[id_of(person)] = (name or before[0], role or before[1])

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


def zendesk(record: Record, selection: Selection) -> Dialogue | None:
    """Convert a ticket with its comments; None: it is not selected."""
    inner = record.get("ticket")
    ticket: Record = {**record, **inner} if isinstance(inner, dict) else record
    comments = list_of(ticket, "comments")
    if not comments and _text(ticket, "description"):
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
    identity = id_of(comment, "author_id") or id_of(person)
    requester = ticket.get("requester")
    asked_by = id_of(ticket, "requester_id") or (
        id_of(requester) if isinstance(requester, dict) else ""
    )
    role = role_in_data(_text(comment, "author_role"))
    if asked_by and identity and not role:
        role = "customer" if identity == asked_by else people.known.get(identity, ("", ""))[1]
        role = role or "agent"
    name, role = people.speaker(identity, _text(comment, "author_name"), role)
    plain = html.unescape(_text(comment, "plain_body"))
    text = plain or _text(comment, "body") or _text(comment, "html_body")
    return Utterance(name, message_text(text), role)


def intercom(record: Record, selection: Selection) -> Dialogue | None:
    """Convert a conversation with its parts; None: it is not selected."""
    parts = record.get("conversation_parts")
    if isinstance(parts, dict):
        parts = parts.get("conversation_parts")
    opening = record.get("source") or record.get("conversation_message")
    listed = [opening, *(parts if isinstance(parts, list) else [])]
    turns: list[JSON] = [
        {**turn, "public": turn.get("part_type") != "note"}
        for turn in listed
        if isinstance(turn, dict) and _text(turn, "body")
    ]
    return _dialogue(record, turns, selection, partial(_part, _People()))


def _part(people: _People, part: Record) -> Utterance:
    author = part.get("author")
    person: Record = author if isinstance(author, dict) else {}
    kind = _text(person, "type")
    role = "customer" if kind in _CUSTOMERS else role_in_data(kind)
    name, role = people.speaker(id_of(person), _text(person, "name"), role)
    return Utterance(name, message_text(_text(part, "body")), role)


def _dialogue(
    record: Record,
    turns: list[JSON],
    selection: Selection,
    convert: Callable[[Record], Utterance],
) -> Dialogue | None:
    """The dialogue of the selected turns; None: there are none."""
    if not selection.takes_whole(record, turns):
        return None
    kept = selection.turns(record, turns)
    if turns and not kept:
        return None
    utterances = []
    for number, turn in enumerate(kept, 1):
        if not isinstance(turn, dict):
            raise BadRecord(f"message {number} is {kind_of(turn)}, not an object")
        utterances.append(convert(turn))
    return Dialogue(
        said(utterance for utterance in utterances if utterance.text.strip()),
        id=id_of(record) or id_of(record, "ticket_id"),
        metadata={key: record[key] for key in _FACTS if record.get(key) is not None},
    )


def _text(record: Record, key: str) -> str:
    value = record.get(key)
    return value if isinstance(value, str) else ""


def helpdesk_reader(
    convert: Callable[[Record, Selection], Dialogue | None], lists: tuple[str, ...]
) -> Parse:
    """Make a reader of records that stand alone, in an array, or in a list under some key."""

    def parse(source: Source, options: ReadOptions, report: Reporter) -> Iterator[Dialogue]:
        selection = Selection(options)
        values = _unwrapped(json_values(source, report), lists)
        yield from converted(values, source, lambda record: convert(record, selection), report)
        selection.tell(report)

    return parse


def _unwrapped(values: Iterator[Value], lists: tuple[str, ...]) -> Iterator[Value]:
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
            yield Value(value.line, item, False)
