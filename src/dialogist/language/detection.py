"""Which language a text is in: English, Chinese, or another one."""

import re
from typing import Literal

from py3langid import classify

from dialogist.language.tokens import FUNCTION_WORDS

Language = Literal["en", "zh", ""]

_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_KANA = re.compile("[\u3040-\u30ff]")
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]+(?:['’][a-z]+)?")
_OTHER = re.compile(r"[^\W\d_\u0000-\u024f\u3400-\u9fff\uf900-\ufaff]")
# Attachments, links and columns of figures, which are in no language.
_NO_WORDS = re.compile(r"[!-~]{60,}|[\d\s.,;:|+-]{60,}")
_LOOKED_AT = 4000  # characters
_FEWEST_WORDS = 6  # fewer words tell nothing
_TELLING = 20  # words from which on the share of function words tells by itself
_ENGLISH = (
    0.12  # of English words are at least function words; of German or Spanish ones hardly any
)
_PLAINLY_ENGLISH = 0.2  # of a few words: more than other languages have by chance


def language_of(text: str, about: Language = "") -> Language:
    """``en``, ``zh`` (Chinese), or empty: another one, or no words at all.

    Told by script, and Latin letters by the share of English function words; where that leaves it
    open, by letter n-grams (py3langid). Fewer than six words in Latin letters pass for English; so
    do fewer than twenty that are ``about`` an English text: a bad summary is no foreign one.
    """
    head = _NO_WORDS.sub(" ", text)[:_LOOKED_AT]
    han = len(_HAN.findall(head))
    words = [word.lower() for word in _LATIN.findall(head)]
    if len(_OTHER.findall(head)) > han + sum(map(len, words)):
        return ""
    if han > len(words):
        return "" if len(_KANA.findall(head)) > han // 4 else "zh"
    if not words:
        return ""
    known = sum(word.partition("'")[0] in FUNCTION_WORDS for word in words) / len(words)
    if len(words) >= _TELLING:
        return "en" if known >= _ENGLISH else ""
    english = len(words) < _FEWEST_WORDS or known >= _PLAINLY_ENGLISH
    return "en" if english or about == "en" or classify(head)[0] == "en" else ""
