"""`Filled`: a template with a summary and its dialogue in it. Plain text and places, no opinion."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Literal, TypeAlias

from dialogist.records import EvidenceSpan, Statement, StatementKind, Summary, Utterance
from dialogist.template.template_config import FieldSource, FieldType

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
    """

    title: str
    source: FieldSource
    entries: tuple[Entry, ...] = ()
    says: str = ""
    missing: bool = False
    more: int = 0
    unclear: bool = False

    @property
    def empty(self) -> bool:
        """Whether nothing was found for it."""
        return not self.entries


@dataclass(frozen=True, slots=True)
class Cited:
    """An utterance that an entry rests on, as it was said; ``number`` counts from 0."""

    number: int
    speaker: str
    text: str


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


@dataclass(frozen=True, slots=True)
class Quote:
    """Words of utterance ``number``, counted from 0."""

    number: int
    speaker: str
    text: str

    def is_within(self, text: str) -> bool:
        """Whether a text has these words, whatever stands between them."""
        return _bare(self.text) in _bare(text)


def cited_of(utterances: Sequence[Utterance]) -> dict[int, Cited]:
    """All utterances by number."""
    return {n: Cited(n, one.speaker, one.text) for n, one in enumerate(utterances)}


def quotes_of(
    evidence: Sequence[EvidenceSpan], said: Mapping[int, Cited], most: int, whole: bool = True
) -> tuple[Quote, ...]:
    """The best utterances of some evidence, each once; not ``whole``: what is cited of them."""
    cited: dict[int, list[tuple[int, int]]] = {}
    for span in evidence:
        if span.utterance in said:
            cited.setdefault(span.utterance, []).append((span.start, span.end))
    return tuple(
        Quote(number, said[number].speaker, shown_of(said[number].text, places, whole))
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
    return "; ".join(dict.fromkeys(_doubts(statement, summary)))


def _doubts(statement: Statement, summary: Summary) -> Iterator[str]:
    for warning in summary.warnings:
        if warning.start >= 0 and warning.start < statement.end and warning.end > statement.start:
            yield warning.message
