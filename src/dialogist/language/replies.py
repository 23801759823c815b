"""How people say yes or no to what was proposed, and take back or change what was said."""

import re

from dialogist.language.porter import stem_of
from dialogist.language.quantities import whens_in
from dialogist.language.tokens import FUNCTION_WORDS, bases_of

_YES = re.compile(
    r"\W*(?:(?:oh|um|uh|well|ah|hmm|and|so|mm)[ ,.]+){0,2}"
    r"(?:sure|of course|ok(?:ay|ey)?|yes|yeah|yep|yup|certainly|absolutely|definitely|no problem|"
    r"all ?right|alright|aright|will do|i will|i['’ ]+ll (?:do|be|see)|i promise|deal|"
    r"agreed|exactly|"
    r"(?:that |it )?(?:sounds?|looks?) (?:like )?(?:a )?(?:good|great|fine|perfect|"
    r"nice|lovely|fun)|"
    r"(?:that|it)['’ ]*(?:s|ll be| is| would be| will be) (?:a )?(?:good|great|fine|"
    r"perfect|okay|ok|"
    r"settled|wonderful|lovely|excellent|nice)|(?:good|great|nice|excellent|wonderful|brilliant|"
    r"fine|perfect)(?: idea| by me| with me)?\b|i agree|i['’ ]?d (?:love|be (?:happy|glad)) to|"
    r"with pleasure|my pleasure|right away|you got it|got it|fair enough|let['’ ]+s do (?:it|that)|"
    r"why not|works for me|count me in|consider it done|no worries|sounds? (?:good|great)|"
    r"please do|even better|np|ofc|kk?|cool|haha|(?:that|it|this) would be (?:really |very )?"
    r"(?:good|great|nice|lovely|helpful|perfect|amazing|awesome|fantastic|wonderful|super)|"
    r"(?:that|it|this|[\w:]+(?: [\w:]+)?) "
    r"(?:works|(?:is|are) (?:fine|good|perfect|great|ok|okay|enough))(?! (?:out|on|at|in)\b))\b",
    re.I,
)
_NO = re.compile(
    r"\b(?:but|however|sorry|unfortunately|afraid|can ?['’]? ?n?o?t\b|cannot|won ?['’] "
    r"?t|don ?['’] ?t|"
    r"not sure|maybe|rather not|instead|no way|i doubt|isn ?['’] ?t|would ?n|actually|problem is)",
    re.I,
)
_NOT_NEEDED = re.compile(
    r"\b(?:no need|don ?['’]? ?t (?:bother|worry about (?:it|that))|that ?(?:['’] ?s|is|"
    r"won ?['’] ?t be) "
    r"(?:really )?not? ?(?:be )?necessary|you (?:don ?['’] ?t|do not) (?:have|need) to|"
    r"no,? (?:please )?"
    r"don ?['’] ?t|(?:wait|stop|hold on),? (?:please )?don ?['’] ?t|please don ?['’] ?t|"
    r"don ?['’] ?t \w+ (?:it|that|them|anything)(?: yet)?\b|no,? thanks?|no,? thank you|"
    r"i ?['’]?d rather (?!not\b)(?:you did|do it|have|keep)|i (?:don ?['’] ?t|do not) (?:want|"
    r"need) "
    r"(?:an?|any|the|that|it|one|you)\b|let me do (?:that|it)|i already (?:did|have))",
    re.I,
)
_YES_HAN = re.compile(
    r"[嗯哦噢啊，,。 ]*(?:好的?|行|可以|没问题|同意|当然|必须的|收到|明白|"
    r"就这么定|一言为定|没事|成)"
)
_NO_HAN = re.compile(r"但是?|不过|不行|不能|不好|抱歉|对不起|恐怕|没办法|不了|吗|？|\?")


def agrees(reply: str) -> bool:
    """Whether a reply begins with a yes that nothing in the same breath takes back."""
    if _YES_HAN.match(reply):
        return not _NO_HAN.search(reply)
    return _YES.match(reply) is not None and not _NO.search(reply) and "?" not in reply


def declines(reply: str) -> bool:
    """Whether a reply says that what was promised or offered is not wanted: "No need"."""
    return _NOT_NEEDED.search(reply) is not None


# What takes back or changes what was said before, and the values that a change replaces.


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
    clocks = " ".join(match[0] for match in _KINDS["clock"].finditer(text))
    return content_stems(f"{whens} {clocks} {' '.join(_NUMBER.findall(text))}")


def kinds_in(text: str) -> set[str]:
    """Which kinds of values a text has: clock, day, date, money."""
    return {kind for kind, pattern in _KINDS.items() if pattern.search(text)}
