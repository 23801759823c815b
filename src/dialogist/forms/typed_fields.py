"""Typed fields: values of the dialogue, and which one is meant, told by the words near it."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from dialogist.privacy.masks import MASK_PATTERN
from dialogist.records import Dialogue, Entity, EvidenceSpan
from dialogist.forms.filled import Entry
from dialogist.forms.template_config import FIELD_TYPES, FieldType, SectionConfig
from dialogist.language.quantities import whens_in
from dialogist.language.entities import ENTITY_KINDS, EntitySpan, find_entities

# Makes of cars, and the model that is said behind them: "BMW 320i", "Toyota Camry", 宝马320.


_MAKES = (
    "Acura|Alfa Romeo|Audi|Bentley|BMW|Buick|BYD|Cadillac|Chery|Chevrolet|Chevy|Chrysler|"
    "Citro[eë]n|Dacia|Fiat|Ford|Geely|GMC|Honda|Hyundai|Infiniti|Jaguar|Jeep|Kia|"
    "Lamborghini|Land Rover|Lexus|Lincoln|Maserati|Mazda|Mercedes(?:[- ]Benz)?|Mini Cooper|"
    "Mitsubishi|Nissan|Opel|Peugeot|Porsche|Range Rover|Renault|Rolls[- ]Royce|Saab|Seat|"
    "[SŠ]koda|Smart|Subaru|Suzuki|Tesla|Toyota|Vauxhall|Volkswagen|Volvo|VW"
)
_HAN_MAKES = (
    "宝马|奔驰|奥迪|大众|丰田|本田|日产|别克|福特|雪佛兰|现代|起亚|马自达|标致|雪铁龙|比亚迪|吉利|长安|奇瑞|长城|哈弗|"
    "特斯拉|沃尔沃|路虎|捷豹|雷克萨斯|凯迪拉克|保时捷|斯柯达|三菱|铃木|荣威|红旗|蔚来|小鹏|理想"
)
# Makes that are other words, too, need a number or "car" behind them.
_ALONE_NO_CAR = "Ford|Lincoln|Seat|Smart|Jaguar"  # a surname, a chair, a word, an animal
_MODEL = r" (?:[A-Z][A-Za-z0-9-]{1,12}|[A-Z]?[0-9][A-Za-z0-9-]{0,6})(?: [A-Z0-9][A-Za-z0-9-]{0,6})?"
_CAR = r"(?= (?:car|van|truck|sedan|SUV|pickup|hatchback|coupe)\b)"
_VEHICLE = re.compile(
    rf"\b(?:(?:{_ALONE_NO_CAR})(?: (?:[A-Z]?[0-9][A-Za-z0-9-]{{0,6}}|[A-Z][a-z]+ [0-9]+)|{_CAR})"
    rf"|(?!(?:{_ALONE_NO_CAR})\b)(?:{_MAKES})\b(?:{_MODEL})?)"
    rf"|(?:{_HAN_MAKES})(?:[A-Z0-9][A-Za-z0-9-]{{0,6}}(?:系|级)?|(?=[轿汽]?车))"
)


_FOUND_HERE = ("time", "date", "vehicle")  # by patterns of this module or phrases of time
_KINDS = {
    "PLATE_NUM" if name == "plate" else name.upper(): name
    for name in FIELD_TYPES
    if name not in _FOUND_HERE
}
"""Kinds of entities, and the type of field that each is."""
assert _KINDS.keys() <= set(ENTITY_KINDS), "a type of field that nothing finds"
_CUES: Mapping[FieldType, tuple[str, ...]] = {
    "order": ("order", "booking", "reservation", "ticket", "reference", "订单", "单号", "票"),
    "id": ("id", "account", "member", "customer", "账号", "会员", "工号", "身份证"),
    "phone": ("phone", "number", "call", "reach", "contact", "电话", "手机", "号码"),
    "email": ("email", "mail", "邮箱"),
    "plate": ("plate", "registration", "车牌"),
}
_CLOCK = re.compile(r"\d[:：点时]|[ap]\.?m\b|o ?['’]? ?clock|half past|quarter|noon|midnight", re.I)
_NEAR = 60  # characters before a value, in the same utterance
_IS = re.compile(r"[ ,]*(?:is|was|for|as|是)\b.{1,25}", re.I)  # "12345 is my order number"
_SENTENCE_END = re.compile(r"[.!?;。！？；](?=\s|$)|[。！？；]")
_ASKS = re.compile(
    r"\?|？|\b(?:give|tell|need|provide|what|may i|can i|confirm)\b|请|提供|多少|吗", re.I
)
_BARE: tuple[FieldType, ...] = ("order", "id", "plate", "phone")
_CODE = re.compile(
    r"(?<![\w.:/$€£-])(?=[A-Z0-9-]*\d[A-Z0-9-]*\d[A-Z0-9-]*\d)[A-Z0-9]+(?:-[A-Z0-9]+)*(?![\w:/%€]|"
    r"[.,]\d)"
)
_PLATE = re.compile(r"(?<![\w-])[A-ZÄÖÜ]{1,3}[ -](?:[A-Z]{1,3}[ -]?)?\d{1,4}[A-Z]{0,3}(?![\w-])")
_PHONE_DIGITS = 7
# What a number is by the words before it, whatever its form says; "" is none of the types here.
_CALLED: Mapping[FieldType | Literal[""], re.Pattern[str]] = {
    "phone": re.compile(
        r"\b(?:phone|mobile|cell|contact|telephone|tel|whats ?app|call (?:me|us|back)?|"
        r"reach(?:able)?|"
        r"ring)\b[^.!?]*$|电话|手机|致电",
        re.I,
    ),
    "": re.compile(
        r"\b(?:catalog(?:ue)?|item|product|model|serial|part|invoice|vat|tax|tracking|article|"
        r"pin|zip|post ?code)\b[\w ,:#.'-]{0,20}$",
        re.I,
    ),
}
_INVOICE = re.compile(r"(?:inv|invoice|vat)\b", re.I)
_MIXED: tuple[FieldType, ...] = ("order", "id", "phone")
# Numbers of 10 to 13 digits; a question before asks for one to call.
_REACHED = re.compile(r"\W*is (?:not )?(?:reachable|my (?:phone|mobile|cell|contact)\b)", re.I)
_BACK = 4  # utterances
_BESIDE = 3  # words
_TELLS = re.compile(r"\b(?:my|phone|mobile|cell|reach me|call me|number)\b", re.I)
_DIALLED = re.compile(r"\+?\d{10,13}")
_ASKED_TO_CALL = re.compile(
    r"\b(?:phone|mobile|cell|contact|alternate|telephone|whats ?app) (?:\w+ )?(?:number|no|nos)\b|"
    r"\b(?:call|reach|ring) (?:you|me)\b",
    re.I,
)
# A company's own number: in a signature, or to call "us" on.
_SIGNED = re.compile(r"\b(?:best|kind|warm)? ?(?:regards|wishes)\b|\bsincerely\b|\|", re.I)
_OURS = re.compile(
    r"\b(?:call|reach|contact|ring|phone) (?:us|our)\b|\bour (?:\w+ ){0,2}(?:number|hotline|line|"
    r"team|office|phone)\b",
    re.I,
)
_CORRECTION = re.compile(
    r"\b(?:sorry|i mean|i meant|correction|not that|rather|should be|out of use|"
    r"wrong (?:number|one)|another one|actually)\b|改成|应该是|说错|看错|报错|换成|不好意思|更正",
    re.I,
)
_PROVINCE = re.compile("[京津沪渝冀豫云辽黑湘皖鲁新苏浙赣鄂桂甘晋蒙陕吉闽贵粤青藏川宁琼]$")
_CORRECTED = 3
_HERE, _ASKED = 2, 1  # what a cue in the same utterance is worth, and one in the question before


@dataclass(frozen=True, slots=True)
class Value:
    """A value: ``text`` at ``start`` to ``end`` of an utterance."""

    type: FieldType
    text: str
    utterance: int
    start: int
    end: int


class Values:
    """All values of a dialogue by type, found once; ``known`` are those a summary already has."""

    def __init__(self, dialogue: Dialogue, known: Sequence[Entity] = ()) -> None:
        self._texts = [u.text for u in dialogue.utterances]
        self._of: dict[FieldType, list[Value]] = defaultdict(list)
        typed = filter(None, map(self._retyped, self._all(known)))
        for value in sorted(typed, key=lambda v: (v.utterance, v.start, -v.end)):
            found = self._of[value.type]
            last = found[-1] if found else None
            if not last or last.utterance != value.utterance or last.end <= value.start:
                found.append(value)

    def entries(self, section: SectionConfig) -> tuple[list[Entry], bool]:
        """The section's values, each once, and whether one was wanted but several fit equally."""
        assert section.type is not None
        scores: dict[str, int] = defaultdict(int)
        places: dict[str, list[Value]] = defaultdict(list)
        cues = section.cues or _CUES.get(section.type, ())
        for value in self._of[section.type]:
            key = _plain(value.text)
            scores[key] = max(scores[key], self._score(value, cues))
            places[key].append(value)
            head = self._texts[value.utterance][max(0, value.start - _NEAR) : value.start]
            if _CORRECTION.search(head):  # "Sorry, I mean 12345": what was said before is void
                scores = defaultdict(int, {key: _CORRECTED})
        best = max(scores.values(), default=0)
        needed = _ASKED if section.cues else 0
        chosen = [key for key in places if scores[key] >= (needed if section.several else best)]
        if best < needed:
            chosen = []
        return [_entry(places[key]) for key in chosen], len(chosen) > 1 and not section.several

    def _all(self, known: Sequence[Entity]) -> Iterator[Value]:
        for number, text in enumerate(self._texts):
            spans = find_entities(text)
            for span in spans:
                # A Chinese plate begins with its province; letters that plates do not have hide it.
                is_plate = span.kind == "PLATE_NUM"
                start = span.start - bool(is_plate and _PROVINCE.search(text[: span.start]))
                yield from _typed(span.kind, text[start : span.end], number, start)
            for mask in MASK_PATTERN.finditer(text):  # the dialogue was masked before: [ORDER_1]
                yield from _typed(mask[1], mask[0], number, mask.start())
            yield from self._answers(number, spans)
            for start, end in whens_in(text):
                yield Value(_when(text[start:end]), text[start:end], number, start, end)
            for car in _VEHICLE.finditer(text):
                yield Value("vehicle", car[0], number, car.start(), car.end())
        for entity in known:
            if self._texts[entity.utterance : entity.utterance + 1]:
                yield from _typed(entity.kind, entity.text, entity.utterance, entity.start)

    def _retyped(self, value: Value) -> Value | None:
        """The value with the type that the words before it give, None where they give another.

        A number to call a company is none of this dialogue's customer.
        """
        if value.type not in _MIXED or MASK_PATTERN.fullmatch(value.text):
            return value
        text = self._texts[value.utterance]
        head = text[max(0, value.start - _NEAR) : value.start]
        near = _SENTENCE_END.split(head)[-1]
        if value.type == "phone" and (
            _OURS.search(near) or (_SIGNED.search(text[: value.start]) and not _TELLS.search(near))
        ):
            return None
        if _INVOICE.match(value.text):
            return None
        if _CALLED[""].search(near) and not has_cue(near, _CUES["order"][:3]):
            return None
        is_dialled = _DIALLED.fullmatch(value.text) is not None
        behind = _REACHED.match(text, value.end)
        calls = (
            behind
            or _CALLED["phone"].search(near)
            or (not has_cue(near, (*_CUES["order"], *_CUES["id"])) and self._asks_to_call(value))
        )
        return (
            replace(value, type="phone")
            if value.type == "order" and is_dialled and calls
            else value
        )

    def _asks_to_call(self, value: Value) -> bool:
        """Whether it is all that is said, and one of the last turns asks for a number to call."""
        text = self._texts[value.utterance]
        if len(text.replace(value.text, "").split()) > _BESIDE:
            return False
        turns = self._texts[max(0, value.utterance - _BACK) : value.utterance]
        return any(_ASKED_TO_CALL.search(text) for text in turns)

    def _answers(self, number: int, spans: Sequence[EntitySpan]) -> Iterator[Value]:
        """Bare numbers behind a question for them: "Your order number?" - "1234567"."""
        before = self._texts[number - 1] if number else ""
        asked = [t for t in _BARE if has_cue(before, _CUES[t]) and _ASKS.search(before)]
        text = self._texts[number]
        form = _PLATE if asked[:1] == ["plate"] and _PLATE.search(text) else _CODE
        for code in form.finditer(text) if asked else ():
            start, end = code.span()
            if any(span.start < end and start < span.end for span in spans):
                continue
            if asked[0] != "phone" or sum(map(str.isdecimal, code[0])) >= _PHONE_DIGITS:
                yield Value(asked[0], code[0], number, start, end)

    def _score(self, value: Value, cues: Sequence[str]) -> int:
        text = self._texts[value.utterance]
        near = max(0, value.start - _NEAR)
        others = (v.end for v in self._of[value.type] if v.utterance == value.utterance)
        near = max([near, *(end for end in others if end <= value.start)])
        window = _SENTENCE_END.split(text[near : value.start])[-1]
        behind = _IS.match(text, value.end)
        if has_cue(window, cues) or (behind is not None and has_cue(behind[0], cues)):
            return _HERE
        before = self._texts[value.utterance - 1] if value.utterance else ""
        return _ASKED if has_cue(before, cues) else 0


def _typed(kind: str, text: str, utterance: int, start: int) -> Iterator[Value]:
    name = _when(text) if kind.upper() == "TIME" else _KINDS.get(kind.upper())
    if name:
        yield Value(name, text, utterance, start, start + len(text))


def _when(text: str) -> FieldType:
    """A time of day, alone or with its date, is a time."""
    return "time" if _CLOCK.search(text) else "date"


def has_cue(text: str, cues: Sequence[str]) -> bool:
    """Whether a text has one of the words, also with an "s" behind it."""
    low = text.lower()
    return any(
        re.search(rf"(?<![a-z]){re.escape(cue.lower())}s?(?![a-z])", low)
        if cue.isascii()
        else cue in low
        for cue in cues
    )


def _plain(text: str) -> str:
    """What the spellings of a value have in common."""
    return "".join(c for c in text.lower() if c.isalnum() or c in "@.%$€£¥")


def _entry(places: Sequence[Value]) -> Entry:
    first = places[0]
    evidence = tuple(EvidenceSpan(v.utterance, v.start, v.end, 1.0) for v in places)
    return Entry(first.text, "dialogue", evidence, type=first.type)
