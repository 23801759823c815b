"""Frozen rows of a table keep every bit, whatever else happens to the table."""

import os
import signal
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from dialogist.models.model_weights import weights_of
from dialogist.models.transformer import Transformer, TransformerConfig
from dialogist.nn.layers import freeze_rows
from dialogist.training import master_weights
from dialogist.training.base import Progress, Validation
from dialogist.training.checkpoints import checkpoint_folders, load_checkpoint
from dialogist.training.master_weights import MasterWeights
from dialogist.training.runtime import Interrupted

ROWS = torch.tensor([4, 7, 11])
OTHERS = torch.tensor([i for i in range(12) if i not in (4, 7, 11)])
FORMS = {
    "tied": {"share_embeddings": True, "tie_output": True},
    "untied": {"share_embeddings": False, "tie_output": False},
}
TABLES = {"tied": ["source_embedding"], "untied": ["source_embedding", "target_embedding"]}
DECAYED = {
    "adamw": {"kind": "adamw", "weight_decay": 0.1},
    "adam": {"kind": "adam", "weight_decay": 0.1},
}


@pytest.fixture(autouse=True)
def _anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without units for it bf16 is slow, not wrong."""
    monkeypatch.setattr(master_weights, "has_bf16", lambda device: True)


def model_of(form: str = "untied", frozen: bool = True) -> Transformer:
    torch.manual_seed(7)
    sizes = {"d_model": 16, "heads": 2, "feed_forward": 16, "encoder_layers": 1}
    places = {"source_positions": 16, "target_positions": 16, "decoder_layers": 1}
    options = {**sizes, **places, "dropout": 0.1, "attention_output_dropout": 0.1, **FORMS[form]}
    model = TransformerConfig.parse(options).build(12)
    for table in (model.source_embedding, model.target_embedding) if frozen else ():
        freeze_rows(table, ROWS)
    return model


def copied(model: Transformer) -> dict[str, Tensor]:
    return {name: weight.clone() for name, weight in weights_of(model).items()}


def nothing(epoch: int) -> Validation:
    return Validation({})


@pytest.mark.parametrize("kind", DECAYED)
@pytest.mark.parametrize("number_format", ["fp32", "bf16"])
@pytest.mark.parametrize("form", FORMS)
def test_frozen_rows_are_the_same_bits_after_training(
    setup: Any, form: str, number_format: str, kind: str
) -> None:
    """Under decay, clipping, accumulation and averaging; all other rows have moved."""
    model = model_of(form)
    before = copied(model)
    options = {"optimizer": DECAYED[kind], "accumulate": 2, "clip_norm": 0.1, "epochs": 4}
    averaged = {"precision": number_format, "final": "average", "keep_last": 3}
    trainer = setup.trainer(model=model, **options, **averaged)
    progress = trainer.fit(nothing)
    after, final = copied(model), trainer.final_weights(progress)
    saved = load_checkpoint(checkpoint_folders(setup.folder / "checkpoints")[-1])
    for table in TABLES[form]:
        name = f"{table}.weight"
        for weights in (after, final, saved.tensors["weights"]):
            assert torch.equal(weights[name][ROWS], before[name][ROWS])
            assert (weights[name][OTHERS] != before[name][OTHERS]).any(dim=1).all()


def test_they_do_not_count_for_clipping() -> None:
    model = model_of("untied")
    weights = MasterWeights(model, torch.float32)
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    model.source_embedding.weight.grad[ROWS] = 1e6
    model.source_embedding.weight.grad[0, 0] = 3.0
    model.output.bias.grad[0] = 4.0
    weights.collect(add=False)
    assert weights.clip(None) == pytest.approx(5.0)
    assert int((weights.gradient != 0).sum()) == 2


def test_without_frozen_rows_nothing_is_held(setup: Any) -> None:
    model = model_of(frozen=False)
    before = copied(model)
    setup.trainer(model=model, optimizer=DECAYED["adamw"]).fit(nothing)
    assert (model.source_embedding.weight[ROWS] != before["source_embedding.weight"][ROWS]).all()


def stop_at(step: int) -> Callable[[Progress], None]:
    def interfere(progress: Progress) -> None:
        if progress.step == step:
            os.kill(os.getpid(), signal.SIGTERM)

    return interfere


@pytest.mark.parametrize("number_format", ["fp32", "bf16"])
def test_a_run_with_frozen_rows_goes_on_to_the_same_bits(another: Any, number_format: str) -> None:
    options = {"optimizer": DECAYED["adamw"], "epochs": 3, "precision": number_format}
    straight, cut = another("straight"), another("cut")
    whole = model_of()
    straight.trainer(model=whole, **options).fit(nothing)
    cut.watcher.on_update = stop_at(4)
    with pytest.raises(Interrupted):
        cut.trainer(model=model_of(), **options).fit(nothing)
    resumed = model_of()
    cut.watcher.on_update = lambda progress: None
    cut.trainer(model=resumed, **options).fit(nothing)
    assert any("resumed at update 4 " in note for note in cut.watcher.notes)
    for name, weight in weights_of(whole).items():
        assert torch.equal(weight, weights_of(resumed)[name]), name
