"""Subtitles: WebVTT (meeting transcripts of Zoom, Teams, ...) and SubRip (.srt)."""

import html
import re
from collections.abc import Iterable, Iterator

from dialogist.data.readers.base import ReadOptions, Reporter
from dialogist.data.readers.roles import role_of
from dialogist.data.readers.source import Line, Source
from dialogist.data.readers.speaker_lines import named_lines
from dialogist.records import Dialogue, Utterance

_CLOCK = r"(?:\d+:)?\d{1,2}:\d{2}[.,]\d{1,3}"
TIMING = re.compile(rf"\s*{_CLOCK}\s*-->\s*{_CLOCK}(?:\s.*)?")
_VOICE = re.compile(
    r"<v(?:\.[^\s>]*)?\s+(?P<name>[^<>]{1,200})>(?P<text>.*?)(?=</v>|<v[.\s]|\Z)", re.DOTALL
)
_TAG = re.compile(r"</?(?:[a-zA-Z][^<>]*|\d[\d:.]*)?>|\{\\[^{}]*\}")
_DASH = re.compile(r"\s*[-–—]\s*(?=\S)")
_NO_CUE = re.compile(r"\ufeff?(?:WEBVTT|NOTE|STYLE|REGION)(?:\s.*)?")


def read_subtitles(source: Source, options: ReadOptions, report: Reporter) -> Iterator[Dialogue]:
    """Read the cues of one file as one dialogue, each cue's speakers as they are named in it.

    A cue that names nobody becomes an utterance without a speaker: who goes on is not said.
    """
    utterances: list[Utterance] = []
    for block in _blocks(source.lines(report)):
        if not _NO_CUE.fullmatch(block[0].text):
            utterances.extend(_cue(block, report))
    if utterances:
        yield Dialogue(tuple(utterances), id=source.stem)


def _blocks(lines: Iterable[Line]) -> Iterator[list[Line]]:
    """Runs of lines without a blank one; a timing line always begins a cue of its own."""
    block: list[Line] = []
    for line in lines:
        if line.text.strip():
            block.append(line)
        elif block:
            yield block
            block = []
    if block:
        yield block


def _cue(block: list[Line], report: Reporter) -> list[Utterance]:
    """A cue: perhaps an id, then the timing, then the text (which may be missing)."""
    timed = [n for n, line in enumerate(block[:2]) if TIMING.fullmatch(line.text)]
    if not timed:
        report(block[0].number, "a cue without a timing line ('00:00:01.000 --> 00:00:02.000')")
        return []
    texts: list[str] = []
    found: list[Utterance] = []
    for line in block[timed[0] + 1 :]:
        if TIMING.fullmatch(line.text):  # the blank line between two cues was forgotten
            if texts and texts[-1].strip().isdigit():
                texts.pop()
            found += _speech(texts)
            texts = []
        else:
            texts.append(line.text)
    return found + _speech(texts)


def _speech(lines: list[str]) -> list[Utterance]:
    text = "\n".join(lines)
    voices = list(_VOICE.finditer(text))
    if voices:
        before = _plain(text[: voices[0].start()])
        spoken = [(_plain(v["name"]), _plain(v["text"])) for v in voices]
        named = [Utterance(name, said, role_of(name)) for name, said in spoken if said]
        return [Utterance("", before), *named] if before else named
    plain = [_plain(line) for line in lines]
    return [u for part in _dashed([p for p in plain if p]) for u in named_lines(part) if u.text]


def _plain(text: str) -> str:
    return html.unescape(_TAG.sub("", text)).strip()


def _dashed(lines: list[str]) -> list[list[str]]:
    """Where lines begin with a dash, each of those is another person's."""
    parts: list[list[str]] = []
    for line in lines:
        dash = _DASH.match(line)
        if dash or not parts:
            parts.append([line[dash.end() :] if dash else line])
        else:
            parts[-1].append(line)
    return parts
