"""ROUGE-S and ROUGE-SU: pairs of words in their order, with gaps (Lin 2004, section 5).

A pair counts where at most ``distance`` words stand between its two. SU counts single words as
well: as Lin has it, each is a pair with a mark at the beginning of the text. (ROUGE-1.5.5 leaves
the last word out there.) Words are those of `Rouge`. Scores are 0-100.
"""

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from dialogist.errors import UsageError
from dialogist.metrics.base import Case, Column, mean_column
from dialogist.metrics.overlap import Triple, shared, triple
from dialogist.metrics.references import average_and_best
from dialogist.metrics.rouge import PARTS
from dialogist.metrics.rouge_words import RougeWords

_REMEMBERED = 5_000  # references


class RougeS:
    """ROUGE-S and ROUGE-SU of any number of references; a `Metric`.

    Raises:
        UsageError: ``distance`` is negative.
    """

    name = "rouge-s"

    def __init__(self, distance: int = 4, stemmer: bool = True) -> None:
        if distance < 0:
            raise UsageError(f"ROUGE-S: a distance of {distance} words; give 0 or more")
        self.distance = distance
        self._words = RougeWords(stemmer)
        self._reference = lru_cache(_REMEMBERED)(self._read)

    def __reduce__(self) -> tuple[type["RougeS"], tuple[int, bool]]:
        return type(self), (self.distance, self._words.stemmer)

    @property
    def signature(self) -> str:
        """How the figures came about."""
        stemmer = "stemmer" if self._words.stemmer else "no stemmer"
        return (
            f"ROUGE-S and -SU, Lin 2004 | at most {self.distance} words between | {stemmer} | "
            "any-script tokenizer of ROUGE | references: average, best | F1 x 100"
        )

    @property
    def columns(self) -> tuple[Column, ...]:
        """S, then SU; of each the average over references, then the best one."""
        return tuple(
            mean_column(
                f"rouge{kind}.{best}{part}", f"R-{kind}{self.distance}{title}{of}", "higher"
            )
            for kind in ("S", "SU")
            for best, of in (("", ""), ("max.", " max"))
            for part, title in PARTS.items()
        )

    def reads(self, script: str) -> bool:
        """Whether it can tell words of a script apart: of every one."""
        return True

    def measure(self, case: Case) -> Sequence[float]:
        """The numbers of `columns`."""
        read = self._read(case.prediction)
        references = [self._reference(text) for text in case.references]
        return [
            number
            for kind in (0, 1)
            for found in average_and_best([_beside(read[kind], one[kind]) for one in references])
            for value in found
            for number in (value, 1.0)
        ]

    def _read(self, text: str) -> tuple[Counter[tuple[str, ...]], Counter[tuple[str, ...]]]:
        """Pairs; pairs and single words."""
        words = self._words(text)
        pairs: Counter[tuple[str, ...]] = Counter(
            (word, other)
            for i, word in enumerate(words)
            for other in words[i + 1 : i + 2 + self.distance]
        )
        return pairs, pairs + Counter((word,) for word in words)


def _beside(text: Counter[tuple[str, ...]], reference: Counter[tuple[str, ...]]) -> Triple:
    return triple(shared(text, reference), text.total(), reference.total())
