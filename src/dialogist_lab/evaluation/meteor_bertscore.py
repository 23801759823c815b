"""METEOR by NLTK, and BERTScore by ``bert-score`` with an encoder of any local folder."""

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
from dialogist.files import sha256_of
from dialogist.language.tokens import split_sentences
from dialogist_lab.evaluation.metric import Case, Metric, MetricColumn, mean_of, triple_columns


class Meteor(Metric):
    """METEOR (Lavie and Agarwal 2007) of English, with WordNet's synonyms; mean over references.

    Raises:
        DataError: there is no WordNet, or it is damaged.
    """

    name = "meteor"
    signature = (
        f"METEOR, NLTK {nltk.__version__} | WordNet | alpha 0.9 beta 3 gamma 0.5 | mean over "
        "references | x 100"
    )
    columns = (MetricColumn("meteor", "METEOR"),)
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
        words = self._words(case.prediction)
        how = (str.lower, self._stemmer, self._wordnet)
        scores = [single_meteor_score(self._words(r), words, *how) for r in case.references]
        return mean_of(100 * fmean(scores))

    def _words(self, text: str) -> list[str]:
        return [word for part in split_sentences(text) for word in self._tokenize(part)]


class BertScore(Metric):
    """BERTScore (Zhang et al. 2020) by the encoder in a folder, not rescaled.

    So a figure says little alone: with roberta-large unrelated texts have an F1 of 83. Where
    bert-score knows the best layer of an encoder by the folder's name, it is taken, else the last.

    Raises:
        ModelError: the folder holds no encoder that can be read.
    """

    name = "bertscore"
    columns = triple_columns("bertscore", "BERTScore")

    def __init__(self, folder: Path) -> None:
        from bert_score import BERTScorer
        from bert_score.utils import model2layers
        from transformers import AutoConfig, logging

        weights = sorted(folder.glob("*.safetensors"))
        if not weights or not (folder / "config.json").is_file():
            raise ModelError(
                f"{folder}: no encoder here; BERTScore needs a folder with config.json, "
                "tokenizer.json and model.safetensors (such as a copy of roberta-large)"
            )
        logging.set_verbosity_error()
        logging.disable_progress_bar()
        name = folder.resolve().name
        try:
            config = AutoConfig.from_pretrained(folder, local_files_only=True)
            layer = model2layers.get(name, config.num_hidden_layers)
            self._scorer = BERTScorer(model_type=str(folder), num_layers=layer)
        except Exception as error:  # whatever a broken folder makes of it
            reason = (str(error) or repr(error)).splitlines()[0]
            raise ModelError(f"{folder}: the encoder cannot be read: {reason}") from None
        # transformers 5 says 10 ** 30 where a tokenizer knows no limit, which overflows there.
        places = getattr(config, "max_position_embeddings", 100_000)
        if "roberta" in config.model_type:
            places -= config.pad_token_id + 1  # it counts its places from there
        tokenizer = self._scorer._tokenizer
        tokenizer.model_max_length = min(tokenizer.model_max_length, places)
        self.signature = (
            f"BERTScore | {name} sha256:{sha256_of(weights[0])[:12]} | layer {layer} | no idf | "
            "mean over references | x 100"
        )

    def measure(self, case: Case) -> Sequence[float]:
        return self.measure_all([case])[0]

    def measure_all(self, cases: Sequence[Case]) -> list[Sequence[float]]:
        """Precision, recall and F1, means over the references; 0 of and beside empty texts."""
        pairs = [(case.prediction, text) for case in cases for text in case.references]
        spoken = [pair for pair in pairs if all(text.strip() for text in pair)]
        texts, references = zip(*spoken, strict=True) if spoken else ((), ())
        parts = self._scorer.score(list(texts), list(references)) if spoken else ()
        triples = iter(zip(*(part.tolist() for part in parts), strict=True))
        rows: list[Sequence[float]] = []
        for case in cases:
            beside = [
                next(triples) if case.prediction.strip() and text.strip() else (0.0, 0.0, 0.0)
                for text in case.references
            ]
            means = [100 * fmean(values) for values in zip(*beside, strict=True)]
            rows.append([number for mean in means for number in mean_of(mean)])
        return rows
