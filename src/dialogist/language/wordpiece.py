"""Words in pieces, as BERT's vocabulary (lower case) has them; the bundled networks read these."""

import os
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import tokenizers
from tokenizers import models, normalizers, pre_tokenizers

FIRST, END = 101, 102
"""Of [CLS], with which a text begins, and [SEP], with which a part of it ends."""
_NO_TELEMETRY = ("ORT_DISABLE_TELEMETRY", "ORT_TELEMETRY_DISABLED")  # of releases of 2026


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


def onnx_session(path: Path) -> Any:
    """A network of a file, which runs in one thread (an `onnxruntime.InferenceSession`).

    onnxruntime tells its makers which machine it runs on, unless it is told not to before it loads.
    """
    os.environ.update(dict.fromkeys(_NO_TELEMETRY, "1"))
    import onnxruntime  # takes a while to load

    onnxruntime.disable_telemetry_events()  # Windows knows this alone
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
