"""Finding personal data in a text: entities, rules of packs, names, values known already.

Where spans overlap all of them become one: rather a word too many masked than half a number shown.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from dialogist.data.entity_finding import Span
from dialogist.privacy.known import KnownValues
from dialogist.privacy.options import NAME, PERSON, Privacy
from dialogist.privacy.people import known_people, other_names
from dialogist.privacy.rules import entities_of, plain

_NO_VALUES = KnownValues({})


@dataclass(frozen=True, slots=True)
class Found:
    """A mention of personal data: ``text[start:end]``, of which kind."""

    start: int
    end: int
    kind: str


@dataclass(frozen=True, slots=True)
class Known:
    """What is known from the rest of a dialogue: its values, and its people by name."""

    values: KnownValues = _NO_VALUES
    people: tuple[str, ...] = ()


_NOTHING = Known()


@dataclass(frozen=True, slots=True)
class Looked:
    """What the rules find in a text, whatever else is known: the larger part of the work."""

    entities: tuple[Span, ...]
    found: tuple[Found, ...]


def look(text: str, privacy: Privacy, question: str = "") -> Looked:
    """The first look at a text; the second, with more known, need not repeat it.

    ``question`` is the turn before: it may ask for what the text tells.
    """
    text_, question = plain(text), plain(question)
    entities = tuple(entities_of(text_))
    # Of equal spans the first says the kind.
    found = (
        *_by_patterns(text_, privacy, question),
        *_by_entities(text_, entities, privacy, question),
    )
    return Looked(entities, found)


def find_personal_data(
    text: str, privacy: Privacy, known: Known = _NOTHING, looked: Looked | None = None
) -> list[Found]:
    """All personal data in a text, from left to right, none overlapping."""
    text_ = plain(text)
    looked = looked or look(text, privacy)
    found = [
        *_by_values(text_, looked.entities, known.values),
        *looked.found,
        *_by_names(text, privacy, known.people),
    ]
    return _merged([one for one in found if not _kept(text_[one.start : one.end], privacy)])


def _by_entities(
    text: str, entities: Iterable[Span], privacy: Privacy, question: str
) -> Iterator[Found]:
    for span in entities:
        rule = next((rule for rule in privacy.rules if rule.takes(text, span, question)), None)
        if rule is not None and rule.kind in privacy.kinds:
            # "on 5th October.": the entity may be short for a month, the full stop stays.
            end = span.end - (text[span.end - 1] == ".")
            yield Found(span.start, end, rule.kind)


def _by_patterns(text: str, privacy: Privacy, question: str) -> Iterator[Found]:
    for rule in privacy.rules:
        if rule.kind in privacy.kinds:
            places = rule.matches(text, question)
            yield from (Found(start, end, rule.kind) for start, end in places)


def _by_values(text: str, entities: Sequence[Span], values: KnownValues) -> Iterator[Found]:
    """A value is none within a time or an amount: after "order 1999" not that of "$1999.50"."""
    for start, end, kind in values.matches(text):
        if not any(
            span.start < end and start < span.end and not start <= span.start <= span.end <= end
            for span in entities
        ):
            yield Found(start, end, kind)


def _by_names(text: str, privacy: Privacy, people: tuple[str, ...]) -> Iterator[Found]:
    if privacy.names == "none":
        return
    yield from (Found(start, end, PERSON) for start, end in known_people(text, people))
    if privacy.names != "speakers":
        for start, end, person in other_names(text, privacy.given_names, people):
            if person or privacy.names == "all":
                yield Found(start, end, PERSON if person else NAME)


def _kept(surface: str, privacy: Privacy) -> bool:
    return any(pattern.match(surface) for pattern in privacy.keep)


def _merged(found: Sequence[Found]) -> list[Found]:
    """Spans that overlap joined; the longest says the kind, of equal ones the first found."""
    result: list[Found] = []
    longest = 0
    # Python sorts stably: of equal spans the one found first stays first.
    for one in sorted(found, key=lambda one: (one.start, -one.end)):
        if not result or one.start >= result[-1].end:
            result.append(one)
            longest = one.end - one.start
            continue
        last = result[-1]
        kind = one.kind if one.end - one.start > longest else last.kind
        longest = max(longest, one.end - one.start)
        result[-1] = Found(last.start, max(last.end, one.end), kind)
    return result
