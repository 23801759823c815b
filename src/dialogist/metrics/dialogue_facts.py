"""Facts: what a dialogue holds, and whether it supports a name, number or entity."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

from dialogist.metrics.dialogue_claims import Claims, Denials
from dialogist.metrics.speaker_mentions import Speakers
from dialogist.records import Dialogue
from dialogist.language.patterns import (
    Language,
    TextEntity,
    broken_masks,
    calendar_value,
    entities,
    language_of,
    without_masks,
)
from dialogist.language.people import MONTHS, NICKNAMES, SHORT_FORMS, Mention
from dialogist.language.porter import stem_of
from dialogist.language.quantities import HALF_DAY, UNITS, Quantity, may_hold, quantities
from dialogist.language.tokens import FUNCTION_WORDS, folded, sentence_spans, without_tags

# Whether a dialogue holds a number or a time, in digits or in words.


@dataclass(frozen=True, slots=True)
class StatedNumbers:
    """The numbers and times of a text: see `Quantity`."""

    values: frozenset[float]
    times: frozenset[int]
    vague: frozenset[int]

    def support(self, quantity: Quantity) -> bool:
        """Whether one of the readings of ``quantity`` is here, or all its parts are."""
        halves = {time % HALF_DAY for time in self.times}
        return bool(
            not quantity.values.isdisjoint(self.values)
            or not quantity.times.isdisjoint(self.times)
            or not self.vague.isdisjoint(time % HALF_DAY for time in quantity.times)
            or not quantity.vague.isdisjoint(self.vague | halves)
            or (quantity.parts and self.values.issuperset(quantity.parts))
        )


def stated_numbers(quantities: Iterable[Quantity]) -> StatedNumbers:
    """All that some quantities may mean: a bare 5 may be the hour, 5 o'clock the bare 5."""
    values, times, vague = {1.0}, set[int](), set[int]()
    for quantity in quantities:
        values |= {*quantity.values, *quantity.parts}
        times |= quantity.times
        vague |= quantity.vague
    said = times | vague | {time % HALF_DAY for time in times}
    for value in tuple(values):
        known, unknown = _as_time(value)
        times |= known
        vague |= unknown
    for place in said:
        hour, minute = divmod(place, 60)
        values.add(100.0 * hour + minute)
        if not minute:
            values.add(float(hour or 12))
    return StatedNumbers(frozenset(values), frozenset(times), frozenset(vague))


def _as_time(value: float) -> tuple[set[int], set[int]]:
    """The times that a number may be: 5, 17, 530, 1730, 5.30."""
    if value <= 24:
        hour, minute = int(value), round(value % 1 * 100)
    else:
        hour, minute = divmod(int(value), 100) if value < 2500 else (25, 0)
    if not (0 < hour <= 24 and minute < 60):
        return set(), set()
    place = hour * 60 + minute
    return ({place % (2 * HALF_DAY)}, set()) if hour > 12 else (set(), {place % HALF_DAY})


# `DialogueFacts`: what a dialogue holds, taken apart once for all that is checked against it.

_PIECE = re.compile(r"[^\W_]+")
_BETWEEN_MARKS = re.compile(r"[:;!?,()\n\"“”]|(?<=\w{4})\.(?=\s|$)")
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z][a-z]+|[a-z]+")
_STATES = re.compile(r"\b(?:US|U\.\s?S)\b")
_WILL = re.compile(r"[a-z,] Will\b|\bWill['’]s")
_DATE = re.compile(r"(?<!\d)([0-3]?\d)[./-]([0-3]?\d)(?!\d)")
_LABEL = re.compile(r"([^:\n]{1,60}):\s+(?=\S)")
_SPELT = {word: str(value) for word, value in UNITS.items() if value < 10} | {"oh": "0", "o": "0"}
# What is said of a day or month without its name.
_IMPLIED = {"weekend": ("d5", "d6"), "christmas": ("m12",), "xmas": ("m12",)}
_LONGEST_BETWEEN = 3  # letters between two words of a name: Ludwig van Beethoven
_SHORT = 400  # characters
_KEPT = 16  # dialogues: a few systems are scored side by side, dialogue by dialogue


class DialogueFacts:
    """The words, names, numbers, entities and roles of one dialogue, found when first asked for."""

    def __init__(self, dialogue: Dialogue) -> None:
        self.dialogue = dialogue
        self.names: dict[tuple[str, ...], bool] = {}
        """Names that were asked for, by their words: search asks for the same ones again."""

    @cached_property
    def text(self) -> str:
        """All that is said, and by whom, one utterance a line; of speaker tags ``Person1``.

        Without masks such as ``[DATE_1]``: a part of one is no word.
        """
        return without_masks(self._whole)

    @cached_property
    def _whole(self) -> str:
        said = self.dialogue.utterances
        return "\n".join(f"{u.speaker.strip('#')}: {without_tags(u.text)}" for u in said)

    @cached_property
    def language(self) -> Language:
        """The language of what is said."""
        return language_of(self._said)

    @cached_property
    def _said(self) -> str:
        return "\n".join(u.text for u in self.dialogue.utterances)

    def language_with(self, summary: str) -> Language:
        """The language that dialogue and summary share; empty where they share none that is read.

        A summary without words has the dialogue's. Of a short dialogue not much can be told: both
        together must be in that language, too.
        """
        if not any(map(str.isalnum, summary)):
            return self.language
        shared = self.language if language_of(summary, self.language) == self.language else ""
        if len(self._said) < _SHORT and language_of(f"{self._said}\n{summary}", shared) != shared:
            return ""
        return shared

    @cached_property
    def pieces(self) -> list[str]:
        """Runs of letters and digits, as written."""
        return _PIECE.findall(self.text)

    @cached_property
    def neighbours(self) -> dict[str, set[str]]:
        """What follows each piece, at once or after one short piece; all are folded.

        No name goes across a mark, such as the colon in ``Bo: Chen said``.
        """
        found: dict[str, set[str]] = {}
        for part in _BETWEEN_MARKS.split(self.text):
            run = [folded(piece) for piece in _PIECE.findall(part)]
            for i, piece in enumerate(run[:-1]):
                near = run[i + 1 : i + 2 + (len(run[i + 1]) <= _LONGEST_BETWEEN)]
                found.setdefault(piece, set()).update(near)
        return found

    @cached_property
    def spaced(self) -> str:
        """All pieces, folded, a space around each."""
        return folded(f" {' '.join(self.pieces)} ")

    @cached_property
    def squashed(self) -> str:
        """All letters and digits in one row, folded."""
        return self.spaced.replace(" ", "")

    @cached_property
    def initials(self) -> str:
        """The first letters of all pieces in one row, folded."""
        return "".join(piece[0] for piece in self.spaced.split())

    @cached_property
    def words(self) -> frozenset[str]:
        """The pieces that may be part of a name, folded; ``US`` is not the pronoun."""
        return frozenset(self.spaced.split()) - FUNCTION_WORDS | self.capitals

    @cached_property
    def capitals(self) -> frozenset[str]:
        """The pieces written with a capital, folded; parts of ``CamelCase`` among them."""
        found: set[str] = set()
        for piece in set(self.pieces):
            if piece[0].isupper():
                found.add(piece)
            if not (piece.islower() or piece[1:].islower()):
                found.update(_CAMEL.findall(piece))
        return frozenset(map(folded, found)) - FUNCTION_WORDS | self._named

    @cached_property
    def _named(self) -> set[str]:
        """Names that are spelt like function words."""
        named = {folded(piece) for name in self.dialogue.speakers for piece in _PIECE.findall(name)}
        if _STATES.search(self.text):
            named.add("usa")
        if _WILL.search(self.text):
            named.add("will")
        return named

    @cached_property
    def stems(self) -> frozenset[str]:
        """The stems of all words."""
        return frozenset(map(stem_of, self.spaced.split()))

    @cached_property
    def numbers(self) -> StatedNumbers:
        """The numbers and times of day."""
        held = (u.text for u in self.dialogue.utterances if may_hold(u.text))
        said = (without_masks(without_tags(text)) for text in held)
        return stated_numbers(quantity for text in said for quantity in quantities(text))

    @cached_property
    def entities(self) -> frozenset[str]:
        """The values of entities, of weekdays and months however they are spelt."""
        found = {entity.value for entity in entities(self._whole)}
        for word in set(self.spaced.split()):
            found |= {calendar_value(word), *_IMPLIED.get(word, ())}
        for date in _DATE.finditer(self.text):
            found |= {f"m{int(number)}" for number in date.groups()}
        return frozenset(found)

    @cached_property
    def brackets(self) -> frozenset[str]:
        """The brackets that people wrote without a mask between."""
        return frozenset(self._said[start:end] for start, end in broken_masks(self._said))

    @cached_property
    def digits(self) -> str:
        """All digits in one row, those in words among them: phone numbers are often spelt."""
        spelt = (_SPELT.get(piece, piece) for piece in self.spaced.split())
        return "".join(piece for piece in spelt if piece.isdecimal())

    @cached_property
    def speakers(self) -> Speakers:
        """The speakers and what they are called."""
        return Speakers(self.dialogue)

    @cached_property
    def sayings(self) -> Claims:
        """Who says what."""
        return Claims(self.dialogue, self.speakers)

    def extracted(self, text: str) -> list[bool]:
        """Which sentences of a text are, word for word, of the speaker before the colon.

        ``Ann: text`` has the roles of the dialogue, and so has what follows of the same speaker.
        """
        found: list[bool] = []
        speaker = ""
        for start, end in sentence_spans(text):
            sentence = text[start:end]
            label = _LABEL.match(sentence)
            if label and label[1] in self._said_by:
                speaker, sentence = label[1], sentence[label.end() :]
            said = self._said_by.get(speaker, "")
            found.append(bool(speaker) and " ".join(sentence.split()) in said)
            speaker = speaker if found[-1] else ""
        return found

    @cached_property
    def _said_by(self) -> dict[str, str]:
        said: dict[str, str] = {}
        for utterance in self.dialogue.utterances:
            words = " ".join(utterance.text.split())
            said[utterance.speaker] = f"{said.get(utterance.speaker, '')}\n{words}"
        return said

    @cached_property
    def denials(self) -> Denials:
        """What is denied."""
        return Denials(self.dialogue, self.sayings)


@lru_cache(maxsize=_KEPT)
def dialogue_facts(dialogue: Dialogue) -> DialogueFacts:
    """The dialogue's evidence; the last few are kept."""
    return DialogueFacts(dialogue)


# Whether a dialogue holds a name, in any of its usual forms.

_SHORTEST_MISSPELT = 4
_SHORTEST_SQUASHED = 6
_SHORTEST_ACRONYM = 3
_LONGEST_SPELT = 4  # D. C.


def supports_name(evidence: DialogueFacts, mention: Mention) -> bool:
    """Whether all words of a name are in the dialogue, side by side where there are several.

    Or it is written in one word there, or with its words as one.
    """
    words = tuple(mention.words)
    if words not in evidence.names:
        evidence.names[words] = _holds_name(evidence, words)
    return evidence.names[words]


def _holds_name(evidence: DialogueFacts, words: Sequence[str]) -> bool:
    joined = "".join(words)
    if len(words) == 1:
        long = len(joined) >= _SHORTEST_SQUASHED and joined in evidence.squashed
        return long or _supports(evidence, joined)
    if len(joined) >= _SHORTEST_SQUASHED and any(joined in piece for piece in evidence.words):
        return True
    return all(_side_by_side(evidence, *pair) for pair in pairwise(words))


def _side_by_side(evidence: DialogueFacts, first: str, second: str) -> bool:
    """Whether two words of a name are neighbours, or have one short word or initial between."""
    if any(short in evidence.words for short in _initials_of(first, second)):
        return True
    means_first, means_second = _meaning(first), _meaning(second)
    return any(
        means_first(piece) and any(map(means_second, near))
        for piece, near in evidence.neighbours.items()
    )


def _initials_of(first: str, second: str) -> set[str]:
    """Short forms that stand for both words: ``ny`` for New York."""
    return set(SHORT_FORMS.get(first, _NONE) & SHORT_FORMS.get(second, _NONE))


def _meaning(word: str) -> Callable[[str], bool]:
    """Tells whether a piece of the dialogue may be this word of a name, in any of its forms."""
    forms = _forms(word) or {word}
    known = forms.union(*(NICKNAMES.get(f, _NONE) | SHORT_FORMS.get(f, _NONE) for f in forms))
    return lambda piece: piece in known or any(_alike(form, piece) for form in forms)


def _supports(evidence: DialogueFacts, word: str) -> bool:
    return any(_holds(evidence, form) for form in _forms(word))


def _forms(word: str) -> set[str]:
    """The word, without apostrophes, each side of one, and what it may be the plural of."""
    forms = {word.replace("'", ""), *word.split("'")}
    forms |= {form.removesuffix("s") for form in forms}
    return {form for form in forms if len(form) > 1}


def _holds(evidence: DialogueFacts, word: str) -> bool:
    if word in evidence.words:
        return True
    if not NICKNAMES.get(word, _NONE).isdisjoint(evidence.capitals):
        return True
    if not SHORT_FORMS.get(word, _NONE).isdisjoint(evidence.words):
        return True
    if len(word) >= _SHORTEST_ACRONYM and word in evidence.initials:
        return True
    if len(word) <= _LONGEST_SPELT and f" {' '.join(word)} " in evidence.spaced:
        return True
    return any(_alike(word, other) for other in evidence.capitals)


_NONE: frozenset[str] = frozenset()


def _alike(word: str, other: str) -> bool:
    """Whether two words are one slip of the pen apart."""
    short, long = sorted((word, other), key=len)
    if len(short) < _SHORTEST_MISSPELT or len(long) - len(short) > 1 or short[0] != long[0]:
        return False
    return _one_slip(short, long)


def _one_slip(short: str, long: str) -> bool:
    """One letter more, another, or two that changed places."""
    place = next(
        (i for i, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short)
    )
    if len(short) < len(long):
        return short[place:] == long[place + 1 :]
    if short[place + 1 :] == long[place + 1 :]:
        return len(short) > _SHORTEST_MISSPELT  # Mike is not Mick, Karen may be Karin
    swapped = short[place + 1 : place + 2] + short[place : place + 1]
    return long[place : place + 2] == swapped and short[place + 2 :] == long[place + 2 :]


# Whether a dialogue holds an entity that can be told by its form.

_SHORTEST_SQUASHED_ENTITY = 5
_PARTS = re.compile(r"[^\W\d_]+|\d+")


def supports_entity(evidence: DialogueFacts, entity: TextEntity) -> bool:
    """Whether the entity is in the dialogue, in whichever spelling."""
    if entity.value in evidence.entities:
        return True
    if entity.kind == "phone":
        return entity.value in evidence.digits
    if entity.kind == "month":  # April and May are names, too
        return MONTHS[int(entity.value[1:]) - 1] in evidence.capitals
    if entity.kind == "day":
        return False
    parts = " ".join(_PARTS.findall(entity.value))  # PS4 is written PS 4, too
    return (
        (len(entity.value) >= _SHORTEST_SQUASHED_ENTITY and entity.value in evidence.squashed)
        or f" {entity.value} " in evidence.spaced
        or f" {parts} " in evidence.spaced
    )
