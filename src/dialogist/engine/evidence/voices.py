"""Voices: which speaker a stretch of a statement is about, and what it says that he does."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from dialogist.metrics.speaker_mentions import Speakers
from dialogist.records import Dialogue
from dialogist.text.clauses import clauses_of
from dialogist.text.languages import Language
from dialogist.text.listing import listed
from dialogist.text.tokens import Token, tokens_of

_ASKS = listed("user customer client caller patient interviewee 用户 客户 顾客 买家 患者 消费者")
_SERVES = listed("agent assistant system doctor interviewer 客服 商家 坐席 卖家 医生 店家")
_ROLES = {
    **dict.fromkeys(_ASKS, frozenset(_ASKS)),
    **dict.fromkeys(_SERVES, frozenset(_SERVES)),
}
_CHINESE_ROLE = re.compile("|".join(w for w in (*_ASKS, *_SERVES) if not w.isascii()))
_PART = re.compile(r"[^。！？；，,;!?\n]+")
_CHINESE_ASKING = re.compile("问|咨询|请求|要求|想知道")


class Voice(NamedTuple):
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

    def of(self, text: str) -> list[Voice]:
        """The stretches of a text whose subject is a speaker."""
        if self.language == "en":
            sentences = clauses_of(text, self.who)
            return [Voice(c.start, c.end, c.subject, c.kind) for s in sentences for c in s]
        return list(self._parts(text))

    def _parts(self, text: str) -> Iterator[Voice]:
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
                yield Voice(part.start(), part.end(), subject, kind)


def _roles(dialogue: Dialogue, number: dict[str, int]) -> Iterator[tuple[str, int]]:
    """The words for the role of a speaker, where one alone has it."""
    for words in {frozenset(_ASKS), frozenset(_SERVES)}:
        having = {
            number[u.speaker]
            for u in dialogue.utterances
            if u.speaker in number and (u.role in words or u.speaker.lower() in words)
        }
        if len(having) == 1:
            speaker = having.pop()
            yield from ((word, speaker) for word in words)
