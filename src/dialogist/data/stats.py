"""What a corpus holds: its sizes, what masking would do to it, and whether it is fit for training.

The sizes are those of Table 3 and Figure 2 of the Leader-Writer paper (KDD 2019).

count_words -> lengths of utterances, dialogues, summaries -> Distribution, share, histogram
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO

from dialogist.data.entities import MASK, EntityTable, find_entities, mask_entities
from dialogist.data.normalise import normalise
from dialogist.formats import ReadOptions, ReadProblem, no_note, read_dialogues
from dialogist.errors import DataError, needs_extra
from dialogist.records import JSON, PROFILE, Dialogue
from dialogist.language.tokens import count_words
from dialogist.tokenizers.special_tokens import ENTITY_KINDS, entity_kind

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

    def by_length(self) -> dict[str, int]:
        """Each limit under the name of the length that it is for."""
        return {
            "tokens_per_utterance": self.utterance_tokens,
            "utterances_per_dialogue": self.utterances,
            "tokens_per_summary": self.summary_tokens,
            "tokens_per_sub_summary": self.summary_tokens,
            "tokens_per_dialogue": self.dialogue_tokens,
        }


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
        return asdict(self)


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
    above = {
        name: sum(times for length, times in lengths[name].items() if length > most)
        for name, most in limits.by_length().items()
    }
    exceeding = {name: count / max(1, lengths[name].total()) for name, count in above.items()}
    return CorpusStats(
        total,
        limits,
        {name: distribution_of(counts) for name, counts in lengths.items()},
        exceeding | {"dialogues_cut": cut / max(1, total)},
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
    with needs_extra("--plot", "eval"):
        from matplotlib.figure import Figure
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


_CONTEXT = 25  # characters shown on either side of an example


@dataclass(slots=True)
class KindCounts:
    """One kind: ``mentions``, different ``values`` (within their dialogues), and where they are.

    ``beyond`` values found no mask (more than a dialogue can have) and stay text. ``supported`` of
    ``in_summaries`` mentions in human summaries are of a value that the dialogue holds.
    """

    mentions: int = 0
    values: int = 0
    dialogues: int = 0
    beyond: int = 0
    in_summaries: int = 0
    supported: int = 0
    examples: list[str] = field(default_factory=list)


@dataclass(slots=True)
class EntityReport:
    """Counts by kind; ``dialogues`` were read, ``with_entities`` of them hold one."""

    dialogues: int = 0
    with_entities: int = 0
    kinds: dict[str, KindCounts] = field(
        default_factory=lambda: {kind: KindCounts() for kind in ENTITY_KINDS}
    )

    def to_json(self) -> dict[str, JSON]:
        """The same as plain JSON values."""
        return asdict(self)


def entity_report(dialogues: Iterable[Dialogue], examples: int = 3) -> EntityReport:
    """Mask every dialogue as the preparation would; the first ``examples`` of a kind are kept."""
    report = EntityReport()
    for dialogue in dialogues:
        texts = [normalise(u.text, "plain") for u in dialogue.utterances]
        masked, table = mask_entities(
            texts, (normalise(name, "plain") for name in dialogue.speakers)
        )
        report.dialogues += 1
        report.with_entities += bool(table.surfaces)
        _count_dialogue(report, masked, table)
        for text in masked:
            _keep_examples(report, text, table, examples)
        for reference in dialogue.references:
            _count_summary(report, normalise(reference, "plain"), table)
    return report


def _count_dialogue(report: EntityReport, masked: Iterable[str], table: EntityTable) -> None:
    for kind, beyond in table.overflow.items():
        report.kinds[kind].beyond += beyond
    for kind, values in Counter(map(entity_kind, table.surfaces)).items():
        report.kinds[kind].values += values
        report.kinds[kind].dialogues += 1
    for text in masked:
        for character in MASK.findall(text):
            report.kinds[entity_kind(character)].mentions += character in table.surfaces


def _keep_examples(report: EntityReport, masked: str, table: EntityTable, wanted: int) -> None:
    """``... call [415-555-0132] now``: around the first mention of each kind in a text."""
    for match in MASK.finditer(masked):
        counts = report.kinds[entity_kind(match[0])]
        if len(counts.examples) >= wanted or match[0] not in table.surfaces:
            continue
        before = table.restore(masked[: match.start()])[-_CONTEXT:]
        after = table.restore(masked[match.end() :])[:_CONTEXT]
        counts.examples.append(f"{before}[{table.surfaces[match[0]]}]{after}")


def _count_summary(report: EntityReport, reference: str, table: EntityTable) -> None:
    masked = table.mask(reference)
    for character in MASK.findall(masked):
        if character in table.surfaces:
            report.kinds[entity_kind(character)].in_summaries += 1
            report.kinds[entity_kind(character)].supported += 1
    for span in find_entities(masked):
        report.kinds[span.kind].in_summaries += 1


# Whether a file is fit for training: all of it is read, and what is wrong or odd is listed.


_EXAMPLES = 5

Watch = Callable[[Iterator[Dialogue]], Iterator[Dialogue]]

# Each kind of finding, and what it says about the dialogues concerned.
FINDINGS = {
    "duplicate_id": "have an id that occurred before",
    "duplicate_dialogue": "repeat an earlier dialogue word for word",
    "empty_utterance": "hold an utterance without text",
    "one_speaker": "have one speaker or none",
    "empty_summary": "have a summary without text",
    "long_summary": "have a summary longer than the dialogue",
    "no_reference": "have no summary, while others have one",
    "ignored_profile": "have fields in their profile that are not read: no text or number",
}


@dataclass(frozen=True, slots=True)
class CorpusFinding:
    """One kind of oddity: how many dialogues show it, and the ids of the first few.

    Of ``ignored_profile`` the examples are names of fields.
    """

    kind: str
    count: int
    examples: tuple[str, ...]

    def __str__(self) -> str:
        more = ", ..." if self.count > len(self.examples) else ""
        return f"{self.count} {FINDINGS[self.kind]} ({', '.join(self.examples)}{more})"


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What was read, what could not be read, and what looks odd.

    ``error`` says why reading ended early (a truncated gzip file), and is empty otherwise.
    """

    dialogues: int
    utterances: int
    references: int
    problems: tuple[ReadProblem, ...]
    warnings: tuple[CorpusFinding, ...]
    error: str = ""

    @property
    def ok(self) -> bool:
        """Whether everything could be read; warnings do not count."""
        return not self.problems and not self.error

    def to_json(self) -> dict[str, JSON]:
        """Return the same as plain JSON values."""
        return asdict(self)


@dataclass(slots=True)
class _Seen:
    """What one pass remembers: ids and digests of texts, never the texts."""

    ids: set[str] = field(default_factory=set)
    texts: set[bytes] = field(default_factory=set)
    counts: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    examples: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def add(self, dialogue: Dialogue) -> None:
        self.counts["dialogues"] += 1
        self.counts["utterances"] += len(dialogue.utterances)
        self.counts["references"] += len(dialogue.references)
        for kind in self._oddities(dialogue):
            self.counts[kind] += 1
            if len(self.examples[kind]) < _EXAMPLES:
                self.examples[kind].append(dialogue.id)
        self._add_ignored(dialogue.metadata.get(PROFILE))

    def _add_ignored(self, unread: JSON) -> None:
        """Count what of a profile is not read, and note its fields rather than the dialogue."""
        if unread is None:
            return
        self.counts["ignored_profile"] += 1
        known = self.examples["ignored_profile"]
        names = list(unread) if isinstance(unread, dict) else [PROFILE]
        known += [name for name in names if name not in known][: _EXAMPLES - len(known)]

    def _oddities(self, dialogue: Dialogue) -> Iterator[str]:
        if dialogue.id in self.ids:
            yield "duplicate_id"
        self.ids.add(dialogue.id)
        digest = _digest(dialogue)
        if digest in self.texts:
            yield "duplicate_dialogue"
        self.texts.add(digest)
        yield from _shape_oddities(dialogue)

    def findings(self) -> tuple[CorpusFinding, ...]:
        kinds = [kind for kind in FINDINGS if self.counts[kind]]
        if not self.counts["references"]:
            kinds = [kind for kind in kinds if kind != "no_reference"]
        return tuple(CorpusFinding(k, self.counts[k], tuple(self.examples[k])) for k in kinds)


def check_dialogues(
    origin: Path | BinaryIO,
    options: ReadOptions,
    on_note: Callable[[str], None] = no_note,
    watch: Watch = iter,
) -> CheckReport:
    """Read a file to its end, and report on it; ``on_note`` as for `read_dialogues`.

    ``watch`` passes the dialogues on, and can show how far it is.

    Raises:
        DataError: it cannot be opened, or no format is recognised.
        UsageError: there is no such format or encoding.
    """
    problems: list[ReadProblem] = []
    seen = _Seen()
    error = ""
    dialogues = read_dialogues(origin, options, problems.append, on_note)
    try:
        for dialogue in watch(dialogues):
            seen.add(dialogue)
    except DataError as broken:
        error = str(broken)
    counts = seen.counts
    return CheckReport(
        counts["dialogues"],
        counts["utterances"],
        counts["references"],
        tuple(problems),
        seen.findings(),
        error,
    )


def _shape_oddities(dialogue: Dialogue) -> Iterator[str]:
    if any(not utterance.text.strip() for utterance in dialogue.utterances):
        yield "empty_utterance"
    if len(dialogue.speakers) < 2:
        yield "one_speaker"
    if any(not reference.strip() for reference in dialogue.references):
        yield "empty_summary"
    if not dialogue.references:
        yield "no_reference"
    elif _has_long_summary(dialogue):
        yield "long_summary"


def _has_long_summary(dialogue: Dialogue) -> bool:
    words = sum(count_words(utterance.text) for utterance in dialogue.utterances)
    return max(map(count_words, dialogue.references)) > words


def _digest(dialogue: Dialogue) -> bytes:
    """A fingerprint of who says what, white space and case aside."""
    turns = (f"{turn.speaker}\0{' '.join(turn.text.split())}" for turn in dialogue.utterances)
    return blake2b("\n".join(turns).lower().encode("utf-8", "replace"), digest_size=16).digest()
