"""`fill`: a form, a summary and its dialogue become the filled form that a team wants.

Its text, Markdown and cells of a table count utterances from 1.
"""

import re
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from dialogist.forms.extraction import Finding, answers_in, extract, headline_of, title_of
from dialogist.forms.form_file import FieldSource, FieldType, Form, FormSection
from dialogist.forms.key_points import load_pack
from dialogist.forms.typed_fields import TypedValue, Values, has_cue, served_in
from dialogist.highlights.section_network import SECTIONS
from dialogist.language.detection import language_of
from dialogist.plain_text import PROVED, labels_of, plain, printable, quotations, verdict_of
from dialogist.records import (
    JSON,
    PROFILE_PREFIX,
    Dialogue,
    EvidenceSpan,
    Statement,
    Summary,
    Utterance,
    Verdict,
    title_of_field,
    to_json,
)

FORM_SCHEMA_VERSION = 3
Origin: TypeAlias = Literal["summary", "dialogue", "metadata", "profile"]

_PLANS: Sequence[FieldSource] = ("actions", "decisions", "medication", "advice")
_QUOTED = re.compile(r'["“](.+?)["”]')
_HELD = 0.7  # of what a statement rests on
_NAMED = 5  # utterances named where a section's matter is mentioned and not extracted


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a section: a statement, a quote or a value; ``origin`` says of what.

    ``evidence`` is the best first; ``verdict`` (a value has none), ``reasons`` and ``profile`` are
    as in `Statement`. An action has an ``owner`` (a speaker) and a ``deadline`` where these are
    said. ``type`` is a field's, ``role`` a speaker's.
    """

    text: str
    origin: Origin
    evidence: tuple[EvidenceSpan, ...] = ()
    verdict: Verdict | Literal[""] = ""
    reasons: tuple[str, ...] = ()
    owner: str = ""
    deadline: str = ""
    type: FieldType | Literal[""] = ""
    role: str = ""
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


@dataclass(frozen=True, slots=True)
class FilledForm:
    """A filled form: ``sections`` in its order, without those that are left out when empty.

    ``left_out`` are statements that no section holds. ``notes`` say what a reader should know.
    """

    form: str
    version: int
    language: str
    id: str
    sections: tuple[FilledSection, ...]
    left_out: tuple[Entry, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def missing(self) -> tuple[str, ...]:
        """The titles of required sections that nothing was found for."""
        return tuple(section.title for section in self.sections if section.missing)

    def without_evidence(self) -> "FilledForm":
        """The same without what its entries rest on."""

        def bare(entries: Sequence[Entry]) -> tuple[Entry, ...]:
            return tuple(replace(entry, evidence=()) for entry in entries)

        sections = tuple(replace(s, entries=bare(s.entries)) for s in self.sections)
        return replace(self, sections=sections, left_out=bare(self.left_out))

    def to_json(self) -> dict[str, JSON]:
        """Plain values; every key is always there, utterances are numbered from 0."""
        missing: list[JSON] = [*self.missing]
        return {"schema_version": FORM_SCHEMA_VERSION, **to_json(self), "missing": missing}


def fill(summary: Summary, dialogue: Dialogue, form: Form, focus: str | None = None) -> FilledForm:
    """Fill a form; nothing in it is invented, and what finds no place is told.

    A section holds the statements that the summary's writer wrote for it, by its title or by one of
    its labels. Where it wrote none, rules quote what was decided, done or promised. ``dialogue`` is
    the one that was summarised, its utterances as the summary's evidence counts them. ``focus``:
    only what this speaker says, does or is named in.
    """
    filler = _Filler(summary, dialogue, form, focus)
    sections = tuple(filler.sections())
    holds_all = any(section.source == "summary" for section in form.sections)
    held = {entry.text for section in sections for entry in section.entries}
    others = [] if holds_all else [_stated(s) for s in filler.unplaced()]
    left_out = tuple(entry for entry in others if entry.text not in held)
    return FilledForm(
        form=form.name,
        version=form.version,
        language=form.language,
        id=summary.id or dialogue.id,
        sections=sections,
        left_out=left_out,
        notes=tuple(filler.notes(len(left_out))),
    )


class _Filler:
    def __init__(self, summary: Summary, dialogue: Dialogue, form: Form, focus: str | None) -> None:
        self.summary, self.dialogue, self.form, self.focus = summary, dialogue, form, focus
        self.unfocused = 0
        self.statements = _labelled(summary.statements, form, dialogue)
        self.names_sections = any(s.section for s in summary.statements)
        asked = {section.source for section in form.sections}
        self.findings: dict[FieldSource, list[Finding]] = {}
        for finding in extract(dialogue) if asked & set(SECTIONS) else ():
            if source := next((s for s in finding.sections if s in asked), None):
                self.findings.setdefault(source, []).append(finding)
        self.shown = {
            section.source: self.findings.get(section.source, [])[: section.max]
            for section in form.sections
            if not any(self._is_titled(s, section) for s in self.statements)
        }
        self.values = Values(dialogue) if "field" in asked else None

    def sections(self) -> Iterator[FilledSection]:
        """The sections in order, without those to be left out."""
        for section in self.form.sections:
            entries, unclear = self._entries(section)
            if section.source not in ("title", "speakers", "profile", "field"):
                entries = self._focused(entries)
            instead = "" if entries or self.focus is not None else self._instead(section)
            if not entries and section.leave_out and not instead:
                continue
            most = section.max or len(entries)
            yield FilledSection(
                section.title,
                section.source,
                tuple(entries[:most]),
                says="" if entries else instead or section.empty or self.form.empty,
                missing=section.required and not (entries or instead or self.focus),
                more=max(0, len(entries) - most),
                unclear=unclear,
                elsewhere=bool(instead),
            )

    def _entries(self, section: FormSection) -> tuple[list[Entry], bool]:
        """What stands in a section; whether several values fit equally well."""
        written = [_stated(s) for s in self.statements if self._is_titled(s, section)]
        source = section.source
        if source == "field" and self.values is not None:
            values, unclear = self.values.chosen(section)
            return [_valued(places) for places in values] or written, unclear
        if source == "summary":
            if section.part == "remaining":
                return [_stated(s) for s in self.unplaced()], False
            titled = [s for s in self.form.sections if s is not section]
            others = (
                s
                for s in self.statements
                if not any(self._is_titled(s, other) for other in titled)
                and not (s.verdict == "quoted" and self._is_held(s))
            )
            return [_stated(s) for s in others], False
        if source in ("title", "headline"):
            named = title_of if source == "title" else headline_of
            text, spans = ("", ()) if written else named(self.dialogue)
            origin: Origin = "dialogue" if spans else "metadata"
            entry = Entry(text, origin, spans, "quoted" if spans else "")
            return written or [entry] * bool(text), False
        if source == "speakers":
            roles = {u.speaker: u.role for u in reversed(self.dialogue.utterances)}
            names = self.dialogue.speakers
            return [Entry(name, "dialogue", role=roles[name]) for name in names], False
        if source == "profile":
            return list(self._profile(section)), False
        if source == "key_points":
            return written + self._key_points(section), False
        return written or [*map(_found, self.findings.get(source, ()))], False

    def _focused(self, entries: list[Entry]) -> list[Entry]:
        """What the speaker in focus says, does or is named in."""
        if self.focus is None:
            return entries
        named = re.compile(rf"(?<!\w){re.escape(self.focus)}(?!\w)")
        utterances = self.dialogue.utterances
        kept = [
            entry
            for entry in entries
            if self.focus
            in {entry.owner, *(utterances[s.utterance].speaker for s in entry.evidence)}
            or named.search(entry.text)
        ]
        self.unfocused += len(entries) - len(kept)
        return kept

    def _key_points(self, section: FormSection) -> list[Entry]:
        """By label in the form's order, whatever order was written; then answers to its cues."""
        labelled = [
            _stated(s)
            for label in section.labels
            for s in self.statements
            if s.section == label and not self._is_titled(s, section) and not self._is_held(s)
        ]
        answers = answers_in(self.dialogue, section.cues) if section.cues else ()
        return [*labelled, *map(_found, answers)]

    def _is_titled(self, statement: Statement, section: FormSection) -> bool:
        """Whether a writer wrote a statement for a section; labels of packs are no titles."""
        name, title = statement.section.strip(), section.title.strip()
        return self.names_sections and name.casefold() == title.casefold()

    def _is_held(self, statement: Statement) -> bool:
        """Whether quotes of other sections hold all that a statement rests on.

        Of what a writer wrote, only plans: a history is no plan, but may tell more than a quote.
        """
        is_quote = statement.verdict == "quoted"
        sources = SECTIONS if is_quote else _PLANS
        is_rest = is_quote and not statement.section  # of a history nothing is lost
        spans = [
            span
            for source, findings in self.shown.items()
            for finding in findings * (source in sources)
            for span in (*finding.evidence, *finding.context * is_rest)
        ]
        held = {(span.utterance, n) for span in spans for n in range(span.start, span.end)}
        return bool(statement.evidence) and all(
            sum((quote.utterance, n) in held for n in range(quote.start, quote.end))
            >= _HELD * (quote.end - quote.start)
            for quote in statement.evidence
        )

    def _profile(self, section: FormSection) -> Iterator[Entry]:
        """Fields of the user profile; the name of a field that alone is asked for says nothing."""
        known = {title_of_field(name).casefold(): name for name in self.dialogue.profile}
        for field in section.fields or tuple(known):
            name = known.get(title_of_field(field).casefold())
            if name is not None:
                value = self.dialogue.profile[name]
                text = value if len(section.fields) == 1 else f"{title_of_field(name)}: {value}"
                yield Entry(text, "profile", profile=(f"{PROFILE_PREFIX}{name}",))

    def _instead(self, section: FormSection) -> str:
        """Where an empty section's matter is to be read: nothing found is not nothing said."""
        if section.source == "key_points" and section.cues:
            texts = enumerate((u.text for u in self.dialogue.utterances), 1)
            named = [number for number, text in texts if has_cue(text, section.cues)]
            places = "".join(f" [{number}]" for number in named[:_NAMED])
            return f"Mentioned, not extracted: see{places}" if named else ""
        if section.source == "summary" and self.statements and not section.leave_out:
            return "Nothing more."
        titles = [
            f"'{other.title}'"
            for other in self.form.sections
            if not section.leave_out
            and any(section.source in f.sections for f in self.findings.get(other.source, ()))
        ]
        return f"As under {' and '.join(titles)}." if titles else ""

    def unplaced(self) -> list[Statement]:
        """Statements that no section holds by its title, one of its labels or a quote."""
        labels = {label for section in self.form.sections for label in section.labels}
        return [
            s
            for s in self.statements
            if s.section not in labels
            and not (s.verdict == "quoted" and self._is_held(s))
            and not any(self._is_titled(s, section) for section in self.form.sections)
        ]

    def notes(self, left_out: int) -> Iterator[str]:
        """What to know of this one."""
        if self.summary.status not in ("ready", "review") or self.summary.reason:
            yield f"{self.summary.status}: {self.summary.reason}".rstrip(": ")
        if self.unfocused:
            yield f"entries that are not about {self.focus} are left out: {self.unfocused}"
        text = "\n".join(u.text for u in self.dialogue.utterances)
        is_asked = any(section.source in SECTIONS for section in self.form.sections)
        if is_asked and text.strip() and language_of(text) != "en":
            yield (
                "decisions, actions, outcomes and open questions are found in English only: the "
                "dialogue is in another language"
            )
        if left_out:
            stands = "statement stands" if left_out == 1 else "statements of the summary stand"
            yield f"{left_out} {stands} in no section"


def _labelled(statements: Sequence[Statement], form: Form, dialogue: Dialogue) -> list[Statement]:
    """The statements with the labels of the pack that most of its rules fit, where none has any.

    Of quotes that no rule fits only those of who is served are about the pack's default.
    """
    wanted = {label for section in form.sections for label in section.labels}
    if not form.packs or not wanted or any(statement.section for statement in statements):
        return list(statements)
    # Of a quote its words, without who says them.
    spoken = [(_QUOTED.findall(s.text) or [s.text])[-1] for s in statements]
    texts = [" ".join(text.split()) for text in spoken]
    whole = "\n".join(texts)
    packs = [load_pack(name) for name in form.packs]
    pack = max(packs, key=lambda p: sum(s.is_ruled for s in p.analyse_sentences(whole)))
    sentences, served = pack.analyse_sentences(whole), served_in(dialogue)
    labels, place = list[str](), 0
    for statement, text in zip(statements, texts, strict=True):
        within = [s for s in sentences if place <= s.start < place + len(text)]
        if statement.verdict == "quoted" and statement.evidence:
            # It goes on with no statement before it.
            is_default = not served or _tells(statement, dialogue, served)
            ruled = (s.label for s in within if s.is_ruled)
            labels.append(next(ruled, pack.default if is_default else ""))
        else:
            labels.append(within[0].label if within else "")
        place += len(text) + 1
    return [replace(s, section=label) for s, label in zip(statements, labels, strict=True)]


def _tells(statement: Statement, dialogue: Dialogue, served: Container[str]) -> bool:
    """Whether somebody who is served says what is quoted, unasked or to a question."""
    first, last = statement.evidence[0], statement.evidence[-1]
    question, answer = (dialogue.utterances[span.utterance] for span in (first, last))
    is_asked = "?" in question.text[first.start : first.end]
    is_asking = "?" in answer.text[last.start : last.end]
    return answer.speaker in served and not is_asking and (is_asked or question.speaker in served)


def _stated(s: Statement) -> Entry:
    doing = s.owner, s.deadline
    return Entry(
        s.text.strip(), "summary", s.evidence, s.verdict, s.reasons, *doing, profile=s.profile
    )


def _found(f: Finding) -> Entry:
    places = (*f.evidence, *f.context)
    return Entry(f.text, "dialogue", places, "quoted", (), f.owner, f.deadline)


def _valued(places: Sequence[TypedValue]) -> Entry:
    evidence = tuple(EvidenceSpan(v.utterance, v.start, v.end) for v in places)
    return Entry(places[-1].text, "dialogue", evidence, type=places[-1].type)


# A filled form as text, as Markdown and as the cells of a table.

_Escape: TypeAlias = Callable[[str], str]

_SHOWN = 9  # utterances named behind an entry; JSON has all
_SEVERAL = "the dialogue has several"
_LINES = ("field", "headline", "title", "speakers", "profile")
"""Sources of sections that are one line."""


def form_as_text(filled: FilledForm, utterances: Sequence[Utterance]) -> str:
    """Plain text, a heading per section; control characters become spaces."""
    labels = labels_of(utterances)
    lines: list[str] = []
    in_list = False
    for section in filled.sections:
        if section.source in _LINES:
            lines += [""] * in_list
            in_list = False
            lines.append(f"{printable(section.title)}: {_line_of(section, printable, labels)}")
            continue
        lines += [*[""] * bool(lines), printable(section.title)]
        in_list = True
        for entry in section.entries:
            lines.append(f"- {_worded(entry, printable, labels)}")
            if entry.verdict not in PROVED:
                lines += [f"    {line}" for line in quotations(entry.evidence[:1], utterances)]
        lines += [f"  ({section.more} more)"] if section.more else []
        lines += [f"  {printable(section.says)}"] if not section.entries else []
    notes = [f"Note: {printable(note)}" for note in _notes(filled)]
    return "\n".join([*lines, *[""] * bool(notes), *notes]) + "\n"


def form_as_markdown(filled: FilledForm, utterances: Sequence[Utterance]) -> str:
    """Markdown: a heading per section, ``[3]`` behind what rests on utterance 3, which follow."""
    labels = labels_of(utterances)
    lines = [f"# {plain(filled.id) or 'Dialogue'}"]
    for section in filled.sections:
        if section.source in _LINES:
            lines += ["", f"**{plain(section.title)}**: {_line_of(section, plain, labels)}"]
            continue
        lines += ["", f"## {plain(section.title)}", ""]
        lines += [f"- {_worded(entry, plain, labels)}" for entry in section.entries]
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
        lines.append(f"- [{labels[number]}] {speaker}{plain(utterance.text)}")
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


def _line_of(section: FilledSection, escape: _Escape, labels: Sequence[str]) -> str:
    if not section.entries:
        return escape(section.says)
    between = " or " if section.unclear else ", "
    shown = between.join(_worded(entry, escape, labels) for entry in section.entries)
    behind = [_SEVERAL] if section.unclear else []
    behind += [f"{section.more} more"] if section.more else []
    return f"{shown} ({'; '.join(behind)})" if behind else shown


def _worded(entry: Entry, escape: _Escape, labels: Sequence[str]) -> str:
    """An entry in words, its verdict, and what the utterances are called that it rests on."""
    numbers = list(dict.fromkeys(span.utterance for span in entry.evidence))[:_SHOWN]
    verdict = verdict_of(entry.verdict, entry.reasons)
    fields = () if entry.origin == "profile" else entry.profile
    behind = [escape(verdict)] if verdict else []
    behind += [f"[{label}]" for label in dict.fromkeys(labels[n] for n in sorted(numbers))]
    behind += [f"[{escape(name)}]" for name in fields]
    return " ".join([entry_text(entry, escape), *behind])


def _notes(filled: FilledForm) -> Iterator[str]:
    for title in filled.missing:
        yield f"nothing was found for '{title}', which this form requires"
    yield from filled.notes
