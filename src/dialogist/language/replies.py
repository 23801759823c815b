"""How people say yes or no to what was proposed, and take back or change what was said."""

import re

from dialogist.language.cues import cue_bits, cues_in, words_and_marks
from dialogist.language.porter import stem_of
from dialogist.language.quantities import whens_in
from dialogist.language.reading import values_in_clause
from dialogist.language.tokens import FUNCTION_WORDS, bases_of

_AGREES = cue_bits(("agree", "yes"))
_DOUBTS = cue_bits(("refuse", "but", "question", "instead"))
_YES = re.compile(
    r"(?i)\W*(?:(?:oh|um|uh|well|ah|hmm|and|so)[ ,.]+){0,2}(?:i will|i['’ ]+ll (?:do|be|see)|i "
    r"promise|(?:it )?looks? (?:good|great|fine)|(?:great|nice|wonderful|even better|my pleasure|"
    r"right away|ofc|haha|aright)\b|i agree|i['’ ]?d be (?:happy|glad) to|let['’ ]+s do (?:it|"
    r"that)|(?:that|it|this|[\w:]+(?: [\w:]+)?)(?:['’ ]*s|['’ ]?ll be| would be)? (?:really |very |"
    r"a )?(?:works|(?:is |are )?(?:fine|good|perfect|great|okay|ok|enough|nice|lovely|helpful))(?! "
    r"(?:out|on|at|in)\b))\b"
)
_NO = re.compile(
    r"(?i)\b(?:however|sorry|won ?['’] ?t|don ?['’] ?t|not sure|maybe|isn ?['’] ?t|would ?n|"
    r"actually|problem is)"
)
DECLINES = re.compile(
    r"(?i)\b(?:no need|that ?(?:['’] ?s|is|won ?['’] ?t be) (?:really )?not? ?(?:be )?necessary|"
    r"you (?:don ?['’] ?t|do not) (?:have|need) to|(?:(?:no|wait|stop|hold on),? |please |no,? "
    r"please )don ?['’] ?t|don ?['’] ?t (?:bother|worry about (?:it|that)|\w+ (?:it|that|them|"
    r"anything)\b)|no,? thank|i ?['’]?d rather (?:you did|do it|have|keep)|i (?:don ?['’] ?t|do "
    r"not) (?:want|need) (?:an?|any|the|that|it|one|you)\b|let me do (?:that|it)|i already (?:did|"
    r"have))"
)
"""Whether a reply says that what was promised or offered is not wanted: "No need"."""


def agrees(reply: str) -> bool:
    """Whether a reply begins with a yes that nothing in the same breath takes back."""
    cues = cues_in(words_and_marks(reply))
    is_yes = bool(cues & _AGREES) or _YES.match(reply) is not None
    return is_yes and not cues & _DOUBTS and not _NO.search(reply)


# What takes back or changes what was said before, and the values that a change replaces.


CHANGES = re.compile(
    r"(?i)\b(?:actually|instead|on second thoughts?|changed? (?:of plans?|my mind|it|the)|make it|"
    r"correction|i meant?|sorry|rather|could we|can we|can ?['’]?t|(?:won|doesn) ?['’]?t work|too "
    r"(?:early|late|expensive|much|little)|wait|hold on|not \d|no(?=,)|but|hmm|wrong|that ?['’]?s "
    r"not)\b"
)
"""Whether a sentence has a word by which people change what was said: "actually"."""
TAKES_BACK = re.compile(
    r"(?i)\b(?:never ?mind|forget (?:it|about|the|that)|scrap (?:that|the)|on second thoughts?|"
    r"(?:i|we) (?:can ?['’]?t|won ?['’]?t|can ?not|will not)\b.*\b(?:after all|any ?more)|(?:don "
    r"?['’]?t|do not) (?:have to |need to )?(?:\w+ .*\b(?:any ?more|after all)|(?:do|send|call|"
    r"book|order|buy|bring|tell|write) )|changed my mind|i ?['’]?d rather not|let ?['’]?s not|"
    r"cancel that)"
)
"""Whether a sentence takes something back: "never mind", "I changed my mind"."""
ASKS_CHANGE = re.compile(
    r"(?i)\b(?:instead|make it|(?:could|can|would|might) (?:we|you|u|he|she|they|it|that)|how "
    r"about|(?:is|would be|isn ?['’]?t) (?:\w+ ){0,3}(?:ok|okay|possible|better))\b"
)
"""Whether a sentence asks for something else: "could we make it six?"."""


def content_stems(text: str) -> frozenset[str]:
    """The stems of a text, without function words."""
    bases = (base for base in bases_of(text) if base not in FUNCTION_WORDS and base[:1].isalnum())
    return frozenset(stem_of(base) for base in bases)


def values_in(text: str) -> frozenset[str]:
    """The stems of times, and numbers: what a correction changes."""
    values = (v for v in values_in_clause(text) if v.kind in _VALUES or v.kind.startswith("count"))
    places = [*whens_in(text), *((value.start, value.end) for value in values)]
    return content_stems(" ".join(text[start:end] for start, end in places))


def kinds_in(text: str) -> set[str]:
    """Which kinds of values a text has: clock, day, money, number."""
    kinds = (value.kind.replace("count", "number").split()[0] for value in values_in_clause(text))
    return {kind for kind in kinds if kind in _VALUES}


_VALUES = ("clock", "day", "money", "number")
