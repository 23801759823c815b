"""Subword tokenizers trained here: BPE (Sennrich et al. 2016) and unigram (Kudo 2018).

Both work on bytes, so every text of every script comes back exactly, whatever was in training.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

import tokenizers
from tokenizers import decoders, models, pre_tokenizers, trainers

from dialogist.tokenizers.base import PLACEHOLDERS, ControlSymbols, Tokenizer, placeholder
from dialogist.tokenizers.entity_tokens import ANY_ENTITY, add_entity_tokens, entity_placeholders
from dialogist.tokenizers.plan_tokens import add_plan_tokens, plan_characters

CONTROLS = ControlSymbols()

_WORD = re.compile(r" ?[^\W\d_]+")
_MARK = "\u07ca"  # a letter whose first byte, 0xDF, stands in hardly any script but N'Ko
_LEAD = str(pre_tokenizers.ByteLevel(False, False).pre_tokenize_str(_MARK)[0][0])[0]

_SPEAKERS = f"{placeholder(0)}-{placeholder(PLACEHOLDERS - 1)}"


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
    controls = [CONTROLS.pad, CONTROLS.unk, CONTROLS.bos, CONTROLS.eos]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    added = PLACEHOLDERS + (len(entity_placeholders()) if entities else 0)
    room = size - added - len(plan_characters(labels))
    trainer = (
        trainers.BpeTrainer(
            vocab_size=room,
            special_tokens=controls,
            initial_alphabet=alphabet,
            show_progress=False,
        )
        if kind == "bpe"
        else trainers.UnigramTrainer(
            vocab_size=room,
            special_tokens=controls,
            initial_alphabet=alphabet,
            unk_token=CONTROLS.unk,
            show_progress=False,
        )
    )
    # Training sees the pieces between placeholders, just as encoding will split them.
    at_placeholders = re.compile(f"[{_SPEAKERS}{ANY_ENTITY if entities else ''}]")
    pieces = (piece for text in texts for piece in at_placeholders.split(text) if piece)
    pipeline.train_from_iterator(_seeded(pieces) if kind == "unigram" else pieces, trainer)
    if kind == "unigram":
        pipeline.model = _settled(pipeline, len(controls))
    pipeline.add_tokens([tokenizers.AddedToken(placeholder(i)) for i in range(PLACEHOLDERS)])
    if entities:
        add_entity_tokens(pipeline)
    add_plan_tokens(pipeline, labels)
    return Tokenizer(kind, pipeline, CONTROLS)


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
