"""`fill`: a template, a summary and its dialogue become the form that a team wants."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from dialogist.data.profile import PREFIX, title_of_field
from dialogist.records import Dialogue, Statement, StatementKind, Summary
from dialogist.template.asked import answers_in, mentions_of
from dialogist.template.config import SectionConfig, Source, Template
from dialogist.template.doubts import doubt_of
from dialogist.template.extract.extraction import Extracted, extract, same
from dialogist.template.extract.titles import title_of
from dialogist.template.extract.turns import Found
from dialogist.template.fields import Values
from dialogist.template.filled import Cited, Entry, Filled, FilledSection, Origin
from dialogist.template.promises import promise_in
from dialogist.template.ruled import RULED, is_ruled
from dialogist.template.sentences import Sentences, sentences_of
from dialogist.text.languages import language_of

_NAMED = 5  # utterances named where a section's matter is mentioned and not extracted


def fill(summary: Summary, dialogue: Dialogue, template: Template) -> Filled:
    """Fill a template; nothing in it is invented, and what finds no place is told.

    What was decided, done or promised, and how it ended, is taken from the dialogue alone: no
    sentence of the summary stands in such a section.
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
            instead = self._instead(section)
            if not entries and section.leave_out and not instead:
                continue
            says = instead or section.empty or self.template.empty
            missing = section.required and not entries and not instead
            yield _section(section, entries, unclear, says, missing)

    def left_out(self) -> list[Entry]:
        """Sentences that no section holds."""
        if any(s.source == "summary" for s in self.template.sections):
            return []
        return [self._stated(s) for s in self._unplaced()]

    def notes(self) -> Iterator[str]:
        """What to know of this one."""
        if self.summary.status != "ok":
            yield f"{self.summary.status}: {self.summary.reason}".rstrip(": ")
        yield from self._read.notes
        for section in self.template.sections:
            if section.labels and is_ruled(section):
                yield _not_by_labels(section)
        sources = {section.source for section in self.template.sections}
        said = "\n".join(u.text for u in self.dialogue.utterances)
        if sources & RULED.keys() and said.strip() and not language_of(said):
            yield (
                "decisions, actions, outcomes and open questions are found in English and Chinese "
                "only: the dialogue is in neither"
            )

    @property
    def _sources(self) -> dict[Source, Callable[[SectionConfig], list[Entry]]]:
        return {
            "key_points": self._key_points,
            "summary": self._sentences,
            "issue": self._said,
            "done": self._said,
            "outcome": self._said,
            "decisions": self._said,
            "actions": self._said,
            "questions": self._said,
            "title": self._title,
            "speakers": self._speakers,
            "profile": self._profile,
        }

    def _key_points(self, section: SectionConfig) -> list[Entry]:
        """By label in the template's order, whatever order the model wrote."""
        labelled = [s for label in section.labels for s in self._read.all if s.label == label]
        if is_ruled(section):
            return self._confirmed(labelled)
        answers = answers_in(self.dialogue, section.cues) if section.cues else ()
        return [*(self._stated(s) for s in labelled), *map(_found, answers)]

    def _instead(self, section: SectionConfig) -> str:
        """Where an empty section's matter is to be read: nothing found is not nothing said."""
        if section.source == "key_points" and section.cues:
            named = mentions_of(self.dialogue, section.cues)
            places = "".join(f" [{number + 1}]" for number in named[:_NAMED])
            return f"Mentioned, not extracted: see{places}" if named else ""
        if section.source == "outcome" and self._extracted.outcome:
            titles = [s.title for s in self.template.sections if s.source == "done"]
            return f"As under '{titles[0]}'." if titles else ""
        return ""

    def _confirmed(self, labelled: Sequence[Statement]) -> list[Entry]:
        """What the dialogue itself says of that which some sentences claim."""
        known = dict.fromkeys(one for source in RULED for one in getattr(self._extracted, source))
        return [
            _found(one)
            for one in known
            if any(same(one.words or one.text, claim.text) for claim in labelled)
        ]

    def _sentences(self, section: SectionConfig) -> list[Entry]:
        chosen = self._read.all if section.part == "all" else self._unplaced()
        return [self._stated(s) for s in chosen]

    def _unplaced(self) -> list[Statement]:
        """Sentences that no section of key points holds."""
        held = (s for s in self.template.sections if not is_ruled(s))
        labels = {label for section in held for label in section.labels}
        return [s for s in self._read.all if s.label not in labels]

    def _said(self, section: SectionConfig) -> list[Entry]:
        """What the dialogue says, and nothing else; what was done is not told again as outcome."""
        told: tuple[Found, ...] = ()
        if section.source == "outcome" and any(s.source == "done" for s in self.template.sections):
            told = self._extracted.done
        found = [_found(one) for one in getattr(self._extracted, section.source) if one not in told]
        return [*found, *self._promised(found)] if section.source == "actions" else found

    def _promised(self, found: Sequence[Entry]) -> Iterator[Entry]:
        """What the summary reports that a speaker will do, where the rules found nothing."""
        known = {span.utterance for entry in found for span in entry.evidence}
        for statement in self.summary.sentences:
            promise = promise_in(statement, self.dialogue.speakers)
            places = {span.utterance for span in statement.evidence}
            if promise is not None and known.isdisjoint(places):
                yield replace(promise, evidence=statement.evidence)

    def _stated(self, statement: Statement) -> Entry:
        return Entry(
            statement.text.strip(),
            "summary",
            statement.evidence,
            statement.label,
            statement.confidence,
            doubt=doubt_of(statement, self.summary),
            kind=statement.kind,
            profile=statement.profile,
        )

    def _title(self, section: SectionConfig) -> list[Entry]:
        title = title_of(self.dialogue)
        if title is None:
            return []
        origin: Origin = "dialogue" if title.evidence else "metadata"
        return [Entry(title.text, origin, title.evidence)]

    def _speakers(self, section: SectionConfig) -> list[Entry]:
        roles = {u.speaker: u.role for u in reversed(self.dialogue.utterances)}
        return [Entry(name, "dialogue", role=roles[name]) for name in self.dialogue.speakers]

    def _profile(self, section: SectionConfig) -> list[Entry]:
        """Fields of the user profile; the name of a field that alone is asked for says nothing."""
        known = {title_of_field(name).casefold(): name for name in self.dialogue.profile}
        asked = section.fields or tuple(known)
        names = [known.get(title_of_field(one).casefold()) for one in asked]
        values = [(name, self.dialogue.profile[name]) for name in names if name is not None]
        return [
            Entry(
                value if len(section.fields) == 1 else f"{title_of_field(name)}: {value}",
                "profile",
                profile=(f"{PREFIX}{name}",),
            )
            for name, value in values
        ]


def _not_by_labels(section: SectionConfig) -> str:
    told = f"section '{section.title}' holds only what the dialogue itself says"
    if section.source in RULED:
        return f"{told}: its labels have no effect"
    return (
        f"{told} of its labels' sentences; take one of the sources {', '.join(RULED)} for all of it"
    )


def _found(found: Found) -> Entry:
    kind: StatementKind = "quoted" if '"' in found.text else "reported"
    return Entry(
        found.text,
        "dialogue",
        found.evidence,
        owner=found.owner,
        deadline=found.deadline,
        kind=kind,
    )


def _section(
    section: SectionConfig, entries: Sequence[Entry], unclear: bool, says: str, missing: bool
) -> FilledSection:
    most = section.max or len(entries)
    return FilledSection(
        section.title,
        section.source,
        tuple(entries[:most]),
        says="" if entries else says,
        missing=missing,
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
