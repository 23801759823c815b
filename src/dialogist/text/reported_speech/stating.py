"""Statements in the third person: "Ann will come", "Ann says the bus is late"."""

import re
from collections.abc import Sequence

from dialogist.text.function_words import OPENERS
from dialogist.text.listing import word_set
from dialogist.text.reported_speech.framing import DATES, Frame
from dialogist.text.reported_speech.morphology import AUXILIARIES, is_base, is_past
from dialogist.text.reported_speech.subjects import is_statement
from dialogist.text.reported_speech.trimming import Trimmed
from dialogist.text.reported_speech.words import (
    BEFORE_A_SUBJECT,
    DETERMINERS,
    PERSON,
    PREPOSITIONS,
    SUBJECTS,
    SUBORDINATORS,
    Word,
    is_adverb,
    words_of,
)

_TIMES = word_set("""
tomorrow today tonight yesterday morning afternoon evening week month year weekend night last next
same first other maybe perhaps
""")
_BEFORE_THE_SPEAKER = PREPOSITIONS | DETERMINERS | _TIMES
_THOUGHT = re.compile(r"(?i)^(.+), i (think|guess|suppose|believe|hope)$")
_NOMINATIVE = word_set("i we he she they it")
_FRONTED = re.compile(
    r"(?i)(?:the|those|these) [\w-]+ (?:i|you|we|he|she|they|your|my)\b"
    r"(?! (?:said|sent|bought|ordered|gave|told|got|had|made|wanted|mentioned)\b)"
)
_NO_STATEMENT = word_set("""
what how why who which so neither nor thank here or not whatever
""")
_RELATIVE = word_set("which what whom")


def statement(frame: Frame, said: Trimmed) -> tuple[bool, str | None]:
    """How a statement is told; any sentence that nothing else is counts as one."""
    text = _THOUGHT.sub(lambda match: f"I {match[2]} " + frame.lowered(match[1]), said.text)
    told = frame.turn(text) if _is_tellable(text) else None
    if told is None:
        return True, None
    if _is_of_speaker(text) and (not told.plural or text.startswith("I ")):
        return True, told.text
    if words_of(text)[0].low in PERSON:
        return True, f"{frame.speaker} says {told.text}"
    if frame.is_small(text):
        return True, f"{frame.speaker} says {frame.lowered(told.text)}"
    return True, f"{told.text}, {frame.speaker} says"


def _is_tellable(text: str) -> bool:
    words = words_of(text)
    if len(words) < 2 or not is_statement(text) or _FRONTED.match(text) or _runs_on(text, words):
        return False
    return not _is_cut_off(words) and _begins_well(text, words)


def _is_cut_off(words: Sequence[Word]) -> bool:
    """Whether the verb is left to what was said before: "it might", "she would like to"."""
    last = words[-1].low
    denies = last == "not" and words[-2].low in AUXILIARIES
    return denies or last in AUXILIARIES or last == "to"


def _begins_well(text: str, words: Sequence[Word]) -> bool:
    """Whether a statement can begin so."""
    first, second = words[0].low, words[1].low
    if first in AUXILIARIES | _NO_STATEMENT or (first in PREPOSITIONS and second in _RELATIVE):
        return False
    if words[0].is_capital and second == "i" and first not in OPENERS | DATES:
        return "," in text[: words[1].start]
    if first in SUBORDINATORS and "," not in text:
        return any(word.low in SUBJECTS for word in words[2:])
    if is_base(first) and first not in DETERMINERS:
        return second in AUXILIARIES
    return not is_past(first) or first in DETERMINERS


def _runs_on(text: str, words: Sequence[Word]) -> bool:
    """Whether a chat message holds clauses that no mark and no conjunction joins."""
    if words[0].is_capital:
        return False
    if words[0].low in ("no", "only") or text[0].isdigit():
        return True
    pronouns = [i for i, word in enumerate(words) if i and word.low in _NOMINATIVE]
    if words[0].low in PREPOSITIONS:
        pronouns = pronouns[1:]
    return any(
        text[words[i - 1].end : words[i].start] == " "
        and words[i - 1].low not in BEFORE_A_SUBJECT | AUXILIARIES
        for i in pronouns
    )


def _is_of_speaker(text: str) -> bool:
    """Whether the speaker, or what is theirs, is the subject: it needs no "Ann says"."""
    words = words_of(text)
    if words[0].low == "my":
        return True
    if words[0].low in SUBORDINATORS:
        return re.search(r", I\b", text) is not None
    place = next((i for i, word in enumerate(words) if word.low in SUBJECTS), None)
    if place is None or words[place].low != "i":
        return False
    return all(
        word.low in _BEFORE_THE_SPEAKER or is_adverb(word.low) or word.is_capital
        for word in words[:place]
    )
