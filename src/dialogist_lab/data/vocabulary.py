"""Tokenizers: text to ids and back, through the Hugging Face ``tokenizers`` library.

Each kind is a pipeline of that library, saved as ``tokenizer.json``. Control symbols (padding,
unknown, begin, end) can never be produced by a user's text, whatever it spells. Speakers and
entities stand in prepared text as one private-use character each, which has one id.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import tokenizers
from pydantic import Field, model_validator
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

from dialogist.config import Config
from dialogist.errors import ConfigError, ModelError
from dialogist_lab.decoding import Symbols

SPEAKERS = 32
"""How many speakers of one dialogue can have a character of their own."""

MASKED_KINDS = (
    *("TIME", "PHONE", "EMAIL", "URL", "IP", "CARD", "IBAN"),
    *("AMOUNT", "PLATE_NUM", "ORDER", "TRIP", "FLIGHT", "ID"),
)
"""What is told apart. Only ever append: models know a kind by its place."""

ENTITIES_PER_KIND = 16
"""How many entities of one kind a dialogue can have; further ones stay text."""

SPEAKER_CHARACTERS = [chr(0x10F000 + i) for i in range(SPEAKERS)]
ENTITY_CHARACTERS = [chr(0x10F100 + i) for i in range(ENTITIES_PER_KIND * len(MASKED_KINDS))]

KERAS_FILTERS = '!"#$%&()*+,-./:;<=>?@\\^_`{|}~\t\n'
"""Keras' default filters without ``[`` and ``]``, which delimit [SOS] and [EOS]."""

_WORD_CONTROLS = ("[PAD]", "[UNK]", "[SOS]", "[EOS]")
_SUBWORD_CONTROLS = ("<pad>", "<unk>", "<s>", "</s>")
_CONTROL_NAMES = (
    ("<pad>", "[PAD]", "<|pad|>"),
    ("<unk>", "[UNK]", "<|unk|>"),
    ("<s>", "[CLS]", "[SOS]", "<bos>", "<|startoftext|>"),
    ("</s>", "[SEP]", "[EOS]", "<eos>", "<|endoftext|>"),
)


class TokenizerConfig(Config):
    """Options of the tokenizer.

    ``kind``: words as the reports' Keras tokenizer, byte-level pairs (Sennrich et al. 2016) or
    unigram (Kudo 2018), all trained on the training texts; or a ``pretrained`` one. ``size``:
    entries in all; None: any number (``word``). ``min_count``: words that occur less often in the
    training texts are left out (``word``). ``path``: of the ``tokenizer.json`` of a pretrained one.
    """

    kind: Literal["word", "bpe", "unigram", "pretrained"] = "bpe"
    size: int | None = Field(8192, ge=320)
    min_count: int = Field(1, ge=1)
    path: str | None = None

    @model_validator(mode="after")
    def _consistent(self) -> "TokenizerConfig":
        if (self.kind == "pretrained") != (self.path is not None):
            raise ValueError("'path' is needed by the kind 'pretrained', and only there")
        if self.kind in ("bpe", "unigram") and self.size is None:
            raise ValueError(f"'size' must be a number for kind '{self.kind}'")
        if self.min_count > 1 and self.kind != "word":
            raise ValueError(f"'min_count' is for the kind 'word', not '{self.kind}'")
        return self

    def build(
        self, texts: Iterable[str], speakers: bool = False, entities: bool = False
    ) -> "Tokenizer":
        """Train on prepared ``texts``; with characters for speakers (subwords always have them) and
        entities.

        Raises ConfigError: ``size`` has no room for them; ModelError: ``path`` is no usable
        tokenizer.
        """
        added = [*(SPEAKER_CHARACTERS if speakers or self.kind != "word" else ())]
        added += ENTITY_CHARACTERS if entities else []
        if self.kind == "pretrained":
            assert self.path is not None
            pipeline = read_pipeline(Path(self.path))
            pipeline.no_truncation()  # many a tokenizer.json carries its model's limit
            pipeline.no_padding()
        elif self.size is not None and self.size < 288 + len(added):
            raise ConfigError(f"tokenizer.size must be at least {288 + len(added)} here")
        elif self.kind == "word":
            pipeline = _train_words(texts, self.size, self.min_count, added)
        else:
            assert self.size is not None
            pipeline = _train_subwords(self.kind, texts, self.size - len(added), added)
        # Before a normalizer: BERT's would take them out of the text.
        pipeline.add_tokens([tokenizers.AddedToken(c, normalized=False) for c in added])
        return Tokenizer(pipeline)


class Tokenizer:
    """Text to ids and back."""

    def __init__(self, pipeline: tokenizers.Tokenizer) -> None:
        self.pipeline = pipeline
        vocabulary = pipeline.get_vocab()
        controls = [
            next((n for n in names if n in vocabulary), names[0]) for names in _CONTROL_NAMES
        ]
        missing = [name for name in controls if name not in vocabulary]
        pipeline.add_special_tokens([tokenizers.AddedToken(name) for name in missing])
        vocabulary = pipeline.get_vocab()
        pad, unk, bos, eos = (vocabulary[name] for name in controls)
        placeholders = (*SPEAKER_CHARACTERS, *ENTITY_CHARACTERS)
        known = tuple(vocabulary[c] for c in placeholders if c in vocabulary)
        self.symbols = Symbols(pad, unk, bos, eos, len(self), known)
        self._controls = frozenset((pad, bos, eos))
        # A user's text that spells "</s>" is text, not a control symbol.
        pipeline.encode_special_tokens = True

    def __len__(self) -> int:
        """The size of the vocabulary, control symbols and placeholders included."""
        return int(self.pipeline.get_vocab_size())

    def encode(
        self, text: str, unknown: dict[str, int] | None = None, grow: bool = True
    ) -> list[int]:
        """The ids of ``text``, without begin and end symbols.

        ``unknown`` holds ids from V on by word for words that are not in the vocabulary (See et al.
        2017, section 2.2). With ``grow`` new words enter it; otherwise they are the unknown token.
        """
        encoding = self.pipeline.encode(text, add_special_tokens=False)
        # Word and unigram vocabularies match the spelling of control symbols like any word.
        ids = [self.symbols.unk if i in self._controls else int(i) for i in encoding.ids]
        if unknown is None:
            return ids
        for place, index in enumerate(ids):
            if index == self.symbols.unk:
                start, end = encoding.offsets[place]
                if grow:
                    unknown.setdefault(text[start:end], len(self) + len(unknown))
                ids[place] = unknown.get(text[start:end], self.symbols.unk)
        return ids

    def decode(self, ids: Iterable[int], unknown: Sequence[str] = ()) -> str:
        """The text of ``ids`` without control symbols; ``unknown``: the words from V on."""
        kept = [i for i in ids if i not in self._controls]
        if not unknown:
            return str(self.pipeline.decode(kept, skip_special_tokens=False))
        size = len(self)  # only word vocabularies have unknown words: words and spaces
        return " ".join(unknown[i - size] if i >= size else self.token(i) for i in kept)

    def token(self, index: int) -> str:
        """The vocabulary entry of one id, as spelled in the vocabulary."""
        return str(self.pipeline.id_to_token(index))

    @cached_property
    def words(self) -> list[str | None]:
        """For each id the word that it spells or begins, None where it is none."""
        byte_level = isinstance(self.pipeline.decoder, decoders.ByteLevel)
        others = self._controls | {self.symbols.unk, *self.symbols.placeholders}
        entries = [None if i in others else self.token(i) for i in range(len(self))]
        if not byte_level:
            return entries
        starts = [e[1:] if e is not None and e.startswith("Ġ") else "" for e in entries]
        return [decoders.ByteLevel().decode([start]) if start else None for start in starts]

    def save(self, path: Path) -> None:
        self.pipeline.save(str(path))


def read_pipeline(path: Path) -> tokenizers.Tokenizer:
    """Read a ``tokenizer.json``. Raises ModelError: missing, damaged, or no file (a pipe waits)."""
    try:
        if not path.is_file():
            raise FileNotFoundError("there is none")
        return tokenizers.Tokenizer.from_str(path.read_text(encoding="utf-8"))
    except Exception as error:  # the library raises bare Exception for a damaged file
        raise ModelError(f"{path}: is no usable tokenizer.json: {error}") from None


def _train_words(
    texts: Iterable[str], size: int | None, min_count: int, added: Sequence[str]
) -> tokenizers.Tokenizer:
    """Words numbered as Keras' ``Tokenizer`` does, with square brackets kept.

    By falling frequency (ties: first seen first), id 0 is padding, id 1 the out-of-vocabulary
    token; every filter character becomes a space; each text counts one [SOS] and one [EOS], which
    the reports put around every text before fitting (report 1, section III; report 3, section 2.1).
    """
    pad, unk, bos, eos = _WORD_CONTROLS
    to_spaces = str.maketrans(dict.fromkeys((*KERAS_FILTERS, *added), " "))
    counts: Counter[str] = Counter()
    for text in texts:
        counts[bos] += 1
        counts.update(word for word in text.translate(to_spaces).split(" ") if word)
        counts[eos] += 1
    often = (item for item in counts.items() if item[1] >= min_count)
    ranked = [word for word, _ in sorted(often, key=lambda item: -item[1])]
    if size is not None:
        words = [word for word in ranked if word not in (bos, eos)]
        rare = set(words[size - len(added) - 4 :])
        ranked = [word for word in ranked if word not in rare]
    vocabulary = {pad: 0, unk: 1}
    for word in (*ranked, bos, eos):  # the two are in, even without texts
        vocabulary.setdefault(word, len(vocabulary))
    pipeline = tokenizers.Tokenizer(models.WordLevel(vocabulary, unk_token=unk))
    pipeline.normalizer = normalizers.Sequence(
        [normalizers.Replace(character, " ") for character in KERAS_FILTERS]
    )
    pipeline.pre_tokenizer = pre_tokenizers.Split(" ", behavior="removed")
    return pipeline


def _train_subwords(
    kind: Literal["bpe", "unigram"], texts: Iterable[str], size: int, added: Sequence[str]
) -> tokenizers.Tokenizer:
    """Byte-level pieces: every text of every script comes back exactly."""
    pipeline = tokenizers.Tokenizer(models.BPE() if kind == "bpe" else models.Unigram())
    pipeline.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    pipeline.decoder = decoders.ByteLevel()
    unknown: dict[str, Any] = {} if kind == "bpe" else {"unk_token": _SUBWORD_CONTROLS[1]}
    trainer = (trainers.BpeTrainer if kind == "bpe" else trainers.UnigramTrainer)(
        vocab_size=size,
        special_tokens=list(_SUBWORD_CONTROLS),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
        **unknown,
    )
    # Training sees the pieces between placeholders, just as encoding will split them.
    at_placeholders = re.compile(f"[{''.join(added)}]")
    pieces = (piece for text in texts for piece in at_placeholders.split(text) if piece)
    pipeline.train_from_iterator(_seeded(pieces) if kind == "unigram" else pieces, trainer)
    if kind == "unigram":
        pipeline.model = _settled(pipeline)
    return pipeline


_LETTERS = re.compile(r" ?[^\W\d_]+")
_MARK = "\u07ca"  # a letter whose first byte, 0xDF, stands in hardly any script but N'Ko
_LEAD = str(pre_tokenizers.ByteLevel(False, False).pre_tokenize_str(_MARK)[0][0])[0]


def _seeded(pieces: Iterable[str]) -> Iterator[str]:
    """The pieces, then once more each word that occurs twice, with a letter that none ends with.

    The trainer's candidates are what stands in two different words at least, however often one of
    them occurs: "told", which is part of no other word, would become "tol" and "d".
    """
    words: Counter[str] = Counter()
    for piece in pieces:
        words.update(_LETTERS.findall(piece))
        yield piece
    yield from (word + _MARK for word, count in words.items() if count > 1)


def _settled(pipeline: tokenizers.Tokenizer) -> models.Unigram:
    """The trained model in an order that another training repeats.

    The trainer appends the bytes that won no score in random order, each 1e-4 below the last, and
    adds up scores in random order (their last digits differ): both would change ids.
    """
    trained = [
        (piece, score)
        for piece, score in json.loads(pipeline.to_str())["model"]["vocab"]
        if len(piece) == 1 or _LEAD not in piece  # see `_seeded`
    ]
    controls = len(_SUBWORD_CONTROLS)
    scores = {piece: round(score or 0.0, 9) for piece, score in trained[controls:]}
    never = scores["\u00ff"]  # ByteLevel's spelling of 0xFF, which UTF-8 does not have

    def appended(piece: str) -> bool:
        steps = (scores[piece] - never) / 1e-4
        return len(piece) == 1 and abs(steps) <= 256 and abs(steps - round(steps)) < 1e-3

    without_score = sorted(filter(appended, scores), key=lambda piece: -scores[piece])
    values = [scores[piece] for piece in without_score]
    scores |= dict(zip(sorted(without_score), values, strict=True))
    ranked = sorted(scores.items(), key=lambda item: (-item[1], item[0]))
    return models.Unigram([*map(tuple, trained[:controls]), *ranked], 1, False)
