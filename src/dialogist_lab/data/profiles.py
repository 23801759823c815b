"""Normalisation profiles, named after their source: text in, text out, nothing else.

* ``plain`` (default): NFC, control characters out, white space folded, case kept.
* ``dialogsum-keras``: as reports 1-3 do: lower case, control characters out, white space folded.
  (Their filters for punctuation belong to the word tokenizer, their [SOS]/[EOS] to the encoder.)
* ``xsum-report``: the XSum report, section 2.1.2: lower case; other characters than letters, digits
  and ``.,!?%$&@#:`` are removed (``it's`` becomes ``its``).
* ``words``: as ``plain``; when all else is done, `segment` puts spaces around marks of punctuation,
  for a word tokenizer, and ``￭`` where there was none (``Hello, New York.`` is ``Hello ￭, New York
  ￭.``). `join` undoes it.
"""

import re
import unicodedata
from typing import Literal

Profile = Literal["plain", "dialogsum-keras", "xsum-report", "words"]

_XSUM_KEPT = frozenset(".,!?%$&@#:")
# Surrogates are no characters; speakers and entities are ours: no text of a user may hold them.
_NO_TEXT = re.compile(r"[\ud800-\udfff\U0010f000-\U0010f0ff]")
# All of category Cc that is no white space (folding treats that).
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]")

_PLACEHOLDER = re.compile("[\U0010f000-\U0010ffff]")
_JOINER = "\uffed"
_JOINED = re.compile(f" *{_JOINER} *")
# All that is no part of a word but the apostrophe; private use is none of our business.
_MARK = re.compile(r"[^\w\s'’\U000f0000-\U0010ffff]|_")
# The tokenizer would drop an ASCII mark, so it goes by another name: a private-use character.
_NAMES = {code: 0xE000 + code for code in range(0x21, 0x7F) if not chr(code).isalnum()}
_BACK = {name: code for code, name in _NAMES.items()}
_TAKEN = {**dict.fromkeys(_BACK, "\ufffd"), ord(_JOINER): "■"}


def normalise(text: str, profile: Profile) -> str:
    """Apply a profile; the result is stable: normalising it again changes nothing."""
    if profile == "dialogsum-keras":
        return _fold(_without_controls(text.lower()))
    if profile == "xsum-report":
        # A combining mark belongs to its letter (Devanagari vowels, decomposed accents).
        text = "".join(
            c
            for c in text.lower()
            if c.isalnum() or c in _XSUM_KEPT or c.isspace() or unicodedata.category(c)[0] == "M"
        )
    # NFC comes last: a removed character may have stood between a letter and its accent.
    return _fold(unicodedata.normalize("NFC", _without_controls(text)))


def segment(text: str, profile: Profile) -> str:
    """Make each mark and placeholder a word; other profiles: no change."""
    if profile != "words":
        return text

    def mark_apart(mark: re.Match[str]) -> str:
        start, end = mark.span()
        before = _JOINER if start and not mark.string[start - 1].isspace() else ""
        behind = _JOINER if end < len(mark.string) and not mark.string[end].isspace() else ""
        return f" {before}{mark[0].translate(_NAMES)}{behind} "

    def placeholder_apart(found: re.Match[str]) -> str:
        start, end = found.span()
        before, behind = found.string[max(0, start - 1) : start], found.string[end : end + 1]
        alone = f" {found[0]} "
        if before and not before.isspace():
            # Two placeholders side by side have the ￭ between them.
            alone = f"{' ' if _PLACEHOLDER.match(before) else ''}{_JOINER}{alone}"
        if behind and not behind.isspace() and not _PLACEHOLDER.match(behind):
            alone = f"{alone}{_JOINER}"
        return alone

    text = _MARK.sub(mark_apart, text.translate(_TAKEN))
    return _fold(_PLACEHOLDER.sub(placeholder_apart, text))


def join(text: str, profile: Profile) -> str:
    """Put marks back to their words; other profiles: no change."""
    return _JOINED.sub("", text).translate(_BACK) if profile == "words" else text


def _without_controls(text: str) -> str:
    return _NO_TEXT.sub("\ufffd", _CONTROLS.sub("", text))


def _fold(text: str) -> str:
    return " ".join(text.split())
