"""Sizes of a corpus: what Table 3 and Figure 2 of the Leader-Writer paper show (KDD 2019).

count_words -> lengths of utterances, dialogues, summaries -> Distribution, share, histogram
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from dialogist.errors import MissingExtraError
from dialogist.records import JSON, Dialogue
from dialogist.text.tokens import count_words

CountTokens = Callable[[str], int]

# What is counted, and the width of its bins in a histogram (Figure 2).
BINS: Mapping[str, int] = {
    "utterances_per_dialogue": 10,
    "speakers_per_dialogue": 1,
    "tokens_per_utterance": 10,
    "tokens_per_dialogue": 50,
    "tokens_per_summary": 20,
    "tokens_per_sub_summary": 10,
    "references_per_dialogue": 1,
    "topics_per_dialogue": 1,
}
_BINS_SHOWN = 30


@dataclass(frozen=True, slots=True)
class CutLimits:
    """What a model would be given at most.

    75 tokens per utterance, 40 utterances and 50 tokens per summary or sub-summary are the
    Leader-Writer paper's (section 4.1); 150 tokens for the whole dialogue is the reports', whose
    summaries end after 50 as well.
    """

    utterance_tokens: int = 75
    utterances: int = 40
    summary_tokens: int = 50
    dialogue_tokens: int = 150


@dataclass(frozen=True, slots=True)
class Distribution:
    """How one quantity is spread; all zero where it never occurred."""

    count: int = 0
    mean: float = 0.0
    median: float = 0.0
    p90: int = 0
    p95: int = 0
    max: int = 0


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts in bins of equal width from zero; the last of thirty holds everything above too."""

    width: int
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CorpusStats:
    """Everything counted, ready to be shown or written as JSON.

    ``exceeding`` gives the share (0 to 1) of utterances, dialogues and summaries beyond each
    limit; its ``dialogues_cut`` is the share of dialogues with too many utterances or one too long.
    """

    dialogues: int
    limits: CutLimits
    distributions: Mapping[str, Distribution]
    exceeding: Mapping[str, float]
    histograms: Mapping[str, Histogram]

    def to_json(self) -> dict[str, JSON]:
        """Return the same as plain JSON values."""
        return {
            "dialogues": self.dialogues,
            "limits": asdict(self.limits),
            "distributions": {name: asdict(each) for name, each in self.distributions.items()},
            "exceeding": dict(self.exceeding),
            "histograms": {
                name: {"width": each.width, "counts": list(each.counts)}
                for name, each in self.histograms.items()
            },
        }


def corpus_stats(
    dialogues: Iterable[Dialogue],
    count_tokens: CountTokens = count_words,
    limits: CutLimits | None = None,
) -> CorpusStats:
    """Count a stream of dialogues in one pass; only lengths are kept, never texts.

    Topics and sub-summaries are counted where a reader put ``topics`` into the metadata.
    """
    limits = limits or CutLimits()
    lengths: dict[str, Counter[int]] = {name: Counter() for name in BINS}
    total = cut = 0
    for dialogue in dialogues:
        total += 1
        utterances = [count_tokens(utterance.text) for utterance in dialogue.utterances]
        longest = max(utterances, default=0)
        cut += len(utterances) > limits.utterances or longest > limits.utterance_tokens
        for name, found in _lengths(dialogue, utterances, count_tokens).items():
            lengths[name].update(found)
    return CorpusStats(
        total,
        limits,
        {name: distribution_of(counts) for name, counts in lengths.items()},
        _exceeding(lengths, limits) | {"dialogues_cut": cut / max(1, total)},
        {name: histogram_of(counts, BINS[name]) for name, counts in lengths.items()},
    )


def _lengths(
    dialogue: Dialogue, utterances: list[int], count_tokens: CountTokens
) -> dict[str, list[int]]:
    """Everything in one dialogue that is counted, under the names of `BINS`."""
    topics = _topics(dialogue)
    return {
        "utterances_per_dialogue": [len(utterances)],
        "speakers_per_dialogue": [len(dialogue.speakers)],
        "tokens_per_utterance": utterances,
        "tokens_per_dialogue": [sum(utterances)],
        "tokens_per_summary": [count_tokens(reference) for reference in dialogue.references],
        "tokens_per_sub_summary": [count_tokens(text) for text in topics],
        "references_per_dialogue": [len(dialogue.references)],
        "topics_per_dialogue": [len(topics)] if topics else [],
    }


def _topics(dialogue: Dialogue) -> list[str]:
    """The texts of ``[topic, text]`` pairs in the metadata."""
    topics = dialogue.metadata.get("topics")
    pairs = topics if isinstance(topics, list) else []
    return [
        pair[1]
        for pair in pairs
        if isinstance(pair, list) and len(pair) == 2 and isinstance(pair[1], str)
    ]


def _exceeding(lengths: Mapping[str, Counter[int]], limits: CutLimits) -> dict[str, float]:
    allowed = {
        "tokens_per_utterance": limits.utterance_tokens,
        "utterances_per_dialogue": limits.utterances,
        "tokens_per_summary": limits.summary_tokens,
        "tokens_per_sub_summary": limits.summary_tokens,
        "tokens_per_dialogue": limits.dialogue_tokens,
    }
    return {name: _share_above(lengths[name], limit) for name, limit in allowed.items()}


def _share_above(lengths: Counter[int], limit: int) -> float:
    above = sum(times for length, times in lengths.items() if length > limit)
    return above / max(1, lengths.total())


def distribution_of(lengths: Counter[int]) -> Distribution:
    """Summarise exact counts of lengths; percentiles are values that occur (nearest rank)."""
    count = lengths.total()
    if not count:
        return Distribution()
    ordered = sorted(lengths.items())
    mean = sum(length * times for length, times in ordered) / count
    middle = (_ranked(ordered, (count + 1) // 2) + _ranked(ordered, count // 2 + 1)) / 2
    p90, p95 = (_ranked(ordered, -(-count * share // 100)) for share in (90, 95))
    return Distribution(count, mean, middle, p90, p95, ordered[-1][0])


def _ranked(ordered: list[tuple[int, int]], rank: int) -> int:
    """The value of the given rank, counted from 1."""
    for length, times in ordered:
        rank -= times
        if rank <= 0:
            return length
    return ordered[-1][0]


def histogram_of(lengths: Counter[int], width: int) -> Histogram:
    """Sort counts of lengths into bins, up to thirty of them."""
    bins = Counter[int]()
    for length, times in lengths.items():
        bins[min(length // width, _BINS_SHOWN - 1)] += times
    return Histogram(width, tuple(bins[n] for n in range(max(bins, default=-1) + 1)))


PLOTTED = ("utterances_per_dialogue", "tokens_per_dialogue", "tokens_per_summary")


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
    for axes, name in zip(figure.subplots(1, len(PLOTTED)), PLOTTED, strict=True):
        histogram = stats.histograms[name]
        starts = [i * histogram.width for i in range(len(histogram.counts))]
        axes.bar(starts, histogram.counts, width=0.9 * histogram.width, align="edge")
        mean = stats.distributions[name].mean
        axes.axvline(mean, color="black", linestyle="--", linewidth=1, label=f"mean {mean:.1f}")
        axes.set(xlabel=name.replace("_", " "), ylabel="count")
        axes.legend()
    figure.savefig(path, dpi=120)
