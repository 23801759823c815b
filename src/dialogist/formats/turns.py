"""The turns of anybody's JSON or table as utterances: one table of keys, whoever wrote them."""

import html
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import groupby, pairwise
from typing import Any, NamedTuple

from dialogist.formats import fields
from dialogist.formats.documents import message_text, plain_text
from dialogist.formats.fields import KEYS, TABLES, Record, folded_key, keys_of
from dialogist.formats.json_records import Program
from dialogist.formats.read_options import INTERNAL_NOTES, BadRecord, Columns, has_path, value_at
from dialogist.formats.speaker_lines import named_lines
from dialogist.language.roles import role_in_data, role_of
from dialogist.language.tokens import LINE_END
from dialogist.records import FIRST_INSTANT, JSON, Utterance

# Times.

_UNITS = {"ms": 1e-3, "millis": 1e-3, "milliseconds": 1e-3, "ticks": 1e-7, "offsets": 1e-3}
"""Of plain numbers, by the end of a folded_key key; ``offsets`` are whisper.cpp's."""
_EPOCHS = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3), (10 * FIRST_INSTANT, 1.0))
_CLOCK = re.compile(r"(?:(\d{1,4}):)?(\d{1,4}):(\d{1,2}(?:[.,]\d{1,9})?)")
_SPAN = re.compile(r"(?:PT)?(?:(\d{1,6})H)?(?:(\d{1,6})M)?(?:(\d{1,9}(?:\.\d{1,9})?)S)?", re.I)
_LONGEST_TIME = 64
_LONG_TURN = 150  # seconds that most turns do not take, but milliseconds they do


def as_seconds(value: Any, unit: float = 1.0) -> float | None:
    """A time in seconds: a number, a clock, a span (``PT2.5S``), or a moment since 1970; or None.

    Numbers are in ``unit`` seconds, or so great that they count (parts of) seconds since 1970.
    """
    if isinstance(value, dict):
        if "seconds" in value or "nanos" in value:
            whole, rest = as_seconds(value.get("seconds", 0)), as_seconds(value.get("nanos", 0))
            return (whole or 0) + (rest or 0) / 1e9
        inner = map(value.get, ("absolute", "relative", "from"))
        return as_seconds(str(next((each for each in inner if each is not None), "")), unit)
    text = str(value).strip() if isinstance(value, str | int | float) else ""
    if isinstance(value, bool) or not 0 < len(text) < _LONGEST_TIME or not text.isprintable():
        return None
    with suppress(ValueError):
        number = float(text)
        scale = next((1 / scale for least, scale in _EPOCHS if number >= least), unit)
        return number * scale if abs(number) < 1e21 else None
    if parts := _CLOCK.fullmatch(text) or _SPAN.fullmatch(text):
        hours, minutes, rest = (float((part or "0").replace(",", ".")) for part in parts.groups())
        return hours * 3600 + minutes * 60 + rest
    for form in ("", *TABLES["dates"]):
        try:
            moment = datetime.strptime(text, form) if form else datetime.fromisoformat(text)
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError, OSError):
            continue
    return None


def times_of(item: Record, columns: Columns, unit: float) -> tuple[float | None, float | None]:
    """When a turn began and ended."""
    start = end = None
    mapped = columns.get("start")
    keys = [mapped] if mapped is not None else [*keys_of(item, "start"), *keys_of(item, "time")]
    for key in (*keys, *keys_of(item, "end")):
        value = value_at(item, key)
        scale = next((u for name, u in _UNITS.items() if folded_key(key).endswith(name)), unit)
        if isinstance(value, list) and len(value) == 2:
            value = {"from": value[0], "to": value[1]}
        if isinstance(value, dict) and end is None:
            end = as_seconds(value.get("to"), scale)
        if key not in keys:
            end = as_seconds(value, scale) if end is None else end
        elif start is None:
            start = as_seconds(value, scale)
    return start, end


def in_order(utterances: list[Utterance], order: str = "") -> list[Utterance]:
    """Oldest first: by ``order`` (``time``, ``back`` without times), or where moments say it."""
    known = [u.start for u in utterances if u.start is not None]
    falls = sum(a > b for a, b in pairwise(known))
    rises = sum(a < b for a, b in pairwise(known))
    is_dated = max(known, default=0.0) >= FIRST_INSTANT
    if (order == "back" and not rises) or (is_dated and falls > rises):
        utterances = utterances[::-1]
    if not falls or not (is_dated or order == "time"):
        return utterances
    last = float("-inf")
    moments = [last := last if u.start is None else u.start for u in utterances]
    return [utterances[n] for n in sorted(range(len(moments)), key=moments.__getitem__)]


def _in_seconds(utterances: list[Utterance]) -> list[Utterance]:
    """With times in seconds where they are whole milliseconds: nobody speaks for minutes each."""
    spans = [(u.start, u.end) for u in utterances if u.start is not None and u.end is not None]
    lengths = sorted(end - start for start, end in spans)
    is_whole = all(time.is_integer() for span in spans for time in map(float, span))
    if not spans or not is_whole or lengths[len(lengths) // 2] < _LONG_TURN:
        return utterances
    in_ms = ((u, [t if t is None else t / 1000 for t in (u.start, u.end)]) for u in utterances)
    is_dated = spans[0][0] >= FIRST_INSTANT
    return utterances if is_dated else [replace(u, start=a, end=b) for u, (a, b) in in_ms]


# Speakers.

_SIDES = fields.by_folded_key(TABLES["sides"])
_SPARE = ("type", "direction", "channel", "mediachannel", "channellabel", "channeltag")
"""Keys whose value is a speaker only where it is a role, or the number of a channel."""
_LABEL = re.compile(r"(?:spk_|ch_|speaker[_ ]?)?([0-9]{1,3}|[A-Z])", re.IGNORECASE)
_ID_ALONE = re.compile(r"\d{5,}|[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{24,}", re.IGNORECASE)


class Person(NamedTuple):
    """Who speaks, as far as a turn, or a list of people, says it."""

    id: str = ""
    name: str = ""
    role: str = ""


@dataclass(slots=True)
class Participants:
    """Who takes part: names and roles by id; somebody without a name is called by the role."""

    known: MutableMapping[str, Person] = field(default_factory=dict)
    labels: dict[tuple[str, str], str] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    customer: str = ""
    """The id of who asked, as a help desk knows it."""
    other: str = ""
    """Whom a chat is with."""

    def learn(self, record: Record) -> None:
        """Take in all people that a record names beside its turns."""
        for key in keys_of(record, "people"):
            value: Any = record[key]
            if isinstance(value, dict) and key.endswith("s"):  # by id
                named = ((n, p if isinstance(p, dict) else {"name": p}) for n, p in value.items())
                value = [{"id": number, **person} for number, person in named]
            is_list = isinstance(value, list)
            for place, person in enumerate(value if is_list else [value]):
                if isinstance(person, dict):
                    self.learn_person(person, f"#{place}" if is_list else "")
        chat, asked = record.get("name"), value_at(record, "requester_id")
        self.other = chat if isinstance(chat, str) else ""
        asked = value_at(record, "requester.id") if asked is None else asked
        self.customer = str(asked) if isinstance(asked, str | int) else self.customer

    def learn_person(self, value: Record, place: str = "") -> None:
        """Take in one of them, by the ids and the ``place`` in a list."""
        profile = value.get("profile")
        _, name, role = person_of({**value, **(profile if isinstance(profile, dict) else {})})
        ids = [str(i) for k in keys_of(value, "person_id") if isinstance(i := value[k], str | int)]
        for identity in filter(None, [*ids, place]):
            before = self.known.get(identity, Person())
            self.known[identity] = Person(identity, name or before.name, role or before.role)

    def name_and_role(self, person: Person, labels: bool, is_program: bool) -> tuple[str, str]:
        """The name and the role of who speaks."""
        known = self.known.get(person.id, Person())
        name, role = person.name or known.name, person.role or known.role
        if self.customer and person.id and not role:
            role = "customer" if person.id == self.customer else "agent"
        if not name and person.id and not (role or labels or _ID_ALONE.fullmatch(person.id)):
            name = person.id
        if not name and (person.id or (role and is_program)):
            key = (role, person.id)
            if key not in self.labels:
                self.counts[role] += 1
                count, word = self.counts[role], role.capitalize() or "Speaker"
                self.labels[key] = word if role and count == 1 else f"{word} {count}"
            name = self.labels[key]
        return name, role or role_of(name)


def person_of(value: Record, roles: Mapping[str, str] | None = None) -> Person:
    """The person that an object describes; ``roles`` are words that mean another role there."""
    for key in ("user", "application", "bot"):  # as Microsoft Graph has it
        if isinstance(inner := value.get(key), dict):
            return person_of({k: v for k, v in inner.items() if k != key}, roles)
    there = {folded_key(key): value[key] for key in value}
    first, last = (there.get(k) or there.get(f"{k}name") for k in ("first", "last"))
    full = " ".join(part for part in (first, last) if isinstance(part, str) and part)
    names = [value[key] for key in keys_of(value, "name")]
    names += [full, *(value[key] for key in keys_of(value, "handle"))]
    name = next((n for n in names if isinstance(n, str) and n.strip()), "")
    ids = (value[key] for key in keys_of(value, "person_id"))
    identity = next((str(i) for i in ids if isinstance(i, str | int) and i is not True), "")
    words = (value[key] for name in ("role", "person_type") for key in keys_of(value, name))
    word = next((word for word in words if isinstance(word, str) and word), "")
    role = (roles or {}).get(word) or role_in_data(word)
    role = role if role != word or role_of(word) else ""
    return Person(identity, name or (word if role and not identity else ""), role)


# What was said.

_NOT_TOLD = {kind: what for what, kinds in TABLES["not_told"].items() for kind in kinds.split()}
"""Kinds of items that are no speech, and what they are counted as."""
_TEXTS_APART = ("embeds", "attachments", "blocks", "poll")
"""Attachments that hold words of their own rather than a file."""
_DEPTH = 8
_MEDIA = re.compile(r"image|photo|picture|file|audio|voice|video|document|media|sticker|gif", re.I)
_THOUGHT = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>\s*", re.DOTALL)
_NO_SPACE = re.compile(r"\s+([.,!?;:%])")


def has_text(item: Record) -> bool:
    """Whether a turn says something, be it in parts."""
    return any(item[k] and isinstance(item[k], str | list | dict) for k in keys_of(item, "text"))


def message_content(value: Any, key: str, depth: int = 0) -> str:
    """What was said: text, or parts, of which media are named; a `BadRecord`: of another kind."""
    if value is None or depth > _DEPTH:
        return ""
    if isinstance(value, str):
        return value.replace("\r\n", "\n")
    if isinstance(value, dict):
        if folded_key(str(value.get("type"))) in _NOT_TOLD:
            return ""
        inner = (message_content(value[k], k, depth + 1) for k in _text_keys(value))
        kind = str(value.get("type") or "").removesuffix("_url")
        return next(filter(None, inner), f"[{kind}]" if depth and _MEDIA.search(kind) else "")
    if not isinstance(value, list):
        raise BadRecord(f"key '{key}' holds {fields.json_kind(value)}, not text")
    if odd := [item for item in value if isinstance(item, int | float | list)]:
        raise BadRecord(f"key '{key}' holds {fields.json_kind(odd[0])} among its parts")
    texts = [message_content(item, key, depth + 1) for item in value]
    # Telegram writes pieces of one sentence, the others paragraphs.
    is_inline = any(isinstance(item, str) for item in value) and len(value) > 1
    return ("" if is_inline else "\n").join(filter(None, texts)).strip()


def _text_keys(value: Record) -> list[str]:
    return [key for key in keys_of(value, "content") if isinstance(value[key], str | list | dict)]


_OURS = {"speaker", "text"}
_OURS_AND_MORE = {*_OURS, "role", "start", "end"}


@dataclass(slots=True)
class TurnReader:
    """Reads the turns of one record; what is no speech goes to ``leave_out``."""

    columns: Columns
    program: Program
    leave_out: Callable[..., None]
    internal_notes: bool = False
    people: Participants = field(default_factory=Participants)
    shared: Participants = field(default_factory=Participants)
    """Whom a file knows that has several conversations."""

    def read(self, turns: Sequence[JSON], where: str, is_ours: bool = False) -> list[Utterance]:
        """The utterances in order, or a `BadRecord`: none is a turn; ``is_ours``: may be ours."""
        if isinstance(turns, str):
            return named_lines(LINE_END.split(plain_text(turns)))
        is_ours = is_ours and all(
            isinstance(turn, dict) and _OURS <= turn.keys() <= _OURS_AND_MORE for turn in turns
        )
        if all(isinstance(turn, str) for turn in turns):  # perhaps each "Name: text"
            named = named_lines(line for turn in turns for line in LINE_END.split(str(turn)))
            if len(named) == len(turns) and all(u.speaker for u in named):
                return self.finished(named)
        for author in (t[k] for t in turns if isinstance(t, dict) for k in keys_of(t, "speaker")):
            if isinstance(author, dict):  # who may have but an id in another turn
                self.people.learn_person(author)
        utterances: list[Utterance] = []
        faults = []
        for number, item in enumerate(turns, 1):
            try:
                utterances += self.turn(item, f"'{where}' item {number}", is_ours)
            except BadRecord as error:
                faults.append(error)
        if faults and not utterances:
            raise faults[0]
        self.leave_out("items without text", len(faults))
        return self.finished(utterances, is_ours)

    def finished(self, utterances: list[Utterance], is_ours: bool = False) -> list[Utterance]:
        """In order, joined, without instructions of a model; ``is_ours``: as it stands."""
        order = self.program.order
        ordered = utterances if is_ours else in_order(_in_seconds(utterances), order)
        if self.program.joined:
            runs = ([*run] for _, run in groupby(ordered, key=lambda u: (u.speaker, u.role)))
            ordered = [
                replace(run[0], text=_spaced(u.text for u in run), end=run[-1].end) for run in runs
            ]
        roles = {u.role for u in ordered} - {"system", ""}
        if "assistant" in roles or self.program.llm:
            prompts = ("system", "developer")
            kept = [u for u in ordered if u.role not in prompts or (is_ours and not u.speaker)]
            self.leave_out("system prompts", len(ordered) - len(kept))
            return kept
        if roles - {"user"}:  # a notice of the chat
            return [replace(u, speaker="") if u.role == "system" else u for u in ordered]
        return ordered

    def turn(self, item: Any, where: str, is_ours: bool = False) -> list[Utterance]:
        """A turn, and behind it those of its thread, or a `BadRecord`: it is none."""
        is_plain = not (self.program.doc or self.columns or self.people.known)
        if is_plain and isinstance(item, dict) and (is_ours or item.keys() == _OURS):
            speaker, text = item["speaker"], item["text"]  # most are so: without a search
            if isinstance(speaker, str) and isinstance(text, str):
                role = self._role(item)
                role = role_of(speaker) if role is None else role
                text = message_text(text if is_ours else message_content(text, ""))
                return [Utterance(speaker, text, role, *times_of(item, {}, 1))]
        utterances: list[Utterance] = []
        waiting = [item]
        while waiting:
            each = waiting.pop()
            try:
                utterances += self.utterances(each, where)
            except BadRecord:
                if each is item:
                    raise
                self.leave_out("items without text")
            whole = unwrapped(each) if isinstance(each, dict) else {}
            for key in keys_of(whole, "replies"):
                waiting += reversed(whole[key]) if isinstance(whole[key], list) else []
        return utterances

    def utterances(self, item: Any, where: str) -> list[Utterance]:
        """A turn as ``[speaker, text]``, an object, or text without a speaker, or a `BadRecord`."""
        if isinstance(item, str | list):
            speaker, text = ("", item) if isinstance(item, str) else fields.text_pair(item, where)
            return [Utterance(speaker, text, role_of(speaker))]
        if not isinstance(item, dict):
            raise BadRecord(f"{where} is {fields.json_kind(item)}, not a turn")
        item = unwrapped(item)
        if what := self.left_out(item):
            self.leave_out(what)
            return []
        speaker, role = self._speaker(item)
        text = self._text(item)
        # A notice tells of its speaker by name, as "Ann left the group." does.
        notice = self.program.notice
        if notice and re.fullmatch(notice, text.removeprefix(speaker)):
            self.leave_out("notices")
            return []
        start, end = times_of(item, self.columns, self.program.unit)
        lists = (v for k in keys_of(item, "pieces") if isinstance(v := item[k], list))
        pieces: Any = next(lists, [])
        runs = [] if self.columns.get("text") else self.spoken(pieces, speaker, role, text)
        letters = [c for run in runs for c in run.text if c.isalnum()]
        if runs and (not text or (len(runs) > 1 and letters == [*filter(str.isalnum, text)])):
            return [replace(runs[0], start=runs[0].start if start is None else start), *runs[1:]]
        if runs and not speaker:  # to whom most words were given
            speaker = Counter(u.speaker for u in runs for _ in u.text.split()).most_common(1)[0][0]
        if not text:
            text = _attached(item)
            has_parts = any(item[k] and isinstance(item[k], list) for k in keys_of(item, "text"))
            if not text and (has_parts or self.program.doc):
                self.leave_out("items without text")
                return []
            mapped = self.columns.get("text", "")
            if not text and not (has_path(item, mapped) or keys_of(item, "text")):
                raise BadRecord(f"{where} has {fields.missing_key('text', item)}")
        elif any(item[key] for key in keys_of(item, "attachments")):
            self.leave_out("attachments")
        return [Utterance(speaker, text, role, start, end)]

    def left_out(self, item: Record) -> str:
        """What an item is counted as that is no speech; empty: it is told."""
        for key, values in self.program.internal.items():
            if not self.internal_notes and item.get(key) in values:
                return INTERNAL_NOTES
        kinds = [str(item[k]) for k in keys_of(item, "kind") if isinstance(item[k], str | int)]
        what = next((_NOT_TOLD[k] for k in map(folded_key, kinds) if k in _NOT_TOLD), "")
        for key, values in self.program.said.items():
            if str(value_at(item, key, "")) not in map(str, values):
                return what or "notices"
        none = ("none", "false", "", "[]", "{}", "0")
        if any(str(item[key]).lower() not in none for key in keys_of(item, "deleted")):
            return "deleted messages"
        marks = ((key, item[key]) for key in keys_of(item, "notice"))  # "system" may be a program
        if any(
            is_so is True or (key != "system" and is_so in ("true", "True")) for key, is_so in marks
        ):
            return "notices"
        return what

    def _text(self, item: Record) -> str:
        mapped = self.columns.get("text")
        for key in [mapped] if mapped else keys_of(item, "text"):
            value = value_at(item, key)
            if key in KEYS["pieces"] and not isinstance(value, str):
                continue
            text = message_content(value, key)
            if self._role(item) in ("agent", "assistant"):
                text, thoughts = _THOUGHT.subn("", text)
                self.leave_out("tool results", thoughts)
            if self.program.clean:
                text = html.unescape(re.sub(self.program.clean, "", text))
            text = message_text(text)
            if text.strip():
                text = html.unescape(text) if folded_key(key) == "plainbody" else text
                return text.strip() if self.program.doc else text
        return ""

    def _speaker(self, item: Record) -> tuple[str, str]:
        """The name and the role of who speaks."""
        mapped = self.columns.get("speaker")
        usual = ["speaker"] if item.get("speaker") == "" else keys_of(item, "speaker")
        person = Person()
        for key in usual if mapped is None else [mapped]:
            other = self._person(value_at(item, key), key)
            person = Person(person.id or other.id, other.name, person.role or other.role)
            if person.name:
                break
        role = self._role(item)
        person = person if role is None else person._replace(role=role)
        for key, value in item.items():
            if isinstance(value, bool) and (side := _SIDES.get(folded_key(key))):
                word = side[not value]
                if "Me" in side:
                    person = person._replace(name=person.name or word or self.people.other)
                else:
                    person = person._replace(role=person.role or word)
        name, known = self.people.name_and_role(person, self.program.labels, bool(self.program.doc))
        return name, role if role is not None else known

    def _role(self, item: Record) -> str | None:
        """The role that is given; it is kept as it is, even empty: so what we write is read."""
        key = self.columns.get("role") or next(iter(keys_of(item, "role")), "")
        value = value_at(item, key)
        if not isinstance(value, str):
            return None
        is_ours = key == "role" and not self.program.doc
        return (role_of(value) or value) if is_ours else role_in_data(value)

    def _person(self, value: Any, key: str) -> Person:
        """Who a value under a key is: a name, an id, a role, or an object that tells them."""
        if isinstance(value, list):
            value = value[0] if value else None
        if isinstance(value, dict):
            person = person_of(value, self.program.roles)
            known = self.people.known.get(person.id, Person())
            return Person(person.id, person.name or known.name, person.role or known.role)
        if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
            return Person()
        text, name = str(value), folded_key(key)
        text += "bound" * (name == "direction" and text in ("in", "out"))
        for place in (text, f"#{text}" if name in ("originator", "party") else ""):
            if place in self.people.known:
                return self.people.known[place]
        role = role_in_data(text)
        is_role = role != text or bool(role_of(text))
        label = _LABEL.fullmatch(text)
        if name in _SPARE and not (is_role or (label and name != "type")):
            return Person()
        by_number = isinstance(value, int) and not name.endswith("id")
        is_coded = name == "speakerid" or ("_" in text and name != "speaker")
        if label and (by_number or self.program.labels or is_coded):
            return Person("", f"Speaker {label[1].upper()}")
        if role != text and not role_of(text):  # "external", "ai"
            return Person("", role.capitalize(), role)
        if name.endswith("id") or not isinstance(value, str) or _ID_ALONE.fullmatch(text):
            return Person(text)
        is_shouted = bool(self.program.doc) and text.isupper() and is_role
        return Person("", text.capitalize() if is_shouted else text, role if is_role else "")

    def spoken(
        self, pieces: Sequence[Any], speaker: str = "", role: str = "", whole: str = ""
    ) -> list[Utterance]:
        """Words with speakers and times as utterances; ``whole`` is their text, if it is known."""
        items = [unwrapped(piece) for piece in pieces if isinstance(piece, dict)]
        tokens = whole.split()
        texts = tokens if len(tokens) == len(items) else [*map(_piece, items)]
        is_glued = any(text[:1].isspace() or text[-1:].isspace() for text in texts)
        spoken: list[tuple[str, str, float | None, float | None]] = []
        now = ""
        for item, text in zip(items, texts, strict=True):
            if what := _NOT_TOLD.get(folded_key(str(item.get("type")))):
                self.leave_out(what)
            elif text:
                is_sign = item.get("type") in ("spacing", "punctuation", "punct")
                now = now if is_sign else self._speaker(item)[0] or now
                spoken.append((now, text, *times_of(item, {}, self.program.unit)))
        first = next((name for name, *_ in spoken if name), "")
        utterances = []
        for name, run in groupby(spoken, key=lambda word: word[0] or first):
            words = [*run]
            texts = [w[1] for w in words]
            text = "".join(texts).strip() if is_glued else _spaced(texts)
            start = next((w[2] for w in words if w[2] is not None), None)
            end = next((w[3] for w in reversed(words) if w[3] is not None), None)
            given = role if name in ("", speaker) else role_of(name)
            if text:
                utterances.append(Utterance(name or speaker, text, given, start, end))
        return utterances


def _spaced(words: Iterable[str]) -> str:
    """Words as a text: none before a point."""
    return _NO_SPACE.sub(r"\1", " ".join(words)).strip()


def unwrapped(item: Record) -> dict[str, Any]:
    """A turn with what stands in an object of its own, such as the best of several readings."""
    whole: dict[str, Any] = dict(item)
    for key in keys_of(item, "inner"):
        inner: Any = item[key]
        if isinstance(inner, list) and folded_key(key) in ("alternatives", "nbest"):
            inner = inner[0] if inner else None
        if isinstance(inner, dict) and keys_of(inner, "text"):
            outer = (item[k] for k in keys_of(item, "text") if k != key)
            if not any(isinstance(value, str) and value for value in outer):
                whole = {**{k: v for k, v in whole.items() if k != key}, **inner}
    return whole


def _piece(item: Record) -> str:
    keys = ("punctuated_word", "punctuatedWord", "word", *keys_of(item, "text"))
    return next((value for key in keys if isinstance(value := item.get(key), str)), "")


def _attached(item: Record) -> str:
    """What is attached to a message without words: its text, or its name in brackets."""
    texts = []
    for key in keys_of(item, "attachments"):
        value: Any = item[key]
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, dict):
                keys = [k for k in _text_keys(each) if each[k] and k != "fallback"] or ["fallback"]
                words = [message_content(each.get(k), k) for k in keys]
                names = (each[k] for k in keys_of(each, "file_name"))
                name = next((n for n in names if isinstance(n, str) and n), key.rstrip("s"))
                is_text = key in _TEXTS_APART and any(words) and not each.get("fileName")
                texts += words if is_text else [f"[{name.rpartition('/')[2] or key}]"]
            elif isinstance(each, str) and each and not each.startswith("(File"):
                texts.append(f"[{each.rpartition('/')[2][:_LONGEST_TIME] or key}]")
    return "\n".join(filter(None, dict.fromkeys(texts)))
