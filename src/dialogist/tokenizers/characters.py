"""`Characters`: which entries of a vocabulary hold only a part of a character.

What a vocabulary lacks is spelt by the bytes of its UTF-8: in byte-level pieces (Radford et al.
2019), by SentencePiece's fallback, and in WordPiece here. Whoever writes token by token can then
stop within a character, or put two halves together that are none.
"""

import codecs
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from dialogist.tokenizers.pieces import byte_of

LONGEST_CHARACTER = 4
"""Bytes of a character in UTF-8, and so tokens of one at most."""

_FALLBACK = re.compile("<0x([89A-F][0-9A-F])>")


@dataclass(frozen=True)
class Characters:
    """``parts``: each entry that is not whole characters, its id and its bytes."""

    parts: tuple[tuple[int, bytes], ...] = ()

    @cached_property
    def ids(self) -> frozenset[int]:
        """All of them."""
        return frozenset(index for index, _ in self.parts)

    @cached_property
    def later(self) -> frozenset[int]:
        """What goes on with a character: may be said again whenever that is."""
        return frozenset(index for index, part in self.parts if continued(part))


def characters_of(entries: Iterable[str], byte_level: bool) -> Characters:
    """The parts of characters in a vocabulary.

    ``byte_level``: each character of an entry is a byte, as in GPT-2's vocabulary.
    """
    spelt = ((index, _bytes_of(entry, byte_level)) for index, entry in enumerate(entries))
    return Characters(
        tuple((index, part) for index, part in spelt if part and left_of(part) != b"")
    )


def continued(part: bytes) -> int:
    """How many of its bytes go on with a character that begins before it."""
    return next((n for n, byte in enumerate(part) if not 0x80 <= byte < 0xC0), len(part))


def left_of(text: bytes) -> bytes | None:
    """The bytes of a last character that is not whole; None: no UTF-8 begins so."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        decoder.decode(text)
    except UnicodeDecodeError:
        return None
    left = decoder.getstate()[0]
    # Half a surrogate is UTF-8 for nobody else, but Python waits for its end.
    return None if left[:1] == b"\xed" and left[1:2] >= b"\xa0" else left


def _bytes_of(entry: str, byte_level: bool) -> bytes:
    """The bytes of an entry; nothing, if these are whole characters anyway."""
    if not byte_level:
        fallback = _FALLBACK.fullmatch(entry) if entry.startswith("<0x") else None
        byte = int(fallback[1], 16) if fallback else byte_of(entry)
        return b"" if byte is None else bytes((byte,))
    if entry.isascii() or any(character not in _LEVEL for character in entry):
        return b""  # a control symbol or placeholder is no text
    return bytes(_LEVEL[character] for character in entry)


def _byte_level() -> dict[str, int]:
    """GPT-2's spelling of bytes: a printable one is its own character, the others' begin at 256."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = (byte for byte in range(0x100) if byte not in printable)
    found = {chr(byte): byte for byte in printable}
    return found | {chr(0x100 + number): byte for number, byte in enumerate(others)}


_LEVEL = _byte_level()
