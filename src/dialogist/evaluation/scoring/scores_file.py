"""`Scores` as a file, so that nothing has to be measured a second time.

JSON lines: the first says what the columns are and how they came about, then a line per output,
``id`` and ``values``. A column's figure is a function of sums; the file names its kind,
so that reading it runs nothing but what stands here, and needs no encoder and no WordNet.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import numpy as np

from dialogist.errors import DataError
from dialogist.evaluation.key_points import total
from dialogist.evaluation.scoring.scores import Scores
from dialogist.files import write_text_atomically
from dialogist.metrics.base import Better, Column, Floats, percentage, ratio
from dialogist.metrics.bleu import Bleu, Chrf
from dialogist.metrics.slots import Slots
from dialogist.records import JSON

SCHEMA_VERSION = 1

Figure = Callable[[Floats], Floats]

_PLAIN: dict[str, Figure] = {"mean": ratio, "percentage": percentage, "total": total}
_OF_METRICS: dict[str, Callable[[int], Figure]] = {
    "bleu": lambda width: Bleu("none", orders=width // 2 - 1).columns[0].figure,
    "chrf": lambda width: Chrf().columns[0].figure,
    "slots.f1": lambda width: next(c for c in Slots.columns if c.key == "slots.f1").figure,
}
"""By the end of a column's key, and by its width."""


def write_scores(path: Path, scores: Scores) -> None:
    """Write them; the file is complete or not there.

    Raises:
        DataError: it cannot be written.
    """
    head: dict[str, JSON] = {
        "schema_version": SCHEMA_VERSION,
        "kind": "dialogist scores",
        "system": scores.system,
        "signatures": dict(scores.signatures),
        "columns": [_described(column) for column in scores.columns],
    }
    rows = zip(scores.ids, scores.values.tolist(), strict=True)
    lines = [head, *({"id": name, "values": values} for name, values in rows)]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    try:
        write_text_atomically(path, text)
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror}") from None


def read_scores(path: Path) -> Scores:
    """Read what `write_scores` wrote.

    Raises:
        DataError: it cannot be read, is something else, damaged, or of a newer version.
        MissingExtraError: it holds BLEU or chrF, and sacrebleu is not installed.
    """
    try:
        head, *rows = map(json.loads, _lines(path))
        if head.get("kind") != "dialogist scores":
            raise DataError(f"{path}: is no file of scores")
        if head["schema_version"] > SCHEMA_VERSION:
            raise DataError(f"{path}: was written by a newer Dialogist: update, or score again")
        return Scores(
            system=str(head["system"]),
            ids=tuple(str(row["id"]) for row in rows),
            columns=tuple(_column(one) for one in head["columns"]),
            values=np.array([row["values"] for row in rows], dtype=np.float64),
            signatures={str(name): str(text) for name, text in head["signatures"].items()},
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise DataError(f"{path}: is damaged: {type(error).__name__}: {error}") from None


def _lines(path: Path) -> Iterator[str]:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None
    return iter(text.split("\n")[:-1])


def _described(column: Column) -> dict[str, JSON]:
    kinds = [kind for kind, figure in _PLAIN.items() if column.figure is figure]
    return {
        "key": column.key,
        "title": column.title,
        "better": column.better,
        "width": column.width,
        "unit": column.unit,
        "figure": kinds[0] if kinds else _kind_of(column.key),
    }


def _kind_of(key: str) -> str:
    for kind in _OF_METRICS:
        if f".{key}".endswith(f".{kind}"):
            return kind
    raise ValueError(f"{key}: figures of this kind cannot be written")


def _column(about: dict[str, Any]) -> Column:
    if about["better"] not in get_args(Better):
        raise ValueError(f"better: {about['better']}")
    width = int(about["width"])
    return Column(
        key=str(about["key"]),
        title=str(about["title"]),
        better=about["better"],
        width=width,
        figure=_figure(str(about["figure"]), width),
        unit=str(about["unit"]),
    )


def _figure(kind: str, width: int) -> Figure:
    return _OF_METRICS[kind](width) if kind in _OF_METRICS else _PLAIN[kind]
