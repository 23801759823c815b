"""`fill`: a template, a summary and its dialogue become the form that a team wants."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from dialogist.data.key_points import LabelOrigin, RulePack, load_pack
from dialogist.records import (
    PROFILE_PREFIX,
    Dialogue,
    Statement,
    StatementKind,
    Summary,
    title_of_field,
)
from dialogist.forms.extract.extraction import Extracted, extract, same, title_of
from dialogist.forms.extract.turns import Found, quoted, turns_of
from dialogist.forms.filled import Cited, Entry, Filled, FilledSection, Origin, doubt_of
from dialogist.forms.template_config import FieldSource, SectionConfig, Template
from dialogist.forms.typed_fields import Values, has_cue
from dialogist.language.patterns import language_of
from dialogist.language.quantities import deadline_in
from dialogist.language.roles import written_name
from dialogist.language.tokens import sentence_spans, word_set

# The sentences of a summary with the key points that a template can ask for.


_ENDS = (".", "!", "?", "…", "。", "！", "？", '"', "”", "’", ")", "）", ";", "；")


def sentences_of(summary: Summary, template: Template) -> tuple[list[Statement], list[str]]:
    """The summary's whole sentences, labelled where that is possible; and notes, in words.

    A model's own key points count where the template asks for any of them; else the rule pack of
    the template that knows most sentences labels them. The half sentence of a summary that was cut
    is left out, and a note says so.
    """
    sentences = list(_sentences(summary))
    notes = []
    if summary.is_cut and sentences and not sentences[-1].text.rstrip().endswith(_ENDS):
        notes.append(f"the summary was cut: left out its half sentence '{sentences.pop().text}'")
    wanted = {label for section in template.sections for label in section.labels}
    own = [_own_label(sentence, summary) for sentence in sentences]
    if wanted.isdisjoint(own) and template.packs and wanted:
        packs = [load_pack(name) for name in template.packs]
        own = _labels(sentences, packs)
    labelled = [replace(s, label=label) for s, label in zip(sentences, own, strict=True)]
    return [s for s in labelled if not _is_heading(s)], notes


def _is_heading(statement: Statement) -> bool:
    """A line such as ``PLAN`` or ``Results:`` names a section and states nothing."""
    text = statement.text.strip()
    bare = text.rstrip(":：")
    named = bare.casefold() == statement.label.casefold()
    return bool(bare) and (named or (text.isupper() and not text.endswith(_ENDS)) or bare != text)


def _sentences(summary: Summary) -> Iterator[Statement]:
    if summary.sentences:
        yield from summary.sentences
        return
    for start, end in sentence_spans(summary.text):
        yield Statement(summary.text[start:end], start, end)


def _own_label(sentence: Statement, summary: Summary) -> str:
    if sentence.label:
        return sentence.label
    parts = (p for p in summary.key_points if p.start <= sentence.start < p.end)
    return next((part.label for part in parts), "")


def _labels(sentences: Sequence[Statement], packs: Sequence[RulePack]) -> list[str]:
    """The labels of the pack with most rules that fit; of equal ones the first."""
    text = "\n".join(" ".join(sentence.text.split("\n")) for sentence in sentences)
    best: list[str] = [""] * len(sentences)
    most = -1
    for pack in packs:
        labelled = pack.analyse_sentences(text)
        fitting = sum(sentence.origin is LabelOrigin.rule for sentence in labelled)
        if fitting > most:
            most, place = fitting, 0
            best = []
            for sentence in sentences:
                found = (s for s in labelled if place <= s.start < place + len(sentence.text))
                best.append(next((one.label for one in found), pack.default))
                place += len(sentence.text) + 1
    return best


# What a dialogue says about a section of key points in its own words, told by the section's cues.
#
# An empty section must not read as if nothing had been said: "Any allergies?" - "Penicillin."


def answers_in(dialogue: Dialogue, cues: Sequence[str]) -> Iterator[Found]:
    """Each question that names a cue, with all that its answer says, as quotes."""
    turns = turns_of(dialogue)
    for sentence in turns.all():
        if not sentence.text.endswith("?") or not has_cue(sentence.text, cues):
            continue
        reply = list(turns.reply(sentence.utterance))
        while reply and (text := quoted(sentence, *reply)) is None:
            reply.pop()
        if reply and text is not None:
            yield Found(text, tuple(one.span() for one in (*reply, sentence)))


# Promises in reported statements: "The agent will send a label" is an action of the agent.


_CONDITION = re.compile(r"\b(?:if|unless|until|whether)\b", re.I)
# What is looked at at once, or understood by what was said before alone.
_OPEN = re.compile(
    r"(?:go (?:and )?(?:look|check|see|ask)|(?:have|take) a look|check|look)\b|"
    r".*\b(?:it|that|this|them|those|these|one)\b(?! \w+ing)",
    re.I,
)
# What nobody sets out to do.
_STATES = word_set(
    "be have need want see know think feel like love hate hope find wait stay miss get lose owe "
    "not never probably maybe cost take remember forget understand mean seem become"
)


def promise_in(statement: Statement, speakers: Sequence[str]) -> Entry | None:
    """What a speaker will do by a reported statement; None where it tells no such thing."""
    if statement.kind != "reported" or _CONDITION.search(statement.text):
        return None
    for speaker in speakers:
        subject = f"{written_name(speaker)} will "
        if not statement.text.casefold().startswith(subject.casefold()):
            continue
        deed = statement.text[len(subject) :].strip().rstrip(".")
        verb, _, rest = deed.partition(" ")
        if verb.casefold() in _STATES or not rest or _OPEN.match(deed):
            return None
        return Entry(
            deed, "summary", owner=speaker, deadline=deadline_in(deed), kind=statement.kind
        )
    return None


# Sections that only the dialogue's own rules fill: decisions, actions, what was done, outcomes.
#
# A model's sentence under "Outcome" is read as a fact. Labels and titles tell such sections, too,
# where a template asks for key points.


RULED: Mapping[FieldSource, str] = {
    "issue": "what a customer comes with",
    "done": "what was done",
    "outcome": "how it ended",
    "decisions": "decisions",
    "actions": "actions",
    "questions": "open questions",
}
"""The sources that read the dialogue and never the summary: the fields of `Extracted`."""
assert RULED.keys() == Extracted.__dataclass_fields__.keys()

_TITLE = re.compile(
    r"\b(?:decisions?|decided|agreed|agreements?|actions?|outcomes?|resolutions?|resolved|"
    r"solutions?|done|measures|steps?|to[ -]?dos?|tasks?|follow[ -]?ups?|end(?:ed|ing)?|promises?|"
    r"promised|plans?|commitments?|conclusions?|closure|closing|instructions|disposition)\b"
    r"|决定|结果|待办|处理|措施|结论|行动|承诺|解决|下一步",
    re.I,
)
_LABELS = frozenset(
    line.strip()
    for line in """
    Decision; Action; Open question; Agreement; Refusal; Purchase; Solution; Escalation;
    E-mail sent; Refund granted; Refund refused; Compensation; Driver penalised;
    Driver not penalised;
    Order cancelled; Order not cancelled; Close the order; Keep the order open; End; Call dropped;
    Need call back; No call back needed; User approval; User disapproval; User undecided;
    Identity verified; Identity not verified; Driver contacted; Driver unreachable;
    Payment confirmed; Payment failed; Item found; Item not found; Plan; Assessment and plan;
    Instructions; Disposition; Procedure
    """.replace("\n", " ").split(";")
)  # fmt: skip


def is_ruled(section: SectionConfig) -> bool:
    """Whether a section says what somebody decided, did, will do, or how things ended."""
    if section.source in RULED:
        return True
    if section.source != "key_points":
        return False
    return _TITLE.search(section.title) is not None or not _LABELS.isdisjoint(section.labels)


_HELD = 0.7  # of what a statement rests on
_NAMED = 5  # utterances named where a section's matter is mentioned and not extracted


def fill(
    summary: Summary,
    dialogue: Dialogue,
    template: Template,
    names: Mapping[str, str] | None = None,
    focus: str | None = None,
) -> Filled:
    """Fill a template; nothing in it is invented, and what finds no place is told.

    What was decided, done or promised, and how it ended, is taken from the dialogue alone: no
    sentence of the summary stands in such a section.
    ``dialogue`` is the one that was summarised, its utterances as the summary's evidence counts
    them. Sentences stand whole. Give it before any renaming: see `perspective.rename_filled`.
    ``names`` are the new names then: one such as "Customer" says who is served. ``focus``: only
    what this speaker says, does or is named in.
    """
    said = dialogue.utterances
    filler = _Filler(summary, dialogue, template, names or {}, focus)
    sections = tuple(filler.sections())
    left_out = tuple(filler.left_out())
    notes = list(filler.notes())
    if left_out:
        one = len(left_out) == 1
        stands = "sentence of the summary stands" if one else "sentences of the summary stand"
        notes.append(f"{len(left_out)} {stands} in no section")
    entries = [*(entry for section in sections for entry in section.entries), *left_out]
    cited = sorted({span.utterance for entry in entries for span in entry.evidence})
    return Filled(
        template=template.name,
        version=template.version,
        language=template.language,
        id=summary.id or dialogue.id,
        sections=sections,
        left_out=left_out,
        cited=tuple(Cited(n, said[n].speaker, said[n].text) for n in cited if n < len(said)),
        notes=tuple(notes),
    )


@dataclass
class _Filler:
    summary: Summary
    dialogue: Dialogue
    template: Template
    names: Mapping[str, str]
    focus: str | None = None
    unfocused: int = 0

    def __post_init__(self) -> None:
        self._all, self._noted = sentences_of(self.summary, self.template)

    @cached_property
    def _extracted(self) -> Extracted:
        called = (
            replace(one, role=self.names.get(one.speaker, one.role))
            for one in self.dialogue.utterances
        )
        return extract(replace(self.dialogue, utterances=tuple(called)))

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
                entries = self._focused(self._sources[section.source](section), section)
            instead = self._instead(section) if self.focus is None else ""
            if not entries and section.leave_out and not instead:
                continue
            most = section.max or len(entries)
            yield FilledSection(
                section.title,
                section.source,
                tuple(entries[:most]),
                says="" if entries else instead or section.empty or self.template.empty,
                missing=section.required and not entries and not instead and self.focus is None,
                more=max(0, len(entries) - most),
                unclear=unclear,
                elsewhere=bool(instead) and not entries,
            )

    def _focused(self, entries: list[Entry], section: SectionConfig) -> list[Entry]:
        """What the speaker in focus says, does or is named in; a summary is chosen so already."""
        if self.focus is None or section.source in ("title", "speakers", "profile", "summary"):
            return entries
        named = re.compile(rf"(?<!\w){re.escape(self.focus)}(?!\w)")
        said = self.dialogue.utterances
        kept = [
            entry
            for entry in entries
            if self.focus in {entry.owner, *(said[s.utterance].speaker for s in entry.evidence)}
            or named.search(entry.text)
        ]
        self.unfocused += len(entries) - len(kept)
        return kept

    def left_out(self) -> list[Entry]:
        """Sentences that no section holds."""
        if any(s.source == "summary" for s in self.template.sections):
            return []
        return [self._stated(s) for s in self._unplaced()]

    def notes(self) -> Iterator[str]:
        """What to know of this one."""
        if self.summary.status != "ok":
            yield f"{self.summary.status}: {self.summary.reason}".rstrip(": ")
        yield from self._noted
        if self.unfocused:
            yield f"entries that are not about {self.focus} are left out: {self.unfocused}"
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
    def _sources(self) -> dict[FieldSource, Callable[[SectionConfig], list[Entry]]]:
        return {
            "key_points": self._key_points,
            "summary": self._sentences,
            **dict.fromkeys(RULED, self._said),
            "title": self._title,
            "speakers": self._speakers,
            "profile": self._profile,
        }

    def _key_points(self, section: SectionConfig) -> list[Entry]:
        """By label in the template's order, whatever order the model wrote."""
        labelled = [s for label in section.labels for s in self._all if s.label == label]
        if is_ruled(section):
            return self._confirmed(labelled)
        answers = answers_in(self.dialogue, section.cues) if section.cues else ()
        labelled = [s for s in labelled if not self._is_planned(s)]
        return [*(self._stated(s) for s in labelled), *map(_found, answers)]

    def _instead(self, section: SectionConfig) -> str:
        """Where an empty section's matter is to be read: nothing found is not nothing said."""
        if section.source == "key_points" and section.cues:
            said = enumerate(self.dialogue.utterances, 1)
            named = [n for n, one in said if has_cue(one.text, section.cues)][:_NAMED]
            places = "".join(f" [{number}]" for number in named)
            return f"Mentioned, not extracted: see{places}" if named else ""
        if section.source == "outcome" and self._extracted.outcome:
            titles = [s.title for s in self.template.sections if s.source == "done"]
            told = "见“{}”。" if self.template.language == "zh" else "As under '{}'."
            return told.format(titles[0]) if titles else ""
        return ""

    def _is_planned(self, statement: Statement) -> bool:
        """Whether a section of actions or decisions holds all that a statement rests on."""
        sources = {section.source for section in self.template.sections}
        found = [
            (span, len(one.text))
            for source in sources & {"actions", "decisions"}
            for one in getattr(self._extracted, source)
            for span in one.evidence
        ]
        return bool(statement.evidence) and all(
            any(
                own.utterance == one.utterance
                and _HELD * (own.end - own.start)
                <= min(own.end - max(own.start, one.start), one.end - own.start, told)
                for one, told in found
            )
            for own in statement.evidence
        )

    def _confirmed(self, labelled: Sequence[Statement]) -> list[Entry]:
        """What the dialogue itself says of that which some sentences claim."""
        known = dict.fromkeys(one for source in RULED for one in getattr(self._extracted, source))
        return [
            _found(one)
            for one in known
            if any(same(one.words or one.text, claim.text) for claim in labelled)
        ]

    def _sentences(self, section: SectionConfig) -> list[Entry]:
        chosen = self._all if section.part == "all" else self._unplaced()
        return [self._stated(s) for s in chosen]

    def _unplaced(self) -> list[Statement]:
        """Sentences that no section of key points holds."""
        held = (s for s in self.template.sections if not is_ruled(s))
        labels = {label for section in held for label in section.labels}
        return [s for s in self._all if s.label not in labels]

    def _said(self, section: SectionConfig) -> list[Entry]:
        """What the dialogue says, and nothing else; what was done is not told again as outcome."""
        told: tuple[Found, ...] = ()
        if section.source == "outcome" and any(s.source == "done" for s in self.template.sections):
            told = self._extracted.done
        once: dict[tuple[str, str], Entry] = {}
        for one in getattr(self._extracted, section.source):
            if one not in told:
                entry = _found(one)
                first = once.setdefault((entry.owner, entry.text), entry)
                if first is not entry:
                    evidence = (*first.evidence, *entry.evidence)
                    once[entry.owner, entry.text] = replace(first, evidence=evidence)
        found = list(once.values())
        return [*found, *self._promised(found)] if section.source == "actions" else found

    def _promised(self, found: Sequence[Entry]) -> Iterator[Entry]:
        """What the summary reports that a speaker will do, where the rules found nothing."""
        known = {span.utterance for entry in found for span in entry.evidence}
        speakers = self.dialogue.speakers
        for statement in self.summary.sentences:
            promise = promise_in(statement, speakers)
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
                profile=(f"{PROFILE_PREFIX}{name}",),
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
