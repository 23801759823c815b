"""Marked rows of a table: which they are, and that the mark stays out of files."""

import pytest
import torch
from torch import nn

from dialogist.models.transformer import Transformer, TransformerConfig
from dialogist.nn.layers import freeze_rows, frozen_rows


def model_of(share: bool, tie: bool) -> Transformer:
    sizes = {"d_model": 8, "heads": 2, "feed_forward": 8, "encoder_layers": 1, "decoder_layers": 1}
    options = {**sizes, "share_embeddings": share, "tie_output": tie}
    return TransformerConfig.parse(options).build(11)


@pytest.mark.parametrize("tie", [True, False])
def test_rows_are_found_by_the_name_of_their_weight(tie: bool) -> None:
    model = model_of(share=False, tie=tie)
    assert frozen_rows(model) == {}
    freeze_rows(model.target_embedding, torch.tensor([3, 5]))
    found = frozen_rows(model)
    assert list(found) == ["target_embedding.weight"]
    assert found["target_embedding.weight"].tolist() == [3, 5]


def test_a_shared_table_is_one() -> None:
    model = model_of(share=True, tie=True)
    freeze_rows(model.target_embedding, torch.tensor([1]))
    freeze_rows(model.source_embedding, torch.tensor([2]))  # the last word counts
    assert {name: rows.tolist() for name, rows in frozen_rows(model).items()} == {
        "source_embedding.weight": [2]
    }


def test_the_mark_is_not_saved_and_moves_along() -> None:
    table = nn.Embedding(4, 2)
    before = list(table.state_dict())
    freeze_rows(table, torch.tensor([0]))
    assert list(table.state_dict()) == before == ["weight"]
    moved = nn.ModuleDict({"table": table}).to("meta")
    assert frozen_rows(moved)["table.weight"].device.type == "meta"
