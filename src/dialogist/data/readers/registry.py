"""The table of all formats, in the order in which detection tries them."""

from dialogist.data.readers.base import Reader
from dialogist.data.readers.columnar import ARROW, PARQUET
from dialogist.data.readers.corpora import CORPORA
from dialogist.data.readers.generic import read_json
from dialogist.data.readers.headed import read_headed
from dialogist.data.readers.helpdesk import helpdesk_reader, intercom, zendesk
from dialogist.data.readers.recordings import assemblyai, aws, deepgram
from dialogist.data.readers.rows import record_reader
from dialogist.data.readers.slack import read_slack
from dialogist.data.readers.sniffing import (
    Sniff,
    has,
    has_only,
    is_assemblyai,
    is_aws,
    is_deepgram,
    is_headed_text,
    is_html_page,
    is_intercom,
    is_json,
    is_jsonl,
    is_pretrain,
    is_slack,
    is_srt,
    is_table,
    is_transcript,
    is_webvtt,
    is_whatsapp,
    is_whisper,
    is_zendesk,
    never,
)
from dialogist.data.readers.subtitles import read_subtitles
from dialogist.data.readers.table import read_table
from dialogist.data.readers.transcript import read_html, read_lines, read_transcript
from dialogist.data.readers.whatsapp import read_whatsapp
from dialogist.data.readers.whisper import whisper

_JSON = (".json", ".jsonl", ".ndjson")
_ROWS = (*_JSON, PARQUET, ARROW)


def _corpus(name: str, sniff: Sniff) -> Reader:
    convert = CORPORA[name]
    doc = (convert.__doc__ or name).partition("\n")[0]
    return Reader(record_reader(convert), sniff, doc, _JSON, True)


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
    "zendesk": Reader(
        helpdesk_reader(zendesk, ("tickets",)),
        is_zendesk,
        "Zendesk tickets with their comments, as JSON.",
        _JSON,
        True,
    ),
    "intercom": Reader(
        helpdesk_reader(intercom, ("conversations", "data")),
        is_intercom,
        "Intercom conversations with their parts.",
        _JSON,
        True,
    ),
    "slack": Reader(read_slack, is_slack, "Slack's export: its folder, or a day.", _JSON, True),
    "aws": Reader(record_reader(aws), is_aws, "Amazon Transcribe with speakers.", _JSON),
    "deepgram": Reader(record_reader(deepgram), is_deepgram, "Deepgram with speakers.", _JSON),
    "assemblyai": Reader(
        record_reader(assemblyai), is_assemblyai, "AssemblyAI with speakers.", _JSON
    ),
    "whisper": Reader(
        record_reader(whisper), is_whisper, "Whisper or WhisperX transcription.", (".json",)
    ),
    "json": Reader(read_json, is_json, "One JSON object, or an array of them.", _JSON, True),
    "jsonl": Reader(
        read_json, is_jsonl, "A JSON object with turns per line; Parquet, Arrow.", _ROWS, True
    ),
    "webvtt": Reader(read_subtitles, is_webvtt, "WebVTT, as of Zoom or Teams.", (".vtt",)),
    "srt": Reader(read_subtitles, is_srt, "SubRip subtitles.", (".srt",)),
    "html": Reader(read_html, is_html_page, "A page of 'Name: text' lines.", (".html", ".htm")),
    "whatsapp": Reader(read_whatsapp, is_whatsapp, "An exported WhatsApp chat.", (".txt",)),
    "csv": Reader(
        read_table, is_table, "CSV or TSV: a row per dialogue or utterance.", (".csv", ".tsv"), True
    ),
    "otter": Reader(
        read_headed, is_headed_text, "Copied from Otter or Teams: 'Name  0:01' above.", (".txt",)
    ),
    "transcript": Reader(
        read_transcript, is_transcript, "Lines of 'Name: text'.", (".txt", ".md", ".docx", ".log")
    ),
    "lines": Reader(
        read_lines, never, "Every line one utterance without a speaker (never guessed).", (".txt",)
    ),
}

ENDINGS = frozenset(ending for reader in READERS.values() for ending in reader.extensions)
"""Of files that a folder is searched for."""
