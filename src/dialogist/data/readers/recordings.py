"""Transcriptions with speakers by the services that transcribe: AWS, Deepgram, AssemblyAI."""

import re
from collections.abc import Iterable, Iterator

from dialogist.data.readers.base import BadRecord
from dialogist.data.readers.fields import id_of, list_of, said, text_of
from dialogist.data.readers.parsing import Record
from dialogist.data.readers.roles import role_of
from dialogist.data.readers.rows import kind_of
from dialogist.records import JSON, Dialogue, Utterance

_LABEL = re.compile(r"(?:spk_|ch_|speaker[_ ]?)?([0-9]{1,3}|[A-Z])", re.IGNORECASE)
_NO_SPACE = re.compile(r"\s+([.,!?;:%])")


def aws(record: Record) -> Dialogue:
    """Convert a job of Amazon Transcribe, or a call of its call analytics."""
    if isinstance(record.get("Transcript"), list):
        turns = [
            _utterance(text_of(item, "ParticipantRole").capitalize(), text_of(item, "Content"))
            for item in _objects(record, "Transcript")
        ]
        return Dialogue(said(turns), id=id_of(record, "JobName"))
    results = record.get("results")
    if not isinstance(results, dict):
        raise BadRecord("key 'results' holds no transcription")
    identity = id_of(record, "jobName")
    if isinstance(results.get("audio_segments"), list):
        segments = list(_objects(results, "audio_segments"))
        if any(segment.get("speaker_label") for segment in segments):
            turns = [
                _utterance(_label(s, "speaker_label"), text_of(s, "transcript")) for s in segments
            ]
            return Dialogue(said(joined(turns)), id=identity)
    return Dialogue(said(joined(_aws_words(results))), id=identity)


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
        yield _utterance(speaker, text_of(best, "content"))


def deepgram(record: Record) -> Dialogue:
    """Convert a transcription of Deepgram: its utterances, else its words."""
    results = record.get("results")
    if not isinstance(results, dict):
        raise BadRecord("key 'results' holds no transcription")
    metadata = record.get("metadata")
    identity = id_of(metadata, "request_id") if isinstance(metadata, dict) else ""
    if isinstance(results.get("utterances"), list):
        turns = [
            _utterance(
                _label(each, "speaker") or _label(each, "channel"), text_of(each, "transcript")
            )
            for each in _objects(results, "utterances")
        ]
        return Dialogue(said(joined(turns)), id=identity)
    channels = list(_objects(results, "channels"))
    if len(channels) != 1:
        raise BadRecord(
            f"{len(channels)} channels and no utterances: ask Deepgram for utterances=true"
        )
    best = next(_objects(channels[0], "alternatives"), None)
    if best is None:
        raise BadRecord("no alternatives: nothing was transcribed")
    if not isinstance(best.get("words"), list):
        return Dialogue(said([Utterance("", text_of(best, "transcript"))]), id=identity)
    words = (
        _utterance(_label(word, "speaker"), _spelled(word)) for word in _objects(best, "words")
    )
    return Dialogue(said(joined(words)), id=identity)


def _spelled(word: Record) -> str:
    return text_of(word, "punctuated_word" if "punctuated_word" in word else "word")


def assemblyai(record: Record) -> Dialogue:
    """Convert a transcription of AssemblyAI: its utterances, else its words."""
    utterances = record.get("utterances")
    key = "utterances" if isinstance(utterances, list) and utterances else "words"
    if not isinstance(record.get(key), list):
        return Dialogue(said([Utterance("", text_of(record, "text"))]), id=id_of(record))
    turns = (
        _utterance(_label(each, "speaker"), text_of(each, "text")) for each in _objects(record, key)
    )
    return Dialogue(said(joined(turns)), id=id_of(record))


def joined(turns: Iterable[Utterance]) -> list[Utterance]:
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
    value = id_of(item, key)
    label = _LABEL.fullmatch(value)
    return f"Speaker {label[1].upper()}" if label else value


def _objects(record: Record, key: str) -> Iterator[Record]:
    for number, item in enumerate(list_of(record, key), 1):
        if not isinstance(item, dict):
            raise BadRecord(f"'{key}' item {number} is {kind_of(item)}, not an object")
        yield item
