"""A template with a summary and its dialogue in it, and how it reads as text and Markdown."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Literal, TypeAlias

from dialogist.records import EvidenceSpan, Statement, StatementKind, Summary, Utterance
from dialogist.forms.template_config import FieldSource, FieldType

Origin: TypeAlias = Literal["summary", "dialogue", "metadata", "profile"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a section.

    ``text`` is a sentence of the summary, words of the dialogue, or a value of it; ``origin`` says
    of which. ``kind`` (values have none) and ``evidence``, the best first, are as in
    `records.Statement`. ``label`` is a statement's key point, ``confidence`` its own, ``doubt``
    what its checks say against it, in words. An action has an ``owner`` (a speaker) and a
    ``deadline`` where these are said. ``type`` is a field's, ``role`` a speaker's. ``profile``
    names the fields of the user profile that it rests on, such as ``profile.city``.
    """

    text: str
    origin: Origin
    evidence: tuple[EvidenceSpan, ...] = ()
    label: str = ""
    confidence: float | None = None
    owner: str = ""
    deadline: str = ""
    type: FieldType | Literal[""] = ""
    role: str = ""
    doubt: str = ""
    kind: StatementKind | Literal[""] = ""
    profile: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FilledSection:
    """A section: its entries, or ``says``, what stands there instead of any.

    ``missing``: it is required and empty. ``more``: entries beyond its ``max``, not shown.
    ``unclear``: the dialogue has several values for a field of one, none of which fits best.
    ``elsewhere``: ``says`` tells where its matter stands, in another section or in the dialogue.
    """

    title: str
    source: FieldSource
    entries: tuple[Entry, ...] = ()
    says: str = ""
    missing: bool = False
    more: int = 0
    unclear: bool = False
    elsewhere: bool = False

    @property
    def empty(self) -> bool:
        """Whether nothing was found for it."""
        return not self.entries


@dataclass(frozen=True, slots=True)
class Cited:
    """Words of an utterance that an entry rests on; ``number`` counts from 0."""

    number: int
    speaker: str
    text: str

    def is_within(self, text: str) -> bool:
        """Whether a text has these words, whatever stands between them."""
        return _bare(self.text) in _bare(text)


@dataclass(frozen=True, slots=True)
class Filled:
    """A filled template.

    ``sections`` stand in the template's order, without those that are left out when empty.
    ``left_out`` are sentences of the summary that no section holds. ``cited`` are all utterances
    that entries rest on, in their order. ``notes`` say what a reader should know.
    """

    template: str
    version: int
    language: str
    id: str
    sections: tuple[FilledSection, ...]
    left_out: tuple[Entry, ...] = ()
    cited: tuple[Cited, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def missing(self) -> tuple[str, ...]:
        """The titles of required sections that nothing was found for."""
        return tuple(section.title for section in self.sections if section.missing)

    def without_evidence(self) -> "Filled":
        """The same without what its entries rest on."""
        sections = tuple(replace(one, entries=_bare_of(one.entries)) for one in self.sections)
        return replace(self, sections=sections, left_out=_bare_of(self.left_out), cited=())


def _bare_of(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    return tuple(replace(entry, evidence=()) for entry in entries)


# A filled template as JSON: every key is always there, docs/how-to/templates.md describes each.


TEMPLATE_SCHEMA_VERSION = 2


def filled_to_json(filled: Filled) -> dict[str, object]:
    """Plain values for `json.dumps`; utterances are numbered from 0, as in a summary."""
    values = asdict(filled)
    for section, plain in zip(filled.sections, values["sections"], strict=True):
        plain["empty"] = section.empty
    return {"schema_version": TEMPLATE_SCHEMA_VERSION, **values, "missing": list(filled.missing)}


# What was said, as it is shown beside a statement: an utterance, or the cited stretch of it.


_LONGEST = 160  # characters of an utterance that is shown whole
_ROUND = 60  # characters kept on each side of a cited stretch
_MOST = 400  # characters of a stretch


def cited_of(utterances: Sequence[Utterance]) -> dict[int, Cited]:
    """All utterances by number."""
    return {n: Cited(n, one.speaker, one.text) for n, one in enumerate(utterances)}


def quotes_of(
    evidence: Sequence[EvidenceSpan], said: Mapping[int, Cited], most: int, whole: bool = True
) -> tuple[Cited, ...]:
    """The best utterances of some evidence, each once; not ``whole``: what is cited of them."""
    cited: dict[int, list[tuple[int, int]]] = {}
    for span in evidence:
        if span.utterance in said:
            cited.setdefault(span.utterance, []).append((span.start, span.end))
    return tuple(
        Cited(number, said[number].speaker, shown_of(said[number].text, places, whole))
        for number, places in list(cited.items())[:most]
    )


def shown_of(text: str, places: Sequence[tuple[int, int]], whole: bool) -> str:
    """What is shown of an utterance: what stands around its best place, or the places alone."""
    if whole:
        return excerpt(text, *places[0])
    parts, end = "", 0
    for start, stop in sorted(places):
        begin = max(start, end)
        if begin < stop:
            between = text[end:begin].strip()
            gap = " ..." if any(map(str.isalnum, between)) else between
            parts += f"{gap if parts else ''} {text[begin:stop].strip()}"
            end = stop
    return parts.strip()


def _bare(text: str) -> str:
    """Return the letters and digits of a text."""
    return "".join(filter(str.isalnum, text.casefold()))


def excerpt(text: str, start: int, end: int) -> str:
    """The text, or where it is long what stands around ``start`` to ``end``, cut between words."""
    if len(text) <= _LONGEST:
        return text
    end = min(end, start + _MOST)
    left, right = max(0, start - _ROUND), min(len(text), end + _ROUND)
    if left > 0:
        left = text.find(" ", left, start) + 1 or start
    if right < len(text):
        space = text.rfind(" ", end, right)
        right = space if space > 0 else end
    return f"{'...' if left > 0 else ''}{text[left:right]}{'...' if right < len(text) else ''}"


# Why a sentence of a summary should be read again, in words: what its checks say of it.


def doubt_of(statement: Statement, summary: Summary) -> str:
    """What speaks against a sentence, empty where nothing does."""
    about = (w for w in summary.warnings if 0 <= w.start < statement.end)
    return "; ".join(dict.fromkeys(w.message for w in about if w.end > statement.start))


# The kinds of statement in words: behind each statement, and once below all of them.


SHOWN: Mapping[StatementKind, str] = {
    "checked": "checked",
    "reported": "reported",
    "quoted": "quoted",
    "free": "not verified",
}
"""What stands behind a statement."""

_MEANING: Mapping[StatementKind, str] = {
    "checked": "written by the network, accepted by a verifier",  # reserved: see StatementKind
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
        lines += [f"  ({section.more} more)"] if section.more else []
        lines += [f"  {printable(section.says)}"] if section.empty else []
    notes = [f"Note: {printable(note)}" for note in _notes(filled)]
    lines += [*[""] * bool(notes), *notes]
    return "\n".join(lines) + "\n"


def as_cell(section: FilledSection) -> str:
    """A section as the cell of a table: who and by when, but no kinds and no evidence.

    Empty where nothing was found and ``says`` does not tell where its matter stands.
    """
    if section.empty:
        return section.says if section.elsewhere else ""
    between = _OR if section.unclear else "\n"
    shown = between.join(entry_text(entry, str.strip) for entry in section.entries)
    return f"{shown} ({_SEVERAL})" if section.unclear else shown


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
        lines += [f"- *{section.more} more*"] if section.more else []
        lines += [f"*{plain(section.says)}*"] if section.empty else []
    for note in _notes(filled):
        lines += ["", f"> **Note:** {plain(note)}"]
    lines += _evidence(filled.cited)
    return "\n".join(lines) + "\n"


def quotation(quote: Cited) -> str:
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
    return section.source in ("field", "title", "speakers", "profile")


def _line_of(section: FilledSection, escape: _Escape) -> str:
    if section.empty:
        return escape(section.says)
    between = _OR if section.unclear else ", "
    shown = between.join(_worded(entry, escape) for entry in section.entries)
    behind = [_SEVERAL] if section.unclear else []
    behind += [f"{section.more} more"] if section.more else []
    return f"{shown} ({'; '.join(behind)})" if behind else shown


def _worded(entry: Entry, escape: _Escape) -> str:
    """An entry in words, and the numbers of the utterances that it rests on."""
    numbers = list(dict.fromkeys(span.utterance + 1 for span in entry.evidence))[:_SHOWN]
    doubted = f"{DOUBTED} " if entry.doubt else ""
    references = "".join(f" [{number}]" for number in sorted(numbers))
    references += "" if entry.origin == "profile" else fields_cited(entry.profile, escape)
    kind = f" ({SHOWN[entry.kind]})" if entry.kind else ""
    return f"{doubted}{entry_text(entry, escape)}{kind}{references}"


def entry_text(entry: Entry, escape: _Escape) -> str:
    """An entry with its owner, its role and its deadline."""
    as_said = entry.type or entry.role or entry.origin == "profile" or '"' in entry.text
    text = entry.text if as_said else entry.text[:1].upper() + entry.text[1:]
    owner = f"{escape(entry.owner)}: " if entry.owner and entry.owner not in entry.text else ""
    role = f" ({escape(entry.role)})" if entry.role else ""
    late = entry.deadline and entry.deadline.lower() not in entry.text.lower()
    deadline = f" ({escape(entry.deadline)})" if late else ""
    return f"{owner}{escape(text)}{role}{deadline}"


def fields_cited(names: Sequence[str], escape: _Escape) -> str:
    """The fields of the user profile that something rests on, as they stand behind it."""
    return "".join(f" [{escape(name)}]" for name in names)


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
