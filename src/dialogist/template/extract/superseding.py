"""The last word counts: what is taken back, changed or done later is no entry any more."""

import re
from collections.abc import Sequence

from dialogist.template.extract.agreeing import agrees
from dialogist.template.extract.deadlines import whens_in
from dialogist.template.extract.turns import Found, Turns
from dialogist.text.porter import stem_of
from dialogist.text.tokens import bases_of
from dialogist.text.words import FUNCTION_WORDS

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
_SAME = 0.6  # of the words of the shorter one: then two say the same
_BARE = 3  # words of "never mind": it is about what was said just before
_NUMBER = re.compile(r"\d[\d.,:]*")
_SOON = 3  # utterances
_SHIFT = 14  # utterances within which a time is still the one that is changed


def standing(found: Sequence[Found], turns: Turns, done: Sequence[Found] = ()) -> list[Found]:
    """Those that nothing later takes back, replaces by another value, or says to be done."""
    kept: list[Found] = []
    for place, one in enumerate(found):
        later = found[place + 1 :]
        if _is_taken_back(one, turns) or _is_moved(one, turns):
            continue
        if _is_done(one, done) or _is_done_at_once(one, done):
            continue
        if any(_replaces(new, one, turns) for new in later):
            continue
        kept.append(one)
    return kept


def _replaces(new: Found, old: Found, turns: Turns) -> bool:
    """The same thing with another value, or, after a word of change, another time alone."""
    if old.owner != new.owner:
        return False
    start, end = _place(old), _place(new)
    words, others = content_of(old), content_of(new)
    if not words or not others:
        return False
    values, new_values = values_of(old), values_of(new)
    shared = len(words & others) / min(len(words), len(others))
    changed = _is_changed(turns, start, end)
    if values and new_values and values.isdisjoint(new_values):
        if not (words - values) or not (others - new_values):  # a value and nothing else
            return changed and end - start <= _SHIFT and _kinds(old) & _kinds(new) != set()
        kept, got = words - values, others - new_values
        return len(kept & got) >= _SAME * min(len(kept), len(got)) and _verb(old) == _verb(new)
    return shared >= _SAME and changed and words != others and _verb(old) == _verb(new)


def _is_changed(turns: Turns, start: int, end: int) -> bool:
    said = (s for n in range(start, end + 1) for s in turns.sentences[n])
    return any(_CHANGES.search(one.text) for one in said)


def _is_taken_back(one: Found, turns: Turns) -> bool:
    place = _place(one)
    words = content_of(one)
    for number in range(place + 1, len(turns.sentences)):
        for sentence in turns.sentences[number]:
            if not _TAKES_BACK.search(sentence.text):
                continue
            again = _bases(sentence.text)
            if words & again or (len(sentence.text.split()) <= _BARE and number - place <= _SOON):
                return True
    return False


def _is_done(one: Found, done: Sequence[Found]) -> bool:
    words = content_of(one)
    return any(
        _place(other) >= _place(one)
        and other.owner in ("", one.owner)
        and other.evidence[0] != one.evidence[0]
        and words
        and len(words & content_of(other)) >= _SAME * len(words)
        for other in done
    )


def _is_done_at_once(one: Found, done: Sequence[Found]) -> bool:
    """ "Can you reset my password?" - "Sure. I've sent a new one": the deed answers the request."""
    answers = {span.utterance for span in one.evidence[1:]} - {_place(one)}
    things = content_of(one) - {_verb(one)}
    return any(
        _place(other) in answers and other.owner == one.owner and things & content_of(other)
        for other in done
    )


def _is_moved(one: Found, turns: Turns) -> bool:
    """Whether another time is asked for soon afterwards, and agreed to."""
    place = _place(one)
    if not one.deadline:
        return False
    for number in range(place + 1, min(place + 1 + _SOON, len(turns.sentences))):
        for sentence in turns.sentences[number]:
            asked = Found(sentence.text, (sentence.span(),))
            other = values_of(asked)
            if (
                _ASKS_CHANGE.search(sentence.text)
                and other
                and other.isdisjoint(_bases(one.deadline))
                and _kinds(asked) & _kinds(Found(one.deadline, one.evidence))
            ):
                reply = turns.reply(number)
                return any(agrees(said.text) for said in reply[:1])
    return False


def _place(one: Found) -> int:
    return one.evidence[0].utterance


def _verb(one: Found) -> str:
    words = (one.words or one.text).split(maxsplit=1)
    return stem_of(words[0].lower()) if words else ""


def content_of(one: Found) -> frozenset[str]:
    """The stems of what was said, without function words."""
    return _bases(one.words or one.text)


def _bases(text: str) -> frozenset[str]:
    bases = (base for base in bases_of(text) if base not in FUNCTION_WORDS and base[:1].isalnum())
    return frozenset(stem_of(base) for base in bases)


def values_of(one: Found) -> frozenset[str]:
    """Words of times, and numbers: what a correction changes."""
    text = one.words or one.text
    whens = " ".join(text[start:end] for start, end in whens_in(text))
    clocks = " ".join(found[0] for found in _KINDS["clock"].finditer(text))
    return _bases(f"{whens} {clocks} {' '.join(_NUMBER.findall(text))}") | _bases(one.deadline)


def _kinds(one: Found) -> set[str]:
    text = one.words or one.text
    return {kind for kind, pattern in _KINDS.items() if pattern.search(text)}


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
