"""Imperatives and requests: "send me the bill", "don't wait", "could you call me?"."""

import re
from collections.abc import Sequence

from dialogist.language.reported_speech.framing import (
    NOT_MINE,
    QUOTE,
    Frame,
    Verdict,
    decapitalised,
)
from dialogist.language.reported_speech.morphology import (
    AUXILIARIES,
    NOUNS_TOO,
    is_base,
    is_participle,
    is_past,
)
from dialogist.language.reported_speech.phrases import alternatives
from dialogist.language.reported_speech.subjects import is_statement
from dialogist.language.reported_speech.trimming import Trimmed
from dialogist.language.reported_speech.words import (
    BEFORE_A_SUBJECT,
    DETERMINERS,
    PERSON,
    PREPOSITIONS,
    SUBJECTS,
    SUBORDINATORS,
    Word,
    words_of,
)
from dialogist.language.roles import is_role
from dialogist.language.tokens import word_set

REQUEST = re.compile(
    r"(?i)(?:(can|could)|will|would) you (?:(?:just|maybe|possibly|also) )?"
    r"(?!like\b|rather\b|prefer\b|mind\b|not\b)(\w+)(.*)"
)
_ASKED_FOR = word_set("""
send give lend bring call tell help show pass get put ring text email check open close turn fix
book reserve cancel change replace repair explain describe spell repeat hold wait take pick drop
write sign buy make find order search look confirm share feed cover cook clean
ask let teach keep add remind print carry mail deliver send forward fill provide recommend
""")
_NO_ORDER = word_set("""
need mind matter want love hope think guess wish miss thank sound seem mean feel know hate like
understand
appreciate prefer believe suppose agree bet cost have
""")
_BEING = word_set("careful patient quiet polite nice sure honest kind quick punctual gentle")
_NO_ORDERS = re.compile(
    "(?i)"
    + alternatives("""
    look like | see you | close to | do not tell me | do so | wait and see | go figure | say hi
    | say hello
    """)
    + r"\b|say (?:half|about|around|an? |[$€£]?\d|(?:one|two|three|four|five|six|seven|eight|nine"
    r"|ten|eleven|twelve|\w+teen|\w+ty)\b)"
)
_FOR_ME = re.compile(
    r"(?i)(give|tell|send|bring|show|get|pass|dm) me (?:also |just )?"
    r"((?:the|a|an|your|my|his|her|their|some|another|\d[\w.,]*|two|three|four|five"
    r"|ten) (?!call\b).+)"
)
_AND_DOES = re.compile(r"(?i)\band (?:then )?([a-z]+) (?:the|a|it|my|your|them|him|her)\b")
_NEXT_ORDER = re.compile(r"(?i), (?:just |then |please )?([a-z]+) ")
_ABOUT = re.compile(r"(?i)tell me (?:more |something )?about (.+)")
_OBJECTS = PERSON | DETERMINERS | PREPOSITIONS | word_set("it him them us")
_JOINED = re.compile(
    r"(?i)(.+?)(?:,| and|, and|, but| but|;) (?=(?:i|you|we|he|she|it|they|that|there|this) \w+)"
)
_CONDITION = re.compile(
    r"(?i)((?:if|when|once|before|after|unless|as soon as) [^,]+), (?:(?:then|please) )?(.+)"
)
_SUPPOSES = re.compile(r"(?i)i (?:suppose|guess|think|reckon|believe|hope|mean|say)")
_PASSIVE = 3  # words of "Swap fee's waived"
_ENDS_AS_PARTICIPLE = re.compile(r"[a-z]{4,}ed")  # no bed, no shed
_ELSE = re.compile(
    r"(?i)^\w+ (?:this|that|it|there) is\b"
    r"|,? or (?:i|you|we|he|she|it|they)\b|, [a-z]+ (?:is|are|will)\b"
)


def is_request(said: Trimmed) -> bool:
    """Whether "can you" asks for a favour, and not for what is so."""
    match = REQUEST.fullmatch(said.text)
    if match is None or not is_base(match[2].lower()):
        return False
    return said.please or bool(match[1] and match[2].lower() in _ASKED_FOR)


def request(frame: Frame, said: Trimmed) -> Verdict:
    """Whether the sentence is a request in the form of a question, and how it is told."""
    match = REQUEST.fullmatch(said.text)
    if match is None or frame.listener is None or not is_request(said):
        return NOT_MINE
    if frame.chat and is_statement(match[3]):
        return QUOTE  # clauses without a joint
    what = match[2].lower() + match[3]
    told = _wanted(frame, what) or _made(frame, "asks", "to", what)
    return told is not None, told


def _wanted(frame: Frame, what: str) -> str | None:
    """A request for something: "send me the bill" as "asks for the bill"."""
    if about := _ABOUT.fullmatch(what):
        return frame.behind("asks about", about[1])
    match = _FOR_ME.fullmatch(what)
    if match is None or is_statement(match[2]) or frame.listener is None:
        return None
    if any(is_base(word.lower()) for word in _AND_DOES.findall(match[2])):
        return None  # "give me two months, and move the last run"
    if match[1].lower() == "tell" and words_of(match[2])[0].low not in ("your", "my", "the"):
        return None
    whom = "" if is_role(frame.listener) else f" {frame.listener}"
    return frame.behind(f"asks{whom} for", match[2], None, frame.speaker)


def _made(frame: Frame, verb: str, to: str, what: str) -> str | None:
    """ "Ann" + ``verb`` + "Bo" + ``to`` + what Bo is to do."""
    if frame.listener is None:
        return None
    mentioned = (frame.speaker,) if is_role(frame.speaker) else (frame.speaker, frame.listener)
    return frame.behind(f"{verb} {frame.listener} {to}", what, frame.listener, *mentioned)


def order(frame: Frame, said: Trimmed) -> Verdict:
    """Whether the sentence is an imperative, and how it is told."""
    text, condition = re.sub(r"(?i)^(?:just|only) (?=\w+)", "", said.text), ""
    if match := _CONDITION.fullmatch(text):
        condition, text = match[1], match[2]
    if not is_order(text):
        return NOT_MINE
    if _is_noun(text):
        return QUOTE
    return True, _ordered(frame, text, condition, said.please)


def is_order(text: str) -> bool:
    """Whether a sentence is an imperative by its first words."""
    words = words_of(text)
    if len(words) < 2 or _NO_ORDERS.match(text) or _is_passive(words):
        return False
    first, second = words[0].low, words[1]
    if second.low == "of" and first not in ("think", "dream", "dispose"):
        return False  # "End of this month"
    if first in ("do", "never"):
        verb = words[2:3] if first == "do" else words[1:2]
        negative = first == "never" or second.low == "not"
        return negative and bool(verb) and is_base(verb[0].low) and verb[0].low not in _NO_ORDER
    if first == "be":
        return second.low in _BEING
    return _may_order(first, second)


def _is_passive(words: Sequence[Word]) -> bool:
    """Whether the first words are nouns before a passive: "Swap fee's waived"."""
    is_object = words[1].is_capital or words[1].low in _OBJECTS | SUBJECTS | BEFORE_A_SUBJECT
    if is_object or len(words) < _PASSIVE:
        return False
    second, third = words[1].low, words[2].low
    if third in ("is", "are", "was", "were"):
        third = words[3].low if len(words) > _PASSIVE else ""
    elif not second.endswith("'s"):
        return False
    return is_participle(third) or _ENDS_AS_PARTICIPLE.fullmatch(third) is not None


def _is_noun(text: str) -> bool:
    """Whether the first word is a noun after all: "Check in only took a minute"."""
    words = words_of(text)
    return any(
        is_past(word.low)
        and not is_base(word.low)
        and not is_participle(word.low)
        and not any(before.low in SUBJECTS for before in words[:i])
        for i, word in enumerate(words)
    )


def _may_order(first: str, second: Word) -> bool:
    if not is_base(first) or first in _NO_ORDER or second.low in AUXILIARIES:
        return False
    if is_past(second.low) and not is_base(second.low) and second.low not in _OBJECTS:
        return False  # "DM sent"
    is_doubtful = first in NOUNS_TOO or is_past(first)
    return second.low in _OBJECTS if is_doubtful else True


def _ordered(frame: Frame, text: str, condition: str, please: bool) -> str | None:
    behind = ""
    if re.search(r"(?i),? and you will\b", text):
        return None
    if joined := _JOINED.match(text):
        text, behind = joined[1], text[joined.end() :]
        if not is_statement(behind) or condition or _SUPPOSES.fullmatch(behind):
            return None
    elif _goes_on(text) or _ELSE.search(text):
        return None
    told = _asked(frame, text, please)
    says = "and says " if told and told.startswith(f"{frame.speaker} ") else "; "
    for joint, clause in ((says, behind), ("", condition)):
        more = frame.in_third_person(frame.lowered(clause)) if clause else None
        if clause:
            told = (
                None
                if told is None or more is None or more.plural
                else f"{told} {joint}{more.text}".replace(" ; ", "; ")
            )
    return told


def _asked(frame: Frame, text: str, please: bool) -> str | None:
    if frame.listener is None:
        return None
    text = re.sub(r"(?i)\b(and|but) do not ", r"\1 not to ", text)
    negative = re.match(r"(?i)(?:do not|never) ", text)
    what = text[negative.end() :] if negative else text
    if negative and any(is_base(word.lower()) for word in _NEXT_ORDER.findall(what)):
        return None  # "Don't update, turn that off" denies the first alone
    is_favour = please or re.search(r"(?i)\b(?:me|us|my|our)\b", text)
    if frame.chat and not frame.is_adviser and not is_favour:
        return None  # as often a sentence without its subject
    if frame.is_adviser and not is_favour and not frame.contested:
        what = re.sub(r"\b(and|but) not to ", r"\1 not ", decapitalised(what))
        told = frame.in_third_person(what, frame.listener, frame.listener)
        should = "should not" if negative else "should"
        return None if told is None else f"{frame.listener} {should} {told.text}"
    if not negative and (wanted := _wanted(frame, text)):
        return wanted
    verb = "asks" if is_favour else "tells"
    return _made(frame, verb, "not to" if negative else "to", decapitalised(what))


def _goes_on(text: str) -> bool:
    """Whether a new clause begins behind a comma."""
    parts = text.split(", ")[1:]
    return any(
        is_statement(part) and part.split()[0].lower() not in SUBORDINATORS for part in parts
    )
