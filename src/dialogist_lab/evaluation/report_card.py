"""The report card: systems measured, beside baselines and bounds, and how sure that is."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Literal

import numpy as np

from dialogist.cli.output_formats import tables_text
from dialogist.errors import DialogistError, UsageError, nearest
from dialogist.forms.key_points import load_pack
from dialogist.records import JSON, Dialogue, Summary, to_json
from dialogist_lab.evaluation.baselines import (
    HUMAN,
    ORACLE,
    find_baseline,
    most_central,
    oracle,
)
from dialogist_lab.evaluation.cautions import (
    Caution,
    chance_cautions,
    output_cautions,
    overlap_cautions,
    reference_cautions,
)
from dialogist_lab.evaluation.dialogue_metrics import Copying, EventOrder, KeyPoints, Support
from dialogist_lab.evaluation.meteor_bertscore import BertScore, Meteor
from dialogist_lab.evaluation.metric import Metric, MetricColumn, Scores, is_cjk, score, words_of
from dialogist_lab.evaluation.predictions import (
    Note,
    Output,
    System,
    find_systems,
    output_of,
    outputs_of,
    read_data,
    read_predictions,
    with_references,
)
from dialogist_lab.evaluation.reading_sheet import sample
from dialogist_lab.evaluation.resampling import (
    SIGNATURE,
    Difference,
    Interval,
    intervals,
    paired_differences,
)
from dialogist_lab.evaluation.rouge_bleu import Bleu, Rouge

CARD_VERSION = 2
HEADLINE = ("rouge1.f1", "rouge2.f1", "rougeL.f1", "rougeLsum.f1")
MAIN = "rougeL.f1"
"""The figure by which systems are ranked and told apart."""

RowKind = Literal["system", "train", "baseline", "bound"]


def make_metrics(
    names: str, outputs: Sequence[Output], encoder: Path | None, pack: str | None, note: Note
) -> list[Metric]:
    """The metrics of ``rouge,bleu``; of ``all`` what cannot be measured here is noted.

    ``encoder`` adds BERTScore, ``pack`` key points.

    Raises:
        UsageError: there is no metric of such a name, or a flag is missing for it.
        DataError: a metric's data is not on this machine (WordNet).
        ModelError: the encoder's folder cannot be read.
    """
    references = [text for output in outputs for text in output.references]

    def bertscore() -> Metric:
        if encoder is None:
            raise UsageError("bertscore needs --encoder, the folder of a copy of roberta-large")
        return BertScore(encoder)

    def key_points() -> Metric:
        if pack is None:
            raise UsageError("key-points need --pack, a rule pack")
        return KeyPoints(load_pack(pack), references)

    makers: dict[str, Callable[[], Metric]] = {
        "rouge": Rouge,
        "bleu": lambda: Bleu(chinese=is_cjk(references)),
        "meteor": Meteor,
        "bertscore": bertscore,
        "faithfulness": Support,
        "copying": Copying,
        "order": EventOrder,
        "key-points": key_points,
    }
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    for name in wanted:
        if name not in (*makers, "all"):
            known = ", ".join(makers)
            raise UsageError(f"no metric '{name}'{nearest(name, makers)}; there are {known}, all")
    extra = (("bertscore", encoder), ("key-points", pack))
    wanted += [name for name, given in extra if given is not None]
    metrics: list[Metric] = []
    for name in makers if "all" in wanted else dict.fromkeys(wanted):
        try:
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
    def words(self) -> float:
        """The mean length of an output, in words."""
        return fmean(len(words_of(output.prediction)) for output in self.outputs)


def make_row(
    name: str, kind: RowKind, outputs: Sequence[Output], metrics: Sequence[Metric]
) -> CardRow:
    """Measure outputs, which all have references."""
    labels = next((m.pack.labels for m in metrics if isinstance(m, KeyPoints)), ())
    cases = [output.case(labels) for output in outputs]
    scores = score(name, cases, [output.id for output in outputs], metrics)
    return CardRow(name, kind, tuple(outputs), scores, intervals(scores))


def baseline_rows(
    outputs: Sequence[Output], metrics: Sequence[Metric], without: Sequence[str] = ()
) -> Iterator[CardRow]:
    """Baselines that a system has to beat, and the bounds: the oracle extract, and people.

    The constant is one made for such data or, from 50 references on, the most central reference.
    """
    texts = [text for output in outputs for text in output.references]
    fitting = {"constant-dialogsum": ("#Person1#",), "constant-tweetsumm": ("ustomer", "gent")}
    constants = [
        name
        for name, marks in fitting.items()
        if 2 * sum(all(mark in text for mark in marks) for text in texts) >= len(texts)
    ]
    dialogues = [o.dialogue or Dialogue((), o.id, o.references) for o in outputs]
    known = all(output.dialogue is not None for output in outputs)
    if not constants and len(texts) >= 50:
        central = most_central(texts)
        same = [output_of(Summary(central, d.id), d) for d in dialogues]
        yield make_row("constant-reference", "baseline", same, metrics)
    for name in [*constants, *(("lead-3", "longest-3") if known else ())]:
        baseline = find_baseline(name)
        if baseline is not None and name not in without:
            summarized = [output_of(baseline(dialogue), dialogue) for dialogue in dialogues]
            yield make_row(name, "baseline", summarized, metrics)
    if known:
        best = [output_of(oracle(dialogue), dialogue) for dialogue in dialogues]
        yield make_row(ORACLE, "bound", best, metrics)
    people = human_row(outputs, metrics)
    if people is not None:
        yield people


def human_row(outputs: Sequence[Output], metrics: Sequence[Metric]) -> CardRow | None:
    """People measured by each other: each reference beside the others of its dialogue, averaged.

    Dialogues with one reference are left out; None where there are no others.
    """
    groups: list[list[Output]] = []
    for output in outputs:
        texts = output.references
        if len(texts) > 1:
            groups.append(
                [
                    replace(output, summary=Summary(text, output.id), references=others)
                    for i, text in enumerate(texts)
                    if (others := texts[:i] + texts[i + 1 :])
                ]
            )
    if not groups:
        return None
    flat = [output for group in groups for output in group]
    scores = score(HUMAN, [output.case() for output in flat], [o.id for o in flat], metrics)
    begins = np.cumsum([0, *(len(group) for group in groups[:-1])])
    sizes = np.array([[len(group)] for group in groups])
    values = np.add.reduceat(scores.values, begins, axis=0) / sizes
    scores = replace(scores, ids=tuple(group[0].id for group in groups), values=values)
    return CardRow(HUMAN, "bound", tuple(flat), scores, intervals(scores))


@dataclass(frozen=True, slots=True)
class Card:
    """All there is to show of one set of dialogues; tables, JSON and report are made of it.

    ``headline``: the keys of the table's columns. ``differences``: of every other system from
    ``base``, by key of the headline.
    """

    data: str
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
    def columns(self) -> dict[str, MetricColumn]:
        """All columns by key."""
        return {column.key: column for row in self.rows for column in row.scores.columns}

    @property
    def reference_words(self) -> float:
        """The mean length of a reference."""
        return fmean(len(words_of(text)) for o in self.outputs for text in o.references)

    def to_json(self) -> dict[str, JSON]:
        """All of it as plain values; what is not known is null."""
        columns = self.columns.values()
        return {
            "schema_version": CARD_VERSION,
            "data": self.data,
            "dialogues": len(self.outputs),
            "references": fmean(len(output.references) for output in self.outputs),
            "reference_words": self.reference_words,
            "columns": [
                {"key": c.key, "title": c.title, "better": c.better, "unit": c.unit}
                for c in columns
            ],
            "rows": [
                {
                    "system": row.name,
                    "kind": row.kind,
                    "outputs": len(row.outputs),
                    "words": row.words,
                    "empty": sum(not words_of(output.prediction) for output in row.outputs),
                    "cut": sum(output.is_cut for output in row.outputs),
                    "figures": {key: to_json(figure) for key, figure in row.figures.items()},
                }
                for row in self.rows
            ],
            "base": self.base,
            "differences": [to_json(d) for several in self.differences.values() for d in several],
            "signatures": dict(self.rows[0].scores.signatures),
            "intervals": SIGNATURE,
            "cautions": [to_json(caution) for caution in self.cautions],
        }


def make_card(
    data: str,
    rows: Sequence[CardRow],
    metrics: Sequence[Metric],
    headline: Sequence[str] = (),
    base: str = "",
    cautions: Sequence[Caution] = (),
) -> Card:
    """Put rows into one card; ``base``: what systems are compared with (empty: the first).

    Raises:
        UsageError: there is no such row.
    """
    names = [row.name for row in rows]
    if base and base not in names:
        raise UsageError(f"--baseline {base}: is no row of this table{nearest(base, names)}")
    known = rows[0].scores
    chosen = tuple(key for key in headline or HEADLINE if key in known) or tuple(
        column.key for column in known.columns[:4]
    )
    against = rows[names.index(base)] if base else rows[0]
    others = [row.scores for row in rows if row.kind == "system" and row is not against]
    if not base and len(others) == 0:
        others = [row.scores for row in rows if row.kind == "baseline"]
    measured = {key: paired_differences(others, against.scores, key) for key in chosen if others}
    systems = [row for row in rows if row.kind == "system"]
    main = MAIN if MAIN in measured else next(iter(measured), "")
    every_caution = [
        *cautions,
        *reference_cautions(rows[0].outputs, metrics),
        *(c for row in systems for c in output_cautions(row.name, row.outputs)),
        *chance_cautions(measured.get(main, ()), len(rows[0].outputs)),
    ]
    return Card(data, tuple(rows), chosen, against.name, measured, tuple(every_caution))


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
    concatenated: bool = False
    train: Path | None = None
    train_sample: Path | None = None
    limit: int | None = None
    baselines: bool = True
    base: str = ""
    headline: Sequence[str] = ()
    prediction_key: str = ""
    missing_as_empty: bool = False


def judge(request: Request, note: Note) -> tuple[Card, list[Metric]]:
    """Ask or read every system, measure it, and put baselines and bounds beside it.

    Raises:
        DialogistError: something in the call, the data or a system is at fault.
    """
    systems = find_systems(request.systems)
    by_name = {system.name: _outputs(system, request, note) for system in systems}
    outputs = next(iter(by_name.values()))
    ids = [output.id for output in outputs]
    for name, others in by_name.items():
        if [output.id for output in others] != ids:
            raise UsageError(f"{name} does not hold the dialogues of the others: say --on DATA")
    metrics = make_metrics(request.metrics, outputs, request.encoder, request.pack, note)
    rows = [make_row(name, "system", own_outputs, metrics) for name, own_outputs in by_name.items()]
    if request.train_sample is not None:
        for system in systems:
            if system.file is None:
                own_outputs = _sampled(system, request, request.train_sample, note)
                rows.append(make_row(system.name, "train", own_outputs, metrics))
    if request.baselines:
        rows += baseline_rows(outputs, metrics, list(by_name))
    cautions: list[Caution] = []
    if request.train is not None:
        held = [output.dialogue for output in outputs if output.dialogue is not None]
        train = read_data(request.train, note)
        cautions += overlap_cautions(train, held, request.train.name) if held else []
    about = request.data.name if request.data is not None else systems[0].name
    card = make_card(about, rows, metrics, request.headline, request.base, cautions)
    return card, metrics


def _outputs(system: System, request: Request, note: Note) -> list[Output]:
    if request.data is None:
        if system.file is None:
            raise UsageError(f"{system.name}: say which dialogues it shall summarize")
        placed = read_predictions(system.file, note, request.prediction_key)
        outputs = [output for output in placed if output.references]
        if not outputs:
            raise UsageError(f"{system.file}: holds no references: say which data it is about")
    else:
        dialogues = read_data(request.data, note, request.limit)
        chosen = with_references(dialogues, request.data, note)
        key, empty = request.prediction_key, request.missing_as_empty
        place = _place(request.kept, system, request.data)
        outputs = outputs_of(system, chosen, place, note, key, empty)
    if request.concatenated:
        outputs = [replace(o, references=(" ".join(o.references),)) for o in outputs]
    return outputs


def _sampled(system: System, request: Request, file: Path, note: Note) -> list[Output]:
    dialogues = with_references(read_data(file, note), file, note)
    chosen = sample(dialogues, TRAIN_SAMPLE, 1)
    place = _place(request.kept, system, file)
    return outputs_of(system, chosen, place.with_name(f"train-{place.name}"), note)


def _place(kept: Path, system: System, data: Path) -> Path:
    if kept.suffix == ".jsonl":
        return kept
    return kept / f"{system.file_name}.{data.name.partition('.')[0]}.predictions.jsonl"


Table = list[list[str]]
"""Rows of cells, the heads first."""


def figures_table(card: Card, keys: Sequence[str], digits: int = 2) -> Table:
    """Every row's figures with intervals."""
    titles = [card.columns[key].title for key in keys]
    nothing = Interval(math.nan)
    return [
        ["", *titles],
        *(
            [_title(row), *(row.figures.get(key, nothing).text(digits) for key in keys)]
            for row in card.rows
        ),
    ]


def _title(row: CardRow) -> str:
    return f"{row.name} (train sample)" if row.kind == "train" else row.name


def differences_table(card: Card) -> Table:
    """How systems differ from the base, ``*``: p < 0.05 after Holm's correction."""
    if not card.differences:
        return []
    titles = [card.columns[key].title for key in card.differences]
    rows = []
    for several in zip(*card.differences.values(), strict=True):
        cells = [
            f"{d.difference:+.2f} ({d.low:+.2f} to {d.high:+.2f}){'*' * (d.p_corrected < 0.05)}"
            for d in several
        ]
        rows.append([several[0].system, *cells])
    return [[f"less {card.base}", *titles], *rows]


def outputs_table(card: Card) -> Table:
    """Lengths and faults of outputs."""
    rows = [
        [
            _title(row),
            f"{row.words:.1f}",
            str(sum(not words_of(output.prediction) for output in row.outputs)),
            str(sum(output.is_cut for output in row.outputs)),
        ]
        for row in card.rows
    ]
    return [["outputs", "words", "empty", "cut"], *rows]


def _other_keys(card: Card) -> list[str]:
    """The columns beside the headline that a person looks at: no parts, no best of references."""
    keys = card.columns
    return [
        key
        for key in keys
        if key not in card.headline
        and ".max" not in key
        and not (key.endswith((".precision", ".recall")) and f"{key.rpartition('.')[0]}.f1" in keys)
        and any(
            not math.isnan(row.figures.get(key, Interval(math.nan)).figure) for row in card.rows
        )
    ]


def card_tables(card: Card) -> list[Table]:
    """The tables of a card, for text and Markdown."""
    others = _other_keys(card)
    groups = [others[i : i + 4] for i in range(0, len(others), 4)]
    tables = [figures_table(card, card.headline)]
    tables += [figures_table(card, keys, 1) for keys in groups]
    return [table for table in [*tables, differences_table(card), outputs_table(card)] if table]


def card_notes(card: Card) -> list[str]:
    """What stands below the tables: cautions, then how figures came about."""
    signatures = card.rows[0].scores.signatures
    return [*map(str, card.cautions), *(f"{k}: {v}" for k, v in signatures.items()), SIGNATURE]


def card_title(card: Card) -> str:
    """What was measured on what."""
    names = ", ".join(row.name for row in card.systems)
    count = fmean(len(output.references) for output in card.outputs)
    return f"{names}: {len(card.outputs)} dialogues of {card.data}, {count:.3g} references each"


def card_markdown(card: Card) -> str:
    """All tables, then what to beware of."""
    lines = [card_title(card), ""]
    for table in card_tables(card):
        lines += [*markdown_table(table), ""]
    return "\n".join([*lines, *(f"* {text}" for text in card_notes(card))])


def markdown_table(table: Table) -> list[str]:
    """The lines of a table; all columns but the first are figures."""
    heads, *rows = [[cell.replace("|", "\\|") for cell in row] for row in table]
    rule = ["---", *["---:"] * (len(heads) - 1)]
    return [f"| {' | '.join(cells)} |" for cells in (heads, rule, *rows)]


def card_text(card: Card) -> str:
    """The same for a terminal."""
    return f"{card_title(card)}\n\n{tables_text(card_tables(card), card_notes(card))}"
