"""Whisper's JSON, and WhisperX' and faster-whisper's variants with speakers."""

from collections import Counter

from dialogist.data.readers.base import BadRecord
from dialogist.data.readers.fields import list_of, said, text_of
from dialogist.data.readers.parsing import Record
from dialogist.data.readers.roles import role_of
from dialogist.data.readers.rows import kind_of
from dialogist.records import JSON, Dialogue, Utterance


def whisper(record: Record) -> Dialogue:
    """Convert one transcription: an utterance per segment, its speaker where one was found."""
    segments = list_of(record, "segments")
    language = record.get("language")
    return Dialogue(
        said(_segment(item, n) for n, item in enumerate(segments, 1)),
        metadata={"language": language} if isinstance(language, str) else {},
    )


def _segment(item: JSON, number: int) -> Utterance:
    if not isinstance(item, dict):
        raise BadRecord(f"segment {number} is {kind_of(item)}, not an object")
    speaker = _speaker(item)
    return Utterance(speaker, text_of(item, "text").strip(), role_of(speaker))


def _speaker(segment: Record) -> str:
    """The segment's speaker, else the one to whom most of its words were given (WhisperX)."""
    speaker = segment.get("speaker")
    if isinstance(speaker, str):
        return speaker
    words = segment.get("words")
    listed = words if isinstance(words, list) else []
    names = [word.get("speaker") for word in listed if isinstance(word, dict)]
    counts = Counter(name for name in names if isinstance(name, str) and name)
    return counts.most_common(1)[0][0] if counts else ""
