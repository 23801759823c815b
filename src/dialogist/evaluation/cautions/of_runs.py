"""Cautions about how a system was trained, from the log of its run."""

from collections.abc import Iterable, Mapping

from dialogist.evaluation.cautions.caution import Caution
from dialogist.records import JSON
from dialogist.training.base import Progress, TrainingConfig
from dialogist.training.checkpoints import watch_gap


def gap_cautions(
    records: Iterable[Mapping[str, JSON]], config: TrainingConfig, system: str = ""
) -> list[Caution]:
    """Whether the train sample's score ran away from dev's: what was told while it trained.

    ``records`` are those of ``metrics.jsonl``, in order; ``config`` is the run's own.
    """
    progress = Progress()
    told: list[tuple[JSON, str]] = []
    for record in records:
        if record.get("kind") == "epoch":
            metrics = {k: v for k, v in record.items() if isinstance(v, int | float)}
            told += ((record.get("epoch"), text) for text in watch_gap(progress, config, metrics))
    if not told:
        return []
    text = f"{told[-1][1]} (first told in epoch {told[0][0]}, last in {told[-1][0]})"
    advice = "take an earlier checkpoint, more data, more dropout or a smaller network"
    return [Caution("overfitting", "warning", f"{text}; {advice}", system)]
