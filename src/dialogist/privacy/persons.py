"""People by name: who is one, whom a name means, where a text mentions those that are known.

All of it takes time in proportion to the text, however many people there are. How somebody is
introduced or greeted is told by the words around the names that the tagger of names finds.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import combinations
from typing import Any

from dialogist.language.people import DAYS, MONTHS, NAME_WORDS, NICKNAMES
from dialogist.language.roles import SERVED_WORDS, SERVING_WORDS, role_of
from dialogist.language.tokens import REPORTING, SPEAKER_TAG, folded, replaced, word_set, word_table
from dialogist.privacy.requested import is_ordinary
from dialogist.privacy.taggers import tagged_names

_NAMES = word_table("names")
_TITLES = word_set(_NAMES["titles"])
_HAN_NAME = re.compile("[\u4e00-\u9fff]{3,4}")
_FAMILY = "王李张刘陈杨黄赵吴周徐孙马朱胡郭何林高罗郑梁谢宋唐许韩冯邓曹彭曾肖田董潘蔡蒋余于杜叶"
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
# Chinese characters border no Latin name: 请Ann来.
_PIECE = re.compile("[\u4e00-\u9fff]|[^\\W_\u4e00-\u9fff]+|\\s+|[^\\w\\s]|_")
_TAGS = re.compile(SPEAKER_TAG)
_NOBODY = re.compile(
    r"[a-z]|\[.*\]|<.*>|(?:speaker|person|participant|user|unknown|moderator|host|guest|me|you)"
    r"[ _-]?\d{0,3}",
    re.I,
)
_ROLES = SERVING_WORDS | SERVED_WORDS | word_set(_NAMES["roles"])
_LONE_ROLES = _ROLES | word_set(_NAMES["lone roles"])
_BESIDE_ROLES = _LONE_ROLES | word_set(_NAMES["beside roles"])
# What a speaker's name may hold that is not a part of anybody's name.
_NO_PARTS = _TITLES | _ROLES | word_set(_NAMES["no parts"])
# Names that are words: in small letters they are the person only where somebody is addressed.
_WORDS_TOO = NAME_WORDS | word_set(_NAMES["words too"]) | {*DAYS, *MONTHS}
# Medicines, illnesses called after people (with "'s" where the bare word is a name), firms.
_THINGS = word_set(_NAMES["no people"])
_MEDICINE = re.compile(
    r"[a-z]{3,}(?:mab|vastatin|pril|olol|azole|cillin|m[yi]cin|sartan|gliptin|gliflozin|tinib"
    r"|oxetine|azepam|parin|profen|tidine|cycline|prazole|glutide)"
)
_DOSE = re.compile(r" [0-9][0-9.,]* ?(?:mg|mcg|micrograms|milligrams|ml|units)(?![a-z])", re.I)
_ILLNESS = re.compile(  # "had Addison's since May", but not "had Addison's mother in"
    r"['’]s(?= (?:and|are|as|at|but|can|clinic|disease|does|for|has|if|in|is|last|medication|meds"
    r"|nurse|or|patients?|runs|since|symptoms|syndrome|tablets|to|too|was|when|will|with)(?![a-z])"
    r"|[^\w ]|\s*\Z)"
)
_TITLED_BEFORE = re.compile(r"(?<![A-Za-z])(?i:mr|mrs|ms|miss|mx|dr|prof)\.? \Z")
_ADDRESSED = re.compile(r"(?:thanks|thank you|thx|cheers|hi|hello|hey|bye|sorry|morning)[,!]? \Z")
_CLOSED = re.compile(r"\s*(?:[.,!?;:)]|\Z)")
_NAME = "\ue000"  # stands for each name in what patterns read
# In capitals, where the tagger of names does not tell: "Hi May", but not "in May"; "Will, can you".
_NAMED = re.compile(
    rf"(?i)(?P<sure>\b(?:mr|mrs|ms|miss|mx|dr|prof|this is|name is|name['’]s|i['’]m|i am|called"
    rf"|ask(?:ed)?|tell|told|call|g[ia]ve|met|(?:spoke|speak|talk)(?:ed|ing)? (?:to|with))\b\.?"
    rf" {_NAME}|\b(?:hi|hello|hey|dear|thanks|thank you|cheers|bye|goodbye|sorry|morning)[,!]?"
    rf" {_NAME}(?! (?:i|we|you|he|she|it|they|that|this|the)\b)"
    rf"|{_NAME} (?:said|says|told|there|here|speaking)\b)"
    rf"|{_NAME}(?:['’]s| (?:{'|'.join(sorted(REPORTING))})(?:e?s|e?d))\b"
    rf"|(?:\A|[.!?]\s){_NAME},|, {_NAME}(?:[.!?]|\Z)"
)
_LONGEST = 6  # words of a name that are looked for together
_MOST_PARTS = 5  # words of a name of which any may be left out


def is_role(speaker: str) -> bool:
    """Whether a speaker's name is a role or made of words for one: ``HR``, ``Front desk 2``."""
    words = {*map(folded, _WORD.findall(speaker))}
    return role_of(speaker) != "" or (words <= _BESIDE_ROLES and not words.isdisjoint(_LONE_ROLES))


def is_person(speaker: str) -> bool:
    """Whether a speaker's name is one, not a role, a letter, a number or a mask (#Person1#)."""
    name = speaker.strip()
    return (
        any(map(str.isalpha, name))
        and not is_role(name)
        and not _TAGS.fullmatch(name)
        and not _NOBODY.fullmatch(name)
    )


def is_thing(text: str, start: int, end: int) -> bool:
    """Whether a part of a text that looks like a name is a medicine, an illness or a firm."""
    if _TITLED_BEFORE.search(text[max(0, start - 12) : start]):
        return False
    ending = "'s" * (_ILLNESS.match(text, end) is not None)
    words = _WORD.findall(folded(text[start:end].replace("’", "'") + ending))
    return _DOSE.match(text, end) is not None or all(
        not {word, word.removesuffix("'s")}.isdisjoint(_THINGS) or _MEDICINE.fullmatch(word)
        for word in words
    )


def may_be_word(name: str) -> bool:
    """Whether a name in small letters is hardly ever one: ``will``, ``mark``."""
    return name in _WORDS_TOO or is_ordinary(name)


def words_of_name(name: str) -> frozenset[str]:
    """The folded words of a name, titles left out: O’Neill is ``oneill``, Anne-Marie two words."""
    bare = re.sub("['’]", "", name).replace("-", " ")
    return frozenset(map(folded, _WORD.findall(bare))) - _TITLES


def _plain(piece: str) -> str:
    """A piece of a name as it is compared: José is Jose, Anne-Marie is Anne Marie."""
    if piece.isascii():
        return " " if piece == "-" or piece.isspace() else piece
    if piece.isspace() or piece in "‐‑":
        return " "
    parts = unicodedata.normalize("NFD", piece)
    return "'" if piece == "’" else "".join(c for c in parts if not unicodedata.combining(c))


class People:
    """Different people, in order: ``Ann`` is ``Ann Lee`` if there is one of her."""

    def __init__(self, names: Iterable[str] = (), whole: bool = False) -> None:
        """``names`` may name a person several times; ``whole``: parts of them mean nobody."""
        self._whole: dict[frozenset[str], str] = {}
        self._part: dict[frozenset[str], str] = {}  # "" where it is a part of several names
        self._tree: dict[str, Any] = {}
        self._wordy: set[str] = set()
        self._is_whole = whole
        distinct = list(dict.fromkeys(names))
        chosen = set()
        for name in sorted(distinct, key=lambda name: -len(words_of_name(name))):
            if self._meant(name) in (None, name):
                chosen.add(name)
                self._add(name)
        self.names = tuple(name for name in distinct if name in chosen)
        for name in distinct if whole else self.names:
            self._plant(name, whole)

    def who(self, name: str) -> str:
        """The person whose name holds all words of a name, or a long form of it; else itself."""
        meant = self._meant(name)
        if meant is None and len(words := words_of_name(name)) == 1:
            long = {self._meant(other) for other in NICKNAMES.get(min(words), ())} - {None}
            meant = long.pop() if len(long) == 1 else None
        return meant or name

    def mentions(self, text: str) -> Iterator[tuple[int, int]]:
        """Where people stand in a text by their whole names or parts of them, the longest first.

        In other than their own case only if they are no words. Who is called by a word is meant
        where what stands around it tells of a person.
        """
        if not self._tree:
            return
        tagged: set[int] | None = None
        pieces = list(_PIECE.finditer(text))
        keys = [_plain(piece[0]) for piece in pieces]
        position = 0
        for n, piece in enumerate(pieces):
            start = piece.start()
            if start < position:
                continue
            is_closed = piece[0] in self._wordy and _CLOSED.match(text, piece.end())
            if is_closed and _ADDRESSED.search(text[max(0, start - 12) : start].lower()):
                yield piece.span()
            node: Any = self._tree
            end = 0
            for i in range(n, min(len(pieces), n + 2 * _LONGEST + 6)):
                node = node.get(keys[i])
                if node is None:
                    break
                end = pieces[i].end() if "" in node else end
            low = text[start:end].lower() if text[start].isupper() and not self._is_whole else ""
            if low in self._wordy and low in _WORDS_TOO and end - start < len(text):
                if tagged is None:
                    tagged = {n for span in tagged_names(text) for n in range(*span)}
                around = f"{text[max(0, start - 20) : start]}{_NAME}{text[end : end + 15]}"
                told = _NAMED.search(around)
                if start not in tagged and not (told and (told["sure"] or low not in DAYS)):
                    continue
            if end:
                # 丽娟 of 周丽娟 is a part of 王丽娟, too: her family's name must not stay alone.
                is_given = "\u4e00" <= piece[0] <= "\u9fff" and text[start - 1 : start] in _FAMILY
                yield start - (is_given and start > position), end
                position = end

    def _add(self, name: str) -> None:
        words = words_of_name(name)
        if not words:
            return
        self._whole.setdefault(words, name)
        sizes = range(1, len(words)) if len(words) <= _MOST_PARTS else (1,)
        parts = [frozenset(part) for size in sizes for part in combinations(sorted(words), size)]
        # 小明 is 王小明: Chinese names have the family's name first.
        parts += [frozenset((name[1:],))] if _HAN_NAME.fullmatch(name) else []
        parts += map(words_of_name, _run_together(name))
        for part in parts:
            self._part[part] = name if self._part.get(part, name) == name else ""

    def _meant(self, name: str) -> str | None:
        words = words_of_name(name)
        return self._whole.get(words) or self._part.get(words) or None

    def _plant(self, person: str, whole: bool) -> None:
        pieces = [*map(_plain, _PIECE.findall(person))]
        forms = [tuple(pieces)] if len(pieces) <= 2 * _LONGEST else []
        if _HAN_NAME.fullmatch(person):
            forms.append(tuple(pieces[1:]))
        words = _WORD.findall(person)[: 2 * _LONGEST]
        nicknames = (n.capitalize() for n in NICKNAMES.get(folded(words[0]), ())) if words else ()
        nicknames = (n for n in nicknames if not may_be_word(n.lower()))
        parts = [p for w in words if "-" in w for p in w.split("-") if p[:1].isupper()]
        pairs = [" ".join(words[:2])] * (len(words) > 2)
        together = _run_together(person)
        names = [person] if whole else [person, *words, *nicknames, *parts, *pairs, *together]
        for name in names:
            is_known = not whole and (folded(name) in _NO_PARTS or role_of(name) != "")
            if sum(map(str.isalpha, name)) < 2 or is_known or not name.isprintable():
                continue
            if re.search("[\u4e00-\u9fff]", name) or len(name) > 100:
                continue
            variants = [name]
            if not may_be_word(folded(name)):
                variants += [name.lower(), name.upper(), name.capitalize()]
            else:
                self._wordy.add(name.lower())
            forms += [tuple(map(_plain, _PIECE.findall(v))) for v in variants]
        for form in forms:
            node = self._tree
            for piece in form:
                node = node.setdefault(piece, {})
            node[""] = None


def _run_together(name: str) -> list[str]:
    """Other ways to write words of a name: ``AnneMarie``, ``ONeill``, and the O'Neills."""
    words = _WORD.findall(name)[: 2 * _LONGEST]
    forms = [re.sub("['’-]", "", word) for word in words if not word.isalpha()]
    forms += ["".join(words[:2])] * (len(words) > 2)
    # 王小明s is nobody.
    several = [word + "s" for word in words[-1:] if len(word) > 3 and word[-1].isascii()]
    return forms + [form for form in several if not may_be_word(folded(form))]


@lru_cache(maxsize=16)
def people_of(names: tuple[str, ...], whole: bool = False) -> People:
    """The people of a dialogue; asked for again with each of its texts."""
    return People(names, whole)


_TITLED = rf"(?:(?:mr|mrs|ms|miss|dr|prof|doctor|professor)\b\.?\s)?{_NAME}"
_BEGINS = r"(?:^|[.!?:,–—-]\s*|\b(?:hi|hello|hey|yes|morning|afternoon|evening|there|again)\s)"
_ENDS = r"(?=\s*(?:[.!,;:–—-]|\Z))(?!,? (?:my|our|his|her|their|the|an?) )"
_JOB = r"\s(?:from|with|at|in|here|speaking|calling|again|on)\b"
_INTRODUCED = re.compile(
    rf"(?i)\bmy name(?: is|['’]s) {_TITLED}"
    rf"|{_BEGINS}this is {_TITLED}(?:{_ENDS}|{_JOB}|\s(?:and i|how|what|your|i)\b)"
    rf"|\bit(?: is|['’]s) {_TITLED}{_JOB}"
    rf"|^(?:good )?(?:hi|hello|hey|morning|afternoon|evening)(?: there)?[,!.]"
    rf" it(?: is|['’]s) {_TITLED}{_ENDS}"
    rf"|{_BEGINS}{_TITLED} (?:speaking\b|here(?:{_ENDS}|{_JOB}))"
    rf"|\byou(?: are|['’]re)? (?:speaking|talking|chatting|through) (?:with|to) {_TITLED}"
    rf"|\bi(?: am|['’]m) {_TITLED}(?:{_ENDS}|\s(?:from|with)\b|,? (?:your|and i)\b)"
    rf"|\b(?:regards|sincerely|yours truly|yours faithfully),?\s+{_NAME}[^.!?]{{0,60}}\Z"
    rf"|\n\s*(?:thanks|thank you|cheers|best|best wishes),?\s*\n\s*{_NAME}\s*\Z"
    rf"|\S\s*(?:[\^~]|(?<=[.!?\s])[-–—])\s?{_NAME}(?: [a-z])?\s*\Z"
)
_SOMEBODY_ELSE = re.compile(  # "Mom, this is Priya.", but not "Mom, this is Priya from the bank."
    rf"(?i)\W*(?:{_NAME}|mom|mum|mommy|mummy|dad|daddy|grandma|grandpa|granny|aunt|uncle|honey"
    rf"|darling), this is {_NAME}(?!{_JOB}|,? (?:and i|your|how)\b)"
)
_CALLED = re.compile(
    r"(?i)(?:^|[.!?]\s+)(?:hi|hello|hallo|hey|thanks|thank you|(?:good )?(?:morning|afternoon"
    r"|evening)|bye|goodbye|sorry|sure|okay|ok|yes|no(?=,)|of course|dear),?\s+"
    rf"{_TITLED}(?=\s*(?:[.!?,;]|\Z))"
)


def own_names(text: str) -> Iterator[str]:
    """The names by which the speaker of a text introduces himself or signs, without titles."""
    return _names_in(text, _INTRODUCED, _SOMEBODY_ELSE)


def names_called(text: str) -> Iterator[str]:
    """The names by which a text greets, thanks or answers somebody, without titles."""
    return _names_in(text, _CALLED)


def _names_in(
    text: str, pattern: re.Pattern[str], unless: re.Pattern[str] | None = None
) -> Iterator[str]:
    text = text.replace(_NAME, " ")
    spans = tagged_names(text)
    marked = replaced(text, ((start, end, _NAME) for start, end in spans)).text
    if unless and unless.match(marked):
        return
    for match in pattern.finditer(marked) if spans else ():
        if not marked[match.end() :].lstrip().startswith("?"):
            start, end = spans[marked.count(_NAME, 0, match.end()) - 1]
            yield text[start:end]
