"""A short answer told with what it answers: "Have you restarted it?" "Yes, twice."

Bo has restarted it twice.
"""

import re
from dataclasses import dataclass

from dialogist.text.listing import word_set
from dialogist.text.reported_speech.asking import asked as asked_clause
from dialogist.text.reported_speech.framing import Frame, decapitalised
from dialogist.text.reported_speech.orders import REQUEST, is_order, is_request
from dialogist.text.reported_speech.phrases import ASSENT, CONFIRMED, ECHO, alternatives
from dialogist.text.reported_speech.proposals import proposed
from dialogist.text.reported_speech.questions import Question, question_of
from dialogist.text.reported_speech.subjects import is_statement
from dialogist.text.reported_speech.trimming import Trimmed
from dialogist.text.reported_speech.turning import Voice, possessive
from dialogist.text.reported_speech.words import PERSON, PLURAL, SINGULAR_THIRD, THEY, words_of

_COURTEOUS = re.compile(r"(?i)(?:could|would) you (?!be\b|have\b|know\b|see\b|say\b)")
_ANY = re.compile(r"(?i)\b(?:any\w*|yet|ever)\b")
_AGO = r"\w+ (?:days?|weeks?|months?|years?|hours?|minutes?) ago"
_ADVERBIAL = re.compile(
    "(?i)"
    + alternatives(rf"""
    once | twice | (?:\w+|\d+) times | every \w+ | yesterday | today | tomorrow | tonight
    | (?:since|for|until|till|at|on|in|by|with|from|before|after) [^,]+ | (?:this|last|next) \w+
    | {_AGO} | already | very much | a lot | sometimes | often | usually
    """)
)
_DAY = re.compile(
    r"(?i)(?:(?:next|this|last) )?(?:mon|tues|wednes|thurs|fri|satur|sun)days?"
    r"(?: (?:morning|afternoon|evening|night|noon))?"
)
_TIME = re.compile(
    "(?i)"
    + alternatives(rf"""
    (?:at|on|in|by|until|from|since|before|after|around|about) [^,]+ | tomorrow(?: \w+)? | today
    | tonight | yesterday | (?:this|next|last) \w+ | now | right away | soon | {_AGO}
    | (?:twice|once) a \w+
    """)
)
_PLACE = re.compile(
    r"(?i)(?:at|in|on|near|under|behind|next to|beside|from|to|opposite|between) [^,]+"
)
_CLOCK = re.compile(r"(?i)(?:at )?\d[\d:.]*(?: ?[ap]\.?m\.??)?")
_ENDS_IN_A_PLACE = re.compile(r"(?i)\b(?:to|from|at|in|on)$")
_MAYBE = word_set("can could should shall may would")
_NO_FRAGMENT = word_set("do make just have")
_FORBIDS = re.compile(r"(?i)(?:do not|never)\b")
_CHOICE = re.compile(r"(?i)(.*?\b)([\w'-]+(?: [\w'-]+)?) or ([\w'-]+(?: [\w'-]+)?)")
_LENGTH = 10  # words of a short answer
_NOT_SAID = PERSON | PLURAL | THEY | SINGULAR_THIRD


@dataclass(frozen=True, slots=True)
class Exchange:
    """What ``asker`` says to the speaker of the answer, ``answerer``; names as written."""

    asker: str
    answerer: str

    def told(self, asked: Trimmed, answer: Trimmed) -> str | None:
        """The answer as a statement, without its full stop; None where no rule is sure."""
        polarity, rest = self._read(answer)
        if asked.is_empty:
            return None
        if answer.question or len(answer.text.split()) > _LENGTH:
            return None
        if _agrees(answer):
            return self._settled(asked, True)
        if polarity is not None:
            return self._decided(asked, polarity, rest)
        return self._filled(asked, rest)

    def _read(self, answer: Trimmed) -> tuple[bool | None, str]:
        """Yes or no, where the answer begins so or echoes it; and what it says besides."""
        text, polarity = answer.text, answer.yes
        if echo := ECHO.fullmatch(text):
            denies = bool(echo[1]) or "cannot" in text.lower()
            if polarity is not None and polarity == denies:
                return None, text
            return not denies, ""
        if CONFIRMED.fullmatch(text) and polarity is not False:
            return True, ""
        return polarity, text

    # Yes and no

    def _decided(self, asked: Trimmed, yes: bool, rest: str) -> str | None:
        if rest and not (yes and _ADVERBIAL.fullmatch(rest)):
            return None
        frame = Frame(Voice(self.asker, self.answerer))
        if told := self._settled(asked, yes):
            return f"{told} {rest}".strip()
        question = question_of(asked.text, asked.question)
        if question is None or not question.is_yes_no or re.search(r"(?i)\bor\b", asked.text):
            return None
        return self._stated(frame, question, yes, rest)

    def _settled(self, asked: Trimmed, yes: bool) -> str | None:
        """A proposal, a request or an offer taken or not."""
        frame = Frame(Voice(self.asker, self.answerer))
        proposal = proposed(frame, asked)
        if proposal is not None:
            verb = "agrees to" if yes else "declines"
            return f"{self.answerer} {verb} {possessive(self.asker)} suggestion {proposal}"
        if told := self._requested(frame, asked, yes):
            return told.replace(" agrees to confirm ", " confirms ")
        question = question_of(asked.text, asked.question)
        return None if question is None else self._offered(frame, question, yes)

    def _requested(self, frame: Frame, asked: Trimmed, yes: bool) -> str | None:
        request = REQUEST.fullmatch(asked.text)
        if request is not None and (is_request(asked) or _COURTEOUS.match(asked.text)):
            what = request[2].lower() + request[3]
        elif not asked.question and is_order(asked.text) and not _FORBIDS.match(asked.text):
            what = decapitalised(asked.text)
        else:
            return None
        told = frame.turn(what, self.answerer)
        verb = "agrees" if yes else "declines"
        if told is None or ":" in told.text:
            return None
        return f"{self.answerer} {verb} to {told.text}"

    def _offered(self, frame: Frame, question: Question, yes: bool) -> str | None:
        """ "Shall I call you?": an offer taken or not."""
        subject = question.subject.lower()
        if subject == "i" and question.auxiliary == "shall":
            told = frame.turn(question.rest, self.asker)
            verb = "accepts" if yes else "declines"
            if told is not None:
                return f"{self.answerer} {verb} {possessive(self.asker)} offer to {told.text}"
        return None

    def _stated(self, frame: Frame, question: Question, yes: bool, rest: str) -> str | None:
        if question.rest.startswith("not ") or (not question.subject and not yes):
            return None
        if yes and _ANY.search(question.rest):
            return None
        clause = question.clause() if yes else negated(question)
        told = None if clause is None else frame.turn(clause)
        if told is None:
            return None
        text = f"{told.text} {rest}".strip()
        is_own = re.match(r"(?i)you(?:r\b|$)", question.subject)
        if is_own and not told.plural:
            return text
        return f"{self.answerer} says {frame.lowered(text)}"

    # Questions with question words, and choices

    def _filled(self, asked: Trimmed, rest: str) -> str | None:
        if not rest or is_statement(rest) or any(w.low in _NOT_SAID for w in words_of(rest)):
            return None
        if re.search(r"[\"“”?!]|:\s|\.\.", rest) or not asked.question or rest[0] in "'’":
            return None
        words = words_of(rest)
        if not words or is_order(rest) or words[0].low in _NO_FRAGMENT:
            return None
        if told := self._chosen(asked, rest):
            return told
        question = question_of(asked.text, True)
        if question is None or asked.tag:
            return None
        return self._placed(question, rest) or self._quoting(question, rest)

    def _chosen(self, asked: Trimmed, rest: str) -> str | None:
        """ "Tea or coffee?" "Coffee." """
        match = _CHOICE.fullmatch(asked.text)
        if match is None or match[1].strip():
            return None
        options = {match[2].lower(), match[3].lower()}
        bare = re.sub(r"(?i)^(?:the|a) ", "", rest).lower()
        return f"{self.answerer} chooses {rest[0].lower()}{rest[1:]}" if bare in options else None

    def _placed(self, question: Question, rest: str) -> str | None:
        """ "When does it arrive?" "Thursday.": "it arrives on Thursday"."""
        where = _adverbial(question.opening.lower(), rest)
        clause = question.clause()
        if where is None or clause is None or not question.subject:
            return None
        frame = Frame(Voice(self.asker, self.answerer))
        told = frame.turn(clause)
        if told is None or question.auxiliary in _MAYBE or _ENDS_IN_A_PLACE.search(told.text):
            return None
        if question.subject.lower() == "you":
            return f"{told.text} {where}"
        return f"{self.answerer} says {frame.lowered(told.text)} {where}"

    def _quoting(self, question: Question, rest: str) -> str | None:
        told = asked_clause(Frame(Voice(self.asker, self.answerer)), question)
        return None if told is None else f"Asked {told}, {self.answerer} answers “{rest}”"


def _adverbial(opening: str, rest: str) -> str | None:
    """A time or a place as it stands behind a verb: "Thursday" as "on Thursday"."""
    if opening == "what time" and _CLOCK.fullmatch(rest):
        return rest if rest.lower().startswith("at") else f"at {rest}"
    if opening in ("when", "what day"):
        if _DAY.fullmatch(rest) and not rest.lower().startswith(("next", "this", "last")):
            return f"on {rest}"
        return decapitalised(rest) if _TIME.fullmatch(rest) else None
    return decapitalised(rest) if opening == "where" and _PLACE.fullmatch(rest) else None


def _agrees(answer: Trimmed) -> bool:
    """Whether an answer takes up what was proposed or asked for."""
    return answer.yes is not False and bool(ASSENT.fullmatch(answer.text))


def negated(question: Question) -> str | None:
    """The clause of a yes-or-no question as its denial."""
    auxiliary = question.auxiliary
    if not auxiliary or not question.subject:
        return None
    if auxiliary == "can":
        return f"{question.subject} cannot {question.rest}"
    if auxiliary in ("have", "has") and question.rest.startswith("to "):
        return None
    return f"{question.subject} {auxiliary} not {question.rest}".strip()
