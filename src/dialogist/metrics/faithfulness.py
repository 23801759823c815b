"""Faithfulness: what a summary says that its dialogue does not support, found by rules."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from dialogist.metrics.base import Case, Column, percentage
from dialogist.metrics.dialogue_claims import (
    added_denials,
    lost_denials,
    reflexive_statements,
    swapped_roles,
)
from dialogist.metrics.dialogue_facts import (
    DialogueFacts,
    dialogue_facts,
    supports_entity,
    supports_name,
)
from dialogist.records import Dialogue
from dialogist.language.clauses import clauses_of, is_content
from dialogist.language.patterns import broken_masks, entities
from dialogist.language.people import has_names, name_mentions
from dialogist.language.porter import stem_of
from dialogist.language.quantities import may_hold, quantities
from dialogist.language.tokens import (
    FUNCTION_WORDS,
    NEGATION,
    SPEAKER_TAG,
    tokens_of,
    without_tags,
    word_set,
)

# What a summary says that its dialogue does not bear out, found by rules alone.
#
# Names, numbers and other entities that the dialogue does not hold, speaker tags that nobody has,
# sentences whose roles are most likely swapped, denials of what the dialogue only asserts. How
# often the rules are right is measured in ``docs/explanation/trust.md``. English is read whole, of
# Chinese numbers and entities; any other language not at all.

FindingKind: TypeAlias = Literal[
    "name", "speaker", "number", "entity", "swap", "negation", "lost_negation", "oneself"
]

FINDING_KINDS: tuple[FindingKind, ...] = ("name", "speaker", "number", "entity", "swap", "negation")
"""What is looked for by default. ``lost_negation`` is wrong too often for that; ``oneself`` ("Ann
tells Ann") is what search keeps out of our own summaries."""

_CHINESE = frozenset(("number", "entity"))
_TAG = re.compile(SPEAKER_TAG)
# "both", "a couple", 两: what is counted need not be said as a number.
_LOOSE = word_set("both couple pair twice double twins second half once single 两 俩")


@dataclass(frozen=True, slots=True)
class Finding:
    """``text`` is ``summary[start:end]``, which the dialogue does not bear out."""

    kind: FindingKind
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class CheckedSummary:
    """What was found of one kind, among how many; of a kind that cannot be read there is none."""

    count: int
    findings: tuple[Finding, ...]


def findings(
    summary: str, dialogue: Dialogue, kinds: tuple[FindingKind, ...] = FINDING_KINDS
) -> tuple[Finding, ...]:
    """What the dialogue does not bear out, from left to right."""
    found = [f for kind in check_summary(summary, dialogue, kinds).values() for f in kind.findings]
    return tuple(sorted(found, key=lambda finding: (finding.start, finding.end)))


def check_summary(
    summary: str, dialogue: Dialogue, kinds: tuple[FindingKind, ...] = FINDING_KINDS
) -> dict[FindingKind, CheckedSummary]:
    """The findings by kind; a kind is left out where summary or dialogue cannot be read.

    ``count``: the names, tags, numbers or entities of the summary, of the other kinds sentences.
    """
    evidence = dialogue_facts(dialogue.with_profile_turns())
    readable = _readable(summary, evidence)
    found: dict[FindingKind, CheckedSummary] = {}
    for kind in kinds:
        if kind not in readable:
            continue
        spans = list(_CHECKS[kind](summary, evidence))
        wrong = (Finding(kind, a, b, summary[a:b]) for a, b, supported in spans if not supported)
        found[kind] = CheckedSummary(len(spans), tuple(wrong))
    return found


_Span: TypeAlias = tuple[int, int, bool]
_Check: TypeAlias = Callable[[str, DialogueFacts], Iterator[_Span]]


def _readable(summary: str, evidence: DialogueFacts) -> frozenset[str]:
    """The kinds that can be told of this pair. Nothing said is nothing wrong."""
    language = evidence.language_with(summary)
    kinds = {"speaker"}
    if language == "zh":
        kinds |= _CHINESE
    if language == "en":
        kinds |= _CHECKS.keys()
        if not has_names(summary):
            kinds.discard("name")
        if len(evidence.speakers.names) < 2:
            kinds.discard("swap")
    return frozenset(kinds)


def _names(summary: str, evidence: DialogueFacts) -> Iterator[_Span]:
    for mention in name_mentions(summary):
        verbatim = len(mention.words) > 1 and summary[mention.start : mention.end] in evidence.text
        yield mention.start, mention.end, verbatim or supports_name(evidence, mention)


def _speakers(summary: str, evidence: DialogueFacts) -> Iterator[_Span]:
    for tag in _TAG.finditer(summary):
        known = evidence.speakers.who("".join(tag[0].lower().split()))
        yield tag.start(), tag.end(), known is not None


def _entities(summary: str, evidence: DialogueFacts) -> Iterator[_Span]:
    for entity in entities(without_tags(summary)):
        yield entity.start, entity.end, supports_entity(evidence, entity)
    for start, end in broken_masks(summary):
        yield start, end, summary[start:end] in evidence.brackets


def _numbers(summary: str, evidence: DialogueFacts) -> Iterator[_Span]:
    if not may_hold(summary):
        return
    text = without_tags(summary)
    taken = list(entities(text))
    for number in quantities(text):
        said = text[number.start : number.end].lower()
        if said in _LOOSE or any(e.start < number.end and number.start < e.end for e in taken):
            continue
        yield number.start, number.end, evidence.numbers.support(number)


def _swaps(summary: str, evidence: DialogueFacts) -> Iterator[_Span]:
    speakers = evidence.speakers
    read = zip(clauses_of(summary, speakers.who), evidence.extracted(summary), strict=True)
    sentences = [clauses for clauses, extracted in read if clauses and not extracted]
    wrong = swapped_roles(sentences, evidence.sayings, len(speakers.names))
    for clauses, is_wrong in zip(sentences, wrong, strict=True):
        yield clauses[0].start, clauses[-1].end, not is_wrong


def _added_denials(summary: str, evidence: DialogueFacts) -> Iterator[_Span]:
    if NEGATION.search(summary) is None:
        return
    for start, end, wrong in added_denials(summary, evidence.denials, evidence.speakers.who):
        yield start, end, not wrong


def _lost_denials(summary: str, evidence: DialogueFacts) -> Iterator[_Span]:
    for start, end, wrong in lost_denials(summary, evidence.denials, evidence.speakers.who):
        yield start, end, not wrong


def _selves(summary: str, evidence: DialogueFacts) -> Iterator[_Span]:
    for start, end, wrong in reflexive_statements(summary, evidence.speakers.who):
        yield start, end, not wrong


_CHECKS: dict[FindingKind, _Check] = {
    "name": _names,
    "speaker": _speakers,
    "number": _numbers,
    "entity": _entities,
    "swap": _swaps,
    "negation": _added_denials,
    "lost_negation": _lost_denials,
    "oneself": _selves,
}


# Shares of summaries with something that their dialogue does not bear out: see `findings`.
#
# A share is of the outputs that can be read: where a language or a way of writing cannot, the
# output has no value, and a corpus without any has none.

_TITLES: dict[FindingKind, str] = {
    "name": "Names",
    "speaker": "Speakers",
    "number": "Numbers",
    "entity": "Entities",
    "swap": "Swaps",
    "negation": "Negation",
}
_COUNTED: tuple[FindingKind, ...] = ("name", "speaker", "number", "entity")


class Faithfulness:
    """Unsupported names, speakers, numbers, entities; swapped roles; denials; unsupported words.

    ``faithfulness.name``: the share of outputs with a name that the dialogue lacks,
    ``faithfulness.name_each``: of names, and so on. ``speaker``: a speaker tag that nobody has.
    ``number``: a number or time. ``entity``: a weekday, month, address, phone number, code or mask.
    ``any``: outputs with any of these, as far as they can be read. ``swap``: a sentence that fits
    another speaker better. ``negation``: outputs that deny what was only asserted. ``word_each``:
    the share of content words whose stem the dialogue lacks; people choose words of their own, too,
    so this is no error rate.
    """

    name = "faithfulness"
    signature = (
        "faithfulness 2 | rules: names by capitals, numbers and times by value, entities by form, "
        "roles by words and persons, not of extracts | English, of Chinese numbers and entities"
    )
    columns = (
        *(Column(f"faithfulness.{k}", _TITLES[k], "lower", 2, percentage) for k in FINDING_KINDS),
        *(
            Column(f"faithfulness.{k}_each", f"{_TITLES[k]} each", "lower", 2, percentage)
            for k in _COUNTED
        ),
        Column("faithfulness.any", "Unsupported", "lower", 2, percentage),
        Column("faithfulness.word_each", "Words", "neither", 2, percentage),
    )

    def reads(self, script: str) -> bool:
        """English is read, and of Chinese numbers and entities."""
        return script in ("latin", "cjk")

    def measure(self, case: Case) -> Sequence[float]:
        """The numbers of one output; none where there is no dialogue."""
        if case.dialogue is None:
            return (0.0,) * sum(column.width for column in self.columns)
        found = check_summary(case.prediction, case.dialogue)
        numbers = [number for kind in FINDING_KINDS for number in _share(found.get(kind))]
        for kind in _COUNTED:
            one = found.get(kind)
            numbers += [len(one.findings), one.count] if one else [0.0, 0.0]
        held = [found[kind] for kind in _COUNTED if kind in found]
        whole = "number" in found  # nothing at all is read of other languages
        numbers += [float(any(one.findings for one in held)), 1.0] if whole else [0.0, 0.0]
        return (
            *map(float, numbers),
            *unsupported_words(case.prediction, dialogue_facts(case.dialogue)),
        )


def _share(one: CheckedSummary | None) -> tuple[float, float]:
    return (float(bool(one.findings)), 1.0) if one else (0.0, 0.0)


def unsupported_words(summary: str, evidence: DialogueFacts) -> tuple[float, float]:
    """How many content words of an English summary have no stem in the dialogue, of how many.

    Names and numbers are left out: they are looked at more closely by `findings`.
    """
    if evidence.language_with(summary) != "en":
        return 0.0, 0.0
    names = [(mention.start, mention.end) for mention in name_mentions(summary)]
    words = [
        stem_of(token.base)
        for token in tokens_of(without_tags(summary))
        if token.base not in FUNCTION_WORDS
        and is_content(token.base)
        and not token.base[0].isdecimal()
        and not any(start <= token.start < end for start, end in names)
    ]
    return float(sum(word not in evidence.stems for word in words)), float(len(words))
