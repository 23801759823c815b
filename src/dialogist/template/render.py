"""The kinds of statement in words: behind each statement, and once below all of them."""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TypeAlias

from dialogist.records import StatementKind
from dialogist.template.filled import Cited, Entry, Filled, FilledSection, Quote, quotes_of

SHOWN: Mapping[StatementKind, str] = {
    "checked": "checked",
    "reported": "reported",
    "quoted": "quoted",
    "free": "not verified",
}
"""What stands behind a statement."""

_MEANING: Mapping[StatementKind, str] = {
    "checked": "written by the network, accepted by a verifier",
    "reported": "what somebody said, in the third person by rules",
    "quoted": "the words themselves",
}


def legend(kinds: Collection[str]) -> str:
    """Return what the kinds mean, on one line. A summary's status tells of ``free``."""
    return "; ".join(f"{SHOWN[kind]}: {told}" for kind, told in _MEANING.items() if kind in kinds)


# A filled template as text and as Markdown. Utterances are numbered from 1, as people count.


_Escape: TypeAlias = Callable[[str], str]

_MARKS = "\\`*_{}[]<>|#~"
_LEADING = "+-=0123456789"
_SHOWN = 3  # utterances named behind an entry; JSON has all
_OR = " or "
_SEVERAL = "the dialogue has several"
DOUBTED = "(!)"
"""Stands before a sentence that a check complains about, or cannot vouch for."""
_BESIDE = 1  # utterances quoted beside an entry
_LEFT_OUT = 2  # words of a quote that its entry may lack and still say the same


def as_text(filled: Filled) -> str:
    """Plain text, a heading per section; control characters become spaces."""
    lines: list[str] = []
    in_list = False
    said = {one.number: one for one in filled.cited}
    shown: set[str] = set()  # what is quoted above already
    for section in filled.sections:
        if _is_line(section):
            lines += [""] * in_list
            in_list = False
            lines += [f"{printable(section.title)}: {_line_of(section, printable)}"]
            continue
        lines += [*[""] * bool(lines), printable(section.title)]
        in_list = True
        for entry in section.entries:
            lines += [f"- {_worded(entry, printable)}"]
            below = [line for line in _beside(entry, said) if line not in shown]
            lines += [f"    {line}" for line in below]
            shown.update(below)
        lines += [f"  ({_more(section)})"] if section.more else []
        lines += [f"  {printable(section.says)}"] if section.empty else []
    notes = [f"Note: {printable(note)}" for note in _notes(filled)]
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
        for entry in section.entries:
            lines += [f"- {_worded(entry, plain)}"]
            lines += [f"    - *check this: {plain(entry.doubt)}*"] if entry.doubt else []
        lines += [f"- *{_more(section)}*"] if section.more else []
        lines += [f"*{plain(section.says)}*"] if section.empty else []
    for note in _notes(filled):
        lines += ["", f"> **Note:** {plain(note)}"]
    lines += _evidence(filled.cited)
    return "\n".join(lines) + "\n"


def quotation(quote: Quote) -> str:
    """A quote on one line: ``[3] Ann: "Can I borrow fifty dollars?"``."""
    speaker = f"{printable(quote.speaker)}: " if quote.speaker else ""
    return f'[{quote.number + 1}] {speaker}"{printable(quote.text)}"'


def _beside(entry: Entry, said: Mapping[int, Cited]) -> Iterator[str]:
    """What stands below an entry: why it is doubted, and what was said, unless it is a quote."""
    if entry.doubt:
        yield f"check this: {printable(entry.doubt)}"
    if entry.origin == "dialogue" and '"' in entry.text:
        return  # a quote itself
    for quote in quotes_of(entry.evidence, said, _BESIDE, whole=entry.kind == "free"):
        is_told = entry.kind == "quoted" and quote.is_within(entry.text)
        if not is_told and not _repeats(entry.text, quote.text):
            yield quotation(quote)


def _repeats(text: str, said: str) -> bool:
    """Whether an entry is what was said, but for an "Okay, I'll" before it."""
    more = len(said.split()) - len(text.split())
    return text.casefold() in said.casefold() and more <= _LEFT_OUT


def plain(text: str) -> str:
    """One line of text in which nothing is Markdown or HTML."""
    line = " ".join(printable(text).split())
    escaped = "".join(f"\\{c}" if c in _MARKS else "&amp;" if c == "&" else c for c in line)
    if line[:1] in _LEADING and line[:1]:  # a list or a rule, where a line begins with it
        digits = len(line) - len(line.lstrip("0123456789"))
        if digits and line[digits : digits + 1] in (".", ")"):
            return f"{escaped[:digits]}\\{escaped[digits:]}"
        return f"\\{escaped}" if not digits else escaped
    return escaped


def printable(text: str) -> str:
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
    as_said = entry.type or entry.role or '"' in entry.text
    text = entry.text if as_said else entry.text[:1].upper() + entry.text[1:]
    owner = f"{escape(entry.owner)}: " if entry.owner and entry.owner not in entry.text else ""
    role = f" ({escape(entry.role)})" if entry.role else ""
    late = entry.deadline and entry.deadline.lower() not in entry.text.lower()
    deadline = f" ({escape(entry.deadline)})" if late else ""
    numbers = list(dict.fromkeys(span.utterance + 1 for span in entry.evidence))[:_SHOWN]
    doubted = f"{DOUBTED} " if entry.doubt else ""
    references = "".join(f" [{number}]" for number in sorted(numbers))
    kind = f" ({SHOWN[entry.kind]})" if entry.kind else ""
    return f"{doubted}{owner}{escape(text)}{role}{deadline}{kind}{references}"


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
