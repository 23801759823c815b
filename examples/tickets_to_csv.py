"""A Zendesk-like export in, a table for the support lead out.

    python tickets_to_csv.py tickets.csv summaries.csv

Reads a CSV with one comment a row (ticket_id, author_name, author_role, body, created_at, public),
leaves internal notes out, and fills a form with problem, outcome and next steps for each ticket.
Each entry names its messages: "[2]" is the second one. Tickets that need a person come first.
"""

import csv
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dialogist import Dialogue, ReadOptions, Summarizer, Summary, read_dialogues
from dialogist.forms.fill import fill
from dialogist.forms.filled import FilledSection
from dialogist.forms.template_config import parse_template

FORM = parse_template(
    """
name: lead
language: en
version: 1
packs: [customer-service-en]
empty: None found.
sections:
  - {title: Problem, source: issue}
  - {title: Outcome, source: outcome}
  - {title: Next steps, source: actions}
  - {title: Open questions, source: questions}
"""
)


@dataclass(frozen=True)
class Row:
    """One ticket; ``to_check`` says why a person should look at it, or nothing."""

    ticket: str
    to_check: str
    sections: Sequence[FilledSection]
    summary: Summary

    @property
    def cells(self) -> list[str]:
        """The row as it is written; a cell never begins like a formula."""
        texts = [_entries(section) for section in self.sections]
        cells = [self.ticket, self.to_check, *texts, self.summary.text]
        return [f"'{cell}" if cell[:1] in ("=", "+", "-", "@") else cell for cell in cells]


def rows_of(file: Path) -> Iterator[Row]:
    """Summarize the tickets of a file, one after the other."""
    summarizer = Summarizer.load("default")
    dialogues: list[Dialogue] = list(read_dialogues(file, ReadOptions(format="csv")))
    for dialogue, summary in zip(dialogues, summarizer.stream(dialogues), strict=True):
        filled = fill(summary, dialogue, FORM)
        found = {section.title: section for section in filled.sections}
        yield Row(dialogue.id, _why(summary, found), filled.sections, summary)


def _why(summary: Summary, sections: dict[str, FilledSection]) -> str:
    if summary.status != "ok":
        return summary.status
    if not sections["Open questions"].empty:
        return "open question"
    return "no outcome found" if sections["Outcome"].empty else ""


def _entries(section: FilledSection) -> str:
    return "\n".join(
        f"{one.owner + ': ' if one.owner else ''}{one.text} "
        + "".join(f"[{span.utterance + 1}]" for span in one.evidence)
        for one in section.entries
    )


def main(source: Path, target: Path) -> None:
    titles = [section.title for section in FORM.sections]
    with target.open("w", encoding="utf-8-sig", newline="") as file:  # the mark that Excel wants
        writer = csv.writer(file)
        writer.writerow(["Ticket", "To check", *titles, "Summary"])
        for row in sorted(rows_of(source), key=lambda row: (not row.to_check, row.ticket)):
            writer.writerow(row.cells)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: tickets_to_csv.py TICKETS.csv SUMMARIES.csv")
    main(Path(sys.argv[1]), Path(sys.argv[2]))
