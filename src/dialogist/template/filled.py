"""`Filled`: a template with a summary and its dialogue in it. Plain text and places, no opinion."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from dialogist.records import EvidenceSpan, StatementKind
from dialogist.template.config import FieldType, Source

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
    source: Source
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
