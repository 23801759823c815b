"""A filled form as text, as Markdown and as the cells of a table; people count from 1."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from dialogist.forms.fill import Entry, FilledForm, FilledSection
from dialogist.records import Utterance
from dialogist.render import plain, printable, quotations, verdict_of

_Escape: TypeAlias = Callable[[str], str]

_SHOWN = 3  # utterances named behind an entry; JSON has all
_SEVERAL = "the dialogue has several"
_LINES = ("field", "title", "speakers", "profile")
"""Sources of sections that are one line."""


def form_as_text(filled: FilledForm, utterances: Sequence[Utterance]) -> str:
    """Plain text, a heading per section; control characters become spaces."""
    lines: list[str] = []
    in_list = False
    for section in filled.sections:
        if section.source in _LINES:
            lines += [""] * in_list
            in_list = False
            lines.append(f"{printable(section.title)}: {_line_of(section, printable)}")
            continue
        lines += [*[""] * bool(lines), printable(section.title)]
        in_list = True
        for entry in section.entries:
            lines.append(f"- {_worded(entry, printable)}")
            if entry.verdict != "quoted":
                lines += [f"    {line}" for line in quotations(entry.evidence[:1], utterances)]
        lines += [f"  ({section.more} more)"] if section.more else []
        lines += [f"  {printable(section.says)}"] if not section.entries else []
    notes = [f"Note: {printable(note)}" for note in _notes(filled)]
    return "\n".join([*lines, *[""] * bool(notes), *notes]) + "\n"


def form_as_markdown(filled: FilledForm, utterances: Sequence[Utterance]) -> str:
    """Markdown: a heading per section, ``[3]`` behind what rests on utterance 3, which follow."""
    lines = [f"# {plain(filled.id) or 'Dialogue'}"]
    for section in filled.sections:
        if section.source in _LINES:
            lines += ["", f"**{plain(section.title)}**: {_line_of(section, plain)}"]
            continue
        lines += ["", f"## {plain(section.title)}", ""]
        lines += [f"- {_worded(entry, plain)}" for entry in section.entries]
        lines += [f"- *{section.more} more*"] if section.more else []
        lines += [f"*{plain(section.says)}*"] if not section.entries else []
    for note in _notes(filled):
        lines += ["", f"> **Note:** {plain(note)}"]
    entries = [entry for section in filled.sections for entry in section.entries]
    cited = sorted({s.utterance for entry in (*entries, *filled.left_out) for s in entry.evidence})
    lines += ["", "## Evidence", ""] if cited else []
    for number in cited:
        utterance = utterances[number]
        speaker = f"**{plain(utterance.speaker)}**: " if utterance.speaker else ""
        lines.append(f"- [{number + 1}] {speaker}{plain(utterance.text)}")
    return "\n".join(lines) + "\n"


def section_as_cell(section: FilledSection) -> str:
    """A section as the cell of a table: who and by when, but no verdicts and no evidence.

    Empty where nothing was found and ``says`` does not tell where its matter stands.
    """
    if not section.entries:
        return section.says if section.elsewhere else ""
    between = " or " if section.unclear else "\n"
    shown = between.join(entry_text(entry, str.strip) for entry in section.entries)
    return f"{shown} ({_SEVERAL})" if section.unclear else shown


def entry_text(entry: Entry, escape: _Escape) -> str:
    """An entry with its owner, its role and its deadline."""
    owner = f"{escape(entry.owner)}: " if entry.owner and entry.owner not in entry.text else ""
    role = f" ({escape(entry.role)})" if entry.role else ""
    is_late = entry.deadline and entry.deadline.lower() not in entry.text.lower()
    deadline = f" ({escape(entry.deadline)})" if is_late else ""
    return f"{owner}{escape(entry.text)}{role}{deadline}"


def _line_of(section: FilledSection, escape: _Escape) -> str:
    if not section.entries:
        return escape(section.says)
    between = " or " if section.unclear else ", "
    shown = between.join(_worded(entry, escape) for entry in section.entries)
    behind = [_SEVERAL] if section.unclear else []
    behind += [f"{section.more} more"] if section.more else []
    return f"{shown} ({'; '.join(behind)})" if behind else shown


def _worded(entry: Entry, escape: _Escape) -> str:
    """An entry in words, its verdict, and the numbers of the utterances that it rests on."""
    numbers = list(dict.fromkeys(span.utterance + 1 for span in entry.evidence))[:_SHOWN]
    verdict = verdict_of(entry.verdict, entry.reasons)
    fields = () if entry.origin == "profile" else entry.profile
    behind = [escape(verdict)] if verdict else []
    behind += [f"[{number}]" for number in sorted(numbers)]
    behind += [f"[{escape(name)}]" for name in fields]
    return " ".join([entry_text(entry, escape), *behind])


def _notes(filled: FilledForm) -> Iterator[str]:
    for title in filled.missing:
        yield f"nothing was found for '{title}', which this form requires"
    yield from filled.notes
