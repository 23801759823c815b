"""Where the subject of an English clause ends, and whether words make a whole statement."""

from collections.abc import Sequence

from dialogist.language.reported_speech import words as w
from dialogist.language.reported_speech.morphology import (
    AUXILIARIES,
    NOUNS_TOO,
    is_base,
    is_gerund,
    is_participle,
    is_past,
    is_present,
)
from dialogist.language.reported_speech.words import Word, is_adverb, words_of
from dialogist.language.tokens import OPENERS, word_set

_BE = word_set("am is are was were be been being")
_PREDICATES = word_set("""
still already also available free ready open closed okay ok good bad nice true right wrong possible
easy hard difficult expensive cheap far near here there sure busy late early back included green red
necessary safe full empty clean dirty new old big small enough too so very really not always ever
interested married worried able allowed online valid alright fine delicious spicy hot cold warm
sick aware familiar responsible willing afraid concerned confident correct
eligible certain glad sorry off out up down away well better worse important interesting famous
popular refundable
""")
_PLURAL_SUBJECTS = word_set("i you we they")
_SINGULAR_SUBJECTS = word_set("""
he she it that this nobody somebody someone everybody everyone everything nothing something one who
""")
_PARTICIPLES = word_set("felt left set")
_LOST = word_set("property luggage baggage items item")
_LONGEST = 4


def subject_end(words: Sequence[Word], start: int, auxiliary: str) -> int | None:
    """The place behind the subject that begins at ``start``, in a question; None: not certain."""
    if start >= len(words):
        return None
    low = words[start].low
    if low in w.SUBJECTS - w.DETERMINERS:
        is_else = start + 1 < len(words) and words[start + 1].low == "else"  # "anybody else"
        return start + 1 + is_else
    if low in ("this", "that", "these", "those") and _is_boundary(words, start + 1, auxiliary):
        return start + 1
    return _phrase_end(words, start, auxiliary)


def _phrase_end(words: Sequence[Word], start: int, auxiliary: str) -> int | None:
    """The end of "the red one" or "Ann": where exactly one place is possible."""
    low = words[start].low
    if not (low in w.DETERMINERS or words[start].is_capital):
        return None
    first = start + (2 if low in w.DETERMINERS else 1)
    last = min(len(words), start + _LONGEST + 1)
    for place in range(first, last):
        if words[place].low in w.SUBJECTS - w.DETERMINERS:
            return None  # "the cheapest you have"
        if words[place].low in w.DETERMINERS or words[place].low in w.PREPOSITIONS:
            is_sure = words[place].low != "of" and not _ends_in_a_predicate(words, place)
            return place if auxiliary in _BE and is_sure else None
        if _is_boundary(words, place, auxiliary):
            low = words[place].low
            doubtful = (low in NOUNS_TOO or is_gerund(low)) and place + 1 < len(words)
            later = any(_is_boundary(words, i, auxiliary) for i in range(place + 1, last))
            return None if doubtful and later else place
    return None


def _ends_in_a_predicate(words: Sequence[Word], place: int) -> bool:
    """Whether words like "open" or "leaving" stand behind a place: "was the door to it open"."""
    behind = [word.low for word in words[place + 1 :]]
    return any(low in _PREDICATES or is_gerund(low) or is_participle(low) for low in behind[1:])


def _is_boundary(words: Sequence[Word], place: int, auxiliary: str) -> bool:
    """Whether a predicate may begin here behind this auxiliary."""
    if place >= len(words):
        return False
    low = words[place].low
    if is_adverb(low) and low != "then":
        return True
    if auxiliary in _BE:
        if low in ("what", "where", "why", "how", "who"):
            return True  # "Is that what he does?"
        predicate = low in _PREDICATES or is_gerund(low) or is_participle(low)
        return predicate or low in w.DETERMINERS or low in w.PREPOSITIONS
    if auxiliary in ("have", "has", "had"):
        return is_participle(low)
    return is_base(low)


def is_statement(text: str) -> bool:
    """Whether the words make a clause of their own: a subject and a finite verb behind it."""
    words = words_of(text)
    for i, word in enumerate(words[1:], 1):
        before = words[i - 1].low
        if word.low in AUXILIARIES:
            return before not in ("to", "and") and words[0].low not in AUXILIARIES
        subject = _behind_adverbs(words, i)
        if subject in _PLURAL_SUBJECTS and (is_base(word.low) or is_past(word.low)):
            return True
        if _is_no_verb(words, i):
            continue
        if subject in _SINGULAR_SUBJECTS and (is_present(word.low) or is_past(word.low)):
            return True
        if _is_plain_verb(word.low) and _may_be_subject(words[i - 1]):
            return True
        if is_past(word.low) and _ends_phrase(words, i):
            is_last = i + 1 == len(words) and not word.low.endswith("ed")
            return word.low not in NOUNS_TOO and not is_last
    return False


def _is_no_verb(words: Sequence[Word], i: int) -> bool:
    """Whether a form of a verb is none here.

    "To something called Luxgear", "Ferry lost property", "the puffy bit".
    """
    low = words[i].low
    if i + 1 == len(words):
        return low == "bit"
    following = words[i + 1]
    if low in ("called", "named"):
        return words[i - 1].low.startswith("some") and following.is_capital
    return low == "lost" and following.low in _LOST


def _ends_phrase(words: Sequence[Word], i: int) -> bool:
    """Whether "the old man" or a name stands before ``words[i]``, from the beginning on."""
    is_phrase = i > 1 and words[0].low in w.DETERMINERS | {"few"}
    return (is_phrase or (i == 1 and is_name(words[0]))) and _may_be_subject(words[i - 1])


def _behind_adverbs(words: Sequence[Word], i: int) -> str:
    """The word before ``words[i]`` and the adverbs before it."""
    while i > 1 and is_adverb(words[i - 1].low):
        i -= 1
    return words[i - 1].low


def is_name(word: Word) -> bool:
    """Whether a word at the beginning of a sentence is a name, by its capital."""
    return word.is_capital and word.low not in OPENERS and not is_base(word.low)


def _is_plain_verb(low: str) -> bool:
    """A finite form that is hardly anything else."""
    if is_past(low):
        return not low.endswith("ed") and low not in NOUNS_TOO | _PARTICIPLES
    if is_present(low):
        is_noun = low[:-1] in NOUNS_TOO or low[:-2] in NOUNS_TOO or low == "supplies"
        return not is_noun
    return False


def _may_be_subject(word: Word) -> bool:
    low = word.low
    closed = low in w.DETERMINERS or low in w.PREPOSITIONS or is_adverb(low) or low in ("to", "and")
    return not closed and not is_gerund(low)
