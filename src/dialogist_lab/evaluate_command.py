"""``dialogist evaluate``, ``compare`` and ``report``: what systems' summaries are worth."""

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dialogist.cli.console import note
from dialogist.cli.flags import AllowNetwork, Limit, OutputFile, Quiet
from dialogist.cli.output_formats import aligned_lines, output_format_of, output_to
from dialogist.errors import DataError, UsageError

if TYPE_CHECKING:
    from dialogist_lab.evaluation.metric import Metric
    from dialogist_lab.evaluation.report_card import Card


class CardFormat(StrEnum):
    """Forms of scores."""

    text = "text"
    json = "json"
    md = "md"


Systems = Annotated[
    list[str],
    typer.Argument(
        help="Baselines (lead-3 ...), writers (highlights, endpoint:..., model:RUN), run folders, "
        "or files of predictions."
    ),
]
MetricNames = Annotated[
    str, typer.Option(help="Names with commas; all: every one that can be measured here.")
]
Encoder = Annotated[
    Path | None, typer.Option(help="Folder of an encoder such as roberta-large: adds BERTScore.")
]
Pack = Annotated[
    str | None, typer.Option("--pack", "-p", help="Rule pack: adds key points and key facts.")
]
Train = Annotated[
    Path | None, typer.Option(help="Training data: finds dialogues that are there, too.")
]
TrainSample = Annotated[
    Path | None, typer.Option(help="Training data: a fixed sample of it is scored beside the data.")
]
BaseRow = Annotated[
    str, typer.Option("--baseline", help="Row that differences are from (default: the first).")
]
CardForm = Annotated[CardFormat | None, typer.Option("--format", "-f", help="text, md or json.")]


def evaluate(
    system: Annotated[
        str,
        typer.Argument(
            help="A baseline (lead-3 ...), a writer (highlights, endpoint:..., model:RUN), a run "
            "folder, a file of predictions, or a filled reading sheet."
        ),
    ],
    data: Annotated[
        Path | None,
        typer.Argument(help="Dialogues with reference summaries (without: those of the file)."),
    ] = None,
    metrics: MetricNames = "rouge,faithfulness,copying",
    references: Annotated[
        str, typer.Option(help="Several references: average, or concatenated into one text.")
    ] = "average",
    encoder: Encoder = None,
    pack: Pack = None,
    train_sample: TrainSample = None,
    train: Train = None,
    predictions: Annotated[
        Path | None,
        typer.Option(help="Where summaries go (default: SYSTEM.DATA.predictions.jsonl here)."),
    ] = None,
    read: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Measure nothing: write the statements of so many dialogues as OUTPUT.csv and "
            ".html, to be judged by a person.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Draws the dialogues of --read.")] = 1,
    limit: Limit = None,
    prediction_key: Annotated[
        str, typer.Option(help="Key of the prediction in a file (default: the usual names).")
    ] = "",
    missing_as_empty: Annotated[
        bool,
        typer.Option("--missing-as-empty", help="A missing prediction is an empty one."),
    ] = False,
    no_floors: Annotated[
        bool, typer.Option("--no-floors", help="Leave out baselines and upper bounds.")
    ] = False,
    output: OutputFile = None,
    format: CardForm = None,
    allow_network: AllowNetwork = False,
    quiet: Quiet = False,
) -> int:
    """Score a system: ROUGE and more, with intervals, baselines, upper bounds and warnings."""
    from dialogist_lab.evaluation.predictions import find_system, outputs_of, read_data
    from dialogist_lab.evaluation.reading_sheet import is_sheet, sample, write_sheet
    from dialogist_lab.evaluation.report_card import Request, judge

    if references not in ("average", "concatenated"):
        raise UsageError(f"--references {references}: write average or concatenated")
    if read is not None:
        if data is None:
            raise UsageError("--read: say which dialogues are to be read: evaluate SYSTEM DATA")
        chosen = sample([d for d in read_data(data, note) if d.utterances], read, seed)
        if not chosen:
            raise DataError(f"{data}: holds no dialogue")
        stem = (output or Path("sheet")).with_suffix("")
        kept = predictions or stem.with_name(f"{stem.name}.predictions.jsonl")
        outputs = outputs_of(find_system(system), chosen, kept, note, prediction_key)
        table, page = write_sheet([o for o in outputs if o.prediction.strip()], stem)
        note(f"{table} and {page}: judge the statements, then: dialogist evaluate {table}")
        return 0
    form = output_format_of(output, format, CardFormat.text)
    if is_sheet(Path(system)):
        text = _sheet_as(Path(system), form)
    else:
        card, _ = judge(
            Request(
                systems=[system],
                data=data,
                kept=predictions or Path(),
                metrics=metrics,
                encoder=encoder,
                pack=pack,
                concatenated=references == "concatenated",
                train=train,
                train_sample=train_sample,
                limit=limit,
                baselines=not no_floors,
                prediction_key=prediction_key,
                missing_as_empty=missing_as_empty,
            ),
            note,
        )
        text = _card_as(card, form)
    with output_to(output):
        typer.echo(text)
    return 0


def _card_as(card: "Card", form: CardFormat) -> str:
    from dialogist_lab.evaluation.report_card import card_markdown, card_text

    if form is CardFormat.json:
        return json.dumps(card.to_json(), ensure_ascii=False, indent=2)
    return (card_markdown if form is CardFormat.md else card_text)(card)


def _sheet_as(path: Path, form: CardFormat) -> str:
    """What a reader found, with intervals over dialogues."""
    from dialogist.records import to_json
    from dialogist_lab.evaluation.reading_sheet import read_sheet, sheet_scores
    from dialogist_lab.evaluation.report_card import markdown_table
    from dialogist_lab.evaluation.resampling import intervals

    rows, unread = read_sheet(path)
    if unread:
        note(f"{path}: {unread} statements left out: without a verdict")
    scores = sheet_scores(rows, path.name)
    figures = intervals(scores)
    if form is CardFormat.json:
        shown = {key: to_json(figure) for key, figure in figures.items()}
        about = {"statements": len(rows), "dialogues": len(scores.ids)}
        return json.dumps({**about, "figures": shown}, indent=2)
    table = [["", "share", "of"]]
    for column in scores.columns:
        hits, total = scores.numbers(column.key).sum(axis=0)
        if total:
            count = f"{hits / 100:.0f}/{total:.0f}"
            table.append([column.title, figures[column.key].text(1), count])
    lines = (markdown_table if form is CardFormat.md else aligned_lines)(table)
    title = f"{len(rows)} statements about {len(scores.ids)} dialogues"
    return "\n".join([title, "", *lines])


_TABLE_4 = (
    *("bleu", "rouge1.recall", "rouge2.recall", "rougeL.f1"),
    *("key_points.bleu", "key_points.rouge1.recall", "key_points.rouge2.recall"),
    *("key_points.rougeL.f1", "key_facts.rougeL.f1"),
)
"""The columns of Table 4 of the Leader-Writer paper (KDD 2019)."""


def compare(
    systems: Systems,
    on: Annotated[Path, typer.Option(help="Dialogues with reference summaries.")],
    metrics: MetricNames = "rouge,bleu",
    encoder: Encoder = None,
    pack: Pack = None,
    train: Train = None,
    baseline: BaseRow = "",
    predictions: Annotated[Path, typer.Option(help="Folder for the systems' summaries.")] = Path(
        "runs/compare"
    ),
    plot: Annotated[Path | None, typer.Option(help="Folder for figures (PNG).")] = None,
    output: OutputFile = None,
    format: CardForm = None,
    allow_network: AllowNetwork = False,
    quiet: Quiet = False,
) -> int:
    """Put systems beside each other on the same dialogues: figures, intervals, tested differences.

    A star marks a difference from the base with p < 0.05: permutation test, Holm's correction.
    """
    from dialogist_lab.evaluation.report_card import Request, judge

    form = output_format_of(output, format, CardFormat.text)
    card, measures = judge(
        Request(
            systems=systems,
            data=on,
            kept=predictions,
            metrics=metrics,
            encoder=encoder,
            pack=pack,
            train=train,
            base=baseline,
            headline=_TABLE_4,
        ),
        note,
    )
    with output_to(output):
        typer.echo(_card_as(card, form))
    if plot is not None:
        from dialogist_lab.evaluation.report_page import draw_all

        plot.mkdir(parents=True, exist_ok=True)
        for picture in draw_all(card, measures, []):
            picture.figure.savefig(plot / f"{picture.name}.png", dpi=150)
    return 0


def report(
    systems: Systems,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for report.html, report.md, figures/.")
    ],
    on: Annotated[
        Path | None,
        typer.Option(help="Dialogues with reference summaries (without: runs' training alone)."),
    ] = None,
    run: Annotated[
        list[Path] | None, typer.Option(help="A run folder whose training is shown. Repeatable.")
    ] = None,
    metrics: MetricNames = "all",
    encoder: Encoder = None,
    pack: Pack = None,
    train: Train = None,
    train_sample: TrainSample = None,
    baseline: BaseRow = "",
    examples: Annotated[int, typer.Option(min=0, help="How many best, median, worst.")] = 3,
    title: Annotated[str, typer.Option(help="The report's title.")] = "Evaluation report",
    allow_network: AllowNetwork = False,
    quiet: Quiet = False,
) -> int:
    """Write a self-contained page about systems: figures, cautions, examples, training."""
    from dialogist_lab.evaluation.report_card import Request, judge
    from dialogist_lab.evaluation.report_page import RUN_LOG, draw_all, write_report

    runs = [Path(name) for name in systems if (Path(name) / RUN_LOG).is_file()]
    for folder in run or []:
        if not (folder / RUN_LOG).is_file():
            raise DataError(f"{folder}: holds no {RUN_LOG}: it is no run folder")
        runs.append(folder)
    judged = systems if on is not None else [name for name in systems if Path(name) not in runs]
    card: Card | None = None
    measures: list[Metric] = []
    if judged:
        card, measures = judge(
            Request(
                systems=judged,
                data=on,
                kept=output / "predictions",
                metrics=metrics,
                encoder=encoder,
                pack=pack,
                train=train,
                train_sample=train_sample,
                base=baseline,
            ),
            note,
        )
    write_report(output, title, card, draw_all(card, measures, runs), examples)
    note(f"the report is in {output / 'report.html'}")
    return 0
