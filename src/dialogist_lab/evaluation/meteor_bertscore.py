"""METEOR by NLTK, and BERTScore by ``bert-score`` with an encoder of any local folder."""

import hashlib
import random
import warnings
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from statistics import fmean

import nltk
from nltk.corpus.reader.wordnet import WordNetCorpusReader
from nltk.stem.porter import PorterStemmer
from nltk.tokenize import NLTKWordTokenizer
from nltk.translate.meteor_score import single_meteor_score

from dialogist.errors import DataError, ModelError
from dialogist.language.tokens import split_sentences
from dialogist_lab.evaluation.metric import (
    Case,
    Metric,
    MetricColumn,
    mean_and_best,
    mean_of,
    triple_columns,
)


class Meteor(Metric):
    """METEOR (Lavie and Agarwal 2007) of English, with WordNet's synonyms: the mean and the best.

    Raises:
        DataError: there is no WordNet, or it is damaged.
    """

    name = "meteor"
    signature = (
        f"METEOR, NLTK {nltk.__version__} | WordNet | alpha 0.9 beta 3 gamma 0.5 | references: "
        "average, best | x 100"
    )
    columns = (MetricColumn("meteor", "METEOR"), MetricColumn("meteor.max", "METEOR max"))
    only_latin = True

    def __init__(self) -> None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that it knows English alone
                self._wordnet = WordNetCorpusReader(nltk.data.find("corpora/wordnet"), None)
        except LookupError:
            raise DataError(
                "METEOR needs WordNet, which is not on this machine: put NLTK's corpora/wordnet "
                "into a folder that NLTK_DATA names, or leave meteor out"
            ) from None
        except Exception as error:  # whatever a damaged file makes of it
            raise DataError(f"METEOR: WordNet cannot be read: {error!r}") from None
        self._wordnet.synsets = lru_cache(100_000)(self._wordnet.synsets)
        self._stemmer = PorterStemmer()
        self._tokenize = NLTKWordTokenizer().tokenize

    def measure(self, case: Case) -> Sequence[float]:
        """The numbers of `columns`."""
        words = self._words(case.prediction)
        how = (str.lower, self._stemmer, self._wordnet)
        scores = [single_meteor_score(self._words(r), words, *how) for r in case.references]
        return (*mean_of(100 * fmean(scores)), *mean_of(100 * max(scores)))

    def _words(self, text: str) -> list[str]:
        return [word for part in split_sentences(text) for word in self._tokenize(part)]


_BEST_LAYERS = {
    ("roberta", 24, 1024): "roberta-large",
    ("roberta", 12, 768): "roberta-base",
    ("bert", 24, 1024): "bert-large-uncased",
    ("bert", 12, 768): "bert-base-uncased",
    ("distilbert", 6, 768): "distilbert-base-uncased",
    ("xlm-roberta", 24, 1024): "xlm-roberta-large",
    ("xlm-roberta", 12, 768): "xlm-roberta-base",
}
"""Kind, layers and width of an encoder whose best layer bert-score knows under that name."""

_ROBERTA_LARGE = (83.151, 83.149, 83.123)
"""P, R, F1 of unrelated texts: bert_score, rescale_baseline/en/roberta-large.tsv, layer 17."""

_PAIRS = 1000


class BertScore(Metric):
    """BERTScore (Zhang et al. 2020), raw and rescaled, by the encoder in a folder.

    A raw score says little: with roberta-large unrelated texts have an F1 of 83. Rescaled, they
    have 0: by the published figures for roberta-large, else by 1,000 random pairs of references of
    different dialogues, drawn from the first outputs that are measured.

    Raises:
        ModelError: the folder holds no encoder that can be read.
    """

    name = "bertscore"
    columns = (
        *triple_columns("bertscore", "BERTScore"),
        *triple_columns("bertscore.max", "BERTScore max"),
        *triple_columns("bertscore.rescaled", "BERTScore rescaled"),
        *triple_columns("bertscore.rescaled.max", "BERTScore rescaled max"),
    )

    def __init__(self, folder: Path) -> None:
        weights = sorted(folder.glob("*.safetensors"))
        if not weights or not (folder / "config.json").is_file():
            raise ModelError(
                f"{folder}: no encoder here; BERTScore needs a folder with config.json, "
                "tokenizer.json and model.safetensors (such as a copy of roberta-large)"
            )
        try:
            self._load(folder)
        except Exception as error:  # whatever a broken folder makes of it
            reason = (str(error) or repr(error)).splitlines()[0]
            raise ModelError(f"{folder}: the encoder cannot be read: {reason}") from None
        digest = hashlib.sha256()
        for path in weights:
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
        self.signature = (
            f"BERTScore | {folder.resolve().name} sha256:{digest.hexdigest()[:12]} | layer "
            f"{self._layer} | no idf | references: average, best | x 100"
        )

    def _load(self, folder: Path) -> None:
        from bert_score import BERTScorer
        from bert_score.utils import model2layers
        from transformers import AutoConfig, logging

        logging.set_verbosity_error()
        logging.disable_progress_bar()
        config = AutoConfig.from_pretrained(folder, local_files_only=True)
        shape = (config.model_type, config.num_hidden_layers, config.hidden_size)
        name = _BEST_LAYERS.get(shape, "")
        self._layer: int = model2layers.get(name, config.num_hidden_layers)
        self._unrelated: Sequence[float] | None = (
            _ROBERTA_LARGE if name == "roberta-large" else None
        )
        self._scorer = BERTScorer(model_type=str(folder), num_layers=self._layer)
        # transformers 5 says 10 ** 30 where a tokenizer knows no limit, which overflows there.
        places = getattr(config, "max_position_embeddings", 100_000)
        if "roberta" in config.model_type:
            places -= config.pad_token_id + 1  # it counts its places from there
        tokenizer = self._scorer._tokenizer
        tokenizer.model_max_length = min(tokenizer.model_max_length, places)

    def measure(self, case: Case) -> Sequence[float]:
        """The numbers of one output."""
        return self.measure_all([case])[0]

    def measure_all(self, cases: Sequence[Case]) -> list[Sequence[float]]:
        """The numbers of all outputs, in their order."""
        if self._unrelated is None:
            self._unrelated = self._of_random_pairs(sorted({case.references for case in cases}))
        pairs = [(case.prediction, text) for case in cases for text in case.references]
        triples = iter(self._triples(pairs))
        rows: list[Sequence[float]] = []
        for case in cases:
            raw = [next(triples) for _ in case.references]
            numbers = mean_and_best(raw)
            if self._unrelated is None:
                rows.append([*numbers, *[0.0] * len(numbers)])
                continue
            rescaled = [
                [100 * (v - u) / (100 - u) for v, u in zip(triple, self._unrelated, strict=True)]
                for triple in raw
            ]
            rows.append([*numbers, *mean_and_best(rescaled)])
        return rows

    def _of_random_pairs(self, groups: Sequence[tuple[str, ...]]) -> tuple[float, ...] | None:
        if len(groups) < 2:
            return None
        draw = random.Random(0)
        couples = [draw.sample(groups, 2) for _ in range(_PAIRS)]
        pairs = [(draw.choice(first), draw.choice(second)) for first, second in couples]
        return tuple(fmean(values) for values in zip(*self._triples(pairs), strict=True))

    def _triples(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[float, ...]]:
        """Precision, recall, F1 (0-100) of each text beside its reference; 0 of empty texts."""
        spoken = [i for i, pair in enumerate(pairs) if all(text.strip() for text in pair)]
        triples: list[tuple[float, ...]] = [(0.0, 0.0, 0.0)] * len(pairs)
        if spoken:
            texts, references = zip(*(pairs[i] for i in spoken), strict=True)
            parts = self._scorer.score(list(texts), list(references))
            for i, triple in zip(
                spoken, zip(*(p.tolist() for p in parts), strict=True), strict=True
            ):
                triples[i] = tuple(100 * value for value in triple)
        return triples
