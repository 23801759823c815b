"""Metrics by name for some outputs: those of `metric_registry`, and key points by rules.

Key points and key facts are the right half of Table 4 of the Leader-Writer paper (Liu et al., KDD
2019, section 4.2): BLEU, ROUGE-1 and -2 as recall, ROUGE-L as F1, of sequences of key points, each
label being one token; and ROUGE-L of what is left of them when there is nothing in them but the
pack's key facts (Figure 3a). See docs/reference/evaluation-files.md.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache, partial
from pathlib import Path
from statistics import fmean

from dialogist.data.key_points import RulePack, parse_pack, section_of
from dialogist.errors import DialogistError, UsageError, nearest
from dialogist.evaluation.system_outputs import Output
from dialogist.metrics.base import SUFFIX, Case, Column, Floats, Metric, mean_column, mean_of
from dialogist.metrics.bleu import LabelScorer
from dialogist.metrics.metric_registry import METRICS, MetricOptions, make_metrics
from dialogist.language.tokens import words_in

Labels = tuple[str, ...]

KEY_POINT_METRIC = "key-points"

_REMEMBERED = 20_000  # references: systems are scored one after the other on the same ones
_UNITS = "R1 and R2 recall, RL F1 | x 100"


@dataclass(frozen=True, slots=True)
class Labelled:
    """The key points of an output, and of each of its references."""

    found: Labels
    wanted: tuple[Labels, ...]


class KeyPoints:
    """Scores the sequences of key points that a rule pack finds, or that a system says itself.

    ``longest``: the most key points that a reference of the corpus has; BLEU looks at n-grams up to
    4, and of shorter ones where no reference has four. ``by_rules``: also of a system that says its
    own, the rules find them in what it wrote; the columns have another name then.

    Raises:
        MissingExtraError: sacrebleu is not installed.
    """

    def __init__(self, pack: RulePack, longest: int, by_rules: bool = False) -> None:
        self.pack = pack
        self.longest = longest
        self.by_rules = by_rules
        self._scorer = LabelScorer(pack.labels, longest)
        self.bleu = self._scorer.bleu
        self._wanted = lru_cache(_REMEMBERED)(partial(find_labels, pack))

    def __reduce__(self) -> tuple[Callable[..., "KeyPoints"], tuple[str, int, bool]]:
        return _from_text, (self.pack.text, self.longest, self.by_rules)  # a pack is not picklable

    @property
    def name(self) -> str:
        """``key-points``, or ``key-points-by-rules``."""
        return f"{KEY_POINT_METRIC}-by-rules" if self.by_rules else KEY_POINT_METRIC

    @property
    def signature(self) -> str:
        """Rule pack, BLEU's own, and how ROUGE counts."""
        return (
            f"{self.pack.name} {self.pack.version} | {self.bleu.signature} | "
            f"a label is a token | {_UNITS} | mean over references"
        )

    @property
    def columns(self) -> tuple[Column, ...]:
        """The four of key points and, where the pack has key facts, those of these."""
        name, title = self.name.replace("-", "_"), "by rules" if self.by_rules else "key points"
        [bleu] = self.bleu.columns
        columns = (
            replace(bleu, key=f"{name}.bleu", title=f"{title} BLEU"),
            mean_column(f"{name}.rouge1.recall", f"{title} R1 rec", "higher"),
            mean_column(f"{name}.rouge2.recall", f"{title} R2 rec", "higher"),
            mean_column(f"{name}.rougeL.f1", f"{title} RL F1", "higher"),
        )
        if self.by_rules or not self.pack.key_facts:
            return columns
        return (
            *columns,
            mean_column("key_facts.rougeL.f1", "key facts RL F1", "higher"),
            Column("key_facts.missed", "key facts missed", "lower", 1, sum_column, "pairs"),
            Column("key_facts.invented", "key facts invented", "lower", 1, sum_column, "pairs"),
            Column("key_facts.neither", "no key fact", "neither", 1, sum_column, "pairs"),
        )

    def measure(self, case: Case) -> Sequence[float]:
        """BLEU's counts, and means over the references."""
        labelled = self.labelled(case)
        pairs = [self._scorer.score(labelled.found, wanted) for wanted in labelled.wanted]
        numbers = self._scorer.count(labelled.found, labelled.wanted)
        told = ([one for one in each if one is not None] for each in zip(*pairs, strict=True))
        numbers += [n for each in told for n in mean_of(fmean(each) if each else None)]
        if not self.by_rules and self.pack.key_facts:
            numbers += self._facts(labelled)
        return numbers

    def reads(self, script: str) -> bool:
        """Whether the rules are made for texts of a script."""
        return script == "latin" or (script == "cjk" and self.pack.language == "zh")

    def labelled(self, case: Case) -> Labelled:
        """What output and references are about."""
        own = None if self.by_rules else case.key_points
        section = "" if case.dialogue is None else section_of(case.dialogue)
        return Labelled(
            found=find_labels(self.pack, case.prediction, section) if own is None else own,
            wanted=tuple(self._wanted(text, section) for text in case.references),
        )

    def _facts(self, labelled: Labelled) -> list[float]:
        """Where neither side has a fact there is nothing to get right: no score."""
        found = self._only_facts(labelled.found)
        several = [self._only_facts(wanted) for wanted in labelled.wanted]
        each = [self._scorer.score(found, wanted).rougeL for wanted in several]
        scores = [score for score in each if score is not None]
        having = [(bool(found), bool(wanted)) for wanted in several]
        kinds = ((False, True), (True, False), (False, False))
        mean = fmean(scores) if scores else None
        return [*mean_of(mean), *(float(having.count(kind)) for kind in kinds)]

    def _only_facts(self, labels: Labels) -> Labels:
        return tuple(label for label in labels if label in self.pack.key_facts)


def find_labels(pack: RulePack, text: str, section: str) -> Labels:
    """The key points that the rules find in a text; none where nothing is said."""
    if not words_in(text):
        return ()  # "...." is about nothing, not about the default
    return tuple(part.label for part in pack.analyse(text, section))


def labels_of(metrics: Iterable[Metric]) -> Labels | None:
    """The labels of the rule pack by which key points are scored; None without."""
    packs = (metric.pack for metric in metrics if isinstance(metric, KeyPoints))
    return next((pack.labels for pack in packs), None)


def _from_text(pack: str, longest: int, by_rules: bool) -> KeyPoints:
    return KeyPoints(parse_pack(pack), longest, by_rules)


def sum_column(sums: Floats) -> Floats:
    """(R, 1) -> (R,): the sum itself."""
    return sums[:, 0]


ALL_METRICS = "all"
"""The name that stands for every metric that can be measured here."""

DEFAULT_METRICS = ("rouge", "faithfulness", "copying")

_FLAGS = {"bertscore": "encoder", KEY_POINT_METRIC: "pack"}
WITHOUT_REFERENCES = ("faithfulness", "copying", "order", "slots")
"""The metrics that look at output and dialogue alone."""


class ReferencePolicy(StrEnum):
    """What several references of a dialogue come to."""

    average = "average"
    maximum = "maximum"
    concatenated = "concatenated"


@dataclass(frozen=True, slots=True)
class MetricSelection:
    """What is to be measured: see `metrics.metric_registry`, and `KeyPoints` for ``pack``."""

    names: tuple[str, ...] = DEFAULT_METRICS
    references: ReferencePolicy = ReferencePolicy.average
    encoder: Path | None = None
    pack: RulePack | None = None

    def key(self, key: str) -> str:
        """The key of a column of ROUGE (``rouge1.f1``) under the policy for references."""
        if self.references is ReferencePolicy.maximum:
            return key.replace(".", ".max.")
        return f"concatenated.{key}" if self.references is ReferencePolicy.concatenated else key


DEFAULT_SELECTION = MetricSelection()


def split_names(text: str) -> tuple[str, ...]:
    """``a, b`` as its parts."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def metric_names(text: str) -> tuple[str, ...]:
    """``rouge,bleu`` as names.

    Raises:
        UsageError: one is no metric's.
    """
    names = split_names(text)
    known = (*METRICS, KEY_POINT_METRIC, ALL_METRICS)
    for name in names:
        if name.removesuffix(SUFFIX) not in known:
            raise UsageError(
                f"no metric '{name}'{nearest(name, known)}; there are {', '.join(known)}"
            )
    if not names:
        raise UsageError(f"--metrics: name one or more of {', '.join(known)}")
    return names


def select_names(named: str, usual: tuple[str, ...], needs: Mapping[str, bool]) -> tuple[str, ...]:
    """The metrics of ``--metrics``; without it the ``usual`` ones and those that flags are for.

    ``needs``: by metric, whether a flag is given that is for it alone.

    Raises:
        UsageError: one is no metric's name, or a flag is for a metric that is not named.
    """
    wanted = tuple(name for name, given in needs.items() if given)
    if not named:
        return (*usual, *wanted)
    names = metric_names(named)
    bare = {name.removesuffix(SUFFIX) for name in names}
    for name in wanted:
        if ALL_METRICS not in bare and name not in bare:
            raise UsageError(f"--{_FLAGS[name]} is for {name}: name that in --metrics, too")
    return names


def check_columns(keys: Iterable[str], known: Collection[str]) -> None:
    """See that all keys are known.

    Raises:
        UsageError: one is not; names the nearest.
    """
    for key in keys:
        if key not in known:
            inner = [one for one in known if one.startswith(f"{key}.") and one.count(".") == 1]
            usual = f"{key}.f1" if f"{key}.f1" in inner else next(iter(inner), key)
            raise UsageError(f"--columns: no figure '{key}'{nearest(usual, known)}")


def column_keys(metrics: Iterable[Metric]) -> list[str]:
    """The keys of all their columns."""
    return [column.key for metric in metrics for column in metric.columns]


def choose_metrics(
    wanted: MetricSelection, outputs: Sequence[Output]
) -> tuple[list[Metric], list[str]]:
    """The metrics for these outputs, and what was left out of ``all``, and why.

    Raises:
        DialogistError: one that is named cannot be measured here; see `make_metrics`.
    """
    chinese = by_characters(text for output in outputs for text in output.references)
    options = MetricOptions(chinese=chinese, encoder=wanted.encoder)
    metrics: list[Metric] = []
    left: list[str] = []
    for name in _expanded(wanted):
        try:
            metrics += _made(name, wanted, options, outputs)
        except DialogistError as error:
            if ALL_METRICS not in wanted.names:
                raise
            left.append(f"{name} was left out: {error}")
    return metrics, left


def _expanded(wanted: MetricSelection) -> Iterator[str]:
    """Each name once, under the policy for references; key points are of single references."""
    every = (*METRICS, KEY_POINT_METRIC)
    names = [n for name in wanted.names for n in (every if name == ALL_METRICS else (name,))]
    joined = wanted.references is ReferencePolicy.concatenated
    for name in dict.fromkeys(names):
        plain = (
            name in (KEY_POINT_METRIC, *WITHOUT_REFERENCES) or name.endswith(SUFFIX) or not joined
        )
        yield name if plain else f"{name}{SUFFIX}"


def _made(
    name: str, wanted: MetricSelection, options: MetricOptions, outputs: Sequence[Output]
) -> list[Metric]:
    if name != KEY_POINT_METRIC:
        return make_metrics([name], options)
    if wanted.pack is None:
        raise UsageError(f"{KEY_POINT_METRIC} need a rule pack: name one with --pack")
    lengths = (
        len(find_labels(wanted.pack, text, section_of(one.dialogue) if one.dialogue else ""))
        for one in outputs
        for text in one.references
    )
    return [KeyPoints(wanted.pack, max(lengths))]


def by_characters(texts: Iterable[str]) -> bool:
    """Whether most words of some texts are such characters."""
    words = [word for text in texts for word in words_in(text)]
    return 2 * sum(len(word) == 1 and not word.isascii() for word in words) > len(words)
