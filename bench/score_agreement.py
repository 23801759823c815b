"""How far our figures are from those of the packages that people know, on real summaries.

python bench/score_agreement.py --data DATA --encoder FOLDER

Of DialogSum dev: lead-3 beside the human summary, and beside it and two others of its neighbours.
The largest difference of any precision, recall or F1 (of BLEU and chrF: of the corpus), 0-100.
`--encoder` names a folder for BERTScore; without it that row is left out. py-rouge is the package
of that name on PyPI, torchmetrics is asked pair by pair (of several, its release 1.9 mixes up which
belong together: issue 2728), in float64 as ours is here.

Below: lead-3 and longest-3 by both protocols.
"""

import argparse
import importlib
import importlib.util
import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from nltk.tokenize import NLTKWordTokenizer
from peers import markdown
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from dialogist.baselines.extractive import lead, longest
from dialogist.formats import ReadOptions, read_dialogues
from dialogist.metrics.base import Case
from dialogist.metrics.metric_registry import MetricOptions, make_metrics
from dialogist.metrics.rouge import ROUGE_TYPES
from dialogist.records import Dialogue
from dialogist.language.tokens import split_sentences

Differences = Iterator[float]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--encoder", type=Path)
    parser.add_argument("--pairs", type=int, default=500)
    flags = parser.parse_args()
    file = flags.data / "dialogsum" / "dev.jsonl"
    dialogues = list(read_dialogues(file, ReadOptions(strict=True), print))[: flags.pairs]
    cases = _cases(dialogues)
    rows = {
        "rouge-score, stemmer": _rouge(cases, stemmer=True),
        "rouge-score, no stemmer": _rouge(cases, stemmer=False),
        "py-rouge": _py_rouge(cases),
        "sacrebleu": _sacrebleu(cases),
    }
    if flags.encoder:
        rows["torchmetrics BERTScore"] = _bertscore(cases[:50], flags.encoder)
    cells = [[name, f"{max(differences):.1e}"] for name, differences in rows.items()]
    print(
        markdown(f"{len(cases)} outputs of DialogSum dev", ["beside", "largest difference"], cells)
    )
    print(_floors(dialogues))


def _cases(dialogues: Sequence[Dialogue]) -> list[Case]:
    texts = [dialogue.references[0] for dialogue in dialogues]
    said = [summary.text for summary in lead(3).summarize(dialogues)]
    one = [Case(text, (reference,)) for text, reference in zip(said, texts, strict=True)]
    several = [Case(text, (texts[i], texts[i - 1], texts[i - 2])) for i, text in enumerate(said)]
    return one + several


def _numbers(name: str, cases: Sequence[Case], options: MetricOptions | None = None) -> np.ndarray:
    (metric,) = make_metrics([name], options)
    return np.array([metric.measure(case) for case in cases], dtype=np.float64)


def _rouge(cases: Sequence[Case], stemmer: bool) -> Differences:
    scorer = RougeScorer(list(ROUGE_TYPES), use_stemmer=stemmer)
    ours = _numbers("rouge", cases, MetricOptions(stemmer=stemmer))[:, ::2]
    for case, row in zip(cases, ours, strict=True):
        theirs = np.array([_google(scorer, text, case.prediction) for text in case.references])
        best = theirs[theirs[:, :, 2].argmax(0), range(len(ROUGE_TYPES))]
        expected = np.concatenate([theirs.mean(0).ravel(), best.ravel()])
        yield float(np.abs(row - 100 * expected).max())


def _google(scorer: RougeScorer, *texts: str) -> list[tuple[float, float, float]]:
    scores = scorer.score(*("\n".join(split_sentences(text)) for text in texts))
    return [tuple(scores[kind]) for kind in ROUGE_TYPES]


def _py_rouge(cases: Sequence[Case]) -> Differences:
    scorer = _their_py_rouge()
    for case, row in zip(cases, _numbers("py-rouge", cases)[:, ::2], strict=True):
        prediction, *references = (" ".join(t.split()) for t in (case.prediction, *case.references))
        scores = scorer.get_scores([prediction], [references])
        kinds = ("rouge-1", "rouge-2", "rouge-l", "rouge-w")
        expected = [100 * scores[kind][part] for kind in kinds for part in "prf"]
        yield float(np.abs(row - expected).max())


def _their_py_rouge() -> Any:
    """With the settings of the DialogSum and SAMSum papers."""
    spec = importlib.util.find_spec("rouge")
    if spec is None or spec.origin is None:
        sys.exit("py-rouge is not installed: pip install py-rouge")
    folder = Path(spec.origin).parent
    resources: Any = ModuleType("pkg_resources")  # which newer releases of setuptools lack
    resources.resource_filename = lambda _, name: str(folder / name)
    sys.modules["pkg_resources"] = resources
    rouge = importlib.import_module("rouge").Rouge
    # NLTK's sentence splitter wants data; the text has no full stop left to split at.
    rouge.tokenize_text = staticmethod(lambda text, *_: NLTKWordTokenizer().tokenize(text))
    return rouge(
        metrics=["rouge-n", "rouge-l", "rouge-w"],
        max_n=4,
        length_limit=100,
        length_limit_type="words",
        alpha=0.5,
        weight_factor=1.2,
    )


def _sacrebleu(cases: Sequence[Case]) -> Differences:
    """Of the cases with one reference, as corpora."""
    single = [case for case in cases if len(case.references) == 1]
    predictions, references = [c.prediction for c in single], [c.references[0] for c in single]
    peers = (("bleu", BLEU(lowercase=True, force=True)), ("chrf", CHRF()))
    for name, peer in peers:
        (metric,) = make_metrics([name])
        sums = _numbers(name, single).sum(0)[None]
        found = metric.columns[0].figure(sums)[0]
        yield abs(float(found) - peer.corpus_score(predictions, [references]).score)


def _bertscore(cases: Sequence[Case], encoder: Path) -> Differences:
    from dialogist.metrics.bertscore import BertScore

    warnings.simplefilter("ignore")
    transformers = importlib.import_module("transformers")
    torch = importlib.import_module("torch")
    theirs = importlib.import_module("torchmetrics.functional.text.bert").bert_score
    model = transformers.AutoModel.from_pretrained(encoder, dtype=torch.float64)
    tokenizer = transformers.AutoTokenizer.from_pretrained(encoder)
    ours = BertScore(encoder, precision="float64")
    for case, numbers in zip(cases, ours.measure_all(cases), strict=True):
        found = theirs(
            [case.prediction],
            [case.references[0]],
            model=model,
            user_tokenizer=tokenizer,
            num_layers=ours.encoder.layer,
        )
        parts = ("precision", "recall", "f1")
        yield max(
            abs(number - 100 * float(found[part]))
            for part, number in zip(parts, numbers[:6:2], strict=True)
        )


def _floors(dialogues: Sequence[Dialogue]) -> str:
    metrics = make_metrics(["rouge", "py-rouge"])
    keys = {f"rouge{kind}.f1" for kind in ("1", "2", "L", "Lsum")}
    keys |= {f"py-rouge.rouge{kind}.f1" for kind in ("1", "2", "L")}
    cells = []
    for system in (lead(3), longest(3)):
        texts = [summary.text for summary in system.summarize(dialogues)]
        pairs = zip(texts, dialogues, strict=True)
        cases = [Case(text, dialogue.references[:1]) for text, dialogue in pairs]
        row = [system.name]
        for metric in metrics:
            sums = np.array([metric.measure(case) for case in cases]).sum(0)[None]
            row += [
                f"{column.figure(sums[:, 2 * i : 2 * i + 2])[0]:.2f}"
                for i, column in enumerate(metric.columns)
                if column.key in keys
            ]
        cells.append(row)
    titles = [c.title for metric in metrics for c in metric.columns if c.key in keys]
    return markdown(f"Floors on {len(dialogues)} dialogues of DialogSum dev", ["", *titles], cells)


if __name__ == "__main__":
    main()
