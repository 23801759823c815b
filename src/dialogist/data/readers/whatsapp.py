"""WhatsApp's exported chats, as Android and iOS write them in their many locales."""

import re
from collections.abc import Iterator

from dialogist.data.readers.base import ReadOptions, Reporter
from dialogist.data.readers.roles import role_of
from dialogist.data.readers.source import Source
from dialogist.records import Dialogue, Utterance

_DATE = r"\d{1,4}[./-]\s?\d{1,2}[./-]\s?\d{1,4}\.?"
# "11:59 PM", "23.59", "23:59:01", "下午11:59", "11:59 p. m."
_TIME = r"[^\d\-\[\]:]{0,8}\d{1,2}[:.]\d{2}(?:[:.]\d{2})?[^\d\-\[\]:]{0,8}?"
_ANDROID = re.compile(rf"{_DATE},?\s{_TIME}\s-\s(?P<rest>.*)")
_IOS = re.compile(rf"\[{_DATE},?\s{_TIME}\]\s?(?P<rest>.*)")
# A quotation mark before the colon means a notice: Ann changed the subject to "Plan: B".
_SENDER = re.compile(r"(?P<name>[^:\"“”]{1,80}):(?:\s(?P<text>.*)|$)")
_INVISIBLE = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
_SPACES = re.compile("[\u202f\u00a0]")


def read_whatsapp(source: Source, options: ReadOptions, report: Reporter) -> Iterator[Dialogue]:
    """Read a chat as one dialogue.

    Messages of the app itself (someone joined, messages are encrypted) have no sender: they become
    utterances without a speaker in the role ``system``.
    """
    turns: list[tuple[str, str, list[str]]] = []
    for line in source.lines(report):
        text = clean(line.text)
        rest = message_of(text)
        if rest is not None:
            turns.append(_turn(rest))
        elif turns:
            turns[-1][2].append(text)
        elif text.strip():
            report(line.number, "text above the first message of the chat")
    utterances = tuple(Utterance(n, "\n".join(t).strip(), role) for n, role, t in turns)
    if any(utterance.text for utterance in utterances):
        yield Dialogue(utterances, id=source.stem)


def clean(line: str) -> str:
    """The line without direction marks, its narrow and no-break spaces made plain ones."""
    return _SPACES.sub(" ", _INVISIBLE.sub("", line))


def message_of(line: str) -> str | None:
    """What follows date and time, where a (cleaned) line begins a message."""
    start = _IOS.fullmatch(line) or _ANDROID.fullmatch(line)
    return start["rest"] if start else None


def _turn(rest: str) -> tuple[str, str, list[str]]:
    sender = _SENDER.fullmatch(rest)
    if not sender:
        return "", "system", [rest]
    name = sender["name"].strip().removeprefix("~").strip()
    return name, role_of(name), [sender["text"] or ""]
