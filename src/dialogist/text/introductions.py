"""What speakers call themselves: "this is Priya", "Tom speaking", and signatures such as "^JI".

Only plain forms are read. A name that may be somebody else's ("Mom, this is Priya", "this is
Priya's phone") is left alone.
"""

import re
from collections.abc import Iterator

from dialogist.text.aliases import SHORT_FORMS
from dialogist.text.function_words import FUNCTION_WORDS, OPENERS
from dialogist.text.listing import listed, word_set
from dialogist.text.names import DAYS, MONTHS
from dialogist.text.people import is_first_name

_TITLE = r"(?:(?:Mr|Mrs|Ms|Miss|Dr|Prof|Doctor|Professor)\b\.?\s)?"
_WORD = r"[A-Z\u00c0-\u00de][\w'’-]*[a-z\u00df-\u00ff](?<!['’]s)"
_BARE = rf"(?P<name>{_WORD}(?: {_WORD})?)(?!['’\w])"
_NAME = _TITLE + _BARE
_OTHERS = r"(?!,? (?i:my|our|his|her|their|the|a|an) )"
_END = r"(?=\s*(?:[.!,;:\u2013\u2014-]|$))"
_JOB = r"(?i:from|with|at|in|here|speaking|calling|again|on)\b"
_GOES_ON = rf"(?=\s+(?:{_JOB}|and I\b|(?i:how|what|your)\b|I\b))"
_STARTS = r"(?:^|[.!?:]\s*|[,\u2013\u2014-]\s*)"
_GREETING = (
    r"(?i:(?:hi|hello|hallo|hey|yes|yeah|oh|well|so|and|sorry|good|morning|afternoon|evening|there|"
    r"everyone|everybody|all|again)[,!.]?\s+)"
)
_SURE: tuple[re.Pattern[str], ...] = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?i:\bmy name(?: is|['’]s)) {_NAME}",
        rf"(?:{_STARTS}|{_GREETING})(?i:this is) {_NAME}{_OTHERS}(?:{_END}|{_GOES_ON})",
        rf"(?i:\bit(?: is|['’]s)) {_NAME}(?=\s+{_JOB})",
        rf"{_STARTS}{_NAME} speaking\b",
        rf"(?:{_STARTS}|{_GREETING}){_NAME} here(?=\s+(?:from|with|at|in)\b)",
        rf"(?i:\byou(?: are|['’]re)? (?:speaking|talking|chatting|through) (?:with|to)) {_NAME}",
        rf"(?i:\bI(?: am|['’]m)) {_NAME}(?=\s+(?:from|with)\b|,? (?:your|and I)\b)",
    )
)
_BY_NAME: tuple[re.Pattern[str], ...] = (
    re.compile(rf"(?i:\bI(?: am|['’]m)) (?P<title>{_TITLE}){_BARE}{_OTHERS}{_END}"),
    re.compile(rf"(?P<title>)(?:{_STARTS}|{_GREETING}){_NAME} here{_END}"),
)
"""Only where the name is known as one, or has a title: "I'm Polish" has the same form."""

_TO_SOMEBODY = re.compile(r"^\W*(\w+), this is ", re.I)
_TELLS = re.compile(rf"\s+{_JOB}|,? (?:and I|your|how)\b")
_NO_NAMES = (FUNCTION_WORDS | OPENERS | {*DAYS, *MONTHS} | frozenset(SHORT_FORMS)) | word_set("""
great perfect urgent awesome amazing terrible ridiculous unacceptable correct wrong true false
customer support service services team billing sales english french spanish german arabic hindi
catholic christian jewish muslim buddhist god sir madam sure problem
""")
_FAMILY = word_set("mom mum mommy mummy dad daddy grandma grandpa granny aunt uncle honey darling")

_CALLED = re.compile(
    rf"(?:^|[.!?]\s+)(?i:hi|hello|hallo|hey|thanks|thank you|"
    rf"good (?:morning|afternoon|evening)|morning|"
    rf"bye|goodbye|sorry|sure|okay|ok|yes|no|of course|dear),?\s+{_NAME}(?=\s*(?:[.!?,;]|$))"
)

_REGARDS = re.compile(
    rf"(?i:\b(?:regards|sincerely|yours truly|yours faithfully)),?\s+{_NAME}[^.!?]{{0,60}}\s*\Z"
    rf"|(?i:\n\s*(?:thanks|thank you|cheers|best|best wishes|many thanks)),?\s*\n\s*"
    rf"(?P<signed>{_WORD}(?: {_WORD})?)\s*\Z"
)
_SIGNED = re.compile(
    rf"(?<=\S)\s*(?:[\^~*/]|(?<=[.!?\s])[-\u2013\u2014])\s?"
    rf"(?P<name>[A-Z]{{1,3}}|{_WORD}(?: [A-Z])?)\s*\Z"
)
_INITIALS = re.compile(r"(?<=[\w.!?>)])\s+([A-Z]{2})\s*\Z")
_NO_INITIALS = frozenset(
    listed("OK UK US EU TV PM AM ID IT PC DM HD PS TX CA NY LA UP GO NO HI OR")
)
_SIGNATURE = 200  # characters at the end of a text in which one may stand


def own_names(text: str) -> Iterator[str]:
    """The names by which the speaker of a text introduces himself or signs, without titles."""
    for pattern in _SURE:
        for match in pattern.finditer(text):
            if _is_own(text, match):
                yield match["name"]
    for pattern in _BY_NAME:
        for match in pattern.finditer(text):
            if match["title"] or is_first_name(match["name"].split()[0]):
                yield match["name"]
    yield from _signed_names(text)


def names_called(text: str) -> Iterator[str]:
    """The names by which a text greets, thanks or answers somebody, without titles."""
    for match in _CALLED.finditer(text):
        if _may_be_name(match["name"]):
            yield match["name"]


def unsigned(text: str) -> str:
    """The text without a marked signature at its end: ``^JI``, ``-Tom``."""
    signed = _SIGNED.search(text, _tail(text))
    return text[: signed.start()] if signed else text


def initials(text: str) -> re.Match[str] | None:
    """Two capital letters at the end of a text, which may be a signature without a mark."""
    found = _INITIALS.search(text, _tail(text))
    return found if found and found[1] not in _NO_INITIALS else None


def _signed_names(text: str) -> Iterator[str]:
    signed = _SIGNED.search(text, _tail(text))
    if signed and not signed["name"].isupper() and _may_be_name(signed["name"]):
        yield signed["name"]
    regards = _REGARDS.search(text, _tail(text))
    if regards and _may_be_name(name := regards["name"] or regards["signed"]):
        yield name


def _tail(text: str) -> int:
    """From where on a signature may stand."""
    return max(0, len(text) - _SIGNATURE)


def _is_own(text: str, match: re.Match[str]) -> bool:
    if not _may_be_name(match["name"]) or text[match.end() :].lstrip().startswith("?"):
        return False
    told = _TO_SOMEBODY.match(text)
    if told is None or told.end() != match.start("name") or _TELLS.match(text, match.end("name")):
        return True
    return told[1].lower() not in _FAMILY and not is_first_name(told[1])


def _may_be_name(name: str) -> bool:
    return not any(word.lower() in _NO_NAMES for word in name.split())
