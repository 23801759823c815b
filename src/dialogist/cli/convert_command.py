"""``dialogist data convert``: dialogues of any format in a form that other programs read."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from html import escape
from typing import Annotated, Any, Literal
from uuid import NAMESPACE_URL, uuid5

import typer

from dialogist.cli.flags import OutputFile, Quiet, ReadFlags, grouped
from dialogist.cli.inputs import Files, InputReading, sources_of
from dialogist.cli.output_formats import output_to
from dialogist.errors import UsageError
from dialogist.records import FIRST_INSTANT, Dialogue

Target = Literal["jsonl", "vcon", "vtt", "openai", "whisper"]
_ASKED = ("assistant", "agent", "doctor", "nurse", "interviewer")
"""Roles that answer, as a language model does."""
_SHOWN = 3.0  # seconds of the last cue, where its end is not known


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
    reading = InputReading(read.options())
    dialogues = reading.dialogues(sources_of(files, output))
    with output_to(output):
        for number, dialogue in enumerate(dialogues):
            if number and to == "vtt":
                raise UsageError("--to vtt: a file holds one dialogue; give files with one each")
            if to == "vtt":
                typer.echo(vtt_of(dialogue), nl=False)
            else:
                typer.echo(json.dumps(_WRITERS[to](dialogue), ensure_ascii=False))
    return reading.finish()


def vcon_of(dialogue: Dialogue) -> dict[str, Any]:
    """A conversation as the IETF has it (draft-ietf-vcon-vcon-core).

    A dialog has a date there: a recording begins in 1970, as does what has no time.
    """
    speakers = {s: n for n, s in enumerate(dict.fromkeys(u.speaker for u in dialogue.utterances))}
    roles = {u.speaker: u.role for u in reversed(dialogue.utterances)}
    said = "\n".join(f"{u.speaker}\t{u.text}" for u in dialogue.utterances)
    moments = (datetime.fromtimestamp(u.start or 0.0, UTC) for u in dialogue.utterances)
    starts = [moment.isoformat().replace("+00:00", "Z") for moment in moments]
    facts = {"parties": [*range(len(speakers))], "mediatype": "text/plain", "encoding": "none"}
    return {
        "vcon": "0.0.2",
        "uuid": str(uuid5(NAMESPACE_URL, f"{dialogue.id}\n{said}")),
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


def _jsonl(dialogue: Dialogue) -> dict[str, Any]:
    from dialogist.formats.fields import dialogue_to_json  # takes a while to load

    return dialogue_to_json(dialogue)


_WRITERS: dict[Target, Callable[[Dialogue], dict[str, Any]]] = {
    "jsonl": _jsonl,
    "vcon": vcon_of,
    "openai": openai_of,
    "whisper": whisper_of,
}
