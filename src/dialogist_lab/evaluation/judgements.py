"""What people do: judge statements by their dialogue, write summaries, compare two systems blindly.

A reading sheet is a CSV file, and a page that fills and saves the same file. A reader calls a
statement ``correct``, ``vague`` (true, but what it is about cannot be told) or ``wrong`` (it gives
a false belief, or cannot be understood).
"""

import base64
import csv
import hashlib
import json
import math
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np
from nltk.metrics import AnnotationTask, binary_distance, interval_distance
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from scipy.stats import binomtest

from dialogist.errors import DataError
from dialogist.files import reading, writing
from dialogist.language.tokens import split_sentences
from dialogist.records import Dialogue, Statement, Summary, Utterance
from dialogist_lab.evaluation.metric import (
    Floats,
    MetricColumn,
    Scores,
    interval_of,
    intervals,
    share_of,
)
from dialogist_lab.evaluation.systems import Output
from dialogist_lab.pages import people_page

VERDICTS = ("correct", "vague", "wrong")
READING_ERRORS = {
    "role": "who does, says, wants or owns it",
    "garbled": "broken grammar",
    "fused": "two clauses made into something that did not happen",
    "entity": "a wrong, cut or mixed-up name or thing",
    "stale": "changed, refused or taken back later",
    "polarity": "yes for no",
    "condition": "an if, unless or until is missing",
    "number": "a wrong amount, date or time",
    "other": "anything else",
}
"""The kinds of error, and what each means."""

SheetRow: TypeAlias = Mapping[str, str]
SHEET_COLUMNS = (
    *("dialogue", "statement", "check", "evidence", "transcript"),
    *("verdict", "error", "facts", "held", "note"),
)
"""A row is a statement. ``check`` is the tool's own verdict. ``transcript``, ``facts`` and ``held``
stand in the first row of a dialogue: how many key facts it has, and how many the summary holds."""


def _turns(dialogue: Dialogue) -> list[list[str]]:
    return [[turn.speaker, turn.text] for turn in dialogue.utterances]


def _cited(statement: Statement) -> list[int]:
    return list(dict.fromkeys(span.utterance for span in statement.evidence))


def annotation_page(dialogues: Sequence[Dialogue], drafts: Sequence[Summary], model: bool) -> str:
    """A page on which people write summaries, saved as training data.

    ``drafts``: the texts to begin with, which may be empty; ``model``: whether a model wrote them.
    """
    items: list[Any] = []
    for dialogue, draft in zip(dialogues, drafts, strict=True):
        turns = _turns(dialogue)
        record = {"id": dialogue.id, "turns": turns, "metadata": dict(dialogue.metadata)}
        sentences = [
            {
                "text": statement.text,
                "turns": _cited(statement),
                "doubts": list(statement.reasons) if statement.verdict == "contradicted" else [],
            }
            for statement in draft.statements
        ]
        items.append(
            {"record": record, "turns": turns, "draft": draft.text, "sentences": sentences}
        )
    texts = any(draft.text for draft in drafts)
    return people_page("annotate", {"items": items}, drafts=texts, own=texts and not model)


def sheet_item(output: Output) -> dict[str, Any]:
    """A summary as the page has it: the turns, a row a statement, the turns that each cites.

    A bare text is read by its sentences.
    """
    dialogue, summary = output.dialogue or Dialogue(()), output.summary
    bare = [Statement(text) for text in split_sentences(summary.text)]
    statements = [s for s in summary.statements or bare if s.text.strip()]
    facts = dialogue.metadata.get("facts")
    facts = list(map(str, facts)) if isinstance(facts, list) else []
    turns = dialogue.utterances
    rows: list[dict[str, str]] = []
    for statement in statements:
        spans = [(turns[s.utterance], s) for s in statement.evidence if s.utterance < len(turns)]
        row = dict.fromkeys(SHEET_COLUMNS, "")
        row |= {"dialogue": dialogue.id, "statement": statement.text, "check": statement.verdict}
        row["evidence"] = "\n".join(
            f"{turn.speaker}: {turn.text[span.start : span.end]}" for turn, span in spans
        )
        if not rows:
            row["transcript"] = "\n".join(f"{turn.speaker}: {turn.text}" for turn in turns)
            row["facts"] = str(len(facts) or "")
        rows.append(row)
    cited = [_cited(statement) for statement in statements]
    return {"turns": _turns(dialogue), "rows": rows, "cited": cited, "facts": facts}


def write_sheet(outputs: Sequence[Output], stem: Path) -> tuple[Path, Path]:
    """Write ``STEM.csv`` for a spreadsheet and ``STEM.html`` for a browser.

    Raises:
        DataError: they cannot be written.
    """
    items = [sheet_item(output) for output in outputs]
    table, page = stem.with_suffix(".csv"), stem.with_suffix(".html")
    with writing(table), table.open("w", encoding="utf-8", errors="replace", newline="") as file:
        writer = csv.DictWriter(file, SHEET_COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(row for item in items for row in item["rows"])
    data = {"items": items, "columns": list(SHEET_COLUMNS)}
    page.write_text(people_page("reading", data, errors=READING_ERRORS), encoding="utf-8")
    return table, page


def is_sheet(path: Path) -> bool:
    """Whether a file is a reading sheet, by its first line."""
    if path.suffix.lower() != ".csv" or not path.is_file():
        return False
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        return {"dialogue", "statement", "verdict", "error"} <= set(next(csv.reader(file), []))


def read_sheet(path: Path) -> tuple[list[SheetRow], int]:
    """The filled rows of a sheet, and how many are not filled.

    Raises:
        DataError: it cannot be read, or a cell holds what it may not; its row is told.
    """
    try:
        with reading(path), path.open(encoding="utf-8-sig", newline="") as file:
            records = list(csv.DictReader(file))
    except (ValueError, csv.Error) as error:
        raise DataError(f"{path}: cannot be read as a reading sheet: {error}") from None
    rows: list[SheetRow] = []
    for number, record in enumerate(records, 2):
        row = {name: record.get(name) or "" for name in SHEET_COLUMNS}
        row |= {n: row[n].strip().lower() for n in ("verdict", "error", "facts", "held")}
        if fault := _fault(row):
            raise DataError(f"{path}, row {number}: {fault}")
        rows.append(row)
    done = [row for row in rows if row["verdict"]]
    if not done:
        raise DataError(f"{path}: no row has a verdict yet: write {', '.join(VERDICTS)} there")
    return done, len(rows) - len(done)


def _fault(row: SheetRow) -> str:
    for name, known in (("verdict", VERDICTS), ("error", READING_ERRORS)):
        if row[name] not in ("", *known):
            return f"{name} '{row[name]}': write one of {', '.join(known)}"
    if row["error"] and row["verdict"] != "wrong":
        return f"error '{row['error']}' of a statement that is not called wrong"
    for name in ("facts", "held"):
        if row[name] and not row[name].isdecimal():
            return f"{name} '{row[name]}': write a whole number"
    if row["held"] and int(row["held"]) > int(row["facts"] or 0):
        return f"held {row['held']} of facts {row['facts'] or 'unknown'}"
    return ""


def sheet_scores(rows: Sequence[SheetRow]) -> Scores:
    """What the reader found, as figures; the dialogue is the unit that is resampled."""
    by_dialogue: dict[str, list[SheetRow]] = {}
    for row in rows:
        by_dialogue.setdefault(row["dialogue"], []).append(row)
    groups = list(by_dialogue.values())
    columns: dict[str, MetricColumn] = {}
    numbers: dict[str, Floats] = {}

    def add(key: str, title: str, counts: Iterable[tuple[float, float]]) -> None:
        """A share, from how many are so of how many, by dialogue."""
        columns[key] = MetricColumn(key, title)
        numbers[key] = np.array([share_of(*pair) for pair in counts])

    def count(group: Sequence[SheetRow], field: str, value: str) -> tuple[int, int]:
        return sum(row[field] == value for row in group), len(group)

    for verdict in ("wrong", "vague"):
        add(verdict, f"{verdict} statements", (count(g, "verdict", verdict) for g in groups))
    wrong = ((count(group, "verdict", "wrong")[0] > 0, 1) for group in groups)
    add("dialogues", "dialogues with a wrong statement", wrong)
    facts = ([(int(row["held"]), int(row["facts"])) for row in g if row["held"]] for g in groups)
    add("facts", "key facts held", (next(iter(pairs), (0, 0)) for pairs in facts))
    for error in sorted({row["error"] for row in rows} - {""}):
        add(f"error.{error}", f"wrong by {error}", (count(g, "error", error) for g in groups))
    for check in sorted({row["check"] for row in rows} - {""}):
        checked = ([row for row in group if row["check"] == check] for group in groups)
        title = f"wrong, of {check} statements"
        add(f"check.{check}", title, (count(g, "verdict", "wrong") for g in checked))
    return Scores("sheet", tuple(by_dialogue), columns, numbers, {})


def sheet_table(scores: Scores) -> list[list[str]]:
    """What the reader found, with intervals over dialogues and counts."""
    figures, table = intervals(scores), [["", "share", "of"]]
    for key, column in scores.columns.items():
        hits, total = scores.numbers[key].sum(axis=0)
        if total:
            table.append([column.title, figures[key].text(1), f"{hits / 100:.0f}/{total:.0f}"])
    return table


QUESTIONS = ("faithful", "complete", "fluent", "overall")
"""In the order of the page, which words them; the last is the one that counts first."""

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
    false: list[Literal["first", "second"]] = []
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

    Pairs are drawn at random, and each system stands first in half of them. Pairs that say the
    same are counted and not shown.
    """

    def lot(text: str) -> bytes:
        return hashlib.sha256(text.encode()).digest()

    drawn: list[int] = []
    identical = 0
    for i in sorted(range(len(pairs)), key=lambda i: lot(f"pair {seed} {i}")):
        first, second = pairs[i]
        if len(drawn) == count:
            break
        if first.prediction.split() == second.prediction.split():
            identical += 1
        else:
            drawn.append(i)
    swapped = set(sorted(drawn, key=lambda i: lot(f"side {seed} {i}"))[: len(drawn) // 2])
    items = []
    for i in drawn:
        first, second = pairs[i][:: -1 if i in swapped else 1]
        turns = _turns(first.dialogue or Dialogue(()))
        items.append({"turns": turns, "first": first.prediction, "second": second.prediction})
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


_Model = TypeVar("_Model", bound=BaseModel)


def _parsed(model: type[_Model], data: str | bytes, path: Path) -> _Model:
    try:
        return model.model_validate_json(data)
    except ValidationError as error:
        first = error.errors()[0]
        place = "".join(f"{part}." for part in first["loc"])
        raise DataError(
            f"{path}: {place.rstrip('.')}: {first['msg']}; save it again from the page"
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
            raise DataError(f"{path}: answers to another page than {files[0]}'s")
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


def rating_report(answers: Answers) -> tuple[list[list[list[str]]], list[str]]:
    """Who is preferred, and what is said to be false: two tables, and what else there is to say.

    A's share counts an equal answer as half. Items are counted by what most of their raters say, p
    is of the sign test on them, alpha is Krippendorff's. Intervals resample items.
    """
    key, raters = answers.key, answers.by_rater
    a, b = key.systems
    shape = len(raters), len(key.ids)
    signs = {question: np.full(shape, math.nan) for question in QUESTIONS}  # 1: A is better
    marks = [np.full(shape, math.nan) for _ in key.systems]  # 1: says something false
    for rater, given in enumerate(raters.values()):
        for item, answer in given.items():
            places = ("second", "first") if key.swapped[item] else ("first", "second")
            for question in QUESTIONS:
                sign = _SIGNS.get(getattr(answer, question), math.nan)
                signs[question][rater, item] = sign * _SIGNS[places[0]]
            for place, mark in zip(places, marks, strict=True):
                # A summary left alone counts once its item is answered whole.
                if place in answer.false or answer.is_whole:
                    mark[rater, item] = place in answer.false

    def share(values: Floats) -> str:
        numbers = np.stack([100 * np.nansum(values, axis=0), np.isfinite(values).sum(axis=0)], 1)
        column = MetricColumn("share", "share")
        scores = Scores("raters", tuple(key.ids), {"share": column}, {"share": numbers}, {})
        return interval_of(scores, "share").text(1)

    def alpha(values: Floats, ordered: bool) -> str:
        agreement = krippendorff_alpha(values, ordered)
        return "-" if math.isnan(agreement) else f"{agreement:.2f}"

    preferences = [["", a, "equal", b, f"{a}'s share", f"items {a}:{b}", "p", "alpha"]]
    for question in reversed(QUESTIONS):
        values = signs[question]
        counts = [str(int((values == sign).sum())) for sign in (1, 0, -1)]
        balance = np.nansum(values, axis=0)
        items = int((balance > 0).sum()), int((balance < 0).sum())
        tested = [f"{items[0]}:{items[1]}", f"{sign_test(*items):.3f}", alpha(values, True)]
        preferences.append([question, *counts, share((values + 1) / 2), *tested])
    falsehoods = [["says something false", "answers", "share", "alpha"]]
    for system, values in zip(key.systems, marks, strict=True):
        counted = f"{int((values == 1).sum())} of {int(np.isfinite(values).sum())}"
        falsehoods.append([system, counted, share(values), alpha(values, False)])
    whole = [f"{name} {sum(a.is_whole for a in given.values())}" for name, given in raters.items()]
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


def krippendorff_alpha(answers: Floats, ordered: bool) -> float:
    """Agreement of (raters, items) answers, NaN where there is none: 1 is full, 0 is chance.

    NaN where nothing is answered twice, or all answers are the same. ``ordered``: distant values
    disagree more (ordinal distance by ranks, Krippendorff 2011), else any two alike.
    """
    twice = np.isfinite(answers) & (np.isfinite(answers).sum(axis=0) > 1)
    levels, counts = np.unique(answers[twice], return_counts=True)
    if len(levels) < 2:
        return math.nan
    ranks = dict(zip(levels, np.cumsum(counts) - counts / 2, strict=True))
    triples = [(int(r), int(i), ranks[answers[r, i]]) for r, i in np.argwhere(twice)]
    distance = interval_distance if ordered else binary_distance
    return float(AnnotationTask(triples, distance).alpha())


def preferred_dialogues(page: Path, answers: Answers) -> Iterator[Dialogue]:
    """The page's dialogues whose one summary more raters prefer overall and nobody marks as false.

    That summary is their reference, for fine-tuning to learn from.

    Raises:
        DataError: the file is no page of ours, or not that of the answers.
    """
    with reading(page):
        match = _DATA.search(page.read_text(encoding="utf-8", errors="replace"))
    if match is None:
        raise DataError(f"{page}: is no page of dialogist rate make: name the one that raters had")
    shown = json.loads(match[1])
    if shown["page"] != answers.page:
        raise DataError(f"{page}: is not the page of these answers: name theirs")
    for number, item in enumerate(shown["items"]):
        given = [by[number] for by in answers.by_rater.values() if number in by]
        balance = sum(_SIGNS[a.overall] for a in given if a.overall is not None)
        place = "first" if balance > 0 else "second"
        if balance and not any(place in answer.false for answer in given):
            turns = tuple(Utterance(speaker, text) for speaker, text in item["turns"])
            yield Dialogue(turns, answers.key.ids[number], references=(item[place],))
