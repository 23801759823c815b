"""Terms: what a text says that can be looked for in another, with its place.

Words by their stems, function words left out; numbers and times by value; weekdays, codes,
addresses by form; Chinese and its neighbours, which have no spaces, by pairs of characters.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple, TypeAlias

from dialogist.metrics.dialogue_facts import StatedNumbers, stated_numbers
from dialogist.text.aliases import NICKNAMES, SHORT_FORMS
from dialogist.text.clauses import is_content
from dialogist.text.entities import calendar_value, entities
from dialogist.text.folding import folded
from dialogist.text.function_words import FUNCTION_WORDS
from dialogist.text.languages import Language
from dialogist.text.listing import word_set
from dialogist.text.quantities import HALF_DAY, Quantity, may_hold, quantities
from dialogist.text.stems import stem_of
from dialogist.text.tokens import Token, without_tags

Kind: TypeAlias = Literal["word", "name", "number", "entity"]
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
    kind: Kind
    keys: frozenset[str]


Span: TypeAlias = tuple[int, int]


def terms_of(text: str, tokens: Iterable[Token], language: Language) -> list[Term]:
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
    taken: list[Span] = []
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
    text: str, tokens: Iterable[Token], language: Language, taken: list[Span]
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


def _pairs(text: str, taken: list[Span]) -> Iterator[Term]:
    for run in _CJK.finditer(text):
        for i in range(run.start(), run.end() - 1):
            pair = text[i : i + 2]
            if pair in _EMPTY or not _PARTICLES.isdisjoint(pair) or _overlaps(i, i + 2, taken):
                continue
            yield Term(i, i + 2, "word", frozenset((f"z:{pair}",)))


def _overlaps(start: int, end: int, taken: list[Span]) -> bool:
    return any(a < end and start < b for a, b in taken)


def with_aliases(term: Term) -> Term:
    """Found by other forms of a name, too: Bob for Robert, NYC for New York."""
    others: set[str] = set()
    for key in term.keys:
        word = key[2:]
        others |= NICKNAMES.get(word, frozenset()) | SHORT_FORMS.get(word, frozenset())
    more = frozenset(f"w:{stem_of(word)}" for word in others)
    return term._replace(keys=term.keys | more)
