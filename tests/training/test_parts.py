"""Rates of parts, and gradual thawing: what moves when, by how much, and after a restart."""

import os
import signal
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from dialogist.errors import ConfigError
from dialogist.models.transformer import Transformer, TransformerConfig
from dialogist.training.base import Validation
from dialogist.training.checkpoints import checkpoint_folders, load_checkpoint
from dialogist.training.master_weights import MasterWeights
from dialogist.training.optimizer import OptimizerConfig, ParameterGroupConfig, ParameterGroups
from dialogist.training.runtime import Interrupted

SGD_LIKE = OptimizerConfig(kind="adam", betas=(0.0, 0.0), eps=1e6)
"""Without memory, and with so large an epsilon that an update is nearly rate * gradient / 1e6."""


def three_layers() -> Transformer:
    torch.manual_seed(3)
    return TransformerConfig(
        d_model=16,
        heads=2,
        feed_forward=16,
        encoder_layers=3,
        decoder_layers=1,
        dropout=0.0,
        attention_output_dropout=0.0,
        source_positions=16,
        target_positions=16,
    ).build(12)


def moved(
    model: nn.Module, parts: list[ParameterGroupConfig], steps: int
) -> list[dict[str, Tensor]]:
    """By how much each weight moves in each update, every gradient being 1."""
    weights = MasterWeights(model, torch.float32)
    part, optimizer = ParameterGroups(parts, model, weights), SGD_LIKE.build(weights)
    found = []
    for step in range(1, steps + 1):
        part.begin(step)
        before = {name: value.clone() for name, value in weights.named().items()}
        for parameter in model.parameters():
            parameter.grad = torch.ones_like(parameter) if parameter.requires_grad else None
        weights.collect(add=False)
        part.update(optimizer, step, rate=1e6)
        found.append({name: before[name] - value for name, value in weights.named().items()})
    return found


def test_rates_by_hand() -> None:
    """The gradient is 1 and an update -rate * 1e6 * 1 / (1 + 1e6): about -rate."""
    slow = ParameterGroupConfig(weights="encoder.layers.0", rate=0.25)
    fast = ParameterGroupConfig(weights="encoder", rate=3)
    (change,) = moved(three_layers(), [slow, fast], 1)
    for name, by in change.items():
        expected = (
            0.25 if name.startswith("encoder.layers.0.") else 3.0 if "encoder" in name else 1.0
        )
        torch.testing.assert_close(by, torch.full_like(by, expected), atol=2e-5, rtol=0)


def test_layers_thaw_from_the_top() -> None:
    """2 updates frozen, then a layer each 3 updates: layers 2, 1, 0 from updates 3, 6 and 9."""
    parts = [ParameterGroupConfig(weights="encoder.layers", rate=0.5, frozen=2, every=3)]
    changes = moved(three_layers(), parts, 10)
    for layer, first in ((2, 3), (1, 6), (0, 9)):
        name = f"encoder.layers.{layer}.norm1.weight"
        moves = [bool((change[name] != 0).any()) for change in changes]
        assert moves == [step >= first for step in range(1, 11)]
    assert all((change["decoder.layers.0.norm1.weight"] != 0).all() for change in changes)


def test_frozen_weights_keep_their_bits_whatever_decay_does() -> None:
    model = three_layers()
    weights = MasterWeights(model, torch.float32)
    before = {name: value.clone() for name, value in weights.named().items()}
    parts = ParameterGroups([ParameterGroupConfig(weights="encoder", frozen=5)], model, weights)
    optimizer = OptimizerConfig(kind="adamw", weight_decay=0.3).build(weights)
    for step in range(1, 6):
        parts.begin(step)
        for parameter in model.parameters():
            parameter.grad = torch.randn_like(parameter) if parameter.requires_grad else None
        weights.collect(add=False)
        parts.update(optimizer, step, rate=0.1)
    same = {name for name, value in weights.named().items() if torch.equal(value, before[name])}
    assert same == {name for name in before if name.startswith("encoder.")}


def test_a_frozen_part_does_not_count_when_the_gradient_is_clipped(setup: Any) -> None:
    trainer = setup.trainer(parts=[{"weights": "encoder", "frozen": 100}], epochs=1)
    norms: list[float] = []
    clip = trainer.weights.clip

    def watched(limit: float | None) -> float:
        named = trainer.weights.named(trainer.weights.gradient)
        assert all((g == 0).all() for n, g in named.items() if n.startswith("encoder."))
        norms.append(clip(limit))
        return norms[-1]

    trainer.weights.clip = watched
    trainer.fit(lambda epoch: Validation({}))
    assert norms
    assert min(norms) > 0


def test_the_same_factor_for_all_is_another_schedule(
    setup: Any, another: Callable[..., Any]
) -> None:
    """Every part at half rate ends where half the peak ends."""
    halves = [{"weights": "", "rate": 0.5}]
    with pytest.raises(ConfigError, match=r"parts\.0\.weights"):
        setup.trainer(parts=halves)
    names = ["encoder", "decoder", "source", "target", "output"]
    parts = [{"weights": name, "rate": 0.5} for name in names if name != "target"]
    one = setup.trainer(parts=parts)
    two = another("half").trainer(schedule={"kind": "constant", "peak": 0.005})
    for trainer in (one, two):
        trainer.fit(lambda epoch: Validation({}))
    for (name, a), b in zip(one.model.named_parameters(), two.model.parameters(), strict=True):
        if not name.endswith("key.bias"):  # its gradient is rounding: softmax does not see it
            torch.testing.assert_close(a, b, atol=1e-5, rtol=1e-4)


def test_a_part_without_weights_is_refused(setup: Any) -> None:
    with pytest.raises(ConfigError, match="begins with 'encodr'; did you mean 'encoder'"):
        setup.trainer(parts=[{"weights": "encodr"}])
    with pytest.raises(ConfigError, match="an earlier part has all weights that begin with 'enc'"):
        setup.trainer(parts=[{"weights": "encoder"}, {"weights": "enc"}])


def test_something_must_learn(setup: Any) -> None:
    parts = [{"weights": name, "frozen": 1} for name in ("encoder", "decoder", "source", "output")]
    with pytest.raises(ConfigError, match="all weights are frozen"):
        setup.trainer(parts=parts)


@pytest.mark.parametrize("kills", [(1,), (2, 3), (4, 5)])
def test_a_resumed_run_ends_with_the_same_bits(
    setup: Any, another: Callable[..., Any], kills: tuple[int, ...]
) -> None:
    """Killed while frozen, while thawing, and after: 6 updates, thawed after the 2nd and 4th."""
    options = {
        "parts": [
            {"weights": "encoder", "rate": 0.3, "frozen": 2},
            {"weights": "source", "rate": 0.1, "frozen": 4},
        ],
        "dropout": 0.2,
        "checkpoint_every": 1,
    }
    straight = setup.trainer(**options)
    straight.fit(lambda epoch: Validation({}))
    broken = another("broken")
    for kill in kills:
        broken.watcher.on_update = lambda progress, kill=kill: (
            os.kill(os.getpid(), signal.SIGTERM) if progress.step == kill else None
        )
        with pytest.raises(Interrupted):
            broken.trainer(**options).fit(lambda epoch: Validation({}))
    broken.watcher.on_update = lambda progress: None
    broken.trainer(**options).fit(lambda epoch: Validation({}))
    ends = [checkpoint_folders(s.folder / "checkpoints")[-1] for s in (setup, broken)]
    one, other = (load_checkpoint(end).tensors for end in ends)
    for group in ("weights", "optimizer"):
        assert one[group].keys() == other[group].keys()
        assert all(torch.equal(one[group][name], other[group][name]) for name in one[group])
