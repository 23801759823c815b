"""A short answer told with what it answers: "Have you restarted it?" "Yes, twice."

Bo has restarted it twice.
"""

import re
from dataclasses import dataclass
from typing import Literal

from dialogist.language.reported_speech.framing import DATES, Frame, decapitalised
from dialogist.language.reported_speech.morphology import is_gerund
from dialogist.language.reported_speech.orders import REQUEST, is_order, is_request
from dialogist.language.reported_speech.person_shift import SpeakerListener, possessive
from dialogist.language.reported_speech.phrases import (
    ASSENT,
    CONFIRMED,
    COURTESY,
    ECHO,
    alternatives,
)
from dialogist.language.reported_speech.proposals import agreed
from dialogist.language.reported_speech.questions import Question, question_of
from dialogist.language.reported_speech.questions import asked as asked_clause
from dialogist.language.reported_speech.stating import is_plain, offered
from dialogist.language.reported_speech.subjects import is_statement
from dialogist.language.reported_speech.trimming import Trimmed
from dialogist.language.reported_speech.words import (
    ADVERBS,
    DETERMINERS,
    PERSON,
    PLURAL,
    PREPOSITIONS,
    SINGULAR_THIRD,
    THEY,
    words_of,
)
from dialogist.language.tokens import word_set

_COURTEOUS = re.compile(r"(?i)(?:could|would) you (?!be\b|have\b|know\b|see\b|say\b)")
_TWO_SENTENCES = re.compile(r"[a-z]{2,}[.!?] ")
_CONDITION = re.compile(r"(?i)(?:only )?(?:if|when|once|as long as|unless) (?!not\b|so\b)[^,]+")
_SOME = re.compile(r"\bsome(thing|one|body)\b")
_NEWS = re.compile(r"(?i)(?:hear|heard|know|see|seen|notice) (?:that|about|what|who|how)\b")
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
_DATE = re.compile(
    r"(?i)(?:(?:the )?\d{1,2}(?:st|nd|rd|th)|(?:january|february|march|april|may|june|july"
    r"|august|september"
    r"|october|november|december) \d{1,2}(?:st|nd|rd|th)?)"
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
_NAME = re.compile(r"(?!I\b)[A-Z][\w'’-]+(?: [A-Z][\w'’-]+)?")
_MEASURES = word_set("cost costs is are was takes take took pay pays paid")
_AMOUNT = re.compile(
    r"(?i)(?:(?:about|around|only|just|under|over|almost|nearly) )?(?:[$€£]?\d|a |an |one|two|three"
    r"|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|(?:twen|thir|for|fif|six|seven|eigh"
    r"|nine)ty|half|free)"
)
_OFTEN = re.compile(
    r"(?i)(?:(?:about|around|only|just|almost) )?(?:(?:once|twice|\w+ times) (?:a|every|per) \w+"
    r"|every [^,]+|daily|weekly|monthly)"
)
_BEFORE_TIME = re.compile(r"(?i)(?:by|from|until|till|before|after|at) ")
# "Tea or coffee?", "Cleaning Tiffany?": who does it is not said.
_LEAVES_OPEN = re.compile(r"(?i)\bor\b|^\w+ing\b")
_BARE_NUMBER = re.compile(r"\d{1,2}")
_HAVING = word_set("""
want wants need needs like cancel order ordered buy bought have has see prefer prefers recommend
suggest use uses eat ate book booked lose lost bring take took
""")
_PRONOUNS = re.compile(r"(?i)\b(?:that|this|it|one|then|now|whole|all)\b")
_FRAGMENT = re.compile(r"(?i)(what about |how about )?((?:the|a|an|my|your|our) \w+(?: \w+)?)")
_IT_FIRST = re.compile(
    r"(?i)(?:it|that|they) (?=(?:will|is|are|has|have|can|cannot|comes?|costs?|starts?|arrives?) )"
)
_IT_IS = re.compile(r"(?i)(?:it|that) (?:is|was) (?=\S)")
_IT_WORDS = word_set("it that this they them these those he she")
_TAKES_UP = re.compile(
    r"(?i)(?:fine|ok|okay|k|kk|great|perfect|deal|good|sure|yes|yeah|yep|alright|all right"
    r"|lovely|cool|agreed"
    r"|that is (?:fine|great|good|perfect)|that['’]?s (?:fine|great|good|perfect|ok|okay)"
    r"|sounds good|works"
    r"|wonderful|excellent|done)\b"
)
_SPAN = re.compile(r"(?i)(?:until|till|since|for|from) [^,]+")
_LATER = re.compile(r"(?i)right now|now|yet|today|at the moment|this time")
_NOT_NOW = re.compile(rf"(?i)not ({_LATER.pattern[4:]})")
_HOURS = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|noon|midnight"
_TIMES = re.compile(
    rf"(?i)(?:(?:at|on|by|around|in|next|this|half|past|quarter|to|o'clock|the|from|until|till|morning|afternoon"
    rf"|evening|night|tomorrow|tonight|today|days?|weeks?|weekend|[ap]\.?m\.?|{_HOURS}|\d[\d:.]*(?:[ap]m|st|nd|rd|th)?"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day)(?:,? |$))+"
)
_JOINT = re.compile(r"(?i)(?:are (?:\w+ing|still) |should )")
_SOME_DAY = re.compile(r"\b(?:\w+day|tomorrow|tonight)s?\b")
_SOME_HOUR = re.compile(rf"\b(?:{_HOURS}|\d[\d:.]*(?:[ap]m)?)\b")
_LEADING = re.compile(r"(?:since|for|until|till|at|on|in|by|with|from|before|after) ")
_A_DAY_OR_HOUR = re.compile(
    rf"(?i)\b(?:\w+day|tomorrow|tonight|today|{_HOURS}|\d[\d:.]*(?:[ap]m|st|nd|rd|th)?)\b"
)
_LENGTH = 10  # words of a short answer
# Questions that read as the heading of their answer.
_HEADING = re.compile(r"(?i)(?:when|where|what|which|how (?:long|much|many))\b")
_NOT_SAID = PERSON | PLURAL | THEY | SINGULAR_THIRD


@dataclass(frozen=True, slots=True)
class Exchange:
    """What ``asker`` says to the speaker of the answer, ``answerer``; names as written.

    ``two``: nobody else takes part; ``several``: more than one thing was asked.
    """

    asker: str
    answerer: str
    two: bool = True
    several: bool = False

    def agreement(self, asked: Trimmed, answer: Trimmed, words: str) -> str | None:
        """A time or an offer that is taken up; ``words``: the answer as it was said."""
        takes_up = _TAKES_UP.match(words)
        if answer.question or answer.yes is False or not takes_up:
            return None
        if asked.question and takes_up[0].lower() in ("yes", "yeah", "yep"):
            return None  # it only confirms
        is_assent = answer.is_empty or _agrees(answer) or bool(CONFIRMED.fullmatch(answer.text))
        if is_assent and _TIMES.fullmatch(asked.text) and _A_DAY_OR_HOUR.search(asked.text):
            return f"{self._both()} agree on {_small_time(asked.text)}"
        frame = Frame(SpeakerListener(self.asker, self.answerer))
        if is_assent and (offer := offered(frame, asked.text)):
            return f"{self.asker} will {offer}"
        what = (
            answer.text if _TIMES.fullmatch(answer.text) else words[takes_up.end() :].strip(" ,.!")
        )
        if _BARE_NUMBER.fullmatch(what) or _BEFORE_TIME.match(what):
            return None  # "agree on 8", "agree on by Monday"
        if _TIMES.fullmatch(what) and _A_DAY_OR_HOUR.search(what):
            said = {word.low for word in words_of(asked.text)}
            if all(word.low in said for word in words_of(what)):
                return f"{self._both()} agree on {_small_time(what)}"
        return None

    def _both(self) -> str:
        return "they" if self.two else f"{self.asker} and {self.answerer}"

    def told(self, asked: Trimmed, answer: Trimmed) -> str | None:
        """The answer as a statement, without its full stop; None where no rule is sure."""
        if asked.is_empty or answer.question or len(answer.text.split()) > _LENGTH:
            return None
        if _TWO_SENTENCES.search(asked.text):
            return None
        if told := self._about(asked, answer.text):
            return told
        polarity, rest = self._read(answer)
        if _agrees(answer):
            return self._settled(asked, True)
        if self.several and not (polarity and rest):
            return None  # of which question?
        if polarity is not None:
            return self._decided(asked, polarity, rest)
        return self._implied(asked, rest) or self._filled(asked, _named(asked, rest))

    def _implied(self, asked: Trimmed, rest: str) -> str | None:
        """A yes or no that is not said: "Will you call?" "Tomorrow.", "Not yet."."""
        if asked.question and _CONDITION.fullmatch(rest):
            return self._decided(asked, True, rest)
        if asked.question and (when := _when(rest)):
            return self._decided(asked, True, when)
        not_now = _NOT_NOW.fullmatch(rest)
        return None if not_now is None else self._decided(asked, False, not_now[1].lower())

    def _about(self, asked: Trimmed, answer: str) -> str | None:
        """ "And a new card?" "It comes on Friday.": what "it" is was asked about."""
        fragment = _FRAGMENT.fullmatch(asked.text)
        if fragment is None or not asked.question or not (asked.joined or fragment[1]):
            return None
        said = _IT_FIRST.match(answer)
        if said is None or any(w.low in _IT_WORDS for w in words_of(answer[said.end() :])):
            return None
        is_plural = fragment[2].endswith("s") and not fragment[2].endswith("ss")
        if is_plural != (said[0].lower() == "they "):
            return None
        what = Frame(SpeakerListener(self.asker, self.answerer)).in_third_person(fragment[2])
        frame = Frame(SpeakerListener(self.answerer, self.asker))
        told = frame.in_third_person(f"the {answer[said.end() :]}")
        if what is None or told is None or told.plural or not is_statement(f"It {told.text[4:]}"):
            return None
        return f"{what.text} {told.text[4:]}"

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
        if yes and _CONDITION.fullmatch(rest):
            told = self._decided(asked, True, "")
            frame = Frame(SpeakerListener(self.answerer, self.asker))
            condition = frame.in_third_person(decapitalised(rest), None, self.answerer)
            if told is None or condition is None or condition.plural:
                return None
            return f"{told} {condition.text}"
        is_behind = _ADVERBIAL.fullmatch(rest) or _when(rest) if yes else _LATER.fullmatch(rest)
        if rest and not is_behind:
            return None
        if yes and rest and (repeated := _said_twice(asked.text, rest)):
            if repeated == "other":
                return None
            rest = ""
        frame = Frame(SpeakerListener(self.asker, self.answerer))
        if told := self._settled(asked, yes):
            return f"{told} {decapitalised_phrase(rest)}".strip()
        question = question_of(asked.text, asked.question)
        if question is None or not question.is_yes_no or _LEAVES_OPEN.search(asked.text):
            return None
        return self._stated(frame, question, yes, rest)

    def _settled(self, asked: Trimmed, yes: bool) -> str | None:
        """A proposal, a request or an offer taken or not."""
        frame = Frame(SpeakerListener(self.asker, self.answerer))
        if what := agreed(frame, asked):
            if yes:
                who = "They agree" if self.two else f"{self.answerer} agrees"
                return f"{who} {what}"
            return f"{self.answerer} declines {what}" if what.startswith("to ") else None
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
        told = frame.in_third_person(what, self.answerer, self.asker, self.answerer)
        verb = "agrees" if yes else "declines"
        if told is None or ":" in told.text:
            return None
        return f"{self.answerer} {verb} to {told.text}"

    def _offered(self, frame: Frame, question: Question, yes: bool) -> str | None:
        """ "Shall I call you?": an offer taken or not."""
        subject = question.subject.lower()
        if subject == "i" and question.auxiliary == "shall":
            told = frame.in_third_person(question.rest, self.asker, self.asker)
            if told is not None and yes:
                return f"{self.asker} will {told.text}"
            rest = re.sub(r"(?i) (?:for )?you\b", "", question.rest, count=1)
            told = frame.in_third_person(rest, self.asker, self.asker, self.answerer)
            if told is not None:
                return f"{self.answerer} declines {possessive(self.asker)} offer to {told.text}"
        return None

    def _stated(self, frame: Frame, question: Question, yes: bool, rest: str) -> str | None:
        if question.rest.startswith("not ") or (not question.subject and not yes):
            return None
        if not yes and _NEWS.match(question.rest):
            return None  # "Did you hear that she sold it?" "No!"
        if yes and _ANY.search(question.rest):
            return None
        clause = question.clause() if yes else negated(question)
        if clause is not None and not yes:
            clause = _SOME.sub(r"any\1", clause)
        told = None if clause is None else frame.in_third_person(clause)
        if told is None:
            return None
        are_both = yes and self._are_both(question)
        if told.plural and not are_both:
            return None
        text = f"{told.text} {decapitalised(rest) if rest else ''}".strip()
        if question.subject.lower() == "i":
            text = text.replace(" could ", " can ", 1)
        is_own = re.match(r"(?i)you(?:r\b|$)", question.subject)
        is_allowed = question.subject.lower() == "i" and question.auxiliary in (
            "can",
            "could",
            "may",
        )
        return text if is_own or is_allowed or are_both else self._said(frame, text)

    def _are_both(self, question: Question) -> bool:
        """Whether "we" are the two who speak: of a customer it may be a family or a firm."""
        roles = (
            SpeakerListener(self.asker, self.answerer),
            SpeakerListener(self.answerer, self.asker),
        )
        is_joint = _JOINT.match(f"{question.auxiliary} {question.rest}")
        is_service = any(Frame(one).is_adviser for one in roles)
        is_we = self.two and question.subject.lower() == "we"
        return bool(is_we and is_joint and not is_service)

    def _said(self, frame: Frame, text: str) -> str:
        """What the answerer says of others, with the name where it may be an opinion."""
        is_adviser = Frame(SpeakerListener(self.answerer, self.asker)).is_adviser
        is_own = text.startswith(self.answerer)
        if is_own or is_plain(text, is_adviser):
            return text
        return f"{self.answerer}: {frame.lowered(text)}"

    # Questions with question words, and choices

    def _filled(self, asked: Trimmed, rest: str) -> str | None:
        if not asked.question or asked.tag or not _is_phrase(rest):
            return None
        question = question_of(asked.text, True)
        if question is None:
            return None
        if told := self._wanted(question, rest):
            return told
        if any(word.low in _NOT_SAID for word in words_of(rest)):
            return None
        return self._placed(question, rest) or self._quoting(question, rest)

    def _wanted(self, question: Question, rest: str) -> str | None:
        """ "What did you order?" "My lunch.": the object of what was done, or who did it."""
        clause, opening = question.clause(), question.opening.lower()
        answer = Frame(SpeakerListener(self.answerer, self.asker)).in_third_person(
            rest, self.answerer, self.answerer
        )
        if clause is None or answer is None or answer.plural:
            return None
        if opening == "who" and not question.subject and _NAME.fullmatch(rest):
            told = Frame(SpeakerListener(self.asker, self.answerer)).in_third_person(clause)
            return None if told is None or told.plural else f"{rest} {told.text}"
        told = Frame(SpeakerListener(self.asker, self.answerer)).in_third_person(clause)
        if told is None or told.plural:
            return None
        if not question.subject:
            return f"{answer.text} {told.text}" if _may_be(question, answer.text) else None
        if not _takes_object(opening, clause, rest):
            return None
        return self._finished(question, f"{told.text} {decapitalised_phrase(answer.text)}")

    def _finished(self, question: Question, text: str) -> str:
        frame = Frame(SpeakerListener(self.asker, self.answerer))
        return text if question.subject.lower() == "you" else self._said(frame, text)

    def _placed(self, question: Question, rest: str) -> str | None:
        """ "When does it arrive?" "Thursday.": "it arrives on Thursday"."""
        opening = question.opening.lower()
        if opening == "how long" and question.subject:
            return self._lasting(question, rest)
        where = _adverbial(opening, rest)
        clause = question.clause()
        if where is None or clause is None or not question.subject:
            return None
        frame = Frame(SpeakerListener(self.asker, self.answerer))
        told = frame.in_third_person(clause)
        maybe = question.auxiliary in _MAYBE and question.auxiliary != "would"
        if told is None or maybe or _ENDS_IN_A_PLACE.search(told.text):
            return None
        return self._finished(question, f"{told.text} {where}")

    def _lasting(self, question: Question, rest: str) -> str | None:
        """ "How long do you need it?" "Until Friday.": "needs it until Friday"."""
        clause = (question.clause() or "").removesuffix(" for")
        told = Frame(SpeakerListener(self.asker, self.answerer)).in_third_person(clause)
        if not clause or told is None or told.plural or question.auxiliary in _MAYBE - {"will"}:
            return None
        if _SPAN.fullmatch(rest):
            behind = decapitalised(rest)
        elif _AMOUNT.match(rest) and words_of(clause)[-1].low not in _MEASURES:
            behind = f"for {decapitalised(rest)}"
        else:
            return None
        return self._finished(question, f"{told.text} {behind}")

    def _quoting(self, question: Question, rest: str) -> str | None:
        """ "When it started: “Saturday, after swimming”"."""
        if not _HEADING.match(question.opening) or not question.subject:
            return None
        told = asked_clause(Frame(SpeakerListener(self.asker, self.answerer)), question)
        if told is None or told.endswith((" is", " was", " are", " were")):
            return None
        if COURTESY.fullmatch(rest) or _may_call(question, rest):
            return None
        return f"{told[0].upper()}{told[1:]}: “{rest}”"


def _small_time(time: str) -> str:
    """ "Half one" as "half one"; weekdays and months keep their capital."""
    return time if words_of(time)[0].low in DATES else decapitalised(time)


def _may_be(question: Question, answer: str) -> bool:
    """Whether an answer can be the subject of its question: "Which items were spoiled?"."""
    if question.opening.split()[0].lower() not in ("which", "what") or question.opening == "what":
        return False
    first, plural = words_of(answer)[0].low, question.auxiliary in ("are", "were", "have")
    if first not in DETERMINERS or question.auxiliary not in ("is", "are", "was", "were"):
        return False
    return plural == (" and " in answer or re.search(r"[^s]s$", answer) is not None)


def _is_answer_of_thing(asked: str) -> bool:
    """Whether a question asks when, where or how much something is: "it" is that thing."""
    question = question_of(asked, True)
    return (
        question is not None
        and question.auxiliary in ("is", "was", "does")
        and question.opening.lower()
        in ("when", "where", "how much", "what", "what time", "how old")
        and question.subject.lower() not in ("", "it", "that", "this", "he", "she", "there")
        and (question.auxiliary != "does" or question.rest in ("cost", "start", "open", "close"))
    )


def _named(asked: Trimmed, rest: str) -> str:
    """An answer without "it is", where "it" is what was asked about."""
    said = _IT_IS.match(rest)
    return rest[said.end() :] if said and _is_answer_of_thing(asked.text) else rest


def _may_call(question: Question, rest: str) -> bool:
    """Whether an answer may only name who hears it: "I'm sorry, madam", "Wonderful, Richard!"."""
    is_name = rest.isalpha() and rest[0].isupper() and rest.lower() not in DATES
    return rest.lower() in ("madam", "sir", "ma'am") or (
        is_name and question.opening.lower() in ("what", "how", "when")
    )


def _is_phrase(rest: str) -> bool:
    """Whether an answer is a phrase that can stand behind a verb."""
    if not rest or is_statement(rest) or re.search(r"[\"“”?!]|:\s|\.\.", rest) or rest[0] in "'’":
        return False
    if rest.count("(") != rest.count(")"):
        return False
    words = words_of(rest)
    return bool(words) and not is_order(rest) and words[0].low not in _NO_FRAGMENT


def _takes_object(opening: str, clause: str, rest: str) -> bool:
    """Whether an answer may stand right behind the clause of its question."""
    last, first = words_of(clause)[-1].low, words_of(rest)[0].low
    is_price = opening == "what" and last in ("cost", "costs")
    if is_price or (opening in ("how much", "how long", "how old") and last in _MEASURES):
        return _AMOUNT.match(rest) is not None
    if opening not in ("what", "which") or first in PREPOSITIONS or is_gerund(first):
        return False
    if last in ("is", "was"):
        return True
    return last in _HAVING and (first in DETERMINERS or rest[0].isdigit())


def _said_twice(asked: str, rest: str) -> Literal["same", "other", ""]:
    """Whether a question has what stands behind "yes": the same, or another one of its kind.

    "At five?" "Yes, at five." is the same; "At five?" "Yes, at six." is another one.
    """
    low, own = asked.lower().rstrip(" ?.!"), rest.lower().strip(" .,!")
    bare = _LEADING.sub("", own)
    if re.search(rf"(?<!\w){re.escape(bare)}$", low):
        return "same"
    for kind in (_SOME_DAY, _SOME_HOUR):
        if kind.search(low) and kind.search(own):
            return "other"
    leading = _LEADING.match(own)
    is_time = _SOME_DAY.search(own) or _SOME_HOUR.search(own)
    if leading and not is_time and re.search(rf"\b{leading[0].strip()} ", low):
        return "other"
    return ""


def _when(rest: str) -> str:
    """An answer that says when, as it stands behind a verb; empty: it is no such answer."""
    if not (_DAY.fullmatch(rest) or _TIME.fullmatch(rest)) or _PRONOUNS.search(rest):
        return ""
    return _adverbial("when", rest) or ""


def decapitalised_phrase(text: str) -> str:
    """``text`` with a small first letter where it begins with an article or the like."""
    if not text:
        return text
    first = words_of(text)[0].low
    if first not in DETERMINERS | PREPOSITIONS | ADVERBS and not _AMOUNT.match(first):
        return text
    return decapitalised(text)


def _adverbial(opening: str, rest: str) -> str | None:
    """A time or a place as it stands behind a verb: "Thursday" as "on Thursday"."""
    if opening == "what time" and _CLOCK.fullmatch(rest):
        return rest if rest.lower().startswith("at") else f"at {rest}"
    if opening == "how often":
        return decapitalised(rest) if _OFTEN.fullmatch(rest) else None
    if opening in ("when", "what day"):
        if _DATE.fullmatch(rest):
            return f"on {decapitalised_phrase(rest)}"
        if _DAY.fullmatch(rest) and not rest.lower().startswith(("next", "this", "last")):
            return f"on {rest}"
        parts = rest.split(", ")
        is_time = all(_TIME.fullmatch(part) for part in parts) and len(parts) < 3
        return decapitalised(rest) if is_time else None
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
