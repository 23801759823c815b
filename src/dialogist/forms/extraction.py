"""Everything that a dialogue itself says for a form, in English; and a title for it."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dialogist.forms.typed_fields import has_cue
from dialogist.highlights.candidates import Candidate, quoted_parts
from dialogist.highlights.section_network import SECTIONS, section_chances
from dialogist.language.people import DAYS, MONTHS
from dialogist.language.porter import stem_of
from dialogist.language.quantities import deadline_in
from dialogist.language.reading import Reading, reading_of
from dialogist.language.tokens import ENGLISH, IRREGULAR, OPENERS, REPORTING, word_set
from dialogist.records import Dialogue, EvidenceSpan

# The chance from which on a piece is told under a section: chosen on the validation dialogues.
_LEAST = {
    "issue": 0.35, "done": 0.3, "outcome": 0.45, "decisions": 0.35, "actions": 0.35,
    "questions": 0.35,
    "medication": 0.35,
    "advice": 0.35,
}  # fmt: skip
_ALWAYS = {"issue": 0.1, "outcome": 0.1}
"""Every dialogue has these: the best piece is told from this chance on."""
_STALE = 0.5  # what the chance that something later changes it costs a piece, of its own
_HEADLINE = 12  # words
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
    found: dict[str, Sequence[Finding]] = {}
    for section in SECTIONS:
        chances = scores.of(section) * standing
        least = min(_LEAST[section], max(chances.max(initial=0), _ALWAYS.get(section, 1)))
        found[section] = [
            finding_of(reading, one, owned[n] > _OWN, is_action=section == "actions")
            for n, one in enumerate(scores.candidates)
            if chances[n] >= least
        ]
    return found


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
    said = (reading.units[unit].text for unit in reversed(candidate.units))
    return Finding(candidate.text, evidence, owner, next(filter(None, map(deadline_in, said)), ""))


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
            clauses.append(max(units, key=lambda i: len(set(reading.terms[i]))))
    clauses = list(dict.fromkeys(clauses))
    room, parts, spans = _HEADLINE, list[str](), list[EvidenceSpan]()
    for n, i in enumerate(clauses):
        [(_, [said])] = quoted_parts(reading, (i,))  # without "Hi,"
        text = reading.texts[said.utterance]
        words = list(_SPOKEN.finditer(text, said.start, said.end))
        others = sum(min(_HEADLINE // 2, reading.units[j].words) for j in clauses[n + 1 :])
        kept = words[: room - others]
        room -= len(kept)
        start, end = kept[0].start(), kept[-1].end()
        shown = reading.quoted(said.utterance, start, end).rstrip(" ,;:.!")
        parts.append(f"“{shown}{'…' if len(kept) < len(words) else ''}”")
        spans.append(EvidenceSpan(said.utterance, start, end))
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


# A title: the words that a dialogue comes back to, as it writes them. No sentence is invented.

_WORD = re.compile(r"[^\W\d_]+(?:[-_][^\W\d_]+)*")
_COMMON = word_set(ENGLISH["common"])
_NO_TOPIC = OPENERS | REPORTING | _COMMON | {*DAYS, *MONTHS} | set(IRREGULAR)
_MOST = 3  # words or pairs in a title
_OFTEN = 2  # times that a topic is spoken of at least
_ALONE = 3  # times that a word is said which is the whole title


def title_of(dialogue: Dialogue) -> tuple[str, tuple[EvidenceSpan, ...]]:
    """The corpus' own topic, else the most frequent topic words; empty where nothing comes back."""
    topic = dialogue.metadata.get("topic")
    if isinstance(topic, str) and topic.strip():
        return _capital(" ".join(topic.split())), ()
    said = _topics_in(dialogue)
    often = {topic: len(places) for topic, places in said.items() if len(places) >= _OFTEN}
    # Words that mostly stand side by side are one topic.
    pairs = [t for t in often if len(t) > 1 and 2 * often[t] >= min(often[t[:1]], often[t[1:]])]
    within = {stem for pair in pairs for stem in pair}
    single = [t for t in often if len(t) == 1 and t[0] not in within]
    topics: list[tuple[str, ...]] = []
    for key in sorted((*pairs, *single), key=lambda t: -often[t] * (1 + len(t))):
        if not any(set(key) & set(other) for other in topics):
            topics.append(key)
    if len(topics) == 1 and len(topics[0]) == 1 and often[topics[0]] < _ALONE:
        return "", ()
    order = list(said)
    topics = sorted(topics[:_MOST], key=lambda key: order.index(key[:1]))
    words, spans = zip(*(said[key][0] for key in topics), strict=True) if topics else ((), ())
    return _capital(", ".join(words)), tuple(spans)


def _topics_in(dialogue: Dialogue) -> dict[tuple[str, ...], list[tuple[str, EvidenceSpan]]]:
    """Words that may name a topic, and pairs of them, by stems: as they are written, and where."""
    people = {name.lower() for speaker in dialogue.speakers for name in _WORD.findall(speaker)}
    said: defaultdict[tuple[str, ...], list[tuple[str, EvidenceSpan]]] = defaultdict(list)
    for number, utterance in enumerate(dialogue.utterances):
        text, before, last = utterance.text, "", -_OFTEN
        start = 0
        for match in _WORD.finditer(text):
            word, low = match[0], match[0].lower()
            is_common = low in _NO_TOPIC or low.removesuffix("s") in _NO_TOPIC or low in people
            if is_common or len(low) < 3 or low.endswith(("ing", "ly")):
                continue
            stem = stem_of(low)
            shown = low if word[1:].islower() and match.start() == 0 else word
            said[stem,].append((shown, EvidenceSpan(number, *match.span())))
            if match.start() == last + 1 and stem != before:
                pair = text[start : match.end()]
                said[before, stem].append((pair, EvidenceSpan(number, start, match.end())))
            before, (start, last) = stem, match.span()
    return said


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
