"""Answers: what a question, or words beside it, tell to be a value, whatever it looks like.

Each word of a text has a class, one letter (`Requests`); what an answer looks like is a pattern
over these letters, so "double six, one nine" and "Zephyr!9" need no rules of their own.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from dialogist.language.entities import EntitySpan
from dialogist.language.people import is_first_name
from dialogist.language.tokens import FUNCTION_WORDS, folded, word_set, word_table
from dialogist.privacy.numbers import is_counting

_PIECE = re.compile(r"[^\s—–…]{1,200}")
_EDGES = ".,;:!?\"'“”‘’()[]<>…*"
_MIXED = re.compile(
    r"(?=.*[0-9])(?=.*[^\W\d_])|[^\W\d_][_@#$&!~%^*]|[^\W\d_]{2}\.(?![A-Z])[^\W\d_]{2}|[a-z]\.[a-z]{3}"
)
_MASK = re.compile(r"(?:\A|[A-Z_\[])[A-Z]+_[1-9][0-9]*(?:\Z|\])")
_PARTS = re.compile("[-/._]")
_ENDS = re.compile(r"""[.!?;,]["'”’)]*\Z""")
_WHOLE = re.compile(r"[bf.,]*(?P<v>[dnmlxuco][dnmlxucogf]{0,4}(?<!f))(?:[.,]|\Z)")
_TELLING = frozenset("xdn")
_UNIT = re.compile(r"[0-9]|[^\W\d_]+")
_NEAR = 6  # words of an answer after which a word is hardly the value
_FAR = 12  # the same of a number
_LEAST = 3  # digits, or words for them
_QUANTITY = re.compile(
    r"[$€£¥₹].*|.*[%€£°]|[0-9]{1,2}:[0-9]{2}|[0-9]+(?:st|nd|rd|th|am|pm|k|m|km|kg|g|mg|ml|cm|mm|"
    r"gb|mb|tb|h|hrs?|mins?|x|d|ft|lbs?|oz|p|hz|[ap]\.m)|[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?",
    re.I,
)
_SHARE = re.compile("[0-9]{1,3} (?:out )?of [0-9]{1,3}")  # "order 2 of 5"
_ORDINAL = re.compile("[0-9]{1,2}(?:st|nd|rd|th)", re.I)
_SUFFIXES = ("s", "es", "ed", "d", "ing", "ly", "er", "r", "y", "n't")
_MOST = 40  # words of an answer, and before and after a word that names a value
_BESIDE = 9


@lru_cache(maxsize=1)
def _common() -> frozenset[str]:
    return word_set(word_table("common")["common"])


@lru_cache(maxsize=20_000)
def is_ordinary(word: str) -> bool:
    """Whether a word, or what it comes from, is common in dialogues, and no first name."""
    low = re.sub("['’](?:s|ll|d|ve|re|m)?\\Z", "", folded(word))
    return len(low) < 2 or low in FUNCTION_WORDS or _is_derived(low, 3)


def is_random(text: str) -> bool:
    """Whether a part of a web address is not made of words: ``8fK2mQz9``, but no title."""
    parts = re.findall(r"[^\W_]+", text)
    return any(
        _MIXED.search(part) or (part.isdigit() and len(part) > 5) or not is_ordinary(part)
        for part in parts
        if len(set(part)) > 3
    )


def _is_derived(word: str, steps: int) -> bool:
    if word in _common():
        return True
    bases = [word.removeprefix(start) for start in ("un", "re", "dis") if steps > 2]
    for end in _SUFFIXES:
        if word.endswith(end):
            base = word.removesuffix(end)
            bases += [base, base + "e", base[:-1] + "y" if base[-1:] == "i" else base]
            bases += [base[:-1]] * (base[-2:-1] == base[-1:])
    return steps > 0 and any(
        _is_derived(base, steps - 1) for base in bases if len(base) > 2 and base != word
    )


@dataclass(frozen=True, slots=True)
class RequestedValue:
    """Something that may be asked for: see `RequestConfig`; ``form`` is over classes of words."""

    kind: str
    asked: re.Pattern[str] | None
    named: re.Pattern[str] | None
    form: str
    whole: bool = False

    def values(self, words: "Words", question: str) -> Iterator[tuple[int, int]]:
        """Where the values of a text stand."""
        if self.asked and question and self.asked.search(question):
            classes = words.all[:_MOST]
            found = list(re.finditer(self.form, classes))
            for match in found:
                near = _NEAR if _TELLING.isdisjoint(match[0]) else _FAR
                if match.start() <= near or "x" in match[0]:
                    yield from words.span(0, match)
            whole = _WHOLE.match(classes) if self.whole and not found else None
            if whole and "s" not in classes:
                yield from words.span(0, whole)
        for name in self.named.finditer(words.text) if self.named else ():
            first, classes = words.classes(name.end(), _BESIDE)
            told = re.match(rf"(?P<f>[bfg,]{{0,4}})(?P<v>{self.form})", classes)
            # Next to the word, or after "is" and the like.
            if told and (
                "b" in told["f"] or not told["f"].strip(",") or not _TELLING.isdisjoint(told["v"])
            ):
                yield from words.span(first, told)
            first, classes = words.classes(name.start(), -_BESIDE)
            if told := re.search(rf"(?P<v>{self.form})b[bfg]{{0,2}}\Z", classes):
                yield from words.span(first, told)


class Words:
    """The words of a plain text, each with its class."""

    def __init__(self, text: str, lists: Mapping[str, str]) -> None:
        """``lists``: classes of words that are listed."""
        self.text = text
        self.starts: list[int] = []
        self.ends: list[int] = []
        classes: list[str] = []
        for piece in _PIECE.finditer(text):
            core = piece[0].strip(_EDGES)
            start = piece.start() + piece[0].find(core) if core else piece.start()
            self._add(start, start + len(core))
            kind = _class(core, lists) if core else "f"
            is_inside = kind == "o" and classes and classes[-1] != "." and core.lower() not in lists
            classes.append("c" if is_inside and core[0].isupper() else kind)
            if classes[-1] == "t":  # a unit: what stands before it counts something
                classes[-1] = "o"
                classes[-2:-1] = ["q" if c in "dn" else c for c in classes[-2:-1]]
            if mark := _ENDS.search(piece[0]):
                self._add(*[piece.start() + mark.start()] * 2)
                classes.append("," if mark[0] == "," else ".")
        self.all = "".join(classes)

    def _add(self, start: int, end: int) -> None:
        self.starts.append(start)
        self.ends.append(end)

    def classes(self, place: int, count: int) -> tuple[int, str]:
        """Those of so many words behind a place, or before it, and the number of the first."""
        if count > 0:
            first = bisect_left(self.starts, place)
            return first, self.all[first : first + count]
        last = bisect_right(self.ends, place)
        first = max(0, last + count)
        return first, self.all[first:last]

    def span(self, first: int, match: re.Match[str]) -> Iterator[tuple[int, int]]:
        """Where the words of a match over classes stand in the text, if they tell enough."""
        group = "v" if "v" in match.re.groupindex else 0
        start = self.starts[first + match.start(group)]
        end = self.ends[first + match.end(group) - 1]
        value = self.text[start:end]
        if _SHARE.fullmatch(value):
            return
        if (
            _TELLING.isdisjoint(match[group])
            or "few" in match.re.groupindex
            or (len(_UNIT.findall(value)) >= _LEAST or sum(map(str.isalnum, value)) > _LEAST)
        ):
            yield start, end


def _class(word: str, lists: Mapping[str, str]) -> str:
    """The class of a word: see the pack."""
    low = word.lower().replace("’", "'")
    if _MASK.search(word):
        return "o"
    if low in lists:
        return lists[low]
    if _ORDINAL.fullmatch(word):
        return "n"
    if _QUANTITY.fullmatch(word):
        return "q"
    if _MIXED.search(word):
        return "x"
    if any("0" <= c <= "9" for c in word):
        return "d"
    parts = [part for part in _PARTS.split(low) if part]
    if len(parts) > 1:
        classes = {"l" if len(part) == 1 else lists.get(part, "o") for part in parts}
        if classes <= {"n", "m", "g", "l"}:
            return "u" if classes == {"l"} and len(parts) > 2 else "n"
    if low in FUNCTION_WORDS or low.split("'")[0] in FUNCTION_WORDS:
        return "f" if len(word) > 1 or word in "aiur" else "l"
    if len(word) == 1 or (word.isupper() and len(word) <= 4 and word.isalpha()):
        return "l"
    if is_first_name(word) and word[0].isupper():
        return "u"
    return "o" if all(map(is_ordinary, parts or [low])) else "u"


def requested_values(
    text: str, question: str, requests: tuple[RequestedValue, ...], lists: Mapping[str, str]
) -> Iterator[EntitySpan]:
    """The values in a plain text that a question, or a word in it, asks for."""
    if not requests:
        return
    words = Words(text, lists)
    for request in requests:
        for start, end in request.values(words, question):
            spoken = re.findall("[a-z]+", text[start:end].lower())
            if request.kind != "CODE" or not is_counting(spoken):  # "Press one, two, or three"
                yield EntitySpan(start, end, request.kind)
