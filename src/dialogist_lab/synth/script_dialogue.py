"""A made-up customer-service corpus: what it is not is in docs/reference/synthetic-corpus.md.

Each pair of dialogue and summary is a pure function of (seed, part, number):

make_plan -> choose_templates -> word_parts -> Composer -> Dialogue.
"""

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Literal, NamedTuple

from dialogist.errors import UsageError
from dialogist.records import Dialogue, Utterance
from dialogist_lab.synth import script_grammar as grammar
from dialogist_lab.synth.script_grammar import Local, RandomDraw, Shared, seed_of
from dialogist_lab.synth.script_plan import (
    DialoguePlan,
    PlanStep,
    WordingPart,
    choose_templates,
    combination_of,
    make_plan,
    word_parts,
)

VERSION = 1
"""Goes up whenever the same seed gives other pairs."""

MOST_PAIRS = 1_000_000
"""Pairs of one seed and part before the smallest value space would be used up."""

CorpusPart = Literal["train", "dev", "test"]
PARTS: tuple[CorpusPart, ...] = ("train", "dev", "test")
_OF_EIGHT: tuple[CorpusPart, ...] = ("train",) * 4 + ("dev",) * 2 + ("test",) * 2
_REDRAWS = 64  # a miss of all has a chance of at most 0.75 ** 64

SynthTurn = tuple[str, str]
"""``A`` or ``U``, and what is said."""

_ROLES = {"A": "agent", "U": "user"}
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
_AGAIN = {role: grammar.wordings(texts) for role, texts in grammar.TALK["repeat"].items()}


def generate_pairs(
    pairs: int, seed: int = 1, part: CorpusPart = "train", start: int = 0
) -> Iterator[Dialogue]:
    """Make pairs ``start`` to ``start + pairs - 1``, one after the other; nothing is kept.

    The metadata hold ``key_points``, ``topics`` (key point and sub-summary each), the values of
    the summary (``entities``), those that were corrected (``superseded``), stances given up
    (``contradicted``), the ``issue`` and the ``combination`` of templates.

    Raises UsageError: a number is negative or beyond what the unique values last for.
    """
    if min(pairs, start, seed) < 0:
        raise UsageError(f"{pairs} pairs from {start} on, seed {seed}: give 0 or more of each")
    if start + pairs > MOST_PAIRS:
        raise UsageError(
            f"{start + pairs} pairs: at most {MOST_PAIRS}, then order ids and the like would "
            "return; take another seed for more"
        )
    return (_pair(index, seed, part) for index in range(start, start + pairs))


def part_of(combination: int) -> CorpusPart:
    """The part that a combination belongs to: half of them train, a quarter each dev and test."""
    return _OF_EIGHT[combination % 8]


def _pair(index: int, seed: int, part: CorpusPart) -> Dialogue:
    """Draw plans until one has a wording that belongs to the part: nearly always the first."""
    for attempt in count():
        draw = RandomDraw(seed_of(VERSION, "en", seed, part, index, attempt))
        plan = make_plan(draw)
        about = plan.about
        unique = grammar.Unique(seed, 3 * index + PARTS.index(part))
        given = {"type": about["type"], "keyword": draw.pick(about["keywords"])}
        shared = Shared(unique, draw, **given)
        for _ in range(_REDRAWS):
            choices = choose_templates(draw, plan)
            combination = combination_of(plan, choices)
            if part_of(combination) == part:
                break
        else:
            continue
        parts = word_parts(draw, plan, choices, shared)
        composer = Composer(draw, plan, shared)
        turns = composer.compose(parts)
        values = dict.fromkeys(
            (slot, value)
            for wording in parts
            for local in (wording.local, *wording.details.values())
            for slot, value in local.items()
            if slot not in given
        )
        return Dialogue(
            tuple(Utterance(_ROLES[role], text, _ROLES[role]) for role, text in turns),
            id=f"synth-en-{seed}-{part}-{index}",
            references=(" ".join(wording.text for wording in parts),),
            metadata={
                "issue": plan.issue,
                "key_points": list(plan.labels),
                "topics": [[wording.label, wording.text] for wording in parts],
                "entities": [[slot, value] for slot, value in values],
                "superseded": [[slot, value] for slot, value in composer.superseded],
                "contradicted": list(composer.contradicted),
                "combination": f"{combination:016x}",
            },
        )
    raise AssertionError("there is always another attempt")


class _Event(NamedTuple):
    """Turns that came up together, at a moment from 0 to 1."""

    at: float
    turns: list[SynthTurn]


class Composer:
    """Makes the dialogue of one pair.

    Attributes:
        superseded: (slot, value) that were corrected. contradicted: key points of stances that
            were given up. Neither must be in the summary.
    """

    def __init__(self, draw: RandomDraw, plan: DialoguePlan, shared: Shared) -> None:
        self.draw, self.plan, self.shared = draw, plan, shared
        self.superseded: list[tuple[str, str]] = []
        self.contradicted: list[str] = []
        self._events: list[_Event] = []
        self._openings: list[grammar.Variants] = []
        self._repeatable: list[tuple[_Event, WordingPart]] = []

    def compose(self, parts: Sequence[WordingPart]) -> list[SynthTurn]:
        """Let every part come up, then bring the dialogue to its length."""
        question = next(part for part in parts if part.label == "Question description")
        needed = grammar.written_of(question.content).slots
        known = {slot for part in parts for slot in part.local}
        # First words of the user that name all the summary needs, and nothing it does not have.
        lines = map(grammar.line_of, self.plan.about["open"])
        self._openings = [line.variants for line in lines if needed <= line.slots <= known]
        chained = sum(step.chained for step in self.plan.steps)
        ordered = iter(sorted(self.draw.between(0.45, 0.93) for _ in range(chained)))
        times = [
            next(ordered) if step.chained else self.draw.between(step.low, step.high)
            for step in self.plan.steps
        ]
        for part, at in zip(parts, times, strict=True):
            if part.label == "Question description":
                self._question(part, at)
            elif part.content:
                self._content(part, at)
            elif grammar.POINTS[part.label].get("fix") and self.draw.chance(_FIXED):
                self._mistake(part, at)
            else:
                self._add(at, self._exchange(self.draw.pick(part.exchanges), part.local))
        self._flip(self.plan.steps, times)
        self._fill()
        self._events.sort(key=lambda event: event.at)
        return self._joined([turn for event in self._events for turn in event.turns])

    def _question(self, part: WordingPart, at: float) -> None:
        if self.draw.chance(_LATE):
            at = self.draw.between(0.25, 0.4)
        first = self._lead(part.label) + self._opening()
        details = [self._said(content, local) for content, local in part.details.items()]
        if self.draw.chance(_STORIES):
            more = self.draw.pick(_RAMBLES)
            pool, start = grammar.TALK["ramble"], self.draw.below(len(grammar.TALK["ramble"]))
            rambles = [pool[(start + i) % len(pool)] for i in range(more)]
            details += [self.draw.pick(grammar.line_of(ramble).variants) for ramble in rambles]
            texts = [text for _, text in sorted((self.draw.random(), text) for text in details)]
            self._add(at, [("U", " ".join([first, *texts]))])
            return
        self._add(at, [("U", first)])
        for detail in details:
            self._add(self.draw.between(at, 0.7), [("U", detail)])

    def _content(self, part: WordingPart, at: float) -> None:
        """What depends on the issue; its details follow at once: they are about nothing else."""
        role = "U" if part.label in _BY_USER else "A"
        said = self._said(part.content, part.local)
        turns = [(role, self._lead(part.label) + said)]
        for content, local in part.details.items():
            more = self._said(content, local)
            if self.draw.chance(0.5):
                turns[-1] = (role, f"{turns[-1][1]} {more}")
            else:
                turns.append((role, more))
        event = self._add(at, turns)
        if role == "A":
            self._repeatable.append((event, part))

    def _mistake(self, part: WordingPart, at: float) -> None:
        """The user gives a wrong value, and puts it right later."""
        fix = grammar.exchange_of(self.draw.pick(grammar.POINTS[part.label]["fix"]))
        [slot] = fix.slots
        right = wrong = self.shared[slot]
        while wrong == right:
            unique = self.shared.unique
            wrong = unique.make(slot, use=1) if slot in grammar.UNIQUE else self.shared.drawn(slot)
        self.superseded.append((slot, wrong))
        values = Local(self.shared)
        values[slot] = wrong
        self._add(at, self._exchange(self.draw.pick(part.exchanges), values))
        self._add(self.draw.between(at, 0.96), self._exchange(fix, part.local))

    def _flip(self, steps: Sequence[PlanStep], times: Sequence[float]) -> None:
        """Have a stance be the opposite at first, with no Solution in between."""
        before = 0.45
        for step, at in zip(steps, times, strict=True):
            opposite = _OPPOSITES.get(step.label)
            if opposite and step.rank != _REFUSED_FIRST and self.draw.chance(_FLIPPED):
                notes = range(len(grammar.POINTS[opposite]["note"]))
                says = self.draw.pick([grammar.exchanges_for(opposite, note) for note in notes])
                moment = self.draw.between(before, at)
                self._add(moment, self._exchange(self.draw.pick(says), Local(self.shared)))
                self.contradicted.append(opposite)
            if step.chained:
                before = at

    def _fill(self) -> None:
        """Greet, then add small talk and repetitions until there are turns enough."""
        voices = {role for event in self._events for role, _ in event.turns}
        if len(voices) < 2 or self.draw.chance(_GREETED):
            self._add(-1.0, self._small_talk("greet"))
        turns = sum(len(event.turns) for event in self._events)
        while turns < self.plan.utterances:
            if self.draw.chance(_REPEATED):
                turns += self._repeat()
                continue
            chat = self._small_talk("chat")
            turns += len(chat)
            event = self.draw.pick(self._events)
            if event.at >= 0 and len(event.turns) > 1 and self.draw.chance(_INTERRUPTED):
                event.turns[1:1] = chat
            else:
                self._add(self.draw.between(0.02, 0.97), chat)

    def _repeat(self) -> int:
        """Have something said again; how many turns that takes."""
        if self._repeatable and self.draw.chance(0.5):
            event, part = self.draw.pick(self._repeatable)
            said = self._said(part.content, part.local)
            again = self.draw.pick(_AGAIN["agent"]) + said
            event.turns.extend([("U", self.draw.pick(_AGAIN["pardon"])), ("A", again)])
            return 2
        again = self.draw.pick(_AGAIN["user"]) + self._opening()
        self._add(self.draw.between(0.4, 0.9), [("U", again)])
        return 1

    def _joined(self, turns: list[SynthTurn]) -> list[SynthTurn]:
        """Join neighbours of one speaker, as far as there are more turns than planned."""
        while len(turns) > self.plan.utterances:
            places = [i for i in range(1, len(turns)) if turns[i][0] == turns[i - 1][0]]
            if not places:
                break
            place = self.draw.pick(places)
            role, text = turns[place - 1]
            turns[place - 1 : place + 1] = [(role, f"{text} {turns[place][1]}")]
        return turns

    def _lead(self, label: str) -> str:
        return self.draw.pick(grammar.wordings(grammar.FRAMES["lead"][label]))

    def _opening(self) -> str:
        return self.draw.pick(self.draw.pick(self._openings)).format_map(self.shared)

    def _said(self, content: str, local: Local) -> str:
        return self.draw.pick(grammar.said_of(content)).format_map(local)

    def _small_talk(self, kind: str) -> list[SynthTurn]:
        return self._exchange(grammar.exchange_of(self.draw.pick(grammar.TALK[kind])), self.shared)

    def _exchange(
        self, exchange: grammar.ScriptExchange, values: dict[str, str]
    ) -> list[SynthTurn]:
        return [(role, self.draw.pick(each).format_map(values)) for role, each in exchange.turns]

    def _add(self, at: float, turns: list[SynthTurn]) -> _Event:
        event = _Event(at, turns)
        self._events.append(event)
        return event
