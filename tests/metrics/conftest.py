"""A tiny pretrained encoder, for tests that must not download one."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

VOCABULARY = """
[PAD] [UNK] [CLS] [SEP] the cat dog sat on a mat ##s un ##able hat red and , .
"""


@pytest.fixture(scope="session")
def write_encoder() -> Callable[..., Path]:
    """Makes a folder with two layers of BERT of random weights, width 16, 40 places."""
    transformers = pytest.importorskip("transformers", reason="BERTScore needs the extra hf")

    def write(folder: Path, seed: int = 0) -> Path:
        vocabulary = {word: i for i, word in enumerate(VOCABULARY.split())}
        pipeline = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
        pipeline.normalizer = normalizers.BertNormalizer()
        pipeline.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        pipeline.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
        special = {f"{kind}_token": f"[{kind.upper()}]" for kind in ("pad", "unk", "cls", "sep")}
        tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=pipeline, **special)
        tokenizer.save_pretrained(folder)
        torch.manual_seed(seed)
        config = transformers.BertConfig(
            vocab_size=len(vocabulary),
            hidden_size=16,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=32,
            max_position_embeddings=40,
            initializer_range=0.5,
        )
        transformers.BertModel(config).save_pretrained(folder)
        return folder

    return write


@pytest.fixture(scope="session")
def tiny_encoder(
    write_encoder: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """One of these; treat it as read-only."""
    return write_encoder(tmp_path_factory.mktemp("encoders") / "tiny")
