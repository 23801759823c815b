"""Questions in the third person: "Ann asks whether Bo is coming"."""

import re

from dialogist.text.listing import word_set
from dialogist.text.reported_speech.framing import Frame, decapitalised
from dialogist.text.reported_speech.morphology import AUXILIARIES, is_base, is_past
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
    if told := _wished(frame, said.text):
        return True, told
    parts = question_of(said.text, said.question)
    if parts is None:
        return said.question, _fragment(frame, said) if said.question else None
    told = asked(frame, parts)
    return True, None if told is None else f"{frame.speaker} asks {told}"


_SHALL_I = re.compile(r"(?i)(?:should|shall) i (?!have\b)(\w+)(.*)")
_MAY_I = re.compile(
    r"(?i)(?:can|could|may) i (?:please )?(borrow|see|speak|talk|use|try|keep|order|change"
    r"|cancel|book|return"
    r"|join|reserve|rent|stay|take|pay|bring|ask|leave) (?!so\b)(.+)"
)
_FOR_ME = re.compile(
    r"(?i)(?:can|could|may) i (?:(?:please|also|maybe) )*(?:have|get) "
    r"((?:the|a|an|your|my|some|another|\d[\w.,]*|two|three|four|five|one|ten) .+|\w+)"
)


def _wished(frame: Frame, text: str) -> str | None:
    """What the speaker would like to do, get or be told to do: "asks to pay", "asks for tea"."""
    if match := _SHALL_I.fullmatch(text):
        if not is_base(match[1].lower()) or re.search(r"(?i)\bor\b", text):
            return None
        return frame.behind("asks whether to", match[1].lower() + match[2], frame.speaker)
    if match := _MAY_I.fullmatch(text):
        return frame.behind("asks to", match[1].lower() + " " + match[2], frame.speaker)
    if (match := _FOR_ME.fullmatch(text)) and not is_statement(match[1]):
        return frame.behind("asks for", match[1])
    return None


def asked(frame: Frame, parts: Question) -> str | None:
    """A question as a clause: "whether Bo is coming"."""
    clause = parts.clause()
    told = None if clause is None else frame.turn(frame.lowered(clause), None, frame.speaker)
    opening = frame.turn(parts.opening, None, frame.speaker)
    if told is None or opening is None or told.plural:
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
