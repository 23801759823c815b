"""``dialogist summarize``: files or stdin in, summaries out."""

import json
import os
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from dialogist.cli.console import Meter, code_of, note, tell_failures
from dialogist.cli.flags import (
    OutputFile,
    Quiet,
    ReadFlags,
    Strict,
    SummaryFlags,
    format_option,
    grouped,
    in_panel,
)
from dialogist.cli.streams import (
    Files,
    InputReading,
    OutputFormat,
    check_apart,
    expected_records,
    is_special,
    output_format_of,
    output_to,
    sources_of,
    write_now,
)
from dialogist.errors import DataError, UsageError, nearest
from dialogist.files import claimed, sync, write_text_atomically, writing
from dialogist.language.tokens import counted
from dialogist.records import JSON, Dialogue
from dialogist.render import CSV_COLUMNS, MORE_COLUMNS, rendered

if TYPE_CHECKING:
    from dialogist.summarizer import Result, Summarizer


@grouped
def summarize_files(
    how: SummaryFlags,
    read: ReadFlags,
    files: Files = None,
    evidence: Annotated[
        Literal["times", "numbers"],
        typer.Option(
            help="Call what statements rest on by its time, where that is known, or by its number."
        ),
    ] = "times",
    no_evidence: Annotated[
        bool,
        typer.Option("--no-evidence", help="Do not show what statements rest on, nor verdicts."),
    ] = False,
    output: OutputFile = None,
    format: Annotated[OutputFormat | None, format_option()] = None,
    columns: Annotated[
        str,
        in_panel(
            "Output",
            "Columns of CSV with commas (default: id, status, reason, text, verdicts, warnings and "
            "the form's sections).",
        ),
    ] = "",
    resume: Annotated[
        bool,
        in_panel(
            "Output", "Continue an interrupted run: keep what --output FILE.jsonl has.", "--resume"
        ),
    ] = False,
    quiet: Quiet = False,
    strict: Strict = False,
) -> int:
    """Summarize dialogues: transcripts, chat exports, subtitles, JSON lines, CSV ..."""
    from dialogist.summarizer import Summarizer

    kind = output_format_of(output, format, OutputFormat.text)
    if columns and kind is not OutputFormat.csv:
        raise UsageError("--columns goes with --format csv")
    is_resumable = output is not None and kind is OutputFormat.jsonl and not is_special(output)
    if resume and not is_resumable:
        raise UsageError("--resume goes with --output FILE.jsonl")
    options, writers = how.options(not no_evidence), how.writers()
    reading = InputReading(read.options(strict), watched=False)
    sources = sources_of(files, output)
    check_apart(output, [how.writer.removeprefix("file:")] if "." in how.writer else [])
    summarizer = Summarizer(*writers, how.form)
    cells = _columns_of(columns, summarizer)
    tell_failures(lines=not strict)  # the first one ends a strict run, and is its error
    dialogues = reading.dialogues(sources)
    is_bare = kind is OutputFormat.text and no_evidence
    watch = _Watch(expected_records(sources), strict, tells=is_bare)
    if output is not None and is_resumable:
        with writing(output), claimed(Path(os.path.realpath(output))):
            file = SummaryFile(output, summarizer.settings(options), resume)
            if kept := file.done.total():
                note(f"{counted(kept, 'summaries')} of the run before are kept", own=True)
            results = summarizer.results(file.missing(dialogues), options)
            file.write(rendered(watch.results(results), kind))
    else:
        results = watch.results(summarizer.results(dialogues, options))
        if evidence == "numbers" and kind not in (OutputFormat.json, OutputFormat.jsonl):
            results = map(without_times, results)
        with output_to(output, mark=kind is OutputFormat.csv):
            for piece in rendered(results, kind, cells, bare=no_evidence):
                write_now(piece)
    return max(reading.finish(), watch.finish())


def _columns_of(columns: str, summarizer: "Summarizer") -> list[str]:
    """The columns of CSV: those that --columns names, else the usual ones and the form's."""
    sections = [s.title for s in summarizer.form.sections] if summarizer.form else []
    known = (*CSV_COLUMNS, *sections, *MORE_COLUMNS)
    wanted = [name.strip() for name in columns.split(",") if name.strip()]
    for name in wanted:
        if name not in known:
            raise UsageError(
                f"--columns {name}: no such column{nearest(name, known)} ({', '.join(known)})"
            )
    return wanted or [*CSV_COLUMNS, *sections]


def without_times(result: "Result") -> "Result":
    """The result with utterances that are known by their numbers alone."""
    utterances = tuple(replace(u, start=None, end=None) for u in result.dialogue.utterances)
    return replace(result, dialogue=replace(result.dialogue, utterances=utterances))


class _Watch:
    """Counts results as they pass, and tells on stderr what the output does not show."""

    def __init__(self, total: int | None, strict: bool, tells: bool) -> None:
        self._meter = Meter("summarized", total, "dialogues")
        self._strict, self._tells = strict, tells
        self._statuses: Counter[str] = Counter()

    def results(self, results: "Iterable[Result]") -> "Iterator[Result]":
        """The results.

        Raises:
            DataError: one failed, and the call is strict.
        """
        for result in results:
            summary = result.summary
            failed = summary.status == "error"
            if failed and self._strict:
                raise DataError(f"{summary.id}: {summary.reason}")
            messages = [*result.notes]  # what failed was told when it did
            if self._tells and summary.reason and not failed:
                messages.append(f"{summary.status.replace('_', ' ')}: {summary.reason}")
            for message in messages:
                note(f"{summary.id}: {message}" if summary.id else message)
            yield result
            self._statuses[summary.status] += 1
            self._meter.update(self._statuses.total())
        self._meter.finish(tally(self._statuses))

    def finish(self) -> int:
        """Say how many failed; the exit code."""
        return code_of(self._statuses["error"], "dialogues", "failed (status error)")


def tally(statuses: Mapping[str, int]) -> str:
    """``312 summaries: 290 ok, 20 warning, 2 errors``."""
    parts = [
        counted(count, "errors") if status == "error" else f"{count} {status.replace('_', ' ')}"
        for status, count in Counter(statuses).most_common()
    ]
    return f"{counted(sum(statuses.values()), 'summaries')}: {', '.join(parts) or 'none'}"


class SummaryFile:
    """A file of JSON lines that an interrupted run can go on with.

    FILE.jsonl.partial           the summaries so far, a line each; FILE.jsonl once all are there
    FILE.jsonl.run.json          what they are made with: writer, options, version
    FILE.jsonl.partial.run.json  the same, while the file is partial
    """

    def __init__(self, output: Path, settings: Mapping[str, JSON], resume: bool) -> None:
        """Begin the file, or go on with it.

        Raises:
            UsageError: it cannot be gone on with, or an interrupted run would be lost.
        """
        self._output = output = Path(os.path.realpath(output))  # a link stays one
        self._partial = output.with_name(f"{output.name}.partial")
        self.done: Counter[str] = Counter()
        """How often each id is there already."""
        source = self._partial if self._partial.exists() else output
        if resume and source.exists():
            self._check(source, settings)
            whole = self._read(source)
            if source == output:
                shutil.copyfile(source, self._partial)
            with self._partial.open("r+b") as file:
                file.truncate(whole)
        elif self._partial.exists():
            raise UsageError(
                f"{self._partial}: an interrupted run left summaries there; add --resume to "
                "continue it, or remove this file to start over"
            )
        write_text_atomically(_sidecar(self._partial), json.dumps(settings, indent=2) + "\n")
        self._partial.touch()

    def missing(self, dialogues: Iterable[Dialogue]) -> Iterator[Dialogue]:
        """The dialogues that are to be summarized."""
        left = self.done.copy()
        for dialogue in dialogues:
            if left[dialogue.id]:
                left[dialogue.id] -= 1
            else:
                yield dialogue

    def write(self, lines: Iterable[str]) -> None:
        """Add lines as they come; with the last one the file gets its name."""
        with self._partial.open("ab") as file:
            for line in lines:
                file.write(line.encode("utf-8", errors="backslashreplace"))
                file.flush()
        sync(self._partial)
        self._partial.replace(self._output)
        _sidecar(self._partial).replace(_sidecar(self._output))

    def _check(self, source: Path, settings: Mapping[str, JSON]) -> None:
        """See that the file was made with the same settings."""
        path, late = _sidecar(source), _sidecar(self._partial)
        if source == self._output and late.exists():  # killed between the two renames at the end
            path = late
        try:
            before = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            raise UsageError(
                f"--resume: {path} cannot be read, so what {source} was made with is not known; "
                "give another --output"
            ) from None
        changed = [key for key in {**before, **settings} if before.get(key) != settings.get(key)]
        if changed:
            raise UsageError(
                f"--resume: {source} was made with other settings ({', '.join(changed)}); "
                "give the same ones, or another --output"
            )

    def _read(self, source: Path) -> int:
        """Count the ids of complete lines; the bytes that these take."""
        whole = 0
        with source.open("rb") as file:
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n"):  # torn: it is written again
                    break
                try:
                    self.done[str(json.loads(line)["id"])] += 1
                except (ValueError, KeyError, TypeError):
                    raise UsageError(
                        f"--resume: {source}:{number}: is no summary; give another --output"
                    ) from None
                whole += len(line)
        return whole


def _sidecar(path: Path) -> Path:
    return path.with_name(f"{path.name}.run.json")
