"""Personal numbers and codes told by what stands around them: a linear model of marked dialogues.

It finds what no rule has a form for; `dialogist_lab.tagger_training` makes its weights.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from dialogist.language.tokens import FUNCTION_WORDS
from dialogist.privacy.name_tagger import TagCandidate, hashed, tagged
from dialogist.privacy.numbers import NUMBER_WORDS
from dialogist.privacy.requested import is_ordinary

_THRESHOLD = -10
_FAR = 120  # characters of a question that count
_WORD = re.compile(r"[^\s,;:!?()\"“”]{1,200}")
_EDGES = ".'’"
_DIGIT = re.compile("[0-9]")
# Rules read https://a.org, a@b.org and Chinese; [PHONE_1] and #Person1# are masks.
_NO_VALUE = re.compile(r".*(?://|=|@.*\.|[\[\]<>{}\u3040-\u9fff]|#\w+#)")
_SMALL, _CAPITAL, _REPEATED = (re.compile(p) for p in ("[^\\W\\d_A-ZÀ-Þ]", "[A-ZÀ-Þ]", r"(.)\1+"))


def tagged_values(text: str, question: str = "") -> Iterator[tuple[int, int]]:
    """Where numbers and codes of a person stand in a plain text; ``question``: the turn before."""
    return tagged(text, value_candidates(text, question), "values", _THRESHOLD)


def value_candidates(text: str, question: str) -> Iterator[TagCandidate]:
    """The words of a text with a digit, from left to right."""
    matches = list(_WORD.finditer(text))
    words = [match[0].strip(_EDGES) or match[0] for match in matches]
    asking = sorted({*re.findall(r"[^\W\d_]+", question[-_FAR:].lower())} - FUNCTION_WORDS)
    mood = "?" if "?" in question else "."
    for i, (match, word) in enumerate(zip(matches, words, strict=True)):
        if _DIGIT.search(word) and not _NO_VALUE.match(word):
            start = match.start() + match[0].find(word)
            gap = text[matches[i - 1].end() : start].strip()[:1] if i else "<"
            features = _features(words, i, mood, gap, asking)
            yield TagCandidate(start, start + len(word), hashed(features))


def _features(words: list[str], i: int, mood: str, gap: str, asking: list[str]) -> Iterator[str]:
    word = words[i]
    shape, short, digits = _shape(word), _short(word), min(len(_DIGIT.findall(word)), 9)
    before3, before2, before = (_known(words[i - d]) if i >= d else "<" for d in (3, 2, 1))
    after, after2 = (_known(words[i + d]) if i + d < len(words) else ">" for d in (1, 2))
    yield from ("b", f"s{shape}", f"c{short}", f"l{min(len(word), 20)}{short}", f"d{digits}")
    yield from (f"w{word[:4].lower()}", f"e{gap}{short}", f"i{i == 0}{mood}{short}")
    yield f"z{len(words) < 4}{mood}{digits}"
    yield from (f"<{before}", f"<{before}{short}", f"<{before}{digits}", f"<>{before}{after}")
    yield from (f"<2{before2}{before}", f"<_{before2}{digits}", f"<3{before3}{before2}{before}")
    yield from (f">{after}", f">{after}{short}", f">{after}{digits}", f">2{after}{after2}")
    yield from (f"<__{before3}", f">_{after2}")
    for asked in asking:
        yield from (f"q{asked}", f"q{asked}{digits}")
    yield from (f"<<{near.lower()}" for near in words[max(0, i - 6) : i])
    yield from (f">>{near.lower()}" for near in words[i + 1 : i + 4])


def _shape(word: str) -> str:
    return _DIGIT.sub("9", _CAPITAL.sub("A", _SMALL.sub("a", word)))


def _short(word: str) -> str:
    return _REPEATED.sub(r"\1+", _shape(word))


@lru_cache(maxsize=20_000)
def _known(word: str) -> str:
    """A neighbour: itself if it is common, else its shape."""
    low = word.lower()
    if _DIGIT.search(word):
        return _short(word)
    if low in NUMBER_WORDS:
        return "1"
    if low in FUNCTION_WORDS or is_ordinary(low):
        return low
    return "~" + _short(word)[:3]
