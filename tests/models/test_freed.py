"""What a pass holds for its gradients goes when it goes: nothing piles up over the updates."""

import gc

import pytest
import torch
from torch import Tensor

from dialogist.data.collate import EncodedPair, collate
from dialogist.models import ModelConfig
from dialogist.models.transformer import TransformerConfig
from dialogist.objectives.cross_entropy import CrossEntropy
from dialogist.tokenizers import Symbols
from dialogist.training.master_weights import MasterWeights
from dialogist_lab.papers.hierarchical import HierarchicalConfig
from dialogist_lab.papers.recurrent import RecurrentConfig

SYMBOLS = Symbols(0, 1, 2)
SMALL = {"heads": 2, "feed_forward": 8, "encoder_layers": 1, "decoder_layers": 1}
POINTER = {"pointer": True, "embedding": 8, "hidden": 8}
KINDS: dict[str, ModelConfig] = {
    "transformer": TransformerConfig.parse({**SMALL, "d_model": 8}),
    "transformer, pointer": TransformerConfig.parse({**SMALL, "d_model": 8, "pointer": True}),
    "hierarchical": HierarchicalConfig.parse(
        {"embedding": 8, "width": 8, "heads": 2, "feed_forward": 8}
    ),
    "recurrent": RecurrentConfig.parse({**POINTER, "pointer": False, "attention": "none"}),
    "recurrent, pointer": RecurrentConfig.parse({**POINTER, "layers": 2}),
    "recurrent, coverage": RecurrentConfig.parse({**POINTER, "cell": "gru", "coverage": True}),
}


def tensors() -> int:
    return sum(issubclass(type(one), Tensor) for one in gc.get_objects())


@pytest.mark.parametrize("working", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_outlives_its_pass(kind: str, working: torch.dtype) -> None:
    torch.manual_seed(0)
    model = KINDS[kind].build(12).train()
    weights = MasterWeights(model, working)
    pair = EncodedPair((1, 5, 6, 7, 2), (1, 6, 8, 2), starts=(1, 3))

    def update() -> None:
        weights.begin()
        CrossEntropy()(model, collate([pair, pair], SYMBOLS)).value.backward()
        weights.collect(add=False)

    update()  # what is made once
    gc.collect()
    gc.disable()  # it comes when it likes, and that is too late
    try:
        before = tensors()
        update()
        assert tensors() == before
    finally:
        gc.enable()
