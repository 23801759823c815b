"""What a summary says that its dialogue does not bear out, found by rules alone.

Names, numbers and other entities that the dialogue does not hold, speaker tags that nobody has,
sentences whose roles are most likely swapped, denials of what the dialogue only asserts. How often
the rules are right is measured in ``docs/faithfulness.md``. English is read whole, of Chinese
numbers and entities; any other language not at all.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from dialogist.metrics.entities import supports_entity
from dialogist.metrics.evidence import Evidence, evidence_of
from dialogist.metrics.names import supports_name
from dialogist.metrics.negation import added_denials, lost_denials
from dialogist.metrics.oneself import told_themselves
from dialogist.metrics.roles import swapped
from dialogist.records import Dialogue
from dialogist.text.clauses import clauses_of
from dialogist.text.entities import broken_masks, entities
from dialogist.text.listing import word_set
from dialogist.text.names import has_names, name_mentions
from dialogist.text.negation import NEGATION
from dialogist.text.quantities import may_hold, quantities
from dialogist.text.tokens import TAG, without_tags

Kind: TypeAlias = Literal[
    "name", "speaker", "number", "entity", "swap", "negation", "lost_negation", "oneself"
]

KINDS: tuple[Kind, ...] = ("name", "speaker", "number", "entity", "swap", "negation")
"""What is looked for by default. ``lost_negation`` is wrong too often for that; ``oneself`` ("Ann
tells Ann") is what search keeps out of our own summaries."""

_CHINESE = frozenset(("number", "entity"))
_TAG = re.compile(TAG)
# "both", "a couple", 两: what is counted need not be said as a number.
_LOOSE = word_set("both couple pair twice double twins second half once single 两 俩")


@dataclass(frozen=True, slots=True)
class Finding:
    """``text`` is ``summary[start:end]``, which the dialogue does not bear out."""

    kind: Kind
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Checked:
    """What was found of one kind, among how many; of a kind that cannot be read there is none."""

    count: int
    findings: tuple[Finding, ...]


def findings(
    summary: str, dialogue: Dialogue, kinds: tuple[Kind, ...] = KINDS
) -> tuple[Finding, ...]:
    """What the dialogue does not bear out, from left to right."""
    found = [f for kind in checked(summary, dialogue, kinds).values() for f in kind.findings]
    return tuple(sorted(found, key=lambda finding: (finding.start, finding.end)))


def checked(
    summary: str, dialogue: Dialogue, kinds: tuple[Kind, ...] = KINDS
) -> dict[Kind, Checked]:
    """The findings by kind; a kind is left out where summary or dialogue cannot be read.

    ``count``: the names, tags, numbers or entities of the summary, of the other kinds sentences.
    """
    evidence = evidence_of(dialogue)
    readable = _readable(summary, evidence)
    found: dict[Kind, Checked] = {}
    for kind in kinds:
        if kind not in readable:
            continue
        spans = list(_CHECKS[kind](summary, evidence))
        wrong = (Finding(kind, a, b, summary[a:b]) for a, b, supported in spans if not supported)
        found[kind] = Checked(len(spans), tuple(wrong))
    return found


_Span: TypeAlias = tuple[int, int, bool]
_Check: TypeAlias = Callable[[str, Evidence], Iterator[_Span]]


def _readable(summary: str, evidence: Evidence) -> frozenset[str]:
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


def _names(summary: str, evidence: Evidence) -> Iterator[_Span]:
    for mention in name_mentions(summary):
        yield mention.start, mention.end, supports_name(evidence, mention)


def _speakers(summary: str, evidence: Evidence) -> Iterator[_Span]:
    for tag in _TAG.finditer(summary):
        known = evidence.speakers.who("".join(tag[0].lower().split()))
        yield tag.start(), tag.end(), known is not None


def _entities(summary: str, evidence: Evidence) -> Iterator[_Span]:
    for entity in entities(without_tags(summary)):
        yield entity.start, entity.end, supports_entity(evidence, entity)
    for start, end in broken_masks(summary):
        yield start, end, summary[start:end] in evidence.brackets


def _numbers(summary: str, evidence: Evidence) -> Iterator[_Span]:
    if not may_hold(summary):
        return
    text = without_tags(summary)
    taken = list(entities(text))
    for number in quantities(text):
        said = text[number.start : number.end].lower()
        if said in _LOOSE or any(e.start < number.end and number.start < e.end for e in taken):
            continue
        yield number.start, number.end, evidence.numbers.support(number)


def _swaps(summary: str, evidence: Evidence) -> Iterator[_Span]:
    speakers = evidence.speakers
    sentences = [clauses for clauses in clauses_of(summary, speakers.who) if clauses]
    wrong = swapped(sentences, evidence.sayings, len(speakers.names))
    for clauses, is_wrong in zip(sentences, wrong, strict=True):
        yield clauses[0].start, clauses[-1].end, not is_wrong


def _added_denials(summary: str, evidence: Evidence) -> Iterator[_Span]:
    if NEGATION.search(summary) is None:
        return
    for start, end, wrong in added_denials(summary, evidence.denials, evidence.speakers.who):
        yield start, end, not wrong


def _lost_denials(summary: str, evidence: Evidence) -> Iterator[_Span]:
    for start, end, wrong in lost_denials(summary, evidence.denials, evidence.speakers.who):
        yield start, end, not wrong


def _selves(summary: str, evidence: Evidence) -> Iterator[_Span]:
    for start, end, wrong in told_themselves(summary, evidence.speakers.who):
        yield start, end, not wrong


_CHECKS: dict[Kind, _Check] = {
    "name": _names,
    "speaker": _speakers,
    "number": _numbers,
    "entity": _entities,
    "swap": _swaps,
    "negation": _added_denials,
    "lost_negation": _lost_denials,
    "oneself": _selves,
}
