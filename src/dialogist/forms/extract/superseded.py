"""The last word counts: what is taken back, changed or done later is no entry any more."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from dialogist.forms.extract.turns import Found, Sentence, Turns, quoted
from dialogist.language.porter import stem_of
from dialogist.language.quantities import deadline_in
from dialogist.language.replies import (
    agrees,
    asks_for_change,
    content_stems,
    kinds_in,
    signals_change,
    takes_back,
    values_in,
)

# "I'm prescribing amoxicillin... no wait, azithromycin": what follows changes what was said.
_CORRECTS = re.compile(
    r"\b(?:no,? wait|wait,? no|scratch that|strike that|actually,? no|correction|or rather|"
    r"my mistake|(?:sorry|no|well|oh),? i (?:mean|meant)|make that|sorry,? no)\b",
    re.I,
)
_CORRECTING = re.compile(
    r"^\W*(?:(?:oh|hm+|well|but|wait|hold on|hang on|no)[ ,.]+)*(?:actually\b|on second thoughts?|"
    r"no, (?!problem|worries|need)|(?:sorry,? )?i (?:mean|meant)\b)",
    re.I,
)
# "Actually, I can't do the refund myself": who promised it takes it back.
_CANNOT = re.compile(
    r"\b(?:i|we)(?: (?:am|are|was|were)| ?['’]?(?:m|re))? (?:can ?['’]?t|cannot|can not|"
    r"won ?['’]?t|will not|could ?n['’]?t|could not|not able to|unable to|not going to)\b"
    r"(?P<deed>[^.!?]*)",
    re.I,
)
_ACTUALLY = re.compile(r"\bactually\b", re.I)
_YET = re.compile(r"\b(?:before|until|till|earlier|sooner|unless|without|wait)\b", re.I)
_SOFTENED = re.compile(
    r"\b(?:actually|sorry|unfortunately|afraid|apologi[sz]e|no|wait|after all|oh|hm+)\b", re.I
)
_THAT = re.compile(r"^ (?:do |make |manage )?(?:it|that|this)\b", re.I)
# "Could it be Friday?" - "Friday at 2 pm is free."
_GRANTS = re.compile(
    r"\b(?:is|are|would be|['’]s) (?:free|available|possible|open|no problem|better)\b|"
    r"\b(?:we|i) can (?:do|make|offer|come)\b|\bthen\W*$",
    re.I,
)

_LIGHT = frozenset(map(stem_of, ("get", "make", "do", "take", "have", "go", "give", "help", "see")))
_SAME = 0.6  # of the words of the shorter one: then two say the same
_BARE = 3  # words of "never mind": it is about what was said just before
_SOON = 3  # utterances
_OBJECT = 4  # words in which a verb has its object
_SHIFT = 14  # utterances within which a time is still the one that is changed


@dataclass(frozen=True, slots=True)
class _Said:
    """What two entries are compared by."""

    owner: str
    words: frozenset[str]
    values: frozenset[str]
    kinds: frozenset[str]
    verb: str


@dataclass(frozen=True, slots=True)
class _GivenUp:
    """What somebody says that he cannot do: its stems, or "that" (None)."""

    utterance: int
    deed: frozenset[str] | None
    is_softened: bool

    def ends(self, one: _Said, distance: int) -> bool:
        """Whether it ends a promise, so many utterances before."""
        if self.deed is None:
            return self.is_softened and distance <= _SOON
        shared = (self.deed & one.words) - _LIGHT
        return bool(shared - {one.verb} - one.values) or (self.is_softened and bool(shared))


def _given_up(sentence: Sentence) -> _GivenUp | None:
    said = _CANNOT.search(sentence.text)
    if said is None or sentence.text.endswith("?") or _YET.search(said["deed"]):
        return None
    deed = None if _THAT.match(said["deed"]) else content_stems(said["deed"])
    is_softened = _SOFTENED.search(sentence.text) is not None
    return _GivenUp(sentence.utterance, deed, is_softened)


class _Changes:
    """Where a dialogue changes or takes back what was said, read once."""

    def __init__(self, turns: Turns) -> None:
        self._counts = [0]  # utterances with a word of change, before each
        self._back: dict[str, int] = {}  # the last utterance that takes back each stem
        self._brief: set[int] = set()
        self._given_up: defaultdict[str, list[_GivenUp]] = defaultdict(list)
        for number, said in enumerate(turns.sentences):
            changes = any(signals_change(one.text) for one in said)
            self._counts.append(self._counts[-1] + changes)
            for one in said:
                if (given := _given_up(one)) is not None:
                    self._given_up[one.speaker].append(given)
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

    def give_up(self, one: _Said, place: int) -> bool:
        """Whether who promised an entry says later that he cannot do it."""
        return any(
            given.ends(one, given.utterance - place)
            for given in self._given_up.get(one.owner, ())
            if given.utterance > place
        )


def standing(
    found: Sequence[Found], turns: Turns, done: Sequence[Found] | None = None
) -> list[Found]:
    """Those that nothing later takes back, replaces by another value, or says to be done.

    ``done``: what was done, where they are promises; who cannot keep one later takes it back.
    """
    if not found:
        return []
    changes = _Changes(turns)
    deeds = [(one, content_of(one)) for one in done or ()]
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
        is_given_up = done is not None and changes.give_up(own, place)
        is_over = (
            is_replaced or is_given_up or changes.take_back(own, place) or _is_moved(one, turns)
        )
        if not is_over and not _is_done(one, deeds) and not _is_done_at_once(one, deeds):
            kept.append(one)
    return kept[::-1]


def corrected(found: Iterable[Found], turns: Turns) -> Iterator[Found]:
    """Each as it is said to the end: what the same breath corrects is quoted with its correction.

    One that is too long to quote is left out: half of it says the opposite.
    """
    for one in found:
        first = one.evidence[0]
        said = turns.sentences[first.utterance]
        place = next((n for n, sentence in enumerate(said) if sentence.span() == first), None)
        whole = None if place is None else _with_correction(said, place, turns)
        if place is None or whole is None:
            yield one
            continue
        text, part = quoted(whole), quoted(said[place])
        if text is not None:
            text = one.text.replace(part, text) if part and part in one.text else text
            deadline = deadline_in(_correction(whole.text)) or one.deadline
            yield replace(one, text=text, words=whole.text, deadline=deadline)


def _with_correction(said: Sequence[Sentence], place: int, turns: Turns) -> Sentence | None:
    """A sentence with what corrects it, None where nothing does."""
    last = place
    while last + 1 < len(said) and _CORRECTING.match(said[last + 1].text):
        last += 1
    whole = turns.joined(said[place], said[last])
    return whole if last > place or _CORRECTS.search(whole.text) else None


def _correction(text: str) -> str:
    """What comes behind the last word of correction."""
    found = [*_CORRECTS.finditer(text), *_ACTUALLY.finditer(text)]
    return text[max((one.end() for one in found), default=len(text)) :]


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
    words, verb = content_of(one), _verb(one)
    # "Call the store when they reopen, and ask ..." and "called the Park Road store".
    things = content_stems(" ".join(_words(one).split()[:_OBJECT])) - {verb}
    return any(
        _place(other) >= _place(one)
        and other.owner in ("", one.owner)
        and other.evidence[0] != one.evidence[0]
        and words
        and (
            len(words & content) >= _SAME * len(words)
            or (not things.isdisjoint(content) and _verb(other) == verb)
        )
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
                reply = turns.reply(number)[:1]
                return any(agrees(s.text) or _offers(s, other) for s in reply)
    return False


def _offers(sentence: Sentence, values: frozenset[str]) -> bool:
    """Whether an answer names the other time as one that is free."""
    named = values & content_stems(sentence.text)
    return bool(named) and _GRANTS.search(sentence.text) is not None


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
