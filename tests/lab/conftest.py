"""The fixtures of the readers' tests, for readers of the laboratory; an encoder to start from."""

from collections.abc import Iterable
from pathlib import Path

import pytest
import tokenizers
import torch
import transformers
from tests.formats.conftest import notes, problems, read
from tokenizers import models, normalizers, pre_tokenizers, processors

from dialogist.language.wordpiece import wordpiece

__all__ = ["notes", "problems", "read"]


@pytest.fixture(scope="session")
def tiny_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tiny encoder of BERT's vocabulary."""
    folder = tmp_path_factory.mktemp("encoder")
    torch.manual_seed(1)
    config = transformers.BertConfig(
        vocab_size=wordpiece().get_vocab_size(), hidden_size=16, num_hidden_layers=3,
        num_attention_heads=2, intermediate_size=16,
    )  # fmt: skip
    transformers.BertModel(config).save_pretrained(folder)
    return folder


def write_tokenizer(folder: Path, words: Iterable[str]) -> None:
    """Store a tokenizer of whole words, as BERT has it."""
    vocabulary = {w: n for n, w in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *words])}
    made = tokenizers.Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    special = {f"{kind}_token": f"[{kind.upper()}]" for kind in ("pad", "unk", "cls", "sep")}
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, model_max_length=128, **special
    ).save_pretrained(folder)
