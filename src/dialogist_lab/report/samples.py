"""What a system wrote about a few dialogues as it learned, from a run's ``samples.jsonl``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dialogist.errors import DataError
from dialogist.training.run_logs import RunLogs
from dialogist_lab.report.marking import Marker, Piece
from dialogist_lab.report.model import Run

_STEPS = 5  # of one dialogue
_DIALOGUES = 3  # of one run


@dataclass(frozen=True, slots=True)
class Step:
    """What was written after some updates; ``score`` is ROUGE-L as it was logged, or empty."""

    update: int
    pieces: tuple[Piece, ...]
    score: str


@dataclass(frozen=True, slots=True)
class Timeline:
    """One dialogue's summaries as learning went on, and its references."""

    run: str
    id: str
    references: tuple[str, ...]
    steps: tuple[Step, ...]


def timelines(runs: Sequence[Run]) -> list[Timeline]:
    """Of the first dialogues of every run, some steps from the first to the last.

    Raises:
        DataError: a run's ``samples.jsonl`` is damaged.
    """
    marker = Marker()
    found = []
    for run in runs:
        records = _records(run)
        for identity in list(dict.fromkeys(record["id"] for record in records))[:_DIALOGUES]:
            own = [record for record in records if record["id"] == identity]
            references = tuple(map(str, own[0]["references"]))
            steps = (
                Step(
                    update=int(record["step"]),
                    pieces=tuple(marker.marked(str(record["prediction"]), references)),
                    score=_score(record),
                )
                for record in _some(own)
            )
            found.append(Timeline(run.name, str(identity), references, tuple(steps)))
    return found


def _records(run: Run) -> list[dict[str, Any]]:
    log = RunLogs(run.folder).samples
    try:
        records: list[dict[str, Any]] = log.read()
        for record in records:
            int(record["step"]), record["id"], record["prediction"], list(record["references"])
    except OSError as error:
        raise DataError(f"{log.path}: cannot be read: {error.strerror}") from None
    except (ValueError, TypeError, KeyError, RecursionError):
        raise DataError(f"{log.path}: is damaged: a line is no sample of a run") from None
    return records


def _some(records: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The first and the last, and some at equal distances between."""
    last = len(records) - 1
    if last < _STEPS:
        return list(records)
    return [records[round(i * last / (_STEPS - 1))] for i in range(_STEPS)]


def _score(record: Mapping[str, Any]) -> str:
    scores = record.get("scores")
    value = scores.get("rougeL") if isinstance(scores, dict) else None
    return f"RL {value:.1f}" if isinstance(value, int | float) else ""
