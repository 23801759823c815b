"""Finding personal data in a text: entities, rules of packs, people's names, values known already.

Where spans overlap all of them become one: rather a word too many masked than half a number shown.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from dialogist.language.entities import BEFORE, EntitySpan
from dialogist.language.people import NICKNAMES, has_names, name_mentions
from dialogist.language.roles import role_of
from dialogist.language.tokens import INVISIBLE, SPEAKER_TAG, folded, word_set
from dialogist.privacy.packs import NAME, PERSON, Privacy
from dialogist.privacy.rules import entities_and_parts, plain_characters

_TITLE = re.compile(
    r"(?<![A-Za-z])(?:mr|mrs|ms|miss|mx|dr|doctor|prof|professor|sir|madam|uncle|aunt|auntie|officer|"
    r"nurse|father|sister|captain|sergeant|hi|hello|hey|dear|thanks|thank you)[.,]? \Z",
    re.I,
)
_TITLES = word_set("mr mrs ms miss mx dr prof doctor professor sir madam uncle aunt the and of de")
_HAN = re.compile("[\u4e00-\u9fff]")
_HAN_NAME = re.compile("[\u4e00-\u9fff]{3,4}")
_FAMILY = "王李张刘陈杨黄赵吴周徐孙马朱胡郭何林高罗郑梁谢宋唐许韩冯邓曹彭曾肖田董潘蔡蒋余于杜叶"
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_TAGS = re.compile(SPEAKER_TAG)
_NOBODY = re.compile(
    r"[a-z]|\[.*\]|<.*>|(?:speaker|person|participant|user|unknown|moderator|host|guest|me|you)"
    r"[ _-]?\d{0,3}",
    re.I,
)
# What a speaker's name may hold that is not a part of anybody's name.
_NO_PARTS = _TITLES | word_set(
    """
    support service services team help desk care sales manager center centre office department bank
    airlines airways airline company shop store hotel hospital restaurant chat live online official
    van von der den la le el di da du del bin al y und the a an in at from with for
    """
)
# Names that are words: in small letters they are hardly ever the person.
_WORDS_TOO = word_set(
    """
    will mark bill may june april august rose grace hope faith joy rob jack art pat drew sue dawn
    summer frank grant chase dean ray gene cliff dale glen heath lance lane max miles nick rich ruby
    sandy sunny van victor wade ward west young white black brown green long king page price rice
    short small wood woods stone banks bell cook day field fish ford fox gray hall hill hunt hunter
    knight lake love mason mills parker piper pope power reed rich river rivers sharp singer smith
    star steel street sweet taylor walker waters weeks wells winter worth jay lee so an do in on he
    am me my be by go if is it no of or to up us we as at
    """
)


def is_person(speaker: str) -> bool:
    """Whether a speaker's name is one, not a role, a letter, a number or a mask (#Person1#)."""
    name = speaker.strip()
    return (
        any(map(str.isalpha, name))
        and not role_of(name)
        and not _TAGS.fullmatch(name)
        and not _NOBODY.fullmatch(name)
    )


def words_of_name(name: str) -> frozenset[str]:
    """The folded words of a name, titles left out."""
    return frozenset(map(folded, _WORD.findall(name))) - _TITLES


def identify(name: str, people: Iterable[str]) -> str:
    """Who of ``people`` is meant by a name: the one whose name holds all its words, else itself."""
    words = words_of_name(name)
    candidates = []
    for person in people:
        theirs = words_of_name(person)
        if theirs == words:
            return person
        # 小明 is 王小明: Chinese names have the family's name first.
        is_given = _HAN_NAME.fullmatch(person) and len(name) > 1 and person[1:] == name
        if words < theirs or is_given:
            candidates.append(person)
    return candidates[0] if len(candidates) == 1 else name


def identities(names: Iterable[str]) -> tuple[str, ...]:
    """The different people among names, in order; ``Ann`` is ``Ann Lee`` if there is one of her."""
    distinct = list(dict.fromkeys(names))
    people: list[str] = []
    for name in sorted(distinct, key=lambda name: -len(words_of_name(name))):
        if identify(name, people) == name and name not in people:
            people.append(name)
    return tuple(name for name in distinct if name in people)


@lru_cache(maxsize=64)
def _mentions(people: tuple[str, ...]) -> re.Pattern[str] | None:
    """A pattern for people by their whole names or parts of them, whole names first.

    In other than their own case only if they are no words.
    """
    forms: dict[str, None] = {}
    for person in people:
        forms[person] = None
        if _HAN_NAME.fullmatch(person):
            forms[person[1:]] = None
        for name in (person, *_WORD.findall(person)):
            is_known = folded(name) in _NO_PARTS or role_of(name) != ""
            if sum(map(str.isalpha, name)) > 1 and not is_known and not _HAN.search(name):
                forms[name] = None
                if name.lower() not in _WORDS_TOO:
                    forms.update(dict.fromkeys((name.lower(), name.upper(), name.capitalize())))
    if not forms:
        return None
    # 丽娟 of 周丽娟 is a part of 王丽娟, too: her family's name must not stay alone.
    given = [f"[{_FAMILY}]{person[1:]}" for person in people if _HAN_NAME.fullmatch(person)]
    # Chinese characters border no Latin name: 请Ann来.
    whole = [
        ("" if _HAN.match(form) else "(?<![^\\W_\u4e00-\u9fff])")
        + re.escape(form)
        + ("" if _HAN.match(form[-1]) else "(?![^\\W_\u4e00-\u9fff])")
        for form in sorted(forms, key=lambda form: (-len(form), form))
    ]
    return re.compile("|".join((*given, *whole)))


_SHORTEST = 4  # letters and digits: "PIN 123" must not make a PIN of every 123
_SEPARATORS = frozenset(" .-()/·•")
_MOST_SEPARATORS = 2  # in a row
_START = re.compile(rf"{BEFORE}[^\s.,;:!?()/·•-]")
_BORDERS = re.compile(r"[0-9A-Za-z_]")


class KnownValues:
    """Values to be found again, each with its kind."""

    def __init__(self, kinds: Mapping[str, str]) -> None:
        """Those that are too short to be telling are left out."""
        self._kinds: dict[tuple[str, ...], str] = {}
        for value, kind in kinds.items():
            telling = tuple(c.upper() for c in value if c not in _SEPARATORS)
            if sum(map(str.isalnum, telling)) >= _SHORTEST:
                self._kinds.setdefault(telling, kind)
        self._first = {telling[0] for telling in self._kinds}
        self._lengths = sorted({len(telling) for telling in self._kinds}, reverse=True)

    def matches(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Where values stand in a plain text, from left to right, the longest first."""
        if not self._kinds:
            return
        places = [i for i, c in enumerate(text) if c not in _SEPARATORS]
        telling = tuple(text[i].upper() for i in places)
        position = 0
        for n, start in enumerate(places):
            if start < position or telling[n] not in self._first or not _START.match(text, start):
                continue
            for length in self._lengths:
                kind = self._kinds.get(telling[n : n + length])
                if kind is None:
                    continue
                inside = places[n : n + length]
                end = inside[-1] + 1
                gaps = (after - before for before, after in pairwise(inside))
                is_near = all(gap <= _MOST_SEPARATORS + 1 for gap in gaps)
                # A word or number does not go on there; Chinese does not border.
                goes_on = _BORDERS.match(text[end - 1]) and _BORDERS.match(text[end : end + 1])
                if is_near and not goes_on:
                    yield start, end, kind
                    position = end
                    break


class KnownData(NamedTuple):
    """What is known from the rest of a dialogue: its values, and its people by name."""

    values: KnownValues = KnownValues({})
    people: tuple[str, ...] = ()


class FirstLook(NamedTuple):
    """What the rules find in a text, whatever else is known: the larger part of the work."""

    entities: tuple[EntitySpan, ...]
    spans: tuple[EntitySpan, ...]


def first_look(text: str, privacy: Privacy, question: str = "") -> FirstLook:
    """The first look at a text; the second, with more known, need not repeat it.

    ``question`` is the turn before: it may ask for what the text tells.
    """
    text, question = plain_characters(INVISIBLE.sub("", text)), plain_characters(question)
    entities = tuple(entities_and_parts(text))
    # Of equal spans the first says the kind.
    spans = [
        EntitySpan(start, end, rule.kind)
        for rule in privacy.rules
        if rule.kind in privacy.kinds
        for start, end in rule.matches(text, question)
    ]
    for span in entities:
        rule = next((rule for rule in privacy.rules if rule.takes(text, span, question)), None)
        if rule is not None and rule.kind in privacy.kinds:
            # "on 5th October.": the entity may be short for a month, the full stop stays.
            end = span.end - (text[span.end - 1] == ".")
            spans.append(EntitySpan(span.start, end, rule.kind))
    return FirstLook(entities, tuple(spans))


def find_personal_data(
    text: str, privacy: Privacy, known: KnownData | None = None, looked: FirstLook | None = None
) -> list[EntitySpan]:
    """All personal data in a text, from left to right, none overlapping.

    Invisible marks within them are part of them: a number with one is the same number.
    """
    known = known or KnownData()
    looked = looked or first_look(text, privacy)
    visible = [i for i, c in enumerate(text) if not INVISIBLE.match(c)]
    text = INVISIBLE.sub("", text)
    plain = plain_characters(text)
    values = [
        EntitySpan(start, end, kind)
        for start, end, kind in known.values.matches(plain)
        # A value is none within a time or an amount: after "order 1999" not that of "$1999.50".
        if not any(
            span.start < end and start < span.end and not start <= span.start <= span.end <= end
            for span in looked.entities
        )
    ]
    candidates = [*values, *looked.spans, *_people(text, privacy, known.people)]
    merged = _merged(
        span
        for span in candidates
        if not any(pattern.match(plain[span.start : span.end]) for pattern in privacy.keep)
    )
    return [replace(m, start=visible[m.start], end=visible[m.end - 1] + 1) for m in merged]


def _people(text: str, privacy: Privacy, people: tuple[str, ...]) -> Iterator[EntitySpan]:
    if privacy.names == "none":
        return
    pattern = _mentions(people)
    known = [match.span() for match in pattern.finditer(text)] if pattern else []
    yield from (EntitySpan(start, end, PERSON) for start, end in known)
    if privacy.names == "speakers" or not has_names(text):
        return
    for mention in name_mentions(text):
        ahead = text[max(0, mention.start - 12) : mention.start]
        is_known = (
            _TITLE.search(ahead) is not None
            or any(word in privacy.given_names or word in NICKNAMES for word in mention.words)
            # A part of a known person's name is somebody's, too.
            or any(start < mention.end and mention.start < end for start, end in known)
        )
        if is_known or privacy.names == "all":
            yield EntitySpan(mention.start, mention.end, PERSON if is_known else NAME)


def _merged(spans: Iterable[EntitySpan]) -> list[EntitySpan]:
    """Spans that overlap joined; the longest says the kind, of equal ones the first."""
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
        kind = span.kind if length > longest else last.kind
        longest = max(longest, length)
        result[-1] = EntitySpan(last.start, max(last.end, span.end), kind)
    return result
