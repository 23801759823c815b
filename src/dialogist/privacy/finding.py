"""Finding personal data in a text: entities, rules of packs, people's names, values known already.

Where spans overlap all of them become one: rather a word too many masked than half a number shown.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from dialogist.language.entities import BEFORE, EntitySpan
from dialogist.language.people import has_names, is_first_name, name_mentions
from dialogist.language.tokens import INVISIBLE
from dialogist.privacy.numbers import spoken_runs
from dialogist.privacy.packs import CODE, DENIED, NAME, PERSON, Privacy, bare
from dialogist.privacy.persons import People, is_role, is_thing
from dialogist.privacy.requested import requested_values
from dialogist.privacy.rules import entities_and_parts, plain_characters, request_in
from dialogist.privacy.taggers import tagged_names, tagged_values

_HAN = re.compile("[\u4e00-\u9fff]")
_LABEL = re.compile(r"[^\W\d_]{2,}\W{1,3}")
_THING = re.compile(r"(?<![a-z])(?:the|The) (?=[a-z])")


_VAGUE = (CODE, "ID")
"""Kinds that any other of the same characters says more than."""
_OWN_FORM = ("IP", "DEVICE", "EMAIL", "BIRTH_DATE")
"""Kinds that the form of a value tells, or the word beside it, whatever was asked."""
_BY_LENGTH = (CODE, "NATIONAL_ID")


class Stretches:
    """Stretches of a text, joined where they overlap; each question takes a search by halves."""

    def __init__(self, spans: Iterable[tuple[int, int]]) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        for start, end in sorted(spans):
            if self._ends and start < self._ends[-1]:
                self._ends[-1] = max(end, self._ends[-1])
            else:
                self._starts.append(start)
                self._ends.append(end)

    def touches(self, start: int, end: int) -> bool:
        """Whether a stretch overlaps ``start:end``."""
        n = bisect_right(self._ends, start)
        return n < len(self._starts) and self._starts[n] < end

    def holds(self, start: int, end: int) -> bool:
        """Whether all of ``start:end`` lies within a stretch."""
        n = bisect_left(self._ends, end)
        return n < len(self._starts) and self._starts[n] <= start

    def cuts(self, start: int, end: int) -> bool:
        """Whether a stretch overlaps ``start:end`` without lying within."""
        first, last = bisect_right(self._ends, start), bisect_left(self._starts, end) - 1
        return first <= last and (self._starts[first] < start or self._ends[last] > end)


_SHORTEST = 4  # letters and digits: "PIN 123" must not make a PIN of every 123
_SEPARATORS = frozenset(" .-()/·•")
_MOST_SEPARATORS = 2  # in a row
_START = re.compile(rf"{BEFORE}[^\s.,;:!?()/·•-]")
_BORDERS = re.compile(r"[0-9A-Za-z_]")


class KnownValues:
    """Values to be found again, each with its kind."""

    def __init__(self, kinds: Mapping[str, str]) -> None:
        """Those that are too short to be telling are left out."""
        self._tree: dict[str, Any] = {}  # what is telling of values one by one, then their kind
        for value, kind in kinds.items():
            telling = [c.upper() for c in value if c not in _SEPARATORS]
            if sum(map(str.isalnum, telling)) >= _SHORTEST:
                node = self._tree
                for character in telling:
                    node = node.setdefault(character, {})
                node.setdefault("", kind)

    def matches(self, text: str) -> Iterator[EntitySpan]:
        """Where values stand in a plain text, from left to right, the longest first."""
        places = [i for i, c in enumerate(text) if c not in _SEPARATORS] if self._tree else []
        position = 0
        for n, start in enumerate(places):
            is_known = start >= position and text[start].upper() in self._tree
            if not is_known or not _START.match(text, start):
                continue
            node: Any = self._tree
            last, found = start, None
            for i in range(n, len(places)):
                node = node.get(text[places[i]].upper())
                if node is None or places[i] - last > _MOST_SEPARATORS + 1:
                    break
                last = places[i]
                # A word or number does not go on there; Chinese does not border.
                goes_on = _BORDERS.match(text, last) and _BORDERS.match(text, last + 1)
                if "" in node and not goes_on:
                    found = EntitySpan(start, last + 1, node[""])
            if found:
                yield found
                position = found.end


class FirstLook(NamedTuple):
    """What the rules find in a text, whatever else is known: the larger part of the work."""

    entities: Sequence[EntitySpan]
    spans: Sequence[EntitySpan]


def first_look(text: str, privacy: Privacy, question: str = "") -> FirstLook:
    """The first look at a text; the second, with more known, need not repeat it.

    ``question`` is the turn before: it may ask for what the text tells.
    """
    text = plain_characters(INVISIBLE.sub("", text))
    before = plain_characters(question)
    if not text.strip():
        return FirstLook((), ())
    question = request_in(before)
    has_digits = any("0" <= c <= "9" for c in text)
    is_chinese = _HAN.search(text) is not None or _HAN.search(question) is not None
    rules = [
        rule
        for rule in privacy.rules
        if has_digits >= rule.digits and (is_chinese or rule.language != "zh")
    ]
    entities = entities_and_parts(text)
    moments = Stretches((s.start, s.end) for s in entities if s.kind in ("TIME", "AMOUNT"))
    # Of equal spans the first says the kind.
    spans = [
        EntitySpan(start, end, rule.kind)
        for rule in rules
        for start, end in rule.matches(text, question)
        if not (rule.apart and moments.touches(start, end))
    ]
    for span in entities:
        rule = next((rule for rule in rules if rule.takes(text, span, question)), None)
        if rule is not None:
            # "on 5th October.": the entity may be short for a month, the full stop stays.
            end = span.end - (text[span.end - 1] == ".")
            spans.append(EntitySpan(span.start, end, rule.kind))
    spans += (
        span
        for span in requested_values(text, question, privacy.requests, privacy.classes)
        if not moments.touches(span.start, span.end) or span.kind in ("BIRTH_DATE", "SECRET")
    )
    spans += (EntitySpan(start, end, CODE) for start, end in spoken_runs(text))
    if has_digits and CODE in privacy.kinds:
        spans += (
            EntitySpan(start, end, CODE)
            for start, end in tagged_values(text, before)
            if not moments.touches(start, end)
        )
    if privacy.names in ("people", "all") and not is_role(text):
        spans += (EntitySpan(start, end, PERSON) for start, end in tagged_names(text, before))
    # Who does not want a kind masked does not want it as a code, either.
    named = Stretches(
        (span.start, span.end)
        for span in spans
        if span.kind not in privacy.kinds and span.kind not in (*_BY_LENGTH, "URL", PERSON)
    )
    own_form = {s.end: s.start for s in reversed(spans) if s.kind in _OWN_FORM}
    wanted = (
        span
        for span in spans
        if span.kind in privacy.kinds
        and not (  # "DOB 22.8.2001", though an account was asked for: the label stays
            span.kind not in _OWN_FORM
            and _LABEL.fullmatch(text, span.start, own_form.get(span.end, span.start))
        )
        and not (span.kind == PERSON and is_thing(text, span.start, span.end))
    )
    return FirstLook(
        entities,
        [s for s in wanted if s.kind not in _BY_LENGTH or not named.holds(s.start, s.end)],
    )


def find_personal_data(
    text: str, look: FirstLook, privacy: Privacy, known: KnownValues, people: People
) -> list[EntitySpan]:
    """All personal data in a text, from left to right, none overlapping.

    ``known`` and ``people`` are those of the whole dialogue. Invisible marks within data are part
    of them: a number with one is the same number.
    """
    visible: Sequence[int] = ()
    if INVISIBLE.search(text):
        visible = [i for i, c in enumerate(text) if not INVISIBLE.match(c)]
        text = INVISIBLE.sub("", text)
    plain = plain_characters(text)
    # A value is none within a time or an amount: after "order 1999" not that of "$1999.50".
    apart = Stretches((span.start, span.end) for span in look.entities)
    values = [span for span in known.matches(plain) if not apart.cuts(span.start, span.end)]
    denied = [EntitySpan(start, end, DENIED) for start, end in privacy.denied.mentions(text)]
    candidates = [*denied, *values, *look.spans, *_people(text, privacy, people)]
    # "the choir room", though a speaker is called so.
    things = {match.end() for match in _THING.finditer(plain)}
    kept = Stretches(
        (span.start, span.end)
        for span in candidates
        if bare(plain[span.start : span.end]) in privacy.allowed
        or any(pattern.match(plain[span.start : span.end]) for pattern in privacy.keep)
    )
    merged = _merged(
        span
        for span in candidates
        if not (span.kind in (PERSON, NAME) and span.start in things)
        and not kept.holds(span.start, span.end)
    )
    if not visible:
        return merged
    return [replace(m, start=visible[m.start], end=visible[m.end - 1] + 1) for m in merged]


def _people(text: str, privacy: Privacy, people: People) -> Iterator[EntitySpan]:
    if privacy.names == "none":
        return
    mentioned = list(people.mentions(text))
    yield from (EntitySpan(start, end, PERSON) for start, end in mentioned)
    if privacy.names == "all" and has_names(text) and not is_role(text):
        # A part of a known person's name is somebody's, too.
        known = Stretches(mentioned)
        for name in name_mentions(text):
            is_known = any(map(is_first_name, name.words)) or known.touches(name.start, name.end)
            yield EntitySpan(name.start, name.end, PERSON if is_known else NAME)


def _merged(spans: Iterable[EntitySpan]) -> list[EntitySpan]:
    """Spans that overlap joined; the longest says the kind, of equal ones the first that tells."""
    result: list[EntitySpan] = []
    longest = 0
    # Python sorts stably: of equal spans the first stays first.
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        length = span.end - span.start
        if not result or span.start >= result[-1].end:
            result.append(span)
            longest = length
            continue
        last = result[-1]
        is_telling = length > longest or (
            length == longest
            and (last.kind in _VAGUE or span.kind in _OWN_FORM)
            and span.kind != CODE
            and last.kind not in _OWN_FORM
        )
        kind = span.kind if is_telling else last.kind
        longest = max(longest, length)
        result[-1] = EntitySpan(last.start, max(last.end, span.end), kind)
    return result
