"""Questions in the third person: "Where are you going?" is "Ann asks where Bo is going".

A question becomes an opening ("whether", or its question words), a subject, an auxiliary and the
rest, each in the words of the speaker; only then are they turned into the third person.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from dialogist.language.reported_speech.framing import (
    DATES,
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
    is_gerund,
    is_participle,
    is_past,
    is_present,
    past_of,
    present_of,
)
from dialogist.language.reported_speech.subjects import is_statement, subject_end
from dialogist.language.reported_speech.trimming import Trimmed
from dialogist.language.reported_speech.words import (
    DETERMINERS,
    PREPOSITIONS,
    SUBJECTS,
    SUBORDINATORS,
    Word,
    is_adverb,
    words_of,
)
from dialogist.language.tokens import word_set

_WH = word_set("what which who whom whose where when why how")
_BE = word_set("am is are was were")
_TWO_QUESTIONS = re.compile(
    r"(?i)\b(?:and|or) (?:is|are|was|were|do|does|did|can|could|will|would)\b"
)
# "The cough has been how long now?"
_ENDS_IN_A_WH = re.compile(
    r"(?i) (?:what|who|where|when|why|how(?: \w+)?)(?: (?:now|again|exactly|then|altogether))?$"
)
# "Just what you wanted, isn't it?", "The one opposite, now you have the time, right?"
_ONLY_WHAT = re.compile(r"(?i)(?:just|exactly) (?:what|who|where|how)\b|[^,]+, now you\b")
# "What am I supposed to do, leave one behind?"
_ADDED = re.compile(r"(?i)supposed to \w+, \w+ ")
_LONGEST = 6  # words of a question without a verb
_NOT_ABOUT = AUXILIARIES | SUBORDINATORS | SUBJECTS - DETERMINERS | word_set("no what then how why")
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
_HOW_MUCH = 2  # words
_FARES = word_set("going doing feeling getting coming holding keeping sleeping eating")
_WANTING = word_set("want need like remember know have got care mind fancy")


@dataclass(frozen=True, slots=True)
class Question:
    """``opening`` (whether, when, what time ...) + ``subject`` + ``auxiliary`` + ``rest``.

    The auxiliary of "do you go" is "do". Of "who pays" the subject is empty.
    """

    opening: str
    subject: str
    auxiliary: str
    rest: str

    @property
    def is_yes_no(self) -> bool:
        return self.opening == "whether"

    def clause(self) -> str | None:
        """The clause as the speaker would say it in a statement: "you go", "Ben went"."""
        verb = self._verb()
        return None if verb is None else " ".join(f"{self.subject} {verb}".split())

    def indirect(self) -> str | None:
        """The clause behind its opening: "whether you go"."""
        clause = self.clause()
        return None if clause is None else f"{self.opening} {clause}"

    def _verb(self) -> str | None:
        auxiliary = self.auxiliary
        if auxiliary not in ("do", "does", "did") or self.rest.startswith("not "):
            return f"{auxiliary} {self.rest}"
        verb, _, behind = self.rest.partition(" ")
        if verb.lower() == "last" and is_base(behind.partition(" ")[0]):
            return None  # "when did you last eat"
        if auxiliary == "do":
            return self.rest if is_base(verb) else None
        form = past_of(verb) if auxiliary == "did" else present_of(verb)
        return None if form is None else f"{form} {behind}"


def question_of(text: str, marked: bool) -> Question | None:
    """The parts of a question; ``marked``: it ends in a question mark. None: not certain."""
    words = words_of(text)
    if not words or len(words) < 2 or _TWO_QUESTIONS.search(text):
        return None
    first = words[0].low
    if first in AUXILIARIES:
        # "Should it rain", "Don't you say"
        is_condition = first in ("should", "had", "were") or (first, words[1].low) == ("do", "not")
        return None if is_condition and not marked else _inverted(text, words, 0, "whether")
    if first in _WH:
        return _open_question(text, words, marked)
    return _without_auxiliary(text, words) if marked else None


def _inverted(text: str, words: Sequence[Word], place: int, opening: str) -> Question | None:
    """An auxiliary at ``place``, its subject behind it."""
    auxiliary, behind = words[place].low, place + 1
    negative = behind < len(words) and words[behind].low == "not"
    end = subject_end(words, behind + negative, auxiliary)
    if end is None or "," in text[words[place].end : words[end - 1].end]:
        return None
    rest = text[words[end - 1].end :].strip()
    if negative:
        rest = "not " + rest
    elif not rest and auxiliary not in _BE:
        return None
    if auxiliary in ("do", "does", "did") and not _has_base(rest):
        return None
    if auxiliary in ("have", "has", "had") and not _is_had(rest):
        return None  # "Have it at ten", "Had it before?"
    subject = text[words[behind + negative].start : words[end - 1].end]
    return Question(opening, subject, auxiliary, rest)


def _has_base(rest: str) -> bool:
    """Whether a base form stands first, behind adverbs."""
    lows = [word.low for word in words_of(rest.removeprefix("not "))]
    while lows and is_adverb(lows[0]):
        lows.pop(0)
    return bool(lows) and is_base(lows[0])


def _is_had(rest: str) -> bool:
    """Whether a participle or a noun phrase stands first, behind adverbs."""
    lows = [word.low for word in words_of(rest.removeprefix("not "))]
    while len(lows) > 1 and is_adverb(lows[0]):
        lows.pop(0)
    return bool(lows) and (
        is_participle(lows[0])
        or lows[0].endswith("ed")
        or lows[0] in DETERMINERS | {"anything", "something", "anyone", "to"}
        or lows[0][0].isdigit()
    )


def _open_question(text: str, words: Sequence[Word], marked: bool) -> Question | None:
    """A question with question words: "what time do you go", "who pays", "where is the key"."""
    place = next((i for i, word in enumerate(words[1:6], 1) if word.low in AUXILIARIES), None)
    if place is None or not _is_opening(words[:place]):
        return _who(text, words) if marked else None
    opening = _small_first(text[: words[place - 1].end])
    if place + 1 >= len(words):
        return None
    if not marked and words[place + 1].low not in SUBJECTS | DETERMINERS:
        return None
    if words[place].low in _BE and (moved := _moved_to_end(text, words, place, opening)):
        return moved
    asked = _inverted(text, words, place, opening)
    if asked is not None and opening == "how" and asked.auxiliary in _BE:
        first = asked.rest.split(" ", 1)
        if is_gerund(first[0]) and first[0] not in _FARES and len(first) > 1:
            return None  # "How is the new hearing aid?"
    if asked is not None or not marked:
        return asked
    return _of_unknown_subject(text, words, place, opening)


def _is_opening(words: Sequence[Word]) -> bool:
    """Whether these words may stand before the auxiliary of a question."""
    if len(words) == 1:
        return True
    if words[0].low in ("where", "when", "why", "who"):
        return False
    return not any(word.low in SUBJECTS or word.low in PREPOSITIONS - {"of"} for word in words[1:])


def _moved_to_end(text: str, words: Sequence[Word], place: int, opening: str) -> Question | None:
    """ "What is the price?": "what the price is"."""
    behind = words[place + 1 :]
    if behind[0].low not in DETERMINERS or len(behind) > 7 or "," in text:
        return None
    if opening == "why" and any(word.low in PREPOSITIONS for word in behind):
        return None  # "why the piano is in the hallway"
    if any(word.low in SUBJECTS - DETERMINERS for word in behind):
        return None  # "what's the cheapest you've got"
    if (len(words[:place]) > 1 and opening.lower() != "how much") or any(
        is_gerund(word.low) or _is_plain_participle(word.low) for word in behind
    ):
        return None
    if any(
        word.low in AUXILIARIES or word.low in ("still", "so", "not", "like", "for")
        for word in behind
    ):
        return None
    if (words[place].low == "was" and words[0].low == "who") or (
        behind[0].low in ("that", "this") and len(behind) > 1
    ):
        return None
    return Question(opening, text[behind[0].start :], words[place].low, "")


def _is_plain_participle(low: str) -> bool:
    """Whether a word is a participle and no noun, as "cost" is one."""
    return (is_participle(low) or low.endswith("ed")) and low not in NOUNS_TOO


def _of_unknown_subject(
    text: str, words: Sequence[Word], place: int, opening: str
) -> Question | None:
    """ "Who can go?", "what is wrong with it?": the question words are the subject."""
    if words[0].low not in ("who", "what", "which", "how"):
        return None
    following = words[place + 1]
    if following.low in SUBJECTS or following.low in DETERMINERS or following.is_capital:
        return None
    if following.low in ("all", "both"):
        return None
    if words[place].low in ("do", "does", "did"):
        return None
    if words[0].low == "how" and place <= _HOW_MUCH:
        return None  # "How much are business flights?"
    return Question(opening, "", words[place].low, text[words[place].end :].strip())


def _who(text: str, words: Sequence[Word]) -> Question | None:
    """ "Who takes it?", "what happened?": a verb without an auxiliary."""
    if words[0].low not in ("who", "what") or not (
        is_present(words[1].low) or is_past(words[1].low)
    ):
        return None
    return Question(words[0].low, "", words[1].low, text[words[1].end :].strip())


def _without_auxiliary(text: str, words: Sequence[Word]) -> Question | None:
    """ "Coming tonight?", "want some?", "you are Ben?"."""
    first = words[0].low
    if (
        first in _WANTING
        and len(words) > 1
        and words[1].low in DETERMINERS | {"to", "something", "anything"}
    ):
        return Question("whether", "you", "have" if first == "got" else "do", _small_first(text))
    if is_gerund(first) and not (
        words[-1].low in _WH
        or (words[1].is_capital and words[1].low not in DATES)  # "Cleaning Tiffany?"
        or text.lower().startswith(
            ("being", "meaning", "speaking", "building", "thinking", "confirming", "checking")
        )
    ):
        return Question("whether", "you", "are", _small_first(text))
    if (
        "," in text
        or first in ("any", "no")
        or is_gerund(first)
        or is_base(first)
        or first in PREPOSITIONS | _WH
        or _ENDS_IN_A_WH.search(text)
    ):
        return None
    if first.startswith(("any", "every", "some", "no")) and words[1].low in SUBJECTS:
        return None  # "Anything I've forgotten?"
    if is_statement(text) and first not in AUXILIARIES | SUBORDINATORS:
        return Question("whether", "", "", text)
    return None


def _small_first(text: str) -> str:
    return text[0].lower() + text[1:]


def question(frame: Frame, said: Trimmed) -> Verdict:
    """Whether the sentence is a question, and how it is told."""
    if said.tag:
        is_whole = is_statement(said.text) and not _ONLY_WHAT.match(said.text)
        return True, frame.behind("asks whether", said.text) if is_whole else None
    low = said.text.lower()
    if low.startswith("i wonder"):
        return NOT_MINE
    if low.startswith(("whatever", "or ")):
        return QUOTE
    if told := _wished(frame, said.text):
        return True, told
    parts = question_of(said.text, said.question)
    if parts is None:
        return said.question, _fragment(frame, said) if said.question else None
    told = asked(frame, parts)
    return True, None if told is None else f"{frame.speaker} asks {told}"


def _wished(frame: Frame, text: str) -> str | None:
    """What the speaker would like to do, get or be told to do: "asks to pay", "asks for tea"."""
    if match := _SHALL_I.fullmatch(text):
        if not is_base(match[1].lower()) or re.search(r"(?i)\bor\b", text):
            return None
        return frame.behind("asks whether to", match[1].lower() + match[2], frame.speaker)
    if match := _MAY_I.fullmatch(text):
        if match[1].lower() == "ask":
            return frame.behind("asks", match[2])
        return frame.behind("asks to", match[1].lower() + " " + match[2], frame.speaker)
    if (match := _FOR_ME.fullmatch(text)) and not is_statement(match[1]):
        return frame.behind("asks for", match[1])
    return None


def asked(frame: Frame, parts: Question) -> str | None:
    """A question as a clause: "whether Bo is coming"."""
    clause = parts.clause()
    if clause is not None and _ADDED.search(clause):
        return None
    told = (
        None
        if clause is None
        else frame.in_third_person(frame.lowered(clause), None, frame.speaker)
    )
    opening = frame.in_third_person(parts.opening, None, frame.speaker)
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
