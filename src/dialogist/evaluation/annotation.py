"""Pages on which people write summaries, or read statements against their dialogue.

The annotation page begins with a model's drafts or with nothing; the browser saves the summaries as
JSON lines that the generic reader reads: training data.

Reading sheets: dialogues, summaries -sheet_rows-> rows -> a CSV file, or a page (`reading_page`).
A filled CSV file -read_sheet-> rows -sheet_scores-> Scores (figures with intervals by dialogue). A
reader calls a statement ``correct``, ``vague`` (true, but what it is about cannot be told) or
``wrong`` (it gives a false belief, or cannot be understood). The page saves the same CSV file.
"""

import csv
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from functools import partial
from pathlib import Path
from typing import TypeAlias

import numpy as np

from dialogist.formats.fields import dialogue_to_json
from dialogist.data.split import digest
from dialogist.errors import DataError
from dialogist.evaluation.pages import people_page
from dialogist.evaluation.scoring import Scores
from dialogist.metrics.base import Column, percentage
from dialogist.records import JSON, Dialogue, Statement, Summary
from dialogist.language.tokens import split_sentences


def sample_dialogues(dialogues: Sequence[Dialogue], count: int, seed: int) -> list[Dialogue]:
    """Up to ``count`` dialogues at random; a smaller count is the head of a larger one."""
    order = sorted(range(len(dialogues)), key=lambda n: digest(f"annotate {seed} {n}"))
    return [dialogues[n] for n in order[:count]]


def annotation_page(dialogues: Sequence[Dialogue], drafts: Sequence[Summary] | None) -> str:
    """The whole page as HTML; ``drafts`` None: the texts begin empty.

    Raises:
        MissingExtraError: jinja2 is not installed.
    """
    summaries = [Summary("")] * len(dialogues) if drafts is None else drafts
    items: list[JSON] = [_item(*pair) for pair in zip(dialogues, summaries, strict=True)]
    own = bool(drafts) and not any(draft.model for draft in drafts or ())
    styles = ("rating", "annotate")
    return people_page("annotate", styles, {"items": items}, drafts=drafts is not None, own=own)


def _item(dialogue: Dialogue, draft: Summary) -> JSON:
    record = dialogue_to_json(dialogue)
    record.pop("summaries", None)
    return {
        "record": record,
        "turns": [[u.speaker, u.text] for u in dialogue.utterances],
        "draft": draft.text,
        "sentences": [_sentence(one, draft) for one in draft.sentences],
    }


def _sentence(one: Statement, draft: Summary) -> JSON:
    """A sentence of a draft, the utterances it rests on, and what is doubted about it."""
    turns = dict.fromkeys(span.utterance for span in one.evidence)
    doubts = [w.message for w in draft.warnings if one.start <= w.start < one.end]
    return {"text": one.text, "turns": list(turns), "doubts": list[JSON](doubts)}


VERDICTS = ("correct", "vague", "wrong")

ANNOTATED_ERRORS = {
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


@dataclass(frozen=True, slots=True)
class SheetRow:
    """One statement of a sheet. All fields are text, as in the CSV file.

    ``group`` is the dialogue's kind, if its metadata names one. ``kind`` is the statement's kind.
    ``check`` is what the tool's own checks said of it. ``transcript``, ``facts`` and ``held`` stand
    in the first row of a dialogue: how many key facts the dialogue has, and how many of these the
    summary holds.
    """

    dialogue: str
    group: str
    statement: str
    kind: str
    check: str
    evidence: str
    transcript: str
    verdict: str = ""
    error: str = ""
    facts: str = ""
    held: str = ""
    note: str = ""


SHEET_COLUMNS = tuple(field.name for field in fields(SheetRow))


def sheet_rows(dialogue: Dialogue, summary: Summary) -> list[SheetRow]:
    """The rows of one summary; none where it says nothing."""
    known = dialogue.metadata.get("facts")
    facts = str(len(known)) if isinstance(known, list) else ""
    group = str(dialogue.metadata.get("kind", ""))
    transcript = "\n".join(f"{u.speaker}: {u.text}" for u in dialogue.utterances)
    return [
        SheetRow(
            dialogue=dialogue.id,
            group=group,
            statement=one.text,
            kind=one.kind,
            check=one.check,
            evidence=_quotes(dialogue, one),
            transcript="" if number else transcript,
            facts="" if number else facts,
        )
        for number, one in enumerate(_stated(summary))
    ]


def _stated(summary: Summary) -> Sequence[Statement]:
    """What is to be read: the statements; of a bare text its sentences."""
    if summary.sentences:
        return [one for one in summary.sentences if one.text.strip()]
    return [Statement(text, 0, len(text), kind="free") for text in split_sentences(summary.text)]


def _quotes(dialogue: Dialogue, statement: Statement) -> str:
    quoted = [
        (dialogue.utterances[span.utterance], span)
        for span in statement.evidence
        if span.utterance < len(dialogue.utterances)
    ]
    return "\n".join(f"{u.speaker}: {u.text[span.start : span.end]}" for u, span in quoted)


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
            reader = csv.DictReader(file)
            found = list(reader)
    except (OSError, ValueError, csv.Error) as error:
        raise DataError(f"{path}: cannot be read as a reading sheet: {error}") from None
    rows = [_row(record, f"{path}, row {number}") for number, record in enumerate(found, 2)]
    filled = [row for row in rows if row.verdict]
    if not filled:
        raise DataError(f"{path}: no row has a verdict yet: write {', '.join(VERDICTS)} there")
    return filled, len(rows) - len(filled)


def _row(record: dict[str, str], place: str) -> SheetRow:
    texts = {name: (record.get(name) or "") for name in SHEET_COLUMNS}
    for name in ("verdict", "error", "facts", "held"):
        texts[name] = texts[name].strip().lower()
    row = SheetRow(**texts)
    if row.verdict and row.verdict not in VERDICTS:
        raise DataError(f"{place}: verdict '{row.verdict}': write one of {', '.join(VERDICTS)}")
    if row.error and row.error not in ANNOTATED_ERRORS:
        raise DataError(f"{place}: error '{row.error}': write one of {', '.join(ANNOTATED_ERRORS)}")
    if row.error and row.verdict != "wrong":
        raise DataError(f"{place}: error '{row.error}' of a statement that is not called wrong")
    for name in ("facts", "held"):
        if (text := texts[name]) and not text.isdecimal():
            raise DataError(f"{place}: {name} '{text}': write a whole number")
    if row.held and (not row.facts or int(row.held) > int(row.facts)):
        raise DataError(f"{place}: held {row.held} of facts {row.facts or 'unknown'}")
    return row


def sheet_scores(rows: Sequence[SheetRow], name: str) -> Scores:
    """What the reader found, as figures; the dialogue is the unit that is resampled."""
    groups: dict[str, list[SheetRow]] = {}
    for row in rows:
        groups.setdefault(row.dialogue, []).append(row)
    kinds = sorted({row.kind for row in rows if row.kind})
    parts = sorted({row.group for row in rows if row.group})
    shares: list[tuple[str, str, _Share]] = [
        ("wrong", "wrong statements", lambda g: _counted(g, verdict="wrong")),
        ("vague", "vague statements", lambda g: _counted(g, verdict="vague")),
        ("dialogues", "dialogues with a wrong statement", lambda g: (_bad(g), 1)),
        ("unmarked", "wrong, of those without a mark", _unmarked),
        ("facts", "key facts held", lambda g: _facts(g) or (0, 0)),
        ("good", "nothing wrong and half of the facts", _good),
    ]
    for error in ANNOTATED_ERRORS:
        shares.append((f"error.{error}", f"wrong by {error}", partial(_counted, error=error)))
    for kind in kinds:
        of_kind = partial(_wrong_of, name="kind", value=kind)
        shares.append((f"kind.{kind}", f"wrong, of {kind} statements", of_kind))
    for part in parts:
        of_part = partial(_wrong_of, name="group", value=part)
        shares.append((f"group.{part}", f"wrong, of {part} dialogues", of_part))
    return Scores(
        system=name,
        ids=tuple(groups),
        columns=tuple(Column(key, title, "neither", 2, percentage) for key, title, _ in shares),
        values=np.array(
            [[n for _, _, share in shares for n in share(group)] for group in groups.values()],
            dtype=np.float64,
        ),
        signatures={},
    )


_Share: TypeAlias = Callable[[Sequence[SheetRow]], tuple[float, float]]


def _counted(group: Sequence[SheetRow], **wanted: str) -> tuple[float, float]:
    [(name, value)] = wanted.items()
    return sum(getattr(row, name) == value for row in group), len(group)


def _wrong_of(group: Sequence[SheetRow], name: str, value: str) -> tuple[float, float]:
    return _counted([row for row in group if getattr(row, name) == value], verdict="wrong")


def _bad(group: Sequence[SheetRow]) -> bool:
    return any(row.verdict == "wrong" for row in group)


def _unmarked(group: Sequence[SheetRow]) -> tuple[float, float]:
    return _counted([row for row in group if row.check in ("", "passed")], verdict="wrong")


def _facts(group: Sequence[SheetRow]) -> tuple[int, int] | None:
    """How many facts a summary holds, and of how many; None: the reader did not count them."""
    return next(((int(r.held), int(r.facts)) for r in group if r.held and r.facts), None)


def _good(group: Sequence[SheetRow]) -> tuple[float, float]:
    facts = _facts(group)
    return (0, 0) if facts is None else (not _bad(group) and 2 * facts[0] >= facts[1], 1)


def reading_page(dialogues: Sequence[Dialogue], summaries: Sequence[Summary]) -> str:
    """The sheet as an HTML page that is filled by keyboard and saves the CSV file.

    Raises:
        MissingExtraError: jinja2 is not installed.
    """
    items: list[JSON] = []
    for dialogue, summary in zip(dialogues, summaries, strict=True):
        rows: list[JSON] = [asdict(row) for row in sheet_rows(dialogue, summary)]
        cited: list[JSON] = [
            list[JSON](dict.fromkeys(span.utterance for span in one.evidence))
            for one in _stated(summary)
        ]
        turns: list[JSON] = [[u.speaker, u.text] for u in dialogue.utterances]
        facts = dialogue.metadata.get("facts")
        listed = list[JSON](map(str, facts)) if isinstance(facts, list) else []
        items.append({"turns": turns, "rows": rows, "cited": cited, "facts": listed})
    styles = ("rating", "annotate", "reading")
    page: dict[str, JSON] = {"items": items, "columns": list[JSON](SHEET_COLUMNS)}
    return people_page("reading", styles, page, errors=ANNOTATED_ERRORS)
