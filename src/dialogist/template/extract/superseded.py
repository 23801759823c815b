"""The last word counts: what is taken back, changed or done later is no entry any more."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from dialogist.template.extract.turns import Found, Sentence, Turns, quoted
from dialogist.text.porter import stem_of
from dialogist.text.quantities import deadline_in
from dialogist.text.replies import (
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


def standing(
    found: Sequence[Found], turns: Turns, done: Sequence[Found] | None = None
) -> list[Found]:
    """Those that nothing later takes back, replaces by another value, or says to be done.

    ``done``: what was done, where they are promises; who cannot keep one later takes it back.
    """
    kept: list[Found] = []
    for place, one in enumerate(found):
        later = found[place + 1 :]
        if _is_taken_back(one, turns, promised=done is not None) or _is_moved(one, turns):
            continue
        if _is_done(one, done or ()) or _is_done_at_once(one, done or ()):
            continue
        if any(_replaces(new, one, turns) for new in later):
            continue
        kept.append(one)
    return kept


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


def _replaces(new: Found, old: Found, turns: Turns) -> bool:
    """The same thing with another value, or, after a word of change, another time alone."""
    if old.owner != new.owner:
        return False
    start, end = _place(old), _place(new)
    words, others = content_of(old), content_of(new)
    if not words or not others:
        return False
    values, new_values = values_of(old), values_of(new)
    shared = len(words & others) / min(len(words), len(others))
    changed = _is_changed(turns, start, end)
    if values and new_values and values.isdisjoint(new_values):
        if not (words - values) or not (others - new_values):  # a value and nothing else
            return (
                changed
                and end - start <= _SHIFT
                and kinds_in(_words(old)) & kinds_in(_words(new)) != set()
            )
        kept, got = words - values, others - new_values
        return len(kept & got) >= _SAME * min(len(kept), len(got)) and _verb(old) == _verb(new)
    return shared >= _SAME and changed and words != others and _verb(old) == _verb(new)


def _is_changed(turns: Turns, start: int, end: int) -> bool:
    said = (s for n in range(start, end + 1) for s in turns.sentences[n])
    return any(signals_change(one.text) for one in said)


def _is_taken_back(one: Found, turns: Turns, promised: bool) -> bool:
    place = _place(one)
    words = content_of(one)
    for number in range(place + 1, len(turns.sentences)):
        for sentence in turns.sentences[number]:
            is_own = promised and sentence.speaker == one.owner
            if is_own and _is_given_up(one, sentence, number - place):
                return True
            if not takes_back(sentence.text):
                continue
            again = content_stems(sentence.text)
            if words & again or (len(sentence.text.split()) <= _BARE and number - place <= _SOON):
                return True
    return False


def _is_given_up(one: Found, sentence: Sentence, distance: int) -> bool:
    """Whether who promised something says that he cannot do it."""
    said = _CANNOT.search(sentence.text)
    if said is None or sentence.text.endswith("?") or _YET.search(said["deed"]):
        return False
    softened = _SOFTENED.search(sentence.text) is not None
    if _THAT.match(said["deed"]):
        return softened and distance <= _SOON
    shared = (content_stems(said["deed"]) & content_of(one)) - _LIGHT
    return bool(shared - {_verb(one)} - values_of(one)) or (softened and bool(shared))


def _is_done(one: Found, done: Sequence[Found]) -> bool:
    words = content_of(one)
    return any(
        _place(other) >= _place(one)
        and other.owner in ("", one.owner)
        and other.evidence[0] != one.evidence[0]
        and words
        and (len(words & content_of(other)) >= _SAME * len(words) or _is_same_deed(one, other))
        for other in done
    )


def _is_same_deed(one: Found, other: Found) -> bool:
    """ "Call the store when they reopen, and ask ..." and "called the Park Road store"."""
    things = content_stems(" ".join(_words(one).split()[:_OBJECT])) - {_verb(one)}
    return _verb(one) == _verb(other) and bool(things & content_of(other))


def _is_done_at_once(one: Found, done: Sequence[Found]) -> bool:
    """ "Can you reset my password?" - "Sure. I've sent a new one": the deed answers the request."""
    answers = {span.utterance for span in one.evidence[1:]} - {_place(one)}
    things = content_of(one) - {_verb(one)}
    return any(
        _place(other) in answers and other.owner == one.owner and things & content_of(other)
        for other in done
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
