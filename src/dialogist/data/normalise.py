"""Normalisation profiles, named after their source: text in, text out, nothing else.

* ``plain`` (default): NFC, control characters out, white space folded, case kept.
* ``dialogsum-keras``: as reports 1-3 do: lower case, control characters out, white space folded.
  (Their filters for punctuation belong to the word tokenizer, their [SOS]/[EOS] to the encoder.)
* ``xsum-report``: the XSum report, section 2.1.2: lower case; other characters than letters, digits
  and ``.,!?%$&@#:`` are removed (``it's`` becomes ``its``).
* ``words``, ``zh-characters``, ``zh-words``: as ``plain``; when all else is done, `segment` puts
  spaces in for a word tokenizer: around marks of punctuation, and between the characters or the
  words of Chinese.
"""

import logging
import re
import unicodedata
import warnings
from bisect import bisect_right
from collections.abc import Callable, Mapping
from functools import cache
from typing import Literal, NamedTuple

from dialogist.errors import MissingExtraError
from dialogist.language.tokens import INVISIBLE

Profile = Literal["plain", "dialogsum-keras", "xsum-report", "words", "zh-characters", "zh-words"]

_XSUM_KEPT = frozenset(".,!?%$&@#:")
# The speaker placeholders: no user text may hold one.
_RESERVED = re.compile(r"[\U0010f000-\U0010f01f]")
# Surrogates are no characters and cannot be written as UTF-8.
_NO_TEXT = re.compile(r"[\ud800-\udfff\U0010f000-\U0010f01f]")
# What stands for speakers, entities, marks, bytes and plans (`dialogist.tokenizers`).
_OURS = re.compile(r"[\U0010f000-\U0010f4ff]")
_UNREADABLE = re.compile(r"[\ud800-\udfff\U0010f000-\U0010f4ff]")
_MOST_SPACE, _MOST_WORD = 8, 300  # characters in a row
_LONG_RUNS = re.compile(
    rf"{INVISIBLE.pattern}|\s{{{_MOST_SPACE + 1},}}|\S{{{_MOST_WORD + 1},}}"
    rf"|(?:[^\w\s]\s){{{_MOST_WORD // 2},}}[^\w\s]"
)
# All of category Cc.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
# All of category Cc that is no white space (folding treats that).
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]")


def _plain(text: str) -> str:
    # NFC comes last: a control character may have stood between a letter and its accent.
    return _fold(unicodedata.normalize("NFC", _without_controls(text)))


def _dialogsum_keras(text: str) -> str:
    return _fold(_without_controls(text.lower()))


def _xsum_report(text: str) -> str:
    # A combining mark belongs to its letter (Devanagari vowels, decomposed accents).
    kept = (
        c
        for c in text.lower()
        if c.isalnum() or c in _XSUM_KEPT or c.isspace() or unicodedata.category(c)[0] == "M"
    )
    # NFC comes last: a removed character may have stood between a letter and its accent, and some
    # letters have a composed form as small letters only (J + caron).
    return _fold(unicodedata.normalize("NFC", "".join(kept)))


PROFILES: dict[Profile, Callable[[str], str]] = {
    "plain": _plain,
    "dialogsum-keras": _dialogsum_keras,
    "xsum-report": _xsum_report,
    "words": _plain,
    "zh-characters": _plain,
    "zh-words": _plain,
}


def normalise(text: str, profile: Profile) -> str:
    """Apply a profile; the result is stable: normalising it again changes nothing."""
    return PROFILES[profile](text)


def normalise_between(text: str, profile: Profile, kept: re.Pattern[str]) -> str:
    """`normalise` a plain text, but leave each character that ``kept`` matches as it is.

    A character that is kept borders the words beside it like a digit would.
    """
    if PROFILES[profile] is _plain:
        return _plain(text)
    pieces = kept.split(text)
    # A digit at each end holds the place of what is kept: white space beside it stays, and no
    # rule about the ends of words or composed letters crosses it.
    done = [normalise(f"0{piece}0", profile)[1:-1] for piece in pieces]
    masks = [*kept.findall(text), ""]
    return _fold("".join(p for pair in zip(done, masks, strict=True) for p in pair))


def without_controls(text: str) -> str:
    """A model's text with a space for each control character, which pieces of bytes can spell."""
    return _CONTROL.sub(" ", text)


def without_placeholders(text: str) -> str:
    """A model's text with a space for each private character of ours that nothing stands behind."""
    return _OURS.sub(" ", text)


def readable_in_place(text: str) -> str:
    """Replace what cannot be shown, one character by one: places in the text stay true.

    Controls become spaces; halves of characters, and characters of ours, become U+FFFD.
    """
    return _UNREADABLE.sub("\ufffd", without_controls(text))


class Shortened(NamedTuple):
    """A text without long runs, and from where on how many characters are missing before."""

    text: str
    starts: list[int]
    missing: list[int]

    def place(self, at: int) -> int:
        """Where a character of it stands in the whole text."""
        return at + self.missing[bisect_right(self.starts, at) - 1]


def without_long_runs(text: str) -> Shortened:
    """A text in which no white space and no word goes on and on: rules read it in little time.

    Of white space its beginning stays; of a word, which may be an attachment, its beginning and an
    ellipsis that stands for its last character. Invisible marks go.
    """
    parts, starts, missing = [""], [0], [0]
    length = place = 0
    for run in _LONG_RUNS.finditer(text):
        is_gone = INVISIBLE.match(run[0]) is not None
        is_space = is_gone or run[0].isspace()
        kept = "" if is_gone else run[0][: _MOST_SPACE if is_space else _MOST_WORD - 1]
        parts += [text[place : run.start()], kept]
        length += len(parts[-2]) + len(kept)
        gone = len(run[0]) - len(kept)
        if not is_space:  # the ellipsis is its last character
            starts.append(length)
            missing.append(missing[-1] + gone - 1)
            parts.append("…")
            length += 1
        else:
            starts.append(length)
            missing.append(missing[-1] + gone)
        place = run.end()
    return Shortened("".join((*parts, text[place:])), starts, missing)


def has_reserved(text: str) -> bool:
    """Whether ``text`` holds private characters that stand for speakers inside Dialogist."""
    return _RESERVED.search(text) is not None


def _without_controls(text: str) -> str:
    """White space characters stay (folding treats them); other controls and reserved ones go."""
    return _NO_TEXT.sub("\ufffd", _CONTROLS.sub("", text))


def _fold(text: str) -> str:
    return " ".join(text.split())


# Spaces for a word tokenizer, and without them again: marks of punctuation, and Chinese.
#
# The reports' word tokenizer splits at spaces and drops every ASCII mark of punctuation. So what it
# writes has no sentences, and Chinese is one word. Three profiles put spaces in when everything
# else is prepared (names and entities are their placeholders by then), and take them out of what a
# model writes:
#
#     Hello, New York.        -segment->  Hello ￭, New York ￭.         -join->  Hello, New York.
#     联系小王，OK吗          -segment->  联 系 小 王 ， OK 吗         -join->  联系小王，OK吗
#
# ``words``: each mark is a word, and ￭ says on which sides it stood without a space; likewise each
# placeholder, with the ￭ at the word beside it (``Ann's``). ``zh-characters``, ``zh-words``: the
# same, and each Chinese character (or word) and mark has spaces around it without a ￭, for Chinese
# has none of its own. Characters are the paper's way of counting (Liu et al., KDD 2019, footnote 2
# and section 4.2: the Chinese part in characters, the English part in words). Words come from jieba
# (the extra ``zh``).


# Ideographs, and kana, which Chinese texts quote.
_LETTERS = "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
# Marks that only Chinese has. “ ” … and — are English, too: they keep their place beside a word.
_CHINESE_MARKS = "\u3001-\u3004\u3008-\u303f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"
_CHINESE = f"{_LETTERS}{_CHINESE_MARKS}"
_ONE = re.compile(f"[{_CHINESE}]")
_RUN = re.compile(f"[{_LETTERS}]+|[{_CHINESE_MARKS}]")

_JOINER = "\uffed"
_JOINED = re.compile(f" *{_JOINER} *")
_PLACEHOLDER = re.compile("[\U0010f000-\U0010ffff]")
# All that is no part of a word but the apostrophe; private use is none of our business.
_MARK = re.compile(r"[^\w\s'’\U000f0000-\U0010ffff]|_")
_ASCII_MARK = re.compile(r"[!-&(-/:-@\[-`{-~]")

# The tokenizer would drop an ASCII mark, so it goes by another name: a private-use character.
_NAMES = {code: 0xE000 + code for code in range(0x21, 0x7F) if not chr(code).isalnum()}
_BACK = {name: code for code, name in _NAMES.items()}
_TAKEN = {**dict.fromkeys(_BACK, "\ufffd"), ord(_JOINER): "■"}

CHINESE_PROFILES = ("zh-characters", "zh-words")
_PROFILES = ("words", *CHINESE_PROFILES)

WordSplit = Callable[[str], list[str]]


def segment(text: str, profile: Profile) -> str:
    """Make each mark (and each Chinese character or word) a word; other profiles: no change.

    Everything else stays as it is, placeholders among it. The characters that stand for marks
    within Dialogist cannot be typed: they become U+FFFD, and ￭ becomes ■.

    Raises:
        MissingExtraError: the profile is ``zh-words`` and jieba is not installed.
    """
    if profile not in _PROFILES:
        return text
    text = text.translate(_TAKEN)
    if profile == "words":
        return _fold(_placeholders_apart(_marks_apart(text, _MARK), str.isspace))
    text = _placeholders_apart(_marks_apart(text, _ASCII_MARK), _is_space_or_chinese)
    if profile == "zh-characters":
        return _fold(_ONE.sub(r" \g<0> ", text))
    cut = _jieba()
    return _fold(_RUN.sub(lambda run: f" {' '.join(cut(run[0]))} ", text))


def join(text: str, profile: Profile, surfaces: Mapping[str, str]) -> str:
    """Put marks back to their words, and Chinese together; other profiles: no change.

    It undoes `segment`, but for a space that Chinese had on one side or on both: there is none
    afterwards. ``surfaces`` are the words that stand behind the placeholders: what these begin and
    end with decides beside them.
    """
    if profile not in _PROFILES:
        return text
    text = _JOINED.sub("", text).translate(_BACK)
    if profile not in CHINESE_PROFILES:
        return text
    before = "".join(c for c, words in surfaces.items() if _ONE.fullmatch(words[-1:]))
    behind = "".join(c for c, words in surfaces.items() if _ONE.fullmatch(words[:1]))
    return re.sub(f"(?<=[{_CHINESE}{before}]) +| +(?=[{_CHINESE}{behind}])", "", text)


def _marks_apart(text: str, marks: re.Pattern[str]) -> str:
    """Each mark a word; where there was no space beside it is now one, and a ￭."""

    def apart(mark: re.Match[str]) -> str:
        start, end = mark.span()
        before = _JOINER if start and not text[start - 1].isspace() else ""
        behind = _JOINER if end < len(text) and not text[end].isspace() else ""
        return f" {before}{mark[0].translate(_NAMES)}{behind} "

    return marks.sub(apart, text)


def _placeholders_apart(text: str, is_loose: Callable[[str], bool]) -> str:
    """Each placeholder a word, alone; a word beside it has a ￭, unless it is loose anyway."""

    def apart(found: re.Match[str]) -> str:
        start, end = found.span()
        before, behind = text[max(0, start - 1) : start], text[end : end + 1]
        alone = f" {found[0]} "
        if before and not is_loose(before):
            # Two placeholders side by side have the ￭ between them.
            alone = f"{' ' if _PLACEHOLDER.match(before) else ''}{_JOINER}{alone}"
        if behind and not is_loose(behind) and not _PLACEHOLDER.match(behind):
            alone = f"{alone}{_JOINER}"
        return alone

    return _PLACEHOLDER.sub(apart, text)


def _is_space_or_chinese(character: str) -> bool:
    return character.isspace() or _ONE.match(character) is not None


@cache
def _jieba() -> WordSplit:
    """Jieba's way of splitting, with its own dictionary."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of 2020: its escapes, and how it finds its files
            import jieba
    except ImportError:
        raise MissingExtraError("profile zh-words", "zh") from None
    jieba.setLogLevel(logging.WARNING)
    words = jieba.Tokenizer()
    # Not its `initialize`: that leaves a file in the shared temporary folder, and trusts one there.
    words.FREQ, words.total = words.gen_pfdict(words.get_dict_file())
    words.initialized = True
    split: WordSplit = words.lcut
    return split
