"""Texts: chats and logs, lines of names, names above text, subtitles, saved pages."""

import html
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from itertools import chain, groupby, pairwise
from typing import NamedTuple

from dialogist.errors import DataError, UsageError
from dialogist.formats.documents import END_MARK, TIME_MARK, from_html
from dialogist.formats.moments import format_table, line_patterns, pattern, times_of_stamps
from dialogist.formats.read_options import Dialogues, ProblemReporter, ReadOptions
from dialogist.formats.source import Source, SourceLine
from dialogist.formats.speaker_lines import guess_name, has_speakers, is_heading, named_lines
from dialogist.language.roles import role_of
from dialogist.language.tokens import counted
from dialogist.records import Dialogue, Utterance

# Chat exports, logs and annotated transcripts, by the forms of assets/formats/chats.yaml.

_INVISIBLE = "\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff"
_VISIBLE = str.maketrans("\u202f\u00a0", "  ", _INVISIBLE)
_MARK = "\u200e"  # stays to the end: an iPhone marks by it what the app says
_HEAD = 20_000  # characters that a form is recognised by

Cuts = Mapping[str, re.Pattern[str]]
"""What is no words of a message, by its kind; kinds with ``_`` are syntax, and not counted."""


class _Form(NamedTuple):
    """How messages begin, which are notices, and what is no words of them: see the table."""

    name: str
    start: re.Pattern[str]
    cut: Cuts
    sign: re.Pattern[str] | None = None
    notice: re.Pattern[str] | None = None
    breaks: re.Pattern[str] | None = None
    speaker: str = "{}"
    of_day: bool = False
    unit: float = 0
    least: int = 1
    is_last: bool = False
    has_names: bool = False
    doc: str = ""
    endings: str = ""


@cache
def _forms() -> Mapping[str, Sequence[_Form]]:
    forms: dict[str, list[_Form]] = {}
    for name, rows in format_table("chats").items():
        for row in rows:
            keys = row.keys() & {"start", "sign", "notice", "breaks"}
            patterns = {key: _compiled(row[key]) for key in keys}
            cuts = {kind: _compiled(given) for kind, given in row.get("cut", {}).items()}
            forms.setdefault(name, []).append(_Form(name, **{**row, **patterns, "cut": cuts}))
    return forms


def _compiled(given: str | Sequence[str]) -> re.Pattern[str]:
    text = given if isinstance(given, str) else "|".join(f"(?:{part})" for part in given)
    return pattern(text, re.MULTILINE)


def form_of(head: str, is_last: bool = False, name: str = "") -> _Form | None:
    """The first form (of a ``name``) whose messages make up a head, from its first line on.

    ``is_last``: of those that other transcripts may look like, too.
    """
    head = head[:_HEAD].translate(_VISIBLE).lstrip()
    for form in _forms()[name] if name else chain.from_iterable(_forms().values()):
        starts = list(form.start.finditer(head))
        is_signed = form.sign is None or form.sign.search(head)
        if form.is_last == is_last and len(starts) >= form.least and is_signed:
            above = cut(head[: starts[0].start()], form.cut, None).strip()
            has_speech = any(
                group.get("name") or group.get("name_2") or "notice" not in group
                for group in map(re.Match.groupdict, starts)
                if not group.get("day")
            )
            if has_speech and (not above or (len(starts) > 1 and is_heading(above.split("\n")))):
                return form
    return None


def cut(text: str, cuts: Cuts, report: ProblemReporter | None) -> str:
    """The text without what is no words of a message, which is counted."""
    for kind, junk in cuts.items():
        text, count = junk.subn(r"\1" if junk.groups else "", text)
        if report and not kind.startswith("_"):
            report.leave_out(kind, count)
    return text


def cut_lines(lines: Iterable[str], report: ProblemReporter) -> Iterator[str]:
    """The lines of a copied transcript without footers, notices, reactions and the like."""
    (form,) = _forms()["transcript"]
    for line in lines:
        left = cut(line, form.cut, report)
        if left.strip() or not line.strip():
            yield left


def read_chat(source: Source, options: ReadOptions, report: ProblemReporter) -> Dialogues:
    """Read a chat, a log or an annotated transcript of the form ``options.format``.

    Messages of the program itself (someone joined, media were left out) have no speaker and the
    role ``system``; they are counted as notices.
    """
    text = "\n".join(line.text for line in source.lines(report)).translate(_VISIBLE)
    forms = (form_of(text, is_last, options.format) for is_last in (False, True))
    form = next(filter(None, forms), _forms()[options.format][0])
    messages = list(_messages(text, form, report))
    stamps = [stamp for _, *both in messages for stamp in both]
    if form.unit:
        seconds = [float(stamp) * form.unit if stamp else None for stamp in stamps]
    else:
        seconds = times_of_stamps(stamps, form.of_day)
    utterances = tuple(
        replace(utterance, start=start, end=end)
        for (utterance, *_), start, end in zip(messages, seconds[::2], seconds[1::2], strict=True)
    )
    if any(utterance.text for utterance in utterances):
        yield Dialogue(utterances, id=source.stem)


def _messages(
    text: str, form: _Form, report: ProblemReporter
) -> Iterator[tuple[Utterance, str, str]]:
    """The messages between the starts of a form, with the stamps of their beginning and end."""
    starts = list(form.start.finditer(text))
    above = cut(text[: starts[0].start() if starts else None], form.cut, report)
    if above := above.strip(_MARK + " \n"):
        yield from ((u, "", "") for u in _nameless(above, form, report))
    day = ""
    ends = [*(start.start() for start in starts[1:]), len(text)]
    for match, end in zip(starts, ends, strict=False):
        groups = {name: value for name, value in match.groupdict().items() if value is not None}
        name = groups.get("name") or groups.get("name_2") or ""
        group = next((key for key in ("text", "text_2", "notice") if key in groups), "")
        raw = text[match.start(group) if group else match.end() : end].strip(" \n")
        moment = groups.get("moment", "")
        if groups.get("day"):
            day = groups["day"]
        elif form.unit == 0 and day:
            moment = f"{moment} {day}"
        speaker = form.speaker.format(name.strip(f"~ {_MARK}")) if name else ""
        is_notice = group == "notice" or _is_notice(raw, form)
        words = raw.replace(_MARK, "").strip() if is_notice else _words(raw, form, report)
        if is_notice or _is_notice(words, form) or (groups.get("day") and words):
            report.leave_out("notices")
            yield Utterance("", f"{speaker}: {words}" if speaker else words, "system"), moment, ""
            continue
        last = groups.get("end", "")
        if speaker and (words or not raw):
            yield Utterance(speaker, words, role_of(speaker)), moment, last
        elif words:
            spoken = _nameless(words, form, report) if form.has_names else [Utterance("", words)]
            yield from ((utterance, moment, last) for utterance in spoken)


def _is_notice(text: str, form: _Form) -> bool:
    return form.notice is not None and form.notice.fullmatch(text) is not None


def _words(raw: str, form: _Form, report: ProblemReporter) -> str:
    """What was said, its lines without space around them."""
    text = cut(raw, form.cut, report)
    text = form.breaks.sub("\n", text) if form.breaks else text
    lines = (" ".join(line.split()) if form.cut else line for line in text.split("\n"))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).replace(_MARK, "").strip()


def _nameless(text: str, form: _Form, report: ProblemReporter) -> list[Utterance]:
    """Text below no start: a heading, or words in which names may stand."""
    lines = text.split("\n")
    if not form.has_names and is_heading(lines):
        report.leave_out("notices")
        return [Utterance("", text, "system")]
    return [u for u in named_lines(lines) if u.text]


# Names and times above what was said.

_AFTER, _BEFORE, _TIME_ALONE, _NAME_ALONE = line_patterns(
    "after", "before", "time_alone", "name_alone"
)
_MOST_WORDS = 5
_LOWEST = 8  # lines above the first header: a title, key words, who is there
_LONGEST = 120  # a name and a time
_SENTENCE = re.compile(r"[!?;]|\.\s*$")
_DIGITS = re.compile(r"\d+")
_NUMBER = re.compile(r"\(\d{5,}\)$")  # behind a name of QQ
_BOLD = str.maketrans("", "", "*_#")


class Header(NamedTuple):
    """A header's lines, who speaks from when to when; ``goes_on``: a time, the same speaker."""

    first: int
    end: int
    name: str
    stamp: str
    last: str
    goes_on: bool


def read_headed(source: Source, options: ReadOptions, report: ProblemReporter) -> Dialogues:
    """Read a copied transcript as one dialogue; text above the first name has no speaker."""
    lines = [line.text.lstrip("\ufeff") for line in source.lines(report)]
    if utterances := _headed_turns(list(cut_lines(lines, report))):
        yield Dialogue(utterances, id=source.stem)


def _headed_turns(lines: Sequence[str]) -> tuple[Utterance, ...]:
    """The utterances between headers."""
    places = headers(lines)
    starts = [*(header.first for header in places), len(lines)]
    above = _body(lines[: starts[0]])
    turns = [Utterance("", above, "system" if is_heading(above.split("\n")) else "")]
    times = times_of_stamps([stamp for header in places for stamp in (header.stamp, header.last)])
    for number, (header, end) in enumerate(zip(places, starts[1:], strict=True)):
        body, role = _body(lines[header.end : end]), role_of(header.name)
        turns.append(Utterance(header.name, body, role, *times[2 * number : 2 * number + 2]))
    return tuple(turn for turn in turns if turn.text)


def is_headed(lines: Sequence[str]) -> bool:
    """Whether headers come early, each above some text, and go forward in time."""
    places = headers(lines)
    if not places or places[0].first > _LOWEST:
        return False
    ends = [*(header.first for header in places[1:]), len(lines)]
    empty = sum(not _body(lines[h.end : end]) for h, end in zip(places, ends, strict=True))
    times = [time or 0.0 for time in times_of_stamps([header.stamp for header in places])]
    backward = sum(before > after for before, after in pairwise(times))
    named = sum(not header.goes_on for header in places)
    is_short = named == 1 and (places[0].first > 0 or len(lines) > 6)
    return 2 * named > len(places) >= 10 * max(empty, backward) and not is_short


def headers(lines: Sequence[str]) -> list[Header]:
    """All lines, or pairs of lines, that are a name with a time."""
    plain = [line[: _LONGEST + 1].translate(_BOLD) for line in lines]
    places: list[tuple[Header, str]] = []
    for number, line in enumerate(plain):
        if len(line) > _LONGEST:
            continue
        # A time alone is tried first, or "AM" of "10:03 AM" would be a name.
        if match := _TIME_ALONE.fullmatch(line):
            above = _NAME_ALONE.fullmatch(plain[number - 1]) if number else None
            first, name = number - 1, above["name"].strip() if above else ""
            if first > 0 and name == plain[first - 1].strip():
                first -= 1  # a picture's name above the name
            goes_on = bool(places) and not _may_be_header(name)
            if goes_on:
                first, name = number, places[-1][0].name
        else:
            match = _AFTER.fullmatch(line) or _BEFORE.fullmatch(line)
            first, name = number, _NUMBER.sub("", match["name"].strip()) if match else ""
            goes_on = False
        if match and _may_be_header(name):
            is_behind = line.startswith((name, "—", " —"))  # of Discord also in two lines
            shape = f"{is_behind or number - first}{_DIGITS.sub('', match['stamp'])}"
            header = Header(first, number + 1, name, match["stamp"], match["last"] or "", goes_on)
            places.append((header, shape))
    # A name in small letters comes back, or its header is like that of a name that does.
    counts = Counter(header.name for header, _ in places)
    titled = {name for name in counts if not any(word[0].islower() for word in name.split())}
    known = {shape for (_, _, name, *_), shape in places if name in titled or counts[name] > 1}
    return [
        header
        for header, shape in places
        if header.name in titled or (len(header.name.split()) <= 2 and shape in known)
    ]


def _may_be_header(name: str) -> bool:
    return 0 < len(name.split()) <= _MOST_WORDS and not _SENTENCE.search(name)


def _body(lines: Sequence[str]) -> str:
    return "\n".join(line.strip() for line in lines if not DIVIDER.fullmatch(line)).strip()


DIVIDER = re.compile(r"\s*(?:-{3,}|={3,})\s*")


def read_transcript(source: Source, options: ReadOptions, report: ProblemReporter) -> Dialogues:
    """Read one dialogue per file, or several divided by lines of ``---`` or ``===``.

    A part without any speaker is no dialogue but belongs to the message before it.
    """
    texts = ((number, cut_lines([text], report)) for number, text in source.lines(report))
    lines = [SourceLine(number, left) for number, lefts in texts for left in lefts]
    whole = [[line for line in lines if not DIVIDER.fullmatch(line.text)]]
    is_one = options.one_dialogue or len(whole[0]) == len(lines)
    parts = whole if is_one else _parts(lines, report)
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
    parts: list[list[SourceLine]] = []
    is_below_names = False
    is_open = False  # a block without speakers began: the next divider is its end
    for place, end in pairwise([-1, *dividers, len(lines)]):
        part = lines[place + 1 : end]
        has_names = any(turn.speaker for turn in named_lines(line.text for line in part))
        has_text = any(line.text.strip() for line in part)
        if has_text and is_below_names and (is_open or not has_names):
            report.note(f"line {lines[place].number}: dashes within a message, no new dialogue")
            parts[-1] += lines[place:end]
            is_open = not is_open and not has_names
        else:
            parts.append(part)
            is_below_names, is_open = has_names, False
    return parts


# What pages of Telegram, Discord, iMessage, Google Voice and Facebook call the parts of messages.
_NAME_MARK, _TEXT_MARK = "\x02", "\x03"
_MARKS = {
    **dict.fromkeys(("date", "chatlog__timestamp", "timestamp", "dt", "_a6-o"), TIME_MARK),
    **dict.fromkeys(("from_name", "chatlog__author", "sender", "_a6-h"), _NAME_MARK),
    **dict.fromkeys(("text", "chatlog__content", "bubble", "q", "_a6-p"), _TEXT_MARK),
    "_a6-q": END_MARK,  # reactions, within the text
}


def read_html(source: Source, options: ReadOptions, report: ProblemReporter) -> Dialogues:
    """Read a saved page, or a chat exported as one; a `DataError`: its text has no speakers."""
    page = "\n".join(line.text for line in source.lines(report))
    marked = from_html(page, _MARKS)
    lines = list(cut_lines(from_html(page).split("\n"), report))
    filled = [line for line in lines if line.strip()]
    if all(mark in marked for mark in _MARKS.values()):
        turns = _page_turns(marked.split("\n"), report)
    elif is_headed(filled):
        turns = _headed_turns(lines)
    elif has_speakers(filled):
        turns = tuple(named_lines(lines))
    else:
        raise DataError(
            f"{source.name}: a page without lines of 'Name: text': save the text of its "
            "conversation as .txt first"
        )
    yield Dialogue(turns, id=source.stem)


def _page_turns(lines: Sequence[str], report: ProblemReporter) -> tuple[Utterance, ...]:
    """The messages of a page's marked lines; what is unmarked is counted."""
    kind = name = stamp = ""
    messages: list[list[str]] = []  # name, stamp, lines
    marks = [line[0] for line in lines if line[:1] in (TIME_MARK, _TEXT_MARK)]
    is_time_below = marks[-1] == TIME_MARK
    for line in filter(None, lines):
        begins = line[0] in _MARKS.values()
        kind = line[0] if begins else kind
        text = line.removeprefix(kind).strip()
        if kind == _TEXT_MARK and name and begins:
            messages.append([name, "" if is_time_below else stamp, text])
        elif kind == _TEXT_MARK and messages:
            messages[-1].append(text)
        elif kind == TIME_MARK and begins:
            stamp = text
            if is_time_below and messages:
                messages[-1][1] = stamp
        elif kind == _NAME_MARK and begins and text:
            name = text
        elif text:
            report.leave_out("other lines of the page")
    seconds = times_of_stamps([stamp for _, stamp, *_ in messages])
    turns = [
        Utterance(name, "\n".join(filter(None, texts)), role_of(name), start)
        for (name, _, *texts), start in zip(messages, seconds, strict=True)
    ]
    if None not in seconds:  # some pages begin with the newest
        turns.sort(key=lambda turn: turn.start or 0)
    return tuple(turn for turn in turns if turn.text)


def read_lines(source: Source, options: ReadOptions, report: ProblemReporter) -> Dialogues:
    """Read every line with text as one utterance without a speaker."""
    texts = (line.text.strip().lstrip("\ufeff") for line in source.lines(report))
    if utterances := tuple(Utterance("", text) for text in texts if text):
        yield Dialogue(utterances, id=source.stem)


(TIMING,) = line_patterns("timing")
"""Above a cue's text, in WebVTT, SubRip or SBV."""
_VOICE, _TAG, _DASH, _NO_CUE, _ID, _NAMED_ID, _IN_BRACKETS = line_patterns(
    "voice", "tag", "dash", "no_cue", "cue_id", "named_id", "in_brackets"
)


class _Cue(NamedTuple):
    """When a cue is shown, who speaks where its id says so, and its lines."""

    start: str
    end: str
    name: str
    lines: list[str]


def read_subtitles(source: Source, options: ReadOptions, report: ProblemReporter) -> Dialogues:
    """Read cues as one dialogue; one that names nobody has no speaker: who goes on is not said."""
    if utterances := _cue_turns(_cues(source.lines(report), report)):
        yield Dialogue(utterances, id=source.stem)


def _cues(lines: Iterable[SourceLine], report: ProblemReporter) -> list[_Cue]:
    """Blocks between blank lines: perhaps an id, then the timing, then the text or nothing."""
    cues: list[_Cue] = []
    is_open = False  # the line above is no empty one: what begins here may go on with the cue
    for is_filled, run in groupby(lines, key=lambda line: bool(line.text.strip())):
        block = list(run)
        if not is_filled:
            is_open = bool(cues) and all(line.text for line in block)
            continue
        first = next((n for n, line in enumerate(block) if TIMING.fullmatch(line.text)), len(block))
        has_id = 0 < first < len(block) and _ID.fullmatch(block[first - 1].text)
        above = block[: first - bool(has_id)]
        if above and is_open:
            cues[-1].lines.extend(line.text for line in above)
        elif above and _NO_CUE.fullmatch(above[0].text):
            report.leave_out("header lines", len(above) - ("WEBVTT" in above[0].text))
        elif above:
            report(above[0].number, "a cue without a timing line ('00:00:01.000 --> 00:00:02.000')")
        cues += _cues_of(block)
    return cues


def _cues_of(block: Sequence[SourceLine]) -> Iterator[_Cue]:
    """The cue of a block, or several where the blank line between two was forgotten."""
    timings = {n: match for n, line in enumerate(block) if (match := TIMING.fullmatch(line.text))}
    for place, end in pairwise([*timings, len(block)]):
        named = _NAMED_ID.fullmatch(block[place - 1].text) if place else None
        texts = [line.text for line in block[place + 1 : end]]
        if end < len(block) and texts and texts[-1].strip().isdigit():
            texts.pop()  # the id of the next
        start, stop = timings[place]["start"], timings[place]["end"]
        yield _Cue(start, stop, named["name"] if named else "", texts)


def _cue_turns(cues: Sequence[_Cue]) -> tuple[Utterance, ...]:
    """What is said in cues, with their times."""
    cues = _named_above(_rolled_up(cues))
    bracketed = sum(any(map(_IN_BRACKETS.fullmatch, cue.lines)) for cue in cues)
    seconds = times_of_stamps([stamp for cue in cues for stamp in (cue.start, cue.end)])
    guesses = [guess_name(_plain(line)) for cue in cues for line in cue.lines]
    names = Counter(guess[0] for guess in guesses if guess)
    if 10 * names.total() >= 8 * len(cues):  # nearly every cue begins with a name
        names = Counter(dict.fromkeys(names, 2)) + names
    turns: list[Utterance] = []
    for number, cue in enumerate(cues):
        lines = cue.lines
        if 2 * bracketed >= len(cues):  # otherwise it is a noise
            lines = [_IN_BRACKETS.sub(r"\1:", line) for line in lines]
        start, end = seconds[2 * number : 2 * number + 2]
        for utterance in _speech(lines, names):
            speaker = utterance.speaker or cue.name
            turns.append(Utterance(speaker, utterance.text, role_of(speaker), start, end))
    return tuple(turns)


def _rolled_up(cues: Sequence[_Cue]) -> Sequence[_Cue]:
    """The cues; where most begin with the last line of the cue before, without it."""
    texts = [[line for line in map(_plain, cue.lines) if line] for cue in cues]
    again = [bool(before and after) and before[-1] == after[0] for before, after in pairwise(texts)]
    if len(again) < 3 or 2 * sum(again) < len(again):
        return cues
    parts = zip(cues, texts, [False, *again], strict=True)
    return [cue._replace(lines=lines[is_again:]) for cue, lines, is_again in parts]


def _named_above(cues: Sequence[_Cue]) -> Sequence[_Cue]:
    """The cues; where each begins with a whole name ("Ann Lee"), and some come back, named so."""
    firsts = [_NAME_ALONE.fullmatch(cue.lines[0]) for cue in cues if len(cue.lines) > 1]
    names = [first["name"] for first in firsts if first and _may_be_header(first["name"])]
    is_whole = all(
        n.count(" ") and all(w.lstrip("(")[:1].isupper() for w in n.split()) for n in names
    )
    if not is_whole or not 1 < len(set(names)) < len(names) == len(cues):
        return cues
    return [cue._replace(name=n, lines=cue.lines[1:]) for cue, n in zip(cues, names, strict=True)]


def _speech(lines: list[str], names: Mapping[str, int]) -> Iterator[Utterance]:
    text = "\n".join(lines)
    if text.lstrip().startswith('{"'):
        with suppress(ValueError, LookupError, TypeError, UsageError, RecursionError):
            data = json.loads(text)
            yield Utterance(data["speakerName"], data["spokenText"])  # metadata of Teams
            return
    if voices := list(_VOICE.finditer(text)):
        before = _plain(text[: voices[0].start()])
        spoken = [("", before), *((_plain(v["name"]), _plain(v["text"])) for v in voices)]
        yield from (Utterance(name, words) for name, words in spoken if words)
        return
    # Where lines begin with a dash, each of those is another person's.
    parts: list[list[str]] = []
    for line in filter(None, map(_plain, lines)):
        if (dash := _DASH.match(line)) or not parts:
            parts.append([line[dash.end() :] if dash else line])
        elif line not in "-–—":
            parts[-1].append(line)
    # A cue's first line may go on with the cue before: it is no heading.
    yield from (u for part in parts for u in named_lines(part, others=names) if u.text)


def _plain(text: str) -> str:
    return html.unescape(_TAG.sub("", text)).strip()


_MOST_TTML = 1 << 25  # bytes


def read_ttml(source: Source, options: ReadOptions, report: ProblemReporter) -> Dialogues:
    """Read TTML's paragraphs as one dialogue; a `DataError`: no XML, a document type, too large."""
    from xml.etree import ElementTree

    text = "\n".join(line.text for line in source.lines(report)).lstrip("\ufeff")
    if "<!DOCTYPE" in text or len(text) > _MOST_TTML:
        raise DataError(f"{source.name}: is too large, or no TTML: it declares a document type")
    try:
        root = ElementTree.fromstring(text)
    except (ElementTree.ParseError, RecursionError, ValueError) as error:
        raise DataError(f"{source.name}: is damaged TTML: {error}") from None
    names: dict[str, str] = {}
    cues: list[_Cue] = []
    for element in root.iter():
        kind = element.tag.rpartition("}")[2]
        given = {key.rpartition("}")[2]: value for key, value in element.attrib.items()}
        if kind == "agent":
            names[given.get("id", "")] = " ".join("".join(element.itertext()).split())
        elif kind == "p":
            for line in element.iter():
                line.text = f"\n{line.text or ''}" if line.tag.endswith("}br") else line.text
            lines = "".join(element.itertext()).strip().split("\n")
            agent = given.get("agent", "")
            name = names.get(agent) or agent
            cues.append(_Cue(given.get("begin", ""), given.get("end", ""), name, lines))
    if utterances := _cue_turns(cues):
        yield Dialogue(utterances, id=source.stem)
