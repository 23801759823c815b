"""Names, and personal numbers and codes, told by what stands around them: two linear models.

That of names holds no list of them, so that rare ones count like common ones; that of values finds
what no rule has a form for. `dialogist_lab.tagger_training` makes their weights.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple
from zlib import crc32, decompress

from dialogist.language.people import DAYS, MONTHS, SHORT_FORMS, is_first_name
from dialogist.language.tokens import FUNCTION_WORDS, folded
from dialogist.privacy.numbers import NUMBER_WORDS
from dialogist.privacy.requested import is_ordinary

SIZE = 1 << 16
"""Weights, one for all features of one hash; each is a byte, 128 more than its value."""

_FAR = 120  # characters of a question that count


class TagCandidate(NamedTuple):
    """A word that may be a part of what is looked for, and its features' places among weights."""

    start: int
    end: int
    features: list[int]


def _tagged(
    text: str, candidates: Iterator[TagCandidate], weights_name: str, threshold: int
) -> list[tuple[int, int]]:
    """The candidates whose weights come to more than a threshold, joined where only spaces part."""
    weights = _weights(weights_name)
    spans: list[tuple[int, int]] = []
    for word in candidates:
        if sum(map(weights.__getitem__, word.features)) - 128 * len(word.features) > threshold:
            goes_on = spans and not text[spans[-1][1] : word.start].strip()
            spans.append((spans.pop()[0] if goes_on else word.start, word.end))
    return spans


@lru_cache(maxsize=2)
def _weights(name: str) -> bytes:
    path = Path(__file__).parents[1] / "assets" / "privacy" / f"{name}.weights"
    return decompress(path.read_bytes())


def _hashed(features: Iterator[str]) -> list[int]:
    """The places of features among the weights."""
    return [crc32(feature.encode(errors="replace")) % SIZE for feature in features]


def _neighbours(
    words: Sequence[str], i: int, shown: Callable[[str], str]
) -> tuple[str, str, str, str, str]:
    """The third, second and first word before a word, and the first and second behind it."""
    before3, before2, before = (shown(words[i - d]) if i >= d else "<" for d in (3, 2, 1))
    after, after2 = (shown(words[i + d]) if i + d < len(words) else ">" for d in (1, 2))
    return before3, before2, before, after, after2


# People's names


_LETTER = r"[^\W\d_\u4e00-\u9fff]"
_TOKEN = re.compile(
    rf"\[[A-Z_]+[0-9]+\]|\w*[0-9]\w*|{_LETTER}+(?:['’-]{_LETTER}+)*|[^\w\s]|[\u4e00-\u9fff]"
)
_NO_NAME = re.compile(r".*[0-9]|[a-z]+[A-Z]|[A-Z]{1,5}s?\Z")  # F303, eBay, IBAN
_POSSESSIVE = re.compile("['’]s\\Z")
_NO_PERSON = frozenset((*SHORT_FORMS, *DAYS, *MONTHS))


def tagged_names(text: str, question: str = "") -> list[tuple[int, int]]:
    """Where people are named in a plain text; ``question`` is the turn before."""
    return _tagged(text, name_candidates(text, question), "names", -35)


def name_candidates(text: str, question: str) -> Iterator[TagCandidate]:
    """The words of a text that are not surely something else, from left to right."""
    tokens = list(_TOKEN.finditer(text))
    words = [token[0] for token in tokens]
    asking = {*_TOKEN.findall(question[-_FAR:].lower())}
    asked = "?" if "?" in question else "."
    asked = "name" if asking & {"name", "surname", "who", "speaking", "spell"} else asked
    has_capitals = any(word[0].isupper() for word in words)
    letters = [word for word in words if word[0].isalpha()]
    language = "f" if 3 * sum(map(is_ordinary, letters)) < 2 * len(letters) - 2 else ""
    for i, word in enumerate(words):
        if _may_be_name(word):
            end = tokens[i].end() - 2 * (word[-2:] in ("'s", "’s"))
            context = [asked, ("C" if has_capitals else "l") + language]
            yield TagCandidate(tokens[i].start(), end, _hashed(_name_features(words, i, *context)))


def _name_features(words: list[str], i: int, asked: str, capitals: str) -> Iterator[str]:
    word = _POSSESSIVE.sub("", words[i])
    low = word.lower()
    shape, listed, kind = _shape(word), _listed(word), "o" if is_ordinary(word) else "u"
    before3, before2, before, after, after2 = _neighbours(words, i, _known)
    begins = "I" if i == 0 or words[i - 1] in ".!?:" else "m"
    form = shape + kind + begins
    yield from ("b", f"s{form}{capitals}", f"n{listed}{form}", f"q{asked}{form}")
    yield from (f"<{before}{shape}{kind}", f">{after}{shape}{kind}", f"<>{before}{after}{shape}")
    yield from (f"{capitals}{shape}{kind}{before}", f"{capitals}{shape}{kind}{after}")
    yield f"<w{words[i - 1].lower() if i else ''}{shape}{kind}"
    yield f">w{words[i + 1].lower() if i + 1 < len(words) else ''}{shape}{kind}"
    yield from (f"<2{before2}{before}{shape}", f">2{after}{after2}{shape}")
    yield from (f"<3{before3}{before2}{before}", f"<_{before2}{shape}", f">_{after2}{shape}")
    yield from (f"-{low[-n:]}" for n in (2, 3, 4))
    yield from (f"{low[:n]}-" for n in (2, 3))
    if word != words[i]:
        yield f"'s{shape}{kind}{listed}"
    yield from (f"l{min(len(word), 10)}{shape}", f"q1{asked}{before}{kind}")
    yield from (f"n<{listed}{before}", f"n>{listed}{after}", f"n<>{kind}{listed}{before}{after}")
    if kind == "o" or low in _NO_PERSON:
        yield f"w{low}{shape}"
    if i and _may_be_name(words[i - 1]):
        yield f"c<{_shape(words[i - 1])}{shape}{_listed(words[i - 1])}"
    if i + 1 < len(words) and _may_be_name(words[i + 1]):
        yield f"c>{_shape(words[i + 1])}{shape}"


@lru_cache(maxsize=20_000)
def _may_be_name(word: str) -> bool:
    low = word.lower().removesuffix("'s").removesuffix("’s")
    if len(word) < 2 or not word[0].isalpha() or low == low.upper() or low in FUNCTION_WORDS:
        return False  # no word, or of a script that has no case
    if is_first_name(low):
        return True
    if _NO_NAME.match(word) or low in NUMBER_WORDS:
        return False
    return word[0].isupper() or not is_ordinary(word)


def _shape(word: str) -> str:
    if word.islower() or not word[0].isalpha():
        return "x"
    if word.isupper():
        return "X"
    first = word.replace("’", "'").partition("-")[0].partition("'")[0]
    return "Xx" if first[1:].islower() or len(first) == 1 else "xX"


def _listed(word: str) -> str:
    return "n" if is_first_name(folded(word)) else "-"


@lru_cache(maxsize=20_000)
def _known(word: str) -> str:
    """A neighbour: itself if it is common, else its shape."""
    low = word.lower()
    if not word[0].isalpha():
        return "0" if word[0].isdigit() else word[0]
    if low in NUMBER_WORDS:
        return "1"
    return low if low in FUNCTION_WORDS or is_ordinary(low) else f"~{_shape(word)}"


# Personal numbers and codes


_CODE = re.compile(r"[^\s,;:!?()\"“”]{1,200}")
_EDGES = ".'’"
_DIGIT = re.compile("[0-9]")
# Rules read https://a.org, a@b.org and Chinese; [PHONE_1] and #Person1# are masks.
_NO_VALUE = re.compile(r".*(?://|=|@.*\.|[\[\]<>{}\u3040-\u9fff]|#\w+#)")
# A size, a share, a thing's short name, an error: "77x147", "50/50", "PS5", "exit code 137".
_NO_CODE = re.compile(
    r"[0-9]+x[0-9]+|50/50|[A-Z]{2}[0-9]|(?<=(?:error|.exit|.stop|tatus|fault) code )[0-9]+"
)
_READING = re.compile(r".*(?<!\w)[a-z]+ [0-9]{1,2}", re.DOTALL)  # "sats 96"; not "House 14"
_SMALL, _CAPITAL, _REPEATED = (re.compile(p) for p in ("[^\\W\\d_A-ZÀ-Þ]", "[A-ZÀ-Þ]", r"(.)\1+"))


def tagged_values(text: str, question: str = "") -> list[tuple[int, int]]:
    """Where numbers and codes of a person stand in a plain text; ``question``: the turn before."""
    spans = _tagged(text, value_candidates(text, question), "values", -10)
    if len(spans) == 1 and _READING.fullmatch(text, max(0, spans[0][0] - 20), spans[0][1]):
        return []
    return [span for span in spans if not _NO_CODE.fullmatch(text, *span)]


def value_candidates(text: str, question: str) -> Iterator[TagCandidate]:
    """The words of a text with a digit, from left to right."""
    matches = list(_CODE.finditer(text))
    words = [match[0].strip(_EDGES) or match[0] for match in matches]
    asking = sorted({*re.findall(r"[^\W\d_]+", question[-_FAR:].lower())} - FUNCTION_WORDS)
    mood = "?" if "?" in question else "."
    for i, (match, word) in enumerate(zip(matches, words, strict=True)):
        if _DIGIT.search(word) and not _NO_VALUE.match(word):
            start = match.start() + match[0].find(word)
            gap = text[matches[i - 1].end() : start].strip()[:1] if i else "<"
            features = _value_features(words, i, mood, gap, asking)
            yield TagCandidate(start, start + len(word), _hashed(features))


def _value_features(
    words: list[str], i: int, mood: str, gap: str, asking: list[str]
) -> Iterator[str]:
    word = words[i]
    shape, short, digits = _form(word), _short(word), min(len(_DIGIT.findall(word)), 9)
    before3, before2, before, after, after2 = _neighbours(words, i, _near)
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


def _form(word: str) -> str:
    return _DIGIT.sub("9", _CAPITAL.sub("A", _SMALL.sub("a", word)))


def _short(word: str) -> str:
    return _REPEATED.sub(r"\1+", _form(word))


@lru_cache(maxsize=20_000)
def _near(word: str) -> str:
    low = word.lower()
    if _DIGIT.search(word):
        return _short(word)
    if low in NUMBER_WORDS:
        return "1"
    if low in FUNCTION_WORDS or is_ordinary(low):
        return low
    return "~" + _short(word)[:3]
