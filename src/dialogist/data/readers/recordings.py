"""Transcriptions of recordings, as JSON: Whisper, Amazon Transcribe, Deepgram, AssemblyAI."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from dialogist.data.readers.base import BadRecord
from dialogist.data.readers.fields import (
    Record,
    id_under,
    json_kind,
    list_under,
    require_text,
    text_under,
)
from dialogist.data.readers.json_records import FileHead
from dialogist.records import JSON, Dialogue, Utterance
from dialogist.text.roles import role_of

_LABEL = re.compile(r"(?:spk_|ch_|speaker[_ ]?)?([0-9]{1,3}|[A-Z])", re.IGNORECASE)
_NO_SPACE = re.compile(r"\s+([.,!?;:%])")


def aws(record: Record) -> Dialogue:
    """Convert a job of Amazon Transcribe, or a call of its call analytics."""
    if isinstance(record.get("Transcript"), list):
        turns = [
            _utterance(
                text_under(item, "ParticipantRole").capitalize(), text_under(item, "Content")
            )
            for item in _objects(record, "Transcript")
        ]
        return Dialogue(require_text(turns), id=id_under(record, "JobName"))
    results = record.get("results")
    if not isinstance(results, dict):
        raise BadRecord("key 'results' holds no transcription")
    identity = id_under(record, "jobName")
    if isinstance(results.get("audio_segments"), list):
        segments = list(_objects(results, "audio_segments"))
        if any(segment.get("speaker_label") for segment in segments):
            turns = [
                _utterance(_label(s, "speaker_label"), text_under(s, "transcript"))
                for s in segments
            ]
            return Dialogue(require_text(join_by_speaker(turns)), id=identity)
    return Dialogue(require_text(join_by_speaker(_aws_words(results))), id=identity)


def _aws_words(results: Record) -> Iterator[Utterance]:
    """Word by word; older files name speakers in a list of their own, by the time of the word."""
    by_time: dict[JSON, str] = {}
    labels = results.get("speaker_labels")
    if isinstance(labels, dict):
        for segment in _objects(labels, "segments"):
            for item in _objects(segment, "items"):
                by_time[str(item.get("start_time"))] = _label(item, "speaker_label")
    speaker = ""
    for item in _objects(results, "items"):
        best = next(_objects(item, "alternatives"), None)
        if best is None:
            continue
        if item.get("type") != "punctuation":
            speaker = _label(item, "speaker_label") or by_time.get(str(item.get("start_time")), "")
        yield _utterance(speaker, text_under(best, "content"))


def deepgram(record: Record) -> Dialogue:
    """Convert a transcription of Deepgram: its utterances, else its words."""
    results = record.get("results")
    if not isinstance(results, dict):
        raise BadRecord("key 'results' holds no transcription")
    metadata = record.get("metadata")
    identity = id_under(metadata, "request_id") if isinstance(metadata, dict) else ""
    if isinstance(results.get("utterances"), list):
        turns = [
            _utterance(
                _label(each, "speaker") or _label(each, "channel"), text_under(each, "transcript")
            )
            for each in _objects(results, "utterances")
        ]
        return Dialogue(require_text(join_by_speaker(turns)), id=identity)
    channels = list(_objects(results, "channels"))
    if len(channels) != 1:
        raise BadRecord(
            f"{len(channels)} channels and no utterances: ask Deepgram for utterances=true"
        )
    best = next(_objects(channels[0], "alternatives"), None)
    if best is None:
        raise BadRecord("no alternatives: nothing was transcribed")
    if not isinstance(best.get("words"), list):
        return Dialogue(require_text([Utterance("", text_under(best, "transcript"))]), id=identity)
    words = (
        _utterance(_label(word, "speaker"), _spelled(word)) for word in _objects(best, "words")
    )
    return Dialogue(require_text(join_by_speaker(words)), id=identity)


def _spelled(word: Record) -> str:
    return text_under(word, "punctuated_word" if "punctuated_word" in word else "word")


def assemblyai(record: Record) -> Dialogue:
    """Convert a transcription of AssemblyAI: its utterances, else its words."""
    utterances = record.get("utterances")
    key = "utterances" if isinstance(utterances, list) and utterances else "words"
    if not isinstance(record.get(key), list):
        return Dialogue(
            require_text([Utterance("", text_under(record, "text"))]), id=id_under(record)
        )
    turns = (
        _utterance(_label(each, "speaker"), text_under(each, "text"))
        for each in _objects(record, key)
    )
    return Dialogue(require_text(join_by_speaker(turns)), id=id_under(record))


def join_by_speaker(turns: Iterable[Utterance]) -> list[Utterance]:
    """Turns with what follows by the same speaker joined to them."""
    groups: list[tuple[Utterance, list[str]]] = []
    for turn in turns:
        if groups and groups[-1][0].speaker == turn.speaker:
            groups[-1][1].append(turn.text)
        else:
            groups.append((turn, [turn.text]))
    return [
        Utterance(first.speaker, _NO_SPACE.sub(r"\1", " ".join(texts)).strip(), first.role)
        for first, texts in groups
    ]


def _utterance(speaker: str, text: str) -> Utterance:
    return Utterance(speaker, text, role_of(speaker))


def _label(item: Record, key: str) -> str:
    """A speaker's label as a name: ``spk_0`` and 0 are ``Speaker 0``."""
    value = id_under(item, key)
    label = _LABEL.fullmatch(value)
    return f"Speaker {label[1].upper()}" if label else value


def _objects(record: Record, key: str) -> Iterator[Record]:
    for number, item in enumerate(list_under(record, key), 1):
        if not isinstance(item, dict):
            raise BadRecord(f"'{key}' item {number} is {json_kind(item)}, not an object")
        yield item


def is_aws(head: FileHead) -> bool:
    """A job of Amazon Transcribe, or a call of its analytics."""
    results = head.record.get("results")
    return (
        (isinstance(results, dict) and "items" in results)
        or head.has("jobName", "results")
        or head.has("Transcript", "Participants")
    )


def is_deepgram(head: FileHead) -> bool:
    """Results by channel."""
    results = head.record.get("results")
    inner = isinstance(results, dict) and "channels" in results
    return inner or (not head.record and head.has("results", "channels", "alternatives"))


def is_assemblyai(head: FileHead) -> bool:
    """Text with its words and facts about the recording."""
    facts = ("audio_url", "audio_duration", "acoustic_model", "speaker_labels")
    return head.has("text", "words") and not head.keys.isdisjoint(facts)


def whisper(record: Record) -> Dialogue:
    """Convert one transcription: an utterance per segment, its speaker where one was found."""
    segments = list_under(record, "segments")
    language = record.get("language")
    return Dialogue(
        require_text(_segment(item, n) for n, item in enumerate(segments, 1)),
        metadata={"language": language} if isinstance(language, str) else {},
    )


def _segment(item: JSON, number: int) -> Utterance:
    if not isinstance(item, dict):
        raise BadRecord(f"segment {number} is {json_kind(item)}, not an object")
    speaker = _speaker(item)
    return Utterance(speaker, text_under(item, "text").strip(), role_of(speaker))


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


def is_whisper(head: FileHead) -> bool:
    """An object with segments, as Whisper writes it."""
    return head.has("segments") and not head.has("turns")
