"""Words in pieces, as BERT's vocabulary (lower case) has them; the bundled networks read these."""

from functools import cache
from importlib import resources

import tokenizers
from tokenizers import models, normalizers, pre_tokenizers

FIRST, END = 101, 102
"""Of [CLS], with which a text begins, and [SEP], with which a part of it ends."""


@cache
def wordpiece() -> tokenizers.Tokenizer:
    """The tokenizer of the vocabulary."""
    file = resources.files("dialogist") / "assets" / "language" / "wordpiece.txt"
    pieces = file.read_text("utf-8").split("\n")
    ids = {piece: number for number, piece in enumerate(pieces)}
    tokenizer = tokenizers.Tokenizer(models.WordPiece(ids, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer


def piece_ids(text: str) -> list[int]:
    """The ids of a text; halves of characters are in no vocabulary."""
    whole = text.encode(errors="replace").decode()
    ids: list[int] = wordpiece().encode(whole, add_special_tokens=False).ids
    return ids
