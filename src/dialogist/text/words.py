"""Words and how many: one way of counting for merging, statistics and splits."""

import re

# A Chinese, Japanese or Korean character counts one, a run of other word characters one (with its
# apostrophe: "don't"), a mark of punctuation one. The paper counts the same way (footnote 2).
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = rf"[{_CJK}]|[^\W{_CJK}]+(?:['’][^\W{_CJK}]+)*"
_WORDS = re.compile(_WORD)
_TOKENS = re.compile(rf"{_WORD}|[^\w\s]")


def words_of(text: str) -> list[str]:
    """Return the words of a text, single Chinese characters among them, without punctuation."""
    return _WORDS.findall(text)


def count_words(text: str) -> int:
    """Count words, marks of punctuation, and single Chinese, Japanese or Korean characters."""
    return sum(1 for _ in _TOKENS.finditer(text))
