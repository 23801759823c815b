"""Masks such as ``[PHONE_1]``: one for each value of a dialogue, and back.

A table says what stands behind the masks of one dialogue. It is personal data itself.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from dialogist.config import Config
from dialogist.data.entities import EntitySpan
from dialogist.errors import DataError
from dialogist.privacy.finding import (
    FirstLook,
    KnownData,
    KnownValues,
    find_personal_data,
    first_look,
    identify,
    identities,
)
from dialogist.privacy.packs import CODE, NAME, PERSON, Privacy
from dialogist.privacy.rules import plain_characters
from dialogist.language.tokens import Replaced, folded, replaced

MASK_PATTERN = re.compile(r"\[([A-Z]+(?:_[A-Z]+)*)_[1-9][0-9]*\]")
"""A mask as it is written."""

ValueKey = tuple[str, str]
"""What two mentions of one value share."""

# Kinds whose values are compared among themselves; all others are codes: by letters and digits.
_OWN = frozenset(("EMAIL", "URL", "IP", "ADDRESS", "BIRTH_DATE", PERSON, NAME))
# How a number is dialled from abroad, and what it begins with at home instead.
_ABROAD = tuple(
    (re.compile(rf"(?:\+|00)[ ]?{code}[ .-]?(?:\(0\))?[ .-]?"), home)
    for code, home in (
        (r"86(?=\D?1[3-9])", ""),  # mobile
        ("86", "0"),
        ("1", ""),
        *((country, "0") for country in ("44", "33", "49", "61")),
    )
)


def value_key(kind: str, surface: str, people: Iterable[str] = ()) -> ValueKey:
    """The form in which two mentions are compared; ``+1 415-555-0132`` is ``(415) 555 0132``."""
    text = plain_characters(surface)
    if kind == PERSON:
        return PERSON, folded(identify(surface, people))
    if kind in _OWN:
        return kind, " ".join(folded(text).split())
    if kind == "PHONE":
        found = ((home, abroad.match(text)) for abroad, home in _ABROAD)
        text = next((home + text[m.end() :] for home, m in found if m is not None), text)
    return "code", "".join(c for c in text.upper() if c.isalnum())


@dataclass(frozen=True, slots=True)
class MaskTable:
    """The masks of one dialogue.

    ``values``: the words of its first mention for each mask. ``masks``: the mask of each value.
    ``mentions[i]``: each mask in text ``i`` of the dialogue and the words behind it, in order (its
    texts: see `dialogues`). ``taken``: masks that the dialogue itself spelled, they are text.
    ``people``: whom names are told to mean.
    """

    values: Mapping[str, str] = field(default_factory=dict)
    masks: Mapping[ValueKey, str] = field(default_factory=dict)
    mentions: tuple[tuple[tuple[str, str], ...], ...] = ()
    taken: frozenset[str] = frozenset()
    people: tuple[str, ...] = ()

    @property
    def known(self) -> KnownData:
        """What the dialogue tells about other texts on it."""
        kinds = {words: mask_kind(mask) for said in self.mentions for mask, words in said}
        kinds.update({words: mask_kind(mask) for mask, words in self.values.items()})
        telling = {words: kind for words, kind in kinds.items() if kind not in (PERSON, NAME)}
        return KnownData(KnownValues(telling), self.people)

    def with_value(self, kind: str, words: str) -> tuple[Replaced, "MaskTable"]:
        """A text that is one value of a kind, masked, and the table that knows it."""
        numbering = _Numbering(self, {})
        masked = numbering.mask(words, [EntitySpan(0, len(words), kind)])
        return masked, numbering.table(self.mentions)

    def counts(self) -> Counter[str]:
        """Mentions that were masked in the dialogue, by kind."""
        return Counter(mask_kind(mask) for said in self.mentions for mask, _ in said)

    def restore(self, text: str) -> str:
        """The words of their first mention for masks; what is no mask of this table stays."""
        return MASK_PATTERN.sub(lambda match: self.values.get(match[0], match[0]), text)

    def restore_texts(self, texts: Sequence[str]) -> tuple[str, ...]:
        """The dialogue's own texts as they were, each mention in its own words.

        Raises:
            ValueError: these are not the masked texts of this dialogue.
        """
        there = [
            [m[0] for m in MASK_PATTERN.finditer(text) if m[0] in self.values] for text in texts
        ]
        if there != [[mask for mask, _ in said] for said in self.mentions]:
            raise ValueError("these are not the masked texts of this dialogue")
        return tuple(map(self._in_order, texts, self.mentions))

    def masked(self, utterance: int, text: str, was_read: bool) -> Replaced:
        """A masked utterance; ``was_read``: places are those in the masked text already."""
        said = iter(self.mentions[2 * utterance + 1])  # its speaker is a text of its own
        spans: list[tuple[int, int, str]] = []
        shift = 0
        for mask in MASK_PATTERN.finditer(text if not was_read else ""):
            if mask[0] in self.values:
                _, words = next(said)
                start = mask.start() + shift
                spans.append((start, start + len(words), mask[0]))
                shift += len(words) - len(mask[0])
        return Replaced(text, tuple(spans))

    def _in_order(self, text: str, said: Sequence[tuple[str, str]]) -> str:
        words = iter(said)
        return MASK_PATTERN.sub(lambda m: next(words)[1] if m[0] in self.values else m[0], text)


def mask_kind(mask: str) -> str:
    """The kind that a mask says."""
    return mask[1 : mask.rindex("_")]


def mask_texts(
    texts: Sequence[str],
    privacy: Privacy,
    speakers: Sequence[str] = (),
    questions: Sequence[str] = (),
) -> tuple[tuple[Replaced, ...], MaskTable]:
    """Mask the texts of a dialogue with one table; ``speakers`` are names to be masked.

    ``questions``, if any, are the turns before the texts, each of which may ask for a value.

    Twice through: what a word tells about a value somewhere counts everywhere.
    """
    asked = questions or [""] * len(texts)
    looked = [first_look(text, privacy, before) for text, before in zip(texts, asked, strict=True)]
    found = _find(texts, privacy, KnownData(people=tuple(speakers)), looked)
    pairs = [
        (text[one.start : one.end], one.kind)
        for text, of in zip(texts, found, strict=True)
        for one in of
    ]
    people = identities([*speakers, *(words for words, kind in pairs if kind == PERSON)])
    kinds = _kinds(pairs, people)
    if pairs:
        known = KnownData(KnownValues(_telling(pairs, kinds)), people)
        found = _find(texts, privacy, known, looked)
    taken = frozenset(m[0] for text in texts for m in MASK_PATTERN.finditer(text))
    numbering = _Numbering(MaskTable(taken=taken, people=people), kinds)
    masked = tuple(map(numbering.mask, texts, found))
    mentions = tuple(
        tuple((mask, text[start:end]) for start, end, mask in one.spans)
        for text, one in zip(texts, masked, strict=True)
    )
    return masked, numbering.table(mentions)


def mask_text(
    text: str, privacy: Privacy, table: MaskTable | None = None
) -> tuple[Replaced, MaskTable]:
    """Mask another text on a dialogue, such as its summary: the same value has the same mask.

    What the dialogue does not hold is masked, too: the table that comes back knows it.
    """
    table = table or MaskTable()
    spelled = frozenset(m[0] for m in MASK_PATTERN.finditer(text)) - table.values.keys()
    table = replace(table, taken=table.taken | spelled)
    numbering = _Numbering(table, {})
    masked = numbering.mask(text, _not_yet_masked(text, privacy, table.known))
    return masked, numbering.table(table.mentions)


def _find(
    texts: Iterable[str], privacy: Privacy, known: KnownData, looked: Iterable[FirstLook]
) -> list[list[EntitySpan]]:
    pairs = zip(texts, looked, strict=True)
    return [_not_yet_masked(text, privacy, known, seen) for text, seen in pairs]


def _not_yet_masked(
    text: str, privacy: Privacy, known: KnownData, looked: FirstLook | None = None
) -> list[EntitySpan]:
    """The personal data of a text; a mask is none: "the password is [SECRET_1]"."""
    masks = [mask.span() for mask in MASK_PATTERN.finditer(text)]
    found = find_personal_data(text, privacy, known, looked)
    return [
        one
        for one in found
        if not any(start <= one.start and one.end <= end for start, end in masks)
    ]


def _telling(pairs: Iterable[tuple[str, str]], kinds: Mapping[ValueKey, str]) -> dict[str, str]:
    """Values that can be found again, with their kinds; names are found otherwise."""
    values = ((words, kind) for words, kind in pairs if kind not in (PERSON, NAME))
    return {words: kinds[value_key(kind, words)] for words, kind in values}


def _kinds(pairs: Iterable[tuple[str, str]], people: Sequence[str]) -> dict[ValueKey, str]:
    """One kind for each value: the first that says something."""
    kinds: dict[ValueKey, str] = {}
    for words, kind in pairs:
        key = value_key(kind, words, people)
        if kinds.get(key, CODE) == CODE:
            kinds[key] = kind
    return kinds


class _Numbering:
    """Gives each new value the next mask of its kind that no text of the dialogue spells."""

    def __init__(self, table: MaskTable, kinds: Mapping[ValueKey, str]) -> None:
        self._before = table
        self._kinds = kinds
        self._masks = dict(table.masks)
        self._values = dict(table.values)
        self._numbers = Counter(map(mask_kind, table.values))

    def mask(self, text: str, found: Sequence[EntitySpan]) -> Replaced:
        """The text with masks for what was found in it."""
        masks = (self._mask(one.kind, text[one.start : one.end]) for one in found)
        pairs = zip(found, masks, strict=True)
        return replaced(text, ((one.start, one.end, mask) for one, mask in pairs))

    def table(self, mentions: tuple[tuple[tuple[str, str], ...], ...]) -> MaskTable:
        """The table with what was added."""
        return replace(self._before, values=self._values, masks=self._masks, mentions=mentions)

    def _mask(self, kind: str, surface: str) -> str:
        key = value_key(kind, surface, self._before.people)
        if key not in self._masks:
            self._masks[key] = self._next(self._kinds.get(key, kind))
            self._values[self._masks[key]] = surface
        return self._masks[key]

    def _next(self, kind: str) -> str:
        while True:
            self._numbers[kind] += 1
            mask = f"[{kind}_{self._numbers[kind]}]"
            if mask not in self._before.taken and mask not in self._values:
                return mask


class _Line(Config):
    schema_version: Annotated[int, Field(ge=1, le=1)]
    id: str
    original_id: str
    values: dict[str, str]
    mentions: tuple[tuple[tuple[str, str], ...], ...]
    taken: tuple[str, ...]


def table_line(table: MaskTable, identity: str, original: str) -> str:
    """One line of JSON, without its end: the table of the dialogue that is called ``identity``."""
    record = {
        "schema_version": 1,
        "id": identity,
        "original_id": original,
        "values": dict(table.values),
        "mentions": table.mentions,
        "taken": sorted(table.taken),
    }
    return json.dumps(record, ensure_ascii=False)


def read_tables(path: Path) -> Mapping[str, tuple[str, MaskTable]]:
    """The tables of a file by the ids of masked dialogues, each with the original id.

    They restore; to mask further texts with them they do not know enough.

    Raises:
        DataError: it cannot be read, or a line is no table; names the line.
    """
    try:
        lines = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    except (OSError, ValueError) as error:  # not UTF-8
        reason = getattr(error, "strerror", None) or "is not UTF-8"
        raise DataError(f"{path}: cannot be read: {reason}") from None
    read = (_line(text, f"{path}:{number}") for number, text in enumerate(lines, start=1))
    tables = ((one, MaskTable(one.values, {}, one.mentions, frozenset(one.taken))) for one in read)
    return {one.id: (one.original_id, table) for one, table in tables}


def _line(text: str, where: str) -> _Line:
    try:
        return _Line.model_validate_json(text)
    except ValidationError as error:
        reason = error.errors()[0]["msg"]
        message = f"{where}: is no table of masks ({reason}): give a file of mask --table"
        raise DataError(message) from None
