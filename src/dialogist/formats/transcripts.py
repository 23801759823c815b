"""Text transcripts: lines of names, names above text, WhatsApp chats, subtitles, saved pages."""

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby, pairwise
from typing import NamedTuple

from dialogist.errors import DataError
from dialogist.formats.read_options import Dialogues, ProblemReporter, ReadOptions
from dialogist.formats.source import Source, SourceLine
from dialogist.formats.speaker_lines import has_speakers, is_heading, named_lines
from dialogist.language.roles import role_of
from dialogist.language.tokens import counted
from dialogist.records import Dialogue, Utterance

_CLOCK = r"(?P<hours>\d{1,2}):(?P<minutes>\d{2})(?::(?P<seconds>\d{2}))?"
_HALF = r"(?:\s?(?P<half>[AaPp])\.?[Mm]\.?)?"
_DAY = r"(?:(?:\d{4}-\d\d-\d\d|\d{1,2}[/.]\d{1,2}(?:[/.]\d{2,4})?|[A-Z][a-z]{2,8}day),?\s+)?"
_STAMP = rf"[\[(]?{_DAY}{_CLOCK}{_HALF}[\])]?"
_NAME = r"(?P<name>[^\W\d_][^:：\[\]{}<>\"“”\t]{0,59}?)"
_AFTER = re.compile(rf"\s*{_NAME}\s*[\s,·|–-]\s*{_STAMP}\s*")
_BEFORE = re.compile(rf"\s*{_STAMP}\s+{_NAME}\s*")
_TIME_ALONE = re.compile(rf"\s*{_STAMP}\s*")
_NAME_ALONE = re.compile(rf"\s*{_NAME}\s*")
_MOST_WORDS = 5
_LONGEST = 120  # a name and a time
_SENTENCE = re.compile(r"[!?;]|\.\s*$")


class Header(NamedTuple):
    """Where a header begins and ends in the lines, who speaks, and at which second."""

    start: int
    end: int
    name: str
    second: int


def read_headed(source: Source, options: ReadOptions, report: ProblemReporter) -> Dialogues:
    """Read a copied transcript as one dialogue; text above the first name has no speaker."""
    lines = [line.text.lstrip("\ufeff") for line in source.lines(report)]
    if utterances := _headed_turns(lines):
        yield Dialogue(utterances, id=source.stem)


def _headed_turns(lines: Sequence[str]) -> tuple[Utterance, ...]:
    """The utterances between headers."""
    places = headers(lines)
    starts = [*(header.start for header in places), len(lines)]
    above = lines[: starts[0]]
    turns = [Utterance("", _body(above), "system" if is_heading(above) else "")]
    for header, end in zip(places, starts[1:], strict=True):
        turns.append(Utterance(header.name, _body(lines[header.end : end]), role_of(header.name)))
    return tuple(turn for turn in turns if turn.text)


def is_headed(lines: Sequence[str]) -> bool:
    """Whether headers come early, each above some text, and go forward in time."""
    places = headers(lines)
    if not places or places[0].start > 4:
        return False
    ends = [*(header.start for header in places[1:]), len(lines)]
    empty = sum(not _body(lines[h.end : end]) for h, end in zip(places, ends, strict=True))
    backward = sum(before.second > after.second for before, after in pairwise(places))
    is_short = len(places) == 1 and (places[0].start > 0 or len(lines) > 6)
    return not is_short and 10 * empty <= len(places) and 10 * backward <= len(places)


def headers(lines: Sequence[str]) -> list[Header]:
    """All lines, or pairs of lines, that are a name with a time."""
    places: list[Header] = []
    for number, line in enumerate(lines):
        if len(line) > _LONGEST:
            continue
        # A time alone is tried first, or "AM" of "10:03 AM" would be a name.
        if match := _TIME_ALONE.fullmatch(line):
            above = _NAME_ALONE.fullmatch(lines[number - 1][:_LONGEST]) if number else None
            start, name = number - 1, above["name"] if above else ""
        else:
            match = _AFTER.fullmatch(line) or _BEFORE.fullmatch(line)
            start, name = number, match["name"] if match else ""
        words = name.split()
        is_titled = all(not word[0].isalpha() or not word[0].islower() for word in words)
        is_name = 0 < len(words) <= _MOST_WORDS and is_titled and not _SENTENCE.search(name)
        if not (match and is_name):
            continue
        hours, minutes = int(match["hours"]), int(match["minutes"])
        if match["half"]:
            hours = hours % 12 + 12 * (match["half"] in "Pp")
        # "1:05" is a minute of a recording or an hour of the day: in order they are the same.
        unit = 60 if match["half"] or match["seconds"] else 1
        second = unit * (60 * hours + minutes) + int(match["seconds"] or 0)
        places.append(Header(start, number + 1, name.strip(), second))
    return places


def _body(lines: Sequence[str]) -> str:
    return "\n".join(line.strip() for line in lines).strip()


DIVIDER = re.compile(r"\s*(?:-{3,}|={3,})\s*")


def read_transcript(source: Source, options: ReadOptions, report: ProblemReporter) -> Dialogues:
    """Read one dialogue per file, or several divided by lines of ``---`` or ``===``.

    A part without any speaker is no dialogue but belongs to the message before it.
    """
    lines = source.lines(report)
    if options.one_dialogue:
        parts = [[line for line in lines if not DIVIDER.fullmatch(line.text)]]
    else:
        parts = _parts(list(lines), report)
    dialogues = 0
    for number, part in enumerate(parts, 1):
        utterances = tuple(named_lines((line.text for line in part), may_be_short=True))
        is_last = number == len(parts)
        if any(utterance.text for utterance in utterances):
            first = next(line.number for line in part if line.text.strip())
            is_alone = is_last and not dialogues
            dialogues += 1
            yield Dialogue(utterances, id=source.stem if is_alone else f"{source.stem}:{first}")
        elif dialogues and part and not is_last:
            # A divider above the first dialogue or below the last is no empty dialogue.
            report(part[0].number, "no utterances: the dialogue is empty")
    if dialogues > 1:
        divided = f"{counted(dialogues, 'dialogues')}, divided by lines of dashes"
        report.note(f"{divided}; --one-dialogue reads it as one")


def _parts(lines: list[SourceLine], report: ProblemReporter) -> list[list[SourceLine]]:
    """The lines between dividers, those parts that stand within a message put back to it."""
    dividers = [n for n, line in enumerate(lines) if DIVIDER.fullmatch(line.text)]
    parts = [lines[: dividers[0]] if dividers else lines]
    is_open = False  # a block without speakers began: the next divider is its end
    for place, end in pairwise([*dividers, len(lines)]):
        part = lines[place + 1 : end]
        has_names, is_below_names = (
            any(turn.speaker for turn in named_lines(line.text for line in each))
            for each in (part, parts[-1])
        )
        has_text = any(line.text.strip() for line in part)
        if has_text and is_below_names and (is_open or not has_names):
            report.note(f"line {lines[place].number}: dashes within a message, no new dialogue")
            parts[-1] = [*parts[-1], *lines[place:end]]
            is_open = not is_open and not has_names
        else:
            parts.append(part)
            is_open = False
    return parts


def read_html(source: Source, options: ReadOptions, report: ProblemReporter) -> Dialogues:
    """Read a saved page as one dialogue.

    Raises:
        DataError: its text has no speakers.
    """
    from dialogist.formats.documents import from_html

    lines = from_html("\n".join(line.text for line in source.lines(report))).split("\n")
    filled = [line for line in lines if line.strip()]
    if is_headed(filled):
        turns = _headed_turns(lines)
    elif has_speakers(filled):
        turns = tuple(named_lines(lines))
    else:
        raise DataError(
            f"{source.name}: a page without lines of 'Name: text': save the text of its "
            "conversation as .txt first"
        )
    yield Dialogue(turns, id=source.stem)


def read_lines(source: Source, options: ReadOptions, report: ProblemReporter) -> Dialogues:
    """Read every line with text as one utterance without a speaker."""
    texts = (line.text.strip().lstrip("\ufeff") for line in source.lines(report))
    utterances = tuple(Utterance("", text) for text in texts if text)
    if utterances:
        yield Dialogue(utterances, id=source.stem)


_DATE = r"\d{1,4}[./-]\s?\d{1,2}[./-]\s?\d{1,4}\.?"
# "11:59 PM", "23.59", "23:59:01", "下午11:59", "11:59 p. m."
_TIME = r"[^\d\-\[\]:]{0,8}\d{1,2}[:.]\d{2}(?:[:.]\d{2})?[^\d\-\[\]:]{0,8}?"
# What an iPhone, or Android, writes before a message.
MESSAGE = re.compile(rf"(?:\[{_DATE},?\s{_TIME}\]\s?|{_DATE},?\s{_TIME}\s-\s)(?P<rest>.*)")
# A quotation mark before the colon means a notice: Ann changed the subject to "Plan: B".
_SENDER = re.compile(r"(?P<name>[^:\"“”]{1,80}):(?:\s(?P<text>.*)|$)")
_INVISIBLE = "\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff"
PLAIN = str.maketrans("\u202f\u00a0", "  ", _INVISIBLE)
"""Takes marks of direction away, and makes narrow and no-break spaces plain ones."""
# What the app says in a sender's place, and what it adds to a message.
_NOTICE = re.compile(
    r"<(?:media|medien|multimedia|médias?)\b[^<>]*>|null|"
    r"(?:image|video|audio|sticker|gif|document|contact card) omitted|"
    r"(?:bild|video|audio|sticker|gif|dokument) weggelassen|"
    r"(?:this message was|you) deleted(?: this message)?\.?|this message was deleted by.*|"
    r"(?:diese nachricht wurde|du hast diese nachricht) gelöscht\.?|"
    r"(?:missed|verpasster) .{0,12}(?:call|anruf)\b.*|waiting for this message\..*|"
    r"\S+ \((?:file attached|datei angehängt)\)|<attached: [^<>]*>",
    re.IGNORECASE,
)
_EDITED = re.compile(r"\s*<(?:This message was edited|Diese Nachricht wurde bearbeitet\.?)>", re.I)


def read_whatsapp(source: Source, options: ReadOptions, report: ProblemReporter) -> Dialogues:
    """Read a chat as one dialogue.

    Messages of the app itself (someone joined, a message was deleted, media were left out) become
    utterances without a speaker in the role ``system``.
    """
    turns: list[tuple[str, list[str]]] = []  # name and lines; without a name it is the app's
    for line in source.lines(report):
        text = line.text.translate(PLAIN)
        if start := MESSAGE.fullmatch(text):
            sender = _SENDER.fullmatch(start["rest"])
            name = sender["name"].strip().removeprefix("~").strip() if sender else ""
            turns.append((name, [(sender["text"] or "") if sender else start["rest"]]))
        elif turns:
            turns[-1][1].append(text)
        elif text.strip():
            report(line.number, "text above the first message of the chat")
    utterances = []
    for name, texts in turns:
        text = _EDITED.sub("", "\n".join(texts)).strip()
        if name and not _NOTICE.fullmatch(text):
            utterances.append(Utterance(name, text, role_of(name)))
        else:
            utterances.append(Utterance("", f"{name}: {text}" if name else text, "system"))
    if any(utterance.text for utterance in utterances):
        yield Dialogue(tuple(utterances), id=source.stem)


_CUE_TIME = r"(?:\d+:)?\d{1,2}:\d{2}[.,]\d{1,3}"
TIMING = re.compile(rf"\s*{_CUE_TIME}\s*-->\s*{_CUE_TIME}(?:\s.*)?")
_VOICE = re.compile(
    r"<v(?:\.[^\s>]*)?\s+(?P<name>[^<>]{1,200})>(?P<text>.*?)(?=</v>|<v[.\s]|\Z)", re.DOTALL
)
_TAG = re.compile(r"</?(?:[a-zA-Z][^<>]*|\d[\d:.]*)?>|\{\\[^{}]*\}")
_DASH = re.compile(r"\s*[-–—]\s*(?=\S)")
_NO_CUE = re.compile(r"\ufeff?(?:WEBVTT|NOTE|STYLE|REGION)(?:\s.*)?")


def read_subtitles(source: Source, options: ReadOptions, report: ProblemReporter) -> Dialogues:
    """Read the cues of one file as one dialogue, each cue's speakers as they are named in it.

    A cue that names nobody becomes an utterance without a speaker: who goes on is not said.
    """
    utterances: list[Utterance] = []
    runs = groupby(source.lines(report), key=lambda line: bool(line.text.strip()))
    for block in (list(run) for is_filled, run in runs if is_filled):
        if not _NO_CUE.fullmatch(block[0].text):
            utterances.extend(_cue(block, report))
    if utterances:
        yield Dialogue(tuple(utterances), id=source.stem)


def _cue(block: list[SourceLine], report: ProblemReporter) -> list[Utterance]:
    """A cue: perhaps an id, then the timing, then the text (which may be missing)."""
    timed = [n for n, line in enumerate(block[:2]) if TIMING.fullmatch(line.text)]
    if not timed:
        report(block[0].number, "a cue without a timing line ('00:00:01.000 --> 00:00:02.000')")
        return []
    cues: list[list[str]] = [[]]
    for line in block[timed[0] + 1 :]:
        if not TIMING.fullmatch(line.text):
            cues[-1].append(line.text)
            continue
        # The blank line between two cues was forgotten.
        if cues[-1] and cues[-1][-1].strip().isdigit():
            cues[-1].pop()
        cues.append([])
    return [utterance for lines in cues for utterance in _speech(lines)]


def _speech(lines: list[str]) -> Iterator[Utterance]:
    text = "\n".join(lines)
    voices = list(_VOICE.finditer(text))
    if voices:
        before = _plain(text[: voices[0].start()])
        spoken = [("", before), *((_plain(v["name"]), _plain(v["text"])) for v in voices)]
        yield from (Utterance(name, words, role_of(name)) for name, words in spoken if words)
        return
    # Where lines begin with a dash, each of those is another person's.
    parts: list[list[str]] = []
    for line in filter(None, map(_plain, lines)):
        dash = _DASH.match(line)
        if dash or not parts:
            parts.append([line[dash.end() :] if dash else line])
        else:
            parts[-1].append(line)
    # A cue's first line may go on with the cue before: it is no heading.
    for utterance in (u for part in parts for u in named_lines(part) if u.text):
        yield replace(utterance, role=role_of(utterance.speaker))


def _plain(text: str) -> str:
    return html.unescape(_TAG.sub("", text)).strip()
