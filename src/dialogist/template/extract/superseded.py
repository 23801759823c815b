"""The last word counts: what is taken back, changed or done later is no entry any more."""

from collections.abc import Sequence

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


def standing(found: Sequence[Found], turns: Turns, done: Sequence[Found] = ()) -> list[Found]:
    """Those that nothing later takes back, replaces by another value, or says to be done."""
    kept: list[Found] = []
    for place, one in enumerate(found):
        later = found[place + 1 :]
        if _is_taken_back(one, turns) or _is_moved(one, turns):
            continue
        if _is_done(one, done) or _is_done_at_once(one, done):
            continue
        if any(_replaces(new, one, turns) for new in later):
            continue
        kept.append(one)
    return kept


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


def _is_taken_back(one: Found, turns: Turns) -> bool:
    place = _place(one)
    words = content_of(one)
    for number in range(place + 1, len(turns.sentences)):
        for sentence in turns.sentences[number]:
            if not takes_back(sentence.text):
                continue
            again = content_stems(sentence.text)
            if words & again or (len(sentence.text.split()) <= _BARE and number - place <= _SOON):
                return True
    return False


def _is_done(one: Found, done: Sequence[Found]) -> bool:
    words = content_of(one)
    return any(
        _place(other) >= _place(one)
        and other.owner in ("", one.owner)
        and other.evidence[0] != one.evidence[0]
        and words
        and len(words & content_of(other)) >= _SAME * len(words)
        for other in done
    )


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
