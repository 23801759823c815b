"""Blind comparison of two systems by people: the page, its answers, and which is preferred."""

import base64
import json
import math
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Literal, TypeAlias, TypeVar

import numpy as np
from nltk.metrics import AnnotationTask, binary_distance, interval_distance
from pydantic import Field, ValidationError

from dialogist.config import Config
from dialogist.data.split import digest
from dialogist.errors import ConfigError, DataError
from dialogist.evaluation.pages import people_page
from dialogist.evaluation.scoring import Scores
from dialogist.evaluation.significance import Interval, intervals
from dialogist.files import reading
from dialogist.metrics.base import Column, Floats, percentage
from dialogist.record_json import to_json
from dialogist.records import JSON, Dialogue, Utterance


@dataclass(frozen=True, slots=True)
class Agreement:
    """``items``: those that two raters or more answered. Of these alone all figures are.

    ``same``: the share of pairs of answers to an item that are equal, 0-100. ``alpha`` is NaN
    where all answers are the same, for then there is nothing to agree about.
    """

    items: int
    same: float
    alpha: float


def agreement(values: Floats, *, ordered: bool) -> Agreement:
    """(raters, items) answers as numbers, NaN where there is none.

    ``ordered``: whether neighbouring values disagree less than distant ones (ordinal; else
    nominal).
    """
    units = [tuple(column[~np.isnan(column)]) for column in values.T]
    units = [unit for unit in units if len(unit) > 1]
    if not units:
        return Agreement(0, math.nan, math.nan)
    pairs = [bool(one == other) for unit in units for one, other in combinations(unit, 2)]
    return Agreement(len(units), 100 * sum(pairs) / len(pairs), _alpha(units, ordered))


def _alpha(units: Sequence[tuple[float, ...]], ordered: bool) -> float:
    levels, counts = np.unique([value for unit in units for value in unit], return_counts=True)
    if len(levels) < 2:
        return math.nan
    # Ordinal distances are those of ranks: how many values lie between (Krippendorff, 2011).
    ranks = dict(zip(levels, np.cumsum(counts) - counts / 2, strict=True))
    answers = [
        (rater, item, ranks[value])
        for item, unit in enumerate(units)
        for rater, value in enumerate(unit)
    ]
    distance = interval_distance if ordered else binary_distance
    return float(AnnotationTask(answers, distance).alpha())


RatingChoice: TypeAlias = Literal["first", "equal", "second"]
"""Which summary is better, by its place on the page."""

RatingPlace: TypeAlias = Literal["first", "second"]

_KIND = "dialogist rating answers"
_LARGEST = 20_000_000  # bytes of an unpacked key: nobody compares so many
_MAKE_ANEW = "save it again from the page"

_AnswerModel = TypeVar("_AnswerModel", bound=Config)


QUESTIONS = ("faithful", "complete", "fluent", "overall")
"""In the order of the page, which words them; the last is the one that counts first."""


class AnswerKey(Config):
    """Who is who: the systems' names, and by item the dialogue's id and whether B stands first."""

    systems: tuple[str, str]
    ids: list[str]
    swapped: list[bool]
    identical: int
    seed: int


class Answer(Config):
    """What a rater said about one item; None: not answered."""

    faithful: RatingChoice | None = None
    complete: RatingChoice | None = None
    fluent: RatingChoice | None = None
    overall: RatingChoice | None = None
    false: list[RatingPlace] = Field(default_factory=list)
    note: str = ""

    @property
    def complete_answer(self) -> bool:
        """Whether every question is answered: only then is no mark a word about falsehoods."""
        return all(getattr(self, question) for question in QUESTIONS)


class _File(Config):
    kind: Literal["dialogist rating answers"]
    version: Literal[1]
    page: str
    key: str
    rater: str = Field(min_length=1)
    answers: dict[int, Answer]


@dataclass(frozen=True, slots=True)
class Sheets:
    """All answers to one page: by rater, then by the number of the item."""

    page: str
    key: AnswerKey
    by_rater: dict[str, dict[int, Answer]]


def read_answers(files: Sequence[Path]) -> Sheets:
    """Read one file of answers by each rater.

    Raises:
        DataError: a file cannot be read, is no file of answers, belongs to another page than the
            first, or has the rater of another file.
    """
    found = [_read(path) for path in files]
    first = found[0]
    by_rater: dict[str, dict[int, Answer]] = {}
    for path, one in zip(files, found, strict=True):
        if (one.page, one.key) != (first.page, first.key):
            raise DataError(f"{path}: answers to another page ({one.page}) than {files[0]}'s")
        name = " ".join(one.rater.split())
        if name in by_rater:
            raise DataError(f"{path}: rater '{name}' is there already: give one file by rater")
        by_rater[name] = one.answers
    key = _unseal(first.key, files[0])
    for path, one in zip(files, found, strict=True):
        if unknown := [number for number in one.answers if not 0 <= number < len(key.ids)]:
            raise DataError(f"{path}: there is no item {unknown[0]} on its page; {_MAKE_ANEW}")
    return Sheets(first.page, key, by_rater)


def _read(path: Path) -> _File:
    with reading(path):
        data = path.read_bytes()
    if _KIND.encode() not in data:
        raise DataError(f"{path}: is no file of answers: save one from the page ('Save answers')")
    return _checked(_File, data, path)


def _unseal(sealed: str, path: Path) -> AnswerKey:
    try:
        packed = base64.b64decode(sealed, validate=True)
        data = zlib.decompressobj().decompress(packed, _LARGEST)
    except (ValueError, zlib.error):
        raise DataError(f"{path}: its key is damaged; {_MAKE_ANEW}") from None
    key = _checked(AnswerKey, data, path)
    if not key.ids or len(key.ids) != len(key.swapped):
        raise DataError(f"{path}: its key is damaged; {_MAKE_ANEW}")
    return key


def _checked(kind: type[_AnswerModel], data: bytes, path: Path) -> _AnswerModel:
    try:
        # Half of a pair, which JSON can hold and pydantic refuses, becomes a question mark.
        text = json.dumps(json.loads(data), ensure_ascii=False).encode("utf-8", errors="replace")
        return kind.parse(json.loads(text), str(path))
    except ConfigError as error:
        raise DataError(f"{error}; {_MAKE_ANEW}") from None
    except (TypeError, ValueError, RecursionError):
        raise DataError(f"{path}: is no JSON, or not all of it is there; {_MAKE_ANEW}") from None


RATING_VERSION = 1

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
        return {"schema_version": RATING_VERSION, **to_json(self)}


def rate(sheets: Sheets) -> Rating:
    """Sum up the answers to a page."""
    key, raters = sheets.key, list(sheets.by_rater.values())
    places = [answer.overall for answers in raters for answer in answers.values()]
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
        preferences=tuple(_preference(question, raters, key) for question in QUESTIONS),
        falsehoods=tuple(_falsehood(which, raters, key) for which in (0, 1)),
        first=first,
        second=second,
        place_p=sign_test(first, second),
        remarks=tuple(_remarks(sheets)),
    )


def preferred(sheets: Sheets) -> dict[int, RatingPlace]:
    """The items with a better summary, and its place: for fine-tuning to learn from.

    More raters prefer it overall than the other, and nobody marked it as false.
    """
    found: dict[int, RatingPlace] = {}
    for number in range(len(sheets.key.ids)):
        answers = [one[number] for one in sheets.by_rater.values() if number in one]
        balance = sum(_SIGNS[one.overall] for one in answers if one.overall is not None)
        place: RatingPlace = "first" if balance > 0 else "second"
        if balance and not any(place in one.false for one in answers):
            found[number] = place
    return found


def sign_test(one: int, other: int) -> float:
    """Two-sided p of as uneven a split of ``one + other`` tosses of a fair coin (exact)."""
    tail = ways = 1
    for k in range(min(one, other)):
        ways = ways * (one + other - k) // (k + 1)  # from the last one: `math.comb` is quadratic
        tail += ways
    both: float = 2 * tail / (1 << (one + other))
    return min(1.0, both)


def _preference(question: str, raters: Sequence[dict[int, Answer]], key: AnswerKey) -> Preference:
    signs = np.full((len(raters), len(key.ids)), math.nan)
    for row, answers in zip(signs, raters, strict=True):
        for number, answer in answers.items():
            chosen: RatingChoice | None = getattr(answer, question)
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


def _falsehood(which: int, raters: Sequence[dict[int, Answer]], key: AnswerKey) -> Falsehood:
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


def _share(values: Floats, key: AnswerKey) -> Interval:
    """(raters, items) percentages, NaN where not answered: their mean, resampled by items."""
    sums = np.stack([np.nansum(values / 100, axis=0), (~np.isnan(values)).sum(axis=0)], axis=1)
    column = Column("share", "share", "neither", 2, percentage)
    scores = Scores("raters", tuple(key.ids), (column,), sums, {})
    return intervals(scores)["share"]


def _remarks(sheets: Sheets) -> Iterable[Remark]:
    for name, answers in sheets.by_rater.items():
        for number, answer in sorted(answers.items()):
            if answer.note.strip():
                yield Remark(name, number + 1, sheets.key.ids[number], answer.note.strip())


# The page on which people compare two systems' summaries without knowing whose they are.

_DATA = re.compile(r'<script type="application/json" id="page">(.*?)</script>', re.DOTALL)


@dataclass(frozen=True, slots=True)
class RatedPair:
    """A dialogue, and what systems A and B say about it."""

    dialogue: Dialogue
    texts: tuple[str, str]

    @property
    def identical(self) -> bool:
        """Whether there is nothing to choose between."""
        return self.texts[0].split() == self.texts[1].split()


@dataclass(frozen=True, slots=True)
class Drawn:
    """The pairs to show, in their order; ``swapped``: whether B stands first.

    ``identical`` pairs were drawn as well, and not shown.
    """

    pairs: tuple[RatedPair, ...]
    swapped: tuple[bool, ...]
    identical: int


def sample_pairs(pairs: Sequence[RatedPair], count: int, seed: int) -> Drawn:
    """Up to ``count`` pairs at random; each system stands first in half of them.

    A smaller count is the head of a larger one, but for the sides.
    """
    order = sorted(range(len(pairs)), key=lambda i: digest(f"pair {seed} {i}"))
    shown: list[int] = []
    identical = 0
    for i in order:
        if len(shown) == count:
            break
        if pairs[i].identical:
            identical += 1
        else:
            shown.append(i)
    by_side = sorted(shown, key=lambda i: digest(f"side {seed} {i}"))
    swapped = set(by_side[: len(shown) // 2])
    return Drawn(
        pairs=tuple(pairs[i] for i in shown),
        swapped=tuple(i in swapped for i in shown),
        identical=identical,
    )


def make_rating_page(drawn: Drawn, systems: tuple[str, str], seed: int) -> str:
    """The whole page as HTML.

    Raises:
        MissingExtraError: jinja2 is not installed.
    """
    key = AnswerKey(
        systems=systems,
        ids=[pair.dialogue.id for pair in drawn.pairs],
        swapped=list(drawn.swapped),
        identical=drawn.identical,
        seed=seed,
    )
    items = [_item(pair, swap) for pair, swap in zip(drawn.pairs, drawn.swapped, strict=True)]
    page: dict[str, JSON] = {"items": items, "key": seal(key)}
    return people_page("rating", ("rating",), page)


def seal(key: AnswerKey) -> str:
    """The key as text that says nothing to whoever glances at it."""
    return base64.b64encode(zlib.compress(json.dumps(key.model_dump()).encode())).decode()


class _Item(Config):
    turns: list[tuple[str, str]]
    first: str
    second: str


class _Page(Config):
    page: str
    items: list[_Item]
    key: str


def preferred_dialogues(page: Path, sheets: Sheets) -> Iterator[Dialogue]:
    """The page's dialogues that have a `preferred` summary, with it as their reference.

    Raises:
        DataError: the file is no page of `make_rating_page`, or not that of the answers.
    """
    shown = _read_page(page)
    if shown.page != sheets.page or len(shown.items) != len(sheets.key.ids):
        raise DataError(f"{page}: is not the page of these answers: name theirs")
    for number, place in preferred(sheets).items():
        item = shown.items[number]
        turns = tuple(Utterance(speaker, text) for speaker, text in item.turns)
        text = item.first if place == "first" else item.second
        yield Dialogue(turns, sheets.key.ids[number], references=(text,))


def _read_page(path: Path) -> _Page:
    with reading(path):
        text = path.read_text(encoding="utf-8", errors="replace")
    found = _DATA.search(text)
    if found is None:
        raise DataError(
            f"{path}: is no page of dialogist rate make: name the page that the raters had"
        )
    try:
        return _Page.model_validate_json(found[1])
    except ValidationError:
        raise DataError(f"{path}: is damaged: make the page again with the same flags") from None


def _item(pair: RatedPair, swapped: bool) -> JSON:
    first, second = reversed(pair.texts) if swapped else pair.texts
    turns: list[JSON] = [[u.speaker, u.text] for u in pair.dialogue.utterances]
    return {"turns": turns, "first": first, "second": second}
