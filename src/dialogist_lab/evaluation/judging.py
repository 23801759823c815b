"""From names of systems and a file of dialogues to a report card: what all commands share."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dialogist.errors import UsageError
from dialogist_lab.evaluation.cautions import Caution, overlap_cautions
from dialogist_lab.evaluation.metric import Metric
from dialogist_lab.evaluation.predictions import (
    Note,
    Output,
    System,
    find_systems,
    outputs_of,
    read_data,
    read_predictions,
    with_references,
)
from dialogist_lab.evaluation.reading_sheet import sample
from dialogist_lab.evaluation.report_card import (
    Card,
    baseline_rows,
    make_card,
    make_metrics,
    make_row,
)

TRAIN_SAMPLE = 500
"""Dialogues of training data that are scored beside the data."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be judged, and how; see the flags of ``dialogist evaluate``.

    ``data`` None: files of predictions bring their references. ``kept``: the folder for summaries,
    or a file where it has a suffix. ``train_samples``: by name of a system, a file of dialogues (or
    of predictions, where the system is a file).
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
    said = {system.name: _outputs(system, request, note) for system in systems}
    outputs = next(iter(said.values()))
    ids = [output.id for output in outputs]
    for name, others in said.items():
        if [output.id for output in others] != ids:
            raise UsageError(f"{name} does not hold the dialogues of the others: say --on DATA")
    metrics = make_metrics(request.metrics, outputs, request.encoder, request.pack, note)
    rows = [make_row(name, "system", own, metrics) for name, own in said.items()]
    if request.train_sample is not None:
        for system in systems:
            if system.file is None:
                own = _sampled(system, request, request.train_sample, note)
                rows.append(make_row(system.name, "train", own, metrics))
    if request.baselines:
        rows += baseline_rows(outputs, metrics, list(said))
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
    if kept.suffix:
        return kept
    return kept / f"{system.file_name}.{data.name.partition('.')[0]}.predictions.jsonl"
