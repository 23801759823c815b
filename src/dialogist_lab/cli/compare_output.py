"""A comparison as text, Markdown, CSV and JSON."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dialogist.cli.output_formats import card_csv, tables_text
from dialogist.record_json import to_json
from dialogist.language.tokens import counted, words_in

if TYPE_CHECKING:  # they are torch's: not for --help
    from dialogist.evaluation.report_card import Card, MeasuredSystem
    from dialogist.evaluation.scoring import Scores
    from dialogist.records import JSON
    from dialogist_lab.comparison import ComparisonRow, ComparisonSetting
    from dialogist_lab.report.subject import Subject


COMPARISON_VERSION = 2

_NONE = "-"
_TABLE_4 = ("bleu", "rouge1.recall", "rouge2.recall", "rougeL.f1")
_USUAL = (*_TABLE_4, *(f"key_points.{key}" for key in _TABLE_4), "key_facts.rougeL.f1")
"""The columns of the paper's Table 4, and of its Figure 3."""
_IN_THE_TABLE = ("rouge", "bleu", "key-points")
_HEADS = ("system", "parameters", "epochs", "time", "words", "empty", "cut")
_SENTENCE_ENDS = frozenset(".!?…。！？；\n")


@dataclass(frozen=True, slots=True)
class SystemFailure:
    """A system that has no row, and why."""

    name: str
    error: str
    exit_code: int


@dataclass(slots=True, kw_only=True)
class Ablation:
    """What is known of the rows of an ablation: what each changes, and which are still to come."""

    base: str
    budget: str
    machine: str
    settings: dict[str, list[str]]
    waiting: Sequence[str] = ()


@dataclass(slots=True)
class Comparison:
    """Everything there is to show; without a system there is no card."""

    setting: "ComparisonSetting"
    rows: list["ComparisonRow"] = field(default_factory=list)
    floors: list["MeasuredSystem"] = field(default_factory=list)
    card: "Card | None" = None
    failed: list[SystemFailure] = field(default_factory=list)
    ablation: Ablation | None = None

    @property
    def entries(self) -> list["MeasuredSystem"]:
        """What the card is made of."""
        return [*(row.entry for row in self.rows), *self.floors]

    def subject(self) -> "Subject | None":
        """What figures of it are drawn of."""
        from dialogist_lab.report.subject import Subject

        if self.card is None:
            return None
        return Subject.of(self.card, self.entries, self.setting.metrics)

    def to_json(self) -> dict[str, "JSON"]:
        """All of it as plain values."""
        from dialogist_lab.report.plots import sizes_json

        pack, subject = self.setting.pack, self.subject()
        names = ("name", "version", "language")
        return {
            "schema_version": COMPARISON_VERSION,
            "data": list(self.setting.files),
            "pack": None
            if pack is None
            else {**{n: getattr(pack, n) for n in names}, "key_facts": list(pack.key_facts)},
            "systems": [row.to_json() for row in self.rows],
            "sizes": [] if subject is None else sizes_json(subject),
            "card": None if self.card is None else self.card.to_json(),
            "failed": [{"system": f.name, "error": f.error} for f in self.failed],
            **({} if self.ablation is None else {"ablation": to_json(self.ablation)}),
        }


def comparison_as(form: str, comparison: Comparison, keys: Sequence[str] = ()) -> str:
    """Tables (costs, figures with intervals, differences) and remarks, as text or Markdown (md).

    ``json``: one object, see docs/reference/evaluation-files.md; ``csv``: see `card_csv`. ``keys``:
    of the tables' figures; without, those of the paper.
    """
    from dialogist.evaluation.report_card import tables_markdown

    if form == "json":
        return json.dumps(comparison.to_json(), ensure_ascii=False, indent=2)
    if form == "csv":
        return "" if comparison.card is None else card_csv(comparison.card)
    written = tables_markdown if form == "md" else tables_text
    return written(_tables(comparison, keys), _remarks(comparison, keys))


def _tables(comparison: Comparison, keys: Sequence[str]) -> "Iterator[list[list[str]]]":
    from dialogist.evaluation.report_card import KIND_TITLES, chance_tables

    card, rows = comparison.card, {row.name: row for row in comparison.rows}
    if card is None:
        return
    changes = {} if comparison.ablation is None else comparison.ablation.settings
    costs = [[*_HEADS, *(["changes"] if changes else [])]]
    before = None
    for one in card.rows:
        if one.kind is not before and one.kind in KIND_TITLES:
            costs.append([f"{KIND_TITLES[one.kind]}:", *[""] * (len(costs[0]) - 1)])
        before = one.kind
        row = rows.get(one.name)
        told = [_NONE] * 3 if row is None else _costs(row)
        costs.append([one.name, *told, f"{one.words:.1f}", str(one.empty), str(one.cut)])
        if changes:
            costs[-1].append(", ".join(changes.get(one.name, ())))
    yield costs
    yield from chance_tables(card, _chosen(card, keys))


def _costs(row: "ComparisonRow") -> list[str]:
    parameters, epochs = row.parameters, row.run.epochs
    return [
        _NONE if parameters is None else f"{parameters / 1e6:.2f}M",
        _NONE if epochs is None else str(epochs),
        _clock_time(row.run.seconds),
    ]


def _chosen(card: "Card", keys: Sequence[str]) -> list[str]:
    known = {column.key for column in card.columns}
    return list(keys) or [key for key in _USUAL if key in known]


def _remarks(comparison: Comparison, keys: Sequence[str]) -> Iterator[str]:
    from dialogist.evaluation.report_card import (
        caution_lines,
        chance_remarks,
        other_figures,
        signatures,
    )

    card, pack = comparison.card, comparison.setting.pack
    if card is not None:
        yield (
            f"{counted(card.dialogues, 'dialogues')} of {card.data}, {card.references:.2f} "
            f"references each, {card.words:.1f} words; R1 and R2 are recall, RL is F1; the mean "
            "over references"
        )
    if pack is not None:
        yield f"key points by {pack.name} {pack.version}"
        own = [row.name for row in comparison.rows if _says_own(row.entry.scores)]
        if own:
            yield f"{', '.join(own)}: key points as the system says; of all others by the rules"
    if card is not None:
        chosen = _chosen(card, keys)
        yield from chance_remarks(card, chosen)
        yield from other_figures(card, chosen, _IN_THE_TABLE)
        yield from caution_lines(card)
    yield from _outcomes(comparison)
    if card is not None:
        yield from signatures(card)


def _outcomes(comparison: Comparison) -> Iterator[str]:
    """What to know of single rows, and which there are not."""
    for row in comparison.rows:
        yield from _warnings(row)
    for failure in comparison.failed:
        yield f"{failure.name}: failed: {failure.error}"
    if (about := comparison.ablation) is not None:
        yield f"{about.base}, {about.budget} for each row, on {about.machine}"
        if about.waiting:
            yield f"still to come: {', '.join(about.waiting)}"


def _says_own(scores: "Scores") -> bool:
    return "key_points_by_rules.bleu" in scores


def _warnings(row: "ComparisonRow") -> Iterator[str]:
    scores, outputs = row.entry.scores, row.entry.outputs
    if row.run.started_from is not None:
        yield (
            f"{row.name}: began with the weights of {row.run.started_from}; its epochs and time "
            "are those after that"
        )
    partial = sum(one.summary.status == "truncated" for one in outputs)
    if partial:
        yield f"{row.name}: could not read {partial} of the dialogues to the end"
    if "key_points.bleu" not in scores:
        return
    if not scores.figure("key_points.bleu") and scores.figure("key_points.rougeL.f1") > 0:
        yield f"{row.name}: BLEU of key points is 0: no output has four (or what references have)"
    texts = [one.prediction for one in outputs if words_in(one.prediction)]
    unpunctuated = sum(map(_SENTENCE_ENDS.isdisjoint, texts))
    if not _says_own(scores) and 2 * unpunctuated > len(outputs):
        yield (
            f"{row.name}: {counted(unpunctuated, 'outputs')} without a full stop or the like: the "
            "rules take each for one sentence, so its key points and key facts say little"
        )


def comparison_line(row: "ComparisonRow") -> str:
    """One line about a system, while the others are still at work."""
    scores = row.entry.scores
    keys = ("bleu", "rougeL.f1", "key_points.bleu", "key_points.rougeL.f1")
    told = [f"{scores.column(key).title} {scores.figure(key):.1f}" for key in keys if key in scores]
    return f"{row.name}: {', '.join(told)}"


def _clock_time(seconds: float | None) -> str:
    """``1:02:03``; ``-`` for None."""
    if seconds is None:
        return _NONE
    whole = round(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"
