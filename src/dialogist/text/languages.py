"""Which language a text is in, as far as the checks of summaries need to know."""

import re
from typing import Literal

from dialogist.text.function_words import FUNCTION_WORDS

Language = Literal["en", "zh", ""]

_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_KANA = re.compile("[\u3040-\u30ff]")
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]+(?:['’][a-z]+)?")
_OTHER = re.compile(r"[^\W\d_\u0000-\u024f\u3400-\u9fff\uf900-\ufaff]")
_LOOKED_AT = 4000  # characters
_TELLING = 20  # words: fewer may well hold hardly any function word
_FEWEST = 0.12  # of English words are at least function words; of German or Spanish ones hardly any


def language_of(text: str) -> Language:
    """``en``, ``zh`` (Chinese), or empty: another one, or no words at all.

    Told by script, and Latin letters by the share of English function words. A few words in Latin
    letters pass for English.
    """
    head = text[:_LOOKED_AT]
    han = len(_HAN.findall(head))
    words = [word.lower() for word in _LATIN.findall(head)]
    if len(_OTHER.findall(head)) > han + sum(map(len, words)):
        return ""
    if han > len(words):
        return "" if len(_KANA.findall(head)) > han // 4 else "zh"
    if not words:
        return ""
    known = sum(word.partition("'")[0] in FUNCTION_WORDS for word in words)
    return "en" if len(words) < _TELLING or known >= _FEWEST * len(words) else ""
