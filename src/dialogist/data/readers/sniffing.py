"""How each format is recognised by the head of a file."""

from collections.abc import Callable
from itertools import groupby

from dialogist.data.readers.generic import SPEAKERS, TEXT_KEYS, TEXTS, TURN_KEYS
from dialogist.data.readers.head import Head
from dialogist.data.readers.speaker_lines import has_speakers
from dialogist.data.readers.subtitles import TIMING
from dialogist.data.readers.table import DIALOGUES, names_of
from dialogist.data.readers.transcript import DIVIDER
from dialogist.data.readers.whatsapp import clean, message_of

Sniff = Callable[[Head], bool]

_TABLE_SUFFIXES = (".csv", ".tsv")


def has(*keys: str) -> Sniff:
    """A test for JSON whose first record has these keys, perhaps among others."""
    return lambda head: head.has(*keys)


def has_only(*keys: str) -> Sniff:
    """A test for JSON whose first record has exactly these keys."""
    return lambda head: bool(head.shape) and head.keys == frozenset(keys)


def is_pretrain(head: Head) -> bool:
    """Rows of nothing but an id and pairs."""
    turns = head.record.get("turns")
    pairs = isinstance(turns, list) and all(isinstance(turn, list) for turn in turns)
    return head.shape == "rows" and head.keys == {"id", "turns"} and pairs


def is_whisper(head: Head) -> bool:
    """An object with segments, as Whisper writes it."""
    return head.has("segments") and not head.has("turns")


def is_json(head: Head) -> bool:
    """One JSON value with turns in it."""
    return head.shape == "document" and _has_turns(head)


def is_jsonl(head: Head) -> bool:
    """JSON records with turns, or whatever begins a file that calls itself .jsonl."""
    return head.shape == "rows" and (_has_turns(head) or head.suffix in (".jsonl", ".ndjson"))


def _has_turns(head: Head) -> bool:
    # A first record that is broken says nothing about the rest: the reader will report it.
    return not head.keys or not head.keys.isdisjoint((*TURN_KEYS, *TEXT_KEYS))


def is_webvtt(head: Head) -> bool:
    """A first line of WEBVTT."""
    return bool(head.lines) and head.lines[0].split()[:1] == ["WEBVTT"]


def is_srt(head: Head) -> bool:
    """A timing line at once, or under a number."""
    return any(TIMING.fullmatch(line) for line in head.lines[:2])


def is_whatsapp(head: Head) -> bool:
    """Date, time, and the mark between them and a message."""
    return any(message_of(clean(line)) is not None for line in head.lines[:5])


def is_table(head: Head) -> bool:
    """A header row with the columns needed; any other only where the file calls itself CSV."""
    names = {name.lower() for name in names_of(head.lines[0])} if head.lines else set()
    if len(names) < 2 or head.shape:
        return False
    turns = not names.isdisjoint(SPEAKERS) and not names.isdisjoint(TEXTS)
    return turns or not names.isdisjoint(DIALOGUES) or head.suffix in _TABLE_SUFFIXES


def is_transcript(head: Head) -> bool:
    """Lines of which most begin with a speaker, in the first dialogue of the file."""
    parts = groupby(head.lines, key=lambda line: DIVIDER.fullmatch(line) is not None)
    first = next((list(part) for is_divider, part in parts if not is_divider), [])
    return not head.shape and has_speakers(first)


def never(head: Head) -> bool:
    """For a format that fits any text, and so must be asked for by name."""
    return False
