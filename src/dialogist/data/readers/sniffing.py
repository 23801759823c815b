"""How each format is recognised by the head of a file."""

from collections.abc import Callable
from itertools import groupby

from dialogist.data.readers.columnar import ARROW, PARQUET
from dialogist.data.readers.head import Head
from dialogist.data.readers.headed import is_headed
from dialogist.data.readers.keys import SPEAKERS, TEXT_KEYS, TEXTS, TURN_KEYS, plain_name
from dialogist.data.readers.speaker_lines import guess_name, has_speakers, strip_stamp
from dialogist.data.readers.subtitles import TIMING
from dialogist.data.readers.table import DIALOGUES, SEPARATOR, names_of
from dialogist.data.readers.transcript import DIVIDER
from dialogist.data.readers.whatsapp import clean, message_of

Sniff = Callable[[Head], bool]

_TABLE_SUFFIXES = (".csv", ".tsv")
_ROWS = (".jsonl", ".ndjson", PARQUET, ARROW)


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
    """JSON records with turns, or whatever begins a file of records by its name."""
    return head.shape == "rows" and (_has_turns(head) or head.suffix in _ROWS)


def _has_turns(head: Head) -> bool:
    # A first record that is broken says nothing about the rest: the reader will report it.
    if not head.keys or not head.keys.isdisjoint((*TURN_KEYS, *TEXT_KEYS)):
        return True
    return not head.keys.isdisjoint(SPEAKERS) and not head.keys.isdisjoint(TEXTS)


def is_zendesk(head: Head) -> bool:
    """Tickets, or a ticket's comments, by people who are known by number."""
    if head.has("tickets"):
        return isinstance(head.record.get("tickets", []), list)
    comments = head.record.get("comments")
    first = comments[0] if isinstance(comments, list) and comments else None
    if isinstance(first, dict):
        return "author_id" in first and not first.keys().isdisjoint(("body", "html_body"))
    return head.has("comments", "requester_id") or head.has("comments", "author_id")


def is_intercom(head: Head) -> bool:
    """A conversation with parts, or a list of conversations."""
    kind = head.record.get("type")
    return head.has("conversation_parts") or (bool(head.shape) and kind == "conversation.list")


def is_slack(head: Head) -> bool:
    """Messages with Slack's kind of time stamp."""
    stamp = head.record.get("ts")
    message = head.record.get("type") == "message"
    return bool(head.shape) and message and isinstance(stamp, str) and "." in stamp


def is_aws(head: Head) -> bool:
    """A job of Amazon Transcribe, or a call of its analytics."""
    results = head.record.get("results")
    return (
        (isinstance(results, dict) and "items" in results)
        or head.has("jobName", "results")
        or head.has("Transcript", "Participants")
    )


def is_deepgram(head: Head) -> bool:
    """Results by channel."""
    results = head.record.get("results")
    inner = isinstance(results, dict) and "channels" in results
    return inner or (not head.record and head.has("results", "channels", "alternatives"))


def is_assemblyai(head: Head) -> bool:
    """Text with its words and facts about the recording."""
    facts = ("audio_url", "audio_duration", "acoustic_model", "speaker_labels")
    return head.has("text", "words") and not head.keys.isdisjoint(facts)


def is_webvtt(head: Head) -> bool:
    """A first line of WEBVTT."""
    return bool(head.lines) and head.lines[0].split()[:1] == ["WEBVTT"]


def is_srt(head: Head) -> bool:
    """A timing line at once, or under a number."""
    return any(TIMING.fullmatch(line) for line in head.lines[:2])


def is_whatsapp(head: Head) -> bool:
    """Date, time, and the mark between them and a message."""
    messages = [message_of(clean(line)) is not None for line in head.lines[:5]]
    # A transcript with a time before each name may have one line that looks like WhatsApp's.
    return any(messages) and (messages[0] or guess_name(strip_stamp(head.lines[0])) is None)


def is_table(head: Head) -> bool:
    """A header row with the columns needed; any other only where the file calls itself CSV."""
    first = 1 if head.lines and SEPARATOR.fullmatch(head.lines[0]) else 0
    header = head.lines[first] if len(head.lines) > first else ""
    names = {plain_name(name) for name in names_of(header)}
    if len(names) < 2 or head.shape:
        return False
    turns = not names.isdisjoint(SPEAKERS) and not names.isdisjoint(TEXTS)
    return turns or not names.isdisjoint(DIALOGUES) or head.suffix in _TABLE_SUFFIXES


def is_html_page(head: Head) -> bool:
    """A page, by its first tag."""
    return head.text.lstrip()[:15].lower().startswith(("<!doctype html", "<html"))


def is_headed_text(head: Head) -> bool:
    """Lines with a name and a time above what was said."""
    return not head.shape and is_headed(head.lines)


def is_transcript(head: Head) -> bool:
    """Lines of which most begin with a speaker, in the first dialogue of the file."""
    parts = groupby(head.lines, key=lambda line: DIVIDER.fullmatch(line) is not None)
    first = next((list(part) for is_divider, part in parts if not is_divider), [])
    return not head.shape and has_speakers(first)


def never(head: Head) -> bool:
    """For a format that fits any text, and so must be asked for by name."""
    return False
