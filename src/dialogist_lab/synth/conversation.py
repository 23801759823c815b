"""The dialogue behind a summary: its key points scattered, interrupted, taken back, repeated.

Rules that make the summary follow from the dialogue: of two values the one given as a correction
counts; of two stances (agree or not, close or not) the last one counts, and an earlier one is
written only if another Solution was given in between.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from dialogist_lab.synth.draw import Draw
from dialogist_lab.synth.grammar import Grammar, Point
from dialogist_lab.synth.lines import Exchange, Variants
from dialogist_lab.synth.plan import Plan, Step
from dialogist_lab.synth.values import UNIQUE, Local, Shared, money
from dialogist_lab.synth.wording import Part

Turn = tuple[str, str]
"""``A`` or ``U``, and what is said."""

_BY_USER = frozenset({"Question description", "User's appeal", "Further question"})
_OPPOSITES = {
    "User approval": "User disapproval",
    "User disapproval": "User approval",
    "Close the order": "Keep the order open",
    "Keep the order open": "Close the order",
}
_REFUSED_FIRST = 45  # rank of a disapproval that another Solution answers: stands as it is
_FIXED = 0.25  # share of values that are given wrong at first
_FLIPPED = 0.18  # share of stances that were the opposite before
_LATE = 0.15  # share of dialogues in which other things come up before the question
_STORIES = 0.6  # share of dialogues in which the user tells the details in one go ...
_RAMBLES = (0, 1, 2, 3, 4)  # ... with so much about other things
_GREETED = 0.85
_INTERRUPTED = 0.2  # share of small talk that breaks into something
_REPEATED = 0.25  # share of what fills a dialogue up that repeats something


@dataclass(slots=True)
class _Event:
    """Turns that came up together, at a moment from 0 to 1."""

    at: float
    turns: list[Turn]


@dataclass(slots=True)
class Conversation:
    """A dialogue, and what in it must not be in the summary.

    ``superseded`` are (slot, value) that were corrected; ``contradicted`` the key points of
    stances that were given up.
    """

    turns: list[Turn] = field(default_factory=list)
    superseded: list[tuple[str, str]] = field(default_factory=list)
    contradicted: list[str] = field(default_factory=list)


class Composer:
    """Makes the dialogue of one pair."""

    def __init__(self, draw: Draw, grammar: Grammar, plan: Plan, shared: Shared) -> None:
        self.draw, self.grammar, self.plan, self.shared = draw, grammar, plan, shared
        self.result = Conversation()
        self.events: list[_Event] = []
        self.openings: tuple[Variants, ...] = ()
        self.repeatable: list[tuple[_Event, Part]] = []

    def compose(self, parts: Sequence[Part]) -> Conversation:
        """Let every part come up, then bring the dialogue to its length."""
        self.openings = self._fitting_openings(parts)
        times = self._times()
        for part, step, at in zip(parts, self.plan.steps, times, strict=True):
            self._come_up(part, step, at)
        self._flip(times)
        self._fill()
        self.events.sort(key=lambda event: event.at)
        self.result.turns = self._joined([turn for event in self.events for turn in event.turns])
        return self.result

    def _fitting_openings(self, parts: Sequence[Part]) -> tuple[Variants, ...]:
        """First words of the user that name all the summary needs, and nothing it does not have."""
        asked = next(part for part in parts if part.label == "Question description")
        needed = asked.content.written.slots if asked.content else frozenset()
        known = {slot for part in parts for slot in part.local}
        lines = self.plan.issue.opens
        return tuple(line.variants for line in lines if needed <= line.slots <= known)

    def _times(self) -> list[float]:
        chained = sum(step.chained for step in self.plan.steps)
        ordered = iter(sorted(self.draw.between(0.45, 0.93) for _ in range(chained)))
        return [
            next(ordered) if step.chained else self.draw.between(step.low, step.high)
            for step in self.plan.steps
        ]

    def _come_up(self, part: Part, step: Step, at: float) -> None:
        if part.label == "Question description":
            self._question(part, at)
        elif part.content is not None:
            self._content(part, at)
        else:
            point = self.grammar.points[part.label]
            if point.fixes and self.draw.chance(_FIXED):
                at = self._mistake(part, point, at)
            else:
                self._add(at, self._exchange(self.draw.pick(part.exchanges), part.local))

    def _question(self, part: Part, at: float) -> None:
        if self.draw.chance(_LATE):
            at = self.draw.between(0.25, 0.4)
        first = self._lead(part.label) + self._opening()
        details = [self._said(content.said.variants, local) for content, local in part.details]
        if self.draw.chance(_STORIES):
            rambles = self._rambles(self.draw.pick(_RAMBLES))
            self._add(at, [("U", self._text([first, *_shuffled(self.draw, details + rambles)]))])
            return
        self._add(at, [("U", first)])
        for detail in details:
            self._add(self.draw.between(at, 0.7), [("U", detail)])

    def _content(self, part: Part, at: float) -> None:
        """What depends on the issue; its details follow at once: they are about nothing else."""
        assert part.content is not None
        role = "U" if part.label in _BY_USER else "A"
        said = self._said(part.content.said.variants, part.local)
        turns = [(role, self._lead(part.label) + said)]
        for content, local in part.details:
            more = self._said(content.said.variants, local)
            if self.draw.chance(0.5):
                turns[-1] = (role, self._text([turns[-1][1], more]))
            else:
                turns.append((role, more))
        event = self._add(at, turns)
        if role == "A":
            self.repeatable.append((event, part))

    def _mistake(self, part: Part, point: Point, at: float) -> float:
        """The user gives a wrong value, and puts it right later. Returns when."""
        fix = self.draw.pick(point.fixes)
        (slot,) = fix.slots
        wrong = Local(self.shared)
        wrong[slot] = self._other(slot)
        self.result.superseded.append((slot, wrong[slot]))
        self._add(at, self._exchange(self.draw.pick(part.exchanges), wrong))
        at = self.draw.between(at, 0.96)
        self._add(at, self._exchange(fix, part.local))
        return at

    def _other(self, slot: str) -> str:
        if slot in UNIQUE:
            return self.shared.unique.make(slot, use=1)
        words = self.grammar.words.get(slot, ())
        while True:
            value = self.draw.pick(words) if words else money(self.draw, self.grammar.language)
            if value != self.shared[slot]:
                return value

    def _flip(self, times: list[float]) -> None:
        """Have a stance be the opposite at first, with no Solution in between."""
        before = 0.45
        for step, at in zip(self.plan.steps, times, strict=True):
            opposite = _OPPOSITES.get(step.label)
            if opposite and step.rank != _REFUSED_FIRST and self.draw.chance(_FLIPPED):
                says = self.draw.pick(self.grammar.points[opposite].says)
                moment = self.draw.between(before, at)
                self._add(moment, self._exchange(self.draw.pick(says), Local(self.shared)))
                self.result.contradicted.append(opposite)
            if step.chained:
                before = at

    def _fill(self) -> None:
        """Greet, then add small talk and repetitions until there are turns enough."""
        talk = self.grammar.talk
        voices = {role for event in self.events for role, _ in event.turns}
        if len(voices) < 2 or self.draw.chance(_GREETED):
            self._add(-1.0, self._exchange(self.draw.pick(talk.greet), self.shared))
        count = sum(len(event.turns) for event in self.events)
        while count < self.plan.utterances:
            if self.draw.chance(_REPEATED):
                turns = self._repetition()
            else:
                turns = self._exchange(self.draw.pick(talk.chat), self.shared)
                self._interject(turns)
            count += len(turns)

    def _interject(self, turns: list[Turn]) -> None:
        event = self.draw.pick(self.events)
        if event.at >= 0 and len(event.turns) > 1 and self.draw.chance(_INTERRUPTED):
            event.turns[1:1] = turns
        else:
            self._add(self.draw.between(0.02, 0.97), turns)

    def _repetition(self) -> list[Turn]:
        repeat = self.grammar.talk.repeat
        if self.repeatable and self.draw.chance(0.5):
            event, part = self.draw.pick(self.repeatable)
            assert part.content is not None
            said = self._said(part.content.said.variants, part.local)
            again = self.draw.pick(repeat["agent"]) + said
            turns = [("U", self.draw.pick(repeat["pardon"])), ("A", again)]
            event.turns += turns
            return turns
        turns = [("U", self.draw.pick(repeat["user"]) + self._opening())]
        self._add(self.draw.between(0.4, 0.9), turns)
        return turns

    def _joined(self, turns: list[Turn]) -> list[Turn]:
        """Join neighbours of one speaker, as far as there are more turns than planned."""
        excess = len(turns) - self.plan.utterances
        while excess > 0:
            places = [i for i in range(1, len(turns)) if turns[i][0] == turns[i - 1][0]]
            if not places:
                break
            place = self.draw.pick(places)
            role, text = turns[place - 1]
            turns[place - 1 : place + 1] = [(role, self._text([text, turns[place][1]]))]
            excess -= 1
        return turns

    def _opening(self) -> str:
        return self.draw.pick(self.draw.pick(self.openings)).format_map(self.shared)

    def _lead(self, label: str) -> str:
        return self.draw.pick(self.grammar.leads[label])

    def _rambles(self, count: int) -> list[str]:
        pool = self.grammar.talk.ramble
        first = self.draw.below(len(pool))
        return [self.draw.pick(pool[(first + i) % len(pool)].variants) for i in range(count)]

    def _said(self, variants: Variants, local: Local) -> str:
        return self.draw.pick(variants).format_map(local)

    def _exchange(self, exchange: Exchange, values: dict[str, str]) -> list[Turn]:
        return [(role, self.draw.pick(each).format_map(values)) for role, each in exchange.turns]

    def _add(self, at: float, turns: list[Turn]) -> _Event:
        event = _Event(at, turns)
        self.events.append(event)
        return event

    def _text(self, sentences: Sequence[str]) -> str:
        return ("" if self.grammar.language == "zh" else " ").join(sentences)


def _shuffled(draw: Draw, texts: list[str]) -> list[str]:
    return [text for _, text in sorted((draw.random(), text) for text in texts)]
