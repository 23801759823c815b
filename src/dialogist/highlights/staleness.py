"""Signs that a later turn changes what a unit says: other wishes, corrections, failures.

Nothing here decides: the selector learns from marked dialogues how sure each sign is.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache

from dialogist.highlights.units import Unit, terms_of
from dialogist.language.people import DAYS, MONTHS
from dialogist.language.porter import stem_of
from dialogist.language.quantities import HALF_DAY, NUMBER_WORDS, quantities
from dialogist.language.replies import signals_change, values_in
from dialogist.language.reported_speech.phrases import alternatives

_PRAISE = r"(?:ok|okay|good|great|fine|perfect|nice|awesome|amazing|lovely)"
_IT = r"(?:that|this|it)"
_BUY = r"(?:take|book|buy|reserve|get|play|rent|order)"
_TRY = r"(?:book|reserve|make|made|get|go|work|complete|process|schedule|purchase|do|done|find)"
_START = r"(?i)^\W*(?:(?:oh|um|uh|well|sorry|hm+|ah|and|actually)\W+)*"
_SIGNS = {
    "else": r"(?i)\b"
    + alternatives("""
    else | others? | another | alternatives? | more (?:options|choices|suggestions|ideas)
    | (?:a|some|any|something|anything|somewhere) different
    """)
    + r"\b",
    "instead": r"(?i)\b"
    + alternatives("""
    instead | (?:how|what) about | rather | prefer | change | make (?:it|that)
    """)
    + r"\b",
    "takes": r"(?i)\b"
    + alternatives(rf"""
    {_IT}(?: one)?(?:['’]s|['’]ll be| is| will be| would be)? (?:works?|fits?|will do|{_PRAISE})
    | {_IT}(?: one)? (?:sounds?|looks?|seems?) | sounds? (?:like|{_PRAISE})
    | i(?:['’]ll| will|['’]d like to| want to) (?:go with|have|{_BUY}) (?:the|{_IT})
    | {_BUY} (?:the|me|us|an?|\d+|{_IT})
    """)
    + r"\b",
    "refuses": _START
    + r"(?:no|nope|nah|not|never|don['’]?t)\b|\b"
    + alternatives("""
    not interested | don['’]?t (?:like|want) | won['’]?t (?:work|do) | doesn['’]?t (?:work|suit)
    """)
    + r"\b",
    "agrees": _START
    + alternatives(rf"""
    yes | yeah | yep | yup | sure | right | correct | exactly | indeed | alright | all right
    | absolutely | sounds | that['’]?s (?:it|right|correct|{_PRAISE}) | {_PRAISE}
    """)
    + r"\b",
    "confirms": r"(?i)\b(?:confirm\w*|verify|approve|just to be (?:sure|clear)|to make sure)\b|\b"
    + alternatives(rf"""
    (?:is (?:everything|{_IT}) )?(?:right|correct|{_PRAISE})
    """)
    + r"\W*\?",
    "fails": r"(?i)\b"
    + alternatives(rf"""
    unable | unsuccessful\w* | fail\w* | unavailable | no longer | sold out | fully booked | taken
    | (?:could|did|was|is|are|were|does)(?: not|n['’]?t) (?:\w+ )?(?:able|possible|{_TRY}\w*)
    | can(?:not|['’]?t) (?:\w+ )?{_TRY} | went wrong | not (?:possible|available|go|gone|went)
    """)
    + r"\b",
    "done": r"(?i)\b"
    + alternatives(r"""
    booked | reserved | confirmed | scheduled | success\w* | purchased | all set | set up | done
    | on (?:the|its|their|it['’]s) way | completed? | went through | arranged | bought | made
    | ordered | paid | sent
    """)
    + r"\b",
}
_CUES = {name: re.compile(sign) for name, sign in _SIGNS.items()}
_DAY = re.compile(
    rf"(?i)\b(?:({'|'.join(DAYS)})|(?:{'|'.join(MONTHS)}) (\d{{1,2}})|(\d{{1,2}})(?:st|nd|rd|th)\b|"
    r"(today|tomorrow|tonight|day after tomorrow|weekend))"
)
_NUMBER = "|".join(word for word in NUMBER_WORDS if word.isalpha())
_COUNTED = re.compile(
    rf"(?i)(?<![:.,])\b(\d{{1,3}}|{_NUMBER}|single)[ -]"
    r"((?!(?:am|pm|of|and|or|in|on|at|to|for|is|was)\b)[a-z]{3,})"
)
_FOR = re.compile(rf"(?i)\bfor (?:just |only )?(\d{{1,2}}|{_NUMBER})\b(?! ?[ap]\.?m)")
_NAME = re.compile(
    r"(?:\b(from|to|in|at|on|with|near|by|called|visit|play|see)\s+(?:the\s+)?)?"
    r"(?<![.!?“]\s)(?<!^)([A-Z][\w'’&-]+(?:\s+(?:of\s+|the\s+|&\s+)?[A-Z][\w'’&-]+)*)"
)
_YES_OR_NO = re.compile(r"(?i)\W*(?:yes|yeah|no|not|nope)\b")
_AHEAD = 40  # turns in which a change is looked for
_SOON = 2  # turns
_LATER = 60  # units in which another value is looked for: the time of a long dialogue stays linear
_SETTLED_KINDS = frozenset(("clock", "day", "money"))
_OTHER = 2  # stems of content that make another matter


@dataclass(frozen=True, slots=True)
class SaidValues:
    """The values of a text by kind: "clock", "day", "count people", "from"."""

    values: dict[str, frozenset[str]]
    all: frozenset[tuple[str, str]]
    """Kinds and values, and names."""

    def differ(self, later: "SaidValues") -> bool:
        """Whether a later text has other values of a kind, and none that are the same."""
        return any(
            kind in later.values and own.isdisjoint(later.values[kind])
            for kind, own in self.values.items()
        )


def speaks_of_other(text: str, said: Set[str]) -> bool:
    """Whether a text has other content than stems ``said`` before, besides times and numbers.

    "Tomorrow at nine." "And can I go up on the roof today?" does not change the time.
    """
    terms = set(terms_of(text)) - values_in(text)
    return len(terms - said) >= _OTHER and terms.isdisjoint(said)


@lru_cache(maxsize=4096)  # features, ties and stale statements ask for the same units
def said_values(text: str) -> SaidValues:
    """The values and names of a text."""
    found: dict[str, set[str]] = defaultdict(set)
    for kind, value in _values(text):
        found[kind].add(value)
    names: set[tuple[str, str]] = set()
    for match in _NAME.finditer(text):
        name = match[2].lower()
        if name.split()[0] in (*DAYS, *MONTHS):
            continue
        names.add(("name", name))
        if match[1]:
            found[match[1].lower()].add(name)
    pairs = ((kind, value) for kind, own in found.items() for value in own)
    return SaidValues(
        {kind: frozenset(own) for kind, own in found.items()}, frozenset((*pairs, *names))
    )


def _values(text: str) -> Iterator[tuple[str, str]]:
    for one in quantities(text):
        clocks = {time % HALF_DAY for time in one.times or one.vague}
        if clocks and not one.values:
            yield "clock", str(min(clocks))
        elif text[one.start] in "$£€" and one.values:
            yield "money", str(min(one.values))
    for match in _DAY.finditer(text):
        yield "day", next(group for group in match.groups() if group).lower()
    for match in _COUNTED.finditer(text):
        yield f"count {stem_of(match[2].lower())}", _digits(match[1])
    for match in _FOR.finditer(text):
        yield "for", _digits(match[1])


def _digits(number: str) -> str:
    low = number.lower()
    return "1" if low == "single" else str(int(NUMBER_WORDS[low])) if low in NUMBER_WORDS else low


@dataclass(frozen=True, slots=True)
class _Turn:
    speaker: str
    slots: SaidValues
    signs: frozenset[str]

    def shows(self, *signs: str) -> bool:
        return not self.signs.isdisjoint(signs)


class Staleness:
    """Of each unit of a dialogue the signs that it does not hold at the end."""

    def __init__(self, units: Sequence[Unit]) -> None:
        self._units = units
        self._slots = [said_values(unit.text) for unit in units]
        self._where: list[int] = []
        said: list[list[Unit]] = []
        for unit in units:
            if not said or said[-1][0].turn != unit.turn:
                said.append([])
            said[-1].append(unit)
            self._where.append(len(said) - 1)
        self._turns = [_turn(own) for own in said]

    def row(self, i: int) -> dict[str, float]:
        """The signs of one unit."""
        own, k = self._slots[i], self._where[i]
        turn = self._turns[k]
        later = self._turns[k + 1 : k + _AHEAD]
        reply = next((one for one in later if one.speaker != turn.speaker), _NOBODY)
        differs = [one for one in later if own.differ(one.slots)]
        failed = next((n for n, one in enumerate(later) if one.shows("fails")), len(later))
        done = next((n for n, one in enumerate(later) if one.shows("done")), len(later))
        values = own.all
        again = [pair for pair in values if any(pair in one.slots.all for one in later)]
        outcome = self._taken(turn, later)
        is_confirming = turn.shows("confirms")
        reply_is_new = not reply.slots.all <= turn.slots.all
        return {
            "passed_over": outcome == "passed",
            "taken": outcome == "taken",
            "asks_else": reply.shows("else"),
            "asks_instead": reply.shows("instead"),
            "reply_refuses": reply.shows("refuses"),
            "reply_corrects": reply.shows("corrects") and reply_is_new,
            "reply_differs": own.differ(reply.slots),
            "reply_corrects_value": reply.shows("corrects", "instead") and own.differ(reply.slots),
            "reply_is_new": reply_is_new,
            "confirms": is_confirming,
            "confirm_agreed": is_confirming and reply.shows("agrees"),
            "confirm_refused": is_confirming and reply.shows("refuses", "corrects", "instead"),
            "confirm_changed": is_confirming and reply_is_new and not reply.shows("agrees"),
            "confirmed_again": is_confirming and self._confirmed_again(turn, later),
            "speaker_differs": any(one.speaker == turn.speaker for one in differs),
            "other_differs": any(one.speaker != turn.speaker for one in differs),
            "correction_differs": any(one.shows("corrects", "instead") for one in differs),
            "last_differs": _last_differs(own, later),
            "fails_soon": failed < _SOON,
            "fails_later": failed < len(later),
            "differs_after_failure": any(own.differ(one.slots) for one in later[failed:]),
            "done_later": done < len(later),
            "done_before_failure": done < failed,
            "else_later": any(one.shows("else") and one.speaker != turn.speaker for one in later),
            "values": min(len(values), 6) / 2,
            "again": len(again) / max(1, len(values)),
            "none_again": bool(values) and not again,
        }

    def is_last_word(self, numbers: Sequence[int]) -> bool:
        """Whether units have a day, a time or an amount that no later one changes."""
        text = " ".join(self._units[i].text for i in numbers)
        own, said = said_values(text), set(terms_of(text))
        if _SETTLED_KINDS.isdisjoint(own.values):
            return False
        turn = self._units[numbers[-1]].turn
        aside = -1  # the last turn that answers a question about another matter
        later = slice(numbers[-1] + 1, numbers[-1] + 1 + _LATER)
        for unit, slots in zip(self._units[later], self._slots[later], strict=True):
            is_asked = "?" in unit.text
            is_other = speaks_of_other(unit.text, said) and (is_asked or unit.turn > turn + 1)
            if is_other and is_asked:
                aside = unit.turn + 1
            is_aside = unit.turn == aside and _YES_OR_NO.match(unit.text) is not None
            if own.differ(slots) and not is_other and not is_aside:
                return False
        return True

    @staticmethod
    def _taken(turn: _Turn, later: Sequence[_Turn]) -> str:
        """Whether another speaker takes what is said, or asks for something else before that."""
        for one in later:
            if one.speaker == turn.speaker:
                continue
            if one.shows("else"):
                return "passed"
            if one.shows("takes"):
                return "taken"
        return ""

    @staticmethod
    def _confirmed_again(turn: _Turn, later: Sequence[_Turn]) -> bool:
        """Whether the speaker asks again to confirm the same with other values."""
        again = next(
            (one for one in later if one.speaker == turn.speaker and one.shows("confirms")), None
        )
        return again is not None and bool(
            turn.slots.differ(again.slots) and turn.slots.all & again.slots.all
        )


_NOBODY = _Turn("", SaidValues({}, frozenset()), frozenset())


def _turn(units: Sequence[Unit]) -> _Turn:
    text = " ".join(unit.text for unit in units)
    signs = {name for name, cue in _CUES.items() if cue.search(text)}
    signs |= {"corrects"} if signals_change(text) else set()
    return _Turn(units[0].speaker, said_values(text), frozenset(signs))


def _last_differs(own: SaidValues, later: Sequence[_Turn]) -> bool:
    """Whether the last turn with values of one of the kinds of ``own`` has others."""
    for kind, values in own.values.items():
        last = next((one for one in reversed(later) if kind in one.slots.values), None)
        if last is not None and values.isdisjoint(last.slots.values[kind]):
            return True
    return False
