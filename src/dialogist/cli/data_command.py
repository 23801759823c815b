"""``dialogist data check``: whether a file can be read whole, and what looks odd in it."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, Any

import typer

from dialogist.cli.console import Meter, filtered, tracked
from dialogist.cli.flags import FactsForm, OutputFile, Quiet, ReadFlags, Strict, grouped
from dialogist.cli.inputs import expected_records, sources_of
from dialogist.cli.output_formats import Facts, output_format_of, output_to
from dialogist.errors import DataError
from dialogist.language.tokens import count_words, counted
from dialogist.records import PROFILE, Dialogue

FINDINGS = {
    "duplicate_id": "have an id that occurred before",
    "duplicate_dialogue": "repeat an earlier dialogue word for word",
    "empty_utterance": "hold an utterance without text",
    "one_speaker": "have one speaker or none",
    "empty_summary": "have a summary without text",
    "long_summary": "have a summary longer than the dialogue",
    "no_reference": "have no summary, while others have one",
    "ignored_profile": "have fields in their profile that are not read: no text or number",
}
"""What each kind of oddity says about the dialogues concerned."""

_EXAMPLES = 5


@grouped
def check(
    read: ReadFlags,
    files: Annotated[list[Path], typer.Argument(help="Dialogue files, or - for stdin.")],
    output: OutputFile = None,
    format: FactsForm = None,
    quiet: Quiet = False,
    strict: Strict = False,
) -> int:
    """Read files whole and list every bad line and every oddity. Exit code 3 if lines are bad."""
    kind = output_format_of(output, format, Facts.text)
    options = read.options(strict)
    reports = {str(file): checked(file, options) for file in sources_of(files, output)}
    with output_to(output):
        if kind is Facts.json:
            typer.echo(json.dumps(reports, ensure_ascii=False, indent=2))
        for name, report in reports.items() if kind is Facts.text else ():
            counts = (counted(report[what], what) for what in ("dialogues", "utterances"))
            typer.echo(f"{name}: {', '.join(counts)}, {counted(report['references'], 'summaries')}")
            for problem in report["problems"]:
                typer.echo(f"  bad  {filtered(problem['text'])}")
            for finding in report["warnings"]:
                more = ", ..." if finding["count"] > len(finding["examples"]) else ""
                shown = f"({', '.join(finding['examples'])}{more})"
                line = f"{finding['count']} {FINDINGS[finding['kind']]} {shown}"
                typer.echo(f"  odd  {filtered(line)}")
            if report["error"]:
                typer.echo(f"  stop {filtered(report['error'])}")
    bad = any(report["problems"] or report["error"] for report in reports.values())
    return 3 if bad else 0


def checked(file: Path, options: Any) -> dict[str, Any]:
    """A file's report as JSON values: counts, problems, oddities, and why reading ended early.

    Raises:
        DataError: it cannot be opened, or no format is recognised.
    """
    from dialogist.formats import ReadProblem, read_dialogues

    problems: list[ReadProblem] = []
    counts: Counter[str] = Counter()
    examples: defaultdict[str, list[str]] = defaultdict(list)
    ids, digests = set[str](), set[bytes]()
    error = ""
    meter = Meter("checked", expected_records([file]), "dialogues")
    try:
        for dialogue in tracked(read_dialogues(file, options, problems.append), meter):
            counts["dialogues"] += 1
            counts["utterances"] += len(dialogue.utterances)
            counts["references"] += len(dialogue.references)
            turns = (f"{u.speaker}\0{' '.join(u.text.split())}" for u in dialogue.utterances)
            text = "\n".join(turns).lower().encode("utf-8", "replace")
            digest = blake2b(text, digest_size=16).digest()
            kinds = list(_oddities(dialogue))
            kinds += ["duplicate_id"] * (dialogue.id in ids)
            kinds += ["duplicate_dialogue"] * (digest in digests)
            ids.add(dialogue.id)
            digests.add(digest)
            for kind in kinds:
                counts[kind] += 1
                shown = [dialogue.id]
                if kind == "ignored_profile":  # names of fields rather than of the dialogue
                    unread = dialogue.metadata[PROFILE]
                    names = list(unread) if isinstance(unread, dict) else [PROFILE]
                    shown = [name for name in names if name not in examples[kind]]
                examples[kind] += shown[: _EXAMPLES - len(examples[kind])]
    except DataError as broken:
        if not counts["dialogues"] and not problems:
            raise
        error = str(broken)
    present = [kind for kind in FINDINGS if counts[kind]]
    if not counts["references"]:
        present = [kind for kind in present if kind != "no_reference"]
    return {
        **{what: counts[what] for what in ("dialogues", "utterances", "references")},
        "problems": [{"line": p.line, "text": str(p)} for p in problems],
        "warnings": [
            {"kind": kind, "count": counts[kind], "examples": examples[kind]} for kind in present
        ],
        "error": error,
    }


def _oddities(dialogue: Dialogue) -> Iterator[str]:
    if any(not utterance.text.strip() for utterance in dialogue.utterances):
        yield "empty_utterance"
    if len(dialogue.speakers) < 2:
        yield "one_speaker"
    if any(not reference.strip() for reference in dialogue.references):
        yield "empty_summary"
    words = sum(count_words(utterance.text) for utterance in dialogue.utterances)
    if not dialogue.references:
        yield "no_reference"
    elif max(map(count_words, dialogue.references)) > words:
        yield "long_summary"
    if dialogue.metadata.get(PROFILE) is not None:
        yield "ignored_profile"
