"""Subword tokenizers trained here: BPE (Sennrich et al. 2016) and unigram (Kudo 2018).

Both work on bytes, so every text of every script comes back exactly, whatever was in training.
"""

import re
from collections.abc import Iterable
from typing import Literal

import tokenizers
from tokenizers import decoders, models, pre_tokenizers, trainers

from dialogist.tokenizers.base import PLACEHOLDERS, ControlSymbols, Tokenizer, placeholder

CONTROLS = ControlSymbols()

_AT_PLACEHOLDERS = re.compile(f"[{placeholder(0)}-{placeholder(PLACEHOLDERS - 1)}]")


def train_subword(kind: Literal["bpe", "unigram"], texts: Iterable[str], size: int) -> Tokenizer:
    """Train a byte-level tokenizer of at most ``size`` entries (controls and placeholders in)."""
    pipeline = tokenizers.Tokenizer(models.BPE() if kind == "bpe" else models.Unigram())
    pipeline.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    pipeline.decoder = decoders.ByteLevel()
    controls = [CONTROLS.pad, CONTROLS.unk, CONTROLS.bos, CONTROLS.eos]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    room = size - PLACEHOLDERS
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
    pieces = (piece for text in texts for piece in _AT_PLACEHOLDERS.split(text) if piece)
    pipeline.train_from_iterator(pieces, trainer)
    pipeline.add_tokens([tokenizers.AddedToken(placeholder(i)) for i in range(PLACEHOLDERS)])
    return Tokenizer(kind, pipeline, CONTROLS)
