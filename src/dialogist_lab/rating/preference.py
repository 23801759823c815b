"""What raters' answers come to: preference with intervals, a sign test, agreement.

    Sheets -opinions-> what each rater says of each item, by system -> Rating

An item is what is drawn at random, so intervals resample items, each with the answers of all its
raters, and the sign test counts an item once, by what most of its raters say.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from dialogist.evaluation.scoring import Scores
from dialogist.evaluation.significance import Interval, intervals
from dialogist.metrics.base import Floats, mean_column
from dialogist.records import JSON
from dialogist_lab.rating.agreement import Agreement, agreement
from dialogist_lab.rating.answers import QUESTIONS, Answer, Key, Sheets

SCHEMA_VERSION = 1

_SIGNS = {"first": 1.0, "equal": 0.0, "second": -1.0}


@dataclass(frozen=True, slots=True)
class Preference:
    """The answers to one question. A and B are the systems of the key, in its order.

    ``a``, ``equal`` and ``b`` count answers. ``share`` is A's, equals being half each, 0-100, with
    its 95% interval. ``items_a`` and ``items_b`` count items by what most of their raters say;
    ``p`` is of the sign test on these two.
    """

    question: str
    a: int
    equal: int
    b: int
    share: float
    interval: tuple[float, float]
    items_a: int
    items_b: int
    p: float
    agreement: Agreement


@dataclass(frozen=True, slots=True)
class Falsehood:
    """How many of a system's summaries are said to hold something false, 0-100."""

    system: str
    marked: int
    answers: int
    share: float
    interval: tuple[float, float]
    agreement: Agreement


@dataclass(frozen=True, slots=True)
class Remark:
    """What a rater wrote about an item; ``item`` counts from 1, as the page does."""

    rater: str
    item: int
    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Rating:
    """All that the answers to one page say.

    ``answered``: how many items each rater answered whole. ``identical``: pairs drawn and not
    shown, for both systems say the same. ``first`` and ``second`` count how often the summary in
    that place was preferred overall, ``place_p`` is of the sign test on them: a small one says that
    the place itself had a say.
    """

    page: str
    systems: tuple[str, str]
    items: int
    identical: int
    answered: dict[str, int]
    preferences: tuple[Preference, ...]
    falsehoods: tuple[Falsehood, ...]
    first: int
    second: int
    place_p: float
    remarks: tuple[Remark, ...]

    def to_json(self) -> dict[str, JSON]:
        """All fields as plain values; what is not known is null."""
        fields = {"schema_version": SCHEMA_VERSION, **asdict(self)}
        return {name: _plain(value) for name, value in fields.items()}


def rate(sheets: Sheets) -> Rating:
    """Sum up the answers to a page."""
    key, raters = sheets.key, list(sheets.by_rater.values())
    places = [
        answer.overall
        for answers in raters
        for answer in answers.values()
        if answer.overall in ("first", "second")
    ]
    first, second = places.count("first"), places.count("second")
    return Rating(
        page=sheets.page,
        systems=key.systems,
        items=len(key.ids),
        identical=key.identical,
        answered={
            name: sum(answer.complete_answer for answer in answers.values())
            for name, answers in sheets.by_rater.items()
        },
        preferences=tuple(_preference(question.key, raters, key) for question in QUESTIONS),
        falsehoods=tuple(_falsehood(which, raters, key) for which in (0, 1)),
        first=first,
        second=second,
        place_p=sign_test(first, second),
        remarks=tuple(_remarks(sheets)),
    )


def sign_test(one: int, other: int) -> float:
    """Two-sided p of as uneven a split of ``one + other`` tosses of a fair coin (exact)."""
    count, ways, tail = one + other, 1, 0
    for k in range(min(one, other) + 1):
        tail += ways
        ways = ways * (count - k) // (k + 1)
    both: float = 2 * tail / (1 << count)
    return min(1.0, both)


def _preference(question: str, raters: Sequence[dict[int, Answer]], key: Key) -> Preference:
    signs = np.full((len(raters), len(key.ids)), math.nan)
    for row, answers in zip(signs, raters, strict=True):
        for number, answer in answers.items():
            chosen = answer.choice(question)
            if chosen is not None:
                row[number] = _SIGNS[chosen] * (-1 if key.swapped[number] else 1)
    balance = np.nansum(signs, axis=0)
    items_a, items_b = int((balance > 0).sum()), int((balance < 0).sum())
    share = _share(50 * (signs + 1), key)
    return Preference(
        question=question,
        a=int((signs == 1).sum()),
        equal=int((signs == 0).sum()),
        b=int((signs == -1).sum()),
        share=share.figure,
        interval=(share.low, share.high),
        items_a=items_a,
        items_b=items_b,
        p=sign_test(items_a, items_b),
        agreement=agreement(signs, ordered=True),
    )


def _falsehood(which: int, raters: Sequence[dict[int, Answer]], key: Key) -> Falsehood:
    """Of system A (0) or B (1); a summary left unmarked counts once its item is answered whole."""
    marks = np.full((len(raters), len(key.ids)), math.nan)
    for row, answers in zip(marks, raters, strict=True):
        for number, answer in answers.items():
            place = "second" if key.swapped[number] == (which == 0) else "first"
            if place in answer.false or answer.complete_answer:
                row[number] = place in answer.false
    share = _share(100 * marks, key)
    return Falsehood(
        system=key.systems[which],
        marked=int((marks == 1).sum()),
        answers=int((~np.isnan(marks)).sum()),
        share=share.figure,
        interval=(share.low, share.high),
        agreement=agreement(marks, ordered=False),
    )


def _share(values: Floats, key: Key) -> Interval:
    """(raters, items), NaN where not answered: their mean, resampled by items."""
    sums = np.stack([np.nansum(values, axis=0), (~np.isnan(values)).sum(axis=0)], axis=1)
    column = mean_column("share", "share", "neither")
    scores = Scores("raters", tuple(key.ids), (column,), sums, {})
    return intervals(scores)["share"]


def _remarks(sheets: Sheets) -> Iterable[Remark]:
    for name, answers in sheets.by_rater.items():
        for number, answer in sorted(answers.items()):
            if answer.note.strip():
                yield Remark(name, number + 1, sheets.key.ids[number], answer.note.strip())


def _plain(value: JSON) -> JSON:
    """NaN, which JSON has not, as null."""
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return None if isinstance(value, float) and math.isnan(value) else value
