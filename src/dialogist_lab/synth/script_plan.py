"""The plan of a made-up dialogue: its issue, its key points in order, the words of its summary."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dialogist_lab.synth import script_grammar as grammar
from dialogist_lab.synth.script_grammar import Local, RandomDraw, Shared, seed_of


class Traits(NamedTuple):
    """What is known of a key point."""

    rank: int  # orders the summary
    low: float  # when it may come up in the dialogue, from 0 to 1
    high: float
    weight: float  # how often it is chosen, against the others
    group: str = ""  # of one group there is only one
    anywhere: bool = False  # it suits every issue, and not only those that name it


TRAITS = {label: Traits(**values) for label, values in grammar.read_templates("key-points").items()}

# Key points (from 1 on) and what share of pairs has them: 20% have more than 5.
_COUNTS = (0.03, 0.12, 0.21, 0.24, 0.20, 0.09, 0.05, 0.03, 0.02, 0.01)
_OUTCOMES = ("Solution", "Explanation", "Suggestion", "Escalation", "Need call back")
_OUTCOME_WEIGHTS = (0.62, 0.14, 0.1, 0.08, 0.06)
_ATTITUDES = ("User approval", "User disapproval", "User undecided", "Acknowledgement")
_ATTITUDE_WEIGHTS = (0.48, 0.2, 0.1, 0.22)

# Lognormal, median and spread: 28% above 20 utterances and 4.5% above 40; of words what is aimed
# at, so that 34% of summaries come out over 100 tokens. With their correlations to the key points.
_UTTERANCES, _ALONG, _MOST_UTTERANCES = (2.66, 0.623), 0.7, 120
_WORDS, _TOGETHER = (4.53, 0.5), 0.85


class PlanStep(NamedTuple):
    """A key point at its place in the summary; ``low`` and ``high`` as in `Traits`."""

    label: str
    rank: int
    low: float
    high: float

    @property
    def chained(self) -> bool:
        """Whether it comes in the summary's order in the dialogue, too."""
        return self.high == 0.0


class DialoguePlan(NamedTuple):
    """What a pair is to have. ``words`` of the summary and ``utterances`` are aims."""

    issue: str
    steps: tuple[PlanStep, ...]
    words: float
    utterances: int

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(step.label for step in self.steps)

    @property
    def about(self) -> dict[str, Any]:
        """What the templates have of the issue, and of its family."""
        issue = grammar.ISSUES["issues"][self.issue]
        return grammar.ISSUES["families"][issue["family"]] | issue  # type: ignore[no-any-return]


def make_plan(draw: RandomDraw) -> DialoguePlan:
    """Draw the issue, the key points and the lengths of a pair."""
    name, size = draw.pick(tuple(grammar.ISSUES["issues"])), draw.normal()
    issue = DialoguePlan(name, (), 0, 0).about
    wanted, rest = 0, 0.5 * (1.0 + math.erf(size / math.sqrt(2.0)))
    while rest >= 0 and wanted < len(_COUNTS):
        rest -= _COUNTS[wanted]
        wanted += 1
    outcome = "Solution" if wanted < 2 else _OUTCOMES[draw.choice(_OUTCOME_WEIGHTS)]
    ranks = {"Question description": 10}
    repeatable: list[tuple[str, int]] = []  # what may stand twice: Solutions, what is between them
    if wanted >= 2 and outcome == "Solution":
        repeatable.append(("Solution", 44))
        if wanted >= 5 and draw.chance(0.6):  # refused first, then something else is found
            repeatable += [("User disapproval", 45), ("Solution", 46)]
        if wanted >= len(repeatable) + 3 and draw.chance(0.25):
            repeatable += [("Further question", 57), ("Solution", 58)]
    elif wanted >= 2:
        ranks[outcome] = TRAITS[outcome].rank
    wanted -= len(repeatable)
    if len(ranks) < wanted and draw.chance(0.7):
        attitude = _ATTITUDES[draw.choice(_ATTITUDE_WEIGHTS)]
        ranks[attitude] = TRAITS[attitude].rank
    if len(ranks) < wanted and draw.chance(0.55):
        end = "Call dropped" if draw.chance(0.12) else "End"
        ranks[end] = TRAITS[end].rank
    _add_points(draw, ranks, issue["points"], wanted)
    steps = []
    for label, rank in (*ranks.items(), *repeatable):
        traits = TRAITS[label]
        if issue["facts_first"] and 20 <= rank < 30:
            rank -= 20  # such issues are filed by their facts: these stand before the question
        # What the user thinks of the outcome comes after it.
        span = (0.0, 0.0) if label == outcome else (traits.low, traits.high)
        steps.append(PlanStep(label, rank, *span))
    steps.sort(key=lambda step: step.rank)
    words, utterances = (
        math.exp(mean + spread * (share * size + math.sqrt(1 - share**2) * draw.normal()))
        for (mean, spread), share in ((_WORDS, _TOGETHER), (_UTTERANCES, _ALONG))
    )
    return DialoguePlan(name, tuple(steps), words, round(min(utterances, _MOST_UTTERANCES)))


def _add_points(
    draw: RandomDraw, ranks: dict[str, int], points: Sequence[str], wanted: int
) -> None:
    """Draw further key points that suit the issue until there are as many as ``wanted``."""
    groups = {TRAITS[label].group for label in ranks}
    anywhere = [label for label, traits in TRAITS.items() if traits.anywhere]
    labels = [label for label in (*anywhere, *points) if label not in ranks]
    weights = [TRAITS[label].weight for label in labels]
    while len(ranks) < wanted:
        place = draw.choice(weights)
        label, weights[place] = labels[place], 0.0
        group = TRAITS[label].group
        if not group or group not in groups:
            ranks[label] = TRAITS[label].rank
            groups.add(group)


@dataclass(slots=True)
class WordingPart:
    """A key point with its words, and what can be said of it."""

    label: str
    sentences: list[str]  # of the sub-summary
    local: Local
    size: int  # in words
    content: str = ""  # (said and written) where the key point depends on the issue
    exchanges: tuple[grammar.ScriptExchange, ...] = ()  # fit the first sentence
    details: dict[str, Local] = field(default_factory=dict)  # of further sentences

    @property
    def text(self) -> str:
        return " ".join(self.sentences)


class TemplateChoice(NamedTuple):
    """The templates of a key point: enough to tell two combinations apart, cheap to draw."""

    content: str
    line: int
    variant: int


_POOLS = {
    "Question description": "what",
    "User's appeal": "appeals",
    "Solution": "solutions",
    "Explanation": "explanations",
    "Suggestion": "suggestions",
    "Judgment from systems": "judgments",
}
_LONGEST = 50  # words of a sub-summary (section 4.1: 2.3% are longer) ...
_LONGER = 0.2  # ... which this share of summaries need not keep to


def choose_templates(draw: RandomDraw, plan: DialoguePlan) -> list[TemplateChoice]:
    """Draw a template for each key point."""
    about, choices, used, answer = plan.about, [], set(), ""
    for label in plan.labels:
        content = ""
        if label == "Further question":
            number = draw.below(len(grammar.QUESTIONS))
            content, answer = grammar.QUESTIONS[number], grammar.ANSWERS[number]
        elif label == "Solution" and answer:
            content, answer = answer, ""
        elif label in _POOLS:
            pool = about[_POOLS[label]]
            number = draw.below(len(pool))
            while pool[number] in used:
                number = (number + 1) % len(pool)  # two Solutions are different ones
            content = pool[number]
            used.add(content)
        notes = grammar.notes_of(label)
        line = draw.below(len(notes))
        variant = draw.below(len(grammar.line_of(notes[line]).variants))
        choices.append(TemplateChoice(content, line, variant))
    return choices


def combination_of(plan: DialoguePlan, choices: Sequence[TemplateChoice]) -> int:
    """The templates of the question and its neighbour, as a number of 64 bits."""
    start = plan.labels.index("Question description")
    beside = start + 1 if start + 1 < len(choices) else start - 1
    templates: list[object] = ["en", plan.issue]
    for position in (start, beside) if beside >= 0 else (start,):
        content = choices[position].content
        written = grammar.written_of(content).variants[0] if content else ""
        templates += [plan.labels[position], written, choices[position].line]
    return seed_of(repr(templates))


def word_parts(
    draw: RandomDraw, plan: DialoguePlan, choices: Sequence[TemplateChoice], shared: Shared
) -> list[WordingPart]:
    """The parts of a summary, with further sentences until it is about as long as planned."""
    parts = []
    for label, (content, number, variant) in zip(plan.labels, choices, strict=True):
        local = Local(shared)
        line = grammar.line_of(grammar.notes_of(label)[number])
        note, size = line.variants[variant], line.size
        if content:
            written = grammar.written_of(content)
            note, size = note.replace("{}", written.variants[0]), size + written.size
        exchanges = () if content else grammar.exchanges_for(label, number)
        parts.append(WordingPart(label, [note.format_map(local)], local, size, content, exchanges))
    about, more = plan.about, grammar.FRAMES["more"]
    details = [*about["details"], *(more["Ride"] if about["ride"] else ())]
    further = {
        i: [*(details if part.label == "Question description" else ()), *more[part.label]]
        for i, part in enumerate(parts)
        if part.label in more
    }
    unused = {i: list(contents) for i, contents in further.items()}
    longest = 1_000 if draw.chance(_LONGER) else _LONGEST
    words = sum(part.size for part in parts)
    used: set[str] = set()
    while unused and words < plan.words:
        place = draw.pick(tuple(unused))
        part, contents = parts[place], unused[place]
        content = contents.pop(draw.below(len(contents)))
        size = grammar.written_of(content).size
        if not contents:
            del unused[place]
        if content in used or part.size + size > longest or size > 1.7 * (plan.words - words):
            continue
        used.add(content)  # the same sentence twice would not say of which Solution
        part.details[content] = Local(shared)
        part.size += size
        words += size
    for i, contents in further.items():  # in the summary they stand in the templates' order
        chosen = parts[i].details
        parts[i].sentences += [
            grammar.written_of(content).variants[0].format_map(chosen[content])
            for content in contents
            if content in chosen
        ]
    return parts
