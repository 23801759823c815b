"""Questions in the third person: "Ann asks whether Bo is coming"."""

import re

from dialogist.text.listing import word_set
from dialogist.text.reported_speech.framing import Frame, decapitalised
from dialogist.text.reported_speech.morphology import AUXILIARIES, is_past
from dialogist.text.reported_speech.questions import Question, question_of
from dialogist.text.reported_speech.subjects import is_statement
from dialogist.text.reported_speech.trimming import Trimmed
from dialogist.text.reported_speech.words import (
    DETERMINERS,
    SUBJECTS,
    SUBORDINATORS,
    is_adverb,
    words_of,
)

_LONGEST = 6  # words of a question without a verb
_NOT_ABOUT = AUXILIARIES | SUBORDINATORS | SUBJECTS - DETERMINERS | word_set("what then how why")


def question(frame: Frame, said: Trimmed) -> tuple[bool, str | None]:
    """Whether the sentence is a question, and how it is told."""
    if said.tag:
        told = frame.behind("asks whether", said.text) if is_statement(said.text) else None
        return True, told
    low = said.text.lower()
    if low.startswith("i wonder"):
        return False, None
    if low.startswith(("whatever", "or ")):
        return True, None
    parts = question_of(said.text, said.question)
    if parts is None:
        return said.question, _fragment(frame, said) if said.question else None
    told = asked(frame, parts)
    return True, None if told is None else f"{frame.speaker} asks {told}"


def asked(frame: Frame, parts: Question) -> str | None:
    """A question as a clause: "whether Bo is coming"."""
    clause = parts.clause()
    told = None if clause is None else frame.turn(frame.lowered(clause))
    opening = frame.turn(parts.opening)
    if told is None or opening is None:
        return None
    return re.sub(r"\bshall\b", "should", f"{opening.text} {told.text}")


def _fragment(frame: Frame, said: Trimmed) -> str | None:
    """A question without a verb: "And the fee?", "How much?"."""
    lows = [word.low for word in words_of(said.text)]
    if not 1 <= len(lows) <= _LONGEST or is_statement(said.text) or "," in said.text:
        return None
    if lows[0] in ("which", "how", "what") and 1 < len(lows) < 5:
        is_phrase = lows[1] not in SUBJECTS | {"about", "a", "if"}
        return frame.behind("asks", decapitalised(said.text)) if is_phrase else None
    if not said.joined or lows[0] in _NOT_ABOUT or is_adverb(lows[0]) or is_past(lows[0]):
        return None
    return frame.behind("asks about", said.text)
