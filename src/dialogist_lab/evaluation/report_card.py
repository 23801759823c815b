"""The report card: systems measured, beside baselines and bounds, and how sure that is."""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Literal

import numpy as np

from dialogist.errors import DialogistError, UsageError, nearest
from dialogist.forms.key_points import load_pack
from dialogist.language.tokens import words_in
from dialogist.records import JSON, Dialogue, Summary, to_json
from dialogist_lab.evaluation.cautions import (
    Caution,
    output_cautions,
    overlap_cautions,
    table_cautions,
)
from dialogist_lab.evaluation.dialogue_metrics import (
    Copying,
    EventOrder,
    KeyPoints,
    Support,
    Supported,
)
from dialogist_lab.evaluation.meteor_bertscore import BertScore, Meteor
from dialogist_lab.evaluation.metric import (
    SIGNATURE,
    Difference,
    Interval,
    Metric,
    Scores,
    intervals,
    is_cjk,
    paired_differences,
    score,
)
from dialogist_lab.evaluation.rouge_bleu import Bleu, Rouge
from dialogist_lab.evaluation.systems import (
    Note,
    Output,
    System,
    find_baseline,
    find_systems,
    most_central,
    oracle,
    output_of,
    outputs_of,
    read_data,
    read_predictions,
    read_with_references,
    sample,
)

MAIN = "rougeL.f1"
"""The figure by which outputs are ranked and systems told apart."""

RowKind = Literal["system", "train", "baseline", "bound"]


def make_metrics(
    names: str, references: Sequence[str], encoder: Path | None, pack: str | None, note: Note
) -> list[Metric]:
    """The metrics of ``rouge,bleu``; of ``all`` what cannot be measured here is noted.

    ``encoder`` adds BERTScore, ``pack`` key points.

    Raises:
        UsageError: there is no metric of such a name, or a flag is missing for it.
        DataError: a metric's data is not on this machine (WordNet).
        ModelError: the encoder's folder cannot be read.
    """

    makers: dict[str, Callable[[], Metric]] = {
        "rouge": Rouge,
        "bleu": lambda: Bleu(chinese=is_cjk(references)),
        "meteor": Meteor,
        "bertscore": lambda: BertScore(encoder or Path()),
        "faithfulness": Support,
        "support": Supported,
        "copying": Copying,
        "order": EventOrder,
        "key-points": lambda: KeyPoints(load_pack(pack or ""), references),
    }
    needs = {"bertscore": ("--encoder", encoder), "key-points": ("--pack", pack)}
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    for name in wanted:
        if name not in (*makers, "all"):
            known = ", ".join(makers)
            raise UsageError(f"no metric '{name}'{nearest(name, makers)}; there are {known}, all")
    wanted += [name for name, (_, given) in needs.items() if given is not None]
    metrics: list[Metric] = []
    for name in makers if "all" in wanted else dict.fromkeys(wanted):
        flag, given = needs.get(name, ("", name))
        try:
            if given is None:
                raise UsageError(f"{name} needs {flag}")
            metrics.append(makers[name]())
        except DialogistError as error:
            if "all" not in wanted:
                raise
            note(f"{name} was left out: {error}")
    return metrics


@dataclass(frozen=True, slots=True)
class CardRow:
    """A system, or what stands beside it: outputs, what was measured, figures with intervals."""

    name: str
    kind: RowKind
    outputs: tuple[Output, ...]
    scores: Scores
    figures: Mapping[str, Interval]

    @property
    def title(self) -> str:
        """What tables call it."""
        return f"{self.name} (train sample)" if self.kind == "train" else self.name

    def lengths(self) -> list[int]:
        """How many words each output has."""
        return [len(words_in(output.prediction)) for output in self.outputs]


def make_row(
    name: str, kind: RowKind, outputs: Sequence[Output], metrics: Sequence[Metric]
) -> CardRow:
    """Measure outputs, which all have references."""
    labels = next((m.pack.labels for m in metrics if isinstance(m, KeyPoints)), ())
    cases = [output.case(labels) for output in outputs]
    scores = score(name, cases, [output.id for output in outputs], metrics)
    return CardRow(name, kind, tuple(outputs), scores, intervals(scores))


def baseline_rows(
    outputs: Sequence[Output], metrics: Sequence[Metric], without: Sequence[str]
) -> Iterator[CardRow]:
    """Baselines that a system has to beat, and the bounds: the oracle extract, and people.

    From 50 references on, the one most like all others is a baseline. People are measured by each
    other: each reference beside the others of its dialogue, averaged over these.
    """
    texts = [text for output in outputs for text in output.references]
    dialogues = [o.dialogue or Dialogue((), o.id, o.references) for o in outputs]
    if len(texts) >= 50:
        central = most_central(texts)
        same = [output_of(Summary(central), dialogue) for dialogue in dialogues]
        yield make_row("constant-reference", "baseline", same, metrics)
    if all(output.dialogue is not None for output in outputs):
        for name in ("lead-3", "longest-3"):
            baseline = find_baseline(name)
            if baseline is not None and name not in without:
                extracts = [output_of(baseline(dialogue), dialogue) for dialogue in dialogues]
                yield make_row(name, "baseline", extracts, metrics)
        best = [output_of(oracle(dialogue), dialogue) for dialogue in dialogues]
        yield make_row("oracle", "bound", best, metrics)
    several = [output for output in outputs if len(output.references) > 1]
    if several:
        people = [
            replace(
                output,
                summary=Summary(text, output.id),
                references=output.references[:i] + output.references[i + 1 :],
            )
            for output in several
            for i, text in enumerate(output.references)
        ]
        cases = [output.case() for output in people]
        scores = score("human", cases, [output.id for output in people], metrics)
        sizes = np.array([len(output.references) for output in several])
        begins = np.cumsum(sizes) - sizes
        numbers = {
            key: np.add.reduceat(values, begins, axis=0) / sizes[:, None]
            for key, values in scores.numbers.items()
        }
        scores = replace(scores, ids=tuple(output.id for output in several), numbers=numbers)
        yield CardRow("human", "bound", tuple(people), scores, intervals(scores))


@dataclass(frozen=True, slots=True)
class Card:
    """All there is to show of one set of dialogues; tables, JSON and report are made of it.

    ``headline``: the keys of the first table's columns. ``differences``: of every other system from
    ``base``, by key of the headline.
    """

    data: str
    metrics: tuple[Metric, ...]
    rows: tuple[CardRow, ...]
    headline: tuple[str, ...]
    base: str
    differences: Mapping[str, Sequence[Difference]]
    cautions: tuple[Caution, ...]

    @property
    def systems(self) -> list[CardRow]:
        """The rows that somebody asked for."""
        return [row for row in self.rows if row.kind == "system"]

    @property
    def outputs(self) -> tuple[Output, ...]:
        """The first system's; dialogues and references are those of all."""
        return self.rows[0].outputs

    @property
    def titles(self) -> dict[str, str]:
        """What tables call all columns, by key."""
        return {key: column.title for key, column in self.rows[0].scores.columns.items()}

    def to_json(self) -> dict[str, JSON]:
        """All of it as plain values; what is not known is null."""
        references = [text for output in self.outputs for text in output.references]
        rows: list[JSON] = []
        for row in self.rows:
            lengths = row.lengths()
            rows.append(
                {
                    "system": row.name,
                    "kind": row.kind,
                    "outputs": len(lengths),
                    "words": fmean(lengths),
                    "empty": lengths.count(0),
                    "figures": {key: to_json(figure) for key, figure in row.figures.items()},
                }
            )
        return {
            "schema_version": 3,
            "data": self.data,
            "dialogues": len(self.outputs),
            "references": len(references) / len(self.outputs),
            "reference_words": fmean(len(words_in(text)) for text in references),
            "columns": [{"key": key, "title": title} for key, title in self.titles.items()],
            "rows": rows,
            "base": self.base,
            "differences": [to_json(d) for several in self.differences.values() for d in several],
            "signatures": dict(self.rows[0].scores.signatures),
            "intervals": SIGNATURE,
            "cautions": [to_json(caution) for caution in self.cautions],
        }


TRAIN_SAMPLE = 500
"""Dialogues of training data that are scored beside the data."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be judged, and how; see the flags of ``dialogist evaluate``.

    ``data`` None: files of predictions bring their references. ``kept``: the folder for summaries,
    or a file where it ends with .jsonl. ``train``: is looked through for the same dialogues;
    ``train_sample``: systems that are no files summarize a sample of it.
    """

    systems: Sequence[str]
    data: Path | None
    kept: Path
    metrics: str
    encoder: Path | None = None
    pack: str | None = None
    train: Path | None = None
    train_sample: Path | None = None
    base: str = ""
    headline: Sequence[str] = ("rouge1.f1", "rouge2.f1", MAIN, "rougeLsum.f1")
    limit: int | None = None
    baselines: bool = True
    prediction_key: str = ""


def judge(request: Request, note: Note) -> Card:
    """Ask or read every system, measure it, and put baselines and bounds beside it.

    Raises:
        DialogistError: something in the call, the data or a system is at fault.
    """
    data, train = request.data, request.train

    def ask(system: System, dialogues: Sequence[Dialogue], file: Path, prefix: str) -> list[Output]:
        name = f"{system.file_name}.{file.name.partition('.')[0]}.predictions.jsonl"
        kept = request.kept if request.kept.suffix == ".jsonl" else request.kept / name
        place = kept.with_name(prefix + kept.name)
        return outputs_of(system, dialogues, place, note, request.prediction_key)

    systems = find_systems(request.systems)
    dialogues = read_with_references(data, note, request.limit) if data is not None else []
    by_name: dict[str, list[Output]] = {}
    for system in systems:
        if data is not None:
            outputs = ask(system, dialogues, data, "")
        elif system.path is None or system.summarize is not None:
            raise UsageError(f"{system.name}: say which dialogues it shall summarize")
        else:
            placed = read_predictions(system.path, note, request.prediction_key)
            outputs = [output for output in placed if output.references]
            if not outputs:
                raise UsageError(f"{system.path}: holds no references: say which data it is about")
        by_name[system.name] = outputs
    outputs = next(iter(by_name.values()))
    for name, others in by_name.items():
        if [output.id for output in others] != [output.id for output in outputs]:
            raise UsageError(f"{name} does not hold the dialogues of the others: say --on DATA")
    references = [text for output in outputs for text in output.references]
    metrics = make_metrics(request.metrics, references, request.encoder, request.pack, note)
    rows = [make_row(name, "system", placed, metrics) for name, placed in by_name.items()]
    if request.train_sample is not None:
        chosen = sample(read_with_references(request.train_sample, note), TRAIN_SAMPLE, 1)
        for system in systems:
            if system.summarize is not None:
                placed = ask(system, chosen, request.train_sample, "train-")
                rows.append(make_row(system.name, "train", placed, metrics))
    if request.baselines:
        rows += baseline_rows(outputs, metrics, list(by_name))
    cautions: list[Caution] = []
    held = [output.dialogue for output in outputs if output.dialogue is not None]
    if train is not None and held:
        cautions += overlap_cautions(read_data(train, note), held, train.name)
    about = data.name if data is not None else systems[0].name
    return _card(about, metrics, rows, request, cautions)


def _card(
    data: str,
    metrics: Sequence[Metric],
    rows: Sequence[CardRow],
    request: Request,
    cautions: Sequence[Caution],
) -> Card:
    """Test the rows against one of them, by default the first."""
    base, names = request.base, [row.name for row in rows]
    if base and base not in names:
        raise UsageError(f"--baseline {base}: is no row of this table{nearest(base, names)}")
    against = rows[names.index(base)] if base else rows[0]
    keys = tuple(key for key in request.headline if key in against.scores.columns)
    keys = keys or tuple(against.scores.columns)[:4]
    systems = [row for row in rows if row.kind == "system"]
    others = [row.scores for row in systems if row is not against]
    if not base and not others:
        others = [row.scores for row in rows if row.kind == "baseline"]
    measured = {key: paired_differences(others, against.scores, key) for key in keys if others}
    outputs = rows[0].outputs
    every_caution = [
        *cautions,
        *(c for row in systems for c in output_cautions(row.name, row.outputs)),
        *table_cautions(
            [text for output in outputs for text in output.references],
            metrics,
            measured.get(MAIN, next(iter(measured.values()), ())),
            len(outputs),
        ),
    ]
    return Card(
        data, tuple(metrics), tuple(rows), keys, against.name, measured, tuple(every_caution)
    )


Table = list[list[str]]
"""Rows of cells, the heads first."""


def card_tables(card: Card) -> list[Table]:
    """Figures with intervals, four columns at a time; differences with tests; lengths of outputs.

    All columns but the parts of an F1. A ``*`` is p < 0.05 after Holm's correction.
    """
    keys = list(card.titles)
    others = [
        key
        for key in keys
        if key not in card.headline
        and not (key.endswith((".precision", ".recall")) and f"{key.rpartition('.')[0]}.f1" in keys)
        and any(not math.isnan(row.figures[key].figure) for row in card.rows)
    ]
    groups = [(card.headline, 2), *((others[i : i + 4], 1) for i in range(0, len(others), 4))]
    tables = []
    for group, digits in groups:
        figures = [
            [row.title, *(row.figures[key].text(digits) for key in group)] for row in card.rows
        ]
        tables.append([["", *(card.titles[key] for key in group)], *figures])
    if card.differences:
        table = [[f"less {card.base}", *(card.titles[key] for key in card.differences)]]
        for several in zip(*card.differences.values(), strict=True):
            cells = [
                f"{d.difference:+.2f} ({d.low:+.2f} to {d.high:+.2f}){'*' * (d.p_corrected < 0.05)}"
                for d in several
            ]
            table.append([several[0].system, *cells])
        tables.append(table)
    sizes = [(row.title, row.lengths()) for row in card.rows]
    counts = [[title, f"{fmean(lengths):.1f}", str(lengths.count(0))] for title, lengths in sizes]
    return [*tables, [["outputs", "words", "empty"], *counts]]


def card_notes(card: Card) -> list[str]:
    """What stands below the tables: cautions, then how figures came about."""
    signatures = card.rows[0].scores.signatures
    return [*map(str, card.cautions), *(f"{k}: {v}" for k, v in signatures.items()), SIGNATURE]


def card_title(card: Card) -> str:
    """What was measured on what."""
    names = ", ".join(row.name for row in card.systems)
    count = fmean(len(output.references) for output in card.outputs)
    return f"{names}: {len(card.outputs)} dialogues of {card.data}, {count:.3g} references each"


def aligned_lines(table: Table) -> Iterator[str]:
    """Lines of cells in columns: the first to the left, figures to the right."""
    first, *widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for name, *row in table:
        cells = (cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join([name.ljust(first), *cells]).rstrip()


def markdown_table(table: Table) -> list[str]:
    """The lines of a table; all columns but the first are figures."""
    heads, *rows = [[cell.replace("|", "\\|") for cell in row] for row in table]
    rule = ["---", *["---:"] * (len(heads) - 1)]
    return [f"| {' | '.join(cells)} |" for cells in (heads, rule, *rows)]


def table_lines(table: Table, form: str) -> list[str]:
    """The lines of a table in Markdown (``md``), or in columns."""
    return markdown_table(table) if form == "md" else [*aligned_lines(table)]


def card_as(card: Card, form: str) -> str:
    """All tables, then what to beware of: as ``text``, ``md`` or ``json``."""
    if form == "json":
        return json.dumps(card.to_json(), ensure_ascii=False, indent=2)
    bullet = "* " if form == "md" else ""
    tables = [line for table in card_tables(card) for line in (*table_lines(table, form), "")]
    return "\n".join([card_title(card), "", *tables, *(f"{bullet}{n}" for n in card_notes(card))])
