"""Rules for personal data: patterns and entities, check digits, and what must stand around them.

A check takes the text of a candidate and says yes or no; none fails, whatever the text.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from dialogist.data.entities import EntitySpan, find_entities
from dialogist.data.entity_rules import (
    AFTER,
    BEFORE,
    chinese_id,
    digits_of,
    iban,
    luhn,
    social_security,
)

_RESIDENT_ID = re.compile(r"[0-9]{17}[0-9Xx]")
# HMRC, National Insurance Manual NIM39110: letters and prefixes that were never given out.
_NINO = re.compile(r"[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z][0-9]{6}[A-D]")
_NO_NINO = frozenset(("BG", "GB", "KN", "NK", "NT", "TN", "ZZ"))


def iban_check(text: str) -> bool:
    """The check digits of a bank account (ISO 13616)."""
    return text.isascii() and iban(text)


def resident_id_check(text: str) -> bool:
    """The check character of a Chinese identity number (GB 11643)."""
    return _RESIDENT_ID.fullmatch(text) is not None and chinese_id(text)


def ssn_check(text: str) -> bool:
    """Nine digits that the USA could have given out as a social security number."""
    digits = digits_of(text)
    parted = f"{digits[:3]}-{digits[3:5]}-{digits[5:]}"
    return len(digits) == 9 and social_security(parted)


def nino_check(text: str) -> bool:
    """A British national insurance number that could have been given out; it has no check digit."""
    compact = "".join(text.upper().split())
    return _NINO.fullmatch(compact) is not None and compact[:2] not in _NO_NINO


CHECKS: Mapping[str, Callable[[str], bool]] = {
    "luhn": luhn,
    "iban": iban_check,
    "resident_id": resident_id_check,
    "ssn": ssn_check,
    "nino": nino_check,
    "digits": lambda text: bool(digits_of(text)),
}


_AROUND = 64  # characters that a rule sees before and after a candidate
_QUESTION = 100  # characters at the end of a turn that may ask for what the next one tells
_ANSWER = 48  # characters of the next turn, in which the answer begins

VALUE_FORM = f"{BEFORE}(?:{{}}){AFTER}"
"""A value begins and ends where letters and digits do; Chinese characters border nothing."""

BEFORE_FORM = r"(?<![A-Za-z](?=[a-z]))(?:{})\Z"
AFTER_FORM = "(?:{})"
ASKED_FORM = r"(?<![A-Za-z])(?:{})[^0-9]*\Z"
"""A turn that holds the value itself does not ask for it."""
WHOLE_FORM = r"(?:{})\Z"

_REQUEST = re.compile(
    r"[?？]|(?<![a-z])(?:your|what|which|when|where|can i|may i|please|tell me|give me|need)"
    r"(?![a-z])|"
    "请|您的|你的|多少|什么|哪|提供|告诉|说一下|报一下",
    re.I,
)
_WIDE = {
    **{0xFF01 + i: 0x21 + i for i in range(94)},  # full-width letters, digits and marks
    **dict.fromkeys((0xA0, 0x2002, 0x2003, 0x2007, 0x2009, 0x202F, 0x3000), 0x20),
    **dict.fromkeys((0x2010, 0x2011, 0x2012, 0x2013, 0x2212), 0x2D),
}
# Marks that the rules of Chinese sentences tell apart stay as they are.
for _mark in "，。！？：；（）":
    _WIDE.pop(ord(_mark), None)


def plain_characters(text: str) -> str:
    """As many characters, full-width digits and letters, odd spaces and dashes made plain."""
    return text if text.isascii() else text.translate(_WIDE)


@dataclass(frozen=True, slots=True)
class Around:
    """What has to stand before or after a candidate, or must not.

    ``asked``: where the turn before asks for it, ``before`` need not fit.
    """

    asked: re.Pattern[str] | None = None
    before: re.Pattern[str] | None = None
    after: re.Pattern[str] | None = None
    unless_before: re.Pattern[str] | None = None
    unless_after: re.Pattern[str] | None = None

    def fits(self, text: str, start: int, end: int, question: str) -> bool:
        """Whether ``text[start:end]`` stands where it should; ``question`` is the turn before."""
        ahead = text[max(0, start - _AROUND) : start]
        behind = text[end : end + _AROUND]
        return (
            (self._is_asked(question, start) or self._is_told(ahead))
            and (self.after is None or self.after.match(behind) is not None)
            and (self.unless_before is None or self.unless_before.search(ahead) is None)
            and (self.unless_after is None or self.unless_after.match(behind) is None)
        )

    def _is_told(self, ahead: str) -> bool:
        if self.before is None:
            return self.asked is None
        return self.before.search(ahead) is not None

    def _is_asked(self, question: str, start: int) -> bool:
        if self.asked is None or start > _ANSWER:
            return False
        end = question[-_QUESTION:]
        return _REQUEST.search(end) is not None and self.asked.search(end) is not None


@dataclass(frozen=True, slots=True)
class PrivacyRule:
    """One form of one kind.

    ``entity``: the candidates are the entities of that kind, else what ``value`` fits in the text;
    of an entity ``value`` must fit the whole. ``cued``: only entities that a word before them told
    (True) or only others (False). ``line`` is where the rule stands in its file.
    """

    kind: str
    line: int
    entity: str = ""
    value: re.Pattern[str] | None = None
    check: Callable[[str], bool] | None = None
    around: Around = Around()
    cued: bool | None = None

    @property
    def is_plain(self) -> bool:
        """Whether the entities of its kind are as such personal data of this rule."""
        around = self.around
        telling = (self.value, self.check, around.before, around.after, around.asked)
        return all(one is None for one in telling)

    def takes(self, text: str, span: EntitySpan, question: str = "") -> bool:
        """Whether an entity of a plain text is personal data of this rule."""
        if span.kind != self.entity or self.cued not in (None, span.cued):
            return False
        surface = text[span.start : span.end]
        if self.value is not None and self.value.match(surface) is None:
            return False
        return self._counts(text, span.start, span.end, question)

    def matches(self, text: str, question: str = "") -> Iterator[tuple[int, int]]:
        """Where the pattern fits a plain text, from left to right, none overlapping."""
        if self.value is None or self.entity:
            return
        position = 0
        while found := self.value.search(text, position):
            start, end = found.span()
            if self._counts(text, start, end, question):
                yield start, end
                position = max(end, start + 1)
            else:
                position = start + 1

    def spans(self, text: str, question: str = "") -> list[tuple[int, int]]:
        """What this rule alone finds in a plain text."""
        if not self.entity:
            return list(self.matches(text, question))
        return [(s.start, s.end) for s in entities_and_parts(text) if self.takes(text, s, question)]

    def _counts(self, text: str, start: int, end: int, question: str) -> bool:
        right = self.check is None or self.check(text[start:end])
        return right and self.around.fits(text, start, end, question)


_URL_PARTS = re.compile("[^/?&=#;]+")


def entities_and_parts(text: str) -> list[EntitySpan]:
    """The entities of a plain text; those inside of a web address come after it."""
    found: list[EntitySpan] = []
    for span in find_entities(text):
        found.append(span)
        if span.kind == "URL":
            found += _inside(text, span)
    return found


def _inside(text: str, address: EntitySpan) -> Sequence[EntitySpan]:
    """A web address may carry an e-mail address or a phone number."""
    return [
        EntitySpan(part.start() + s.start, part.start() + s.end, s.kind, s.cued)
        for part in _URL_PARTS.finditer(text, address.start, address.end)
        for s in find_entities(part[0])
        if s.kind != "URL"
    ]
