"""Which checkpoints are best, when to stop early, and when a run overfits."""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path

from dialogist.training.config import TrainingConfig
from dialogist.training.progress import Progress
from dialogist.training.saving import checkpoint_folders


def rank(
    progress: Progress, config: TrainingConfig, metrics: Mapping[str, float], name: str
) -> Iterator[str]:
    """Enter checkpoint ``name`` into the best list and decide about stopping; yields notes.

    A validation without the metric (ROUGE is measured at intervals) ranks nothing.
    """
    if config.select_by not in metrics:
        return
    sign = -1.0 if config.select_by.endswith("loss") else 1.0
    score = sign * metrics[config.select_by]
    improved = not progress.best or score > progress.best[0][0]
    ranked = sorted([*progress.best, (score, name)], key=lambda entry: -entry[0])
    progress.best = ranked[: config.keep_best]
    progress.stale = 0 if improved else progress.stale + 1
    if config.patience is not None and progress.stale >= config.patience:
        progress.stopped = True
        yield (
            f"stopping early: {config.select_by} has not improved for {progress.stale} validations"
        )


def watch_gap(
    progress: Progress, config: TrainingConfig, metrics: Mapping[str, float]
) -> Iterator[str]:
    """Warn when the train sample's score runs away from dev's (report 3: .958 and .858)."""
    train_name = config.select_by.replace("dev_", "train_", 1)
    if train_name == config.select_by or train_name not in metrics:
        return
    gap = metrics[train_name] - metrics.get(config.select_by, math.nan)
    if gap > config.gap_warning and gap > (progress.gap or 0.0):
        yield (
            f"overfitting: {train_name} leads {config.select_by} by {gap:.1f} points, "
            "and the gap is growing"
        )
    progress.gap = gap


def final_checkpoints(progress: Progress, config: TrainingConfig, parent: Path) -> list[Path]:
    """The checkpoints whose mean is kept, by ``final`` (``best`` without a score: the last)."""
    epochs = epoch_checkpoints(parent)
    if config.final == "average":
        return epochs[-config.keep_last :]
    if config.final == "best" and progress.best:
        return [parent / progress.best[0][1]]
    return epochs[-1:]


def epoch_checkpoints(parent: Path) -> list[Path]:
    """The checkpoints at the ends of epochs, oldest first.

    Of an epoch that `max_steps` cut off and that was trained to its end later, the later one.
    """
    names = [path for path in checkpoint_folders(parent) if "-epoch-" in path.name]
    return list({path.name.rpartition("-")[2]: path for path in names}.values())
