"""A plan told as a dialogue and as its summary, in one of many wordings."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Literal

from dialogist_lab.synth.grammar import (
    Content,
    Grammar,
    Point,
    RandomDraw,
    ScriptExchange,
    Variants,
)
from dialogist_lab.synth.plan import UNIQUE, DialoguePlan, Local, PlanStep, Shared, money

WordingSplit = Literal["train", "dev", "test"]
SPLITS: tuple[WordingSplit, ...] = ("train", "dev", "test")

_OF_EIGHT: tuple[WordingSplit, ...] = ("train",) * 4 + ("dev",) * 2 + ("test",) * 2
_REDRAWS = 64  # a miss of all has a chance of at most 0.75 ** 64
_LONGEST = 50  # words of a sub-summary (section 4.1: 2.3% are longer) ...
_LONGER = 0.2  # ... which this share of summaries need not keep to


@dataclass(slots=True)
class WordingPart:
    """A key point with its words: the sub-summary's ``sentences``, and what can be said of it.

    ``exchanges`` fit the first sentence; ``content`` is what is said where the key point depends on
    the issue. ``details`` stand behind further sentences, each with its own numbers. ``size`` is in
    words.
    """

    label: str
    sentences: list[str]
    local: Local
    size: int
    content: Content | None = None
    exchanges: tuple[ScriptExchange, ...] = ()
    details: list[tuple[Content, Local]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Choice:
    """Where a template lies: enough to tell two combinations apart, cheap to draw."""

    pool: tuple[Content, ...]
    content: int
    line: int
    variant: int


@dataclass(frozen=True, slots=True)
class Wording:
    """The parts of a summary in order, and its combination as 16 hexadecimal digits."""

    parts: tuple[WordingPart, ...]
    combination: str


def split_of(combination: str) -> WordingSplit:
    """The part that a combination belongs to: half of them train, a quarter each dev and test."""
    return _OF_EIGHT[int(combination, 16) % 8]


def choose_wording(
    draw: RandomDraw, grammar: Grammar, plan: DialoguePlan, split: WordingSplit, shared: Shared
) -> Wording | None:
    """Draw the sentences of a summary; None if the plan has hardly any combination for the part."""
    for _ in range(_REDRAWS):
        choices = _choices(draw, grammar, plan)
        combination = _combination(grammar, plan, choices)
        if split_of(combination) == split:
            break
    else:
        return None
    parts = [
        _part(grammar, plan, position, choice, shared) for position, choice in enumerate(choices)
    ]
    _lengthen(draw, grammar, plan, parts)
    return Wording(tuple(parts), combination)


def _choices(draw: RandomDraw, grammar: Grammar, plan: DialoguePlan) -> list[_Choice]:
    choices: list[_Choice] = []
    used: set[tuple[int, int]] = set()
    answer = -1
    for label in plan.labels:
        pool = plan.issue.contents.get(label, ())
        if label == "Further question":
            pool = grammar.questions
            content = answer = draw.below(len(pool))
        elif label == "Solution" and answer >= 0:
            pool, content, answer = grammar.answers, answer, -1
        else:
            content = draw.below(len(pool)) if pool else 0
            while pool and (id(pool), content) in used:
                content = (content + 1) % len(pool)  # two Solutions are different ones
            used.add((id(pool), content))
        lines = grammar.frames[label] if label in grammar.frames else grammar.points[label].notes
        line = draw.below(len(lines))
        choices.append(_Choice(pool, content, line, draw.below(len(lines[line].variants))))
    return choices


def _combination(grammar: Grammar, plan: DialoguePlan, choices: Sequence[_Choice]) -> str:
    start = plan.labels.index("Question description")
    said: list[object] = [grammar.language, plan.issue.name]
    beside = [start + 1] if start + 1 < len(choices) else [start - 1] if start else []
    for position in (start, *beside):
        choice = choices[position]
        written = choice.pool[choice.content].written.variants[0] if choice.pool else ""
        said += [plan.labels[position], written, choice.line]
    return blake2b(repr(said).encode(), digest_size=8).hexdigest()


def _part(
    grammar: Grammar, plan: DialoguePlan, position: int, choice: _Choice, shared: Shared
) -> WordingPart:
    label, local = plan.labels[position], Local(shared)
    if label not in grammar.frames:
        point = grammar.points[label]
        line = point.notes[choice.line]
        note = line.variants[choice.variant]
        sentences = [note.format_map(local)]
        return WordingPart(label, sentences, local, line.size, exchanges=point.says[choice.line])
    content = choice.pool[choice.content]
    frame = grammar.frames[label][choice.line]
    note = frame.variants[choice.variant].replace("{}", content.written.variants[0])
    size = frame.size + content.written.size
    return WordingPart(label, [note.format_map(local)], local, size, content)


def _lengthen(
    draw: RandomDraw, grammar: Grammar, plan: DialoguePlan, parts: list[WordingPart]
) -> None:
    """Add further sentences until the summary is about as long as planned."""
    open_ = {
        i: list(_further(grammar, plan, part.label))
        for i, part in enumerate(parts)
        if part.label in grammar.more
    }
    longest = 1_000 if draw.chance(_LONGER) else _LONGEST
    words = sum(part.size for part in parts)
    used: set[int] = set()
    while open_ and words < plan.words:
        place = draw.pick(tuple(open_))
        part, contents = parts[place], open_[place]
        content = contents.pop(draw.below(len(contents)))
        size = content.written.size
        if not contents:
            del open_[place]
        if id(content) in used or part.size + size > longest or size > 1.7 * (plan.words - words):
            continue
        used.add(id(content))  # the same sentence twice would not say of which Solution
        part.details.append((content, Local(part.local.shared)))
        part.size += size
        words += size
    for part in parts:  # details stand in the templates' order, whenever they were told
        told = {id(content): local for content, local in part.details}
        part.sentences += [
            content.written.variants[0].format_map(told[id(content)])
            for content in _further(grammar, plan, part.label)
            if id(content) in told
        ]


def _further(grammar: Grammar, plan: DialoguePlan, label: str) -> tuple[Content, ...]:
    own = plan.issue.details if label == "Question description" else ()
    return own + grammar.more.get(label, ())


SynthTurn = tuple[str, str]
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
    turns: list[SynthTurn]


@dataclass(slots=True)
class SynthConversation:
    """A dialogue, and what in it must not be in the summary.

    ``superseded`` are (slot, value) that were corrected; ``contradicted`` the key points of
    stances that were given up.
    """

    turns: list[SynthTurn] = field(default_factory=list)
    superseded: list[tuple[str, str]] = field(default_factory=list)
    contradicted: list[str] = field(default_factory=list)


class Composer:
    """Makes the dialogue of one pair."""

    def __init__(
        self, draw: RandomDraw, grammar: Grammar, plan: DialoguePlan, shared: Shared
    ) -> None:
        self.draw, self.grammar, self.plan, self.shared = draw, grammar, plan, shared
        self.result = SynthConversation()
        self.events: list[_Event] = []
        self.openings: tuple[Variants, ...] = ()
        self.repeatable: list[tuple[_Event, WordingPart]] = []

    def compose(self, parts: Sequence[WordingPart]) -> SynthConversation:
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

    def _fitting_openings(self, parts: Sequence[WordingPart]) -> tuple[Variants, ...]:
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

    def _come_up(self, part: WordingPart, step: PlanStep, at: float) -> None:
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

    def _question(self, part: WordingPart, at: float) -> None:
        if self.draw.chance(_LATE):
            at = self.draw.between(0.25, 0.4)
        first = self.draw.pick(self.grammar.leads[part.label]) + self._opening()
        details = [self._said(content.said.variants, local) for content, local in part.details]
        if self.draw.chance(_STORIES):
            told = details + self._rambles(self.draw.pick(_RAMBLES))
            texts = [text for _, text in sorted((self.draw.random(), text) for text in told)]
            self._add(at, [("U", self._text([first, *texts]))])
            return
        self._add(at, [("U", first)])
        for detail in details:
            self._add(self.draw.between(at, 0.7), [("U", detail)])

    def _content(self, part: WordingPart, at: float) -> None:
        """What depends on the issue; its details follow at once: they are about nothing else."""
        assert part.content is not None
        role = "U" if part.label in _BY_USER else "A"
        said = self._said(part.content.said.variants, part.local)
        turns = [(role, self.draw.pick(self.grammar.leads[part.label]) + said)]
        for content, local in part.details:
            more = self._said(content.said.variants, local)
            if self.draw.chance(0.5):
                turns[-1] = (role, self._text([turns[-1][1], more]))
            else:
                turns.append((role, more))
        event = self._add(at, turns)
        if role == "A":
            self.repeatable.append((event, part))

    def _mistake(self, part: WordingPart, point: Point, at: float) -> float:
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
        voices = {role for event in self.events for role, _ in event.turns}
        if len(voices) < 2 or self.draw.chance(_GREETED):
            self._add(-1.0, self._exchange(self.draw.pick(self.grammar.greet), self.shared))
        count = sum(len(event.turns) for event in self.events)
        while count < self.plan.utterances:
            if self.draw.chance(_REPEATED):
                turns = self._repetition()
            else:
                turns = self._exchange(self.draw.pick(self.grammar.chat), self.shared)
                self._interject(turns)
            count += len(turns)

    def _interject(self, turns: list[SynthTurn]) -> None:
        event = self.draw.pick(self.events)
        if event.at >= 0 and len(event.turns) > 1 and self.draw.chance(_INTERRUPTED):
            event.turns[1:1] = turns
        else:
            self._add(self.draw.between(0.02, 0.97), turns)

    def _repetition(self) -> list[SynthTurn]:
        repeat = self.grammar.repeat
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

    def _joined(self, turns: list[SynthTurn]) -> list[SynthTurn]:
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

    def _rambles(self, count: int) -> list[str]:
        pool = self.grammar.ramble
        first = self.draw.below(len(pool))
        return [self.draw.pick(pool[(first + i) % len(pool)].variants) for i in range(count)]

    def _said(self, variants: Variants, local: Local) -> str:
        return self.draw.pick(variants).format_map(local)

    def _exchange(self, exchange: ScriptExchange, values: dict[str, str]) -> list[SynthTurn]:
        return [(role, self.draw.pick(each).format_map(values)) for role, each in exchange.turns]

    def _add(self, at: float, turns: list[SynthTurn]) -> _Event:
        event = _Event(at, turns)
        self.events.append(event)
        return event

    def _text(self, sentences: Sequence[str]) -> str:
        return ("" if self.grammar.language == "zh" else " ").join(sentences)
