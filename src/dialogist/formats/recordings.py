"""Transcriptions of recordings: Whisper, Amazon Transcribe, Deepgram, AssemblyAI."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from dialogist.formats.fields import (
    Record,
    id_under,
    json_kind,
    list_under,
    objects_under,
    require_text,
    text_under,
)
from dialogist.formats.json_records import record_reader
from dialogist.formats.read_options import BadRecord
from dialogist.language.roles import role_of
from dialogist.records import JSON, Dialogue, Utterance

_LABEL = re.compile(r"(?:spk_|ch_|speaker[_ ]?)?([0-9]{1,3}|[A-Z])", re.IGNORECASE)
_NO_SPACE = re.compile(r"\s+([.,!?;:%])")


def aws(record: Record) -> Dialogue:
    """Convert a job of Amazon Transcribe, or a call of its call analytics."""
    if isinstance(record.get("Transcript"), list):
        turns = [
            _spoken(text_under(item, "ParticipantRole").capitalize(), text_under(item, "Content"))
            for item in objects_under(record, "Transcript")
        ]
        return Dialogue(require_text(turns), id=id_under(record, "JobName"))
    results = _results(record)
    segments = (
        objects_under(results, "audio_segments")
        if isinstance(results.get("audio_segments"), list)
        else []
    )
    if any(segment.get("speaker_label") for segment in segments):
        turns = [_spoken(_label(s, "speaker_label"), text_under(s, "transcript")) for s in segments]
    else:
        turns = list(_aws_words(results))
    return Dialogue(require_text(join_by_speaker(turns)), id=id_under(record, "jobName"))


def _aws_words(results: Record) -> Iterator[Utterance]:
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
        yield _spoken(speaker, text_under(best, "content"))


def deepgram(record: Record) -> Dialogue:
    """Convert a transcription of Deepgram: its utterances, else its words."""
    results = _results(record)
    metadata = record.get("metadata")
    identity = id_under(metadata, "request_id") if isinstance(metadata, dict) else ""
    if isinstance(results.get("utterances"), list):
        turns = [
            _spoken(
                _label(item, "speaker") or _label(item, "channel"), text_under(item, "transcript")
            )
            for item in objects_under(results, "utterances")
        ]
        return Dialogue(require_text(join_by_speaker(turns)), id=identity)
    channels = objects_under(results, "channels")
    if len(channels) != 1:
        raise BadRecord(
            f"{len(channels)} channels and no utterances: ask Deepgram for utterances=true"
        )
    best = next(iter(objects_under(channels[0], "alternatives")), None)
    if best is None:
        raise BadRecord("no alternatives: nothing was transcribed")
    if isinstance(best.get("words"), list):
        turns = [
            _spoken(
                _label(word, "speaker"),
                text_under(word, "punctuated_word" if "punctuated_word" in word else "word"),
            )
            for word in objects_under(best, "words")
        ]
    else:
        turns = [Utterance("", text_under(best, "transcript"))]
    return Dialogue(require_text(join_by_speaker(turns)), id=identity)


def assemblyai(record: Record) -> Dialogue:
    """Convert a transcription of AssemblyAI: its utterances, else its words."""
    key = "utterances" if record.get("utterances") else "words"
    if isinstance(record.get(key), list):
        items = objects_under(record, key)
        turns = join_by_speaker(
            _spoken(_label(item, "speaker"), text_under(item, "text")) for item in items
        )
    else:
        turns = [Utterance("", text_under(record, "text"))]
    return Dialogue(require_text(turns), id=id_under(record))


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
        turns.append(_spoken(speaker, text_under(segment, "text").strip()))
    language = record.get("language")
    metadata: dict[str, JSON] = {"language": language} if isinstance(language, str) else {}
    return Dialogue(require_text(turns), metadata=metadata)


def _results(record: Record) -> Record:
    results = record.get("results")
    if not isinstance(results, dict):
        raise BadRecord("key 'results' holds no transcription")
    return results


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


def _spoken(speaker: str, text: str) -> Utterance:
    return Utterance(speaker, text, role_of(speaker))


def _label(item: Record, key: str) -> str:
    """A speaker's label as a name: ``spk_0`` and 0 are ``Speaker 0``."""
    value = id_under(item, key)
    label = _LABEL.fullmatch(value)
    return f"Speaker {label[1].upper()}" if label else value


read_aws, read_deepgram = record_reader(aws), record_reader(deepgram)
read_assemblyai, read_whisper = record_reader(assemblyai), record_reader(whisper)
