"""Everything that a dialogue itself says for a form, in English; and a title for it."""

import re
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from dialogist.forms.typed_fields import has_cue, served_in
from dialogist.highlights.candidates import Candidate, corrects, leans, quoted, spoken_words
from dialogist.highlights.section_network import SECTIONS, Matrix, SectionChances, section_chances
from dialogist.highlights.selection import passages_of
from dialogist.language.quantities import deadline_in
from dialogist.language.reading import Reading, reading_of
from dialogist.records import Dialogue, EvidenceSpan

# The chance from which on a passage is told under a section: chosen on the validation dialogues.
_LEAST = {
    "issue": 0.25, "done": 0.36, "outcome": 0.6, "decisions": 0.31, "actions": 0.25,
    "questions": 0.3, "medication": 0.2, "advice": 0.2,
}  # fmt: skip
_ALWAYS = {"issue": 0.03, "outcome": 0.1}
"""Every dialogue has these: the best passage is told from this chance on."""
_TOLD_BEFORE = ("done", "medication", "advice")  # what fits these, too, is no outcome nor an issue
_LONGEST = 50  # words of an exchange
_HEADLINE, _FEWEST = 12, 3  # words of it, and of a clause that is cut
_GOES_ON = re.compile(r"(?i)\W*(?:no|not|sorry|wait|i mean|make (?:it|that)|to|until|or)\b")
_HANGS = re.compile(
    r"(?i)and|or|but|so|because|if|when|than|as|of|to|in|on|at|for|with|from|by|about|before|after"
    r"|until|the|a|an|this|that|my|your|his|her|our|their|i|we|he|she|they|i['’]m|is|are|was|will"
)
_SPOKEN = re.compile(r"\S*\w\S*")
_DONE = re.compile(  # "We've just sent it", "Done."
    r"(?i)\b(?:i|we)(?:['’]ve| have) (?:just |also |now |already )*(?!need|want|notic|tri)"
    r"(?:\w+ed|put|sent|set|taken|given|written|reset|made)\b|^\W*(?:done\b|that['’]s done)"
)
_CONTEXT, _REPLY = 25, 15  # words before an exchange, and behind it
_OWN = 0.5  # the chance from which on the first who speaks does what is promised


@dataclass(frozen=True, slots=True)
class Finding:
    """What a dialogue says for a section: a quote, and where it stands.

    ``sections``: those it fits, the best first. ``context``: where the words of ``text`` stand that
    led to it, and those of the reply to it. Of an action ``owner`` is a speaker as the dialogue
    writes him, or empty, and ``deadline`` a phrase of what was said.
    """

    text: str
    evidence: tuple[EvidenceSpan, ...]
    sections: tuple[str, ...] = ()
    owner: str = ""
    deadline: str = ""
    context: tuple[EvidenceSpan, ...] = ()


def extract(dialogue: Dialogue) -> Sequence[Finding]:
    """What an English dialogue says for any of `SECTIONS`, in its order; nothing in others.

    What something later seems to change counts less. Parts of turns that stand alone are quoted,
    with the replies to them: clauses cut out of their turn mislead.
    """
    reading = reading_of(dialogue)
    if not reading.is_english or not section_chances(dialogue).candidates:
        return ()
    scores = section_chances(dialogue)
    chances = np.array([scores.of(section) * (1 - scores.of("stale")) for section in SECTIONS])
    done, served = chances[SECTIONS.index("done")], served_in(dialogue)
    for n, candidate in enumerate(scores.candidates):
        doers = (u.speaker for i in candidate if _DONE.search((u := reading.units[i]).text))
        if served and any(speaker not in served for speaker in doers):
            done[n] = max(done[n], _LEAST["done"])
    best = zip(SECTIONS, chances.max(axis=1), strict=True)
    fits = chances / [[min(_LEAST[s], max(most, _ALWAYS.get(s, 1)))] for s, most in best]
    needed = {int(fits[SECTIONS.index(s)].argmax()): s for s in reversed(_ALWAYS)}
    findings, ends = list[Finding](), dict[str, int]()
    for units, numbers in _exchanges(reading, scores, fits):
        fit = dict(zip(SECTIONS, fits[:, numbers].max(axis=1), strict=True))
        firsts = [needed[n] for n in numbers if n in needed]
        ranked = sorted(SECTIONS, key=lambda s: -fit[s])
        if firsts:
            ranked = list(dict.fromkeys((*_TOLD_BEFORE, *firsts, *ranked)))
        if sections := tuple(s for s in ranked if fit[s] >= 1):
            action = numbers[fits[SECTIONS.index("actions"), numbers].argmax()]
            is_own = scores.of("owner")[action] > _OWN
            telling = (scores.candidates[n] for n in numbers if fits[:, n].max() >= 1)
            units = _without_question(reading, units, [i for told in telling for i in told])
            found = _finding(reading, units, sections, scores.candidates[action], is_own)
            before = _context(reading, units[0], ends.get(sections[0], -1))
            after = _reply(reading, units)
            context = (*quoted(reading, before)[1], *quoted(reading, after)[1])
            text, _ = quoted(reading, (*before, *units, *after))
            findings.append(replace(found, text=text, context=context))
            ends[sections[0]] = (*units, *after)[-1]
    return findings


def _without_question(
    reading: Reading, units: tuple[int, ...], telling: Container[int]
) -> tuple[int, ...]:
    """A passage without the question at its end, which leads on: "Friday, then. Can he swim?"."""
    last = units[-1]
    goes_on = len(units) > 1 and reading.units[units[-2]].turn == reading.units[last].turn
    leads_on = goes_on and last not in telling and reading.is_question(last)
    return units[:-1] if leads_on and not reading.values[last] else units


def _context(reading: Reading, first: int, told: int) -> range:
    """What was said right before a unit that is not understood alone: "I'll ask them".

    ``told``: the last unit of what stands right above it.
    """
    start, words = first, 0
    while start - 1 > told and leans(reading, start):
        words += reading.units[start - 1].words
        if words > _CONTEXT or reading.has(start - 1, "greet", "thanks"):
            break
        start -= 1
    return range(start, first)


def _reply(reading: Reading, units: Sequence[int]) -> range:
    """How the next turn begins, where it settles, refuses or changes what a passage says."""
    last, following = units[-1], reading.replies(units[-1])
    is_next = bool(following) and following[0] == last + 1
    if not is_next or reading.has(last, "agree", "takes", "thanks"):
        return range(0)
    ends = (
        i
        for i in following[1:]
        if reading.is_question(i) or spoken_words(reading, range(last + 1, i + 1)) > _REPLY
    )
    reply = range(last + 1, next(ends, following[-1] + 1))
    said = {(value.kind, value.value) for i in units for value in reading.values[i]}
    named = {(value.kind, value.value) for i in reply for value in reading.values[i]} - said
    changes = not {kind for kind, _ in named}.isdisjoint(kind for kind, _ in said)
    is_asking = reading.is_question(reply[0])
    contrasts = not is_asking and any(reading.has(i, "contrasts") for i in reply)
    settles = reading.has(reply[0], "agree", "takes", "refuse")
    is_short = reading.units[reply[0]].words <= _CONTEXT
    return reply if is_short and (changes or contrasts or settles) else range(0)


def _exchanges(
    reading: Reading, scores: SectionChances, fits: Matrix
) -> Iterator[tuple[tuple[int, ...], list[int]]]:
    """Passages with the numbers of their candidates.

    Those together that a candidate joins, and parts of a turn under one section but no two actions.
    """
    of_unit = {i: n for n, candidate in enumerate(scores.candidates) for i in candidate}
    before, known = tuple[int, ...](), list[int]()
    for units in passages_of(reading, scores.of_units("told"), 1, _LONGEST):
        numbers = sorted({of_unit[i] for i in units if i in of_unit})
        words = spoken_words(reading, (*before, *units))
        is_joined = not set(known).isdisjoint(numbers)
        if known and numbers and reading.units[before[-1]].turn == reading.units[units[0]].turn:
            sides = fits[:, known].max(axis=1), fits[:, numbers].max(axis=1)
            is_same = sides[0].argmax() == sides[1].argmax() != SECTIONS.index("actions")
            is_joined |= bool(is_same or np.max(sides, axis=1).min() < 1)
        if is_joined and words <= _LONGEST:
            before, known = (*before, *units), sorted({*known, *numbers})
            continue
        if known:
            yield before, known
        before, known = units, [n for n in numbers if n not in known]
    if known:
        yield before, known


def _finding(
    reading: Reading,
    units: Sequence[int],
    sections: tuple[str, ...] = (),
    action: Candidate | None = None,
    is_own: bool = False,
) -> Finding:
    """``action``: what tells it; ``is_own``: the first who speaks in it does it."""
    text, evidence = quoted(reading, units)
    if action is None or "actions" not in sections:
        return Finding(text, evidence, sections)
    speakers = list(dict.fromkeys(reading.units[unit].speaker for unit in action))
    others = [s for s in (speakers[1:] or reading.dialogue.speakers) if s != speakers[0]]
    owner = speakers[0] if is_own else others[0] if len(others) == 1 else ""
    firsts = Counter(name.partition(" ")[0] for name in reading.dialogue.speakers)
    for name in reading.dialogue.speakers:  # "Bo, ring her."
        calls = tuple(f"{call}," for call in (name, name.partition(" ")[0]) if firsts[call] < 2)
        asked = (reading.units[i].text for i in action if not reading.has(i, "commit"))
        if name and any(text.startswith(calls) for text in asked):
            owner = name
    deadlines = (deadline_in(reading.units[i].text) for i in reversed(action))
    return Finding(text, evidence, sections, owner, next(filter(None, deadlines), ""))


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
            units = scores.candidates[int(chances.argmax())]
            stand = [i for i in units if i + 1 not in units or not corrects(reading, i + 1)]
            telling = [i for i in stand if reading.terms[i]] or units  # "I mean it." tells nothing
            clauses.append(max(telling, key=lambda i: len(set(reading.terms[i]))))
    clauses = list(dict.fromkeys(clauses))
    room, parts, spans = _HEADLINE, list[str](), list[EvidenceSpan]()
    for n, i in enumerate(clauses):
        [clause] = quoted(reading, (i,))[1]  # without "Hi,"
        text = reading.texts[clause.utterance]
        words = list(_SPOKEN.finditer(text, clause.start, clause.end))
        others = sum(min(_HEADLINE // 2, reading.units[j].words) for j in clauses[n + 1 :])
        last = min(len(words), room - others)
        for value, after in pairwise(reading.values[i]):
            is_cut = value.kind == after.kind and value.end <= words[last - 1].end() < after.end
            if is_cut and _GOES_ON.match(text, value.end, after.start):  # "Monday, no, Tuesday"
                last = max(1, sum(word.start() < value.start for word in words))
        if last < len(words):  # not "the brakes of…"
            ends = range(last, min(last, _FEWEST) - 1, -1)
            last = next((n for n in ends if not _HANGS.fullmatch(words[n - 1][0])), last)
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
            yield _finding(reading, units)


def title_of(dialogue: Dialogue) -> tuple[str, tuple[EvidenceSpan, ...]]:
    """The corpus' own topic, else the headline."""
    topic = dialogue.metadata.get("topic")
    if isinstance(topic, str) and topic.strip():
        text = " ".join(topic.split())
        return text[0].upper() + text[1:], ()
    return headline_of(dialogue)
