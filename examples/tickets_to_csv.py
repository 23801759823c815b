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

from dialogist import ReadOptions, Summarizer, Summary, read_dialogues
from dialogist.forms.fill import FilledSection
from dialogist.forms.form_file import parse_form

FORM = parse_form(
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
    dialogues = read_dialogues(file, ReadOptions(format="csv"))
    for result in Summarizer(form=FORM).results(dialogues):
        summary, sections = result.summary, result.filled.sections if result.filled else ()
        yield Row(summary.id, _why(summary, sections), sections, summary)


def _why(summary: Summary, sections: Sequence[FilledSection]) -> str:
    entries = {section.title: section.entries for section in sections}
    if summary.status != "ready":
        return summary.status
    if entries["Open questions"]:
        return "open question"
    return "" if entries["Outcome"] else "no outcome found"


def _entries(section: FilledSection) -> str:
    return "\n".join(
        f"{entry.text} " + "".join(f"[{span.utterance + 1}]" for span in entry.evidence)
        for entry in section.entries
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
