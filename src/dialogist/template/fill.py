"""`fill`: a template, a summary and its dialogue become the form that a team wants."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from dialogist.metrics.speakers import Speakers
from dialogist.records import Dialogue, Statement, Summary
from dialogist.template.config import SectionConfig, Source, Template
from dialogist.template.extract.extraction import Extracted, extract
from dialogist.template.extract.reported import Reported, reported_in
from dialogist.template.extract.titles import title_of
from dialogist.template.extract.turns import Found
from dialogist.template.fields import Values
from dialogist.template.filled import Cited, Entry, Filled, FilledSection
from dialogist.template.joining import joined
from dialogist.template.sentences import Sentences, sentences_of
from dialogist.text.languages import language_of

_FROM_DIALOGUE = frozenset(("decisions", "actions", "questions"))
_KIND: Mapping[Source, str] = {
    "decisions": "decision",
    "actions": "action",
    "questions": "question",
}


def fill(summary: Summary, dialogue: Dialogue, template: Template) -> Filled:
    """Fill a template; nothing in it is invented, and what finds no place is told.

    ``dialogue`` is the one that was summarised, its utterances as the summary's evidence counts
    them. Sentences stand whole. Give it before any renaming: see `rename.rename_filled`.
    """
    filler = _Filler(summary, dialogue, template)
    sections = tuple(filler.sections())
    left_out = tuple(filler.left_out())
    notes = (*filler.notes(), *_counted(len(left_out)))
    entries = [entry for section in sections for entry in section.entries]
    return Filled(
        template=template.name,
        version=template.version,
        language=template.language,
        id=summary.id or dialogue.id,
        sections=sections,
        left_out=left_out,
        cited=tuple(_cited([*entries, *left_out], dialogue)),
        notes=notes,
    )


@dataclass
class _Filler:
    summary: Summary
    dialogue: Dialogue
    template: Template

    @cached_property
    def _read(self) -> Sentences:
        return sentences_of(self.summary, self.template)

    @cached_property
    def _reported(self) -> list[tuple[Statement, Reported]]:
        speakers = Speakers(self.dialogue)
        found = ((s, reported_in(s.text, speakers)) for s in self._read.all)
        return [(statement, reported) for statement, reported in found if reported is not None]

    @cached_property
    def _extracted(self) -> Extracted:
        return extract(self.dialogue)

    @cached_property
    def _values(self) -> Values:
        return Values(self.dialogue, self.summary.entities)

    def sections(self) -> Iterator[FilledSection]:
        """The sections in order, without those to be left out."""
        for section in self.template.sections:
            unclear = False
            if section.source == "field":
                entries, unclear = self._values.entries(section)
            else:
                entries = self._sources[section.source](section)
            if not entries and section.leave_out:
                continue
            yield _section(section, entries, unclear, self.template.empty)

    def left_out(self) -> list[Entry]:
        """Sentences that no section holds."""
        if any(s.source == "summary" for s in self.template.sections):
            return []
        return [_stated(s) for s in self._unplaced()]

    def notes(self) -> Iterator[str]:
        """What to know of this one."""
        if self.summary.status != "ok":
            yield f"{self.summary.status}: {self.summary.reason}".rstrip(": ")
        yield from self._read.notes
        sources = {section.source for section in self.template.sections}
        said = "\n".join(u.text for u in self.dialogue.utterances)
        if sources & _FROM_DIALOGUE and said.strip() and not language_of(said):
            yield (
                "decisions, actions and open questions are found in English and Chinese only: "
                "the dialogue is in neither"
            )

    @property
    def _sources(self) -> dict[Source, Callable[[SectionConfig], list[Entry]]]:
        return {
            "key_points": self._key_points,
            "summary": self._sentences,
            "decisions": self._said,
            "actions": self._said,
            "questions": self._said,
            "title": self._title,
            "speakers": self._speakers,
        }

    def _key_points(self, section: SectionConfig) -> list[Entry]:
        """By label in the template's order, whatever order the model wrote."""
        return [_stated(s) for label in section.labels for s in self._read.all if s.label == label]

    def _sentences(self, section: SectionConfig) -> list[Entry]:
        chosen = self._read.all if section.part == "all" else self._unplaced()
        return [_stated(s) for s in chosen]

    def _unplaced(self) -> list[Statement]:
        """Sentences without a section; of an action only its clause is in one."""
        sections = self.template.sections
        labels = {label for section in sections for label in section.labels}
        kinds = {_KIND[s.source] for s in sections if s.source in _KIND} - {"action"}
        whole = {id(s) for s, reported in self._reported if reported.kind in kinds}
        return [s for s in self._read.all if s.label not in labels and id(s) not in whole]

    def _said(self, section: SectionConfig) -> list[Entry]:
        """What the summary reports, then what the dialogue says beside that."""
        kind = _KIND[section.source]
        reported = {id(s): r for s, r in self._reported if r.kind == kind}
        entries = [
            _stated(s, reported.get(id(s)))
            for s in self._read.all
            if id(s) in reported or s.label in section.labels
        ]
        found: Sequence[Found] = getattr(self._extracted, section.source)
        return joined(entries, [_found(one) for one in found])

    def _title(self, section: SectionConfig) -> list[Entry]:
        title = title_of(self.dialogue)
        if title is None:
            return []
        return [replace(_found(title), origin="dialogue" if title.evidence else "metadata")]

    def _speakers(self, section: SectionConfig) -> list[Entry]:
        roles = {u.speaker: u.role for u in reversed(self.dialogue.utterances)}
        return [Entry(name, "dialogue", role=roles[name]) for name in self.dialogue.speakers]


def _stated(statement: Statement, reported: Reported | None = None) -> Entry:
    entry = Entry(
        statement.text.strip(),
        "summary",
        statement.evidence,
        statement.label,
        statement.confidence,
    )
    if reported is None:
        return entry
    return replace(entry, text=reported.text, owner=reported.owner, deadline=reported.deadline)


def _found(found: Found) -> Entry:
    return Entry(found.text, "dialogue", found.evidence, owner=found.owner, deadline=found.deadline)


def _section(
    section: SectionConfig, entries: Sequence[Entry], unclear: bool, empty: str
) -> FilledSection:
    most = section.max or len(entries)
    return FilledSection(
        section.title,
        section.source,
        tuple(entries[:most]),
        says="" if entries else section.empty or empty,
        missing=section.required and not entries,
        more=max(0, len(entries) - most),
        unclear=unclear,
    )


def _counted(left_out: int) -> Iterator[str]:
    if left_out:
        some = (
            "1 sentence of the summary stands"
            if left_out == 1
            else (f"{left_out} sentences of the summary stand")
        )
        yield f"{some} in no section"


def _cited(entries: Sequence[Entry], dialogue: Dialogue) -> Iterator[Cited]:
    numbers = {span.utterance for entry in entries for span in entry.evidence}
    for number in sorted(numbers):
        if number < len(dialogue.utterances):
            utterance = dialogue.utterances[number]
            yield Cited(number, utterance.speaker, utterance.text)
