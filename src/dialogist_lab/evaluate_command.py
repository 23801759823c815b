"""``dialogist evaluate``, ``compare`` and ``report``: what systems' summaries are worth."""

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from dialogist.cli.console import note
from dialogist.cli.flags import AllowNetwork, Limit, OutputFile, Quiet
from dialogist.cli.streams import output_format_of, output_to
from dialogist.errors import DataError, UsageError
from dialogist.records import to_json

CardFormat = StrEnum("CardFormat", ["text", "json", "md"])
"""Forms of scores."""

_SYSTEMS = (
    "Baselines (lead-3 ...), writers (highlights, ollama:..., model:RUN), run folders, or files "
    "of predictions"
)
Systems = Annotated[list[str], typer.Argument(help=f"{_SYSTEMS}.")]
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
    system: Annotated[str, typer.Argument(help=f"{_SYSTEMS}; or a filled reading sheet.")],
    data: Annotated[
        Path | None,
        typer.Argument(help="Dialogues with reference summaries (without: those of the file)."),
    ] = None,
    metrics: MetricNames = "rouge,faithfulness,copying",
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
    no_floors: Annotated[
        bool, typer.Option("--no-floors", help="Leave out baselines and upper bounds.")
    ] = False,
    output: OutputFile = None,
    format: CardForm = None,
    allow_network: AllowNetwork = False,
    quiet: Quiet = False,
) -> int:
    """Score a system: ROUGE and more, with intervals, baselines, upper bounds and warnings."""
    from dialogist_lab.evaluation.judgements import is_sheet, write_sheet
    from dialogist_lab.evaluation.report_card import Request, card_as, judge
    from dialogist_lab.evaluation.systems import find_system, outputs_of, read_data, sample

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
        request = Request(
            systems=[system],
            data=data,
            kept=predictions or Path(),
            metrics=metrics,
            encoder=encoder,
            pack=pack,
            train=train,
            train_sample=train_sample,
            limit=limit,
            baselines=not no_floors,
            prediction_key=prediction_key,
        )
        text = card_as(judge(request, note), form)
    with output_to(output):
        typer.echo(text)
    return 0


def _sheet_as(path: Path, form: CardFormat) -> str:
    """What a reader found, with intervals over dialogues."""
    from dialogist_lab.evaluation.judgements import read_sheet, sheet_scores, sheet_table
    from dialogist_lab.evaluation.metric import intervals
    from dialogist_lab.evaluation.report_card import table_lines

    rows, unread = read_sheet(path)
    if unread:
        note(f"{path}: {unread} statements left out: without a verdict")
    scores = sheet_scores(rows)
    if form is CardFormat.json:
        figures = {key: to_json(figure) for key, figure in intervals(scores).items()}
        about = {"statements": len(rows), "dialogues": len(scores.ids)}
        return json.dumps({**about, "figures": figures}, indent=2)
    head = f"{len(rows)} statements about {len(scores.ids)} dialogues"
    return "\n".join([head, "", *table_lines(sheet_table(scores), form)])


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
    output: OutputFile = None,
    format: CardForm = None,
    allow_network: AllowNetwork = False,
    quiet: Quiet = False,
) -> int:
    """Put systems beside each other on the same dialogues: figures, intervals, tested differences.

    A star marks a difference from the base with p < 0.05: permutation test, Holm's correction.
    """
    from dialogist_lab.evaluation.report_card import Request, card_as, judge

    form = output_format_of(output, format, CardFormat.text)
    about = (encoder, pack, train, None, baseline, _TABLE_4)
    card = judge(Request(systems, on, predictions, metrics, *about), note)
    with output_to(output):
        typer.echo(card_as(card, form))
    return 0


def report(
    systems: Systems,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", file_okay=False, help="Folder for report.html, report.md, figures/."
        ),
    ],
    on: Annotated[
        Path | None,
        typer.Option(help="Dialogues with reference summaries (without: runs' training alone)."),
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
    """Write a self-contained page about systems: figures, cautions, examples, training of runs."""
    from dialogist_lab.evaluation.report_card import Request, judge
    from dialogist_lab.evaluation.report_page import RUN_LOG, write_report

    runs = [Path(name) for name in systems if (Path(name) / RUN_LOG).is_file()]
    judged = systems if on is not None else [name for name in systems if Path(name) not in runs]
    card = None
    if judged:
        about = (encoder, pack, train, train_sample, baseline)
        card = judge(Request(judged, on, output / "predictions", metrics, *about), note)
    write_report(output, title, card, runs, examples)
    note(f"the report is in {output / 'report.html'}")
    return 0
