"""Masks such as ``[PHONE_1]``: one for each value of a dialogue, and back.

A table says what stands behind the masks of one dialogue. It is personal data itself.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial

from dialogist.language.entities import EntitySpan
from dialogist.language.tokens import Replaced, folded, replaced
from dialogist.privacy.finding import (
    FirstLook,
    KnownValues,
    find_personal_data,
    first_look,
)
from dialogist.privacy.packs import CODE, DENIED, NAME, PERSON, Privacy
from dialogist.privacy.persons import People, people_of
from dialogist.privacy.rules import plain_characters

MASK_PATTERN = re.compile(r"\[([A-Z]+(?:_[A-Z]+)*)_[1-9][0-9]*\]")
"""A mask as it is written."""

# As models write it, too: [person_1], [PERSON 1], <PERSON_1>, \[PERSON\_1\], PERSON_1.
_LOOSE_MASK = re.compile(
    r"(?i)\\?[\[<]([A-Z]+(?:\\?[_ ][A-Z]+){0,9}\\?[_ ][1-9][0-9]*)(['’]s)?\\?[\]>]"
    r"|(?<!\w)([A-Z]+(?:\\?_[A-Z]+){0,9}\\?_[1-9][0-9]*)(?!\w)"
)

_LONGEST = 60  # characters of a mask

ValueKey = tuple[str, str]
"""What two mentions of one value share."""

# Kinds whose values are compared among themselves; all others are codes: by letters and digits.
_NO_CODES = frozenset(("EMAIL", "URL", "IP", "ADDRESS", "BIRTH_DATE", PERSON, NAME, DENIED))
_AT_HOME = 9  # last digits of a telephone number, in which country and trunk codes have no part


def value_key(kind: str, surface: str, people: People | None = None) -> ValueKey:
    """The form in which two mentions are compared; ``+1 415-555-0132`` is ``(415) 555 0132``."""
    text = plain_characters(surface)
    if kind == PERSON:
        return PERSON, folded(people.who(surface) if people else surface)
    if kind in _NO_CODES:
        return kind, " ".join(folded(text).split())
    code = "".join(c for c in text.upper() if c.isalnum())
    return "code", code[-_AT_HOME:] if kind == "PHONE" else code


Mentions = tuple[tuple[tuple[str, str], ...], ...]


@dataclass(frozen=True, slots=True)
class MaskTable:
    """The masks of one dialogue.

    ``values``: the words of its first mention for each mask. ``masks``: the mask of each value.
    ``mentions[i]``: each mask in text ``i`` of the dialogue and the words behind it, in order (its
    texts: see `masking`). ``taken``: masks that the dialogue itself spelled, they are text.
    ``people``: whom names are told to mean. ``originals``: values of a dialogue, by their place
    among its texts, that their masks do not bring back, such as numbers. ``identity``: its id.
    ``shown``: its masked texts.
    """

    values: Mapping[str, str] = field(default_factory=dict)
    masks: Mapping[ValueKey, str] = field(default_factory=dict)
    mentions: Mentions = ()
    taken: frozenset[str] = frozenset()
    people: tuple[str, ...] = ()
    originals: Mapping[int, str | int | float] = field(default_factory=dict)
    identity: str = ""
    shown: str = field(default="", repr=False)

    def counts(self) -> Counter[str]:
        """Mentions that were masked in the dialogue, by kind."""
        return Counter(mask_kind(mask) for pairs in self.mentions for mask, _ in pairs)

    def restore(self, text: str, turns: Sequence[int] = ()) -> str:
        """The text of `restored`, all of it about the same turns."""
        return self.restored(text, lambda _: turns).text

    def restored(self, text: str, turns_at: Callable[[int], Sequence[int]]) -> Replaced:
        """A text about the dialogue: each mask, also a damaged one, in the words of one of the
        turns that its place tells, else of its first mention; no other word is touched."""
        return replaced(
            text,
            (
                (*place, self.words(mask, turns_at(place[0])) + ending)
                for mask, ending, place in _masks_in(text)
                if mask in self.values
            ),
        )

    def words(self, mask: str, turns: Sequence[int]) -> str:
        """What stands behind a mask in one of the turns, else at its first mention."""
        pairs = (pair for n in turns for pair in self.mentions[2 * n + 1])
        return next((words for known, words in pairs if known == mask), self.values[mask])

    def unknown(self, text: str) -> list[str]:
        """What looks like a mask of this table in a text, and is none, nor the dialogue's words."""
        kinds, known = set(map(mask_kind, self.values)), self.taken | self.values.keys()
        return [m for m, *_ in _masks_in(text) if mask_kind(m) in kinds and m not in known]

    def restore_texts(self, texts: Sequence[str]) -> tuple[str, ...]:
        """The dialogue's own texts as they were, each mention in its own words.

        Raises:
            ValueError: these are not the masked texts of this dialogue.
        """
        masks = [
            [m[0] for m in MASK_PATTERN.finditer(text) if m[0] in self.values] for text in texts
        ]
        if masks != [[mask for mask, _ in pairs] for pairs in self.mentions]:
            raise ValueError("these are not the masked texts of this dialogue")
        words = (words for pairs in self.mentions for _, words in pairs)
        return tuple(
            MASK_PATTERN.sub(lambda m: next(words) if m[0] in self.values else m[0], text)
            for text in texts
        )

    def masked(self, utterance: int, text: str, was_read: bool) -> Replaced:
        """A masked utterance; ``was_read``: places are those in the masked text already."""
        pairs = iter(self.mentions[2 * utterance + 1])  # its speaker is a text of its own
        spans: list[tuple[int, int, str]] = []
        shift = 0
        for mask in MASK_PATTERN.finditer(text if not was_read else ""):
            if mask[0] in self.values:
                _, words = next(pairs)
                start = mask.start() + shift
                spans.append((start, start + len(words), mask[0]))
                shift += len(words) - len(mask[0])
        return Replaced(text, tuple(spans))


def _masks_in(text: str) -> Iterator[tuple[str, str, tuple[int, int]]]:
    """Each mask in a text, however it is written, with an ending within it, and its place."""
    for match in _LOOSE_MASK.finditer(text):
        name = (match[1] or match[3]).upper().replace("\\", "").replace(" ", "_")
        yield f"[{name}]", match[2] or "", match.span()


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
    look = cache(partial(first_look, privacy=privacy))  # a speaker's name is a text of each turn
    looked = [look(text, question=before) for text, before in zip(texts, asked, strict=True)]
    people = people_of(tuple(dict.fromkeys(speakers)))
    spans = _find(texts, looked, privacy, {}, people)
    pairs = [
        (text[span.start : span.end], span.kind)
        for text, of in zip(texts, spans, strict=True)
        for span in of
    ]
    names = [*speakers, *(words for words, kind in pairs if kind == PERSON)]
    people = people_of(tuple(dict.fromkeys(names)))
    # One kind for each value: the first that says something.
    kinds: dict[ValueKey, str] = {}
    for words, kind in pairs:
        key = value_key(kind, words, people)
        if kinds.get(key, CODE) == CODE:
            kinds[key] = kind
    if pairs:
        # Values can be found again by their letters and digits; names are found otherwise.
        telling = {
            words: kinds[value_key(kind, words)]
            for words, kind in pairs
            if kind not in (PERSON, NAME, DENIED)
        }
        spans = _find(texts, looked, privacy, telling, people)
    taken = frozenset(mask for text in texts for mask, *_ in _masks_in(text))
    masked, table = _masked(texts, spans, MaskTable(taken=taken, people=people.names), kinds)
    mentions = tuple(
        tuple((mask, text[start:end]) for start, end, mask in done.spans)
        for text, done in zip(texts, masked, strict=True)
    )
    return masked, replace(table, mentions=mentions, shown="\n".join(done.text for done in masked))


def mask_text(
    text: str, privacy: Privacy, table: MaskTable | None = None
) -> tuple[Replaced, MaskTable]:
    """`mask_more` of one text."""
    (masked,), grown = mask_more([text], privacy, table)
    return masked, grown


def mask_more(
    texts: Sequence[str], privacy: Privacy, table: MaskTable | None = None
) -> tuple[tuple[Replaced, ...], MaskTable]:
    """Mask other texts on a dialogue, such as its summary: the same value has the same mask.

    What the dialogue does not hold is masked, too: the table that comes back knows it. Words that
    the masked dialogue shows stay: a quote of it is verbatim.
    """
    table = table or MaskTable()
    spelled = frozenset(mask for text in texts for mask, *_ in _masks_in(text))
    table = replace(table, taken=table.taken | (spelled - table.values.keys()))
    kinds = {words: mask_kind(mask) for pairs in table.mentions for mask, words in pairs}
    kinds |= {words: mask_kind(mask) for mask, words in table.values.items()}
    telling = {words: kind for words, kind in kinds.items() if kind not in (PERSON, NAME)}
    looks = [first_look(text, privacy) for text in texts]
    people = people_of(table.people)

    def is_shown(kind: str, words: str) -> bool:
        is_new = value_key(kind, words, people) not in table.masks
        return is_new and re.search(rf"(?<!\w){re.escape(words)}(?!\w)", table.shown) is not None

    spans = [
        [span for span in of if not is_shown(span.kind, text[span.start : span.end])]
        for text, of in zip(texts, _find(texts, looks, privacy, telling, people), strict=True)
    ]
    return _masked(texts, spans, table, {})


def _find(
    texts: Sequence[str],
    looks: Sequence[FirstLook],
    privacy: Privacy,
    kinds: Mapping[str, str],
    people: People,
) -> list[list[EntitySpan]]:
    """The personal data of texts; a mask is none: "the password is [SECRET_1]"."""
    known = KnownValues(kinds)
    result = []
    for text, look in zip(texts, looks, strict=True):
        spans = find_personal_data(text, look, privacy, known, people)
        result.append([part for span in spans for part in _apart_from_masks(text, span)])
    return result


def _apart_from_masks(text: str, span: EntitySpan) -> Iterator[EntitySpan]:
    """What of a span is no part of a mask, without a bracket that is not closed."""
    place, end = span.start, span.end
    place += text[place] == "(" and ")" not in text[place:end]
    near = MASK_PATTERN.finditer(text, max(0, place - _LONGEST), end + _LONGEST)
    masks = [mask.span() for mask in near if mask.start() < end and mask.end() > place]
    if not masks:
        yield replace(span, start=place)
        return
    for first, last in (*masks, (end, end)):
        if words := re.search(r"\w(?:.*\w)?", text[place:first], re.DOTALL):
            yield replace(span, start=place + words.start(), end=place + words.end())
        place = last


def _masked(
    texts: Sequence[str],
    spans: Iterable[Iterable[EntitySpan]],
    table: MaskTable,
    kinds: Mapping[ValueKey, str],
) -> tuple[tuple[Replaced, ...], MaskTable]:
    """Texts with masks for spans of them, and the table with what was added.

    Each new value has the next mask of its kind that no text of the dialogue spells.
    """
    masks, values = dict(table.masks), dict(table.values)
    numbers = Counter(map(mask_kind, values))
    people = people_of(table.people)

    def mask_of(kind: str, surface: str) -> str:
        key = value_key(kind, surface, people)
        if key not in masks:
            kind = kinds.get(key, kind)
            mask = ""
            while not mask or mask in table.taken or mask in values:
                numbers[kind] += 1
                mask = f"[{kind}_{numbers[kind]}]"
            masks[key], values[mask] = mask, surface
        return masks[key]

    done = tuple(
        replaced(text, [(s.start, s.end, mask_of(s.kind, text[s.start : s.end])) for s in of])
        for text, of in zip(texts, spans, strict=True)
    )
    return done, replace(table, values=values, masks=masks)
