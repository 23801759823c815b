"""``dialogist data convert``: dialogues of any format in a form that other programs read."""

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from html import escape
from typing import Annotated, Any, Literal
from uuid import NAMESPACE_URL, uuid5

import typer

from dialogist.cli.flags import OutputFile, Quiet
from dialogist.cli.inputs import (
    Column,
    Encoding,
    Files,
    InputFormat,
    InputReading,
    InternalNotes,
    OneDialogue,
    Where,
    read_options,
    sources_of,
)
from dialogist.cli.output_formats import output_to
from dialogist.errors import UsageError
from dialogist.records import FIRST_INSTANT, Dialogue, Utterance

Target = Literal["jsonl", "vcon", "vtt", "openai", "whisper"]
_ASKED = ("assistant", "agent", "doctor", "nurse", "interviewer")
"""Roles that answer, as a language model does."""
_SHOWN = 3.0  # seconds of the last cue, where its end is not known


def convert(
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
    input_format: InputFormat = "auto",
    column: Column = None,
    where: Where = None,
    encoding: Encoding = "",
    one_dialogue: OneDialogue = False,
    internal_notes: InternalNotes = False,
) -> int:
    """Write dialogues in another format, a line of JSON each; WebVTT holds but one."""
    read = read_options(
        input_format,
        column,
        where,
        encoding,
        one_dialogue=one_dialogue,
        internal_notes=internal_notes,
    )
    reading = InputReading(read)
    dialogues = reading.dialogues(sources_of(files, output))
    with output_to(output):
        for number, dialogue in enumerate(dialogues):
            if number and to == "vtt":
                raise UsageError("--to vtt: a file holds one dialogue; give files with one each")
            typer.echo(_WRITERS[to](dialogue), nl=to != "vtt")
    return reading.finish()


def _jsonl(dialogue: Dialogue) -> str:
    from dialogist.formats.fields import dialogue_to_line

    return dialogue_to_line(dialogue)


def vcon_of(dialogue: Dialogue) -> dict[str, Any]:
    """A conversation as the IETF has it (draft-ietf-vcon-vcon-core-00).

    A dialog has a date there: times of a recording are counted from 1970, and where no time is
    known, it stands at its beginning.
    """
    speakers = list(dict.fromkeys(u.speaker for u in dialogue.utterances))
    roles = {u.speaker: u.role for u in reversed(dialogue.utterances)}

    def moment(seconds: float) -> str:
        return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")

    starts = [u.start or 0.0 for u in dialogue.utterances]
    said = "\n".join(f"{u.speaker}\t{u.text}" for u in dialogue.utterances)
    return {
        "vcon": "0.0.2",
        "uuid": str(uuid5(NAMESPACE_URL, f"{dialogue.id}\n{said}")),
        "created_at": moment(min(starts, default=0.0)),
        "subject": dialogue.id,
        "parties": [{"name": s, **({"role": roles[s]} if roles[s] else {})} for s in speakers],
        "dialog": [
            {
                "type": "text",
                "start": moment(start),
                "parties": list(range(len(speakers))),
                "originator": speakers.index(u.speaker),
                "mediatype": "text/plain",
                "body": u.text,
                "encoding": "none",
                **({"duration": u.end - u.start} if u.start is not None and u.end else {}),
            }
            for u, start in zip(dialogue.utterances, starts, strict=True)
        ],
        "analysis": [],
        "attachments": [],
    }


def openai_of(dialogue: Dialogue) -> dict[str, Any]:
    """Messages of OpenAI's chat completions: who serves is the assistant, all others the user."""
    return {
        "messages": [
            {
                "role": "assistant"
                if u.role in _ASKED
                else u.role
                if u.role == "system"
                else "user",
                **({"name": "_".join(u.speaker.split())} if u.speaker else {}),
                "content": u.text,
            }
            for u in dialogue.utterances
        ]
    }


def whisper_of(dialogue: Dialogue) -> dict[str, Any]:
    """Segments as Whisper and WhisperX have them."""
    return {
        "text": " ".join(u.text for u in dialogue.utterances),
        "segments": [
            {
                "id": number,
                "start": u.start,
                "end": u.end,
                "text": u.text,
                **({"speaker": u.speaker} if u.speaker else {}),
            }
            for number, u in enumerate(dialogue.utterances)
        ],
    }


def vtt_of(dialogue: Dialogue) -> str:
    """WebVTT with a voice tag a cue.

    Raises:
        UsageError: an utterance has no time.
    """
    if any(u.start is None for u in dialogue.utterances):
        raise UsageError(f"--to vtt: {dialogue.id} has utterances without a time, which cues need")
    cues = ["WEBVTT\n"]
    for (start, end), u in zip(cue_times(dialogue.utterances), dialogue.utterances, strict=True):
        text = escape(" ".join(u.text.split()), quote=False)
        voice = f"<v {escape(' '.join(u.speaker.split()), quote=False)}>" if u.speaker else ""
        cues.append(f"{_clock(start)} --> {_clock(end)}\n{voice}{text}\n")
    return "\n".join(cues)


def cue_times(utterances: Sequence[Utterance]) -> list[tuple[float, float]]:
    """From when to when each is shown, from the beginning; at least until the next begins."""
    starts = [u.start or 0.0 for u in utterances]
    first = starts[0] if starts and starts[0] >= FIRST_INSTANT else 0.0
    after = [*starts[1:], starts[-1] + _SHOWN] if starts else []
    ends = [u.end or max(s, a) for u, s, a in zip(utterances, starts, after, strict=True)]
    return [(s - first, max(s, e) - first) for s, e in zip(starts, ends, strict=True)]


def _clock(seconds: float) -> str:
    milliseconds = round(max(0.0, seconds) * 1000)
    minutes, rest = divmod(milliseconds, 60_000)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02}:{minutes:02}:{rest // 1000:02}.{rest % 1000:03}"


def _line(make: Callable[[Dialogue], dict[str, Any]]) -> Callable[[Dialogue], str]:
    return lambda dialogue: json.dumps(make(dialogue), ensure_ascii=False)


_WRITERS: dict[Target, Callable[[Dialogue], str]] = {
    "jsonl": _jsonl,
    "vcon": _line(vcon_of),
    "vtt": vtt_of,
    "openai": _line(openai_of),
    "whisper": _line(whisper_of),
}
