"""The summary's sentences, and which part of the corpus may have them.

What the summary says of its question and of the key point beside it, template by template, is its
combination. A hash deals each combination to one part, whatever the seed: a model never saw in
training how these sentences stand together in the test data.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Literal

from dialogist_lab.synth.draw import Draw
from dialogist_lab.synth.grammar import Grammar
from dialogist_lab.synth.lines import Content, Exchange
from dialogist_lab.synth.plan import Plan
from dialogist_lab.synth.values import Local, Shared

Split = Literal["train", "dev", "test"]
SPLITS: tuple[Split, ...] = ("train", "dev", "test")

_OF_EIGHT: tuple[Split, ...] = ("train",) * 4 + ("dev",) * 2 + ("test",) * 2
_REDRAWS = 64  # a miss of all has a chance of at most 0.75 ** 64
_LONGEST = 50  # words of a sub-summary (section 4.1: 2.3% are longer) ...
_LONGER = 0.2  # ... which this share of summaries need not keep to


@dataclass(slots=True)
class Part:
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
    exchanges: tuple[Exchange, ...] = ()
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

    parts: tuple[Part, ...]
    combination: str


def split_of(combination: str) -> Split:
    """The part that a combination belongs to: half of them train, a quarter each dev and test."""
    return _OF_EIGHT[int(combination, 16) % 8]


def choose_wording(
    draw: Draw, grammar: Grammar, plan: Plan, split: Split, shared: Shared
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


def _choices(draw: Draw, grammar: Grammar, plan: Plan) -> list[_Choice]:
    choices: list[_Choice] = []
    used: set[tuple[int, int]] = set()
    answer = -1
    for label in plan.labels:
        pool = _pool(grammar, plan, label)
        if label == "Further question":
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


def _pool(grammar: Grammar, plan: Plan, label: str) -> tuple[Content, ...]:
    if label == "Further question":
        return grammar.questions
    return plan.issue.contents.get(label, ())


def _combination(grammar: Grammar, plan: Plan, choices: Sequence[_Choice]) -> str:
    start = plan.labels.index("Question description")
    said: list[object] = [grammar.language, plan.issue.name]
    beside = [start + 1] if start + 1 < len(choices) else [start - 1] if start else []
    for position in (start, *beside):
        choice = choices[position]
        written = choice.pool[choice.content].written.variants[0] if choice.pool else ""
        said += [plan.labels[position], written, choice.line]
    return blake2b(repr(said).encode(), digest_size=8).hexdigest()


def _part(grammar: Grammar, plan: Plan, position: int, choice: _Choice, shared: Shared) -> Part:
    label, local = plan.labels[position], Local(shared)
    if label not in grammar.frames:
        point = grammar.points[label]
        line = point.notes[choice.line]
        note = line.variants[choice.variant]
        sentences = [note.format_map(local)]
        return Part(label, sentences, local, line.size, exchanges=point.says[choice.line])
    content = choice.pool[choice.content]
    frame = grammar.frames[label][choice.line]
    note = frame.variants[choice.variant].replace("{}", content.written.variants[0])
    size = frame.size + content.written.size
    return Part(label, [note.format_map(local)], local, size, content)


def _lengthen(draw: Draw, grammar: Grammar, plan: Plan, parts: list[Part]) -> None:
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
    for part in parts:
        _write_details(part, _further(grammar, plan, part.label))


def _write_details(part: Part, order: Sequence[Content]) -> None:
    """In the summary details stand in the templates' order, whenever they were told."""
    told = {id(content): (content, local) for content, local in part.details}
    for content in order:
        if found := told.get(id(content)):
            part.sentences.append(content.written.variants[0].format_map(found[1]))


def _further(grammar: Grammar, plan: Plan, label: str) -> tuple[Content, ...]:
    own = plan.issue.details if label == "Question description" else ()
    return own + grammar.more.get(label, ())
