"""Chat exports, logs and annotated transcripts, by the forms of ``assets/formats/chats.yaml``."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import chain
from typing import NamedTuple

from dialogist.formats import moments
from dialogist.formats.moments import format_table, times_of_stamps
from dialogist.formats.read_options import Dialogues, ProblemReporter, ReadOptions
from dialogist.formats.source import Source
from dialogist.formats.speaker_lines import is_heading, named_lines
from dialogist.language.roles import role_of
from dialogist.records import Dialogue, Utterance

_INVISIBLE = "\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff"
_PLAIN = str.maketrans("\u202f\u00a0", "  ", _INVISIBLE)
_MARK = "\u200e"  # stays to the end: an iPhone marks by it what the app says
_HEAD = 20_000  # characters that a form is recognised by

Cuts = Mapping[str, re.Pattern[str]]
"""What is no words of a message, by its kind; kinds with ``_`` are syntax, and not counted."""


class _Form(NamedTuple):
    """How messages begin, which are notices, and what is no words of them: see the table."""

    name: str
    start: re.Pattern[str]
    sign: re.Pattern[str] | None
    notice: re.Pattern[str] | None
    breaks: re.Pattern[str] | None
    cut: Cuts
    speaker: str = "{}"
    of_day: bool = False
    unit: float = 0
    least: int = 1
    is_last: bool = False
    has_names: bool = False
    doc: str = ""
    endings: str = ""


_Message = tuple[Utterance, str, str]
"""What was said, and the stamps of its beginning and end."""


@cache
def _forms() -> Mapping[str, Sequence[_Form]]:
    forms: dict[str, list[_Form]] = {}
    for name, rows in format_table("chats").items():
        for row in rows:
            patterns = {k: _compiled(row.get(k)) for k in ("start", "sign", "notice", "breaks")}
            cuts = {kind: _compiled(pattern) for kind, pattern in row.get("cut", {}).items()}
            forms.setdefault(name, []).append(_Form(name, **{**row, **patterns, "cut": cuts}))
    return forms


def _compiled(pattern: str | Sequence[str] | None) -> re.Pattern[str] | None:
    if pattern is None:
        return None
    text = pattern if isinstance(pattern, str) else "|".join(f"(?:{each})" for each in pattern)
    return moments.pattern(text, re.MULTILINE)


def form_of(head: str, is_last: bool = False, name: str = "") -> _Form | None:
    """The first form (of a ``name``) whose messages make up a head, from its first line on.

    ``is_last``: of those that other transcripts may look like, too.
    """
    head = head[:_HEAD].translate(_PLAIN).lstrip()
    for form in _forms()[name] if name else chain.from_iterable(_forms().values()):
        starts = list(form.start.finditer(head))
        is_signed = form.sign is None or form.sign.search(head)
        if form.is_last == is_last and len(starts) >= form.least and is_signed:
            above = cut(head[: starts[0].start()], form.cut, None).strip()
            said = [found for found in map(re.Match.groupdict, starts) if not found.get("day")]
            names = [
                each.get("name") or each.get("name_2") or "notice" not in each for each in said
            ]
            if any(names) and (not above or (len(starts) > 1 and is_heading(above.split("\n")))):
                return form
    return None


def cut(text: str, cuts: Cuts, report: ProblemReporter | None) -> str:
    """The text without what is no words of a message, which is counted."""
    for kind, pattern in cuts.items():
        keeps = r"\1" if pattern.groups else ""
        text, count = pattern.subn(keeps, text)
        if count and report and not kind.startswith("_"):
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
    text = "\n".join(line.text for line in source.lines(report)).translate(_PLAIN)
    found = (form_of(text, is_last, options.format) for is_last in (False, True))
    form = next(filter(None, found), _forms()[options.format][0])
    messages = list(_messages(text, form, report))
    if form.unit:
        seconds = [float(m) * form.unit if m else None for each in messages for m in each[1:]]
    else:
        seconds = times_of_stamps([m for each in messages for m in each[1:]], form.of_day)
    utterances = tuple(
        replace(said, start=start, end=end)
        for (said, *_), start, end in zip(messages, seconds[::2], seconds[1::2], strict=True)
    )
    if any(utterance.text for utterance in utterances):
        yield Dialogue(utterances, id=source.stem)


def _messages(text: str, form: _Form, report: ProblemReporter) -> Iterator[_Message]:
    """The messages between the starts of a form."""
    starts = list(form.start.finditer(text))
    above = cut(text[: starts[0].start() if starts else None], form.cut, report)
    if above := above.strip(_MARK + " \n"):
        yield from ((u, "", "") for u in _nameless(above, form, report))
    day = ""
    for number, match in enumerate(starts):
        found = match.groupdict()
        end = starts[number + 1].start() if number + 1 < len(starts) else len(text)
        name = found.get("name") or found.get("name_2") or ""
        groups = (key for key in ("text", "text_2", "notice") if found.get(key) is not None)
        group = next(groups, "")
        raw = text[match.start(group) if group else match.end() : end].strip(" \n")
        moment, last = found.get("moment") or "", found.get("end") or ""
        if found.get("day"):
            day = found["day"]
        elif form.unit == 0 and day:
            moment = f"{moment} {day}"
        speaker = form.speaker.format(name.strip(f"~ {_MARK}")) if name else ""
        is_notice = group == "notice" or _is_notice(raw, form)
        said = raw.replace(_MARK, "").strip() if is_notice else _words(raw, form, report)
        is_notice = is_notice or _is_notice(said, form)
        if is_notice or (found.get("day") and said):
            report.leave_out("notices")
            told = f"{speaker}: {said}" if speaker else said
            yield Utterance("", told, "system"), moment, ""
        elif speaker and (said or not raw):
            yield Utterance(speaker, said, role_of(speaker)), moment, last
        elif said:
            spoken = _nameless(said, form, report) if form.has_names else [Utterance("", said)]
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
