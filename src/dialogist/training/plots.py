"""Loss and learning-rate curves of a run as PNG files (needs the ``eval`` extra)."""

from pathlib import Path

from dialogist.errors import MissingExtraError
from dialogist.training.logs import RunLogs


def plot_run(folder: Path) -> list[Path]:
    """Draw ``loss.png`` and ``learning_rate.png`` from ``metrics.jsonl``; return the files.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("plots of the run", "eval") from None
    logs = RunLogs(folder)
    loss = Figure(figsize=(7, 4), layout="constrained")
    axes = loss.subplots()
    curves = [("train", "nll", "train (with dropout)"), ("epoch", "dev_loss", "dev")]
    for kind, name, label in curves:
        rows = logs.series(kind, name)
        if rows:
            steps, values = zip(*rows, strict=True)
            axes.plot(steps, values, label=label, linewidth=1.2)
    axes.set(xlabel="update", ylabel="cross-entropy (nats per token)", title=folder.name)
    axes.grid(alpha=0.3)
    if axes.lines:  # a run of a few updates has none to draw
        axes.legend()
    rate = Figure(figsize=(7, 3), layout="constrained")
    axes = rate.subplots()
    rows = logs.series("train", "learning_rate")
    if rows:
        axes.plot(*zip(*rows, strict=True), linewidth=1.2)
    axes.set(xlabel="update", ylabel="learning rate", title=folder.name)
    axes.grid(alpha=0.3)
    files = [folder / "loss.png", folder / "learning_rate.png"]
    for figure, file in zip((loss, rate), files, strict=True):
        figure.savefig(file, dpi=120)
    return files
