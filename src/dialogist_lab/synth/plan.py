"""Which key points a pair has, in the logical order of its summary, and how long it becomes.

Lengths follow the paper (Liu et al., KDD 2019, section 4.1, Figure 2 and its footnotes): 28% of
dialogues over 20 utterances and 4.5% over 40, 34% of summaries over 100 tokens, 20% over 5 key
points. The three are drawn together: long calls have long summaries.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

from dialogist_lab.synth.draw import Draw
from dialogist_lab.synth.grammar import Grammar, Issue


class Traits(NamedTuple):
    """``rank`` orders the summary; ``low`` to ``high`` is when it may come up in the dialogue.

    ``weight`` is how often it is chosen, against the others. Of one ``group`` there is only one.
    """

    rank: int
    low: float
    high: float
    weight: float
    group: str = ""


TRAITS = {
    "Question type": Traits(20, 0.1, 0.95, 2.0),
    "Keywords": Traits(21, 0.2, 0.95, 2.0),
    "Related order": Traits(22, 0.0, 0.9, 7.0),
    "Time of event": Traits(23, 0.0, 0.9, 4.0),
    "Type of vehicle": Traits(24, 0.0, 0.8, 2.5),
    "Trip": Traits(25, 0.0, 0.8, 4.5),
    "Plate number": Traits(26, 0.0, 0.9, 3.5),
    "Contact number": Traits(27, 0.1, 0.95, 4.5),
    "Amount in dispute": Traits(28, 0.0, 0.8, 3.5),
    "Question description": Traits(10, 0.03, 0.12, 0.0),
    "User's complaint": Traits(12, 0.05, 0.8, 1.5),
    "User's appeal": Traits(14, 0.1, 0.8, 2.5),
    "Evidence provided": Traits(16, 0.1, 0.8, 1.0, "evidence"),
    "No evidence": Traits(16, 0.1, 0.8, 0.8, "evidence"),
    "Identity verified": Traits(30, 0.0, 0.5, 2.0, "identity"),
    "Identity not verified": Traits(30, 0.0, 0.5, 1.0, "identity"),
    "Agent's inquiry": Traits(32, 0.1, 0.5, 1.5),
    "Payment confirmed": Traits(33, 0.1, 0.8, 2.0, "payment"),
    "Payment failed": Traits(33, 0.1, 0.8, 2.0, "payment"),
    "The driver's status": Traits(34, 0.1, 0.8, 1.2),
    "Driver contacted": Traits(36, 0.2, 0.5, 1.5, "driver"),
    "Driver unreachable": Traits(36, 0.2, 0.8, 1.2, "driver"),
    "Driver's statement": Traits(37, 0.5, 0.6, 1.2),
    "Judgment from systems": Traits(38, 0.2, 0.8, 2.5),
    "Item found": Traits(39, 0.3, 0.8, 4.0, "item"),
    "Item not found": Traits(39, 0.3, 0.8, 3.0, "item"),
    "Apology": Traits(40, 0.1, 0.9, 2.0),
    "Explanation": Traits(42, 0.2, 0.8, 2.0),
    "Solution": Traits(44, 0.0, 0.0, 0.0),
    "Suggestion": Traits(47, 0.3, 0.95, 2.0),
    "Refund granted": Traits(48, 0.4, 0.9, 2.5, "refund"),
    "Refund refused": Traits(48, 0.4, 0.9, 1.8, "refund"),
    "Compensation": Traits(49, 0.4, 0.95, 1.5),
    "Driver penalised": Traits(50, 0.4, 0.95, 2.0, "penalty"),
    "Driver not penalised": Traits(50, 0.4, 0.95, 1.6, "penalty"),
    "Order cancelled": Traits(51, 0.3, 0.9, 3.0, "cancel"),
    "Order not cancelled": Traits(51, 0.3, 0.9, 2.2, "cancel"),
    "E-mail sent": Traits(52, 0.3, 0.95, 2.5),
    "Escalation": Traits(53, 0.4, 0.95, 1.5),
    "Need call back": Traits(54, 0.4, 0.95, 1.5, "call back"),
    "No call back needed": Traits(54, 0.4, 0.95, 0.8, "call back"),
    "User approval": Traits(56, 0.0, 0.0, 0.0),
    "User disapproval": Traits(56, 0.0, 0.0, 0.0),
    "User undecided": Traits(56, 0.0, 0.0, 0.0),
    "Further question": Traits(57, 0.0, 0.0, 0.0),
    "User urges": Traits(60, 0.2, 0.95, 1.2),
    "Acknowledgement": Traits(62, 0.0, 0.0, 0.0),
    "Close the order": Traits(64, 0.0, 0.0, 1.5, "close"),
    "Keep the order open": Traits(64, 0.0, 0.0, 1.0, "close"),
    "End": Traits(66, 1.0, 1.0, 0.0),
    "Call dropped": Traits(66, 1.0, 1.0, 0.0),
}
LABELS = tuple(TRAITS)

# What only some issues have stands in the grammar; this is for all.
_GENERAL = (
    "Question type",
    "Keywords",
    "Related order",
    "Time of event",
    "Contact number",
    "User's complaint",
    "User's appeal",
    "Evidence provided",
    "No evidence",
    "Agent's inquiry",
    "Judgment from systems",
    "Apology",
    "Explanation",
    "Suggestion",
    "Escalation",
    "Need call back",
    "No call back needed",
    "User urges",
    "Close the order",
    "Keep the order open",
)

# Key points (from 1 on) and what share of pairs has them: 20% have more than 5.
_COUNTS = (0.03, 0.12, 0.21, 0.24, 0.20, 0.09, 0.05, 0.03, 0.02, 0.01)
_OUTCOMES = ("Solution", "Explanation", "Suggestion", "Escalation", "Need call back")
_OUTCOME_WEIGHTS = (0.62, 0.14, 0.1, 0.08, 0.06)
_ATTITUDES = ("User approval", "User disapproval", "User undecided", "Acknowledgement")
_ATTITUDE_WEIGHTS = (0.48, 0.2, 0.1, 0.22)

# Lognormal: 28% above 20 utterances and 4.5% above 40.
_UTTERANCES = (2.66, 0.623)
_MOST_UTTERANCES = 120
# Median and spread of what is aimed at; set so that 34% of summaries come out over 100 tokens.
_WORDS = {"en": (4.53, 0.5), "zh": (4.50, 0.5)}
_TOGETHER = 0.85  # correlation of key points and words of the summary
_ALONG = 0.7  # the same for key points and utterances


@dataclass(frozen=True, slots=True)
class Step:
    """A key point at its place in the summary.

    ``low`` and ``high`` as in `Traits`; both 0 for those that keep the summary's order.
    """

    label: str
    rank: int
    low: float
    high: float

    @property
    def chained(self) -> bool:
        """Whether it comes in the summary's order in the dialogue, too."""
        return self.high == 0.0


@dataclass(frozen=True, slots=True)
class Plan:
    """What a pair is to have. ``words`` of the summary and ``utterances`` are aims."""

    issue: Issue
    steps: tuple[Step, ...]
    words: float
    utterances: int

    @property
    def labels(self) -> tuple[str, ...]:
        """The key-point sequence."""
        return tuple(step.label for step in self.steps)


def make_plan(draw: Draw, grammar: Grammar) -> Plan:
    """Draw the issue, the key points and the lengths of a pair."""
    issue = draw.pick(grammar.issues)
    size = draw.normal()
    count = _count(size)
    taken = {"Question description": 10}
    outcome = "Solution" if count < 2 else _OUTCOMES[draw.weighted(_OUTCOME_WEIGHTS)]
    extra = _outcome(draw, taken, count, outcome)
    _ending(draw, taken, count - len(extra))
    _fill(draw, taken, issue, count - len(extra))
    steps = [_step(*each, issue, outcome) for each in (*taken.items(), *extra)]
    mean, spread = _WORDS[grammar.language]
    words = math.exp(mean + spread * _mixed(draw, size, _TOGETHER))
    mean, spread = _UTTERANCES
    utterances = math.exp(mean + spread * _mixed(draw, size, _ALONG))
    steps.sort(key=lambda step: step.rank)
    return Plan(issue, tuple(steps), words, round(min(utterances, _MOST_UTTERANCES)))


def _count(size: float) -> int:
    """The number of key points that this share of pairs stays below."""
    rest = 0.5 * (1.0 + math.erf(size / math.sqrt(2.0)))
    for count, share in enumerate(_COUNTS, start=1):
        rest -= share
        if rest < 0:
            return count
    return len(_COUNTS)


def _mixed(draw: Draw, size: float, correlation: float) -> float:
    return correlation * size + math.sqrt(1 - correlation**2) * draw.normal()


def _outcome(draw: Draw, taken: dict[str, int], count: int, outcome: str) -> list[tuple[str, int]]:
    """What came of it. Returns what may stand there twice: Solutions, and what is between."""
    if count < 2:
        return []
    if outcome != "Solution":
        taken[outcome] = TRAITS[outcome].rank
        return []
    steps = [("Solution", 44)]
    if count >= 5 and draw.chance(0.6):  # refused first, then something else is found
        steps += [("User disapproval", 45), ("Solution", 46)]
    if count >= len(steps) + 3 and draw.chance(0.25):
        steps += [("Further question", 57), ("Solution", 58)]
    return steps


def _ending(draw: Draw, taken: dict[str, int], count: int) -> None:
    if len(taken) < count and draw.chance(0.7):
        attitude = _ATTITUDES[draw.weighted(_ATTITUDE_WEIGHTS)]
        taken[attitude] = TRAITS[attitude].rank
    if len(taken) < count and draw.chance(0.55):
        end = "Call dropped" if draw.chance(0.12) else "End"
        taken[end] = TRAITS[end].rank


def _fill(draw: Draw, taken: dict[str, int], issue: Issue, count: int) -> None:
    groups = {TRAITS[label].group for label in taken}
    labels = [label for label in (*_GENERAL, *issue.points) if label not in taken]
    weights = [TRAITS[label].weight for label in labels]
    while len(taken) < count:
        place = draw.weighted(weights)
        label, weights[place] = labels[place], 0.0
        rank, _, _, _, group = TRAITS[label]
        if not group or group not in groups:
            taken[label] = rank
            groups.add(group)


def _step(label: str, rank: int, issue: Issue, outcome: str) -> Step:
    _, low, high, _, _ = TRAITS[label]
    if label == outcome:
        low = high = 0.0  # what the user thinks of it comes after it
    if issue.facts_first and 20 <= rank < 30:
        rank -= 20  # such issues are filed by their facts: these stand before the question
    return Step(label, rank, low, high)
