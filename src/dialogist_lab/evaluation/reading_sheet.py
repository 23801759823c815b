"""Pages on which people judge statements by their dialogue, or write summaries.

A reading sheet is a CSV file, and a page that fills and saves the same file. A reader calls a
statement ``correct``, ``vague`` (true, but what it is about cannot be told) or ``wrong`` (it gives
a false belief, or cannot be understood).
"""

import csv
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np

from dialogist.errors import DataError
from dialogist.language.tokens import split_sentences
from dialogist.records import JSON, Dialogue, Statement, Summary
from dialogist_lab.evaluation.metric import MetricColumn, Scores, share_of
from dialogist_lab.evaluation.predictions import Output
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


def sample(dialogues: Sequence[Dialogue], count: int, seed: int) -> list[Dialogue]:
    """Up to ``count`` dialogues at random; a smaller count is the head of a larger one."""
    lots = [hashlib.sha256(f"{seed} {n}".encode()).digest() for n in range(len(dialogues))]
    return [dialogues[n] for n in sorted(range(len(dialogues)), key=lots.__getitem__)[:count]]


def annotation_page(dialogues: Sequence[Dialogue], drafts: Sequence[Summary], model: bool) -> str:
    """A page on which people write summaries, saved as training data.

    ``drafts``: the texts to begin with, which may be empty; ``model``: whether a model wrote them.
    """
    items: list[JSON] = []
    for dialogue, draft in zip(dialogues, drafts, strict=True):
        turns: list[JSON] = [[turn.speaker, turn.text] for turn in dialogue.utterances]
        record: dict[str, JSON] = {"id": dialogue.id, "turns": turns}
        record["metadata"] = dict(dialogue.metadata)
        sentences: list[JSON] = [
            {
                "text": statement.text,
                "turns": list(dict.fromkeys(span.utterance for span in statement.evidence)),
                "doubts": list(statement.reasons) if statement.verdict == "contradicted" else [],
            }
            for statement in draft.statements
        ]
        items.append(
            {"record": record, "turns": turns, "draft": draft.text, "sentences": sentences}
        )
    texts = any(draft.text for draft in drafts)
    return people_page("annotate", {"items": items}, drafts=texts, own=texts and not model)


@dataclass(frozen=True, slots=True)
class SheetRow:
    """A statement of a sheet; all fields are text, as in the CSV file.

    ``group``: the dialogue's kind, if its metadata name one. ``check``: the tool's own verdict.
    ``transcript``, ``facts`` and ``held`` stand in the first row of a dialogue: how many key facts
    it has, and how many of these the summary holds in full.
    """

    dialogue: str
    group: str
    statement: str
    check: str
    evidence: str
    transcript: str
    verdict: str = ""
    error: str = ""
    facts: str = ""
    held: str = ""
    note: str = ""


SHEET_COLUMNS = tuple(field.name for field in fields(SheetRow))


def statements_of(summary: Summary) -> list[Statement]:
    """What is to be read: the statements; of a bare text its sentences."""
    if summary.statements:
        return [statement for statement in summary.statements if statement.text.strip()]
    return [Statement(text) for text in split_sentences(summary.text)]


def sheet_rows(output: Output) -> list[SheetRow]:
    """The rows of a summary; none where it says nothing."""
    dialogue = output.dialogue or Dialogue(())
    facts = dialogue.metadata.get("facts")
    turns = [f"{turn.speaker}: {turn.text}" for turn in dialogue.utterances]
    rows = []
    for number, statement in enumerate(statements_of(output.summary)):
        spans = [span for span in statement.evidence if span.utterance < len(turns)]
        quotes = [
            f"{turn.speaker}: {turn.text[span.start : span.end]}"
            for span in spans
            for turn in [dialogue.utterances[span.utterance]]
        ]
        rows.append(
            SheetRow(
                dialogue=dialogue.id,
                group=str(dialogue.metadata.get("kind", "")),
                statement=statement.text,
                check=statement.verdict,
                evidence="\n".join(quotes),
                transcript="" if number else "\n".join(turns),
                facts=str(len(facts)) if isinstance(facts, list) and not number else "",
            )
        )
    return rows


def write_sheet(outputs: Sequence[Output], stem: Path) -> tuple[Path, Path]:
    """Write ``STEM.csv`` for a spreadsheet and ``STEM.html`` for a browser."""
    items: list[JSON] = []
    rows: list[SheetRow] = []
    for output in outputs:
        dialogue_rows = sheet_rows(output)
        dialogue = output.dialogue or Dialogue(())
        facts = dialogue.metadata.get("facts")
        rows += dialogue_rows
        items.append(
            {
                "turns": [[turn.speaker, turn.text] for turn in dialogue.utterances],
                "rows": [asdict(row) for row in dialogue_rows],
                "cited": [
                    list(dict.fromkeys(span.utterance for span in statement.evidence))
                    for statement in statements_of(output.summary)
                ],
                "facts": list(map(str, facts)) if isinstance(facts, list) else [],
            }
        )
    table, page = stem.with_suffix(".csv"), stem.with_suffix(".html")
    with table.open("w", encoding="utf-8", errors="replace", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([SHEET_COLUMNS, *(asdict(row).values() for row in rows)])
    data: dict[str, JSON] = {"items": items, "columns": list(SHEET_COLUMNS)}
    page.write_text(people_page("reading", data, errors=READING_ERRORS), encoding="utf-8")
    return table, page


def is_sheet(path: Path) -> bool:
    """Whether a file is a reading sheet, by its first line."""
    if path.suffix.lower() != ".csv" or not path.is_file():
        return False
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        head = next(csv.reader(file), [])
    return {"dialogue", "statement", "verdict", "error"} <= set(head)


def read_sheet(path: Path) -> tuple[list[SheetRow], int]:
    """The filled rows of a sheet, and how many are not filled.

    Raises:
        DataError: it cannot be read, or a cell holds what it may not; its row is told.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            records = list(csv.DictReader(file))
    except (OSError, ValueError, csv.Error) as error:
        raise DataError(f"{path}: cannot be read as a reading sheet: {error}") from None
    rows = []
    for number, record in enumerate(records, 2):
        cells = {name: record.get(name) or "" for name in SHEET_COLUMNS}
        filled = {n: cells[n].strip().lower() for n in ("verdict", "error", "facts", "held")}
        row = SheetRow(**{**cells, **filled})
        if fault := _fault(row):
            raise DataError(f"{path}, row {number}: {fault}")
        rows.append(row)
    done = [row for row in rows if row.verdict]
    if not done:
        raise DataError(f"{path}: no row has a verdict yet: write {', '.join(VERDICTS)} there")
    return done, len(rows) - len(done)


def _fault(row: SheetRow) -> str:
    if row.verdict not in ("", *VERDICTS):
        return f"verdict '{row.verdict}': write one of {', '.join(VERDICTS)}"
    if row.error not in ("", *READING_ERRORS):
        return f"error '{row.error}': write one of {', '.join(READING_ERRORS)}"
    if row.error and row.verdict != "wrong":
        return f"error '{row.error}' of a statement that is not called wrong"
    for name in ("facts", "held"):
        if (text := getattr(row, name)) and not text.isdecimal():
            return f"{name} '{text}': write a whole number"
    if row.held and (not row.facts or int(row.held) > int(row.facts)):
        return f"held {row.held} of facts {row.facts or 'unknown'}"
    return ""


Share = Callable[[Sequence[SheetRow]], tuple[float, float]]
"""From the rows of a dialogue to how many are so, of how many."""


def sheet_scores(rows: Sequence[SheetRow], name: str) -> Scores:
    """What the reader found, as figures; the dialogue is the unit that is resampled."""
    groups: dict[str, list[SheetRow]] = {}
    for row in rows:
        groups.setdefault(row.dialogue, []).append(row)

    def part(field: str, value: str, of: tuple[str, str] | None = None) -> Share:
        """Rows with a value in a field, of all or of those with one in another field."""

        def share(group: Sequence[SheetRow]) -> tuple[float, float]:
            chosen = [row for row in group if of is None or getattr(row, of[0]) == of[1]]
            return sum(getattr(row, field) == value for row in chosen), len(chosen)

        return share

    def is_wrong(group: Sequence[SheetRow]) -> tuple[float, float]:
        return any(row.verdict == "wrong" for row in group), 1

    def facts(group: Sequence[SheetRow]) -> tuple[float, float]:
        counted = ((int(row.held), int(row.facts)) for row in group if row.held)
        return next(counted, (0, 0))

    shares: dict[str, tuple[str, Share]] = {
        "wrong": ("wrong statements", part("verdict", "wrong")),
        "vague": ("vague statements", part("verdict", "vague")),
        "dialogues": ("dialogues with a wrong statement", is_wrong),
        "facts": ("key facts held", facts),
    }
    for error in sorted({row.error for row in rows if row.error}):
        shares[f"error.{error}"] = (f"wrong by {error}", part("error", error))
    for field, title in (("check", "{} statements"), ("group", "{} dialogues")):
        for value in sorted({getattr(row, field) for row in rows} - {""}):
            share = part("verdict", "wrong", (field, value))
            shares[f"{field}.{value}"] = (f"wrong, of {title.format(value)}", share)
    return Scores(
        system=name,
        ids=tuple(groups),
        columns=tuple(MetricColumn(key, title, "neither") for key, (title, _) in shares.items()),
        values=np.array(
            [[n for _, f in shares.values() for n in share_of(*f(g))] for g in groups.values()]
        ),
        signatures={},
    )
