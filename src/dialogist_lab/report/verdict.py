"""The report in a few sentences: who leads, by how much, and whether that may be chance."""

import math
from collections.abc import Iterator

from dialogist.evaluation.card import Kind
from dialogist.evaluation.ceilings import HUMAN
from dialogist.evaluation.statistics.significance import Difference, compare
from dialogist.text.listing import counted
from dialogist_lab.report.model import REFERENCES, Shown, Subject, alone
from dialogist_lab.report.tables import number

MAIN = "rougeL.f1"
"""What systems are ranked by here."""

_SUPPORT = "faithfulness.any"
_KINDS = ("rouge1.f1", "rouge2.f1", MAIN)


def verdict(subject: Subject) -> list[str]:
    """Sentences, the most important first; none without a card."""
    ranked = sorted(
        (one for one in subject.systems if MAIN in one.scores),
        key=lambda one: -one.scores.figure(MAIN),
    )
    if subject.card is None or not ranked:
        return []
    best, *others = ranked
    return [
        _reached(best, subject),
        *_beside_floors(best, subject),
        *_beside_others(best, others),
        *_beside_ceilings(best, subject),
        *_beside_train(best),
        *_unsupported(best, subject),
        *_cautions(subject),
    ]


def _reached(best: Shown, subject: Subject) -> str:
    assert subject.card is not None
    figures = " / ".join(f"{best.scores.figure(key):.1f}" for key in _KINDS)
    leads = "leads with" if len(subject.systems) > 1 else "reaches"
    found = best.intervals[MAIN]
    known = "" if math.isnan(found.low) else f" (ROUGE-L {found.low:.1f} to {found.high:.1f})"
    return (
        f"{best.name} {leads} ROUGE-1 / 2 / L of {figures}{known} on "
        f"{counted(subject.card.dialogues, 'dialogues')}."
    )


def _beside_floors(best: Shown, subject: Subject) -> Iterator[str]:
    floors = [one for one in subject.shown if one.entry.kind is Kind.floor and MAIN in one.scores]
    if not floors:
        return
    floor = max(floors, key=lambda one: one.scores.figure(MAIN))
    found = _difference(best, floor)
    if found.difference <= 0:
        yield f"It is no better than the baseline {floor.name}: {_by(found)}."
    else:
        yield f"The best baseline, {floor.name}, is {_by(found)} below it."


def _beside_others(best: Shown, others: list[Shown]) -> Iterator[str]:
    if others:
        found = _difference(best, others[0])
        yield f"The next system, {others[0].name}, is {_by(found)} behind."


def _beside_ceilings(best: Shown, subject: Subject) -> Iterator[str]:
    reached = best.scores.figure(MAIN)
    for one in subject.shown:
        if one.entry.kind is Kind.ceiling and MAIN in one.scores:
            figure = one.scores.figure(MAIN)
            human = one.name == HUMAN
            who = "People measured by each other reach" if human else f"The {one.name} reaches"
            yield f"{who} {figure:.1f} on ROUGE-L, {_apart(figure - reached)}."


def _beside_train(best: Shown) -> Iterator[str]:
    if best.train is not None and MAIN in best.train.scores:
        figure = best.train.scores.figure(MAIN)
        gap = _apart(figure - best.scores.figure(MAIN))
        yield f"On a sample of its training data the system reaches {figure:.1f}, {gap}."


def _apart(gap: float) -> str:
    return f"{abs(gap):.1f} {'more' if gap > 0 else 'less'}"


def _unsupported(best: Shown, subject: Subject) -> Iterator[str]:
    if _SUPPORT not in best.scores or math.isnan(best.scores.figure(_SUPPORT)):
        return
    people = [one for one in subject.shown if one.name in (HUMAN, REFERENCES)]
    beside = (
        f" (references, by the same rules: {one.scores.figure(_SUPPORT):.1f}%)"
        for one in people
        if _SUPPORT in one.scores
    )
    yield (
        f"{best.scores.figure(_SUPPORT):.1f}% of its outputs hold a name, speaker, number or other "
        f"entity that the dialogue does not bear out{next(beside, '')}."
    )


def _cautions(subject: Subject) -> Iterator[str]:
    assert subject.card is not None
    found = subject.card.cautions
    serious = sum(one.severity == "serious" for one in found)
    if serious:
        yield (
            f"{serious} serious {'caution says' if serious == 1 else 'cautions say'} that figures "
            "here may not mean what they seem to: read them first."
        )


def _difference(one: Shown, other: Shown) -> Difference:
    return compare(alone(one.scores, MAIN), alone(other.scores, MAIN))[MAIN]


def _by(found: Difference) -> str:
    """``8.3 points of ROUGE-L (6.1 to 10.4, more than chance: p < 0.001)``."""
    size = f"{abs(found.difference):.1f} points of ROUGE-L"
    if found.outputs < 2:
        return f"{size} (one dialogue is too few to tell it from chance)"
    low, high = sorted((abs(found.low), abs(found.high)))
    same_side = (found.low > 0) == (found.high > 0)
    if not same_side:
        low, high = found.low, found.high
    between = f"{number(low)} to {number(high)}"
    p = "p < 0.001" if found.p < 0.001 else f"p {found.p:.2g}"
    return f"{size} ({between}; {'more than' if found.p < 0.05 else 'may be'} chance, {p})"
