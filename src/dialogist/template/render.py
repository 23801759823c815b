"""A filled template as text and as Markdown. Utterances are numbered from 1, as people count."""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from dialogist.template.filled import Cited, Entry, Filled, FilledSection

_Escape: TypeAlias = Callable[[str], str]

_MARKS = "\\`*_{}[]<>|#~"
_LEADING = "+-=0123456789"
_SHOWN = 3  # utterances named behind an entry; JSON has all
_OR = " or "
_SEVERAL = "the dialogue has several"


def as_text(filled: Filled) -> str:
    """Plain text, a heading per section; control characters become spaces."""
    lines: list[str] = []
    in_list = False
    for section in filled.sections:
        if _is_line(section):
            lines += [""] * in_list
            in_list = False
            lines += [f"{_printable(section.title)}: {_line_of(section, _printable)}"]
            continue
        lines += [*[""] * bool(lines), _printable(section.title)]
        in_list = True
        lines += [f"- {_worded(entry, _printable)}" for entry in section.entries]
        lines += [f"  ({_more(section)})"] if section.more else []
        lines += [f"  {_printable(section.says)}"] if section.empty else []
    notes = [f"Note: {_printable(note)}" for note in _notes(filled)]
    lines += [*[""] * bool(notes), *notes]
    return "\n".join(lines) + "\n"


def as_markdown(filled: Filled) -> str:
    """Markdown: a heading per section, ``[3]`` behind what rests on utterance 3, which follow."""
    lines = [f"# {plain(filled.id) or 'Dialogue'}"]
    for section in filled.sections:
        if _is_line(section):
            lines += ["", f"**{plain(section.title)}**: {_line_of(section, plain)}"]
            continue
        lines += ["", f"## {plain(section.title)}", ""]
        lines += [f"- {_worded(entry, plain)}" for entry in section.entries]
        lines += [f"- *{_more(section)}*"] if section.more else []
        lines += [f"*{plain(section.says)}*"] if section.empty else []
    for note in _notes(filled):
        lines += ["", f"> **Note:** {plain(note)}"]
    lines += _evidence(filled.cited)
    return "\n".join(lines) + "\n"


def plain(text: str) -> str:
    """One line of text in which nothing is Markdown or HTML."""
    line = " ".join(_printable(text).split())
    escaped = "".join(f"\\{c}" if c in _MARKS else "&amp;" if c == "&" else c for c in line)
    if line[:1] in _LEADING and line[:1]:  # a list or a rule, where a line begins with it
        digits = len(line) - len(line.lstrip("0123456789"))
        if digits and line[digits : digits + 1] in (".", ")"):
            return f"{escaped[:digits]}\\{escaped[digits:]}"
        return f"\\{escaped}" if not digits else escaped
    return escaped


def _printable(text: str) -> str:
    """One line without control characters: text must not steer a terminal."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _is_line(section: FilledSection) -> bool:
    """Fields and titles are one line each."""
    return section.source in ("field", "title", "speakers")


def _line_of(section: FilledSection, escape: _Escape) -> str:
    if section.empty:
        return escape(section.says)
    between = _OR if section.unclear else ", "
    shown = between.join(_worded(entry, escape) for entry in section.entries)
    behind = [_SEVERAL] if section.unclear else []
    behind += [_more(section)] if section.more else []
    return f"{shown} ({'; '.join(behind)})" if behind else shown


def _worded(entry: Entry, escape: _Escape) -> str:
    """An entry in words, and the numbers of the utterances that it rests on."""
    text = entry.text if entry.type or entry.role else entry.text[:1].upper() + entry.text[1:]
    owner = f"{escape(entry.owner)}: " if entry.owner and entry.owner not in entry.text else ""
    role = f" ({escape(entry.role)})" if entry.role else ""
    late = entry.deadline and entry.deadline.lower() not in entry.text.lower()
    deadline = f" ({escape(entry.deadline)})" if late else ""
    numbers = list(dict.fromkeys(span.utterance + 1 for span in entry.evidence))[:_SHOWN]
    references = "".join(f" [{number}]" for number in numbers)
    return f"{owner}{escape(text)}{role}{deadline}{references}"


def _more(section: FilledSection) -> str:
    return f"{section.more} more"


def _notes(filled: Filled) -> Iterator[str]:
    for title in filled.missing:
        yield f"nothing was found for '{title}', which this template requires"
    yield from filled.notes


def _evidence(cited: tuple[Cited, ...]) -> Iterator[str]:
    if cited:
        yield from ("", "## Evidence", "")
    for one in cited:
        speaker = f"**{plain(one.speaker)}**: " if one.speaker else ""
        yield f"- [{one.number + 1}] {speaker}{plain(one.text)}"
