"""CSV that a spreadsheet opens safely, and the scores of systems in it.

A cell that begins like a formula (``=``, ``+``, ``-``, ``@``) gets an apostrophe before it: text of
a dialogue must not run as a formula.
"""

import csv
import io
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dialogist.evaluation.report_card import Card

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def csv_row(cells: Iterable[object]) -> str:
    """Return one line; None is an empty cell."""
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(map(_cell, cells))
    return line.getvalue()


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, int | float):
        return "" if math.isnan(value) else str(round(value, 6))
    text = "".join(c if c.isprintable() or c in "\n\t" else " " for c in str(value))
    return f"'{text}" if text.startswith(_FORMULA) else text


def card_csv(card: "Card") -> str:
    """Return a line per system: each figure, and the ends of its interval."""
    keys = [column.key for column in card.columns]
    titles = [title for key in keys for title in (key, f"{key}.low", f"{key}.high")]
    lines = [csv_row(["system", "kind", "outputs", "words", *titles])]
    for row in card.rows:
        found = [row.figures.get(key) for key in keys]
        cells = [
            end
            for one in found
            for end in ((None,) * 3 if one is None else (one.figure, one.low, one.high))
        ]
        lines.append(csv_row([row.name, row.kind.value, row.outputs, row.words, *cells]))
    return "".join(lines)
