"""BERTScore (Zhang et al. 2020), and the pretrained encoder that it needs."""

import hashlib
import importlib
import random
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeVar

import torch
from torch import Tensor

from dialogist.errors import ModelError, UsageError, needs_extra
from dialogist.metrics.base import Case, Column, average_and_best, letters, mean_column, mean_of
from dialogist.metrics.ngram_overlap import Triple

# A folder with a pretrained encoder, and the vectors that it gives to the tokens of a text.
#
# The one place with ``transformers`` (the extra ``hf``), and with `lcs` the only one of this
# package with torch. Nothing is downloaded and no code of the folder is run: configuration,
# tokenizer and ``safetensors`` are read.

EncoderPrecision = Literal["float32", "float64"]

_BATCH_TOKENS = 4096  # padding included
_ODD_LIMIT = 1_000_000  # transformers says 10 ** 30 where a tokenizer has no limit

# The layers that the authors of BERTScore found to agree best with people (bert_score,
# model2layers), by kind, layers and width: a folder's name says nothing.
_BEST_LAYERS = {
    ("bert", 12, 768): 9,
    ("bert", 24, 1024): 18,
    ("roberta", 6, 768): 5,
    ("roberta", 12, 768): 10,
    ("roberta", 24, 1024): 17,
    ("distilbert", 6, 768): 5,
    ("xlm-roberta", 12, 768): 9,
    ("xlm-roberta", 24, 1024): 17,
}


@dataclass(frozen=True, slots=True)
class Embedded:
    """A text's tokens without begin and end: ids (S,), and unit vectors (S, D).

    ``cut``: it had more tokens than the encoder reads.
    """

    ids: tuple[int, ...]
    vectors: Tensor
    cut: bool


@dataclass(frozen=True, slots=True)
class _Encoded:
    """A text as the encoder takes it; ``special`` is 1 at begin and end."""

    ids: tuple[int, ...]
    special: tuple[int, ...]
    cut: bool

    @property
    def kept(self) -> list[int]:
        return [i for i, special in enumerate(self.special) if not special]

    @property
    def tokens(self) -> tuple[int, ...]:
        return tuple(self.ids[i] for i in self.kept)


class PretrainedEncoder:
    """An encoder of a folder; its weights are loaded when they are first needed.

    ``layer``: whose output is taken, from 1; None: the one that the authors of BERTScore name for
    an encoder of this shape, or the last. ``precision``: in which weights and vectors are held.

    Raises:
        MissingExtraError: transformers is not installed.
        ModelError: the folder holds no encoder that can be read.
        UsageError: it has no such layer.
    """

    def __init__(
        self, folder: Path, layer: int | None = None, precision: EncoderPrecision = "float32"
    ) -> None:
        self.folder = Path(folder)
        self.precision = precision
        self._weights = sorted(self.folder.glob("*.safetensors"))
        if not self._weights or not (self.folder / "config.json").is_file():
            raise ModelError(
                f"{self.folder}: no encoder here; BERTScore needs a folder with config.json, "
                "tokenizer.json and model.safetensors"
            )
        config = self._read(_transformers().AutoConfig)
        self.kind = str(config.model_type)
        self.layers = int(getattr(config, "num_hidden_layers", 0))
        self.width = int(getattr(config, "hidden_size", 0))
        if not self.layers or not self.width:
            raise ModelError(f"{self.folder}: a {self.kind} is no encoder of texts")
        best = _BEST_LAYERS.get((self.kind, self.layers, self.width), self.layers)
        self.layer = best if layer is None else layer
        if not 1 <= self.layer <= self.layers:
            raise UsageError(f"{self.folder}: no layer {layer}; its layers are 1 to {self.layers}")

    def __reduce__(self) -> tuple[type["PretrainedEncoder"], tuple[Path, int, EncoderPrecision]]:
        return type(self), (self.folder, self.layer, self.precision)

    @cached_property
    def name(self) -> str:
        """The folder's own name, and a sum of its weights: two encoders are never taken for one."""
        digest = hashlib.sha256()
        for path in self._weights:
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
        shape = f"{self.kind} {self.layers} x {self.width}"
        return f"{self.folder.resolve().name} ({shape}) sha256:{digest.hexdigest()[:12]}"

    def embed(self, texts: Sequence[str]) -> Iterator[tuple[int, Embedded]]:
        """The vectors of every text, with its number, in whatever order is quick.

        Texts of like lengths share a batch, so that little is padding. A text without a token has
        no vectors (0, D).
        """
        encoded = self._encode(texts)
        for rows in _batches([len(one.ids) for one in encoded]):
            vectors = self._vectors([encoded[i].ids for i in rows])
            for i, row in zip(rows, vectors, strict=True):
                one = encoded[i]
                yield i, Embedded(one.tokens, row[one.kept], one.cut)

    def vocabulary(self) -> Iterator[str]:
        """What its tokens stand for, as text."""
        decoder = self._tokenizer.backend_tokenizer.decoder
        for token in self._tokenizer.get_vocab():
            yield decoder.decode([token]) if decoder else token

    def _encode(self, texts: Sequence[str]) -> list[_Encoded]:
        if not texts:
            return []
        # A lone half of a surrogate pair is no text to a tokenizer.
        clean = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
        found = self._tokenizer(
            clean, truncation=True, max_length=self._limit, return_special_tokens_mask=True
        )
        return [
            _Encoded(tuple(one.ids), tuple(one.special_tokens_mask), bool(one.overflowing))
            for one in found.encodings or ()
        ]

    @torch.inference_mode()
    def _vectors(self, rows: Sequence[Sequence[int]]) -> Tensor:
        """(B, S, D) of unit length; places of padding hold anything."""
        longest = max(map(len, rows))
        ids = torch.tensor([[*row, *[self._padding] * (longest - len(row))] for row in rows])
        mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows])
        found = self._model(input_ids=ids, attention_mask=mask, output_hidden_states=True)
        vectors: Tensor = found.hidden_states[self.layer]
        vectors = vectors / vectors.norm(dim=-1, keepdim=True)
        if not vectors[mask.bool()].isfinite().all():
            raise ModelError(f"{self.folder}: the encoder's vectors are not finite numbers")
        return vectors

    @cached_property
    def _tokenizer(self) -> Any:
        found = self._read(_transformers().AutoTokenizer)
        if not getattr(found, "is_fast", False):
            raise ModelError(f"{self.folder}: no tokenizer.json; BERTScore needs one")
        return found

    @cached_property
    def _padding(self) -> int:
        return int(self._tokenizer.pad_token_id or 0)

    @cached_property
    def _model(self) -> Any:
        dtype = getattr(torch, self.precision)
        model = self._read(_transformers().AutoModel, use_safetensors=True, dtype=dtype)
        if model.config.is_encoder_decoder:
            model = model.get_encoder()
        return model.eval()

    @cached_property
    def _limit(self) -> int:
        """How many tokens it reads, begin and end included."""
        config = self._model.config
        places = int(getattr(config, "max_position_embeddings", _ODD_LIMIT))
        if "roberta" in self.kind:
            places -= int(config.pad_token_id) + 1  # it counts its places from there
        return min(places, int(self._tokenizer.model_max_length), _ODD_LIMIT)

    def _read(self, what: Any, **settings: Any) -> Any:
        try:
            return what.from_pretrained(str(self.folder), local_files_only=True, **settings)
        except Exception as error:  # whatever a broken folder makes of it
            first = (str(error) or repr(error)).splitlines()[0]
            raise ModelError(f"{self.folder}: the encoder cannot be read: {first}") from None


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Positions of texts, longest first, as many as have room in a batch."""
    batch: list[int] = []
    for i in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        if batch and (len(batch) + 1) * lengths[batch[0]] > _BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch


def greedy_similarity(text: Embedded, reference: Embedded) -> tuple[float, float, float]:
    """Precision, recall and F1, 0-1, by the most similar token of the other side each.

    A similarity below 0 counts as 0, as in bert_score, where padding has 0. 0 where either side has
    no token.
    """
    if not text.ids or not reference.ids:
        return 0.0, 0.0, 0.0
    similar = (text.vectors @ reference.vectors.T).clamp(min=0)  # (P, R)
    precision, recall = float(similar.amax(1).mean()), float(similar.amax(0).mean())
    if not precision + recall:
        return precision, recall, 0.0
    return precision, recall, 2 * precision * recall / (precision + recall)


def _transformers() -> Any:
    with needs_extra("BERTScore", "hf"):
        found: Any = importlib.import_module("transformers")
    found.logging.set_verbosity_error()  # it warns of layers that an encoder has not
    found.logging.disable_progress_bar()
    return found


# BERTScore (Zhang et al. 2020): words compared by the vectors of a pretrained encoder.
#
# Every token is matched with the most similar one of the other side; precision is the mean over
# what was said, recall over the reference. The numbers are those of torchmetrics (tested), 0-100.
#
# A raw score says little: with roberta-large unrelated texts have an F1 of 83. So there are
# rescaled figures beside it, (x - b) / (1 - b), b being what unrelated texts have: the published b
# for roberta-large, layer 17; else the mean over random pairs of references of different dialogues.
# Which one stands in the signature, as does the encoder with a sum of its weights: scores of two
# encoders, layers or baselines have nothing to do with each other.

_T = TypeVar("_T")

_PARTS = {"precision": " P", "recall": " R", "f1": " F1"}

_PAIRS = 1000  # of which a baseline is the mean
_SEED = 0
_WINDOW = 256  # outputs whose vectors are held at a time
_KEPT = 32_000_000  # numbers: vectors of references kept for the next system, 128 MB
_READ = 1_000  # tokens of a script from which on a vocabulary knows it


@dataclass(frozen=True, slots=True)
class UnrelatedBaseline:
    """What unrelated texts have: precision, recall, F1, 0-100; and where it comes from."""

    values: Triple
    source: str


_PUBLISHED = {
    # bert_score, rescale_baseline/en/roberta-large.tsv
    ("roberta", 24, 1024, 17): UnrelatedBaseline(
        (83.151, 83.149, 83.123), "published for roberta-large"
    )
}


class BertScore:
    """BERTScore by an encoder; a `Metric` that wants all outputs at once (`measure_all`).

    ``layer``: see `PretrainedEncoder`.

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
            for part, title in _PARTS.items()
        ),
        mean_column("bertscore.cut", "BERTScore: texts cut", "neither"),
    )

    def __init__(
        self,
        folder: Path,
        layer: int | None = None,
        precision: EncoderPrecision = "float32",
    ) -> None:
        self.encoder = PretrainedEncoder(folder, layer, precision)
        shape = (self.encoder.kind, self.encoder.layers, self.encoder.width, self.encoder.layer)
        self.baseline = _PUBLISHED.get(shape)
        self._scripts: Counter[str] | None = None
        self._kept: dict[str, Embedded] = {}
        self._room = _KEPT

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_kept": {}, "_room": _KEPT}

    @property
    def signature(self) -> str:
        """How the figures came about; the baseline is known once `fit` was called."""
        baseline = "none"
        if self.baseline:
            values = "/".join(f"{value:.3f}" for value in self.baseline.values)
            baseline = f"{values} {self.baseline.source}"
        return (
            f"BERTScore | {self.encoder.name} | layer {self.encoder.layer} | "
            f"{self.encoder.precision} | no idf | references: average, best | x 100 | "
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

        The first call settles the baseline for all that follow, from its references: systems are
        scored alike.
        """
        self.fit(cases)
        return self._measured(cases)

    def fit(self, cases: Sequence[Case]) -> None:
        """Settle the baseline from the references of ``cases``, where that was not done yet.

        It depends neither on the order of the cases nor on what systems say.
        """
        if self.baseline is None:
            self.baseline = self._of_random_pairs({case.references for case in cases})

    def _of_random_pairs(self, several: Collection[tuple[str, ...]]) -> UnrelatedBaseline | None:
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
        return UnrelatedBaseline((p, r, f), source)

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
        p, r, f = greedy_similarity(said, reference)
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


def _windows(items: Sequence[_T]) -> Iterator[Sequence[_T]]:
    for begin in range(0, len(items), _WINDOW):
        yield items[begin : begin + _WINDOW]
