"""What a summary can quote: clauses, answers with what they answer, offers with their replies."""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import TypeAlias

from dialogist.language.reading import Reading
from dialogist.plain_text import quotation
from dialogist.records import EvidenceSpan

_SHORTEST_QUESTION = 4  # words of a question that is understood alone
_FRAGMENT = 3  # words without a verb that go on with the clause before
_DENIAL = 5  # the same, of "Not latex, not cotton."
# Words of a reply that is not understood alone: one that says nothing, one without a verb, an
# acceptance, a refusal, the answer to "And if it rains?"; and of the reason behind a bare refusal.
_BARE, _VERBLESS, _SETTLED, _REFUSAL, _CONDITIONAL, _REASON = 2, 5, 4, 8, 14, 9
_MOST_UNITS = 3  # of one turn in a candidate
_VERBS = re.compile(
    r"(?i)\b(?:i|you|we|he|she|it|they|there|that|this|who|let)(?:['’]?(?:s|m|re|ll|ve|d))?\b"
    r"|\b(?:is|are|was|were|am|be|been|do|does|did|have|has|had|can|could|will|would|should|shall"
    r"|may|might|must|got|went|said|u|im|ill|ive|dont|cant|wont)\b|n['’]t\b|\w['’](?:ll|re|ve)\b"
    r"|\b(?!(?:no|some|any|every)thing|morning|evening|hundred)\w{3,}(?:ed|ing)\b"
)
_EXCLAIMS = re.compile(r"(?i)(?:oh|ah|uh)[, ]+(?:no|dear)\b")  # it refuses nothing
# How people begin to speak, which says nothing.
_OPENING = re.compile(
    r"(?i)(?:(?:(?:oh(?![, ]+no\b)|ah|um+|uh+|er|hm+|ugh|so(?! (?:far|much|many|long|that)\b)|and"
    r"|but|then|also)[,.!… ]+|(?:well|wow|hey|hi+|hello|haha|lol|yo|omg|listen|look|thanks"
    r"|thank you|great|perfect)[,.!…]+ *))+(?<! \.)(?=[\w\"“$€£]\S* *\S)"
)
# "Credit it, please. No wait, the bank."
_CORRECTS = re.compile(
    r"(?i)(?:(?:oh|um+|uh+|er|well|hm+)\W+)*(?:no,? (?:wait|sorry|actually|not|make)|wait|hold on"
    r"|actually|sorry,? (?:no|i mean[ts]?|it['’]?s|that['’]?s|make)|scratch that|i mean[ts]?"
    r"|or rather|correction|on second thoughts?)\b"
)
# What is another value, too: "40 of it. No, let's start with 20.", "At her weight make it 600."
_AMENDS = re.compile(r"(?i)(?:\w+\W+)?no,|.*\bmake (?:it|that) \w")
# "I'll ask them", but not "I'll ask the vet if he can see it".
_LEANS = re.compile(
    r"(?i)(?:(?!\b(?:the|an?|my|your|our|his|her|their|\d\S*) \w).)*?\b(?:it|its|that|this|those"
    r"|these|they|them|he|him|his|she|one|ones|there|so|then|both|same|other|another|instead|else)\b"
    r"(?! \w+ing\b)"
)
_BRIEF, _ANSWER = 5, 8  # words of a clause that leans on the one before, and of an answer
_OFFERING = ("offer", "want", "please", "commit", "imperative", "advise", "must", "instead")
_SETTLING = ("agree", "no", "refuse", "takes")


Candidate: TypeAlias = tuple[int, ...]
"""Units by their numbers, in the order of the dialogue, that are told together or not at all."""


def candidates_of(reading: Reading) -> list[Candidate]:
    """All that can be chosen; no unit is in two candidates, and greetings are in none."""
    turns = _in_turns(reading)
    told_with: dict[tuple[int, ...], tuple[int, ...]] = {}  # of groups, what is told with them
    settled: dict[tuple[int, ...], tuple[int, ...]] = {}  # what each reply answers
    for before, turn in pairwise(turns):
        exchange = _exchange(reading, before, turn)
        if exchange is None:
            continue
        proposal, reply = exchange
        first = settled.get(proposal[0], proposal[0])
        if first != proposal[0] and not any(reading.has(i, "else", *_OFFERING) for i in first):
            continue  # only an offer goes on: "Anything later?" "At ten." "Perfect."
        behind = tuple(i for group in proposal[1:] for i in group)
        told_with[first] = (*told_with.get(first, ()), *behind, *reply)
        settled[reply] = first
    candidates, taken = list[Candidate](), {i for units in told_with.values() for i in units}
    for turn in turns:
        for group in turn:
            units = (*group, *told_with.get(group, ()))
            is_answered = units != group
            is_telling = any(_says_something(reading, i, is_answered) for i in units)
            if taken.isdisjoint(group) and is_telling:
                candidates.append(units)
    return candidates


def _in_turns(reading: Reading) -> list[list[tuple[int, ...]]]:
    """The units of each turn, those together that go on with the clause before them."""
    turns: list[list[tuple[int, ...]]] = []
    for turn in reading.turns:
        groups: list[tuple[int, ...]] = []
        for i in turn:
            goes_on = bool(groups) and len(groups[-1]) < _MOST_UNITS and _goes_on(reading, i)
            groups[-1:] = [(*groups[-1], i)] if goes_on else [*groups[-1:], (i,)]
        turns.append(groups)
    return turns


def _goes_on(reading: Reading, i: int) -> bool:
    """Whether a unit goes on with the one before it: "About thirty.", "Monday? At ten?"."""
    before, unit = reading.units[i - 1], reading.units[i]
    if "?" in unit.text:
        return "?" in before.text and min(before.words, unit.words) <= _FRAGMENT
    if corrects(reading, i):
        return True
    is_own = reading.has(i, "agree", "takes", "thanks", "greet") or reading.is_question(i)
    most = _DENIAL if reading.has(i, "no") else _FRAGMENT
    return unit.words <= most and not is_own and lacks_verb(unit.text)


def corrects(reading: Reading, i: int) -> bool:
    """Whether a unit changes what its speaker has just said, or names another value for one."""
    unit = reading.units[i]
    if not i or reading.units[i - 1].turn != unit.turn:
        return False
    if _CORRECTS.match(unit.text):
        return True
    after = (n for n, other in enumerate(reading.units[i : i + 2], i) if other.turn == unit.turn)
    is_amending = _AMENDS.match(unit.text) is not None and bool(reading.values[i - 1])
    return is_amending and any(reading.values[n] for n in after)


def lacks_verb(text: str) -> bool:
    """Whether a few words hold no verb that a list or an ending tells."""
    return _VERBS.search(text) is None


def _exchange(
    reading: Reading, before: Sequence[tuple[int, ...]], turn: Sequence[tuple[int, ...]]
) -> tuple[Sequence[tuple[int, ...]], tuple[int, ...]] | None:
    """The groups at the end of a turn that are told with a reply only, and the reply.

    From an offer, a request or a question on, since a reply may be to anything behind it.
    """
    if reading.units[turn[0][0]].speaker == reading.units[before[0][0]].speaker:
        return None
    while len(turn) > 1 and spoken_words(reading, turn[0]) <= _BARE:
        if any(reading.terms[i] or reading.has(i, *_SETTLING) for i in turn[0]):
            break
        turn = turn[1:]  # "Hm."
    offers = [n for n, group in enumerate(before) if any(reading.has(i, *_OFFERING) for i in group)]
    is_asked = any(reading.is_question(i) for i in before[-1])
    proposal = before[offers[-1] :] if offers and not is_asked else before[-1:]
    proposal = proposal if sum(map(len, proposal)) <= _MOST_UNITS else before[-1:]
    is_condition = is_asked and reading.has(proposal[0][0], "if")  # "And if it rains?"
    has_value = any(reading.values[i] for group in proposal for i in group)
    place = 0
    if len(turn) > 1 and not reading.has(turn[0][0], *_SETTLING):
        is_later = (
            reading.has(turn[1][0], *_SETTLING) and spoken_words(reading, turn[1]) <= _VERBLESS
        )
        place = int(is_later)  # "My dog hates mornings. Fine, Sunday."
    reply, reason = turn[place], turn[place + 1] if place + 1 < len(turn) else ()
    words = spoken_words(reading, reply)
    is_settling = reading.has(reply[0], *_SETTLING)
    is_refusal = reading.has(reply[0], "no", "refuse")
    is_bare = words <= _BARE or not any(reading.terms[i] for i in reply)
    is_verbless = words <= _VERBLESS and lacks_verb(reading.units[reply[0]].text)
    longest = _CONDITIONAL if is_condition else _REFUSAL if is_refusal else _FRAGMENT
    longest = max(longest, _SETTLED if is_settling else 0)
    named = {term for group in proposal for i in group for term in reading.terms[i]}
    is_echo = is_bare and any(term in named for i in reply for term in reading.terms[i])
    is_open = is_asked or bool(offers) or (has_value and (is_settling or is_echo))
    is_asking = any("?" in reading.units[i].text for i in reply)
    is_asking = is_asking or _EXCLAIMS.match(reading.units[reply[0]].text) is not None
    if not is_open or is_asking or not (is_bare or is_verbless or words <= longest):
        return None
    is_told = is_bare and is_refusal and spoken_words(reading, reason) <= _REASON
    is_told = is_told and not any("?" in reading.units[i].text for i in reason)
    return proposal, (*reply, *reason) if is_told else reply


def leans(reading: Reading, i: int) -> bool:
    """Whether a unit is not understood without the one before it."""
    unit, before = reading.units[i], reading.units[i - 1]
    is_answer = i > 0 and before.turn != unit.turn and reading.is_question(i - 1)
    is_asking = unit.words >= _SHORTEST_QUESTION and "?" in unit.text
    is_brief = unit.words <= (_ANSWER if is_answer else _BRIEF) and not is_asking
    return is_brief or _LEANS.match(unit.text) is not None


def spoken_words(reading: Reading, units: Sequence[int]) -> int:
    """How many words some units have."""
    return sum(reading.units[i].words for i in units)


def _says_something(reading: Reading, i: int, is_answered: bool) -> bool:
    """Whether a reader learns something from a unit; of a few words asked with the answer only."""
    is_bare = "?" in reading.units[i].text and reading.units[i].words < _SHORTEST_QUESTION
    return bool(reading.terms[i]) and (is_answered or not is_bare)


def statement_words(text: str) -> int:
    """The words of a statement; dashes, "…" and a role in brackets are none."""
    return sum(word[0] not in "–…(" for word in text.split())


def quoted(reading: Reading, units: Sequence[int]) -> tuple[str, tuple[EvidenceSpan, ...]]:
    """What some units in order say, ``Ann: “Is noon fine?” – Bo: “Yes.”``, and where it stands.

    Units that follow on each other are one stretch of exact words.
    """
    parts: list[tuple[str, list[EvidenceSpan]]] = []
    last = -2
    for i in units:
        unit = reading.units[i]
        if not parts or unit.speaker != parts[-1][0]:
            parts.append((unit.speaker, []))
        spans = parts[-1][1]
        if spans and i == last + 1 and spans[-1].utterance == unit.turn:
            spans[-1] = EvidenceSpan(unit.turn, spans[-1].start, unit.end)
        else:
            opening = _OPENING.match(unit.text)
            start = unit.start + (opening.end() if opening else 0)
            spans.append(EvidenceSpan(unit.turn, start, unit.end))
        last = i
    texts = [
        quotation(
            reading.shown(speaker), (reading.quoted(s.utterance, s.start, s.end) for s in spans)
        )
        for speaker, spans in parts
    ]
    return " – ".join(texts), tuple(span for _, spans in parts for span in spans)
