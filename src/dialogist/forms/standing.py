"""The last word counts: what is taken back, changed or done later is no entry any more."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from dialogist.forms.sentences import Finding, Sentence, Talk, quote
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
    r"\b(?:no,? wait|wait,? no|actually,? no|correction|or rather|(?:sorry|no|well|oh),? i (?:mean|"
    r"meant)|"
    r"make that|sorry,? no)\b",
    re.I,
)
_CORRECTING = re.compile(
    r"^\W*(?:(?:oh|hm+|well|but|wait|hold on|no)[ ,.]+)*(?:actually\b|on second thoughts?|"
    r"no, (?!problem|worries|need)|(?:sorry,? )?i (?:mean|meant)\b)",
    re.I,
)
# "Actually, I can't do the refund myself": who promised it takes it back.
_CANNOT = re.compile(
    r"\b(?:i|we) (?:can ?['’]?t|cannot|won ?['’]?t|could ?n['’]?t|am unable to)\b(?P<deed>[^.!?]*)",
    re.I,
)
_YET = re.compile(r"\b(?:before|until|till|unless|without)\b", re.I)
_SOFTENED = re.compile(
    r"\b(?:actually|sorry|unfortunately|afraid|no|wait|after all|oh|hm+)\b", re.I
)
_LIGHT = frozenset(map(stem_of, ("get", "make", "do", "take", "have", "go", "give", "help", "see")))
_SAME = 0.6  # of the words of the shorter one: then two say the same
_BARE = 3  # words of "never mind": it is about what was said just before
_SOON = 3  # utterances
_OBJECT = 4  # words in which a verb has its object
_SHIFT = 14  # utterances within which a time is still the one that is changed


@dataclass(frozen=True)
class _Claim:
    """A finding, and what two are compared by; two are equal that say the same in the same "
    "words."""

    finding: Finding

    @cached_property
    def words(self) -> frozenset[str]:
        return content_stems(self.finding.words)

    @cached_property
    def values(self) -> frozenset[str]:
        return values_of(self.finding)

    @cached_property
    def kinds(self) -> frozenset[str]:
        return frozenset(kinds_in(self.finding.words))

    @cached_property
    def verb(self) -> str:
        return (
            stem_of(self.finding.words.split(maxsplit=1)[0].lower()) if self.finding.words else ""
        )

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(re.findall(r"(?<=[a-z,] )[A-Z]\w+", self.finding.words))

    @property
    def utterance(self) -> int:
        return self.finding.main.utterance

    def has_other_values(self, later: "_Claim") -> bool:
        return bool(self.values and later.values) and self.values.isdisjoint(later.values)

    def is_restated(self, later: "_Claim", is_changed: bool) -> bool:
        """Whether it is said with another value, or, after a word of change, in other words."""
        words, others = self.words, later.words
        if not words or not others:
            return False
        if self.has_other_values(later):
            words, others = words - self.values, others - later.values
            return len(words & others) >= _SAME * min(len(words), len(others)) > 0
        shared = len(words & others) / min(len(words), len(others))
        return shared >= _SAME and is_changed and words != others

    def is_retimed(self, later: "_Claim") -> bool:
        """Whether it has another value of the same kind, and one of the two is nothing else."""
        if not self.words or not later.words or not self.has_other_values(later):
            return False
        is_alone = self.words <= self.values or later.words <= later.values
        return is_alone and not self.kinds.isdisjoint(later.kinds)

    def says_the_same(self, other: "_Claim") -> bool:
        """Whether most words of the shorter are in the longer, with no other values or names."""
        fewest = min(len(self.words), len(other.words))
        differs = bool(self.names and other.names) and self.names.isdisjoint(other.names)
        return (
            not differs
            and not self.has_other_values(other)
            and len(self.words & other.words) >= _SAME * fewest > 0
        )

    def is_done(self, deed: "_Claim") -> bool:
        """Whether a deed of the same speaker, said now or later, is what it promises."""
        if deed.finding.owner not in ("", self.finding.owner) or not self.words:
            return False
        # "Can you reset my password?" - "Sure. I've sent a new one": it answers the request.
        answers = {span.utterance for span in self.finding.evidence[1:]} - {self.utterance}
        is_own = deed.finding.owner == self.finding.owner
        if deed.utterance in answers and is_own and (self.words - {self.verb}) & deed.words:
            return True
        if deed.utterance < self.utterance or deed.finding.main.span == self.finding.main.span:
            return False
        # "Call the store when they reopen, and ask ..." and "called the Park Road store".
        things = content_stems(" ".join(self.finding.words.split()[:_OBJECT])) - {self.verb}
        is_same = len(self.words & deed.words) >= _SAME * len(self.words)
        return is_same or (self.verb == deed.verb and not things.isdisjoint(deed.words))


class _Changes:
    """Where a dialogue changes or takes back what was said, read once."""

    def __init__(self, talk: Talk) -> None:
        self._counts = [0]  # utterances with a word of change, before each
        self._back: dict[str, int] = {}  # the last utterance that takes back each stem
        self._brief: set[int] = set()
        self._given_up: defaultdict[str, list[Sentence]] = defaultdict(list)
        for number, turn in enumerate(talk.sentences):
            self._counts.append(self._counts[-1] + any(signals_change(s.text) for s in turn))
            for sentence in turn:
                if _CANNOT.search(sentence.text) and not sentence.text.endswith("?"):
                    self._given_up[sentence.speaker].append(sentence)
                if takes_back(sentence.text):
                    self._back.update(dict.fromkeys(content_stems(sentence.text), number))
                    self._brief |= {number} if len(sentence.text.split()) <= _BARE else set()

    def between(self, start: int, end: int) -> bool:
        """Whether an utterance from ``start`` to ``end`` has a word of change."""
        return self._counts[end + 1] > self._counts[start]

    def take_back(self, claim: _Claim) -> bool:
        """Whether a later utterance takes it back."""
        if any(self._back.get(word, -1) > claim.utterance for word in claim.words):
            return True
        return any(claim.utterance + n in self._brief for n in range(1, _SOON + 1))

    def give_up(self, claim: _Claim) -> bool:
        """Whether who promised it says later that he cannot do it."""
        for sentence in self._given_up.get(claim.finding.owner, ()):
            cannot = _CANNOT.search(sentence.text)
            if cannot is None or sentence.utterance <= claim.utterance:
                continue
            shared = (content_stems(cannot["deed"]) & claim.words) - _LIGHT
            is_softened = _SOFTENED.search(sentence.text) and not _YET.search(cannot["deed"])
            if shared - {claim.verb} - claim.values or (shared and is_softened):
                return True
        return False


def standing(
    findings: Sequence[Finding], talk: Talk, done: Sequence[Finding] | None = None
) -> list[Finding]:
    """Those that nothing later takes back, replaces by another value, or says to be done.

    ``done``: what was done, where they are promises; who cannot keep one later takes it back.
    """
    changes = _Changes(talk) if findings else None
    deeds = [_Claim(deed) for deed in done or ()]
    kept: list[Finding] = []
    # What is said later, by owner and verb, and by utterance: each is compared with a few.
    alike: defaultdict[tuple[str, str], list[_Claim]] = defaultdict(list)
    near: defaultdict[int, list[_Claim]] = defaultdict(list)
    for finding in reversed(findings):
        assert changes is not None
        claim = _Claim(finding)
        same, place = alike[finding.owner, claim.verb], claim.utterance
        is_replaced = any(
            claim.is_restated(later, changes.between(place, later.utterance)) for later in same
        ) or any(
            later.finding.owner == finding.owner and claim.is_retimed(later)
            for end in range(place, place + _SHIFT + 1)
            if changes.between(place, min(end, len(talk.sentences) - 1))
            for later in near.get(end, ())
        )
        near[place].append(claim)
        if not any(later.words == claim.words and later.values == claim.values for later in same):
            same.append(claim)  # what is said in the same words replaces nothing more
        is_over = is_replaced or changes.take_back(claim) or _is_moved(finding, talk)
        if done is not None and not is_over:
            is_over = changes.give_up(claim) or any(map(claim.is_done, deeds))
        if not is_over:
            kept.append(finding)
    return kept[::-1]


def _is_moved(finding: Finding, talk: Talk) -> bool:
    """Whether another time is asked for soon afterwards, and agreed to."""
    place = finding.main.utterance
    if not finding.deadline:
        return False
    for turn in talk.sentences[place + 1 : place + 1 + _SOON]:
        for sentence in turn:
            values = values_in(sentence.text)
            if (
                asks_for_change(sentence.text)
                and values
                and values.isdisjoint(content_stems(finding.deadline))
                and kinds_in(sentence.text) & kinds_in(finding.deadline)
            ):
                return any(  # "Could it be Friday?" - "Friday at 2 pm is free."
                    agrees(reply.text) or values & content_stems(reply.text)
                    for reply in talk.reply(sentence)[:1]
                )
    return False


def corrected(findings: Iterable[Finding], talk: Talk) -> Iterator[Finding]:
    """Each as it is said to the end: what the same breath corrects is quoted with its correction.

    One that is too long to quote is left out: half of it says the opposite.
    """
    for finding in findings:
        first = last = finding.main
        while (behind := talk.beside(last, 1)) and _CORRECTING.match(behind.text):
            last = behind
        whole = talk.joined(first, last)
        if last is first and not _CORRECTS.search(whole.text):
            yield finding
            continue
        parts = [whole if part is first else part for part in finding.parts]
        ends = [
            m.end() for m in re.finditer(rf"{_CORRECTS.pattern}|\bactually\b", whole.text, re.I)
        ]
        correction = whole.text[max(ends, default=len(whole.text)) :]
        more = quote(
            *parts,
            main=whole,
            owner=finding.owner,
            deadline=deadline_in(correction) or finding.deadline,
            words=f"{finding.words}{correction}",
        )
        if more is not None:
            yield replace(more, again=finding.again)


def distinct(findings: Iterable[Finding], last: bool = False) -> tuple[Finding, ...]:
    """Each once; ``last``: in the words of the last time, for what is settled step by step."""
    kept: list[_Claim] = []
    for claim in map(_Claim, findings):
        for place, other in enumerate(kept):
            if claim.finding.owner == other.finding.owner and claim.says_the_same(other):
                first, again = (claim, other) if last else (other, claim)
                if again.finding.deadline and not first.finding.deadline:  # the one with a time
                    first, again = again, first
                evidence = (*first.finding.again, *again.finding.evidence)
                kept[place] = _Claim(replace(first.finding, again=evidence))
                break
        else:
            kept.append(claim)
    return tuple(claim.finding for claim in kept)


def values_of(finding: Finding) -> frozenset[str]:
    """Words of times, and numbers: what a correction changes."""
    return values_in(finding.words) | content_stems(finding.deadline)
