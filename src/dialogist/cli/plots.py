"""Histograms of a corpus as one PNG file: Figure 2 of the Leader-Writer paper (KDD 2019)."""

from pathlib import Path

from dialogist.data.stats import CorpusStats
from dialogist.errors import MissingExtraError

SHOWN = ("utterances_per_dialogue", "tokens_per_dialogue", "tokens_per_summary")


def plot_lengths(stats: CorpusStats, path: Path) -> None:
    """Draw the length distributions side by side.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("--plot", "eval") from None
    figure = Figure(figsize=(11, 3.4), layout="constrained")
    for axes, name in zip(figure.subplots(1, len(SHOWN)), SHOWN, strict=True):
        histogram = stats.histograms[name]
        starts = [i * histogram.width for i in range(len(histogram.counts))]
        axes.bar(starts, histogram.counts, width=0.9 * histogram.width, align="edge")
        mean = stats.distributions[name].mean
        axes.axvline(mean, color="black", linestyle="--", linewidth=1, label=f"mean {mean:.1f}")
        axes.set(xlabel=name.replace("_", " "), ylabel="count")
        axes.legend()
    figure.savefig(path, dpi=120)
