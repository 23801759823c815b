"""What takes back or changes what was said before, and the values that a change replaces."""

import re

from dialogist.text.deadlines import whens_in
from dialogist.text.porter import stem_of
from dialogist.text.tokens import FUNCTION_WORDS, bases_of

_CHANGES = re.compile(
    r"\b(?:actually|instead|on second thoughts?|change(?:d)? (?:of plans?|my mind|it|the)|make it|"
    r"correction|i meant?|sorry|rather|could we|can we|can ?['’]?t|won ?['’]?t work|"
    r"doesn ?['’]?t work|too (?:early|"
    r"late|expensive|much|little)|wait|hold on|not \d|no,|but|hmm|wrong|"
    r"i think it was|that ?['’]?s not)\b|\bno\b(?=,)",
    re.I,
)
_TAKES_BACK = re.compile(
    r"\b(?:never ?mind|forget (?:it|about|the|that)|scrap (?:that|the)|on second thoughts?|"
    r"(?:i|we) (?:can ?['’]?t|won ?['’]?t|can ?not|will not)\b.*\b(?:after all|anymore|any more)|"
    r"(?:don ?['’]?t|do not) (?:have to|need to)? ?\w+ .*\b(?:any ?more|after all)|"
    r"changed my mind|i ?['’]?d rather not|let ?['’]?s not|cancel that|i take that back|"
    r"(?:don ?['’]?t|do not) (?:do|send|call|book|order|buy|bring|tell|write) )",
    re.I,
)
_ASKS_CHANGE = re.compile(
    r"\binstead\b|\bmake it\b|\b(?:could|can|would|might) (?:we|you|u|he|she|they|it|that)\b|"
    r"\bhow about\b|"
    r"\b(?:is|would be|isn ?['’]?t) (?:\w+ ){0,3}(?:ok|okay|possible|better)\b",
    re.I,
)
_NUMBER = re.compile(r"\d[\d.,:]*")
_KINDS = {
    "clock": re.compile(
        r"\b(?:half past|noon|one(?= (?:pm|am|o))|two|three|four|five|six|seven|eight|nine|ten|"
        r"eleven|twelve|\d{1,2}(?::\d\d)?)"
        r"(?: ?(?:am|pm|o ?['’]?clock))?\b(?! (?:of|euros|dollars|pounds))", re.I),
    "day": re.compile(r"\b(?:\w+day|today|tomorrow|tonight|weekend|tmrw)\b", re.I),
    "date": re.compile(r"\b(?:\d{1,2}(?:st|nd|rd|th)|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|"
                       r"nov|dec)\w* \d)", re.I),
    "money": re.compile(r"[£$€]|\b(?:euros|dollars|pounds)\b|\b\d,\d{3}\b", re.I),
}  # fmt: skip


def signals_change(text: str) -> bool:
    """Whether a sentence has a word by which people change what was said: "actually"."""
    return _CHANGES.search(text) is not None


def takes_back(text: str) -> bool:
    """Whether a sentence takes something back: "never mind", "I changed my mind"."""
    return _TAKES_BACK.search(text) is not None


def asks_for_change(text: str) -> bool:
    """Whether a sentence asks for something else: "could we make it six?"."""
    return _ASKS_CHANGE.search(text) is not None


def content_stems(text: str) -> frozenset[str]:
    """The stems of a text, without function words."""
    bases = (base for base in bases_of(text) if base not in FUNCTION_WORDS and base[:1].isalnum())
    return frozenset(stem_of(base) for base in bases)


def values_in(text: str) -> frozenset[str]:
    """The stems of times, and numbers: what a correction changes."""
    whens = " ".join(text[start:end] for start, end in whens_in(text))
    clocks = " ".join(found[0] for found in _KINDS["clock"].finditer(text))
    return content_stems(f"{whens} {clocks} {' '.join(_NUMBER.findall(text))}")


def kinds_in(text: str) -> set[str]:
    """Which kinds of values a text has: clock, day, date, money."""
    return {kind for kind, pattern in _KINDS.items() if pattern.search(text)}
