"""Questions told as clauses: "Where are you going?" asked by Ann is "where Bo is going".

A question becomes an opening ("whether", or its question words), a subject, an auxiliary and the
rest, each in the words of the speaker; only then are they turned into the third person.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from dialogist.text.listing import word_set
from dialogist.text.reported_speech.morphology import (
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
from dialogist.text.reported_speech.subjects import is_statement, subject_end
from dialogist.text.reported_speech.words import (
    DETERMINERS,
    PREPOSITIONS,
    SUBJECTS,
    SUBORDINATORS,
    Word,
    is_adverb,
    words_of,
)

_WH = word_set("what which who whom whose where when why how")
_BE = word_set("am is are was were")
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
        if auxiliary == "do":
            return self.rest if is_base(verb) else None
        form = past_of(verb) if auxiliary == "did" else present_of(verb)
        return None if form is None else f"{form} {behind}"


def question_of(text: str, marked: bool) -> Question | None:
    """The parts of a question; ``marked``: it ends in a question mark. None: not certain."""
    words = words_of(text)
    if not words or len(words) < 2:
        return None
    first = words[0].low
    if first in AUXILIARIES:
        return _inverted(text, words, 0, "whether")
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
    subject = text[words[behind + negative].start : words[end - 1].end]
    return Question(opening, subject, auxiliary, rest)


def _has_base(rest: str) -> bool:
    """Whether a base form stands first, behind adverbs."""
    lows = [word.low for word in words_of(rest.removeprefix("not "))]
    while lows and is_adverb(lows[0]):
        lows.pop(0)
    return bool(lows) and is_base(lows[0])


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
    if len(words[:place]) > 1 or any(
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
    if words[place].low in ("do", "does", "did"):
        return None
    if words[0].low == "how" and place == 1:
        return None
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
    if is_gerund(first) and not text.lower().startswith(
        ("being", "meaning", "speaking", "building", "thinking", "confirming", "checking")
    ):
        return Question("whether", "you", "are", _small_first(text))
    if (
        "," in text
        or first in ("any", "no")
        or is_gerund(first)
        or is_base(first)
        or first in PREPOSITIONS | _WH
    ):
        return None
    if is_statement(text) and first not in AUXILIARIES | SUBORDINATORS:
        return Question("whether", "", "", text)
    return None


def _small_first(text: str) -> str:
    return text[0].lower() + text[1:]
