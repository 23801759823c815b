"""The last word counts: what is taken back, changed or done later is no entry any more."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from dialogist.template.extract.turns import Found, Turns
from dialogist.text.porter import stem_of
from dialogist.text.replies import (
    agrees,
    asks_for_change,
    content_stems,
    kinds_in,
    signals_change,
    takes_back,
    values_in,
)

_SAME = 0.6  # of the words of the shorter one: then two say the same
_BARE = 3  # words of "never mind": it is about what was said just before
_SOON = 3  # utterances
_SHIFT = 14  # utterances within which a time is still the one that is changed


@dataclass(frozen=True, slots=True)
class _Said:
    """What two entries are compared by."""

    owner: str
    words: frozenset[str]
    values: frozenset[str]
    kinds: frozenset[str]
    verb: str


class _Changes:
    """Where a dialogue changes or takes back what was said, read once."""

    def __init__(self, turns: Turns) -> None:
        self._counts = [0]  # utterances with a word of change, before each
        self._back: dict[str, int] = {}  # the last utterance that takes back each stem
        self._brief: set[int] = set()
        for number, said in enumerate(turns.sentences):
            changes = any(signals_change(one.text) for one in said)
            self._counts.append(self._counts[-1] + changes)
            for one in said:
                if takes_back(one.text):
                    self._back.update(dict.fromkeys(content_stems(one.text), number))
                    self._brief |= {number} if len(one.text.split()) <= _BARE else set()

    def between(self, start: int, end: int) -> bool:
        """Whether an utterance from ``start`` to ``end`` has a word of change."""
        return self._counts[end + 1] > self._counts[start]

    def take_back(self, one: _Said, place: int) -> bool:
        """Whether a later utterance takes an entry back."""
        if any(self._back.get(word, -1) > place for word in one.words):
            return True
        return any(place + n in self._brief for n in range(1, _SOON + 1))


def standing(found: Sequence[Found], turns: Turns, done: Sequence[Found] = ()) -> list[Found]:
    """Those that nothing later takes back, replaces by another value, or says to be done."""
    if not found:
        return []
    changes = _Changes(turns)
    deeds = [(one, content_of(one)) for one in done]
    kept: list[Found] = []
    # What is said later: with the same verb the last place of each, and all by place.
    alike: defaultdict[tuple[str, str], dict[_Said, int]] = defaultdict(dict)
    near: defaultdict[int, list[_Said]] = defaultdict(list)
    for one in reversed(found):
        own, place = _said(one), _place(one)
        is_replaced = any(
            _restates(own, new, changes.between(place, end))
            for new, end in alike[own.owner, own.verb].items()
        ) or any(
            _retimes(own, new) and changes.between(place, end)
            for end in range(place, place + _SHIFT + 1)
            for new in near.get(end, ())
        )
        alike[own.owner, own.verb][own] = max(place, alike[own.owner, own.verb].get(own, place))
        near[place].append(own)
        is_over = is_replaced or changes.take_back(own, place) or _is_moved(one, turns)
        if not is_over and not _is_done(one, deeds) and not _is_done_at_once(one, deeds):
            kept.append(one)
    return kept[::-1]


def _said(one: Found) -> _Said:
    kinds = frozenset(kinds_in(_words(one)))
    return _Said(one.owner, content_of(one), values_of(one), kinds, _verb(one))


def _restates(old: _Said, new: _Said, is_changed: bool) -> bool:
    """Whether it is the same with another value, or, after a word of change, in other words."""
    words, others = old.words, new.words
    if not words or not others:
        return False
    if _has_others(old, new):
        words, others = words - old.values, others - new.values
        return len(words & others) >= _SAME * min(len(words), len(others)) > 0
    shared = len(words & others) / min(len(words), len(others))
    return shared >= _SAME and is_changed and words != others


def _retimes(old: _Said, new: _Said) -> bool:
    """Whether it is another value of the same kind, and one of the two is nothing else."""
    if old.owner != new.owner or not old.words or not new.words or not _has_others(old, new):
        return False
    is_alone = old.words <= old.values or new.words <= new.values
    return is_alone and not old.kinds.isdisjoint(new.kinds)


def _has_others(old: _Said, new: _Said) -> bool:
    return bool(old.values and new.values) and old.values.isdisjoint(new.values)


def _is_done(one: Found, done: Sequence[tuple[Found, frozenset[str]]]) -> bool:
    """Whether one of some deeds, each with its content, is what an entry says."""
    words = content_of(one)
    return any(
        _place(other) >= _place(one)
        and other.owner in ("", one.owner)
        and other.evidence[0] != one.evidence[0]
        and words
        and len(words & content) >= _SAME * len(words)
        for other, content in done
    )


def _is_done_at_once(one: Found, done: Sequence[tuple[Found, frozenset[str]]]) -> bool:
    """ "Can you reset my password?" - "Sure. I've sent a new one": the deed answers the request."""
    answers = {span.utterance for span in one.evidence[1:]} - {_place(one)}
    things = content_of(one) - {_verb(one)}
    return any(
        _place(other) in answers and other.owner == one.owner and things & content
        for other, content in done
    )


def _is_moved(one: Found, turns: Turns) -> bool:
    """Whether another time is asked for soon afterwards, and agreed to."""
    place = _place(one)
    if not one.deadline:
        return False
    for number in range(place + 1, min(place + 1 + _SOON, len(turns.sentences))):
        for sentence in turns.sentences[number]:
            asked = Found(sentence.text, (sentence.span(),))
            other = values_of(asked)
            if (
                asks_for_change(sentence.text)
                and other
                and other.isdisjoint(content_stems(one.deadline))
                and kinds_in(sentence.text) & kinds_in(one.deadline)
            ):
                reply = turns.reply(number)
                return any(agrees(said.text) for said in reply[:1])
    return False


def _place(one: Found) -> int:
    return one.evidence[0].utterance


def _verb(one: Found) -> str:
    words = _words(one).split(maxsplit=1)
    return stem_of(words[0].lower()) if words else ""


def content_of(one: Found) -> frozenset[str]:
    """The stems of what was said, without function words."""
    return content_stems(_words(one))


def values_of(one: Found) -> frozenset[str]:
    """Words of times, and numbers: what a correction changes."""
    return values_in(_words(one)) | content_stems(one.deadline)


def _words(one: Found) -> str:
    return one.words or one.text
