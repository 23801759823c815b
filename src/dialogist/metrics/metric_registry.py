"""All metrics by name, and how to make them."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from dialogist.errors import UsageError, nearest
from dialogist.metrics.base import SUFFIX, Metric, concatenate
from dialogist.metrics.bleu import Bleu, Chrf
from dialogist.metrics.cloze_probes import ClozeProbes
from dialogist.metrics.copying import Copying, EventOrder
from dialogist.metrics.faithfulness import Faithfulness
from dialogist.metrics.rouge import PyRouge, Rouge, RougeS
from dialogist.metrics.slots import Slots


@dataclass(frozen=True, slots=True)
class MetricOptions:
    """What metrics want to know; each takes what concerns it.

    ``stemmer``: of ``rouge`` and ``rouge-s``. ``chinese``: ``bleu`` counts characters of Chinese.
    ``encoder``: the folder that ``bertscore`` needs.
    """

    stemmer: bool = True
    chinese: bool = False
    encoder: Path | None = None


Maker: TypeAlias = Callable[[MetricOptions], Metric]


def _bertscore(options: MetricOptions) -> Metric:
    if options.encoder is None:
        raise UsageError(
            "bertscore needs an encoder: name a folder with config.json, tokenizer.json and "
            "model.safetensors (such as a copy of roberta-large)"
        )
    # Scoring by all other metrics must not load torch.
    from dialogist.metrics.bertscore import BertScore

    return BertScore(options.encoder)


def _meteor(options: MetricOptions) -> Metric:
    # NLTK brings SciPy, which takes a second: not where another metric is wanted.
    from dialogist.metrics.meteor import Meteor

    return Meteor()


METRICS: Mapping[str, Maker] = {
    "rouge": lambda options: Rouge(options.stemmer),
    "rouge-s": lambda options: RougeS(stemmer=options.stemmer),
    "py-rouge": lambda options: PyRouge(),
    "bleu": lambda options: Bleu("zh" if options.chinese else "13a"),
    "chrf": lambda options: Chrf(),
    "meteor": _meteor,
    "bertscore": _bertscore,
    "probes": lambda options: ClozeProbes(),
    # Of the output and its dialogue, not of references.
    "faithfulness": lambda options: Faithfulness(),
    "copying": lambda options: Copying(),
    "order": lambda options: EventOrder(),
    "slots": lambda options: Slots(),
}


def make_metrics(names: Iterable[str], options: MetricOptions | None = None) -> list[Metric]:
    """The metrics of these names, each once, in their order.

    Raises:
        UsageError: there is no metric of such a name, or an option is missing or wrong.
        MissingExtraError: a metric's package is not installed.
        DataError: a metric's data is not on this machine (WordNet).
        ModelError: the encoder's folder cannot be read.
    """
    return [_make(name, options or MetricOptions()) for name in dict.fromkeys(names)]


def _make(name: str, options: MetricOptions) -> Metric:
    base = name.removesuffix(SUFFIX)
    if base not in METRICS:
        raise UsageError(
            f"no metric '{name}'{nearest(base, METRICS)}; there are {', '.join(METRICS)}, and each "
            f"with {SUFFIX} behind it"
        )
    metric = METRICS[base](options)
    return metric if base == name else concatenate(metric)
