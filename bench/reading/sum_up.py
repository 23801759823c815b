"""Sum up the reader's sheets: shares with 95% Wilson intervals, before and after side by side.

    python bench/reading/sum_up.py [--save results/reading.json] [--pages]

``--pages`` writes the table of both styles into README.md, the model card and pages of docs,
between the marks ``reading`` and ``/reading``. The sheet of faithful style is faithful.jsonl, once
it is read: name its commit and date in SHEETS.

A sheet holds one JSON record a line: one read sentence (before.jsonl, after.jsonl) or one read
template entry (before-templates.jsonl, after-templates.jsonl). README.md says how they were judged.
"""

import argparse
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from math import sqrt
from pathlib import Path
from typing import Any, NamedTuple

Row = dict[str, Any]
HERE = Path(__file__).resolve().parent
Z = 1.959964
KINDS = ("service", "meeting", "doctor", "everyday", "messy")
BARS = (0.5, 0.55, 0.6, 0.65, 0.7)
SHEETS = {
    "before": {"commit": "dc66615", "date": "2026-11-24"},
    "after": {"commit": "08dc94b", "templates_commit": "050ab5d", "date": "2026-11-25"},
    "faithful": {"commit": "d2c7691", "date": "2026-11-25"},
    "faithful-2": {"commit": "1cc564c", "date": "2026-11-25"},
    "faithful-3": {"commit": "406d033", "date": "2026-11-25"},
    "faithful-4-before": {"commit": "e10acca", "date": "2026-11-25"},
    "faithful-4": {"commit": "b8cdf9a", "date": "2026-11-25"},
    "faithful-5-before": {"commit": "03c62a3", "date": "2026-11-25"},
    "faithful-5": {"commit": "839c6f3", "date": "2026-11-25"},
    "faithful-6-before": {"commit": "03c62a3", "date": "2026-11-25"},
    "faithful-6": {"commit": "09ced61", "date": "2026-11-25"},
    "faithful-7": {"commit": "8da8fa7", "date": "2026-11-26"},
    "faithful-7-selector": {"commit": "not kept", "date": "2026-11-26"},
    "faithful-8": {"commit": "fbc2b16", "date": "2026-11-26"},
    "faithful-8-selector": {"commit": "not kept", "date": "2026-11-26"},
    "faithful-9": {"commit": "4a84139", "date": "2026-11-26"},
    "faithful-10-before": {"commit": "2535a82", "date": "2026-11-26"},
    "faithful-10": {"commit": "121fd6d", "date": "2026-11-26"},
}
FAITHFUL = "faithful-10"
STYLES = {
    FAITHFUL: "reported speech, the default of release 0.2 (100 dialogues)",
    "faithful-9": "100 others, before the first words had more worth",
    "after": "the network of release 0.2, removed (60 dialogues)",
}
SHOWN = (
    "wrong sentences",
    "dialogues with a wrong sentence",
    "vague sentences",
    "garbled sentences",
    "key facts fully right",
)
ROOT = HERE.parents[1]
PAGES = (
    ROOT / "README.md",
    ROOT / "docs" / "results.md",
)
BLOCK = re.compile(r"(?<=<!-- reading -->\n).*?(?=<!-- /reading -->)", re.S)
TEMPLATES = ("call", "ticket", "meeting", "clinical")
READER = "one reader, a language model; nobody read the sheets a second time"
COMMANDS = (
    'grep \'"split": "sheet"\' bench/reading/dialogues.jsonl > sheet.jsonl',
    "dialogist summarize --format json sheet.jsonl",
    "dialogist summarize --format json --template NAME CHOSEN.jsonl",
    "python bench/reading/sum_up.py --save results/reading.json --pages",
)


class Share(NamedTuple):
    """How many of all."""

    name: str
    hits: int
    total: int

    def interval(self) -> tuple[float, float]:
        """Return the ends of the 95% Wilson interval."""
        if not self.total:
            return 0.0, 1.0
        share = self.hits / self.total
        middle = share + Z * Z / (2 * self.total)
        reach = Z * sqrt(share * (1 - share) / self.total + Z * Z / (4 * self.total**2))
        scale = 1 + Z * Z / self.total
        return max(0.0, (middle - reach) / scale), min(1.0, (middle + reach) / scale)

    def cells(self) -> str:
        """Format the share, the count and the interval as table cells."""
        if not self.total:
            return "- | 0/0 | -"
        low, high = self.interval()
        return f"{self.hits / self.total:.0%} | {self.hits}/{self.total} | {low:.0%} to {high:.0%}"

    def figure(self) -> Row:
        """Return the share as results are saved, in percent."""
        low, high = self.interval()
        percent = 100 * self.hits / self.total if self.total else 0.0
        return {
            "figure": round(percent, 1),
            "low": round(100 * low, 1),
            "high": round(100 * high, 1),
            "hits": self.hits,
            "total": self.total,
        }


def share(name: str, rows: Iterable[Row], test: Callable[[Row], bool]) -> Share:
    """Return the share of the rows that pass a test."""
    rows = list(rows)
    return Share(name, sum(map(test, rows)), len(rows))


def is_wrong(row: Row) -> bool:
    """Tell whether the reader called the statement wrong."""
    return bool(row["verdict"] == "wrong")


def is_surely_wrong(row: Row) -> bool:
    """Tell whether the statement is wrong for a lenient reader, too."""
    return is_wrong(row) and not row.get("borderline", False)


def is_marked(row: Row) -> bool:
    """Tell whether the output marks the sentence; dc66615 had warnings alone."""
    return bool(row["check"] != "passed" if "check" in row else row["warned"])


def by_dialogue(rows: Iterable[Row]) -> list[list[Row]]:
    """Group the rows by dialogue."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row["id"], []).append(row)
    return list(groups.values())


def facts(name: str, dialogues: list[list[Row]], field: str) -> Share:
    """Return the share of key facts that the summaries hold."""
    right = sum(group[0][field] for group in dialogues)
    return Share(name, right, sum(group[0]["facts"] for group in dialogues))


def is_clean(group: list[Row]) -> bool:
    """Tell whether nothing in a summary is wrong."""
    return not any(map(is_wrong, group))


def is_clean_and_half(group: list[Row]) -> bool:
    """Tell whether nothing is wrong and at least half of the facts are there."""
    return is_clean(group) and 2 * group[0]["facts_right"] >= group[0]["facts"]


def summary_shares(rows: list[Row]) -> list[Share]:
    """Return the figures of one sheet of sentences."""
    groups = by_dialogue(rows)
    wrong = [row for row in rows if is_wrong(row)]
    correct = [row for row in rows if row["verdict"] == "correct"]
    marked = [row for row in rows if is_marked(row)]
    unmarked = [row for row in rows if not is_marked(row)]
    trusted = [group for group in groups if group[0]["status"] == "ok"]
    distrusted = [group for group in groups if group[0]["status"] != "ok"]
    bad_groups = sum(not is_clean(group) for group in groups)
    return [
        share("wrong sentences", rows, is_wrong),
        share("wrong sentences, lenient", rows, is_surely_wrong),
        share("vague sentences", rows, lambda row: row["verdict"] == "vague"),
        share("correct sentences", rows, lambda row: row["verdict"] == "correct"),
        Share("dialogues with a wrong sentence", bad_groups, len(groups)),
        share("garbled sentences", rows, lambda row: row["garbled"]),
        facts("key facts fully right", groups, "facts_right"),
        facts("key facts right, lenient", groups, "facts_right_lenient"),
        Share(
            "dialogues with nothing wrong and half of their facts",
            sum(map(is_clean_and_half, groups)),
            len(groups),
        ),
        share("sentences shown without a mark that are wrong", unmarked, is_wrong),
        share("the same, lenient", unmarked, is_surely_wrong),
        share("wrong sentences that are marked", wrong, is_marked),
        share("marked sentences that are wrong", marked, is_wrong),
        share("correct sentences that are marked", correct, is_marked),
        Share("summaries with status ok and nothing wrong", *clean_of(trusted)),
        Share("other summaries with nothing wrong", *clean_of(distrusted)),
        share(
            "first evidence right",
            (row for row in rows if "evidence_right" in row),
            lambda row: row["evidence_right"],
        ),
    ]


def clean_of(groups: list[list[Row]]) -> tuple[int, int]:
    """Count the summaries with nothing wrong, and all."""
    return sum(map(is_clean, groups)), len(groups)


def check_shares(rows: list[Row]) -> list[Share]:
    """Return how many sentences are wrong for each outcome of the checks."""
    names = sorted({row["check"] for row in rows if "check" in row})
    return [share(n, [row for row in rows if row.get("check") == n], is_wrong) for n in names]


def kind_shares(rows: list[Row]) -> list[Share]:
    """Return how many sentences are wrong in each kind of dialogue."""
    parts = {kind: [row for row in rows if row["dialogue_kind"] == kind] for kind in KINDS}
    return [share(kind, part, is_wrong) for kind, part in parts.items()]


def confidence_table(rows: list[Row]) -> list[str]:
    """Show what a mark below each confidence would find."""
    table = ["| mark below | marked that are wrong | wrong that are marked |", "|---|---|---|"]
    wrong = sum(map(is_wrong, rows))
    for bar in BARS:
        below = [row for row in rows if (row["confidence"] or 0.0) < bar]
        hits = sum(map(is_wrong, below))
        table.append(f"| {bar} | {hits}/{len(below)} | {hits}/{wrong} |")
    return table


def entry_shares(rows: list[Row]) -> list[Share]:
    """Return the figures of one sheet of template entries."""
    filled = [row for row in rows if row["verdict"] != "missing"]
    parts = {
        "entries": filled,
        "sentences of the model": [row for row in filled if row["model"]],
        "entries made by rules": [row for row in filled if not row["model"]],
    }
    shares = [
        Share(
            f"{name} that are {verdict}", [row["verdict"] for row in part].count(verdict), len(part)
        )
        for name, part in parts.items()
        for verdict in ("correct", "vague", "wrong")
    ]
    for name in TEMPLATES:
        part = [row for row in filled if row["template"] == name]
        shares.append(share(f"{name}: wrong", part, is_wrong))
    return shares


def side_by_side(before: Sequence[Share], after: Sequence[Share]) -> list[str]:
    """Format the same figures of two sheets as one table."""
    head = "| figure | before | count | 95% interval | after | count | 95% interval |"
    rows = [
        f"| {old.name} | {old.cells()} | {new.cells()} |"
        for old, new in zip(before, after, strict=True)
    ]
    return [head, "|---|---|---|---|---|---|---|", *rows]


def counted(values: Iterable[Any]) -> dict[str, int]:
    """Count values, the most frequent first."""
    return dict(Counter(str(value) for value in values).most_common())


def other_counts(rows: list[Row]) -> Row:
    """Count the kinds of error and the statuses of one sheet of sentences."""
    return {
        "sentences": len(rows),
        "errors": counted(row["kind"] for row in rows if is_wrong(row)),
        "statuses": counted(group[0]["status"] for group in by_dialogue(rows)),
    }


def entry_counts(rows: list[Row]) -> Row:
    """Count the entries of one template sheet, and the fields left empty though said."""
    count = Counter(row["verdict"] for row in rows)
    empty = counted(row["template"] for row in rows if row["verdict"] == "missing")
    return {"entries": len(rows) - count["missing"], "empty_though_said": empty}


def read(name: str) -> list[Row]:
    """Read a sheet; one that nobody has read yet is empty."""
    path = HERE / f"{name}.jsonl"
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    return [json.loads(line) for line in text.splitlines()]


def saved() -> Row:
    """Return the figures of all sheets as one result."""
    figures: Row = {}
    for name, origin in SHEETS.items():
        rows, entries = read(name), read(f"{name}-templates")
        if not rows:
            continue
        shares = [
            *summary_shares(rows),
            *(s._replace(name=f"check {s.name}: wrong") for s in check_shares(rows)),
        ]
        figures[name] = {
            **origin,
            **other_counts(rows),
            "shares": {one.name: one.figure() for one in shares},
            "by_kind": {one.name: one.figure() for one in kind_shares(rows)},
            "templates": {
                **entry_counts(entries),
                "shares": {one.name: one.figure() for one in entry_shares(entries)},
            },
        }
    return {
        "schema": 1,
        "name": "reading",
        "what": "summaries read by sentence on dialogues never seen (60; from faithful-2 on 100)",
        "commit": SHEETS["after"]["commit"],
        "commands": list(COMMANDS),
        "reader": READER,
        "figures": figures,
    }


def printed() -> str:
    """Return all tables as Markdown."""
    before, after = read("before"), read("after")
    old, new = read("before-templates"), read("after-templates")
    parts = [
        side_by_side(summary_shares(before), summary_shares(after)),
        ["Wrong sentences by kind of dialogue:"],
        side_by_side(kind_shares(before), kind_shares(after)),
        ["Wrong sentences by outcome of the checks, after:"],
        [f"- {one.name}: {one.cells()}" for one in check_shares(after)],
        confidence_table(after),
        ["Template entries:"],
        side_by_side(entry_shares(old), entry_shares(new)),
    ]
    for name, rows, entries in (("Before", before, old), ("After", after, new)):
        parts.append([f"{name}: {other_counts(rows)}, templates {entry_counts(entries)}"])
    return "\n\n".join("\n".join(part) for part in parts)


def page_table() -> str:
    """Return the table of both styles as pages show it."""
    lines = [
        "| hard dialogues that it never saw (95% interval) | wrong statements "
        "| dialogues with a wrong one | vague statements | garbled statements | key facts held |",
        "|---|---|---|---|---|---|",
    ]
    for sheet, title in STYLES.items():
        rows = read(sheet)
        found = {one.name: one for one in summary_shares(rows)} if rows else {}
        cells = [page_cell(found[name]) if found else "not read yet" for name in SHOWN]
        lines.append(f"| {title} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def page_cell(one: Share) -> str:
    """Format a share as pages show it."""
    low, high = one.interval()
    return f"{one.hits / one.total:.0%} ({low:.0%} to {high:.0%})"


def write_pages() -> None:
    """Put the table into every page that shows it."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        page.write_text(BLOCK.sub(lambda _: page_table(), text), encoding="utf-8")


def main() -> None:
    """Print the tables; save the figures where asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--save", type=Path, help="file to write the figures to")
    parser.add_argument("--pages", action="store_true", help="write the table into the pages")
    options = parser.parse_args()
    print(printed())
    if options.save:
        text = json.dumps(saved(), indent=1, ensure_ascii=False)
        options.save.write_text(text + "\n", encoding="utf-8")
    if options.pages:
        write_pages()


if __name__ == "__main__":
    main()
