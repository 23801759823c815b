"""Typed fields: values of the dialogue, and which one is meant, told by the words near it."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from dialogist.forms.form_file import FIELD_TYPES, FieldType, FormSection
from dialogist.language.entities import PLATE, find_entities
from dialogist.language.quantities import whens_in
from dialogist.language.reading import reading_of
from dialogist.language.roles import SERVED_WORDS, SERVING_WORDS
from dialogist.language.tokens import word_set
from dialogist.privacy.masks import MASK_PATTERN
from dialogist.records import Dialogue

# Makes of cars, and the model that is said behind them: "BMW 320i", "Toyota Camry".
_MAKES = (
    "Acura|Alfa Romeo|Audi|Bentley|BMW|Buick|BYD|Cadillac|Chery|Chevrolet|Chevy|Chrysler|"
    "Citro[eë]n|Dacia|Fiat|Geely|GMC|Honda|Hyundai|Infiniti|Jeep|Kia|Land Rover|Lexus|Maserati|"
    "Mazda|Mercedes(?:[- ]Benz)?|Mini Cooper|Mitsubishi|Nissan|Opel|Peugeot|Porsche|Range Rover|"
    "Renault|Rolls[- ]Royce|Saab|[SŠ]koda|Subaru|Suzuki|Tesla|Toyota|Vauxhall|Volkswagen|Volvo|VW"
)
_WORDS_TOO = "Ford|Lincoln|Seat|Smart|Jaguar"  # other words, too: a number or "car" is behind them
_MODEL = r" (?:[A-Z][A-Za-z0-9-]{1,12}|[A-Z]?[0-9][A-Za-z0-9-]{0,6})(?: [A-Z0-9][A-Za-z0-9-]{0,6})?"
_VEHICLE = re.compile(
    rf"\b(?:(?:{_WORDS_TOO})(?: (?:[A-Z]?[0-9][A-Za-z0-9-]{{0,6}}|[A-Z][a-z]+ [0-9]+)|(?= (?:car|"
    rf"van|truck|sedan|SUV|pickup)\b))|(?:{_MAKES})\b(?:{_MODEL})?)"
)
_KINDS: Mapping[str, FieldType] = {
    "PLATE_NUM" if name == "plate" else name.upper(): name
    for name in FIELD_TYPES
    if name not in ("time", "date", "vehicle")  # found by phrases and by the pattern above
}
"""Kinds of entities, and the type of field that each is."""
_CUES: Mapping[FieldType, tuple[str, ...]] = {
    "order": ("order", "booking", "reservation", "ticket", "reference"),
    "id": ("id", "account", "member", "customer"),
    "phone": ("phone", "number", "call", "reach", "contact"),
    "email": ("email", "mail"),
    "plate": ("plate", "registration"),
}
_CLOCK = re.compile(r"\d[:.]\d|[ap]\.?m\b|o ?['’]? ?clock|half past|quarter|noon|midnight", re.I)
_NEAR = 60  # characters before a value, in the same sentence
_BREATH = 80  # characters in which a correction is said
_SENTENCE_END = re.compile(r"[.!?;](?=\s|$)")
_ASKS = re.compile(r"\?|\b(?:give|tell|need|provide|what|may i|can i|confirm)\b", re.I)
_NUMBERS: tuple[FieldType, ...] = ("order", "id", "plate", "phone")
# Three digits at least, in one piece or in groups: 40-22871, 300 41 886.
_CODE = re.compile(
    r"(?<![\w.:/$€£-])(?:\d{2,}(?: \d{2,})+|(?=[A-Z0-9-]*\d[A-Z0-9-]*\d[A-Z0-9-]*\d)[A-Z0-9]+(?:-"
    r"[A-Z0-9]+)*)(?![\w:/%€]|[.,]\d)"
)
_PLATE = re.compile(
    r"(?<![\w-])(?:[A-ZÄÖÜ]{1,3}[ -](?:[A-Z]{1,3}[ -]?)?\d{1,4}[A-Z]{0,3}"
    rf"|{PLATE})(?![\w-])"
)
_PHONE_DIGITS = 7
_OTHER = re.compile(
    r"(?i)\b(?:catalog(?:ue)?|item|product|model|serial|part|invoice|vat|tax|tracking|article|pin|"
    r"zip|post ?code)\b[\w ,:#.'-]{0,20}$"
)
# A number of people or things: "a table for 120", "340 people" (a reading says count).
_COUNTS = re.compile(r"\b(?:table|party|group|room|tickets|seats|dinner|space) (?:for|of) $", re.I)
_OF_US = re.compile(r" of (?:us|them|you|our|the)\b", re.I)
_BACK = 4  # utterances
_BESIDE = 3  # words
_DIALLED = re.compile(r"\+?\d{10,13}")
_ASKED_TO_CALL = re.compile(
    r"(?i)\b(?:phone|mobile|cell|contact|alternate|telephone|whats ?app) (?:\w+ )?(?:number|no|"
    r"nos)\b|\b(?:call|reach|ring) (?:you|me)\b"
)
# Whose a phone number or an address is.
_OURS = re.compile(
    r"(?i)\b(?:us|ours?)\b|\b(?:you(?: ?['’]ll)?(?: \w+){0,3}|please|just) (?:call|write|e-?mail|"
    r"mail|contact|ring|phone|apply|complain|send|dial)\b"
)
_YOURS = re.compile(
    r"\b(?:yours?|mine|(?:call|text|ring|reach|contact|message|to|for)\w* you|my|me)\b", re.I
)
_CORRECTION = re.compile(
    r"(?i)\b(?:wait|scratch that|i (?:mean|meant)|make that|correction|oops|typo|rather|should be|"
    r"actually|wrong|mistake|out of use|another one|not that|sorry(?! (?:about|for|to hear|"
    r"you)))\b|(?:^|[.!?,] )\W*(?:oh,? |ah,? )?(?:no|nope)\b(?! (?:problem|worries|need))"
)
_NOT = re.compile(r"(?:\bnot|\binstead of|n['’]t) $", re.I)
_HERE, _ASKED = 2, 1  # what a cue in the same utterance is worth, and one in the question before


@dataclass(frozen=True, slots=True)
class TypedValue:
    """A value: ``text`` at ``start`` to ``end`` of an utterance."""

    type: FieldType
    text: str
    utterance: int
    start: int
    end: int

    @property
    def place(self) -> tuple[int, int]:
        """The utterance and the character at which it is said."""
        return self.utterance, self.start

    @property
    def key(self) -> str:
        """What the spellings of a value have in common."""
        return "".join(c for c in self.text.lower() if c.isalnum() or c in "@.%$€£¥")


def served_in(dialogue: Dialogue) -> frozenset[str]:
    """Those who are served, by role, by name, or of two by what they say; nobody where none is."""
    names = dialogue.speakers
    labels = {u.speaker: f"{u.role} {u.speaker}" for u in dialogue.utterances}
    words = {name: word_set(re.sub(r"\W", " ", label.lower())) for name, label in labels.items()}
    served = frozenset(name for name in names if words[name] & SERVED_WORDS)
    if served and len(served) < len(names):
        return served
    serving = {name for name in names if words[name] & SERVING_WORDS}
    if serving:
        return frozenset(names) - serving
    roles = reading_of(dialogue).roles
    return frozenset(name for name, role in roles.items() if role in ("customer", "patient"))


class Values:
    """All values of a dialogue by type, found once."""

    def __init__(self, dialogue: Dialogue) -> None:
        self._speakers = [u.speaker for u in dialogue.utterances]
        self._served = served_in(dialogue)
        reading = reading_of(dialogue)
        self._texts = [u.text for u in dialogue.utterances]
        self._counted: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for unit, named in zip(reading.units, reading.values, strict=True):
            counts = (v for v in named if v.kind.startswith(("count", "money")))
            self._counted[unit.turn] += [(count.start, count.end) for count in counts]
        self._of: dict[FieldType, list[TypedValue]] = defaultdict(list)
        judged = filter(None, map(self._judged, self._all()))
        for value in sorted(judged, key=lambda v: (v.utterance, v.start, -v.end)):
            values = self._of[value.type]
            last = values[-1] if values else None
            if not last or last.utterance != value.utterance or last.end <= value.start:
                values.append(value)

    def chosen(self, section: FormSection) -> tuple[list[list[TypedValue]], bool]:
        """The section's values, each with all its places; whether several fit one equally well.

        The last correction of a value wins; what it corrects is no value any more.
        """
        assert section.type is not None
        scores: dict[str, int] = {}
        corrected: list[str] = []
        places: dict[str, list[TypedValue]] = defaultdict(list)
        cues = section.cues or _CUES.get(section.type, ())
        for value in self._of[section.type]:
            head = self._texts[value.utterance][: value.start]
            if _NOT.search(head):
                scores.pop(value.key, None)  # "not 0415"
                continue
            score = max(self._score(value, cues), scores.pop(value.key, 0))
            if scores and _CORRECTION.search(head[-_BREATH:]):
                score = max(score, scores.pop(next(reversed(scores))))  # of the last other value
                corrected.append(value.key)
            places[value.key].append(value)
            scores[value.key] = score
        needed = _ASKED if section.cues else 0
        best = max(scores.values(), default=0)
        least = needed if section.several else max(best, needed)
        keys = [key for key in places if scores.get(key, -1) >= least]
        final = next((key for key in reversed(corrected) if key in keys), None)
        keys = [final] if final is not None and not section.several else keys
        return [places[key] for key in keys], len(keys) > 1 and not section.several

    def _all(self) -> Iterator[TypedValue]:
        typed: list[TypedValue] = []
        for number, text in enumerate(self._texts):
            for span in find_entities(text):
                typed += _typed(span.kind, text[span.start : span.end], number, span.start)
            for mask in MASK_PATTERN.finditer(text):  # the dialogue was masked before: [ORDER_1]
                typed += _typed(mask[1], mask[0], number, mask.start())
            typed += self._answers(number, typed)
            for start, end in whens_in(text):
                when = text[start:end].rstrip("" if text[:end].endswith(".m.") else ".")
                yield TypedValue(_when(when), when, number, start, start + len(when))
            for car in _VEHICLE.finditer(text):
                yield TypedValue("vehicle", car[0], number, car.start(), car.end())
        yield from typed

    def _answers(self, number: int, typed: Sequence[TypedValue]) -> Iterator[TypedValue]:
        """Bare numbers behind a question for them, or that correct what was said last.

        "Your order number?" - "1234567", "Sorry, I mean 1234576."
        """
        text, before = self._texts[number], self._texts[number - 1] if number else ""
        asked = [t for t in _NUMBERS if has_cue(before, _CUES[t]) and _ASKS.search(before)]
        corrected: list[TypedValue] = []
        if not asked and (_CORRECTION.search(text) or "not " in text.lower()):
            corrected = [v for v in typed if v.type in _NUMBERS][-1:]
            asked = [v.type for v in corrected]
        form = _PLATE if asked[:1] == ["plate"] and _PLATE.search(text) else _CODE
        for code in form.finditer(text) if asked else ():
            value = TypedValue(asked[0], code[0], number, *code.span())
            digits = sum(map(str.isdecimal, code[0]))
            if any(abs(digits - sum(map(str.isdecimal, v.text))) > 1 for v in corrected):
                continue  # "No, I paid 319" corrects no number of an order
            is_typed = any(v.start < value.end and value.start < v.end for v in typed
                           if v.utterance == number)  # fmt: skip
            enough = digits >= (2 if form is _PLATE else 3)
            if not is_typed and enough and (asked[0] != "phone" or digits >= _PHONE_DIGITS):
                yield value

    def _judged(self, value: TypedValue) -> TypedValue | None:
        """The value with the type that the words near it give, None where it is none of these."""
        text = self._texts[value.utterance]
        near = _SENTENCE_END.split(text[max(0, value.start - _NEAR) : value.start])[-1]
        if MASK_PATTERN.fullmatch(value.text) or value.type not in (*_NUMBERS, "email"):
            return value
        if value.type in ("phone", "email") and self._is_companys(value, near):
            return None
        if value.type in ("email", "plate"):
            return value
        if _OTHER.search(near) and not has_cue(near, _CUES["order"][:3]):
            return None
        counted = self._counted[value.utterance]
        is_count = any(first < value.end and value.start < last for first, last in counted)
        if value.text.isdecimal() and (
            is_count or _COUNTS.search(near) or _OF_US.match(text, value.end)
        ):
            return None
        named = (*_CUES["order"], *_CUES["id"])
        is_dialled = value.type == "order" and _DIALLED.fullmatch(value.text) is not None
        if is_dialled and not has_cue(near, named):
            # All that is said, and one of the last turns asks for a number to call.
            is_alone = len(text.replace(value.text, "").split()) <= _BESIDE
            turns = self._texts[max(0, value.utterance - _BACK) : value.utterance]
            if is_alone and any(_ASKED_TO_CALL.search(turn) for turn in turns):
                return replace(value, type="phone")
        return value

    def _is_companys(self, value: TypedValue, near: str) -> bool:
        """Whether a phone number or an address is that of those who serve.

        "Reach us at ...", "write to ..." of those who serve; "your hotline" of others.
        """
        if self._speakers[value.utterance] in self._served:
            return re.search(r"\byours?\b", near, re.I) is not None
        return _OURS.search(near) is not None and not _YOURS.search(near)

    def _score(self, value: TypedValue, cues: Sequence[str]) -> int:
        text = self._texts[value.utterance]
        others = (v.end for v in self._of[value.type] if v.utterance == value.utterance)
        near = max([0, value.start - _NEAR, *(end for end in others if end <= value.start)])
        window = _SENTENCE_END.split(text[near : value.start])[-1]
        if has_cue(window, cues):
            return _HERE
        before = self._texts[value.utterance - 1] if value.utterance else ""
        return _ASKED if has_cue(before, cues) else 0


def _typed(kind: str, text: str, utterance: int, start: int) -> Iterator[TypedValue]:
    name = _when(text) if kind.upper() == "TIME" else _KINDS.get(kind.upper())
    if name:
        yield TypedValue(name, text, utterance, start, start + len(text))


def _when(text: str) -> FieldType:
    """A time of day, alone or with its date, is a time."""
    return "time" if _CLOCK.search(text) else "date"


def has_cue(text: str, cues: Sequence[str]) -> bool:
    """Whether a text has one of the words, also with an "s" behind it."""
    return bool(cues) and _any_of(tuple(cues)).search(text.lower()) is not None


@lru_cache
def _any_of(cues: tuple[str, ...]) -> re.Pattern[str]:
    words = "|".join(re.escape(cue.lower()) for cue in cues)
    return re.compile(f"(?<![a-z])(?:{words})s?(?![a-z])")
