"""Finding personal data in a text: entities, rules of packs, people's names, values known already.

Where spans overlap all of them become one: rather a word too many masked than half a number shown.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from dialogist.data.entities import EntitySpan
from dialogist.data.entity_rules import BEFORE
from dialogist.data.normalise import INVISIBLE
from dialogist.privacy.packs import NAME, PERSON, Privacy
from dialogist.privacy.rules import entities_and_parts, plain_characters
from dialogist.language.people import NICKNAMES, has_names, name_mentions
from dialogist.language.roles import role_of
from dialogist.language.tokens import SPEAKER_TAG, folded, word_set

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
    found = []
    for person in people:
        theirs = words_of_name(person)
        if theirs == words:
            return person
        if words < theirs or _is_given_name(name, person):
            found.append(person)
    return found[0] if len(found) == 1 else name


def identities(names: Iterable[str]) -> tuple[str, ...]:
    """The different people among names, in order; ``Ann`` is ``Ann Lee`` if there is one of her."""
    distinct = list(dict.fromkeys(names))
    found: list[str] = []
    for name in sorted(distinct, key=lambda name: -len(words_of_name(name))):
        if identify(name, found) == name and name not in found:
            found.append(name)
    return tuple(name for name in distinct if name in found)


def known_people(text: str, people: tuple[str, ...]) -> Iterator[tuple[int, int]]:
    """Where people are mentioned, by their whole name or a part of it."""
    pattern = _mentions(people)
    if pattern is not None:
        yield from (match.span() for match in pattern.finditer(text))


def _is_given_name(name: str, person: str) -> bool:
    """小明 is 王小明: Chinese names have the family's name first."""
    return _HAN_NAME.fullmatch(person) is not None and len(name) > 1 and person[1:] == name


@lru_cache(maxsize=64)
def _mentions(people: tuple[str, ...]) -> re.Pattern[str] | None:
    """Whole names first, then their words; in other than their own case if they are no words."""
    forms = [form for person in people for form in _forms(person)]
    if not forms:
        return None
    longest_first = sorted(dict.fromkeys(forms), key=lambda form: (-len(form), form))
    # 丽娟 of 周丽娟 is a part of 王丽娟, too: her family's name must not stay alone.
    given = (f"[{_FAMILY}]{p[1:]}" for p in people if _HAN_NAME.fullmatch(p))
    return re.compile("|".join((*given, *map(_whole_word, longest_first))))


def _forms(person: str) -> Iterator[str]:
    yield person
    if _HAN_NAME.fullmatch(person):
        yield person[1:]
    for name in filter(_is_part, (person, *_WORD.findall(person))):
        yield name
        if name.lower() not in _WORDS_TOO:
            yield from (name.lower(), name.upper(), name.capitalize())


def _is_part(name: str) -> bool:
    """Whether a word of a person's name tells whom it means, by itself."""
    letters = sum(map(str.isalpha, name))
    known = folded(name) in _NO_PARTS or role_of(name) != ""
    return letters > 1 and not known and not _HAN.search(name)


def _whole_word(name: str) -> str:
    border = "" if _HAN.match(name) else r"(?<![^\W_])(?<!\d)"
    after = "" if _HAN.match(name[-1]) else r"(?![^\W_])"
    # Chinese characters border no Latin name: 请Ann来.
    border = border.replace(r"[^\W_]", "[^\\W_\u4e00-\u9fff]")
    after = after.replace(r"[^\W_]", "[^\\W_\u4e00-\u9fff]")
    return f"{border}{re.escape(name)}{after}"


_SHORTEST = 4  # letters and digits: "PIN 123" must not make a PIN of every 123
_SEPARATORS = frozenset(" .-()/·•")
_MOST_SEPARATORS = 2  # in a row
_START = re.compile(rf"{BEFORE}[^\s.,;:!?()/·•-]")
_BORDERS = re.compile(r"[0-9A-Za-z_]")
_END = ""  # no character: a value that ends here


class KnownValues:
    """Values to be found again, each with its kind."""

    def __init__(self, kinds: Mapping[str, str]) -> None:
        """Those that are too short to be telling are left out."""
        self._tree: dict[str, Any] = {}
        for value, kind in kinds.items():
            telling = [c.upper() for c in value if c not in _SEPARATORS]
            if sum(map(str.isalnum, telling)) < _SHORTEST:
                continue
            here = self._tree
            for character in telling:
                here = here.setdefault(character, {})
            here.setdefault(_END, kind)

    def matches(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Where values stand in a plain text, from left to right, the longest first."""
        position = 0
        while self._tree and (found := _START.search(text, position)):
            end, kind = self._longest(text, found.start())
            if end:
                yield found.start(), end, kind
            position = max(end, found.start() + 1)

    def _longest(self, text: str, start: int) -> tuple[int, str]:
        """End and kind of the longest value that begins at ``start``; 0 without one."""
        here, separators = self._tree, 0
        best = (0, "")
        for place in range(start, len(text)):
            character = text[place]
            if character in _SEPARATORS:
                separators += 1
                if separators > _MOST_SEPARATORS:
                    break
                continue
            separators = 0
            here = here.get(character.upper(), {})
            if not here:
                break
            if _END in here and not _goes_on(text, place + 1):
                best = (place + 1, here[_END])
        return best


def _goes_on(text: str, place: int) -> bool:
    """Whether a word or number that reaches ``place`` goes on there; Chinese does not border."""
    before = _BORDERS.match(text[place - 1])
    return before is not None and _BORDERS.match(text[place : place + 1]) is not None


_NO_VALUES = KnownValues({})


@dataclass(frozen=True, slots=True)
class KnownData:
    """What is known from the rest of a dialogue: its values, and its people by name."""

    values: KnownValues = _NO_VALUES
    people: tuple[str, ...] = ()


_NOTHING = KnownData()


@dataclass(frozen=True, slots=True)
class FirstLook:
    """What the rules find in a text, whatever else is known: the larger part of the work."""

    entities: tuple[EntitySpan, ...]
    found: tuple[EntitySpan, ...]


def first_look(text: str, privacy: Privacy, question: str = "") -> FirstLook:
    """The first look at a text; the second, with more known, need not repeat it.

    ``question`` is the turn before: it may ask for what the text tells.
    """
    text_, question = plain_characters(INVISIBLE.sub("", text)), plain_characters(question)
    entities = tuple(entities_and_parts(text_))
    # Of equal spans the first says the kind.
    found = (
        *_by_patterns(text_, privacy, question),
        *_by_entities(text_, entities, privacy, question),
    )
    return FirstLook(entities, found)


def find_personal_data(
    text: str, privacy: Privacy, known: KnownData = _NOTHING, looked: FirstLook | None = None
) -> list[EntitySpan]:
    """All personal data in a text, from left to right, none overlapping.

    Invisible marks within them are part of them: a number with one is the same number.
    """
    looked = looked or first_look(text, privacy)
    hidden = INVISIBLE.search(text)
    if hidden:
        visible = [i for i, c in enumerate(text) if not INVISIBLE.match(c)]
        text = INVISIBLE.sub("", text)
    text_ = plain_characters(text)
    found = [
        *_by_values(text_, looked.entities, known.values),
        *looked.found,
        *_by_names(text, privacy, known.people),
    ]
    merged = _merged([one for one in found if not _kept(text_[one.start : one.end], privacy)])
    if not hidden:
        return merged
    return [replace(m, start=visible[m.start], end=visible[m.end - 1] + 1) for m in merged]


def _by_entities(
    text: str, entities: Iterable[EntitySpan], privacy: Privacy, question: str
) -> Iterator[EntitySpan]:
    for span in entities:
        rule = next((rule for rule in privacy.rules if rule.takes(text, span, question)), None)
        if rule is not None and rule.kind in privacy.kinds:
            # "on 5th October.": the entity may be short for a month, the full stop stays.
            end = span.end - (text[span.end - 1] == ".")
            yield EntitySpan(span.start, end, rule.kind)


def _by_patterns(text: str, privacy: Privacy, question: str) -> Iterator[EntitySpan]:
    for rule in privacy.rules:
        if rule.kind in privacy.kinds:
            places = rule.matches(text, question)
            yield from (EntitySpan(start, end, rule.kind) for start, end in places)


def _by_values(
    text: str, entities: Sequence[EntitySpan], values: KnownValues
) -> Iterator[EntitySpan]:
    """A value is none within a time or an amount: after "order 1999" not that of "$1999.50"."""
    for start, end, kind in values.matches(text):
        if not any(
            span.start < end and start < span.end and not start <= span.start <= span.end <= end
            for span in entities
        ):
            yield EntitySpan(start, end, kind)


def _by_names(text: str, privacy: Privacy, people: tuple[str, ...]) -> Iterator[EntitySpan]:
    if privacy.names == "none":
        return
    known = list(known_people(text, people))
    yield from (EntitySpan(start, end, PERSON) for start, end in known)
    if privacy.names == "speakers" or not has_names(text):
        return
    for mention in name_mentions(text):
        ahead = text[max(0, mention.start - 12) : mention.start]
        is_person = (
            _TITLE.search(ahead) is not None
            or any(word in privacy.given_names or word in NICKNAMES for word in mention.words)
            # A part of a known person's name is somebody's, too.
            or any(start < mention.end and mention.start < end for start, end in known)
        )
        if is_person or privacy.names == "all":
            yield EntitySpan(mention.start, mention.end, PERSON if is_person else NAME)


def _kept(surface: str, privacy: Privacy) -> bool:
    return any(pattern.match(surface) for pattern in privacy.keep)


def _merged(found: Sequence[EntitySpan]) -> list[EntitySpan]:
    """Spans that overlap joined; the longest says the kind, of equal ones the first found."""
    result: list[EntitySpan] = []
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
        result[-1] = EntitySpan(last.start, max(last.end, one.end), kind)
    return result
