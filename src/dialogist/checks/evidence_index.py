"""`Index`: a dialogue's utterances by what they say, made once for all statements about it."""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from dialogist.metrics.dialogue_facts import StatedNumbers, stated_numbers
from dialogist.metrics.speaker_mentions import Speakers
from dialogist.records import Dialogue
from dialogist.language.clauses import clauses_of, is_content
from dialogist.language.patterns import Language, calendar_value, entities, language_of
from dialogist.language.people import NICKNAMES, SHORT_FORMS
from dialogist.language.porter import stem_of
from dialogist.language.quantities import HALF_DAY, Quantity, may_hold, quantities
from dialogist.language.roles import ASKING_ROLES, SERVING_ROLES
from dialogist.language.tokens import (
    FUNCTION_WORDS,
    NEGATION,
    RELUCTANCE,
    Token,
    folded,
    sentence_spans,
    tokens_of,
    without_tags,
    word_set,
)

# Terms: what a text says that can be looked for in another, with its place.
#
# Words by their stems, function words left out; numbers and times by value; weekdays, codes,
# addresses by form; Chinese and its neighbours, which have no spaces, by pairs of characters.


TermKind: TypeAlias = Literal["word", "name", "number", "entity"]
FACTS = frozenset(("name", "number", "entity"))
"""Kinds of terms that hardly anything else can stand for."""

_CJK = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff]+")
_PARTICLES = frozenset("的了吗呢吧啊哦嗯呀哈嘛么是我你您他她它们这那在就也都和与及")
_EMPTY = word_set(
    "询问 咨询 问道 提问 回答 回复 答复 表示 表明 告知 告诉 说明 解释 建议 要求 请求 希望 认为 "
    "可以 可否 是否 什么 怎么 如何 为何 现在 已经 一下 如果 因为 所以 但是 还有 "
    "然后 不过 好的 谢谢 客户 顾客 请问"
)
_SHORTEST = 4  # letters of a word in a language whose function words are not known
_WORDLESS = word_set("one thing things get got go going gonna wanna")


class Term(NamedTuple):
    """``text[start:end]``, and the keys by which it is found: one in common is enough."""

    start: int
    end: int
    kind: TermKind
    keys: frozenset[str]


TermSpan: TypeAlias = tuple[int, int]


def text_terms(text: str, tokens: Iterable[Token], language: Language) -> list[Term]:
    """The terms of a text from left to right.

    ``tokens`` are those of `tokens_of`. ``language``: ``en``, ``zh``, or empty; of languages that
    are not known, short words are left out, most of which are function words.
    """
    plain = without_tags(text)
    facts = list(_facts(plain))
    taken = [(term.start, term.end) for term in facts]
    found = [*facts, *_words(text, tokens, language, taken), *_pairs(plain, taken)]
    return sorted(found, key=lambda term: (term.start, term.end))


def _facts(text: str) -> Iterator[Term]:
    taken: list[TermSpan] = []
    for entity in entities(text):
        taken.append((entity.start, entity.end))
        yield Term(entity.start, entity.end, "entity", frozenset((f"e:{entity.value}",)))
    if not may_hold(text):
        return
    for number in quantities(text):
        keys = _number_keys(number)
        if keys and not _overlaps(number.start, number.end, taken):
            yield Term(number.start, number.end, "number", keys)


def _number_keys(number: Quantity) -> frozenset[str]:
    """All that a number may mean; ``one`` is hardly ever a number."""
    if number.values == {1.0} and not number.times | number.vague:
        return frozenset()
    keys = _keys(stated_numbers([number]))
    return keys if 1.0 in number.values else keys - _keys(_NONE)


_NONE = stated_numbers(())
"""What is known before anything is said."""


def _keys(known: StatedNumbers) -> frozenset[str]:
    times = {time % HALF_DAY for time in known.times | known.vague}
    values = (f"n:{value:g}" for value in known.values)
    return frozenset((*values, *(f"t:{time}" for time in times)))


def _words(
    text: str, tokens: Iterable[Token], language: Language, taken: list[TermSpan]
) -> Iterator[Term]:
    for token in tokens:
        base = folded(token.base)
        if not _tells(base, language) or _overlaps(token.start, token.end, taken):
            continue
        end = token.end - len(token.ending)
        stem = stem_of(base) if language == "en" else base
        keys = {f"w:{stem}"}
        day = calendar_value(base) if language == "en" else ""
        if day:
            keys.add(f"e:{day}")
        is_name = token.capital and language == "en" and not _begins(text, token.start)
        yield Term(token.start, end, "name" if is_name else "word", frozenset(keys))


def _tells(base: str, language: Language) -> bool:
    if not base.isascii() and _CJK.search(base):
        return False
    if language == "":
        return len(base) >= _SHORTEST
    return base not in FUNCTION_WORDS and base not in _WORDLESS and is_content(base)


def _begins(text: str, start: int) -> bool:
    """Whether a sentence begins at a place: a capital tells nothing there."""
    before = text[:start].rstrip(" \"'“‘(")
    return not before or before[-1] in ".!?:;\n…"


def _pairs(text: str, taken: list[TermSpan]) -> Iterator[Term]:
    for run in _CJK.finditer(text):
        for i in range(run.start(), run.end() - 1):
            pair = text[i : i + 2]
            if pair in _EMPTY or not _PARTICLES.isdisjoint(pair) or _overlaps(i, i + 2, taken):
                continue
            yield Term(i, i + 2, "word", frozenset((f"z:{pair}",)))


def _overlaps(start: int, end: int, taken: list[TermSpan]) -> bool:
    return any(a < end and start < b for a, b in taken)


def with_aliases(term: Term) -> Term:
    """Found by other forms of a name, too: Bob for Robert, NYC for New York."""
    others: set[str] = set()
    for key in term.keys:
        word = key[2:]
        others |= NICKNAMES.get(word, frozenset()) | SHORT_FORMS.get(word, frozenset())
    more = frozenset(f"w:{stem_of(word)}" for word in others)
    return term._replace(keys=term.keys | more)


# Voices: which speaker a stretch of a statement is about, and what it says that he does.


_ROLES = {
    **dict.fromkeys(ASKING_ROLES, frozenset(ASKING_ROLES)),
    **dict.fromkeys(SERVING_ROLES, frozenset(SERVING_ROLES)),
}
_CHINESE_ROLE = re.compile("|".join(w for w in (*ASKING_ROLES, *SERVING_ROLES) if not w.isascii()))
_PART = re.compile(r"[^。！？；，,;!?\n]+")
_CHINESE_ASKING = re.compile("问|咨询|请求|要求|想知道")


class SpeakerPart(NamedTuple):
    """``text[start:end]`` is about a speaker (his number); ``kind`` as of `Clause`."""

    start: int
    end: int
    subject: int
    kind: str


class Voices:
    """Who speaks in a dialogue, and what a statement calls them."""

    def __init__(self, dialogue: Dialogue, language: Language) -> None:
        self.language = language
        self._speakers = Speakers(dialogue)
        number = self._speakers.number
        self.spoken = tuple(number.get(u.speaker, -1) for u in dialogue.utterances)
        self._roles = dict(_roles(dialogue, number))

    def who(self, word: str) -> int | None:
        """The speaker whom a word in small letters means, by name or role."""
        found = self._speakers.who(word)
        return self._roles.get(word) if found is None else found

    def mentions(self, text: str, tokens: Iterable[Token]) -> list[tuple[int, int, int]]:
        """Start, end and number of each speaker that a text, which has these tokens, mentions."""
        found = {
            (token.start, token.end, speaker)
            for token in tokens
            if (speaker := self.who(token.base)) is not None
        }
        return sorted(found.union(self._within(text)))

    def _within(self, text: str) -> Iterator[tuple[int, int, int]]:
        """Names and roles in a text without spaces."""
        if text.isascii():
            return
        for name, speaker in self._speakers.number.items():
            if not name.isascii():
                for match in re.finditer(re.escape(name), text):
                    yield match.start(), match.end(), speaker
        for match in _CHINESE_ROLE.finditer(text):
            role = self._roles.get(match[0])
            if role is not None:
                yield match.start(), match.end(), role

    def of(self, text: str) -> list[SpeakerPart]:
        """The stretches of a text whose subject is a speaker."""
        if self.language == "en":
            sentences = clauses_of(text, self.who)
            return [SpeakerPart(c.start, c.end, c.subject, c.kind) for s in sentences for c in s]
        return list(self._parts(text))

    def _parts(self, text: str) -> Iterator[SpeakerPart]:
        """Between two marks: about whom it begins with, or whom the part before is about."""
        mentions = self.mentions(text, tokens_of(text))
        subject = -1
        for part in _PART.finditer(text):
            skipped = part.start() + len(part[0]) - len(part[0].lstrip())
            for start, _, speaker in mentions:
                if start == skipped:
                    subject = speaker
            if subject >= 0:
                kind = "ask" if _CHINESE_ASKING.search(part[0]) else "tell"
                yield SpeakerPart(part.start(), part.end(), subject, kind)


def _roles(dialogue: Dialogue, number: dict[str, int]) -> Iterator[tuple[str, int]]:
    """The words for the role of a speaker, where one alone has it."""
    for words in {frozenset(ASKING_ROLES), frozenset(SERVING_ROLES)}:
        having = {
            number[u.speaker]
            for u in dialogue.utterances
            if u.speaker in number and (u.role in words or u.speaker.lower() in words)
        }
        if len(having) == 1:
            speaker = having.pop()
            yield from ((word, speaker) for word in words)


_CHINESE_DENIAL = re.compile("不|没|无法|未能|别的?|非")
_QUESTION = re.compile(r"[?？]|吗|什么|怎么|多少|哪|几[时点个]|是否|能不能|可不可以|是不是|有没有")
_KEPT = 8  # dialogues


class Index:
    """What each of U utterances says.

    Attributes:
        speakers: (U,) numbers, -1 where nobody is named. questions, denials: (U,) whether it asks,
            denies. sizes: (U,) terms. lengths: (U,) characters. ``whole``: whether there is text.
    """

    def __init__(self, dialogue: Dialogue) -> None:
        texts = [utterance.text for utterance in dialogue.utterances]
        self.dialogue = dialogue
        self.language = language_of("\n".join(texts))
        self.voices = Voices(dialogue, self.language)
        self.terms = [self.terms_of(text) for text in texts]
        self.places: dict[str, dict[int, list[TermSpan]]] = defaultdict(lambda: defaultdict(list))
        for number, terms in enumerate(self.terms):
            for term in terms:
                for key in term.keys:
                    self.places[key][number].append((term.start, term.end))
        self.speakers = np.array(self.voices.spoken, dtype=np.int64)
        self.questions = np.array([bool(_QUESTION.search(text)) for text in texts], dtype=bool)
        self.denials = np.array([denies(text) for text in texts], dtype=bool)
        self.sizes = np.array([len(terms) for terms in self.terms], dtype=np.float64)
        self.lengths = np.array([len(text.strip()) for text in texts], dtype=np.float64)

    def __len__(self) -> int:
        return len(self.terms)

    def terms_of(self, text: str) -> list[Term]:
        """The terms of a text but those in a speaker's name: everybody is named everywhere."""
        tokens = list(tokens_of(text))
        mentions = self.voices.mentions(text, tokens)
        terms = text_terms(text, tokens, self.language)
        return [t for t in terms if not any(a < t.end and t.start < b for a, b, _ in mentions)]

    def found(self, term: Term) -> dict[int, list[TermSpan]]:
        """Where each utterance says a term."""
        found: dict[int, set[TermSpan]] = defaultdict(set)
        for key in term.keys:
            for number, spans in self.places.get(key, {}).items():
                found[number].update(spans)
        return {number: sorted(spans) for number, spans in found.items()}

    def rarity(self, count: int) -> float:
        """How much it tells that an utterance says what ``count`` of all say."""
        return math.log((len(self) + 1) / (count + 0.5))


def denies(text: str, plainly: bool = False) -> bool:
    """Whether something is denied; unless ``plainly``, what comes near it counts, too."""
    if NEGATION.search(text) or _CHINESE_DENIAL.search(text):
        return True
    return not plainly and RELUCTANCE.search(text) is not None


@lru_cache(maxsize=_KEPT)
def index_of(dialogue: Dialogue) -> Index:
    """The dialogue's index; the last few are kept."""
    return Index(dialogue)


# Spans: the part of an utterance that carries what a statement says.


# A comma between digits is no border; Chinese marks have no space behind them.
_BORDER = re.compile(
    r"[,;:–—]\s+|[，；：、]|\s-+\s|\n+|\s(?=(?:but|because|so|and)\s)", re.IGNORECASE
)
_SHORTEST_SPAN = 12  # characters of a clause; a shorter one goes with its neighbour
_WHOLE = 60  # characters: a sentence up to this is not taken apart
_SPAN_PART = 0.25  # of what is shared: a clause with less of it does not lengthen the span


def span_of(text: str, shared: Sequence[tuple[TermSpan, float]]) -> TermSpan:
    """Where in ``text`` the shared terms stand: from the first clause that tells to the last one.

    ``shared``: place and worth of each. Without any it is all of the text, white space left out.
    """
    clauses = _clauses(text)
    if not shared or len(clauses) < 2:
        return _stripped(text, 0, len(text))
    worths = [sum(w for (a, _), w in shared if start <= a < end) for start, end in clauses]
    least = _SPAN_PART * sum(worths)
    telling = [i for i, worth in enumerate(worths) if worth and worth >= least]
    telling = telling or [max(range(len(worths)), key=worths.__getitem__)]
    return _stripped(text, clauses[telling[0]][0], clauses[telling[-1]][1])


def _clauses(text: str) -> list[TermSpan]:
    """Sentences, long ones in clauses; each reaches to where the next begins."""
    starts = [0]
    for start, end in sentence_spans(text):  # the first may begin behind white space
        if text[:start].strip():
            starts.append(start)
        if end - start <= _WHOLE:
            continue
        for border in _BORDER.finditer(text, start, end):
            if border.end() - starts[-1] >= _SHORTEST_SPAN and end - border.end() >= _SHORTEST_SPAN:
                starts.append(border.end())
    return list(zip(starts, (*starts[1:], len(text)), strict=True))


def _stripped(text: str, start: int, end: int) -> TermSpan:
    part = text[start:end]
    return start + len(part) - len(part.lstrip()), start + len(part.rstrip())
