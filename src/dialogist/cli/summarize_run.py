"""How ``dialogist summarize`` works through its dialogues: counted, told, written, gone on with."""

import json
import os
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

from dialogist.cli.console import Meter, note
from dialogist.cli.output_formats import OutputFormat, csv_row, is_file, is_special, output_to
from dialogist.config import differences
from dialogist.errors import DataError, UsageError, nearest
from dialogist.files import sync, write_text_atomically
from dialogist.model_folder.options import SummaryOptions
from dialogist.present import PresentedSummary, Presenter, PresentOptions, markdown_of, text_of
from dialogist.records import JSON, Dialogue, Warning
from dialogist.forms.filled import as_cell, legend, plain, printable
from dialogist.language.tokens import counted

if TYPE_CHECKING:
    from dialogist.pipeline.summarizer import Summarizer


# A file of summaries that an interrupted ``summarize`` can go on with.
#
# FILE.jsonl.partial           the summaries so far, a line each; FILE.jsonl once all are there
# FILE.jsonl.run.json          what they are made with: model, options, version
# FILE.jsonl.partial.run.json  the same, while the file is partial


WINDOW = 32
"""Dialogues that are summarized together: a group is done again whole, so that the bytes of a
summary do not depend on where the run before was interrupted."""


class RunFile:
    """The file of one run, and which dialogues it has already."""

    def __init__(self, output: Path, settings: Mapping[str, JSON], resume: bool) -> None:
        """Begin the file, or go on with it.

        Raises:
            UsageError: it cannot be gone on with, or an interrupted run would be lost.
        """
        self._output = output = Path(os.path.realpath(output))  # a link stays one
        self._partial = output.with_name(f"{output.name}.partial")
        self._settings = dict(settings)
        self._done: Counter[str] = Counter()
        self._again: Counter[str] = Counter()
        self._kept = 0
        if resume:
            self._continue()
        elif self._partial.exists():
            raise UsageError(
                f"{self._partial}: an interrupted run left "
                f"{counted(_count(self._partial), 'summaries')}; add "
                "--resume to continue it, or remove this file to start over"
            )
        else:
            self._begin()

    @property
    def kept(self) -> int:
        """How many summaries were there already."""
        return self._kept

    def missing(self, dialogues: Iterable[Dialogue]) -> Iterator[Dialogue]:
        """The dialogues to be summarized: all of each group that is not whole in the file."""
        remaining = iter(dialogues)
        left = self._done.copy()
        while group := list(islice(remaining, WINDOW)):
            done = []
            for dialogue in group:
                if left[dialogue.id]:
                    left[dialogue.id] -= 1
                    done.append(dialogue.id)
            if len(done) < len(group):
                self._again.update(done)
                yield from group

    def is_there(self, id: str) -> bool:
        """Whether this summary, which came again with its group, is in the file already."""
        if not self._again[id]:
            return False
        self._again[id] -= 1
        return True

    def write(self, lines: Iterable[str]) -> None:
        """Add lines as they come; with the last one the file gets its name.

        Raises:
            DataError: it cannot be written.
        """
        try:
            with self._partial.open("ab") as file:
                for line in lines:
                    file.write(line.encode("utf-8", errors="backslashreplace"))
                    file.flush()
            sync(self._partial)
            self._partial.replace(self._output)
            _sidecar(self._partial).replace(_sidecar(self._output))
        except OSError as error:
            raise DataError(f"{self._output}: cannot be written: {error.strerror}") from None

    def _begin(self) -> None:
        write_text_atomically(_sidecar(self._partial), json.dumps(self._settings, indent=2) + "\n")
        self._partial.touch()

    def _continue(self) -> None:
        source = self._partial if self._partial.exists() else self._output
        if not source.exists():
            self._begin()
            return
        self._check(source)
        whole = self._read(source)
        if source == self._output:
            write_text_atomically(
                _sidecar(self._partial), json.dumps(self._settings, indent=2) + "\n"
            )
            shutil.copyfile(source, self._partial)
        with self._partial.open("r+b") as file:
            file.truncate(whole)
        self._kept = self._done.total()

    def _check(self, source: Path) -> None:
        path = _sidecar(source)
        late = _sidecar(self._partial)
        if source == self._output and late.exists():  # killed between the two renames at the end
            path = late
        try:
            before = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            raise UsageError(
                f"--resume: {path} cannot be read, so what {source} was made with is not known; "
                "give another --output"
            ) from None
        changed = differences(before, self._settings)
        if changed:
            raise UsageError(
                f"--resume: {source} was made with other settings ({'; '.join(changed[:3])}); "
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
                    self._done[str(json.loads(line)["id"])] += 1
                except (ValueError, KeyError, TypeError):
                    raise UsageError(
                        f"--resume: {source}:{number}: is no summary; give another --output"
                    ) from None
                whole += len(line)
        return whole


def _sidecar(path: Path) -> Path:
    return path.with_name(f"{path.name}.run.json")


def _count(path: Path) -> int:
    with path.open("rb") as file:
        return sum(line.endswith(b"\n") for line in file)


# How ``dialogist summarize`` works through its dialogues: counted, told, written, gone on with.


@dataclass(frozen=True, slots=True)
class Destination:
    """Where summaries go: ``form`` and ``columns`` say how, ``resume`` whether some are there."""

    output: Path | None
    form: OutputFormat
    columns: tuple[str, ...] = ()
    resume: bool = False

    def check(self) -> None:
        """See that a run can be gone on with there.

        Raises:
            UsageError: it cannot: ``resume`` wants a file of JSON lines.
        """
        if self.resume and not self.is_resumable:
            raise UsageError("--resume goes with --output FILE.jsonl")

    @property
    def is_resumable(self) -> bool:
        """Whether what is there after an interruption is of use."""
        is_replaced = self.output is not None and not is_special(self.output)
        return is_replaced and is_file(self.output) and self.form is OutputFormat.jsonl


@dataclass(slots=True)
class SummaryRun:
    """The dialogues of one call, and what is done with each."""

    summarizer: "Summarizer"
    options: SummaryOptions
    presenter: Presenter
    dialogues: Iterable[Dialogue]
    total: int | None
    """How many dialogues there are, if that is known beforehand."""
    labels: bool | None = None
    """Whether text names key points; None: where the model plans its summaries by them."""

    def write(self, to: Destination, settings: dict[str, JSON]) -> None:
        """Summarize all dialogues; ``settings`` say what a file that is gone on with is made of.

        Raises:
            DialogistError: see `RunFile` and `output_to`.
        """
        if to.output is not None and to.is_resumable:
            file = RunFile(to.output, settings, to.resume)
            if file.kept:
                note(f"{counted(file.kept, 'summaries')} of the run before are kept", own=True)
            self.dialogues = file.missing(self.dialogues)
            shown = (one for one in self._shown() if not file.is_there(one.summary.id))
            file.write(pieces_of(self._watched(shown, file.kept), to.form))
        else:
            shown = (replace(one, with_labels=self._with_labels) for one in self._shown())
            with output_to(to.output, mark=to.form is OutputFormat.csv):
                write_summaries(self._watched(shown, 0, to.form), to.form, to.columns)

    @property
    def _with_labels(self) -> bool:
        if self.labels is not None:
            return self.labels
        return self.options.style == "free" and self.summarizer.plans

    def _shown(self) -> Iterator[PresentedSummary]:
        read = self.presenter.mask_inputs(self.dialogues)
        return self.presenter.present(self.summarizer.stream(read, self.options, WINDOW))

    def _watched(
        self, shown: Iterable[PresentedSummary], kept: int, form: OutputFormat = OutputFormat.jsonl
    ) -> Iterator[PresentedSummary]:
        """Tell what is to be told of each summary, and count them."""
        total = None if self.total is None else max(0, self.total - kept)
        meter = Meter("summarized", total, "dialogues")
        statuses: Counter[str] = Counter()
        for presented in shown:
            _tell(presented, bare=form is OutputFormat.text and not presented.with_evidence)
            yield presented
            statuses[presented.summary.status] += 1
            if statuses.total() % WINDOW == 0:  # a group comes at once: within it the rate is none
                meter.update(statuses.total())
        meter.count(statuses.total())
        meter.finish(tally(statuses))


def tally(statuses: Mapping[str, int]) -> str:
    """``312 summaries: 290 ok, 20 warning, 2 errors``."""
    shown = [
        counted(count, "errors") if status == "error" else f"{count} {status.replace('_', ' ')}"
        for status, count in Counter(statuses).most_common()
    ]
    return f"{counted(sum(statuses.values()), 'summaries')}: {', '.join(shown) or 'none'}"


def _tell(presented: PresentedSummary, bare: bool) -> None:
    """Say on stderr what no form of output shows; of ``bare`` text its warnings and status, too.

    What failed was told when it did (`dialogist.cli.console`).
    """
    summary = presented.summary
    told = [*presented.notes] if not bare else [*map(_told, summary.warnings), *presented.notes]
    if bare and summary.reason and summary.reason not in told and summary.status != "error":
        told.append(f"{summary.status.replace('_', ' ')}: {summary.reason}")
    for message in told:
        note(f"{summary.id}: {message}")


def _told(warning: Warning) -> str:
    """A warning with the words of the summary that it is about."""
    about = warning.text if warning.text not in warning.message else ""
    return f"{warning.message}: '{about}'" if about else warning.message


# Summaries as CSV, for spreadsheets: a row each, a column per section of the template.


_USUAL = ("id", "status", "reason", "text", "kinds", "warnings")
_MORE = ("model", "score", "key_points")


def columns_of(wanted: str, shape: PresentOptions) -> tuple[str, ...]:
    """Return the columns of a table of summaries: the wanted ones, or all usual ones.

    ``wanted``: names with commas. A template adds a column per section.

    Raises:
        UsageError: there is no such column; names the nearest.
    """
    sections = tuple(one.title for one in shape.template.sections) if shape.template else ()
    names = [name.strip() for name in wanted.split(",") if name.strip()]
    known = (*_USUAL, *sections, *_MORE)
    for name in names:
        if name not in known:
            choices = ", ".join(known)
            raise UsageError(f"--columns {name}: no such column{nearest(name, known)} ({choices})")
    return tuple(names) or (*_USUAL, *sections)


def summaries_as_csv(
    summaries: Iterable[PresentedSummary], columns: Sequence[str]
) -> Iterator[str]:
    """Yield the line of titles, then a line per summary."""
    yield csv_row(columns)
    for shown in summaries:
        cells = _cells(shown)
        yield csv_row(cells.get(column) for column in columns)


def _cells(shown: PresentedSummary) -> Mapping[str, object]:
    summary = shown.summary
    sections = shown.filled.sections if shown.filled is not None else ()
    return {
        **{section.title: as_cell(section) for section in sections},
        "id": summary.id,
        "status": summary.status,
        "reason": summary.reason,
        "text": summary.text,
        "kinds": ", ".join(sorted(shown.kinds - {""})),
        "warnings": len(summary.warnings),
        "model": summary.model,
        "score": summary.score,
        "key_points": ", ".join(point.label for point in summary.key_points),
    }


# Summaries as text, JSON, JSON lines or Markdown, written as they come.


def _text(summaries: Iterable[PresentedSummary]) -> Iterator[str]:
    """One summary: its lines alone. Several: each under a line with its id."""
    remaining = iter(summaries)
    first = list(islice(remaining, 2))
    several = len(first) > 1
    kinds: set[str] = set()
    for number, shown in enumerate(chain(first, remaining)):
        if several:
            yield f"{'' if number == 0 else chr(10)}== {printable(shown.summary.id)} ==\n"
        yield from text_of(shown)
        kinds |= shown.kinds if shown.with_evidence or shown.filled else set()
    if told := legend(kinds):
        yield f"\n{told}\n"


def _markdown(summaries: Iterable[PresentedSummary]) -> Iterator[str]:
    kinds: set[str] = set()
    for shown in summaries:
        yield from markdown_of(shown)
        kinds |= shown.kinds
    if told := legend(kinds):
        yield f"*{plain(told)}*\n"


def _json(summaries: Iterable[PresentedSummary]) -> Iterator[str]:
    separator = "[\n"
    for summary in summaries:
        yield separator + json.dumps(summary.to_json(), ensure_ascii=False)
        separator = ",\n"
    yield "[]\n" if separator == "[\n" else "\n]\n"


def _jsonl(summaries: Iterable[PresentedSummary]) -> Iterator[str]:
    for summary in summaries:
        yield json.dumps(summary.to_json(), ensure_ascii=False) + "\n"


_FORMS: dict[OutputFormat, Callable[[Iterable[PresentedSummary]], Iterator[str]]] = {
    OutputFormat.text: _text,
    OutputFormat.json: _json,
    OutputFormat.jsonl: _jsonl,
    OutputFormat.md: _markdown,
}


def pieces_of(
    summaries: Iterable[PresentedSummary], form: OutputFormat, columns: Sequence[str] = ()
) -> Iterator[str]:
    """Yield the text of each summary as soon as it is there; ``columns``: those of CSV."""
    if form is OutputFormat.csv:
        return summaries_as_csv(summaries, columns)
    return _FORMS[form](summaries)


def write_summaries(
    summaries: Iterable[PresentedSummary], form: OutputFormat, columns: Sequence[str] = ()
) -> None:
    """Write `pieces_of` to stdout, UTF-8 whatever the locale."""
    for piece in pieces_of(summaries, form, columns):
        sys.stdout.buffer.write(piece.encode("utf-8", errors="backslashreplace"))
        sys.stdout.buffer.flush()
