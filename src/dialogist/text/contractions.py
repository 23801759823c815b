"""Contractions behind names written out: "Agent'll" is "Agent will", "Tom's car" stays.

Models learn "I'll" and "she's" from what people say, and put names in the place of the pronouns.
Behind a name that reads badly, and "Agent's been" can be taken for a possessive.
"""

import re

from dialogist.text.function_words import FUNCTION_WORDS
from dialogist.text.listing import word_set
from dialogist.text.verbs import IRREGULAR

_NAME = r"(?<![\w'’#])(?P<name>[\w#][\w#-]*)"
_PLAIN = re.compile(rf"{_NAME}['’](?P<end>ll|ve|re)(?![\w'’])")
_OPEN = re.compile(
    rf"{_NAME}['’](?P<end>d|s) (?:(?:not|also|already|always|just|never|now|only|really|still|"
    r"since|recently) )*(?P<next>[a-z]+)(?:[ ](?P<after>[a-z]+))?(?![\w'’-])"
)
_WRITTEN = {"ll": "will", "ve": "have", "re": "are"}
_BE = word_set("""
a an not the going in at on very so too here there about sorry sure afraid happy busy tired sick ill
ready able unable worried interested excited late glad willing unhappy upset angry surprised scared
married fine okay ok right wrong aware unsure confused annoyed bored disappointed pleased supposed
allowed
""")
_HAVE = word_set("been had got done gone lost taken bought sold left seen made sent told given") | {
    "received"
}
# Things that end in -ing: what stands before them is whose they are.
_THINGS = word_set("""
meeting wedding building booking training painting morning evening clothing parking housing heating
hearing opening warning cooking feeling thing ring string ceiling earring spelling offspring being
beginning ending saving rating ruling upbringing understanding writing reading
""")
_NO_NAMES = FUNCTION_WORDS | word_set("let that there here it")
_BASES = frozenset(IRREGULAR.values())
_PARTICIPLES = frozenset(IRREGULAR) - _BASES - word_set("went was were did saw came took gave ate")


def expanded(text: str, names: frozenset[str] = frozenset()) -> str:
    """The text with contractions behind names written out.

    A name is a word with a capital, or one of ``names`` (speakers that write theirs small).
    """

    def plain(match: re.Match[str]) -> str:
        if not _is_name(match["name"], names):
            return match[0]
        return f"{match['name']} {_WRITTEN[match['end']]}"

    def open_(match: re.Match[str]) -> str:
        verb = _verb(match["end"], match["next"], match["after"] or "")
        if not verb or not _is_name(match["name"], names):
            return match[0]
        return f"{match['name']} {verb}{match[0][len(match['name']) + 2 :]}"

    if "'" not in text and "’" not in text:
        return text
    return _OPEN.sub(open_, _PLAIN.sub(plain, text))


def _is_name(word: str, names: frozenset[str]) -> bool:
    if word in names:
        return True
    return word[0].isupper() and word.lower() not in _NO_NAMES


def _verb(end: str, following: str, after: str) -> str:
    """What an ending stands for before a word; empty where it may be a possessive."""
    past = following in _PARTICIPLES or following.endswith("ed")
    if end == "d":
        return "had" if past or following == "better" else "would"
    if following in _BE:
        return "is"
    if following in _HAVE:
        return "has"
    if following.endswith("ing"):
        return "" if following in _THINGS and after not in ("the", "a", "an", "to") else "is"
    if past and (not after or after in FUNCTION_WORDS):
        return "has"
    return ""
