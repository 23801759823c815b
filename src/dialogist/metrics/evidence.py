"""`Evidence`: what a dialogue holds, taken apart once for all that is checked against it."""

import re
from functools import cached_property, lru_cache

from dialogist.metrics.negation import Denials
from dialogist.metrics.numbers import Numbers, numbers_of
from dialogist.metrics.sayings import Sayings
from dialogist.metrics.speakers import Speakers
from dialogist.records import Dialogue
from dialogist.text.entities import broken_masks, calendar_value, entities, without_masks
from dialogist.text.folding import folded
from dialogist.text.function_words import FUNCTION_WORDS
from dialogist.text.languages import Language, language_of
from dialogist.text.number_words import UNITS
from dialogist.text.quantities import may_hold, quantities
from dialogist.text.stems import stem_of
from dialogist.text.tokens import without_tags

_PIECE = re.compile(r"[^\W_]+")
_BETWEEN_MARKS = re.compile(r"[:;!?,()\n\"“”]|(?<=\w{4})\.(?=\s|$)")
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z][a-z]+|[a-z]+")
_STATES = re.compile(r"\b(?:US|U\.\s?S)\b")
_WILL = re.compile(r"[a-z,] Will\b|\bWill['’]s")
_DATE = re.compile(r"(?<!\d)([0-3]?\d)[./-]([0-3]?\d)(?!\d)")
_SPELT = {word: str(value) for word, value in UNITS.items() if value < 10} | {"oh": "0", "o": "0"}
# What is said of a day or month without its name.
_IMPLIED = {"weekend": ("d5", "d6"), "christmas": ("m12",), "xmas": ("m12",)}
_LONGEST_BETWEEN = 3  # letters between two words of a name: Ludwig van Beethoven
_SHORT = 400  # characters
_KEPT = 16  # dialogues: a few systems are scored side by side, dialogue by dialogue


class Evidence:
    """The words, names, numbers, entities and roles of one dialogue, found when first asked for."""

    def __init__(self, dialogue: Dialogue) -> None:
        self.dialogue = dialogue

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
    def numbers(self) -> Numbers:
        """The numbers and times of day."""
        held = (u.text for u in self.dialogue.utterances if may_hold(u.text))
        said = (without_masks(without_tags(text)) for text in held)
        return numbers_of(quantity for text in said for quantity in quantities(text))

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
    def sayings(self) -> Sayings:
        """Who says what."""
        return Sayings(self.dialogue, self.speakers)

    @cached_property
    def denials(self) -> Denials:
        """What is denied."""
        return Denials(self.dialogue, self.sayings)


@lru_cache(maxsize=_KEPT)
def evidence_of(dialogue: Dialogue) -> Evidence:
    """The dialogue's evidence; the last few are kept."""
    return Evidence(dialogue)
