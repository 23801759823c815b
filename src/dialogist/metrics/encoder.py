"""A folder with a pretrained encoder, and the vectors that it gives to the tokens of a text.

The one place with ``transformers`` (the extra ``hf``), and with `lcs` the only one of this package
with torch. Nothing is downloaded and no code of the folder is run: configuration, tokenizer and
``safetensors`` are read.
"""

import hashlib
import importlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from dialogist.errors import MissingExtraError, ModelError, UsageError

Precision = Literal["float32", "float64"]

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


class Encoder:
    """An encoder of a folder; its weights are loaded when they are first needed.

    ``layer``: whose output is taken, from 1; None: the one that the authors of BERTScore name for
    an encoder of this shape, or the last. ``precision``: in which weights and vectors are held.

    Raises:
        MissingExtraError: transformers is not installed.
        ModelError: the folder holds no encoder that can be read.
        UsageError: it has no such layer.
    """

    def __init__(
        self, folder: Path, layer: int | None = None, precision: Precision = "float32"
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

    def __reduce__(self) -> tuple[type["Encoder"], tuple[Path, int, Precision]]:
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

    def tokens(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """The ids of every text, without begin and end."""
        return [one.tokens for one in self._encode(texts)]

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


def similarity(
    text: Embedded, reference: Embedded, weight: Callable[[int], float] | None
) -> tuple[float, float, float]:
    """Precision, recall and F1, 0-1, by the most similar token of the other side each.

    ``weight``: of a token, by its id; None: all the same. A similarity below 0 counts as 0, as in
    bert_score, where padding has 0. 0 where either side has no token.
    """
    if not text.ids or not reference.ids:
        return 0.0, 0.0, 0.0
    similar = (text.vectors @ reference.vectors.T).clamp(min=0)  # (P, R)
    precision = _mean(similar.amax(1), text.ids, weight)
    recall = _mean(similar.amax(0), reference.ids, weight)
    if not precision + recall:
        return precision, recall, 0.0
    return precision, recall, 2 * precision * recall / (precision + recall)


def _mean(values: Tensor, ids: Sequence[int], weight: Callable[[int], float] | None) -> float:
    if weight is None:
        return float(values.mean())
    weights = torch.tensor([weight(i) for i in ids], dtype=values.dtype)
    total = float(weights.sum())
    return float((values * weights).sum()) / total if total else 0.0


def _transformers() -> Any:
    try:
        found: Any = importlib.import_module("transformers")
    except ImportError:
        raise MissingExtraError("BERTScore", "hf") from None
    found.logging.set_verbosity_error()  # it warns of layers that an encoder has not
    found.logging.disable_progress_bar()
    return found
