"""Blind comparison of two systems by people: the page, its answers, and which is preferred."""

import base64
import hashlib
import json
import math
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from scipy.stats import binomtest

from dialogist.errors import DataError
from dialogist.files import reading
from dialogist.records import JSON, Dialogue, Utterance
from dialogist_lab.evaluation.metric import Floats, MetricColumn, Scores
from dialogist_lab.evaluation.predictions import Output
from dialogist_lab.evaluation.report_card import Table
from dialogist_lab.evaluation.resampling import interval_of, krippendorff_alpha
from dialogist_lab.pages import people_page

QUESTIONS = ("faithful", "complete", "fluent", "overall")
"""In the order of the page, which words them; the last is the one that counts first."""

Place = Literal["first", "second"]
RatingChoice = Literal["first", "equal", "second"]
_SIGNS = {"first": 1.0, "equal": 0.0, "second": -1.0}
_DATA = re.compile(r'<script type="application/json" id="page">(.*?)</script>', re.DOTALL)


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class AnswerKey(_Strict):
    """Who is who: the systems' names, and by item the dialogue's id and whether B stands first."""

    systems: tuple[str, str]
    ids: list[str] = Field(min_length=1)
    swapped: list[bool]
    identical: int
    seed: int


class Answer(_Strict):
    """What a rater said about an item; None: not answered."""

    faithful: RatingChoice | None = None
    complete: RatingChoice | None = None
    fluent: RatingChoice | None = None
    overall: RatingChoice | None = None
    false: list[Place] = []
    note: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether every question is answered: only then no mark means that nothing is false."""
        return all(getattr(self, question) for question in QUESTIONS)


class _AnswerFile(_Strict):
    kind: Literal["dialogist rating answers"]
    version: Literal[1]
    page: str
    key: str
    rater: str = Field(min_length=1)
    answers: dict[int, Answer]


class _Item(_Strict):
    turns: list[tuple[str, str]]
    first: str
    second: str


class _Page(_Strict):
    page: str
    items: list[_Item]
    key: str


@dataclass(frozen=True, slots=True)
class Answers:
    """All answers to a page: by rater, then by the number of the item, from 0."""

    page: str
    key: AnswerKey
    by_rater: dict[str, dict[int, Answer]]


def rating_page(
    pairs: Sequence[tuple[Output, Output]], systems: tuple[str, str], count: int, seed: int
) -> tuple[str, int, int]:
    """The page as HTML, how many pairs it shows, and how many were drawn that say the same.

    Pairs are drawn at random; a smaller count is the head of a larger one, but for the sides. Each
    system stands first in half of them. Pairs that say the same are counted and not shown.
    """
    drawn: list[int] = []
    identical = 0
    for i in sorted(range(len(pairs)), key=lambda i: _lot(f"pair {seed} {i}")):
        first, second = pairs[i]
        if len(drawn) == count:
            break
        if first.prediction.split() == second.prediction.split():
            identical += 1
        else:
            drawn.append(i)
    swapped = set(sorted(drawn, key=lambda i: _lot(f"side {seed} {i}"))[: len(drawn) // 2])
    items: list[JSON] = []
    for i in drawn:
        texts = [output.prediction for output in pairs[i]]
        first_text, second_text = reversed(texts) if i in swapped else texts
        dialogue = pairs[i][0].dialogue or Dialogue(())
        turns: list[JSON] = [[turn.speaker, turn.text] for turn in dialogue.utterances]
        items.append({"turns": turns, "first": first_text, "second": second_text})
    key = {
        "systems": list(systems),
        "ids": [pairs[i][0].id for i in drawn],
        "swapped": [i in swapped for i in drawn],
        "identical": identical,
        "seed": seed,
    }
    # Packed, so that it says nothing to whoever glances at it.
    sealed = base64.b64encode(zlib.compress(json.dumps(key).encode())).decode()
    return people_page("rating", {"items": items, "key": sealed}), len(items), identical


def _lot(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


_Model = TypeVar("_Model", bound=BaseModel)


def _parsed(model: type[_Model], data: str | bytes, path: Path) -> _Model:
    try:
        return model.model_validate_json(data)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise DataError(
            f"{path}: {place + ': ' if place else ''}{first['msg']}; save it again from the page"
        ) from None


def read_answers(files: Sequence[Path]) -> Answers:
    """Read a file of answers by each rater.

    Raises:
        DataError: a file cannot be read, is no file of answers, belongs to another page than the
            first, or has the rater of another file.
    """
    by_rater: dict[str, dict[int, Answer]] = {}
    first: _AnswerFile | None = None
    for path in files:
        with reading(path):
            data = path.read_bytes()
        if b"dialogist rating answers" not in data:
            raise DataError(f"{path}: is no file of answers: save one from the page")
        answer_file = _parsed(_AnswerFile, data, path)
        first = first or answer_file
        if (answer_file.page, answer_file.key) != (first.page, first.key):
            raise DataError(
                f"{path}: answers to another page ({answer_file.page}) than {files[0]}'s"
            )
        name = " ".join(answer_file.rater.split())
        if name in by_rater:
            raise DataError(f"{path}: rater '{name}' is there already: give one file by rater")
        by_rater[name] = answer_file.answers
    assert first is not None
    try:
        packed = zlib.decompressobj().decompress(base64.b64decode(first.key), 20_000_000)
    except (ValueError, zlib.error):
        raise DataError(f"{files[0]}: its key is damaged; save it again from the page") from None
    key = _parsed(AnswerKey, packed, files[0])
    numbers = {number for answers in by_rater.values() for number in answers}
    if len(key.swapped) != len(key.ids) or not numbers <= set(range(len(key.ids))):
        raise DataError(f"{files[0]}: answers to items that are not on its page")
    return Answers(first.page, key, by_rater)


def rating_report(answers: Answers) -> tuple[list[Table], list[str]]:
    """Who is preferred, and what is said to be false: two tables, and what else there is to say.

    A's share counts an equal answer as half. Items are counted by what most of their raters say, p
    is of the sign test on them, alpha is Krippendorff's. Intervals resample items.
    """
    key, raters = answers.key, answers.by_rater
    a, b = key.systems

    def table(value: Callable[[Answer, bool], float]) -> Floats:
        """(raters, items) numbers, NaN where there is none."""
        values = np.full((len(raters), len(key.ids)), math.nan)
        for row, given in zip(values, raters.values(), strict=True):
            for number, answer in given.items():
                row[number] = value(answer, key.swapped[number])
        return values

    def share(percentages: Floats) -> str:
        sums, counts = np.nansum(percentages, axis=0), np.isfinite(percentages).sum(axis=0)
        column, numbers = (
            MetricColumn("share", "share", "neither"),
            np.stack([sums, counts], axis=1),
        )
        scores = Scores("raters", tuple(key.ids), (column,), numbers, {})
        return interval_of(scores, "share").text(1)

    def alpha(values: Floats, ordered: bool) -> str:
        agreement = krippendorff_alpha(values, ordered)
        return "-" if math.isnan(agreement) else f"{agreement:.2f}"

    preferences = [["", a, "equal", b, f"{a}'s share", f"items {a}:{b}", "p", "alpha"]]
    for question in reversed(QUESTIONS):

        def sign(answer: Answer, swapped: bool, question: str = question) -> float:
            """1 where A is better, -1 where B is."""
            chosen = _SIGNS.get(getattr(answer, question), math.nan)
            return -chosen if swapped else chosen

        signs = table(sign)
        counts = [str(int((signs == value).sum())) for value in (1, 0, -1)]
        balance = np.nansum(signs, axis=0)
        items = int((balance > 0).sum()), int((balance < 0).sum())
        tested = [f"{items[0]}:{items[1]}", f"{sign_test(*items):.3f}", alpha(signs, ordered=True)]
        preferences.append([question, *counts, share(50 * (signs + 1)), *tested])
    falsehoods = [["says something false", "answers", "share", "alpha"]]
    for which, system in enumerate(key.systems):

        def mark(answer: Answer, swapped: bool, which: int = which) -> float:
            """1 where it is marked; a summary left alone counts once its item is answered whole."""
            place = "second" if swapped == (which == 0) else "first"
            if place in answer.false or answer.is_whole:
                return float(place in answer.false)
            return math.nan

        marks = table(mark)
        counted = f"{int((marks == 1).sum())} of {int(np.isfinite(marks).sum())}"
        falsehoods.append([system, counted, share(100 * marks), alpha(marks, ordered=False)])
    whole = [
        f"{name} {sum(answer.is_whole for answer in given.values())}"
        for name, given in raters.items()
    ]
    notes = [
        f"{name}, item {number + 1} ({key.ids[number]}): {answer.note.strip()}"
        for name, given in raters.items()
        for number, answer in sorted(given.items())
        if answer.note.strip()
    ]
    about = f"{len(key.ids)} items, {key.identical} more were the same; answered whole: "
    return [preferences, falsehoods], [about + ", ".join(whole), *notes]


def sign_test(first: int, second: int) -> float:
    """Two-sided p of as uneven a split of tosses of a fair coin (exact); 1 without a toss."""
    return float(binomtest(first, first + second).pvalue) if first + second else 1.0


def preferred_dialogues(page: Path, sheets: Answers) -> Iterator[Dialogue]:
    """The page's dialogues whose one summary more raters prefer overall and nobody marks as false.

    That summary is their reference, for fine-tuning to learn from.

    Raises:
        DataError: the file is no page of ours, or not that of the answers.
    """
    with reading(page):
        match = _DATA.search(page.read_text(encoding="utf-8", errors="replace"))
    if match is None:
        raise DataError(f"{page}: is no page of dialogist rate make: name the one that raters had")
    shown = _parsed(_Page, match[1], page)
    if shown.page != sheets.page or len(shown.items) != len(sheets.key.ids):
        raise DataError(f"{page}: is not the page of these answers: name theirs")
    for number, item in enumerate(shown.items):
        answers = [given[number] for given in sheets.by_rater.values() if number in given]
        balance = sum(_SIGNS[a.overall] for a in answers if a.overall is not None)
        place = "first" if balance > 0 else "second"
        if balance and not any(place in answer.false for answer in answers):
            turns = tuple(Utterance(speaker, text) for speaker, text in item.turns)
            yield Dialogue(turns, sheets.key.ids[number], references=(getattr(item, place),))
