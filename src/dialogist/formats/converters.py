"""One function per corpus and per transcription service: its record in, our dialogue out."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from dialogist.formats.base import BadRecord
from dialogist.formats.fields import (
    Record,
    id_under,
    json_kind,
    list_under,
    missing_key,
    other_keys,
    pairs_under,
    require_text,
    text_pair,
    text_under,
    texts_under,
    turns_under,
)
from dialogist.formats.json_records import FileHead
from dialogist.formats.speaker_lines import BRACKETS, DIALOGSUM, MTS, SAMSUM, split_utterances
from dialogist.records import JSON, Dialogue, Utterance
from dialogist.language.roles import role_of
from dialogist.language.tokens import split_sentences

_NUMBERED_SUMMARY = re.compile(r"summary\d*")


def dialogsum(record: Record) -> Dialogue:
    """DialogSum (Chen et al. 2021): one summary in training rows, ``summary1..3`` in test rows."""
    summaries = sorted(key for key in record if _NUMBERED_SUMMARY.fullmatch(key))
    if not summaries:
        raise missing_key("summary", record)
    return _from_text(record, DIALOGSUM, *summaries, identity="fname")


def samsum(record: Record) -> Dialogue:
    """SAMSum (Gliwa et al. 2019): chat lines, one utterance each."""
    return _from_text(record, SAMSUM, "summary")


def mts_dialog(record: Record) -> Dialogue:
    """MTS-Dialog (Ben Abacha et al. 2023): a visit and one section of its clinical note."""
    return _from_text(record, MTS, "summary")


def aci_bench(record: Record) -> Dialogue:
    """ACI-Bench (Yim et al. 2023): a whole visit and its whole note."""
    return _from_text(record, BRACKETS, "note", identity="encounter_id")


def _from_text(
    record: Record, pattern: re.Pattern[str], *summaries: str, identity: str = "id"
) -> Dialogue:
    turns = split_utterances(text_under(record, "dialogue"), pattern)
    return _made(record, "dialogue", turns, *summaries, identity=identity)


def _made(
    record: Record,
    key: str,
    utterances: Iterable[Utterance],
    *summaries: str,
    identity: str = "id",
) -> Dialogue:
    """The dialogue that stands under ``key``, with its summaries; the rest is metadata."""
    return Dialogue(
        require_text(utterances),
        id=id_under(record, identity),
        references=tuple(text_under(record, one) for one in summaries),
        metadata=other_keys(record, identity, key, *summaries),
    )


def tweetsumm(record: Record) -> Dialogue:
    """TweetSumm (Feigenblat et al. 2021): tweets without names, their roles guessed upstream.

    Where no guess came along the speaker stays empty: customers often write twice in a row (a
    quarter of neighbouring tweets share their role), so taking turns would name people wrongly.
    """
    tweets = texts_under(record, "turns")
    roles = texts_under(record, "role_guess") if record.get("role_guess") else ("",) * len(tweets)
    if len(roles) != len(tweets):
        raise BadRecord(f"{len(roles)} items in 'role_guess' for {len(tweets)} in 'turns'")
    turns = zip(tweets, roles, strict=True)
    return Dialogue(
        require_text(
            Utterance(role.capitalize(), tweet, role_of(role) or role) for tweet, role in turns
        ),
        id=id_under(record),
        references=texts_under(record, "summaries"),
        metadata=other_keys(record, "id", "turns", "role_guess", "summaries"),
    )


def todsum(record: Record) -> Dialogue:
    """TODSum (Zhao et al. 2021): task dialogues; the true state stays in the metadata."""
    if "dst_str" not in record:
        raise missing_key("dst_str", record)
    return _made(record, "turns", turns_under(record, "turns"), "summary")


def csds(record: Record) -> Dialogue:
    """CSDS (Lin et al. 2021): Chinese customer service; a summary per topic, joined to one."""
    topics = pairs_under(record, "topic_summaries")
    kept: list[JSON] = [[topic, text] for topic, text in topics]
    return Dialogue(
        turns_under(record, "turns"),
        id=id_under(record),
        references=("".join(text for _, text in topics),) if topics else (),
        metadata={"topics": kept, **other_keys(record, "id", "turns", "topic_summaries")},
    )


def qmsum(record: Record) -> Dialogue:
    """QMSum (Zhong et al. 2021): meetings; the answers to the general queries are the summaries."""
    general = [_query(item, "general") for item in list_under(record, "general")]
    specific = [_query(item, "specific") for item in list_under(record, "specific")]
    queries: list[JSON] = [[query, answer] for query, answer in (*general, *specific)]
    return Dialogue(
        turns_under(record, "turns"),
        id=id_under(record),
        references=tuple(dict.fromkeys(answer for _, answer in general)),
        metadata={
            "queries": queries,
            "specific": record["specific"],
            **other_keys(record, "id", "turns", "general", "specific"),
        },
    )


def _query(item: JSON, key: str) -> tuple[str, str]:
    if isinstance(item, dict):
        return text_under(item, "query"), text_under(item, "answer")
    if isinstance(item, list):
        return text_pair(item, f"'{key}'")
    raise BadRecord(f"'{key}' holds {json_kind(item)}, not queries with their answers")


def xsum(record: Record) -> Dialogue:
    """XSum (Narayan et al. 2018): no dialogue at all, so one nameless speaker of sentences."""
    sentences = split_sentences(text_under(record, "document"))
    return _made(record, "document", (Utterance("", one) for one in sentences), "summary")


def pretrain(record: Record) -> Dialogue:
    """Plain dialogues without summaries: ``id`` and ``turns`` of ``[speaker, text]``."""
    return _made(record, "turns", turns_under(record, "turns"))


CORPORA: dict[str, Callable[[Record], Dialogue]] = {
    "dialogsum": dialogsum,
    "samsum": samsum,
    "tweetsumm": tweetsumm,
    "todsum": todsum,
    "csds": csds,
    "mts_dialog": mts_dialog,
    "aci_bench": aci_bench,
    "qmsum": qmsum,
    "xsum": xsum,
    "pretrain": pretrain,
}


def is_pretrain(head: FileHead) -> bool:
    """Rows of nothing but an id and pairs."""
    turns = head.record.get("turns")
    pairs = isinstance(turns, list) and all(isinstance(turn, list) for turn in turns)
    return head.shape == "rows" and head.keys == {"id", "turns"} and pairs


# Transcriptions of recordings: Whisper, Amazon Transcribe, Deepgram, AssemblyAI.


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
    return _utterance(_speaker(item), text_under(item, "text").strip())


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
