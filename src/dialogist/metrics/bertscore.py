"""BERTScore (Zhang et al. 2020): words compared by the vectors of a pretrained encoder.

Every token is matched with the most similar one of the other side; precision is the mean over what
was said, recall over the reference. The numbers are those of torchmetrics (tested), 0-100.

A raw score says little: with roberta-large unrelated texts have an F1 of 83. So there are rescaled
figures beside it, (x - b) / (1 - b), b being what unrelated texts have: the published b for
roberta-large, layer 17; else the mean over random pairs of references of different dialogues. Which
one stands in the signature, as does the encoder with a sum of its weights: scores of two encoders,
layers or baselines have nothing to do with each other.
"""

import math
import random
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from dialogist.metrics.base import Case, Column, mean_column, mean_of
from dialogist.metrics.encoder import Embedded, Encoder, Precision, similarity
from dialogist.metrics.overlap import Triple
from dialogist.metrics.references import average_and_best
from dialogist.metrics.scripts import letters

T = TypeVar("T")

PARTS = {"precision": " P", "recall": " R", "f1": " F1"}

_PAIRS = 1000  # of which a baseline is the mean
_SEED = 0
_WINDOW = 256  # outputs whose vectors are held at a time
_KEPT = 32_000_000  # numbers: vectors of references kept for the next system, 128 MB
_READ = 1_000  # tokens of a script from which on a vocabulary knows it


@dataclass(frozen=True, slots=True)
class Baseline:
    """What unrelated texts have: precision, recall, F1, 0-100; and where it comes from."""

    values: Triple
    source: str


_PUBLISHED = {
    # bert_score, rescale_baseline/en/roberta-large.tsv
    ("roberta", 24, 1024, 17): Baseline((83.151, 83.149, 83.123), "published for roberta-large")
}


class BertScore:
    """BERTScore by an encoder; a `Metric` that wants all outputs at once (`measure_all`).

    ``layer``: see `Encoder`. ``idf``: rare words of the references weigh more.

    Raises:
        MissingExtraError: transformers is not installed.
        ModelError: the folder holds no encoder that can be read.
        UsageError: it has no such layer.
    """

    name = "bertscore"
    columns: tuple[Column, ...] = (
        *(
            mean_column(f"bertscore.{kind}{part}", f"BERTScore{title}{of}", "higher")
            for kind, of in (
                ("", ""),
                ("max.", " max"),
                ("rescaled.", " rescaled"),
                ("rescaled.max.", " rescaled, max"),
            )
            for part, title in PARTS.items()
        ),
        mean_column("bertscore.cut", "BERTScore: texts cut", "neither"),
    )

    def __init__(
        self,
        folder: Path,
        layer: int | None = None,
        idf: bool = False,
        precision: Precision = "float32",
    ) -> None:
        self.encoder = Encoder(folder, layer, precision)
        self.idf = idf
        shape = (self.encoder.kind, self.encoder.layers, self.encoder.width, self.encoder.layer)
        self.baseline = None if idf else _PUBLISHED.get(shape)
        self._idf: Idf | None = None
        self._scripts: Counter[str] | None = None
        self._kept: dict[str, Embedded] = {}
        self._room = _KEPT

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_kept": {}, "_room": _KEPT}

    @property
    def signature(self) -> str:
        """How the figures came about; the baseline is known once `fit` was called."""
        baseline, idf = "none", "no idf"
        if self.baseline:
            values = "/".join(f"{value:.3f}" for value in self.baseline.values)
            baseline = f"{values} {self.baseline.source}"
        if self.idf:
            idf = f"idf over {self._idf.texts if self._idf else 0} references"
        return (
            f"BERTScore | {self.encoder.name} | layer {self.encoder.layer} | "
            f"{self.encoder.precision} | {idf} | references: average, best | x 100 | "
            f"baseline {baseline}"
        )

    def reads(self, script: str) -> bool:
        """Whether its vocabulary has at least a thousand tokens with letters of a script."""
        if self._scripts is None:
            found = (letters([token]) for token in self.encoder.vocabulary())
            self._scripts = Counter(script for one in found for script in one)
        return self._scripts[script] >= _READ

    def measure(self, case: Case) -> Sequence[float]:
        """The numbers of one output; none of the rescaled ones before a baseline is known."""
        return next(self._measured([case]))

    def measure_all(self, cases: Sequence[Case]) -> Iterator[Sequence[float]]:
        """The numbers of every output, in their order, while they are found.

        The first call settles baseline and idf for all that follow, from its references: systems
        are scored alike.
        """
        self.fit(cases)
        return self._measured(cases)

    def fit(self, cases: Sequence[Case]) -> None:
        """Settle baseline and idf from the references of ``cases``, where that was not done yet.

        Neither depends on the order of the cases nor on what systems say.
        """
        if self.idf and self._idf is None:
            texts = [text for case in cases for text in case.references]
            self._idf = Idf.of(self.encoder.tokens(texts))
        if self.baseline is None:
            self.baseline = self._of_random_pairs({case.references for case in cases})

    def _of_random_pairs(self, several: Collection[tuple[str, ...]]) -> Baseline | None:
        """The mean of references of one dialogue beside those of another; None: there is one."""
        groups = sorted(several)
        if len(groups) < 2:
            return None
        draw = random.Random(_SEED)
        couples = [draw.sample(groups, 2) for _ in range(_PAIRS)]
        pairs = [(draw.choice(one), draw.choice(other)) for one, other in couples]
        found: list[Triple] = []
        for window in _windows(pairs):
            read = self._embedded([text for pair in window for text in pair], keep=True)
            found += [self._beside(read[one], read[other]) for one, other in window]
        p, r, f = (sum(values) / len(found) for values in zip(*found, strict=True))
        source = f"of {_PAIRS} random pairs of {len(groups)} dialogues' references, seed {_SEED}"
        return Baseline((p, r, f), source)

    def _measured(self, cases: Sequence[Case]) -> Iterator[Sequence[float]]:
        for window in _windows(cases):
            said = self._embedded([case.prediction for case in window], keep=False)
            wanted = self._embedded([t for case in window for t in case.references], keep=True)
            for case in window:
                references = [wanted[text] for text in case.references]
                yield self._numbers(said[case.prediction], references)

    def _numbers(self, said: Embedded, references: Sequence[Embedded]) -> list[float]:
        average, best = average_and_best([self._beside(said, one) for one in references])
        values: list[float | None] = [*average, *best]
        values += self._rescaled(average)
        values += self._rescaled(best)
        values.append(100.0 * (said.cut or any(one.cut for one in references)))
        return [number for value in values for number in mean_of(value)]

    def _beside(self, said: Embedded, reference: Embedded) -> Triple:
        p, r, f = similarity(said, reference, self._idf)
        return 100 * p, 100 * r, 100 * f

    def _rescaled(self, values: Triple) -> list[float | None]:
        if self.baseline is None:
            return [None] * len(values)
        pairs = zip(values, self.baseline.values, strict=True)
        return [100 * (value - base) / (100 - base) for value, base in pairs]

    def _embedded(self, texts: Sequence[str], keep: bool) -> dict[str, Embedded]:
        """Every text with its vectors; those to ``keep`` are remembered while there is room."""
        wanted = set(texts)
        found = {text: self._kept[text] for text in wanted if text in self._kept}
        new = sorted(wanted - found.keys())
        for i, embedded in self.encoder.embed(new):
            found[new[i]] = embedded
            if keep and self._room > 0:
                self._kept[new[i]] = embedded
                self._room -= embedded.vectors.numel()
        return found


@dataclass(frozen=True, slots=True)
class Idf:
    """How rare tokens are: log((N + 1) / (n + 1)), n of N texts having one."""

    texts: int
    weights: Mapping[int, float]

    @classmethod
    def of(cls, texts: Sequence[Sequence[int]]) -> "Idf":
        """From the ids of texts."""
        counts = Counter(i for ids in texts for i in set(ids))
        weights = {i: math.log((len(texts) + 1) / (n + 1)) for i, n in counts.items()}
        return cls(len(texts), weights)

    def __call__(self, token: int) -> float:
        """The weight of a token."""
        found = self.weights.get(token)
        return math.log(self.texts + 1) if found is None else found


def _windows(items: Sequence[T]) -> Iterator[Sequence[T]]:
    for begin in range(0, len(items), _WINDOW):
        yield items[begin : begin + _WINDOW]
