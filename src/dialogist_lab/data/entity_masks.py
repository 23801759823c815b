"""Entities as atomic tokens: phone numbers, times, order numbers out of the text and back, exactly.

A small model cannot spell a number it has never seen, and it must not invent one. So each distinct
value of a dialogue becomes one private-use character that says its kind and its number in the
dialogue (Liu et al., KDD 2019, section 4.1); what the model writes of it is put back word for word.
The forms are English: what the synthetic corpus and English customer service hold.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from dialogist_lab.data.vocabulary import ENTITIES_PER_KIND, ENTITY_CHARACTERS, ENTITY_KINDS

_MONTH = (
    r"(?:(?:jan(?:uary)?|feb(?:ruary)?|apr(?:il)?|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
    r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)(?![a-z])|(?-i:May|March))"
)
_YEAR, _DAY = r"(?:19|20)\d\d", r"(?:3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)?(?![\da-z])"
_SPOKEN = r"(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
_HALF = r"(?: ?[ap](?:m|\.m\.?)(?![a-z]))"
_CLOCK = rf"(?:2[0-3]|[01]?\d):[0-5]\d(?::[0-5]\d)?{_HALF}?"
_ISO = rf"{_YEAR}-\d\d?-\d\d?(?:[T ,]{{1,2}}{_CLOCK})?"
_NUMBER = r"(?:\d{1,3}(?:,\d{3}){1,4}|\d{1,12})(?:\.\d{1,2})?"
_CODE = r"(?=[A-Z0-9-]*\d{3})[A-Z0-9]{1,24}(?:-[A-Z0-9]{1,12}){0,4}"
_LINK = r"(?: ?(?:(?:is|was|at|on|to|as|of|it's)(?![a-z])|[:#])){0,3} ?"
_GLUE = rf"(?: ?(?:number|no\.?|code|id|#))*{_LINK}"
_DATE = rf"{_MONTH} {_DAY}(?:,? {_YEAR})?|{_DAY}(?: of)? {_MONTH}(?:,? {_YEAR})?"
_CURRENCY = "(?:dollars?|euros?|pounds|cents?|yuan|rmb)(?![a-z])"
_PLATE = r"[A-Z]{1,3}[ -]?\d{1,4}(?:[ -]?[A-Z]{1,3})?|\d{1,4}[ -]?[A-Z]{2,3}"
_ORDERS = "order|booking|reservation|ticket|reference|invoice|tracking|case"

_FORMS: tuple[tuple[str, str, str], ...] = (
    ("TIME", "", _ISO),
    ("TIME", "", r"\d{1,2}(?P<dash>[-/.])\d{1,2}(?P=dash)(?:(?:19|20)\d\d|\d\d)"),
    ("TIME", "", rf"{_CLOCK}|{_DATE}"),
    ("TIME", "", rf"(?:(?:1[0-2]|0?[1-9])|{_SPOKEN}){_HALF}|(?:\d\d?|{_SPOKEN}) o['’]clock"),
    ("TIME", "", rf"(?:half past|(?:a )?quarter (?:past|to)) (?:1[0-2]|[1-9]|{_SPOKEN})"),
    ("EMAIL", "", r"[A-Z0-9][A-Z0-9._%+'-]{0,63}@(?:[A-Z0-9-]{1,63}\.){1,8}[A-Z]{2,24}"),
    ("URL", "", r"(?:https?://|www\.)[^\s<>\"']{2,2000}"),
    ("CARD", "", r"\d{4}(?:[ -]\d{4}){3}"),
    ("CARD", r"(?:ending|ends)(?: (?:in|with))? |last (?:four|4)(?: digits)? ", r"\d{4}"),
    ("FLIGHT", rf"flight{_GLUE}", r"(?-i:[A-Z]{2})[ -]?\d{1,4}"),
    ("TRIP", rf"(?:trip|ride|journey|train|bus){_GLUE}", _CODE),
    (
        "PLATE_NUM",
        r"(?:plates?|registration|vehicle|car|van)[^.!?]{0,24}?\b",
        rf"(?-i:(?=[A-Z0-9 -]*\d\d)(?:{_PLATE}))",
    ),
    ("ID", rf"(?:passport|licen[cs]e|account|customer|member(?:ship)?|policy|user){_GLUE}", _CODE),
    ("ORDER", rf"(?:{_ORDERS}){_GLUE}", _CODE),
    ("PHONE", "", r"(?:\+?\d{1,3}[ .-]?)?(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4}|\d{3}-\d{4}"),
    ("PHONE", "", r"\+?\d{10,11}"),
    ("AMOUNT", "", rf"[$€£] ?{_NUMBER}|{_NUMBER} ?{_CURRENCY}"),
    ("ORDER", "", r"\d{9,32}"),
    ("ORDER", "", r"(?-i:(?=[A-Z0-9-]*[A-Z])(?=(?:-?[A-Z0-9]){8})(?:[A-Z-]*\d){4}[A-Z0-9-]*)"),
)
"""Kind, what stands before it (then the value counts wherever it stands), and its form."""

_BEFORE, _AFTER = "(?<![0-9A-Za-z_])", "(?![0-9A-Za-z_])"
_RULES = [
    (
        kind,
        re.compile(rf"(?<![0-9A-Za-z_])(?<!\d[.,:])(?:{cue})(?P<v>{form})(?![0-9A-Za-z_])", re.I),
        cue,
    )
    for kind, cue, form in _FORMS
]
_MASK = re.compile(f"[{ENTITY_CHARACTERS[0]}-{ENTITY_CHARACTERS[-1]}]")
_HINT = re.compile(r"\d|@|www\.|o['’]clock|[ap]\.?m|half past|quarter", re.I)
_CODES = frozenset(("PHONE", "CARD", "PLATE_NUM", "ORDER", "TRIP", "FLIGHT", "ID"))


@dataclass(frozen=True, slots=True)
class _Span:
    start: int
    end: int
    kind: str
    value: str


@dataclass(slots=True)
class EntityTable:
    """The entities of one dialogue, numbered within their kind by first appearance.

    ``surfaces`` maps each mask to the words of its first appearance; values beyond
    `ENTITIES_PER_KIND` stay text.
    """

    surfaces: dict[str, str] = field(default_factory=dict)
    _masks: dict[str, str] = field(default_factory=dict)
    _known: re.Pattern[str] | None = None

    @classmethod
    def of(cls, texts: Sequence[str], keep: Iterable[str]) -> tuple[list[str], "EntityTable"]:
        """The masked texts of a dialogue, and its table; ``keep`` stays text (speakers' names)."""
        texts = [_MASK.sub("\ufffd", text) for text in texts]
        table, kept = cls(), frozenset(keep)
        cued = {
            match["v"]: kind
            for text in texts
            for kind, pattern, cue in _RULES
            if cue and _HINT.search(text)
            for match in pattern.finditer(text)
            if len(match["v"]) > 3
        }
        if cued:
            longest_first = sorted(cued, key=len, reverse=True)
            forms = "|".join(map(re.escape, longest_first))
            table._known = re.compile(rf"{_BEFORE}(?P<v>{forms}){_AFTER}")
        counts = dict.fromkeys(ENTITY_KINDS, 0)
        for text in texts:
            for span in table._spans(text):
                surface = text[span.start : span.end]
                kind = cued.get(surface, span.kind)
                number = counts[kind]
                if span.value in table._masks or surface in kept or number == ENTITIES_PER_KIND:
                    continue
                counts[kind] += 1
                place = ENTITIES_PER_KIND * ENTITY_KINDS.index(kind) + number
                table._masks[span.value] = ENTITY_CHARACTERS[place]
                table.surfaces[ENTITY_CHARACTERS[place]] = surface
        return [table._replaced(text) for text in texts], table

    def mask(self, text: str) -> str:
        """A summary of the dialogue, masked: values that only the summary has stay text."""
        return self._replaced(_MASK.sub("\ufffd", text))

    def _replaced(self, text: str) -> str:
        pieces, place = [], 0
        for span in self._spans(text):
            if span.value in self._masks:
                pieces += [text[place : span.start], self._masks[span.value]]
                place = span.end
        return "".join([*pieces, text[place:]])

    def _spans(self, text: str) -> Iterator[_Span]:
        """From left to right, none overlapping: of those that begin first the longest."""
        if not _HINT.search(text) and not self._known:
            return
        rules = [] if self._known is None else [("ORDER", self._known, "")]
        every = [
            (match.start("v"), -match.end("v"), number, kind)
            for number, (kind, pattern, _) in enumerate([*rules, *_RULES])
            for match in pattern.finditer(text)
        ]
        last = 0
        for start, end, _, kind in sorted(every):
            if start >= last:
                last = -end
                yield _Span(start, last, kind, _compared(kind, text[start:last]))


def _compared(kind: str, surface: str) -> str:
    """What two mentions of one value share: ``555-1234`` and ``555 1234`` are one."""
    if kind in _CODES:
        return "".join(c for c in surface.upper() if c.isalnum())
    folded = surface.casefold().replace(" ", "")
    return folded.replace(",", "") if kind == "AMOUNT" else folded.replace(".m.", "m").rstrip(".")
