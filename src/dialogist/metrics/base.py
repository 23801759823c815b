"""What a metric is, which scripts it reads, and how several references come to one figure."""

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate
from typing import Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dialogist.metrics.ngram_overlap import Triple
from dialogist.records import Dialogue

# What a metric is: it turns each output into a few numbers that can be added up.
#
# A figure of a corpus is a function of their sum, so means, ratios of sums and BLEU alike can be
# resampled, which confidence intervals and tests of a difference need (`evaluation.significance`).

Floats: TypeAlias = NDArray[np.float64]

Better: TypeAlias = Literal["higher", "lower", "neither"]
"""Which way is better; ``neither`` where a human's value is (length, novelty)."""


@dataclass(frozen=True, slots=True)
class Case:
    """One output to be measured: what a system said about a dialogue.

    ``references`` are those that say something, one or more. ``dialogue`` is None where only
    outputs and references are known. ``key_points`` are the labels that the system itself wrote by,
    None where it has none.
    """

    prediction: str
    references: tuple[str, ...]
    dialogue: Dialogue | None = None
    key_points: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """One figure: its name and how it is made of the sums.

    ``key`` is stable and unique (``rouge1.f1``); ``title`` is for people (``R1``). ``width``: how
    many numbers an output has for it. ``figure``: (R, width) sums -> (R,) figures, NaN where there
    is nothing to measure. ``unit``: ``%`` of 0-100, or what is counted.
    """

    key: str
    title: str
    better: Better
    width: int
    figure: Callable[[Floats], Floats]
    unit: str = "%"


class Metric(Protocol):
    """Measures outputs one by one; picklable, for several processes share the work."""

    @property
    def name(self) -> str:
        """Short and unique: ``rouge``."""

    @property
    def signature(self) -> str:
        """How the figures came about, to the version."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """What it measures."""

    def measure(self, case: Case) -> Sequence[float]:
        """The numbers of one output: those of the first column, then those of the second ..."""


def mean_column(key: str, title: str, better: Better, unit: str = "%") -> Column:
    """The mean over the outputs that have a value: each has the numbers of `mean_of`."""
    return Column(key, title, better, 2, ratio, unit)


def mean_of(value: float | None) -> tuple[float, float]:
    """The numbers of a `mean_column`; None is left out of the mean."""
    return (0.0, 0.0) if value is None else (value, 1.0)


def ratio(sums: Floats) -> Floats:
    """(R, 2) -> (R,): the first by the second, NaN where that is 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Floats = np.where(sums[:, 1] != 0, sums[:, 0] / sums[:, 1], np.nan)
    return found


def percentage(sums: Floats) -> Floats:
    """(R, 2) -> (R,): `ratio` x 100, for counts."""
    return 100 * ratio(sums)


# Scripts of writing, and the letters that a metric's tokenizer makes nothing of.
#
# A tokenizer that knows ASCII letters alone finds no word in Chinese, one that splits at white
# space finds one word in a sentence of it: figures are then 0, or say nothing. A metric that does
# not read every script has a method ``reads(script)``.
#
# Scripts are named as Unicode names characters, in small letters: ``latin``, ``cjk``, ``hiragana``,
# ``katakana``, ``hangul``, ``cyrillic``, ``greek``, ``arabic``, ``hebrew``, ``thai`` ...

UNSPACED = frozenset({"cjk", "hiragana", "katakana", "thai", "lao", "khmer", "myanmar"})
"""Scripts that put no space between words."""

# What the names of some characters begin with instead of their script.
_ALSO = {"fullwidth": "latin", "ideographic": "cjk", "kangxi": "cjk", "halfwidth": "katakana"}


@runtime_checkable
class ScriptReader(Protocol):
    """A metric that says which scripts it reads."""

    def reads(self, script: str) -> bool:
        """Whether it can tell words of that script apart."""


def reads(metric: Metric, script: str) -> bool:
    """Whether a metric can tell words of a script apart; one that does not say so can."""
    return metric.reads(script) if isinstance(metric, ScriptReader) else True


def letters(texts: Iterable[str]) -> Counter[str]:
    """How many letters of each script there are."""
    characters: Counter[str] = Counter()
    for text in texts:
        characters.update(text)
    found: Counter[str] = Counter()
    for character, count in characters.items():
        if character.isalpha():
            found[_script(character)] += count
    return found


def unread(metric: Metric, texts: Iterable[str]) -> dict[str, float]:
    """The share of all letters, by script, that a metric cannot read: ``{"cjk": 0.97}``."""
    found = letters(texts)
    total = found.total()
    return {
        script: count / total for script, count in found.most_common() if not reads(metric, script)
    }


@lru_cache(10_000)
def _script(character: str) -> str:
    first = unicodedata.name(character, "unknown").split()[0].lower()
    return _ALSO.get(first, first)


# What several references of one dialogue come to: average, best, or one text of all.
#
# The reports that this project began with join the three DialogSum references of a test dialogue
# into one text and score against that (report 1, section III: "reference summaries in the test
# split are concatenated into a single string"). Such a text is three times as long as any summary:
# recall falls, and figures cannot be put beside others. `Concatenated` reproduces it for any
# metric.
#
# Treating each reference as an example of its own is no policy of its own here: where every
# dialogue has as many references, it is the average.

SUFFIX = "-concatenated"
"""What the name of a `Concatenated` metric ends with."""

BEST = ".max."
"""What the key of a column has in it that is of the best reference: ``rouge1.max.f1``."""


def average_and_best(found: Sequence[Triple]) -> tuple[Triple, Triple]:
    """From precision, recall and F1 beside each reference: their means, and the best one by F1.

    Raises:
        ValueError: there is no reference.
    """
    if not found:
        raise ValueError("a metric needs at least one reference")
    if len(found) == 1:
        return found[0], found[0]
    p, r, f = (sum(values) / len(found) for values in zip(*found, strict=True))
    return (p, r, f), max(found, key=lambda one: one[2])


def concatenated(case: Case) -> Case:
    """The same with its references as one text, in their order."""
    return replace(case, references=(" ".join(case.references),))


@runtime_checkable
class BatchMetric(Metric, Protocol):
    """A metric that wants to see all outputs at once, to be quick or to know the corpus."""

    def measure_all(self, cases: Sequence[Case]) -> Iterator[Sequence[float]]:
        """The numbers of every output, in their order."""


class Concatenated:
    """A metric's figures beside all references as one text; itself a metric.

    Its columns are those of the metric that are not of a best reference, under keys that begin
    with ``concatenated.``.
    """

    def __init__(self, metric: Metric) -> None:
        self._metric = metric

    @property
    def name(self) -> str:
        """The metric's name and what is done to references."""
        return f"{self._metric.name}{SUFFIX}"

    @property
    def signature(self) -> str:
        """How the figures came about."""
        return f"references concatenated into one | {self._metric.signature}"

    @property
    def columns(self) -> tuple[Column, ...]:
        """What it measures."""
        return tuple(
            replace(c, key=f"concatenated.{c.key}", title=f"{c.title} (concat.)")
            for c in self._metric.columns
            if BEST not in c.key
        )

    def reads(self, script: str) -> bool:
        """Whether the metric can tell words of a script apart."""
        return reads(self._metric, script)

    def measure(self, case: Case) -> Sequence[float]:
        """The numbers of `columns`."""
        return self._kept(self._metric.measure(concatenated(case)))

    def _kept(self, numbers: Sequence[float]) -> list[float]:
        columns = self._metric.columns
        ends = accumulate(column.width for column in columns)
        return [
            number
            for column, end in zip(columns, ends, strict=True)
            if BEST not in column.key
            for number in numbers[end - column.width : end]
        ]


class ConcatenatedBatch(Concatenated):
    """The same of a metric that takes many outputs at once."""

    def __init__(self, metric: BatchMetric) -> None:
        super().__init__(metric)
        self._batched = metric

    def measure_all(self, cases: Sequence[Case]) -> Iterator[Sequence[float]]:
        """The numbers of every output, in their order."""
        return map(self._kept, self._batched.measure_all([concatenated(case) for case in cases]))


def concatenate(metric: Metric) -> Metric:
    """The metric beside all references as one text."""
    return ConcatenatedBatch(metric) if isinstance(metric, BatchMetric) else Concatenated(metric)
