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

import matplotlib as mpl
import numpy as np
from markupsafe import Markup
from matplotlib.figure import Figure

from dialogist import __version__
from dialogist.errors import DataError
from dialogist.files import reading, writing
from dialogist_lab.evaluation.dialogue_metrics import KeyPoints
from dialogist_lab.evaluation.metric import PARTS, Floats, Metric, words_of
from dialogist_lab.evaluation.predictions import Output
from dialogist_lab.evaluation.report_card import (
    MAIN,
    Card,
    CardRow,
    card_markdown,
    card_notes,
    card_tables,
    card_title,
)
from dialogist_lab.pages import asset, content_policy, page_templates

RUN_LOG = "log.jsonl"
"""The file of a run folder with a JSON line after each epoch."""

_COLOURS = ("#0072b2", "#c75300", "#00845f", "#b2578b", "#8a6d00", "#6a3d9a")
_MUTED = "#8b949e"
_KEY_POINT_BINS = (*range(1, 11),)
_UTTERANCE_BINS = (1, 6, 11, 16, 21, 31, 41)


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


def _values(row: CardRow, stem: str) -> list[Floats]:
    each = [row.scores.each(f"{stem}.{part}") for part in PARTS]
    return [values[~np.isnan(values)] for values in each]


def draw_scores(card: Card, stem: str, title: str) -> list[Picture]:
    """Scatter of precision and recall, violins, and bars of means; beside the train sample."""
    systems = [row for row in card.systems if f"{stem}.precision" in row.scores][:6]
    if not systems:
        return []
    train = {row.name: row for row in card.rows if row.kind == "train"}
    scatter, violins, bars = (_panels(len(systems)) for _ in range(3))
    for place, row in enumerate(systems):
        colour, beside = _COLOURS[place], train.get(row.name)
        precision, recall = (row.scores.each(f"{stem}.{part}") for part in PARTS[:2])
        ax = scatter[1][place]
        ax.plot([0, 100], [0, 100], color=_MUTED, linewidth=0.8)
        ax.scatter(recall, precision, s=7, color=colour, alpha=0.45, linewidth=0)
        ax.plot(np.nanmean(recall), np.nanmean(precision), marker="P", color="black", markersize=8)
        ax.set(title=row.name, xlabel="recall", ylabel="precision", xlim=(0, 100), ylim=(0, 100))
        halves = [(row, colour, "both" if beside is None else "high")]
        halves += [] if beside is None else [(beside, _MUTED, "low")]
        for shown, fill, side in halves:
            aside = {"both": 0.0, "high": 0.2, "low": -0.2}[side]
            for at, values in enumerate(_values(shown, stem)):
                body = violins[1][place].violinplot(
                    [values], [at], widths=0.8, showextrema=False, showmedians=True, side=side
                )
                body["bodies"][0].set(facecolor=fill, alpha=0.6)
                body["cmedians"].set(color="black", linewidth=1.2)
            heights = [shown.scores.figure(f"{stem}.{part}") for part in PARTS]
            drawn = bars[1][place].bar(np.arange(3) + aside, heights, 0.38, color=fill)
            bars[1][place].bar_label(drawn, fmt="%.1f", fontsize=7)
        for ax in (violins[1][place], bars[1][place]):
            ax.set(title=row.name, ylim=(0, 105))
            ax.set_xticks(range(3), PARTS)
    sample = " Grey: a sample of the training data." if train else ""
    mean = "The cross is the mean. Above the diagonal outputs say less than their references."
    titles = [f"{title}: {of}" for of in ("each output", "how scores are spread", "means")]
    return [
        Picture(f"precision-recall-{stem}", titles[0], mean, scatter[0]),
        Picture(f"spread-{stem}", titles[1], f"The bar is the median.{sample}", violins[0]),
        Picture(f"means-{stem}", titles[2], f"Precision, recall and F1.{sample}", bars[0]),
    ]


def draw_lengths(card: Card, metrics: Sequence[Metric]) -> list[Picture]:
    """Histograms of dialogues, references, key points and outputs (Figure 2 of KDD 2019)."""
    sizes = {"words of references": [_words_of_references(o) for o in card.outputs]}
    sizes |= _dialogue_sizes(card, metrics)
    for row in card.systems[:6]:
        sizes[f"words of {row.name}"] = [len(words_of(o.prediction)) for o in row.outputs]
    figure, axes = _panels(len(sizes))
    for ax, (title, values) in zip(axes, sizes.items(), strict=True):
        ax.hist(values, bins=24, color=_COLOURS[0])
        ax.set(title=title, ylabel="dialogues")
    return [Picture("lengths", "Lengths", "How many dialogues have which size.", figure)]


def _words_of_references(output: Output) -> float:
    return fmean(len(words_of(text)) for text in output.references)


def _dialogue_sizes(card: Card, metrics: Sequence[Metric]) -> dict[str, list[float]]:
    sizes: dict[str, list[float]] = {}
    if all(output.dialogue is not None for output in card.outputs):
        sizes["utterances"] = [
            float(len(output.dialogue.utterances)) for output in card.outputs if output.dialogue
        ]
    for metric in metrics:
        if isinstance(metric, KeyPoints):
            sizes["key points"] = [
                fmean(len(metric.find(text, "")) for text in o.references) for o in card.outputs
            ]
    return sizes


def binned(sizes: Sequence[float], starts: Sequence[int]) -> tuple[list[str], Floats]:
    """Bins by size: their names, and the bin of each output (smaller ones are in the first)."""
    places = np.clip(
        np.searchsorted(starts, np.floor(np.add(sizes, 0.5)), side="right") - 1, 0, None
    )
    ends = [*(start - 1 for start in starts[1:]), None]
    used = sorted(set(places.tolist()))
    names = []
    for i in used:
        last = f"{starts[i]}+" if ends[i] is None else f"{starts[i]}-{ends[i]}"
        names.append(str(starts[i]) if ends[i] == starts[i] else last)
    return names, np.array([used.index(place) for place in places], dtype=np.float64)


def draw_by_size(card: Card, metrics: Sequence[Metric]) -> list[Picture]:
    """ROUGE-L, and that of key points, by size of the dialogue (Figure 4 of KDD 2019)."""
    keys = [key for key in (MAIN, "key_points.rougeL.f1") if key in card.systems[0].scores]
    sizes = _dialogue_sizes(card, metrics)
    if not keys or not sizes:
        return []
    figure, axes = _panels(len(keys) * len(sizes))
    for ax, (of, key) in zip(axes, ((of, key) for of in sizes for key in keys), strict=True):
        starts = _KEY_POINT_BINS if of == "key points" else _UTTERANCE_BINS
        names, places = binned(sizes[of], starts)
        for row, colour in zip(card.systems[:6], _COLOURS, strict=False):
            each = row.scores.each(key)
            means = [float(np.nanmean(each[places == i])) for i in range(len(names))]
            ax.plot(names, means, marker="o", markersize=3, color=colour, label=row.name)
        ax.set(title=f"{card.columns[key].title} by {of}", xlabel=of)
    axes[0].legend(frameon=False, fontsize=7)
    caption = "The mean of the outputs in each bin."
    return [Picture("by-size", "Scores by size of the dialogue", caption, figure)]


def draw_learning(runs: Sequence[Path]) -> list[Picture]:
    """Loss and ROUGE-L by epoch of training runs.

    Raises:
        DataError: the log of a run is damaged.
    """
    curves = {run.name: epochs_of(run) for run in runs}
    if not any(curves.values()):
        return []
    figure, (loss, rouge) = _panels(2, width=4.2)
    for (name, records), colour in zip(curves.items(), _COLOURS * len(curves), strict=False):
        for ax, key, style in (
            (loss, "train_nll", "--"),
            (loss, "train_loss", "--"),
            (loss, "dev_loss", "-"),
            (rouge, "dev_rougeL", "-"),
        ):
            points = [(r["epoch"], r[key]) for r in records if isinstance(r.get(key), int | float)]
            if points and not (key == "train_loss" and any("train_nll" in r for r in records)):
                ax.plot(*zip(*points, strict=True), style, color=colour, label=f"{name} {key}")
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


@dataclass(frozen=True, slots=True)
class ShownExample:
    """A dialogue with its references, and what each system said: name, score and text."""

    title: str
    output: Output
    summaries: tuple[tuple[str, str, str], ...]


def examples_of(card: Card, count: int) -> list[ShownExample]:
    """The first system's best, median and worst outputs by ROUGE-L, ``count`` of each."""
    lead = card.systems[0]
    key = MAIN if MAIN in lead.scores else lead.scores.columns[0].key
    each = np.nan_to_num(lead.scores.each(key))
    order = sorted(range(len(each)), key=lambda i: (-each[i], i))
    middle = max(0, len(order) // 2 - count // 2)
    chosen = {"best": order[:count], "median": order[middle : middle + count]}
    chosen["worst"] = order[::-1][:count]
    return [
        ShownExample(
            f"{title} by {card.columns[key].title} of {lead.name}",
            lead.outputs[i],
            tuple(
                (row.name, f"{row.scores.each(key)[i]:.1f}", row.outputs[i].prediction)
                for row in card.systems
            ),
        )
        for title, places in chosen.items()
        for i in places
    ]


def draw_all(card: Card | None, metrics: Sequence[Metric], runs: Sequence[Path]) -> list[Picture]:
    """All figures that there is something for."""
    mpl.rcParams["svg.hashsalt"] = "dialogist"  # the same inputs give the same bytes
    pictures: list[Picture] = []
    if card is not None:
        pictures += draw_scores(card, "rougeL", "ROUGE-L")
        pictures += draw_scores(card, "bertscore", "BERTScore")
        pictures += [*draw_by_size(card, metrics), *draw_lengths(card, metrics)]
    return [*pictures, *draw_learning(runs)]


def write_report(
    folder: Path, title: str, card: Card | None, pictures: Sequence[Picture], examples: int
) -> None:
    """Write ``report.html``, ``report.md`` and ``figures/*.png``.

    Raises:
        DataError: they cannot be written.
    """
    images: list[tuple[Picture, str]] = []
    with writing(folder):
        (folder / "figures").mkdir(parents=True, exist_ok=True)
    for picture in pictures:
        data = io.BytesIO()
        picture.figure.savefig(data, format="png", dpi=150, metadata={"Software": None})
        (folder / "figures" / f"{picture.name}.png").write_bytes(data.getvalue())
        images.append((picture, base64.b64encode(data.getvalue()).decode()))
    shown = examples_of(card, examples) if card is not None else []
    page = (
        page_templates()
        .get_template("report.html.j2")
        .render(
            policy=content_policy(),
            style=Markup(asset("style.css") + asset("report.css")),
            title=title,
            about="" if card is None else card_title(card),
            tables=[] if card is None else card_tables(card),
            notes=[] if card is None else card_notes(card),
            images=images,
            examples=shown,
            version=__version__,
        )
    )
    (folder / "report.html").write_text(page, encoding="utf-8")
    lines = [f"# {title}", "", "" if card is None else card_markdown(card)]
    for picture in pictures:
        path = f"figures/{picture.name}.png"
        lines += ["", f"## {picture.title}", "", f"![{picture.title}]({path})", "", picture.caption]
    for example in shown:
        lines += ["", f"## {example.title}: {example.output.id}", ""]
        lines += [f"* reference: {' '.join(text.split())}" for text in example.output.references]
        lines += [
            f"* {name} ({score}): {' '.join(text.split())}"
            for name, score, text in example.summaries
        ]
    text = "\n".join(lines) + "\n"
    (folder / "report.md").write_bytes(text.encode("utf-8", "replace"))
