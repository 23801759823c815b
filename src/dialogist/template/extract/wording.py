"""How an entry is worded: a clause with its pronouns resolved, or what was said in quotation marks.

A clause is reworded only where nobody can be mistaken: "me" is the speaker, "you" the one spoken
to where it is an object. Everything else is quoted, with its speaker.
"""

import re

from dialogist.template.extract.clause import tidy
from dialogist.template.extract.turns import Sentence
from dialogist.text.tokens import word_set

_SPEAKER_ACTS = re.compile(r"(?-i:\bI\b)|\bi\b(?=['’ ]|$)|\b(?:im|ive)\b|\bmyself\b.", re.I)
_THEM = r"(?:you|u)"
_YOU_ACTS = re.compile(
    rf"\b(?:if|unless|when|once|until|till|that|what|where|which|how|as|than|because|before|after|"
    rf"so|whether|everything|anything|thing|all|and|or|make|let|have|help) {_THEM}\b"
    rf"|\b{_THEM} ?['’]|\b{_THEM} (?:are|were|have|had|can|could|will|would|should|may|might|must|"
    r"do|don|did|need|want|like|know|get|got|said|asked)\b"
    r"|\b(?:yours|yourself|yourselves|ur|mine|both of you|all of you|you (?:guys|all|two|both))\b",
    re.I,
)
_MINE = re.compile(r"\b(?:me|my|us|our)\b", re.I)
_YOURS = re.compile(r"\b(?:you|u|your)\b", re.I)
_YOU = re.compile(r"\b(?:you|u)\b", re.I)
_MYSELF = re.compile(r" (?:myself|ourselves)(?=$|[ ,])", re.I)
_PRONOUNS = word_set("i me you u")  # speakers of some exports: "You" is no name for "you"
_LONGEST = 240  # characters of a quote: what is longer tells nobody what the entry is


def resolved(clause: str, speaker: str, addressee: str, owner: str) -> str | None:
    """The clause with names for "me" and "you", None where somebody could be mistaken.

    ``owner`` does what the clause says. A speaker's own "my" and "us" stay where he is the owner.
    """
    clause = _MYSELF.sub("", clause) if owner == speaker else clause
    if _SPEAKER_ACTS.search(clause) or _YOU_ACTS.search(clause):
        return None
    if _YOURS.search(clause):
        if not addressee or (addressee == owner and _YOU.search(clause)):
            return None
        if addressee.lower() in _PRONOUNS:
            return None
        clause = _YOURS.sub(lambda found: _named(found[0], addressee, owner), clause)
    if owner != speaker:
        if _MINE.search(clause) and not speaker:
            return None
        clause = _MINE.sub(lambda found: _named(found[0], speaker, owner), clause)
    return clause


def _named(pronoun: str, name: str, owner: str) -> str:
    """What stands for a pronoun that means ``name``; an owner's own things are "their" own."""
    possessive = pronoun.lower() in ("my", "your", "our")
    if possessive and name == owner:
        return "their"
    return f"{name}'s" if possessive else name


def quoted(*sentences: Sentence) -> str | None:
    """What was said, with who said it: ``Ann: "Pick me up at six."``; None if it is too long."""
    shown = " – ".join(_quote(one) for one in sentences)
    return shown if len(shown) <= _LONGEST else None


def _quote(sentence: Sentence) -> str:
    said = tidy(sentence.text).replace('"', "'")
    return f'{sentence.speaker}: "{said}"' if sentence.speaker else f'"{said}"'
