"""Which statements are never told without another: what is under a condition, what is changed."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dialogist.highlights.cues import CUES
from dialogist.highlights.features import REACH
from dialogist.highlights.staleness import SaidValues, said_values, speaks_of_other
from dialogist.highlights.statements import Candidate
from dialogist.highlights.units import Unit, terms_of
from dialogist.language.replies import (
    agrees,
    asks_for_change,
    declines,
    kinds_in,
    takes_back,
    values_in,
)
from dialogist.language.reported_speech.phrases import alternatives
from dialogist.language.reported_speech.quoting import lacks_verb
from dialogist.language.reported_speech.spelling import normalised
from dialogist.language.reported_speech.stating import has_main_clause

_BEGINS = r"(?i)^\W*(?:(?:and|but|so|or|well|ok(?:ay)?|yes|yeah|no|hm+|oh|ah|uh|um|look|sorry)\W+)*"
# What is said under a condition that the clause before names.
_HANGS = re.compile(
    _BEGINS + r"(?:otherwise|or else|if (?:not|so|it does(?:n['’]t)?)|in (?:that|which) case)\b"
)
_THEN = re.compile(_BEGINS + r"then\b")
_CONDITION = re.compile(r"(?i)\b(?:if|unless|in case|once|as soon as|as long as)\b")
# What limits the clause before.
_LIMITS = re.compile(
    _BEGINS
    + alternatives(r"""
    unless\b | only (?:if|when|after|on|with|until)\b | as long as\b | provided\b | except\b
    | not (?:if|on|before|until|when)\b | on (?:one )?condition\b
    """)
)
_ONLY = re.compile(_BEGINS + r"(?:just|only) (?!a (?:bit|little|moment))")
_REFUSES = re.compile(
    _BEGINS.replace("|no|", "|actually|")
    + alternatives(r"""
    no(?!\s(?:problem|worries|need|doubt)\b)\b | nope\b | nah\b | never\b | don['’]?t\b
    | not (?!bad\b) | unfortunately\b | i['’]?m afraid\b | can['’]?t\b | too \w+
    | (?:i|we|he|she|they) (?:can['’]?t|cannot|won['’]?t|don['’]?t|wouldn['’]?t|couldn['’]?t)\b
    | (?:i|we)(?:['’]?d|\swould) rather\b
    | i['’]?m (?:off|out|away|at work|working|busy|on)\b | i['’]?ve (?:got )?(?:no|an?|to)\b
    | (?:that|this|it)(?:['’]?s|\s(?:is|was|would be|isn['’]?t|won['’]?t be|won['’]?t|doesn['’]?t))
    (?:too|not|no|full|closed|sold|gone|impossible|work|going to work|far|a long)\b
    """)
)
_SAYS_NOTHING = re.compile(_BEGINS)
_BUT = re.compile(r"(?i)\W*but\b")
_CONCEDES = re.compile(
    r"(?i)\W*(?:admittedly|granted|true|in theory|normally|usually|of course|sure|fair enough)\b"
)
_INTENDS = re.compile(
    r"(?i)\b(?:(?:was|were) (?:going|supposed|about|meant) to|wanted to|tried|meant to|planned"
    r"|would have|(?:i|we)['’]?d (?:love|like)|would (?:love|like) to|used to|thought)\b"
)
_NEEDS = re.compile(r"(?i)\b(?:i|we)(?: really)? (?:need|must|have to|want)\b")
_FAILS = re.compile(
    r"(?i)n['’]t\b|\b(?:not|never|no|nothing|nobody|cannot|cant|dont|didnt|doesnt|isnt|wasnt|wont"
    r"|fail\w*|unfortunately|afraid)\b|\W*but (?:\w+ ){1,3}only\b"
)
_REASON = re.compile(r"(?i)(?:because|so that|which)\b")
_SUBORDINATE = re.compile(r"(?i)(?:since|if|unless|although|though|as|given that|while|until)\b")
_TENTATIVE = ("offer", "commit", "imperative", "advise", "please", "must", "will")
_TELLS = re.compile(r"\b(?:suggests?|offers?|asks?|tells|should|will|would|can|could)\b")
_WANTS_ANOTHER = re.compile(
    r"(?i)\b(?:instead|rather|(?:any(?:thing)?|something|nothing) "
    r"(?:earlier|later|else|cheaper|sooner|smaller|bigger|other))\b"
)
# "Are there any others?" passes over what was offered; "Anything else?" does not.
_ASKS_OTHER = re.compile(
    r"(?i)\b(?:"
    r"(?:any|some|find|search|show|have|get|give|try|look(?:ing)? for|how about|what about|want)\b"
    r"[^.?!]*\b(?<!anything )(?:other|others|another|different|else)\b(?! (?:day|time|question))"
    r"|(?:other|more|different) (?:options?|choices|suggestions?|ideas|ones?)|something else"
    r"|what else (?:is|are|do|can|could|have))\b"
)
_HELPS = re.compile(r"(?i)\b(?:help (?:you|with)|need help|assist|can i|do you need)\b")
_OFFERS = re.compile(
    r"(?i)\b(?:there (?:is|are)|there['’]s|(?:i|we)(?:['’]ve| have)? (?:found|located|see|suggest"
    r"|recommend)|how about|what about|you (?:might|may|could|should)|would you like|try|is an?"
    r"|why don['’]t you|called|located|available)\b"
)
_CONFIRMS = re.compile(
    r"(?i)\b(?:confirm\w*|verify|just to (?:be (?:sure|clear)|make sure)|to make sure)\b"
    r"|\bis (?:that|this|it|everything) correct\W*\?"
)
_CORRECTS = re.compile(
    r"(?i)^\W*(?:no,? (?:wait|sorry|actually|not|don['’]?t|that|most|more|less|half|all)|wait"
    r"|hold on|actually|oh no|sorry,? (?:no|i|it)|scratch that|i mean)\b"
)
# "Then no, not that.": what the same speaker said the turn before last.
_NOT_THAT = re.compile(_BEGINS.replace("|no|", "|") + r"(?:then )?(?:no\W+)?not that(?: one)?\W*$")
_NEVER = re.compile(r"(?i)^\W*(?:absolutely not|no way|not a chance|no chance|never)\b")
_ONE_NUMBER = (
    r"(?<![\w:.,])(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen"
    r"|(?:twen|thir|for|fif|six|seven|eigh|nine)ty)(?![\w:]|[.,]\d)"
)
_NUMBER = re.compile(_ONE_NUMBER, re.I)
_NUMBER_ALONE = re.compile(rf"^\W*(?:no\W+)?({_ONE_NUMBER})(?:, then)?\s*(?:[.,!;–—]|$)", re.I)
_ASIDE = 8  # words of a question and its answer before a proposal is refused
_REMARK = 3  # words before a refusal that say nothing: "Hm."
_SOON = 3  # turns in which a time is changed
_AHEAD = 60  # units in which something is taken back: the time of a long dialogue stays linear
_SHARED = 2  # stems of what is taken back
_BARE = 3  # words of "never mind": it is about what was said just before


@dataclass(slots=True)
class Ties:
    """``pairs``: the first candidate of each is told with the second only; ``barred``: never."""

    pairs: set[tuple[int, int]] = field(default_factory=set)
    barred: set[int] = field(default_factory=set)

    def tie(self, one: int, other: int | None) -> None:
        """Let a candidate not be told without another; None: nothing tells what it needs."""
        if other is None or abs(one - other) > REACH:
            self.barred.add(one)
        elif one != other:
            self.pairs.add((one, other))


def ties_of(candidates: Sequence[Candidate], units: Sequence[Unit]) -> Ties:
    """What binds the candidates of a dialogue."""
    ties = Ties()
    holding = {unit: i for i, one in enumerate(candidates) for unit in one.units}
    changes = _Changes(units)
    for i, one in enumerate(candidates):
        _tie_to_before(ties, units, holding, (i, one.units[0]))
        if changes.passes_over(one) or changes.corrects(one):
            ties.barred.add(i)
        for change in changes.of(one):
            if change not in one.units:
                ties.tie(i, _holder(holding, change, 1))
    while bound := {i for i, other in ties.pairs if other in ties.barred} - ties.barred:
        ties.barred |= bound
    ties.pairs = {pair for pair in ties.pairs if ties.barred.isdisjoint(pair)}
    return ties


def _tie_to_before(
    ties: Ties, units: Sequence[Unit], holding: Mapping[int, int], place: tuple[int, int]
) -> None:
    """Tie a candidate and what its first unit goes on with; ``place``: the numbers of both."""
    i, first = place
    if _is_under_condition(units, first):
        ties.tie(i, _holder(holding, first - 1, -1))
    if first and _LIMITS.match(units[first].text) and first - 1 in holding:
        ties.tie(i, holding[first - 1])
        ties.tie(holding[first - 1], i)
    if first - 1 in holding and _goes_on(units[first - 1], units[first]):
        ties.tie(i, holding[first - 1])
    if (before := _ended(units, holding, first)) is not None and abs(i - before) <= REACH:
        ties.tie(i, before)


def _goes_on(before: Unit, unit: Unit) -> bool:
    """Whether a unit is a clause without its main clause, or what came of an intention.

    "Because it was late." "I was going to call, but I lost the number."
    """
    if _BUT.match(unit.text) and before.turn == unit.turn:
        return _INTENDS.search(before.text) is not None
    said = normalised(_SAYS_NOTHING.sub("", unit.text)).rstrip(" .!…")
    is_next = before.turn == unit.turn or "?" in before.text
    is_reason = _REASON.match(said) is not None and "," not in said
    is_clause = _SUBORDINATE.match(said) is not None and not has_main_clause(said)
    return is_next and "?" not in unit.text and (is_reason or is_clause)


def _holder(holding: Mapping[int, int], unit: int, step: int) -> int | None:
    """The candidate that holds a unit, or one of the two next to it in a direction."""
    found = (holding.get(unit + step * n) for n in range(3))
    return next((one for one in found if one is not None), None)


def _is_under_condition(units: Sequence[Unit], i: int) -> bool:
    """Whether the unit before unit ``i`` names a condition of it, which it does not itself."""
    if not i:
        return False
    text, before = units[i].text, units[i - 1].text
    if _HANGS.match(text):
        return True
    is_open = _CONDITION.search(before) is not None and _CONDITION.search(text) is None
    is_open = is_open or ("?" in before and _THEN.match(before) is not None)
    return is_open and _THEN.match(text) is not None


def _ended(units: Sequence[Unit], holding: Mapping[int, int], i: int) -> int | None:
    """The candidate that unit ``i``, a few words without a verb, ends: "Last week. Twice."."""
    before, unit = units[i - 1], units[i]
    ends = i > 0 and before.turn == unit.turn and "?" not in unit.text and lacks_verb(unit.text)
    return holding.get(i - 1) if ends else None


def _is_but_half(text: str, after: str) -> bool:
    """Whether what stands behind denies a statement: "I tried, but I didn't"; a need stays one."""
    if not _BUT.match(after) or "?" in text or _NEEDS.search(text):
        return False
    return bool(_CONCEDES.match(text) or _INTENDS.search(text) or _FAILS.search(after))


class _Changes:
    """The units of a dialogue that refuse, correct, take back or change what others say."""

    def __init__(self, units: Sequence[Unit]) -> None:
        self._units = units
        self._starts: dict[int, int] = {}
        turns: dict[int, list[str]] = {}
        for j, unit in enumerate(units):
            self._starts.setdefault(unit.turn, j)
            turns.setdefault(unit.turn, []).append(unit.text)
        self._texts = {turn: " ".join(texts) for turn, texts in turns.items()}
        self._passed: dict[int, bool] = {}  # by turns: what is asked of each unit again
        self._corrected: dict[int, SaidValues | None] = {}
        # Whether a number, and whether a question, stands behind in the same turn.
        self._behind: list[tuple[bool, bool]] = [(False, False)] * len(units)
        for j in range(len(units) - 2, -1, -1):
            after = units[j + 1]
            if after.turn == units[j].turn:
                has_number, has_question = self._behind[j + 1]
                has_number = has_number or _NUMBER.search(after.text) is not None
                self._behind[j] = has_number, has_question or "?" in after.text
        self._values = [values_in(unit.text) for unit in units]
        self._kinds = [kinds_in(unit.text) for unit in units]
        self._asks = ["?" in unit.text or asks_for_change(unit.text) for unit in units]
        self._back = [takes_back(unit.text) for unit in units]

    def of(self, one: Candidate) -> Iterator[int]:
        """The numbers of the units that do so to a candidate."""
        i, units = one.units[-1], self._units
        unit = units[i]
        yield from self._refusals(one)
        yield from self._limits(i)
        yield from self._later(i)
        after = units[i + 1] if i + 1 < len(units) else unit
        if after.turn == unit.turn and (
            _CORRECTS.match(after.text) or _is_but_half(unit.text, after.text)
        ):
            yield i + 1
        for j in range(i + 1, min(len(units), i + _AHEAD)):
            if self._takes_back(i, j):
                yield j
            elif units[j].turn - unit.turn <= _SOON and self._moves(one, j):
                answer = self._starts.get(units[j].turn + 1)
                if answer is not None and agrees(units[answer].text):
                    yield j

    def _limits(self, i: int) -> Iterator[int]:
        """ "They want the photos again." "All of them?" "Just the last ones."."""
        unit = self._units[i]
        asked, answer = (self._starts.get(unit.turn + n, i) for n in (1, 2))
        is_asked = answer - asked == 1 and "?" in self._units[asked].text
        own = self._units[answer]
        if is_asked and own.speaker == unit.speaker and _ONLY.match(own.text):
            yield answer

    def _later(self, i: int) -> Iterator[int]:
        """Another number instead, "not that", or a refusal behind a short question."""
        unit, units = self._units[i], self._units
        ends = i + 1 == self._starts.get(unit.turn + 1)
        reply, own, third = (self._starts.get(unit.turn + n) for n in (1, 2, 3))
        if reply is None or "?" in unit.text:
            return
        numbers = {one.lower() for one in _NUMBER.findall(unit.text)}
        other = _NUMBER_ALONE.match(units[reply].text)
        is_last = bool(numbers) and not any(self._behind[i])
        if other and is_last and other[1].lower() not in numbers:
            yield reply
        if own is None or not ends or units[own].speaker != unit.speaker:
            return
        if _NOT_THAT.match(units[own].text):
            yield own
        if third is None or units[third].speaker != units[reply].speaker:
            return
        aside = units[reply:third]
        is_aside = "?" in units[reply].text and sum(one.words for one in aside) <= _ASIDE
        if is_aside and _NEVER.match(units[third].text):
            yield third

    def passes_over(self, one: Candidate) -> bool:
        """Whether a candidate is of a turn that offers, and the reply asks for another thing."""
        unit = self._units[one.units[0]]
        reply = self._starts.get(unit.turn + 1)
        if reply is None or self._units[reply].speaker == unit.speaker:
            return False
        if len(one.units) > 1 and not one.is_settled:
            return False
        if unit.turn not in self._passed:
            said, back = self._texts[unit.turn], self._texts[unit.turn + 1]
            is_answered = agrees(back) or _HELPS.search(back) is not None
            asks_other = bool(_OFFERS.search(said) and _ASKS_OTHER.search(back))
            self._passed[unit.turn] = asks_other and not is_answered
        return self._passed[unit.turn]

    def corrects(self, one: Candidate) -> bool:
        """Whether a candidate asks for confirmation, and the reply has another value instead."""
        unit = self._units[one.units[0 if one.is_settled else -1]]
        reply = self._starts.get(unit.turn + 1)
        if reply is None or self._units[reply].speaker == unit.speaker:
            return False
        if unit.turn not in self._corrected:
            said, back = self._texts[unit.turn], self._texts[unit.turn + 1]
            is_open = _CONFIRMS.search(said) is not None and not agrees(back)
            self._corrected[unit.turn] = said_values(back) if is_open else None
        other = self._corrected[unit.turn]
        return other is not None and said_values(unit.text).differ(other)

    def _takes_back(self, i: int, j: int) -> bool:
        if not self._back[j]:
            return False
        unit, later = self._units[i], self._units[j]
        terms = set(terms_of(unit.text))
        if later.words <= _BARE:
            return later.turn - unit.turn <= _SOON
        return len(terms & set(terms_of(later.text))) >= min(_SHARED, len(terms)) > 0

    def _moves(self, one: Candidate, j: int) -> bool:
        """Whether unit ``j`` asks for another value of the same kind: for another time."""
        own = one.units if one.is_settled else one.units[-1:]
        values = frozenset[str]().union(*(self._values[i] for i in own))
        kinds = set[str]().union(*(self._kinds[i] for i in own))
        others = self._values[j]
        is_other = bool(values) and bool(others) and values.isdisjoint(others)
        if is_other and not asks_for_change(self._units[j].text):
            said = set(terms_of(self._texts[self._units[one.units[-1]].turn]))
            is_other = not speaks_of_other(self._units[j].text, said)
        return self._asks[j] and is_other and bool(kinds & self._kinds[j])

    def _refusals(self, one: Candidate) -> Iterator[int]:
        """The first unit of a reply that refuses what is asked or planned, or wants another."""
        i, units = one.units[-1], self._units
        reply = self._starts.get(units[i].turn + 1, len(units))
        cues = (CUES[name] for name in _TENTATIVE)
        text = units[i].text
        is_plan = "?" in text or (not one.is_settled and _TELLS.search(one.text))
        is_first = bool(is_plan) or any(cue.search(text) for cue in cues)
        if "?" not in text and self._behind[i][1]:
            is_first = False  # the reply answers what is asked behind
        for j in range(reply, len(units)):
            text = units[j].text
            if units[j].turn != units[reply].turn or units[j].speaker == units[i].speaker:
                return
            refuses = _REFUSES.match(text) and "?" not in text
            if is_first and (refuses or declines(text)):
                yield j
                return
            if self._values[i] and (_WANTS_ANOTHER.search(text) or self._moves(one, j)):
                yield j
                return
            is_first = is_first and units[j].words <= _REMARK
