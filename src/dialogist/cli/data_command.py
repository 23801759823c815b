"""``dialogist data``: whether files can be read, and dialogues in the formats of other programs."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import blake2b
from html import escape
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import NAMESPACE_URL, uuid5

import typer

from dialogist.cli.console import Meter, filtered, tracked
from dialogist.cli.flags import FactsForm, OutputFile, Quiet, ReadFlags, Strict, grouped
from dialogist.cli.streams import (
    Facts,
    Files,
    InputReading,
    expected_records,
    output_format_of,
    output_to,
    sources_of,
)
from dialogist.errors import DataError, UsageError
from dialogist.language.tokens import count_words, counted
from dialogist.records import FIRST_INSTANT, PROFILE, Dialogue

FINDINGS = {
    "duplicate_id": "have an id that occurred before",
    "duplicate_dialogue": "repeat an earlier dialogue word for word",
    "empty_utterance": "hold an utterance without text",
    "one_speaker": "have one speaker or none",
    "empty_summary": "have a summary without text",
    "long_summary": "have a summary longer than the dialogue",
    "no_reference": "have no summary, while others have one",
    "ignored_profile": "have fields in their profile that are not read: no text or number",
}
"""What each kind of oddity says about the dialogues concerned."""

_EXAMPLES = 5

Target = Literal["jsonl", "vcon", "vtt", "openai", "whisper"]
_ASKED = ("assistant", "agent", "doctor", "nurse", "interviewer")
"""Roles that answer, as a language model does."""
_SHOWN = 3.0  # seconds of the last cue, where its end is not known


@grouped
def check(
    read: ReadFlags,
    files: Annotated[list[Path], typer.Argument(help="Dialogue files, or - for stdin.")],
    output: OutputFile = None,
    format: FactsForm = None,
    quiet: Quiet = False,
    strict: Strict = False,
) -> int:
    """Read files whole and list every bad line and every oddity. Exit code 3 if lines are bad."""
    kind = output_format_of(output, format, Facts.text)
    options = read.options(strict)
    reports = {str(file): checked(file, options) for file in sources_of(files, output)}
    with output_to(output):
        if kind is Facts.json:
            typer.echo(json.dumps(reports, ensure_ascii=False, indent=2))
        for name, report in reports.items() if kind is Facts.text else ():
            counts = (counted(report[what], what) for what in ("dialogues", "utterances"))
            typer.echo(f"{name}: {', '.join(counts)}, {counted(report['references'], 'summaries')}")
            for problem in report["problems"]:
                typer.echo(f"  bad  {filtered(problem['text'])}")
            for finding in report["warnings"]:
                more = ", ..." if finding["count"] > len(finding["examples"]) else ""
                shown = f"({', '.join(map(filtered, finding['examples']))}{more})"
                typer.echo(f"  odd  {finding['count']} {FINDINGS[finding['kind']]} {shown}")
            if report["error"]:
                typer.echo(f"  stop {filtered(report['error'])}")
    bad = any(report["problems"] or report["error"] for report in reports.values())
    return 3 if bad else 0


def checked(file: Path, options: Any) -> dict[str, Any]:
    """A file's report as JSON values: counts, problems, oddities, and why reading ended early.

    Raises:
        DataError: it cannot be opened, or no format is recognised.
    """
    from dialogist.formats import ReadProblem, read_dialogues

    problems: list[ReadProblem] = []
    counts: Counter[str] = Counter()
    examples: defaultdict[str, list[str]] = defaultdict(list)
    ids, digests = set[str](), set[bytes]()
    error = ""
    meter = Meter("checked", expected_records([file]), "dialogues")
    try:
        for dialogue in tracked(read_dialogues(file, options, problems.append), meter):
            counts["dialogues"] += 1
            counts["utterances"] += len(dialogue.utterances)
            counts["references"] += len(dialogue.references)
            turns = (f"{u.speaker}\0{' '.join(u.text.split())}" for u in dialogue.utterances)
            text = "\n".join(turns).lower().encode("utf-8", "replace")
            digest = blake2b(text, digest_size=16).digest()
            kinds = list(_oddities(dialogue))
            kinds += ["duplicate_id"] * (dialogue.id in ids)
            kinds += ["duplicate_dialogue"] * (digest in digests)
            ids.add(dialogue.id)
            digests.add(digest)
            for kind in kinds:
                counts[kind] += 1
                shown = [dialogue.id]
                if kind == "ignored_profile":  # names of fields rather than of the dialogue
                    unread = dialogue.metadata[PROFILE]
                    names = list(unread) if isinstance(unread, dict) else [PROFILE]
                    shown = [name for name in names if name not in examples[kind]]
                examples[kind] += shown[: _EXAMPLES - len(examples[kind])]
    except DataError as broken:
        if not counts["dialogues"] and not problems:
            raise
        error = str(broken)
    if not counts["references"]:
        del counts["no_reference"]
    return {
        **{what: counts[what] for what in ("dialogues", "utterances", "references")},
        "problems": [{"line": p.line, "text": str(p)} for p in problems],
        "warnings": [
            {"kind": kind, "count": counts[kind], "examples": examples[kind]}
            for kind in FINDINGS
            if counts[kind]
        ],
        "error": error,
    }


def _oddities(dialogue: Dialogue) -> Iterator[str]:
    if any(not utterance.text.strip() for utterance in dialogue.utterances):
        yield "empty_utterance"
    if len(dialogue.speakers) < 2:
        yield "one_speaker"
    if any(not reference.strip() for reference in dialogue.references):
        yield "empty_summary"
    words = sum(count_words(utterance.text) for utterance in dialogue.utterances)
    if not dialogue.references:
        yield "no_reference"
    elif max(map(count_words, dialogue.references)) > words:
        yield "long_summary"
    if dialogue.metadata.get(PROFILE) is not None:
        yield "ignored_profile"


@grouped
def convert(
    read: ReadFlags,
    files: Files = None,
    to: Annotated[
        Target,
        typer.Option(
            help="jsonl: our own; vcon: the IETF's draft; vtt: WebVTT with voice tags; openai: "
            "messages; whisper: segments."
        ),
    ] = "jsonl",
    output: OutputFile = None,
    quiet: Quiet = False,
) -> int:
    """Write dialogues in another format, a line of JSON each; WebVTT holds but one."""
    from dialogist.formats.fields import dialogue_to_json

    writers = {
        "jsonl": dialogue_to_json, "vcon": vcon_of, "openai": openai_of, "whisper": whisper_of,
    }  # fmt: skip
    reading = InputReading(read.options())
    dialogues = reading.dialogues(sources_of(files, output))
    with output_to(output):
        for number, dialogue in enumerate(dialogues):
            if number and to == "vtt":
                raise UsageError("--to vtt: a file holds one dialogue; give files with one each")
            if to == "vtt":
                typer.echo(vtt_of(dialogue), nl=False)
            else:
                typer.echo(json.dumps(writers[to](dialogue), ensure_ascii=False))
    return reading.finish()


def vcon_of(dialogue: Dialogue) -> dict[str, Any]:
    """A conversation as the IETF has it (draft-ietf-vcon-vcon-core).

    A dialog has a date there: a recording begins in 1970, as does what has no time.
    """
    speakers = {s: n for n, s in enumerate(dict.fromkeys(u.speaker for u in dialogue.utterances))}
    roles = {u.speaker: u.role for u in reversed(dialogue.utterances)}
    transcript = "\n".join(f"{u.speaker}\t{u.text}" for u in dialogue.utterances)
    moments = (datetime.fromtimestamp(u.start or 0.0, UTC) for u in dialogue.utterances)
    starts = [moment.isoformat().replace("+00:00", "Z") for moment in moments]
    facts = {"parties": [*range(len(speakers))], "mediatype": "text/plain", "encoding": "none"}
    return {
        "vcon": "0.0.2",
        "uuid": str(uuid5(NAMESPACE_URL, f"{dialogue.id}\n{transcript}")),
        "created_at": min(starts, default="1970-01-01T00:00:00Z"),
        "subject": dialogue.id,
        "parties": [{"name": s, **({"role": roles[s]} if roles[s] else {})} for s in speakers],
        "dialog": [
            {
                "type": "text",
                "start": start,
                "originator": speakers[u.speaker],
                "body": u.text,
                **facts,
                **({"duration": u.end - u.start} if u.start is not None and u.end else {}),
            }
            for u, start in zip(dialogue.utterances, starts, strict=True)
        ],
        "analysis": [],
        "attachments": [],
    }


def openai_of(dialogue: Dialogue) -> dict[str, Any]:
    """Messages of OpenAI's chat completions: who serves is the assistant, all others the user."""
    roles = {"system": "system", **dict.fromkeys(_ASKED, "assistant")}
    messages = []
    for u in dialogue.utterances:
        name = {"name": "_".join(u.speaker.split())} if u.speaker else {}
        messages.append({"role": roles.get(u.role, "user"), **name, "content": u.text})
    return {"messages": messages}


def whisper_of(dialogue: Dialogue) -> dict[str, Any]:
    """Segments as Whisper and WhisperX have them."""
    segments = []
    for number, u in enumerate(dialogue.utterances):
        speaker = {"speaker": u.speaker} if u.speaker else {}
        segments.append({"id": number, "start": u.start, "end": u.end, "text": u.text, **speaker})
    return {"text": " ".join(u.text for u in dialogue.utterances), "segments": segments}


def vtt_of(dialogue: Dialogue) -> str:
    """WebVTT with a voice tag a cue; each is shown to its end, or until the next one.

    Raises:
        UsageError: an utterance has no time.
    """
    starts = [u.start for u in dialogue.utterances if u.start is not None]
    if len(starts) < len(dialogue.utterances):
        raise UsageError(f"--to vtt: {dialogue.id} has utterances without a time, which cues need")
    first = starts[0] if starts[0] >= FIRST_INSTANT else 0.0
    cues = ["WEBVTT\n"]
    ends = [*starts[1:], starts[-1] + _SHOWN]
    for u, start, after in zip(dialogue.utterances, starts, ends, strict=True):
        speaker, text = (escape(" ".join(t.split()), quote=False) for t in (u.speaker, u.text))
        voice = f"<v {speaker}>" if speaker else ""
        end = max(start, u.end or after)
        cues.append(f"{_clock(start - first)} --> {_clock(end - first)}\n{voice}{text}\n")
    return "\n".join(cues)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(max(0.0, seconds) * 1000), 60_000)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02}:{minutes:02}:{rest // 1000:02}.{rest % 1000:03}"
