"""Sum up a reader's sheet: shares with 95% Wilson intervals.

Run `python reading/sum_up.py reading/before.jsonl [--conf 0.6]`.
The sheet holds one JSON record a line: one read sentence, or one read template entry
(then it has a `template`).
"""

import argparse
import json
from collections import Counter
from collections.abc import Callable, Iterable
from math import sqrt
from pathlib import Path
from typing import Any

Row = dict[str, Any]
Z = 1.959964
KINDS = ("service", "meeting", "doctor", "everyday", "messy")


def wilson(hits: int, total: int) -> tuple[float, float]:
    """Return the ends of the 95% Wilson interval of a share."""
    if not total:
        return 0.0, 1.0
    share = hits / total
    middle = share + Z * Z / (2 * total)
    reach = Z * sqrt(share * (1 - share) / total + Z * Z / (4 * total * total))
    scale = 1 + Z * Z / total
    return max(0.0, (middle - reach) / scale), min(1.0, (middle + reach) / scale)


def line(name: str, hits: int, total: int) -> str:
    """Format one share as a table row."""
    if not total:
        return f"| {name} | - | 0/0 | - |"
    low, high = wilson(hits, total)
    return f"| {name} | {hits / total:.0%} | {hits}/{total} | {low:.0%} to {high:.0%} |"


def share(name: str, rows: Iterable[Row], test: Callable[[Row], bool]) -> str:
    """Format the share of the rows that pass a test."""
    rows = list(rows)
    return line(name, sum(map(test, rows)), len(rows))


def is_wrong(row: Row) -> bool:
    """Tell whether the reader called the statement wrong."""
    return bool(row["verdict"] == "wrong")


def is_surely_wrong(row: Row) -> bool:
    """Tell whether the statement is wrong for a lenient reader, too."""
    return is_wrong(row) and not row.get("borderline", False)


def by_dialogue(rows: list[Row]) -> list[list[Row]]:
    """Group the rows by dialogue."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row["id"], []).append(row)
    return list(groups.values())


def facts(name: str, dialogues: list[list[Row]], field: str) -> str:
    """Format the share of key facts that the summaries hold."""
    return line(
        name,
        sum(group[0][field] for group in dialogues),
        sum(group[0]["facts"] for group in dialogues),
    )


def is_clean_and_half(group: list[Row]) -> bool:
    """Tell whether nothing is wrong and at least half of the facts are there."""
    return not any(map(is_wrong, group)) and 2 * group[0]["facts_right"] >= group[0]["facts"]


def summary_table(rows: list[Row]) -> list[str]:
    """Make the table of one sheet of sentences."""
    dialogues = by_dialogue(rows)
    wrong = [row for row in rows if is_wrong(row)]
    flagged = [row for row in rows if row["warned"]]
    unflagged = [row for row in rows if not row["warned"]]
    return [
        "| figure | share | count | 95% interval |",
        "|---|---|---|---|",
        share("wrong sentences", rows, is_wrong),
        share("wrong sentences, lenient", rows, is_surely_wrong),
        share("vague sentences", rows, lambda row: row["verdict"] == "vague"),
        share("correct sentences", rows, lambda row: row["verdict"] == "correct"),
        line(
            "dialogues with a wrong sentence",
            sum(any(map(is_wrong, group)) for group in dialogues),
            len(dialogues),
        ),
        share("garbled sentences", rows, lambda row: row["garbled"]),
        facts("key facts fully right", dialogues, "facts_right"),
        facts("key facts right, lenient", dialogues, "facts_right_lenient"),
        line(
            "dialogues with nothing wrong and half of their facts",
            sum(map(is_clean_and_half, dialogues)),
            len(dialogues),
        ),
        share("wrong sentences that are flagged", wrong, lambda row: row["warned"]),
        share("flagged sentences that are wrong", flagged, is_wrong),
        share("not flagged sentences that are wrong", unflagged, is_wrong),
        share("first evidence right", rows, lambda row: row["evidence_right"]),
    ]


def kind_table(rows: list[Row]) -> list[str]:
    """Make the table of the five kinds of dialogue."""
    table = [
        "| dialogues | sentences | wrong | garbled | dialogues with a wrong one | facts |",
        "|---|---|---|---|---|---|",
    ]
    for kind in KINDS:
        part = [row for row in rows if row["dialogue_kind"] == kind]
        if not part:
            continue
        groups = by_dialogue(part)
        bad = sum(any(map(is_wrong, group)) for group in groups)
        right = sum(group[0]["facts_right"] for group in groups)
        every = sum(group[0]["facts"] for group in groups)
        table.append(
            f"| {kind} ({len(groups)}) | {len(part)} | {sum(map(is_wrong, part)) / len(part):.0%} "
            f"| {sum(row['garbled'] for row in part) / len(part):.0%} "
            f"| {bad / len(groups):.0%} | {right}/{every} |"
        )
    return table


def confidence_table(rows: list[Row], bars: list[float]) -> list[str]:
    """Show what a flag below each confidence would find."""
    table = ["| flag below | flagged that are wrong | wrong that are flagged |", "|---|---|---|"]
    wrong = sum(map(is_wrong, rows))
    for bar in bars:
        below = [row for row in rows if (row["confidence"] or 0.0) < bar]
        hits = sum(map(is_wrong, below))
        table.append(f"| {bar} | {hits}/{len(below)} | {hits}/{wrong} |")
    return table


def entry_table(rows: list[Row]) -> list[str]:
    """Make the table of a sheet of template entries."""
    table = [
        "| template | filled | correct | vague | wrong | wrong, 95% interval | empty though said |",
        "|---|---|---|---|---|---|---|",
    ]
    names = sorted({row["template"] for row in rows})
    for name in [*names, "all"]:
        part = [row for row in rows if name in ("all", row["template"])]
        filled = [row for row in part if row["verdict"] != "missing"]
        count = Counter(row["verdict"] for row in part)
        low, high = wilson(count["wrong"], len(filled))
        table.append(
            f"| {name} | {len(filled)} | {count['correct']} | {count['vague']} | {count['wrong']} "
            f"| {low:.0%} to {high:.0%} | {count['missing']} |"
        )
    return table


def main() -> None:
    """Read a sheet and print its tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sheet", type=Path)
    parser.add_argument("--conf", type=float, nargs="*", default=[0.5, 0.55, 0.6, 0.65, 0.7])
    options = parser.parse_args()
    rows = [json.loads(text) for text in options.sheet.read_text(encoding="utf-8").splitlines()]
    if "template" in rows[0]:
        print("\n".join(entry_table(rows)))
        return
    statuses = Counter(group[0]["status"] for group in by_dialogue(rows))
    kinds = Counter(row["kind"] for row in rows if is_wrong(row))
    parts = [
        summary_table(rows),
        kind_table(rows),
        confidence_table(rows, options.conf),
        ["Kinds of error (first-named): " + ", ".join(f"{k} {n}" for k, n in kinds.most_common())],
        ["Statuses: " + ", ".join(f"{k} {n}" for k, n in statuses.most_common())],
    ]
    print("\n\n".join("\n".join(part) for part in parts))


if __name__ == "__main__":
    main()
