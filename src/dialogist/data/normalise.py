"""Normalisation profiles, named after their source: text in, text out, nothing else.

* ``plain`` (default): NFC, control characters out, white space folded, case kept.
* ``dialogsum-keras``: as reports 1-3 do: lower case, control characters out, white space folded.
  (Their filters for punctuation belong to the word tokenizer, their [SOS]/[EOS] to the encoder.)
* ``xsum-report``: the XSum report, section 2.1.2: lower case; letters, digits, ``.,!?%$&@#:`` kept.
* ``words``, ``zh-characters``, ``zh-words``: as ``plain``; when all else is done, `segment` puts
  spaces in for a word tokenizer: around marks of punctuation, and between the characters or the
  words of Chinese.
"""

import re
import unicodedata
from collections.abc import Callable
from typing import Literal

Profile = Literal["plain", "dialogsum-keras", "xsum-report", "words", "zh-characters", "zh-words"]

_XSUM_PUNCTUATION = frozenset(".,!?%$&@#:")
# The speaker placeholders: no user text may hold one.
_RESERVED = re.compile(r"[\U0010f000-\U0010f01f]")
# Surrogates are no characters and cannot be written as UTF-8.
_NO_TEXT = re.compile(r"[\ud800-\udfff\U0010f000-\U0010f01f]")
# What stands for speakers, entities, marks, bytes and plans (`dialogist.tokenizers`).
_OURS = re.compile(r"[\U0010f000-\U0010f4ff]")
_UNREADABLE = re.compile(r"[\ud800-\udfff\U0010f000-\U0010f4ff]")
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
    # NFC comes last: some letters have a composed form as small letters only (J + caron).
    lowered = unicodedata.normalize("NFC", text.lower())
    kept = (c if c.isalnum() or c in _XSUM_PUNCTUATION or _is_mark(c) else " " for c in lowered)
    return _fold("".join(kept))


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


def has_reserved(text: str) -> bool:
    """Whether ``text`` holds private characters that stand for speakers inside Dialogist."""
    return _RESERVED.search(text) is not None


def _is_mark(character: str) -> bool:
    """A combining mark belongs to its letter (Devanagari vowels, decomposed accents)."""
    return unicodedata.category(character).startswith("M")


def _without_controls(text: str) -> str:
    """White space characters stay (folding treats them); other controls and reserved ones go."""
    return _NO_TEXT.sub("\ufffd", _CONTROLS.sub("", text))


def _fold(text: str) -> str:
    return " ".join(text.split())
