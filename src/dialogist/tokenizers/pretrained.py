"""Tokenizers made elsewhere: a Hugging Face ``tokenizer.json``, or a SentencePiece ``.model``.

A SentencePiece model (T5's ``spiece.model``, Pegasus') is rebuilt as a ``tokenizers`` pipeline and
then checked against the original on sample texts, so that ours is never silently another one.
Control symbols are found among the names in use; what is missing is added at the end.
"""

from pathlib import Path
from typing import Any

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers

from dialogist.errors import MissingExtraError, ModelError
from dialogist.tokenizers.base import (
    PLACEHOLDERS,
    ControlSymbols,
    Tokenizer,
    placeholder,
    read_pipeline,
)
from dialogist.tokenizers.entity_tokens import add_entity_tokens
from dialogist.tokenizers.plan_tokens import add_plan_tokens

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
        raise ModelError(f"{path}: was made for plans of {theirs} labels, not of {labels}")
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
    try:
        import sentencepiece
        from sentencepiece import sentencepiece_model_pb2
    except ImportError:
        raise MissingExtraError(f"{path.name}: a SentencePiece file", "hf") from None
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
