"""The fixtures of the readers' tests, for readers of the laboratory; an encoder to start from."""

from pathlib import Path

import pytest
import torch
import transformers
from tests.formats.conftest import notes, problems, read

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
