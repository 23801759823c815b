"""Contractions behind names written out: "Agent'll" is "Agent will", "Tom's car" stays.

Models learn "I'll" and "she's" from what people say, and put names in the place of the pronouns.
Behind a name that reads badly, and "Agent's been" can be taken for a possessive.
"""

import re

from dialogist.text.tokens import FUNCTION_WORDS, word_set

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
_HAVE = word_set("been had got gone")  # these describe no thing: no noun can follow
# Things that end in -ing: what stands before them is whose they are.
_THINGS = word_set("""
meeting wedding building booking training painting morning evening clothing parking housing heating
hearing opening warning cooking feeling thing ring string ceiling earring spelling offspring being
beginning ending saving rating ruling upbringing understanding writing reading
""")
_NO_NAMES = FUNCTION_WORDS | word_set("let that there here it")
# Irregular participles: the table of irregular words also holds nouns, such as "bike".
_PARTICIPLES = word_set("""
been had done gone said told given gotten got taken made seen come known thought found left felt
brought bought paid sent met spent kept lost forgotten sold caught taught broken spoken written
chosen eaten drunk driven worn woken begun run slept heard held stood understood won built lent
fallen flown grown thrown drawn shown sung swum ridden risen sat lain meant dreamt learnt burnt
stuck stolen hidden bitten fought led become born beaten bent bound blown dealt dug fed forgiven
frozen hung sought shaken shot struck sworn torn wept withdrawn put cut set let hit quit
""")
# Behind a possessive an article, a pronoun or a preposition does not follow an adjective.
_OBJECTS = word_set("""
a an the his her its their my our your him them it me us that to for from with about out up off
down back away in on at by into all some any no so very
""")


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
    if past and after in _OBJECTS:
        return "has"
    return ""
