"""Normalisation profiles, named after their source: text in, text out, nothing else.

* ``plain`` (default): NFC, control characters out, white space folded, case kept.
* ``dialogsum-keras``: as reports 1-3 do: lower case, control characters out, white space folded.
  (Their filters for punctuation belong to the word tokenizer, their [SOS]/[EOS] to the encoder.)
* ``xsum-report``: the XSum report, section 2.1.2: lower case; letters, digits, ``.,!?%$&@#:`` kept.
"""

import unicodedata
from collections.abc import Callable
from typing import Literal

Profile = Literal["plain", "dialogsum-keras", "xsum-report"]

_XSUM_PUNCTUATION = frozenset(".,!?%$&@#:")
_RESERVED = range(0x10F000, 0x10F000 + 32)  # the speaker placeholders: no user text may hold one


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
}


def normalise(text: str, profile: Profile) -> str:
    """Apply a profile; the result is stable: normalising it again changes nothing."""
    return PROFILES[profile](text)


def has_reserved(text: str) -> bool:
    """Whether ``text`` holds private characters that stand for speakers inside Dialogist."""
    return any(ord(c) in _RESERVED for c in text)


def _is_mark(character: str) -> bool:
    """A combining mark belongs to its letter (Devanagari vowels, decomposed accents)."""
    return unicodedata.category(character).startswith("M")


def _without_controls(text: str) -> str:
    """White space characters stay (folding treats them); other controls and reserved ones go.

    Surrogates go too: they are no characters and cannot be written as UTF-8.
    """
    return "".join(
        "\ufffd" if unicodedata.category(c) == "Cs" or ord(c) in _RESERVED else c
        for c in text
        if c.isspace() or unicodedata.category(c) != "Cc"
    )


def _fold(text: str) -> str:
    return " ".join(text.split())
