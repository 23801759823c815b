"""Names of people: the speakers, with what they are called in the text, and others.

Speakers are known. Others are told by their capital letters (`text.names`) and by a given name or a
title, so they are found in English only; what Chinese packs know of people are patterns.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from dialogist.data.readers.fields import role_of
from dialogist.text.aliases import NICKNAMES
from dialogist.text.folding import folded
from dialogist.text.listing import word_set
from dialogist.text.names import has_names, name_mentions
from dialogist.text.tokens import TAG

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
_TAGS = re.compile(TAG)
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


def words_of(name: str) -> frozenset[str]:
    """The folded words of a name, titles left out."""
    return frozenset(map(folded, _WORD.findall(name))) - _TITLES


def identify(name: str, people: Iterable[str]) -> str:
    """Who of ``people`` is meant by a name: the one whose name holds all its words, else itself."""
    words = words_of(name)
    found = []
    for person in people:
        theirs = words_of(person)
        if theirs == words:
            return person
        if words < theirs or _is_given_name(name, person):
            found.append(person)
    return found[0] if len(found) == 1 else name


def identities(names: Iterable[str]) -> tuple[str, ...]:
    """The different people among names, in order; ``Ann`` is ``Ann Lee`` if there is one of her."""
    distinct = list(dict.fromkeys(names))
    found: list[str] = []
    for name in sorted(distinct, key=lambda name: -len(words_of(name))):
        if identify(name, found) == name and name not in found:
            found.append(name)
    return tuple(name for name in distinct if name in found)


def known_people(text: str, people: tuple[str, ...]) -> Iterator[tuple[int, int]]:
    """Where people are mentioned, by their whole name or a part of it."""
    pattern = _mentions(people)
    if pattern is not None:
        yield from (match.span() for match in pattern.finditer(text))


def other_names(
    text: str, given_names: frozenset[str], people: tuple[str, ...]
) -> Iterator[tuple[int, int, bool]]:
    """Names by their capital letters: start, end, and whether it is a person's.

    One that a known person's name is a part of is somebody's, too.
    """
    if not has_names(text):
        return
    known = list(known_people(text, people))
    for mention in name_mentions(text):
        ahead = text[max(0, mention.start - 12) : mention.start]
        person = (
            _TITLE.search(ahead) is not None
            or any(word in given_names or word in NICKNAMES for word in mention.words)
            or any(start < mention.end and mention.start < end for start, end in known)
        )
        yield mention.start, mention.end, person


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
