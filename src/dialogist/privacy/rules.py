"""Rules for personal data: patterns and entities, and what must stand around them."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from dialogist.language.entities import (
    EntitySpan,
    digits_of,
    find_entities,
    is_card,
    is_iban,
    is_resident_id,
    is_ssn,
)
from dialogist.privacy.numbers import is_national_id, is_phone, is_spoken
from dialogist.privacy.requested import is_random

# HMRC, National Insurance Manual NIM39110: letters and prefixes that were never given out. There is
# no check digit.
_NINO = re.compile(
    r"(?!BG|GB|KN|NK|NT|TN|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z][0-9]{6}[A-D]", re.IGNORECASE
)

CHECKS: Mapping[str, Callable[[str], bool]] = {
    "luhn": is_card,
    "iban": lambda text: is_iban(re.sub("[ .-]", "", text).upper()),
    "resident_id": is_resident_id,
    "ssn": is_ssn,
    "nino": lambda text: _NINO.fullmatch("".join(text.split())) is not None,
    "digits": lambda text: bool(digits_of(text)),
    "long_code": lambda text: (
        len(digits_of(text)) >= (1 if text.isupper() else 4) or is_spoken(text)
    ),
    "spoken": is_spoken,
    "national": is_national_id,
    "phone": is_phone,
    "random": is_random,
}
"""What a rule may ask of a value beside its pattern; no check fails, whatever the text."""

_AROUND = 120  # characters that a rule sees before and after a candidate
_BRIEF = 70  # characters of a turn that asks without a word that says so: "And the PIN."
_QUESTION = 160  # characters at the end of a turn that may ask for what the next one tells
_ANSWER = 48  # characters of the next turn, in which the answer begins

_REQUEST = re.compile(
    r"[?？]|(?<![a-z])(?:your|what|which|when|where|can i|may i|please|tell me|give me|need|enter|"
    r"read|say|spell|confirm|go ahead|sent|texted|take|have)"
    r"(?![a-z])|"
    "请|您的|你的|多少|什么|哪|提供|告诉|说一下|报一下",
    re.I,
)
_OWN = re.compile(
    r"(?<![a-z])(?:i|my|i'm|we|our|meine?|mon|ma|mi|mio|mia|meu|minha|mijn|min|mitt|moje)"
    r"(?![a-z])",
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


def request_in(turn: str) -> str:
    """The end of a turn, if it asks for something."""
    end = turn[-_QUESTION:]
    is_brief = len(turn) < _BRIEF and not _OWN.search(turn)
    return end if is_brief or _REQUEST.search(end) else ""


def plain_characters(text: str) -> str:
    """As many characters, full-width digits and letters, odd spaces and dashes made plain."""
    return text if text.isascii() else text.translate(_WIDE)


@dataclass(frozen=True, slots=True)
class PrivacyRule:
    """A rule of a pack with its patterns compiled; its fields: see `PrivacyRuleConfig`.

    ``cue`` is ``before`` anywhere in a text: where it is missing, nothing is looked for. A rule for
    Chinese is tried only where there is some.
    """

    kind: str
    entity: str = ""
    value: re.Pattern[str] | None = None
    check: Callable[[str], bool] | None = None
    cued: bool | None = None
    apart: bool = False
    digits: bool = False
    language: str = ""
    asked: re.Pattern[str] | None = None
    before: re.Pattern[str] | None = None
    cue: re.Pattern[str] | None = None
    after: re.Pattern[str] | None = None
    unless_before: re.Pattern[str] | None = None
    unless_after: re.Pattern[str] | None = None

    @property
    def is_plain(self) -> bool:
        """Whether the entities of its kind are as such personal data of this rule."""
        telling = (self.value, self.check, self.before, self.after, self.asked)
        return all(pattern is None for pattern in telling)

    def takes(self, text: str, span: EntitySpan, question: str = "") -> bool:
        """Whether an entity of a plain text is personal data of this rule."""
        if span.kind != self.entity or self.cued not in (None, span.cued):
            return False
        if self.value is not None and not self.value.match(text[span.start : span.end]):
            return False
        return self._fits(text, span.start, span.end, self._is_asked(question))

    def matches(self, text: str, question: str = "") -> Iterator[tuple[int, int]]:
        """Where the pattern fits a plain text, from left to right, none overlapping."""
        is_asked = self._is_asked(question)
        if self.value is None or self.entity or not (is_asked or self._may_be_told(text)):
            return
        position = 0
        group = "v" if "v" in self.value.groupindex else 0
        while match := self.value.search(text, position):
            start, end = match.span(group)
            position = match.start() + 1
            if self._fits(text, start, end, is_asked):
                yield start, end
                position = max(end, position)

    def spans(self, text: str, question: str = "") -> list[tuple[int, int]]:
        """What this rule alone finds in a plain text."""
        question = request_in(question)
        if not self.entity:
            return list(self.matches(text, question))
        return [(s.start, s.end) for s in entities_and_parts(text) if self.takes(text, s, question)]

    def _is_asked(self, question: str) -> bool:
        return bool(question and self.asked and self.asked.search(question))

    def _may_be_told(self, text: str) -> bool:
        return self.cue.search(text) is not None if self.cue else self.asked is None

    def _fits(self, text: str, start: int, end: int, is_asked: bool) -> bool:
        """Whether ``text[start:end]`` passes the check and stands where it should."""
        if self.check is not None and not self.check(text[start:end]):
            return False
        ahead = text[max(0, start - _AROUND) : start]
        behind = text[end : end + _AROUND]
        if is_asked and start <= _ANSWER:
            is_told = True
        elif self.before:
            is_told = self.before.search(ahead) is not None
        else:
            is_told = self.asked is None
        return (
            is_told
            and not (self.after and not self.after.match(behind))
            and not (self.unless_before and self.unless_before.search(ahead))
            and not (self.unless_after and self.unless_after.match(behind))
        )


_URL_PARTS = re.compile("[^/?&=#;]+")


def entities_and_parts(text: str) -> list[EntitySpan]:
    """The entities of a plain text; a web address may carry others, which come after it."""
    spans: list[EntitySpan] = []
    for span in find_entities(text):
        spans.append(span)
        if span.kind == "URL":
            spans += (
                EntitySpan(part.start() + s.start, part.start() + s.end, s.kind, s.cued)
                for part in _URL_PARTS.finditer(text, span.start, span.end)
                for s in find_entities(part[0])
                if s.kind != "URL"
            )
    return spans
