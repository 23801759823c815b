"""A report: a self-contained HTML page, the same as Markdown, and its figures as PNG files."""

import base64
import io
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from dialogist import __version__
from dialogist.errors import DataError
from dialogist.files import reading, writing
from dialogist.language.tokens import words_in
from dialogist_lab.evaluation.dialogue_metrics import KeyPoints
from dialogist_lab.evaluation.metric import PARTS
from dialogist_lab.evaluation.report_card import (
    MAIN,
    Card,
    card_as,
    card_notes,
    card_tables,
    card_title,
)
from dialogist_lab.pages import html_page

RUN_LOG = "log.jsonl"
"""The file of a run folder with a JSON line after each epoch."""

_COLOURS = ("#0072b2", "#c75300", "#00845f", "#b2578b", "#8a6d00", "#6a3d9a")
_MUTED = "#8b949e"


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure of the report; ``name`` is its file's, without the end."""

    name: str
    title: str
    caption: str
    figure: Figure


def _panels(count: int, width: float = 3.2, height: float = 2.8) -> tuple[Figure, list[Any]]:
    columns = min(3, count)
    rows = math.ceil(count / columns)
    figure = Figure((width * columns, height * rows), layout="constrained")
    axes = list(figure.subplots(rows, columns, squeeze=False).flat)
    for left in axes[count:]:
        left.set_axis_off()
    for ax in axes[:count]:
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(color="#e5e7eb", linewidth=0.6)
        ax.set_axisbelow(True)
    return figure, axes[:count]


def draw_scores(card: Card, stem: str, title: str) -> list[Picture]:
    """Scatter of precision and recall, violins, and bars of means; beside the train sample."""
    systems = [row for row in card.systems if f"{stem}.precision" in row.scores.columns][:6]
    if not systems:
        return []
    train = {row.name: row for row in card.rows if row.kind == "train"}
    scatter, violins, bars = (_panels(len(systems)) for _ in range(3))
    for row, colour, *axes in zip(systems, _COLOURS, scatter[1], violins[1], bars[1], strict=False):
        points, violin, bar = axes
        precision, recall = (row.scores.each(f"{stem}.{part}") for part in PARTS[:2])
        points.plot([0, 100], [0, 100], color=_MUTED, linewidth=0.8)
        points.scatter(recall, precision, s=7, color=colour, alpha=0.45, linewidth=0)
        points.plot(np.nanmean(recall), np.nanmean(precision), "P", color="black", markersize=8)
        points.set(xlabel="recall", ylabel="precision", xlim=(0, 100), ylim=(0, 100))
        halves = [(row, colour, "both", 0.0)]
        if row.name in train:
            halves = [(row, colour, "high", 0.2), (train[row.name], _MUTED, "low", -0.2)]
        for shown, fill, side, aside in halves:
            for at, part in enumerate(PARTS):
                each = shown.scores.each(f"{stem}.{part}")
                body = violin.violinplot(
                    [each[~np.isnan(each)]],
                    [at],
                    widths=0.8,
                    showextrema=False,
                    showmedians=True,
                    side=side,
                )
                body["bodies"][0].set(facecolor=fill, alpha=0.6)
                body["cmedians"].set(color="black", linewidth=1.2)
            heights = [shown.scores.figure(f"{stem}.{part}") for part in PARTS]
            drawn = bar.bar(np.arange(3) + aside, heights, 0.38, color=fill)
            bar.bar_label(drawn, fmt="%.1f", fontsize=7)
        for ax in (violin, bar):
            ax.set(ylim=(0, 105))
            ax.set_xticks(range(3), PARTS)
        for ax in axes:
            ax.set_title(row.name)
    sample = " Grey: a sample of the training data." if train else ""
    mean = "The cross is the mean. Above the diagonal outputs say less than their references."
    spread, means = f"The bar is the median.{sample}", f"Precision, recall and F1.{sample}"
    return [
        Picture(f"precision-recall-{stem}", f"{title}: each output", mean, scatter[0]),
        Picture(f"spread-{stem}", f"{title}: how scores are spread", spread, violins[0]),
        Picture(f"means-{stem}", f"{title}: means", means, bars[0]),
    ]


def draw_sizes(card: Card) -> list[Picture]:
    """Scores by size of the dialogue (Figure 4 of KDD 2019), and histograms of sizes (Figure 2)."""
    utterances = [len(o.dialogue.utterances) for o in card.outputs if o.dialogue is not None]
    sizes: dict[str, list[float]] = {}
    if len(utterances) == len(card.outputs):
        sizes["utterances"] = [float(count) for count in utterances]
    for metric in card.metrics:
        if isinstance(metric, KeyPoints):
            sizes["key points"] = [
                fmean(len(metric.find(text, "")) for text in o.references) for o in card.outputs
            ]
    pictures = []
    keys = [key for key in (MAIN, "key_points.rougeL.f1") if key in card.titles]
    if keys and sizes:
        figure, axes = _panels(len(keys) * len(sizes))
        panels = [(of, key) for of in sizes for key in keys]
        for ax, (of, key) in zip(axes, panels, strict=True):
            names, places = binned(sizes[of], range(1, 11) if of == "key points" else _UTTERANCES)
            for row, colour in zip(card.systems, _COLOURS, strict=False):
                each = row.scores.each(key)
                means = [float(np.nanmean(each[places == i])) for i in range(len(names))]
                ax.plot(names, means, marker="o", markersize=3, color=colour, label=row.name)
            ax.set(title=f"{card.titles[key]} by {of}", xlabel=of)
        axes[0].legend(frameon=False, fontsize=7)
        caption = "The mean of the outputs in each bin."
        pictures.append(Picture("by-size", "Scores by size of the dialogue", caption, figure))
    words = [fmean(len(words_in(text)) for text in o.references) for o in card.outputs]
    sizes = {"words of references": words, **sizes}
    for row in card.systems[:6]:
        sizes[f"words of {row.name}"] = [len(words_in(o.prediction)) for o in row.outputs]
    figure, axes = _panels(len(sizes))
    for ax, (title, values) in zip(axes, sizes.items(), strict=True):
        ax.hist(values, bins=24, color=_COLOURS[0])
        ax.set(title=title, ylabel="dialogues")
    caption = "How many dialogues have which size."
    return [*pictures, Picture("lengths", "Lengths", caption, figure)]


_UTTERANCES = (1, 6, 11, 16, 21, 31, 41)


def binned(sizes: Sequence[float], starts: Sequence[int]) -> tuple[list[str], Any]:
    """The names of the bins that hold anything, and (N,) which of these each size is in."""
    used, places = np.unique(
        np.clip(np.digitize(np.floor(np.add(sizes, 0.5)), starts) - 1, 0, None), return_inverse=True
    )
    names = []
    for i in used:
        end = starts[i + 1] - 1 if i + 1 < len(starts) else None
        last = f"{starts[i]}+" if end is None else f"{starts[i]}-{end}"
        names.append(str(starts[i]) if end == starts[i] else last)
    return names, places


def draw_learning(runs: Sequence[Path]) -> list[Picture]:
    """Loss and ROUGE-L by epoch of training runs.

    Raises:
        DataError: the log of a run is damaged.
    """
    if not runs:
        return []
    figure, (loss, rouge) = _panels(2, width=4.2)
    for run, colour in zip(runs, _COLOURS * len(runs), strict=False):
        records = epochs_of(run)
        train = "train_nll" if any("train_nll" in record for record in records) else "train_loss"
        curves = ((loss, train, "--"), (loss, "dev_loss", "-"), (rouge, "dev_rougeL", "-"))
        for ax, key, style in curves:
            points = [(r["epoch"], r[key]) for r in records if isinstance(r.get(key), int | float)]
            if points:
                ax.plot(*zip(*points, strict=True), style, color=colour, label=f"{run.name} {key}")
    loss.set(title="loss (nats a token)", xlabel="epoch")
    rouge.set(title="ROUGE-L", xlabel="epoch")
    for ax in (loss, rouge):
        if ax.lines:
            ax.legend(frameon=False, fontsize=7)
    caption = "Training loss is with dropout. Where dev rises while train falls, it overfits."
    return [Picture("learning", "Training", caption, figure)]


def epochs_of(run: Path) -> list[dict[str, Any]]:
    """The records of a run's log that are of an epoch, in their order."""
    try:
        with reading(run / RUN_LOG):
            lines = (run / RUN_LOG).read_text(encoding="utf-8").splitlines()
        records = [json.loads(line) for line in lines]
        return [record for record in records if record.get("kind", "epoch") == "epoch"]
    except (ValueError, AttributeError):
        raise DataError(f"{run / RUN_LOG}: is damaged: a line is no record of a run") from None


def examples_of(card: Card, count: int) -> list[dict[str, Any]]:
    """The first system's best, median and worst outputs by ROUGE-L, ``count`` of each.

    Each has a ``title``, that system's ``output``, and of every system the name, score and text.
    """
    lead = card.systems[0]
    key = MAIN if MAIN in card.titles else next(iter(card.titles))
    scores = {row.name: np.nan_to_num(row.scores.each(key)) for row in card.systems}
    order = np.argsort(-scores[lead.name], kind="stable").tolist()
    middle = max(0, len(order) // 2 - count // 2)
    chosen = {"best": order[:count], "median": order[middle : middle + count]}
    chosen["worst"] = order[::-1][:count]
    return [
        {
            "title": f"{title} by {card.titles[key]} of {lead.name}",
            "output": lead.outputs[i],
            "summaries": [
                (row.name, f"{scores[row.name][i]:.1f}", row.outputs[i].prediction)
                for row in card.systems
            ],
        }
        for title, places in chosen.items()
        for i in places
    ]


def write_report(
    folder: Path, title: str, card: Card | None, runs: Sequence[Path], examples: int
) -> None:
    """Write ``report.html``, ``report.md`` and ``figures/*.png``; the same inputs, the same bytes.

    Raises:
        DataError: they cannot be written, or the log of a run is damaged.
    """
    pictures: list[Picture] = []
    if card is not None:
        pictures += draw_scores(card, "rougeL", "ROUGE-L")
        pictures += draw_scores(card, "bertscore", "BERTScore")
        pictures += draw_sizes(card)
    pictures += draw_learning(runs)
    images: list[tuple[Picture, str]] = []
    with writing(folder):
        (folder / "figures").mkdir(parents=True, exist_ok=True)
    for picture in pictures:
        data = io.BytesIO()
        picture.figure.savefig(data, format="png", dpi=150, metadata={"Software": None})
        (folder / "figures" / f"{picture.name}.png").write_bytes(data.getvalue())
        images.append((picture, base64.b64encode(data.getvalue()).decode()))
    shown = examples_of(card, examples) if card is not None else []
    page = html_page(
        "report",
        "report.css",
        title=title,
        about="" if card is None else card_title(card),
        tables=[] if card is None else card_tables(card),
        notes=[] if card is None else card_notes(card),
        images=images,
        examples=shown,
        version=__version__,
    )
    (folder / "report.html").write_text(page, encoding="utf-8")
    lines = [f"# {title}", "", "" if card is None else card_as(card, "md")]
    for picture in pictures:
        path = f"figures/{picture.name}.png"
        lines += ["", f"## {picture.title}", "", f"![{picture.title}]({path})", "", picture.caption]
    for example in shown:
        output = example["output"]
        lines += ["", f"## {example['title']}: {output.id}", ""]
        lines += [f"* reference: {' '.join(text.split())}" for text in output.references]
        for name, score, text in example["summaries"]:
            lines.append(f"* {name} ({score}): {' '.join(text.split())}")
    (folder / "report.md").write_bytes(("\n".join(lines) + "\n").encode("utf-8", "replace"))
