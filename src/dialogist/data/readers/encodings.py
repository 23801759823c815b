"""Which encoding a text is in that is not marked UTF-16 and perhaps no UTF-8."""

import codecs

from dialogist.errors import UsageError

_SAMPLE = 1 << 16
_CONTROL = bytes(set(range(32)) - set(b"\t\n\v\f\r\x1b"))
_FEW = 0.25  # high bytes for each ASCII letter, in Western text
_ENOUGH = 8  # high bytes that a guess by statistics needs
# Letters of Western Europe, and the typographic and currency signs of office programs.
_LETTERS = "ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜßàáâãäåæçèéêëìíîïñòóôõöøùúûüŒœŠšŽž"
_WESTERN = frozenset(_LETTERS + "£€¥¢©®™°§«»‘’“”‚„–—…•·½¼¾²³µ¿¡\xa0´±")
# Encodings that people's files are in; more would only make a guess worse.
_CANDIDATES = ["cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "gb18030", "big5", "cp932"]
_CANDIDATES += ["cp949", "koi8_r", "cp1255", "cp1256"]


def check_encoding(encoding: str) -> None:
    """Refuse an encoding that Python does not know.

    Raises:
        UsageError: there is none of that name.
    """
    try:
        if encoding:
            "".encode(encoding)  # refuses codecs from bytes to bytes, such as base64
            codecs.getincrementaldecoder(encoding)
    except (LookupError, ValueError):
        hint = "try utf-8, cp1252, latin-1, utf-16-le, or gb18030"
        raise UsageError(f"unknown encoding '{encoding}': {hint}") from None


def keeps_lines(encoding: str) -> bool:
    """Whether the bytes can be cut at line ends before they are decoded."""
    try:
        return "a\nb\r".encode(encoding) == b"a\nb\r"
    except (UnicodeError, LookupError):
        return False


def detect_encoding(head: bytes) -> str:
    """Name the encoding of a text by its first bytes; empty where it is no text at all."""
    sample = head[:_SAMPLE]
    if wide := _utf_16(sample):
        return wide
    if len(sample) - len(sample.translate(None, _CONTROL)) > len(sample) / 50:
        return ""
    if _decodes(head, "utf-8"):
        return "utf-8"
    good, many, bad = _lines(head)
    if not bad or (many > bad and 2 * bad <= good + bad):
        return "utf-8"
    guessed = _legacy(_lines_with_high_bytes(head))
    # A stray byte among lines of ASCII is a damaged line, no sign of another encoding.
    return guessed or ("utf-8" if 2 * bad <= good + bad else "")


def _utf_16(sample: bytes) -> str:
    """UTF-16 without its mark: every second byte of Western text is zero."""
    even, odd = sample[0:512:2], sample[1:512:2]
    if len(even) < 4 or not odd:
        return ""
    zeros = even.count(0) / len(even), odd.count(0) / len(odd)
    if zeros[1] > 0.6 and zeros[0] < 0.05:
        return "utf-16-le"
    return "utf-16-be" if zeros[0] > 0.6 and zeros[1] < 0.05 else ""


def _lines(head: bytes) -> tuple[int, int, int]:
    """How many lines are UTF-8, how many of these hold more than ASCII, and how many are not."""
    good = many = bad = 0
    for line in head.split(b"\n"):
        if not line.strip():
            continue
        if _decodes(line, "utf-8"):
            good += 1
            many += not line.isascii()
        else:
            bad += 1
    return good, many, bad


def _lines_with_high_bytes(head: bytes) -> bytes:
    lines = (line for line in head.split(b"\n") if not line.isascii())
    return b"\n".join(lines)[:_SAMPLE]


def _legacy(sample: bytes) -> str:
    letters = sum(65 <= byte <= 90 or 97 <= byte <= 122 for byte in sample)
    high = sum(byte >= 128 for byte in sample)
    western = high <= _FEW * letters and _is_western(sample)
    if high < _ENOUGH and (western or high < 3):
        return "cp1252" if western else ""
    from charset_normalizer import from_bytes  # slow to load, and hardly ever needed

    best = from_bytes(sample, cp_isolation=_CANDIDATES, enable_fallback=False).best()
    if best is None:
        return "cp1252" if western else ""
    text = str(best)
    if western and text == sample.decode("cp1252"):
        return "cp1252"  # several code pages agree: the best known one
    # Korean is written without Chinese characters: short Chinese texts are taken for it.
    if best.encoding == "cp949" and any("\u4e00" <= character <= "\u9fff" for character in text):
        return "gb18030" if _decodes(sample, "gb18030") else "cp949"
    return best.encoding


def _decodes(sample: bytes, encoding: str) -> bool:
    """Whether bytes are text of an encoding; a character cut at the end does not count."""
    try:
        codecs.getincrementaldecoder(encoding)().decode(sample)
    except UnicodeDecodeError:
        return False
    return True


def _is_western(sample: bytes) -> bool:
    """Whether the high bytes make sense as cp1252: letters and signs that are in use."""
    if not _decodes(sample, "cp1252"):
        return False
    return all(c.isascii() or c in _WESTERN for c in sample.decode("cp1252"))
