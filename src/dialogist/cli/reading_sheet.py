"""``dialogist evaluate --read``: a sheet for a reader, and what the reader found in the end."""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from dialogist.cli.console import note
from dialogist.cli.evaluate_run import EvaluationInputs
from dialogist.cli.flags import choose_device, decoding_options, load_summarizer
from dialogist.cli.output_formats import CardFormat, aligned_lines, csv_row
from dialogist.errors import DataError, UsageError
from dialogist.evaluation.annotation import (
    ANNOTATED_ERRORS,
    SHEET_COLUMNS,
    SheetRow,
    read_sheet,
    reading_page,
    sample_dialogues,
    sheet_rows,
    sheet_scores,
)
from dialogist.evaluation.scoring import Scores
from dialogist.evaluation.significance import DEFAULT_RESAMPLING, Interval, intervals
from dialogist.evaluation.system_outputs import DialogueChoice
from dialogist.files import write_text_atomically, writing
from dialogist.pipeline.summarizer import SummarizerLike
from dialogist.recipe.predictions import load_runner, read_predictions
from dialogist.recipe.systems import System, find_systems
from dialogist.records import Dialogue, Summary
from dialogist.language.tokens import counted

_BATCH = 8
_HEADS = ("what the reader found", "figure", "95% interval", "count")


def make_sheet(system: str, asking: EvaluationInputs, output: Path, count: int, seed: int) -> int:
    """Write ``count`` statements of a system, or a few more, as ``output``.csv and ``output``.html.

    The dialogues are drawn at random; the last one is shown whole.

    Raises:
        DialogistError: the system or the data is at fault, or a file cannot be written.
    """
    if asking.data is None:
        raise UsageError(f"say which dialogues to read: dialogist evaluate {system} DATA --read")
    [found] = find_systems([system], Path(), [], {})
    every = list(asking.reading.dialogues([asking.data]))
    drawn = sample_dialogues([one for one in every if one.utterances], len(every), seed)
    shown: list[tuple[Dialogue, Summary]] = []
    rows: list[SheetRow] = []
    for dialogue, summary in _summaries(found, asking, drawn):
        if len(rows) >= count:
            break
        if own := sheet_rows(dialogue, summary):
            shown.append((dialogue, summary))
            rows += own
    if not rows:
        raise DataError(f"{asking.data}: no summary there says anything: nothing to read")
    stem = output.with_suffix("") if output.suffix.lower() in (".csv", ".html") else output
    table, page = stem.with_name(f"{stem.name}.csv"), stem.with_name(f"{stem.name}.html")
    cells = ([getattr(row, name) for name in SHEET_COLUMNS] for row in rows)
    texts = {
        table: "".join(map(csv_row, [SHEET_COLUMNS, *cells])),
        page: reading_page([dialogue for dialogue, _ in shown], [summary for _, summary in shown]),
    }
    for path, text in texts.items():
        with writing(path):
            write_text_atomically(path, text)
    note(
        f"{counted(len(rows), 'statements')} about {len(shown)} of {len(every)} dialogues: "
        f"read them in "
        f"{page} (a browser) or {table} (a spreadsheet), then: dialogist evaluate {table}"
    )
    return asking.reading.finish()


def _summaries(
    system: System, asking: EvaluationInputs, dialogues: Sequence[Dialogue]
) -> Iterator[tuple[Dialogue, Summary]]:
    """What a system says about the dialogues, a few at a time."""
    if system.recipe is not None:
        raise UsageError(f"{system.name}: is a recipe: name its run folder")
    if system.outputs is not None:
        choice = DialogueChoice(str(asking.data), dialogues, range(len(dialogues)))
        outputs = read_predictions(system.outputs, choice, asking.flags.written, note).outputs
        yield from zip(dialogues, (output.summary for output in outputs), strict=True)
        return
    options = None
    device, threads = asking.flags.device, asking.flags.threads
    if system.folder is None:
        runner = load_runner(system, choose_device(device, threads))
        summarizer: SummarizerLike = runner.summarizer
    else:
        style = asking.search.get("style")
        model = load_summarizer(system.name, device, threads, style=style)
        options = decoding_options(model.options, asking.search)
        summarizer = model
    for begin in range(0, len(dialogues), _BATCH):
        part = dialogues[begin : begin + _BATCH]
        yield from zip(part, summarizer.summarize(part, options), strict=True)


def sum_up(path: Path, form: CardFormat) -> str:
    """What a reader found, with intervals by kind of error.

    Raises:
        DataError: the sheet is at fault.
    """
    rows, open_rows = read_sheet(path)
    if open_rows:
        note(f"{path}: {counted(open_rows, 'statements')} left out: without a verdict")
    scores = sheet_scores(rows, path.name)
    found = intervals(scores, DEFAULT_RESAMPLING)
    return _FORMS[form](scores, found, len(rows))


def _lines(scores: Scores, found: Mapping[str, Interval]) -> Iterator[tuple[str, str, str, str]]:
    """A line of each figure that has something in it; of errors those that there are."""
    begin = 0
    for column in scores.columns:
        own = scores.values[:, begin : begin + 2]
        (hits, total), support = own.sum(axis=0), (own[:, 1] > 0).sum()
        begin += 2
        one = found[column.key]
        if not total or (column.key.startswith("error.") and not hits):
            continue
        alone = support < 2 or math.isnan(one.low)
        reach = "-" if alone else f"{one.low:.0f}% to {one.high:.0f}%"
        yield column.title, f"{one.figure:.1f}%", reach, f"{hits:.0f}/{total:.0f}"


def _text(scores: Scores, found: Mapping[str, Interval], rows: int) -> str:
    lines = aligned_lines([_HEADS, *_lines(scores, found)])
    return "\n".join(
        [f"{counted(rows, 'statements')} about {counted(len(scores.ids), 'dialogues')}", "", *lines]
    )


def _markdown(scores: Scores, found: Mapping[str, Interval], rows: int) -> str:
    lines = [f"| {' | '.join(cells)} |" for cells in (_HEADS, *_lines(scores, found))]
    lines.insert(1, "|---|---:|---:|---:|")
    return "\n".join(
        [f"{counted(rows, 'statements')} about {counted(len(scores.ids), 'dialogues')}", "", *lines]
    )


def _csv(scores: Scores, found: Mapping[str, Interval], rows: int) -> str:
    return "".join(map(csv_row, [_HEADS, *_lines(scores, found)])).rstrip("\n")


def _json(scores: Scores, found: Mapping[str, Interval], rows: int) -> str:
    figures = {}
    for key, one in found.items():
        if not math.isnan(one.figure):
            ends = (one.figure, one.low, one.high)
            names = ("figure", "low", "high")
            figures[key] = {
                n: None if math.isnan(e) else e for n, e in zip(names, ends, strict=True)
            }
    about = {"statements": rows, "dialogues": len(scores.ids), "errors": ANNOTATED_ERRORS}
    return json.dumps({**about, "figures": figures}, ensure_ascii=False, indent=2)


_FORMS: Mapping[CardFormat, Callable[[Scores, Mapping[str, Interval], int], str]] = {
    CardFormat.text: _text,
    CardFormat.md: _markdown,
    CardFormat.csv: _csv,
    CardFormat.json: _json,
}
