"""Whether "it", "that" or "she" in a statement needs what was said before."""

import re
from collections.abc import Sequence

from dialogist.language.reported_speech import words as w
from dialogist.language.reported_speech.morphology import (
    AUXILIARIES,
    is_gerund,
    is_past,
    is_present,
)
from dialogist.language.reported_speech.phrases import alternatives
from dialogist.language.reported_speech.third_persons import NOUNS
from dialogist.language.reported_speech.words import Word, is_adverb, words_of
from dialogist.language.tokens import listed, word_set

_OPENS = w.DETERMINERS - word_set("any no this that these those") | word_set(
    "two three four five six seven eight nine ten both several another"
)
_LONGEST = 4  # words behind the determiner
_NO_THING = word_set("""
time times way lot bit moment day days week weeks month months year years hour hours minute minutes
second morning afternoon evening night weekend euros pounds dollars miles same one ones meantime
luck favour favor home
""")
_CLOSED = AUXILIARIES | w.PREPOSITIONS | w.SUBJECTS | w.PERSON | w.PLURAL | w.THEY
_STOPS = _CLOSED | w.SINGULAR_THIRD | w.SUBORDINATORS | w.BEFORE_A_SUBJECT
_VERBS = listed("""
stop start take give given do did done use want need keep leave try change check have buy get bring
send pay make like stops takes gives does uses wants needs keeps leaves tries has buys gets
""")
# "Stop that five days before", but not "take that train".
_OBJECT = (
    f"(?:{'|'.join(f'(?<={verb} )' for verb in _VERBS)})that"
    r"(?=$|\s*[,.;!?]|\s(?:up|off|out|back|too|again|yet|already|today|tonight|tomorrow|now|then"
    r"|since|until|till|by|on|at|for|in|with|before|after|instead|first|five|\d+)\b)"
)
_PRONOUN = re.compile(
    rf"(?i){_OBJECT}|"
    + alternatives(r"""
    ^(?:if (?:not|so)|otherwise|or else|in that case)\b
    | \bit\b(?!['’]) | \bits\b | \bthey\b | \bthem\b | \btheirs?\b | \bhe\b | \bshe\b | \bhim\b
    | \bhis\b | \bhers?\b
    | \b(?:this|these|those|that)(?= (?:is|are|was|were|will|would|can|could|may|might|has|had|does
    |did|should|must|cannot|works?|one|ones|[a-z]+(?:ed|es))\b|$|\s*[,.;!?])
    | (?<=before )that | (?<=after )that | (?<=like )that | (?<=about )that | (?<=with )that
    | (?<=for )that | (?<=to )that | (?<=do )that | (?<=of )that | (?<=than )that
    | \bthere\b(?! (?:is|are|was|were|will|has|have|might|may|can|could|would|'s|seems?)\b)
    | (?<!\w )\bones?\b(?=$|\s*[,.;!?]| (?:is|was|again)\b) | (?<=another )one\b
    | (?<=other )ones?\b
    | (?<=there is )one(?=\s(?:in|on|at|near|from)\b)
    | (?<=right )one\b | (?<=left )one\b | (?<=new )ones?\b | (?<=old )ones?\b | (?<=next )one\b
    """)
)
# "It is late", "it takes an hour": nothing is meant by it.
_EMPTY = re.compile(
    r"(?i)\bit (?:(?:also|just|really|only|still|already|now|almost) )?"
    + alternatives(r"""
    (?:is|was|will be|would be|has been|is not|was not)
    (?:(?:not|so|too|very|getting|about|almost) )*(?:late|early|dark|cold|hot|warm|rain\w*
    |snow\w*|time|\w+ o'clock|\d+(?::\d+)?
    ?[ap]\.?m|eleven|ten|nine|eight|seven|six|five|noon|midnight|monday|tuesday|wednesday|thursday|friday|saturday
    |sunday|my birthday|christmas|\w+ (?:to|that|if|when)|(?:eleven|ten|nine|eight|seven) at night)
    | rain\w* | snow\w* | takes?\b.*\bto | depends | seems? (?:that|like) | looks? like
    """)
    + r"\b"
)


_BY_NOUNS = w.SINGULAR_THIRD | w.THEY | word_set("it its one ones")


def refers_back(text: str) -> bool:
    """Whether a sentence has a pronoun whose meaning stands in none of its own words."""
    return bool(open_pronoun(text))


def open_pronoun(text: str) -> str:
    """The first pronoun of a sentence whose meaning stands in none of its own words, or nothing."""
    for match in _PRONOUN.finditer(text):
        low = match[0].lower()
        if low == "it" and _EMPTY.match(text, match.start()):
            continue
        if not _is_named(text[: match.start()], low):
            return low
    return ""


def may_name(text: str, pronoun: str) -> bool:
    """Whether a text says something or somebody that a later pronoun can stand for."""
    return pronoun not in _BY_NOUNS or _is_named(text, pronoun)


def _is_named(before: str, pronoun: str) -> bool:
    """Whether what stands before a pronoun names somebody or something it can stand for."""
    if pronoun in w.SINGULAR_THIRD | w.THEY:
        words = words_of(before)
        named = any(word.low in NOUNS or (word.is_capital and i) for i, word in enumerate(words))
        return named or (pronoun in w.THEY and bool(_things_in(before)))
    return pronoun in ("it", "its", "one", "ones") and bool(_things_in(before))


def _things_in(text: str) -> list[str]:
    """The heads of the phrases that name things: "the red car" has "car"."""
    words = words_of(text)
    found, place = [], 0
    while place < len(words):
        low = words[place].low
        end = place + 1
        if low in _OPENS or low.endswith("'s"):
            end = _phrase_end(text, words, place)
            head = words[end - 1].low
            if end > place + 1 and head not in _NO_THING and head not in NOUNS:
                found.append(head)
        place = end
    return found


def _phrase_end(text: str, words: Sequence[Word], place: int) -> int:
    """The number of the word behind a phrase that begins with a determiner."""
    end = place + 1
    while end < len(words) and end - place <= _LONGEST:
        low = words[end].low
        is_verb = is_past(low) or is_present(low) or is_gerund(low)
        if not text[words[end - 1].end : words[end].start].isspace() or low in _STOPS:
            break
        if is_adverb(low) or (is_verb and end > place + 1):
            break
        end += 1
    return end
