"""The table of all formats, in the order in which detection tries them."""

from dialogist.data.readers.base import Reader
from dialogist.data.readers.corpora import CORPORA
from dialogist.data.readers.generic import read_json
from dialogist.data.readers.rows import record_reader
from dialogist.data.readers.sniffing import (
    Sniff,
    has,
    has_only,
    is_json,
    is_jsonl,
    is_pretrain,
    is_srt,
    is_table,
    is_transcript,
    is_webvtt,
    is_whatsapp,
    is_whisper,
    never,
)
from dialogist.data.readers.subtitles import read_subtitles
from dialogist.data.readers.table import read_table
from dialogist.data.readers.transcript import read_lines, read_transcript
from dialogist.data.readers.whatsapp import read_whatsapp
from dialogist.data.readers.whisper import whisper


def _corpus(name: str, sniff: Sniff) -> Reader:
    convert = CORPORA[name]
    doc = (convert.__doc__ or name).partition("\n")[0]
    return Reader(record_reader(convert), sniff, doc, (".jsonl", ".json"))


READERS: dict[str, Reader] = {
    "dialogsum": _corpus("dialogsum", has("fname", "dialogue")),
    "mts_dialog": _corpus("mts_dialog", has("section", "dialogue", "summary")),
    "aci_bench": _corpus("aci_bench", has("encounter_id", "dialogue", "note")),
    "samsum": _corpus("samsum", has_only("id", "dialogue", "summary")),
    "tweetsumm": _corpus("tweetsumm", has("turns", "summaries", "n_tweets_in_annotation")),
    "todsum": _corpus("todsum", has("turns", "dst_str")),
    "csds": _corpus("csds", has("turns", "topic_summaries")),
    "qmsum": _corpus("qmsum", has("turns", "general", "specific")),
    "xsum": _corpus("xsum", has("document", "summary")),
    "pretrain": _corpus("pretrain", is_pretrain),
    "whisper": Reader(
        record_reader(whisper), is_whisper, "Whisper or WhisperX transcription.", (".json",)
    ),
    "json": Reader(read_json, is_json, "One JSON object, or an array of them.", (".json",)),
    "jsonl": Reader(
        read_json, is_jsonl, "A JSON object with turns per line.", (".jsonl", ".ndjson")
    ),
    "webvtt": Reader(read_subtitles, is_webvtt, "WebVTT, as of Zoom or Teams.", (".vtt",)),
    "srt": Reader(read_subtitles, is_srt, "SubRip subtitles.", (".srt",)),
    "whatsapp": Reader(read_whatsapp, is_whatsapp, "An exported WhatsApp chat.", (".txt",)),
    "csv": Reader(
        read_table, is_table, "CSV or TSV: a row per dialogue or utterance.", (".csv", ".tsv")
    ),
    "transcript": Reader(read_transcript, is_transcript, "Lines of 'Name: text'.", (".txt",)),
    "lines": Reader(
        read_lines, never, "Every line one utterance without a speaker (never guessed).", (".txt",)
    ),
}
