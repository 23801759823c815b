"""Statements in the third person: "Ann will come", "Ann says the bus is late"."""

import re
from collections.abc import Sequence

from dialogist.text.reported_speech.framing import DATES, Frame
from dialogist.text.reported_speech.morphology import (
    AUXILIARIES,
    NOUNS_TOO,
    is_base,
    is_past,
    is_present,
)
from dialogist.text.reported_speech.phrases import alternatives
from dialogist.text.reported_speech.subjects import is_name, is_statement
from dialogist.text.reported_speech.trimming import Trimmed
from dialogist.text.reported_speech.words import (
    BEFORE_A_SUBJECT,
    DETERMINERS,
    PERSON,
    PREPOSITIONS,
    SINGULAR_THIRD,
    SUBJECTS,
    SUBORDINATORS,
    Word,
    is_adverb,
    words_of,
)
from dialogist.text.words import OPENERS, word_set

_TIMES = word_set("""
tomorrow today tonight yesterday morning afternoon evening week month year weekend night last next
same first other maybe perhaps
""")
_BEFORE_THE_SPEAKER = PREPOSITIONS | DETERMINERS | _TIMES
_THOUGHT = re.compile(r"(?i)^(.+), i (think|guess|suppose|believe|hope)$")
_TO_ME = re.compile(r"(?i)(?<=\bseems) to me\b|(?<=\blooks) to me\b")
_NOMINATIVE = word_set("i we he she they it")
_FRONTED = re.compile(
    r"(?i)(?:the|those|these) [\w-]+ (?:i|you|we|he|she|they|your|my)\b"
    r"(?! (?:said|sent|bought|ordered|gave|told|got|had|made|wanted|mentioned)\b)"
)
_NO_STATEMENT = word_set("""
what how why who which so neither nor thank here or not whatever better worse maybe like where
because wtf
""")
# Advice: "I would not drive before you have the glasses".
_IN_YOUR_PLACE = re.compile(
    r"(?i)i would (?:not |never )?(?!like\b|love\b|rather\b|prefer\b|appreciate\b|need\b|be\b"
    r"|have\b|pay\b|give\b)"
    r".*\byour?\b"
)
_ELLIPSIS = re.compile(
    r"(?i)\b(?:did|do|does|can|could|will|would|have|has|had) "
    r"(?:yesterday|today|tomorrow|too|once|twice|so|already|last \w+|this \w+)$"
)
_RELATIVE_ONLY = re.compile(r"(?i)(?:another|one|a|an|the) (?:\w+ ){0,3}(?:which|who) ")
_AND_DO = re.compile(
    r"(?i), (?:play|send|give|tell|call|make|book|check|show|let|do|put|take)"
    r" (?:the|a|it|me|us|my)\b"
)
# May be said of people in general.
_ANYBODY = re.compile(
    r"(?i)(?:at least |there |here |\w+ly )?you (?:can|cannot|never|always|get)\b"
)
_THINKS = re.compile(
    r"(?i)i (?:think|guess|suppose|believe|hope|reckon) (?!so\b|not\b|about\b|of\b|that\b|it\b)"
)
_CONDITION = re.compile(r"(?i)([^,]+), (?:because|since|if|when|as|while|so that|unless)\b")
_UNENDED = word_set("and or but the a an my your his their because if so as with of")
# A speaker who can do this for others offers to.
_OFFER = re.compile(
    r"(?i)i (?:can|could) (?=(?:also |even |just )?"
    + alternatives("""
    send | refund | give | lend | bring | help | call | ring | put you | do (?:it|that|the) | change
    | pay | book | reserve | deliver | replace | show you | drive | pick you | make | fix | repair
    | ask | check | cancel | cover | carry | take you | take (?:the|your) | credit | transfer
    | connect | arrange | mail | email | post | come | write | buy | offer you | get you
    | look (?:it|that|into) | set (?:it|that|one|up)
    """)
    + r"\b)(?!.*\b(?:if|unless|not)\b)"
)
_MAY_OFFER = re.compile(
    r"(?i)i (?:can|could) (?:also |even |just )?(?!(?:see|hear|understand|confirm|tell|find"
    r"|imagine|remember"
    r"|only|pay|say|feel|be|have|assure)\b)(?=[a-z]+\b)(?!.*\b(?:if|unless|not)\b)"
)
# Who hears this can have it, has to do it or gets it.
_OF_LISTENER = re.compile(
    r"(?i)you (?:can|will|have(?! (?:not )?(?:\w+ed|taken|got|been|done|made|sent|lost|left"
    r"|put|given)\b)|get|need|do not (?:have|need)|cannot|may|owe|would (?:have"
    r"|need|get|pay)"
    r"|(?:are|were|have been) (?:not )?\w+ed)\b"
)
_CLAIMS = word_set("""
think thinks thought guess guesses maybe perhaps probably might may could should would must seem
seems seemed look looks looked sound sounds sounded apparently hopefully supposed feel feels felt
believe believes say says said tells told noted hears heard claims claimed wants hates loves likes
nobody everyone everybody always never ever nothing everything anything all lot lots too so very
really quite rather actually obviously clearly problem
good great better best nice fine bad worse worst wonderful lovely terrible awful horrible perfect
beautiful delicious easy easier hard harder difficult cheap cheaper expensive fair unfair true wrong
right stupid silly crazy ridiculous unacceptable important interesting boring fun funny strange
weird safe dangerous kind rude fault shame pity disgrace disgusting poor slow fast amazing excellent
reasonable worth sad happy glad angry favourite favorite necessary cool ugly pretty more less
most least
""")
# "is a horrible driver", "is dirty"
_JUDGES = re.compile(
    r"(?i)(?<!there )\b(?:is|are|was|were)(?: not)? (?!\w+(?:ing|ed)\b|at\b|in\b|on\b|from\b|with\b"
    r"|for\b|the\b|my\b|your\b"
    r"|our\b|out\b|off\b|not\b|gone\b|broken\b|full\b|empty\b|closed\b|open\b|closed\b|here\b|there\b|only\b"
    r"|still\b|mine\b|yours\b|one\b|two\b|three\b|four\b|five\b|six\b|seven\b|eight\b|nine\b|ten\b|eleven\b|twelve\b|[$€£]?\d)"
)
_RELATIVE = word_set("which what whom")


def statement(frame: Frame, said: Trimmed) -> tuple[bool, str | None]:
    """How a statement is told; any sentence that nothing else is counts as one.

    What a speaker says of themselves needs no name before it, nor does a plain fact; claims and
    opinions do.
    """
    text = _THOUGHT.sub(lambda match: f"I {match[2]} " + frame.lowered(match[1]), said.text)
    text = _TO_ME.sub("", text)
    if not _is_tellable(text):
        return True, None
    if offer := offered(frame, text):
        return True, f"{frame.speaker} offers to {offer}"
    is_own = _is_of_speaker(text)
    if not is_own and (frame.chat or (_ANYBODY.match(text) and not frame.is_adviser)):
        return True, None
    if not is_own and (frame.contested or said.exclaimed or not is_plain(text, frame.is_adviser)):
        return True, frame.labelled(text)
    told = frame.turn(text)
    return True, None if told is None or told.plural else told.text


def offered(frame: Frame, text: str) -> str | None:
    """What "I can ..." offers, behind "to"; None: it is no offer, or no rule is sure."""
    offer = _OFFER.match(text) or (_MAY_OFFER.match(text) if frame.is_adviser else None)
    if offer is None or " however " in text:
        return None
    what = re.sub(r"(?i)^(?:also|even|just) ", "", text[offer.end() :])
    if not is_base(words_of(what)[0].low):
        return None
    told = frame.turn(what, frame.speaker, frame.speaker)
    return None if told is None or told.plural else told.text


def is_plain(text: str, is_adviser: bool) -> bool:
    """Whether a statement about others is a fact that hardly anyone would call an opinion.

    ``is_adviser``: the speaker knows the matter.
    """
    words = words_of(text)
    lows = [word.low for word in words]
    if _CLAIMS.intersection(lows):
        return False
    subject = next((i for i, low in enumerate(lows) if low in SUBJECTS), None)
    if subject == 0 and lows[0] == "you":
        return _OF_LISTENER.match(text) is not None
    if lows[0] in SINGULAR_THIRD or is_name(words[0]) or lows[-1] in _UNENDED:
        return False
    return is_adviser or _JUDGES.search(text) is None


def _is_tellable(text: str) -> bool:
    words = words_of(text)
    if _IN_YOUR_PLACE.match(text):
        return False
    if len(words) < 2 or not is_statement(text) or _FRONTED.match(text) or _runs_on(text, words):
        return False
    if _is_cut_off(text, words) or _is_fragment(text, words):
        return False
    return _begins_well(text, words)


def _is_cut_off(text: str, words: Sequence[Word]) -> bool:
    """Whether the verb is left to what was said before: "it might", "she would like to"."""
    last = words[-1].low
    if any(w.low in AUXILIARIES and text[w.end : w.end + 1] == "," for w in words[1:]):
        return True  # "I could, but"
    if _ELLIPSIS.search(text):
        return True
    denies = last == "not" and words[-2].low in AUXILIARIES
    return denies or last in AUXILIARIES or last in ("to", "allowed")


def _is_fragment(text: str, words: Sequence[Word]) -> bool:
    """Whether a main clause is missing: "just got back", "in two days, if it rains"."""
    first, second = words[0].low, words[1].low
    is_finite = is_past(second) or is_base(second) or second in AUXILIARIES
    if is_adverb(first) and first not in ("all", "both") and is_finite:
        return True
    if _RELATIVE_ONLY.match(text) or _AND_DO.search(text):
        return True
    if (
        is_present(first)
        and first not in NOUNS_TOO
        and second in DETERMINERS | PREPOSITIONS | {"me"}
    ):
        return True
    if (first, second) == ("now", "that") and "," not in text:
        return True
    if first == "that" and second in DETERMINERS | PERSON:
        return True
    behind = text.rpartition(", but ")[2] if ", but " in text else ""
    if behind and not is_statement(behind) and words_of(behind)[0].low in PREPOSITIONS:
        return True
    thought, condition = _THINKS.match(text), _CONDITION.match(text)
    if thought and not is_statement(text[thought.end() :]):
        return True
    return bool(condition and not is_statement(condition[1])) or words[-1].low in _UNENDED


def _begins_well(text: str, words: Sequence[Word]) -> bool:
    """Whether a statement can begin so."""
    first, second = words[0].low, words[1].low
    if first in AUXILIARIES | _NO_STATEMENT or (first in PREPOSITIONS and second in _RELATIVE):
        return False
    if words[0].is_capital and second == "i" and first not in OPENERS | DATES:
        return "," in text[: words[1].start]
    if first in SUBORDINATORS or (is_adverb(first) and second in SUBORDINATORS):
        return _has_main_clause(text, words)
    if is_base(first) and first not in DETERMINERS:
        return second in AUXILIARIES
    return not is_past(first) or first in DETERMINERS


def _has_main_clause(text: str, words: Sequence[Word]) -> bool:
    """Whether a clause follows the one that begins with "if" or the like."""
    if "," in text:
        behind = text.rpartition(", ")[2]
        return is_statement(behind) or re.search(r"(?i), (?:i|you) ", text) is not None
    return any(word.low in _NOMINATIVE or word.low == "you" for word in words[2:])


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
