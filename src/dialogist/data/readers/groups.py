"""Messages that say which dialogue they belong to, put together whatever their order in a file."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import NamedTuple

from dialogist.data.readers.base import BadRecord, ReadOptions, Reporter
from dialogist.data.readers.fields import said
from dialogist.errors import DataError
from dialogist.records import Dialogue, Utterance
from dialogist.text.listing import counted


class Message(NamedTuple):
    """One utterance of a dialogue: where it stands in the file, and when it was written."""

    dialogue: str
    line: int
    utterance: Utterance
    time: str = ""
    summary: str = ""


@dataclass(slots=True)
class _Group:
    """The messages of one dialogue so far."""

    line: int
    utterances: list[Utterance] = field(default_factory=list)
    times: list[str] = field(default_factory=list)
    summary: str = ""

    def add(self, message: Message) -> None:
        self.utterances.append(message.utterance)
        self.times.append(message.time)
        self.summary = self.summary or message.summary

    def in_order(self) -> tuple[list[Utterance], bool]:
        """The utterances by time, and whether they stood in another order."""
        moments = [moment_of(time) for time in self.times]
        known = [moment for moment in moments if moment is not None]
        if len(known) < len(moments) or all(a <= b for a, b in pairwise(known)):
            return self.utterances, False
        order = sorted(range(len(known)), key=known.__getitem__)
        return [self.utterances[place] for place in order], True


def moment_of(text: str) -> float | None:
    """A time stamp as seconds, or None where it is none: a number, or ISO 8601."""
    try:
        return float(text) if text else None
    except ValueError:
        pass
    try:
        return datetime.fromisoformat(text.strip().removesuffix(" UTC")).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def grouped(
    messages: Iterator[Message], options: ReadOptions, report: Reporter, refusal: str = ""
) -> Iterator[Dialogue]:
    """Put messages of one dialogue together and yield the dialogues as they first appeared.

    All messages are held in memory, unless they are known to be sorted by dialogue. ``refusal``
    is what to say if the ids turn out to be the messages' own.

    Raises:
        DataError: there is a ``refusal``, and no two messages have an id in common.
    """
    moved = single = count = 0
    for identity, group in _groups(messages, options, report, refusal):
        utterances, was_moved = group.in_order()
        moved += was_moved
        single += len(utterances) == 1
        count += 1
        try:
            found = said(utterances)
        except BadRecord as error:
            report(group.line, str(error))
            continue
        references = (group.summary,) if group.summary.strip() else ()
        yield Dialogue(found, id=identity, references=references)
    if moved:
        report.note(f"{counted(moved, 'dialogues')} put in the order of the time stamps")
    if count > 1 and single == count:
        report.note(f"each of the {count} dialogues is a single message: is the id the dialogue's?")


def _groups(
    messages: Iterator[Message], options: ReadOptions, report: Reporter, refusal: str
) -> Iterator[tuple[str, _Group]]:
    if options.by_neighbours:
        yield from _neighbours(messages, report)
        return
    groups: dict[str, _Group] = {}
    for message in messages:
        group = groups.setdefault(message.dialogue, _Group(message.line))
        group.add(message)
    if refusal and len(groups) > 1 and all(len(g.utterances) == 1 for g in groups.values()):
        raise DataError(f"{report.file}: {refusal}")
    yield from groups.items()


def _neighbours(messages: Iterator[Message], report: Reporter) -> Iterator[tuple[str, _Group]]:
    """Groups of messages that follow each other; an id that comes back is a problem."""
    done: set[str] = set()
    identity, group = "", None
    for message in messages:
        if group is None or message.dialogue != identity:
            if group is not None and group.utterances:
                done.add(identity)
                yield identity, group
            identity, group = message.dialogue, _Group(message.line)
        if identity in done:
            report(message.line, f"'{identity[:60]}' comes back: not sorted, read without --sorted")
            continue
        group.add(message)
    if group is not None and group.utterances:
        yield identity, group
