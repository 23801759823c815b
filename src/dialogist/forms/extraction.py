"""Everything that a dialogue itself says for a form, in English; and a title for it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dialogist.forms.typed_fields import has_cue
from dialogist.highlights.candidates import Candidate, corrects, quoted_parts
from dialogist.highlights.section_network import SECTIONS, section_chances
from dialogist.language.quantities import deadline_in
from dialogist.language.reading import Reading, reading_of
from dialogist.records import Dialogue, EvidenceSpan

# The chance from which on a piece is told under a section: chosen on the validation dialogues.
_LEAST = {
    "issue": 0.32, "done": 0.36, "outcome": 0.43, "decisions": 0.31, "actions": 0.38,
    "questions": 0.3, "medication": 0.28, "advice": 0.26,
}  # fmt: skip
_ALWAYS = {"issue": 0.1, "outcome": 0.1}
"""Every dialogue has these: the best piece is told from this chance on."""
_STALE = 1.0  # what the chance that something later changes it costs a piece, of its own
_HEADLINE = 12  # words
_GOES_ON = re.compile(r"(?i)\W*(?:no|not|sorry|wait|i mean|make (?:it|that)|to|until|or)\b")
_HANGS = re.compile(
    r"(?i)and|or|but|so|because|if|when|than|as|of|to|in|on|at|for|with|from|by|about|before|after"
    r"|until|the|a|an|this|that|my|your|his|her|our|their|i|we|he|she|they|i['’]m|is|are|was|will"
)
_SPOKEN = re.compile(r"\S*\w\S*")
_OWN = 0.5  # the chance from which on the first who speaks does what is promised


@dataclass(frozen=True, slots=True)
class Finding:
    """What a dialogue says for a section: a quote, and where it stands.

    ``owner`` is a speaker as the dialogue writes him, or empty; ``deadline`` is a phrase of what
    was said.
    """

    text: str
    evidence: tuple[EvidenceSpan, ...]
    owner: str = ""
    deadline: str = ""


def extract(dialogue: Dialogue) -> Mapping[str, Sequence[Finding]]:
    """What an English dialogue says for each of `SECTIONS`, in its order; nothing in others.

    What a later utterance takes back or changes is not there.
    """
    reading = reading_of(dialogue)
    if not reading.is_english:
        return dict.fromkeys(SECTIONS, ())
    scores = section_chances(dialogue)
    owned, standing = scores.of("owner"), 1 - np.minimum(_STALE * scores.of("stale"), 1)
    findings: dict[str, Sequence[Finding]] = {}
    for section in SECTIONS:
        chances = scores.of(section) * standing
        least = min(_LEAST[section], max(chances.max(initial=0), _ALWAYS.get(section, 1)))
        findings[section] = [
            finding_of(reading, candidate, owned[n] > _OWN, is_action=section == "actions")
            for n, candidate in enumerate(scores.candidates)
            if chances[n] >= least
        ]
    return findings


def finding_of(
    reading: Reading, candidate: Candidate, is_own: bool = False, is_action: bool = False
) -> Finding:
    """A candidate as an entry of a form; ``is_own``: the first who speaks in it owns the action."""
    parts = quoted_parts(reading, candidate.units)
    evidence = tuple(span for _, spans in parts for span in spans)
    if not is_action:
        return Finding(candidate.text, evidence)
    speakers = list(dict.fromkeys(reading.units[unit].speaker for unit in candidate.units))
    everybody = reading.dialogue.speakers
    others = [s for s in (speakers[1:] or everybody) if s != speakers[0]]
    owner = speakers[0] if is_own else others[0] if len(others) == 1 else ""
    texts = (reading.units[unit].text for unit in reversed(candidate.units))
    return Finding(candidate.text, evidence, owner, next(filter(None, map(deadline_in, texts)), ""))


def headline_of(dialogue: Dialogue) -> tuple[str, tuple[EvidenceSpan, ...]]:
    """What an English dialogue is about and how it ended, in at most `_HEADLINE` of its words.

    Each is the best clause of its best piece, cut where there is no room for more.
    """
    reading = reading_of(dialogue)
    if not reading.is_english:
        return "", ()
    scores = section_chances(dialogue)
    clauses = list[int]()
    for section in ("issue", "outcome"):
        chances = scores.of(section) * scores.of("told")
        if len(chances) and scores.of(section)[chances.argmax()] >= _ALWAYS[section]:
            units = scores.candidates[int(chances.argmax())].units
            stand = [i for i in units if i + 1 not in units or not corrects(reading, i + 1)]
            telling = [i for i in stand if reading.terms[i]] or units  # "I mean it." tells nothing
            clauses.append(max(telling, key=lambda i: len(set(reading.terms[i]))))
    clauses = list(dict.fromkeys(clauses))
    room, parts, spans = _HEADLINE, list[str](), list[EvidenceSpan]()
    for n, i in enumerate(clauses):
        [(_, [clause])] = quoted_parts(reading, (i,))  # without "Hi,"
        text = reading.texts[clause.utterance]
        words = list(_SPOKEN.finditer(text, clause.start, clause.end))
        others = sum(min(_HEADLINE // 2, reading.units[j].words) for j in clauses[n + 1 :])
        last = min(len(words), room - others)
        for value, after in pairwise(reading.values[i]):
            is_cut = value.kind == after.kind and value.end <= words[last - 1].end() < after.end
            if is_cut and _GOES_ON.match(text, value.end, after.start):  # "Monday, no, Tuesday"
                last = max(1, sum(word.start() < value.start for word in words))
        while 1 < last < len(words) and _HANGS.fullmatch(words[last - 1][0]):  # "the brakes of…"
            last -= 1
        room -= last
        start, end = words[0].start(), words[last - 1].end()
        shown = reading.quoted(clause.utterance, start, end).rstrip(" ,;:.!")
        shown += "…" if last < len(words) else ""
        parts.append(f"“{shown}”")
        spans.append(EvidenceSpan(clause.utterance, start, end))
    return " – ".join(parts), tuple(spans)


def answers_in(dialogue: Dialogue, cues: Sequence[str]) -> Iterator[Finding]:
    """Each question that names a cue, with its answer: "Any allergies?" - "Penicillin."

    An empty section must not read as if nothing had been said.
    """
    reading = reading_of(dialogue)
    for n, unit in enumerate(reading.units):
        if unit.text.endswith("?") and has_cue(unit.text, cues) and (reply := reading.replies(n)):
            units = (n, *reply)
            text = " – ".join(quotation for quotation, _ in quoted_parts(reading, units))
            yield finding_of(reading, Candidate(units, text, 0))


def title_of(dialogue: Dialogue) -> tuple[str, tuple[EvidenceSpan, ...]]:
    """The corpus' own topic, else the headline."""
    topic = dialogue.metadata.get("topic")
    if isinstance(topic, str) and topic.strip():
        text = " ".join(topic.split())
        return text[0].upper() + text[1:], ()
    return headline_of(dialogue)
