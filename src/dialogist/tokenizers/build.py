"""Tokenizers: which one a recipe asks for; training it, or loading one made elsewhere."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import tokenizers
from pydantic import Field, model_validator
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

from dialogist.config import Config
from dialogist.errors import ConfigError, ModelError, needs_extra
from dialogist.files import located
from dialogist.language.tokens import counted
from dialogist.tokenizers.base import (
    PLACEHOLDERS,
    ControlSymbols,
    Tokenizer,
    placeholder,
    read_pipeline,
)
from dialogist.tokenizers.special_tokens import (
    ANY_ENTITY,
    add_entity_tokens,
    add_plan_tokens,
    entity_placeholders,
    plan_characters,
)
from dialogist.tokenizers.wordpiece_vocabulary import prune_wordpiece

# The word tokenizer of the DialogSum reports: Keras' ``Tokenizer`` with square brackets kept.
#
# Keras numbers words by falling frequency (ties: first seen first), id 0 is padding, id 1 the
# out-of-vocabulary token; every filter character becomes a space; nothing else is split.
# Sources: report 1 section III, report 3 section 2.1; ``keras.preprocessing.text.Tokenizer``.

KERAS_FILTERS = '!"#$%&()*+,-./:;<=>?@\\^_`{|}~\t\n'
"""Keras' default filters without ``[`` and ``]``, which delimit [SOS] and [EOS]."""

KERAS_CONTROLS = ControlSymbols(pad="[PAD]", unk="[UNK]", bos="[SOS]", eos="[EOS]")

_SPEAKER_WORDS = [placeholder(i) for i in range(PLACEHOLDERS)]
_TO_SPACES = str.maketrans(dict.fromkeys(KERAS_FILTERS, " "))


def split_words(text: str) -> list[str]:
    """Keras' ``text_to_word_sequence`` (case untouched: the profile has lower-cased already)."""
    return [word for word in text.translate(_TO_SPACES).split(" ") if word]


def train_word(
    texts: Iterable[str],
    max_size: int | None = None,
    entities: bool = False,
    speakers: bool = False,
    min_count: int = 1,
    labels: int = 0,
) -> Tokenizer:
    """Count words and number them as Keras does.

    Each text counts one [SOS] and one [EOS], which the reports put around every text before
    fitting. ``max_size`` bounds the vocabulary (rarest words out); None keeps every word.
    ``min_count`` leaves out rarer words, such as numbers that a single dialogue holds. With
    ``entities`` and ``speakers`` their placeholders are words of their own, after all others, and
    last those of a plan's ``labels``.
    """
    added = [*(_SPEAKER_WORDS if speakers else ()), *(entity_placeholders() if entities else ())]
    added += plan_characters(labels)
    if added:
        placeholders = re.compile(f"[{''.join(added)}]")
        texts = (placeholders.sub(" ", text) for text in texts)
        max_size = None if max_size is None else max_size - len(added)
    counts: Counter[str] = Counter()
    for text in texts:
        counts[KERAS_CONTROLS.bos] += 1
        counts.update(split_words(text))
        counts[KERAS_CONTROLS.eos] += 1
    often = (item for item in counts.items() if item[1] >= min_count)
    ranked = [word for word, _ in sorted(often, key=lambda item: -item[1])]
    if max_size is not None:
        words = [word for word in ranked if word not in (KERAS_CONTROLS.bos, KERAS_CONTROLS.eos)]
        rare = set(words[max_size - 4 :])
        ranked = [word for word in ranked if word not in rare]
    vocabulary = {KERAS_CONTROLS.pad: 0, KERAS_CONTROLS.unk: 1}
    for word in (
        *ranked,
        KERAS_CONTROLS.bos,
        KERAS_CONTROLS.eos,
    ):  # the two are in, even without texts
        vocabulary.setdefault(word, len(vocabulary))
    pipeline = _word_pipeline(vocabulary)
    pipeline.add_tokens([tokenizers.AddedToken(character) for character in added])
    return Tokenizer("word", pipeline, KERAS_CONTROLS)


def _word_pipeline(vocabulary: dict[str, int]) -> tokenizers.Tokenizer:
    pipeline = tokenizers.Tokenizer(models.WordLevel(vocabulary, unk_token=KERAS_CONTROLS.unk))
    pipeline.normalizer = normalizers.Sequence(
        [normalizers.Replace(character, " ") for character in KERAS_FILTERS]
    )
    pipeline.pre_tokenizer = pre_tokenizers.Split(" ", behavior="removed")
    return pipeline


# Subword tokenizers trained here: BPE (Sennrich et al. 2016) and unigram (Kudo 2018).
#
# Both work on bytes, so every text of every script comes back exactly, whatever was in training.

SUBWORD_CONTROLS = ControlSymbols()

_WORD = re.compile(r" ?[^\W\d_]+")
_MARK = "\u07ca"  # a letter whose first byte, 0xDF, stands in hardly any script but N'Ko
_LEAD = str(pre_tokenizers.ByteLevel(False, False).pre_tokenize_str(_MARK)[0][0])[0]

_SPEAKER_RANGE = f"{placeholder(0)}-{placeholder(PLACEHOLDERS - 1)}"


def train_subword(
    kind: Literal["bpe", "unigram"],
    texts: Iterable[str],
    size: int,
    entities: bool = False,
    labels: int = 0,
) -> Tokenizer:
    """Train a byte-level tokenizer of at most ``size`` entries (controls and placeholders in).

    ``labels``: of a plan.
    """
    pipeline = tokenizers.Tokenizer(models.BPE() if kind == "bpe" else models.Unigram())
    pipeline.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    pipeline.decoder = decoders.ByteLevel()
    controls = list(asdict(SUBWORD_CONTROLS).values())
    added = PLACEHOLDERS + (len(entity_placeholders()) if entities else 0)
    room = size - added - len(plan_characters(labels))
    unknown: dict[str, Any] = {} if kind == "bpe" else {"unk_token": SUBWORD_CONTROLS.unk}
    trainer = (trainers.BpeTrainer if kind == "bpe" else trainers.UnigramTrainer)(
        vocab_size=room,
        special_tokens=controls,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
        **unknown,
    )
    # Training sees the pieces between placeholders, just as encoding will split them.
    at_placeholders = re.compile(f"[{_SPEAKER_RANGE}{ANY_ENTITY if entities else ''}]")
    pieces = (piece for text in texts for piece in at_placeholders.split(text) if piece)
    pipeline.train_from_iterator(_seeded(pieces) if kind == "unigram" else pieces, trainer)
    if kind == "unigram":
        pipeline.model = _settled(pipeline, len(controls))
    pipeline.add_tokens([tokenizers.AddedToken(placeholder(i)) for i in range(PLACEHOLDERS)])
    if entities:
        add_entity_tokens(pipeline)
    add_plan_tokens(pipeline, labels)
    return Tokenizer(kind, pipeline, SUBWORD_CONTROLS)


def _seeded(pieces: Iterable[str]) -> Iterator[str]:
    """The pieces, then once more each word that occurs twice, with a letter that none ends with.

    The trainer's candidates are what stands in two different words at least, however often one of
    them occurs: "told", which is part of no other word, would become "tol" and "d".
    """
    words: Counter[str] = Counter()
    for piece in pieces:
        words.update(_WORD.findall(piece))
        yield piece
    yield from (word + _MARK for word, count in words.items() if count > 1)


def _settled(pipeline: tokenizers.Tokenizer, controls: int) -> models.Unigram:
    """The trained model in an order that another training repeats.

    The trainer appends the bytes that won no score in random order, each 1e-4 below the last, and
    adds up scores in random order (their last digits differ): both would change ids.
    """
    trained = [
        (piece, score)
        for piece, score in json.loads(pipeline.to_str())["model"]["vocab"]
        if len(piece) == 1 or _LEAD not in piece  # see `_seeded`
    ]
    scores = {piece: round(score or 0.0, 9) for piece, score in trained[controls:]}
    appended = sorted(_appended(scores), key=lambda piece: -scores[piece])
    scores |= dict(zip(sorted(appended), [scores[p] for p in appended], strict=True))
    ranked = sorted(scores.items(), key=lambda item: (-item[1], item[0]))
    return models.Unigram([*map(tuple, trained[:controls]), *ranked], 1, False)


def _appended(scores: Mapping[str, float]) -> Iterator[str]:
    """The bytes without a score of their own: whole steps away from one that no text can hold."""
    never = scores["\u00ff"]  # ByteLevel's spelling of 0xFF, which UTF-8 does not have
    for piece, score in scores.items():
        steps = (score - never) / 1e-4
        if len(piece) == 1 and abs(steps) <= 256 and abs(steps - round(steps)) < 1e-3:
            yield piece


# Tokenizers made elsewhere: a Hugging Face ``tokenizer.json``, or a SentencePiece ``.model``.
#
# A SentencePiece model (T5's ``spiece.model``, Pegasus') is rebuilt as a ``tokenizers`` pipeline
# and then checked against the original on sample texts, so that ours is never silently another one.
# Control symbols are found among the names in use; what is missing is added at the end.

_NAMES = {
    "pad": ("<pad>", "[PAD]", "<|pad|>"),
    "unk": ("<unk>", "[UNK]", "<|unk|>"),
    "bos": ("<s>", "[CLS]", "[SOS]", "<bos>", "<|startoftext|>"),
    "eos": ("</s>", "[SEP]", "[EOS]", "<eos>", "<|endoftext|>"),
}

_PROBES = (
    "The quick brown fox, 12.5% of $3!",
    "#Person1#: I don't  know - let's see…",
    "Ünïcödé ½ ﬁ Ａ１",
)


def load_pretrained(path: Path, entities: bool = False, labels: int = 0) -> Tokenizer:
    """Load a tokenizer file, or the one in a model folder.

    ``entities`` adds their placeholders, ``labels`` so many for a plan.

    Raises:
        ModelError: no tokenizer there, damaged, of a type we cannot rebuild, or made for other
            plans.
        MissingExtraError: a SentencePiece file without the ``hf`` extra.
    """
    if path.is_dir():
        names = ("tokenizer.json", "spiece.model", "sentencepiece.bpe.model", "tokenizer.model")
        found = [path / name for name in names if (path / name).is_file()]
        if not found:
            raise ModelError(f"{path}: holds no tokenizer.json and no SentencePiece .model")
        path = found[0]
    if not path.is_file():
        raise ModelError(f"{path}: no such tokenizer file")
    pipeline = read_pipeline(path) if path.suffix == ".json" else _from_sentencepiece(path)
    pipeline.no_truncation()  # many a tokenizer.json carries its model's limit: ours are counted
    pipeline.no_padding()
    controls = _control_symbols(pipeline)
    if entities:
        add_entity_tokens(pipeline)
    add_plan_tokens(pipeline, labels)
    tokenizer = Tokenizer("pretrained", pipeline, controls)
    theirs = 0 if tokenizer.plan is None else tokenizer.plan.count
    if theirs != labels:
        raise ModelError(
            f"{path}: was made for plans of {counted(theirs, 'labels')}, not of {labels}"
        )
    return tokenizer


def _control_symbols(pipeline: tokenizers.Tokenizer) -> ControlSymbols:
    """Find or add the four control symbols, then the speaker placeholders."""
    vocabulary = pipeline.get_vocab()
    chosen = {
        role: next((name for name in names if name in vocabulary), names[0])
        for role, names in _NAMES.items()
    }
    pipeline.add_special_tokens([tokenizers.AddedToken(name) for name in chosen.values()])
    pipeline.add_tokens([tokenizers.AddedToken(placeholder(i)) for i in range(PLACEHOLDERS)])
    return ControlSymbols(**chosen)


def _from_sentencepiece(path: Path) -> tokenizers.Tokenizer:
    with needs_extra(f"{path.name}: a SentencePiece file", "hf"):
        import sentencepiece
        from sentencepiece import sentencepiece_model_pb2
    proto: Any = sentencepiece_model_pb2.ModelProto()  # type: ignore[attr-defined]
    try:
        proto.ParseFromString(path.read_bytes())
        original = sentencepiece.SentencePieceProcessor(model_file=str(path))
    except Exception as error:  # protobuf and SentencePiece raise types of their own
        raise ModelError(f"{path}: is no SentencePiece model: {error}") from None
    pipeline = _rebuild(proto, path)
    for probe in _PROBES:
        ours, theirs = pipeline.encode(probe).ids, original.encode(probe)
        if ours != theirs:
            raise ModelError(f"{path}: cannot be rebuilt faithfully: {probe!r} is split otherwise")
    return pipeline


def _rebuild(proto: Any, path: Path) -> tokenizers.Tokenizer:
    """A ``tokenizers`` pipeline from a SentencePiece unigram model (what T5 and Pegasus use)."""
    if proto.trainer_spec.model_type != 1:
        raise ModelError(f"{path}: only SentencePiece unigram models can be loaded (T5, Pegasus)")
    vocabulary = [(piece.piece, piece.score) for piece in proto.pieces]
    pipeline = tokenizers.Tokenizer(
        models.Unigram(vocabulary, proto.trainer_spec.unk_id, proto.trainer_spec.byte_fallback)
    )
    steps: list[Any] = []
    if proto.normalizer_spec.precompiled_charsmap:
        steps.append(normalizers.Precompiled(proto.normalizer_spec.precompiled_charsmap))
    if proto.normalizer_spec.remove_extra_whitespaces:
        steps += [
            normalizers.Strip(),
            normalizers.Replace(tokenizers.Regex(" {2,}"), " "),
        ]
    pipeline.normalizer = normalizers.Sequence(steps)
    scheme = "always" if proto.normalizer_spec.add_dummy_prefix else "never"
    pipeline.pre_tokenizer = pre_tokenizers.Metaspace("▁", scheme)
    tail: list[Any] = [decoders.Metaspace("▁", scheme)]
    if proto.trainer_spec.byte_fallback:
        tail = [decoders.ByteFallback(), *tail]
    pipeline.decoder = decoders.Sequence(tail)
    return pipeline


# Which tokenizer a recipe asks for, and making it.


class TokenizerConfig(Config):
    """Options of the tokenizer; ``size`` counts every entry.

    ``path``: the folder of a BERT-like encoder (``wordpiece``: its vocabulary, pruned to what the
    training texts need) or the file of a tokenizer (``pretrained``: as it is); ``package:NAME/...``
    lies in an installed Python package. ``size`` None is unbounded (``word``), or what the
    training texts need (``wordpiece``). ``min_count``: words (``word``) or pieces (``wordpiece``)
    that occur less often in the training texts are left out.

    ``kind``: words, byte pairs, unigram, the pieces of a BERT-like encoder, or a tokenizer as it
    is. ``size``: entries of the vocabulary.
    """

    kind: Literal["word", "bpe", "unigram", "wordpiece", "pretrained"] = "bpe"
    size: int | None = Field(8192, ge=320)
    min_count: int = Field(1, ge=1)
    path: str | None = None

    @model_validator(mode="after")
    def _consistent(self) -> "TokenizerConfig":
        if (self.kind in ("pretrained", "wordpiece")) != (self.path is not None):
            raise ValueError(
                "'path' is needed by the kinds 'pretrained' and 'wordpiece', and only there"
            )
        if self.kind in ("bpe", "unigram") and self.size is None:
            raise ValueError(f"'size' must be a number for kind '{self.kind}'")
        if self.min_count > 1 and self.kind not in ("word", "wordpiece"):
            raise ValueError(
                f"'min_count' is for the kinds 'word' and 'wordpiece', not '{self.kind}'"
            )
        return self


def build_tokenizer(
    config: TokenizerConfig,
    texts: Iterable[str],
    entities: bool = False,
    speakers: bool = False,
    labels: int = 0,
) -> Tokenizer:
    """Train the tokenizer on prepared ``texts``, prune one to them, or load one (texts unused).

    With ``entities`` it holds the entity placeholders, too, each as one token; a word tokenizer
    holds those of speakers with ``speakers`` only, the others always. ``labels``: how many a plan
    can choose from; 0: there are no plans.

    Raises:
        ConfigError: ``size`` has no room for them, or a package is not installed.
        ModelError: ``path`` holds no tokenizer of the kind.
    """
    if config.kind == "pretrained":
        assert config.path is not None
        return load_pretrained(located(config.path), entities, labels)
    added = {
        "entities": len(entity_placeholders()) if entities else 0,
        "plan": len(plan_characters(labels)),
    }
    least = 320 + sum(added.values())
    if config.size is not None and config.size < least:
        asked = " and ".join(f"preparation.{name}" for name, count in added.items() if count)
        raise ConfigError(f"tokenizer.size must be at least {least} with {asked} on")
    if config.kind == "word":
        return train_word(texts, config.size, entities, speakers, config.min_count, labels)
    if config.kind == "wordpiece":
        assert config.path is not None
        folder = located(config.path)
        return prune_wordpiece(folder, texts, config.size, config.min_count, entities, labels)
    assert config.size is not None
    return train_subword(config.kind, texts, config.size, entities, labels)
