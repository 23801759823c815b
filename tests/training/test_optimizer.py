"""Tests of training.optimizer."""

import os
import signal
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from dialogist.errors import CheckpointError, ConfigError
from dialogist.models.transformer import Transformer, TransformerConfig
from dialogist.nn.layers import Positions
from dialogist.training.base import TrainingConfig, Validation
from dialogist.training.checkpoints import checkpoint_folders, load_checkpoint
from dialogist.training.master_weights import MasterWeights
from dialogist.training.optimizer import (
    ConstantSchedule,
    CosineSchedule,
    InverseSquareRootSchedule,
    LinearSchedule,
    OptimizerConfig,
    ParameterGroupConfig,
    ParameterGroups,
    load_optimizer_tensors,
    optimizer_tensors,
)
from dialogist.training.runtime import Interrupted

# Learning-rate schedules: values by hand, peaks, ends.


def test_the_curve_of_report_1() -> None:
    """d = 128, warm = 4000: the peak is at update 4000."""
    schedule = InverseSquareRootSchedule(d_model=128, warmup=4000)
    rates = [schedule.rate(step, 0) for step in range(1, 12_001)]
    assert max(rates) == rates[3999] == pytest.approx(0.001398, abs=5e-7)
    assert rates[0] == pytest.approx(128**-0.5 * 4000**-1.5)
    assert rates[1999] == pytest.approx(rates[3999] / 2)  # linear up
    assert rates[11_999] == pytest.approx(rates[3999] / 3**0.5)  # then 1 / sqrt(t)
    assert all(a < b for a, b in pairwise(rates[:4000]))
    assert all(a > b for a, b in pairwise(rates[3999:]))


def test_scale_multiplies() -> None:
    one, two = (
        InverseSquareRootSchedule(d_model=64, warmup=9),
        InverseSquareRootSchedule(d_model=64, warmup=9, scale=2.0),
    )
    assert [two.rate(t, 0) for t in (1, 9, 36)] == [2 * one.rate(t, 0) for t in (1, 9, 36)]
    assert one.rate(9, 0) == pytest.approx(1 / 24)


def test_constant() -> None:
    assert [ConstantSchedule(peak=0.5).rate(t, 10) for t in (1, 10, 99)] == [0.5, 0.5, 0.5]
    warm = ConstantSchedule(peak=0.5, warmup=4)
    assert [warm.rate(t, 10) for t in (1, 2, 4, 5)] == [0.125, 0.25, 0.5, 0.5]


def test_linear_by_hand() -> None:
    schedule = LinearSchedule(peak=1.0, warmup=2, floor=0.2)
    found = [schedule.rate(t, 10) for t in (1, 2, 6, 10, 11, 50)]
    assert found == pytest.approx([0.5, 1.0, 0.6, 0.2, 0.2, 0.2])
    assert LinearSchedule(peak=1.0).rate(10, 10) == 0.0
    assert LinearSchedule(peak=1.0).rate(5, 10) == 0.5


def test_cosine_by_hand() -> None:
    schedule = CosineSchedule(peak=2.0, warmup=4, floor=0.1)
    found = [schedule.rate(t, 12) for t in (2, 4, 8, 12, 20)]
    assert found == pytest.approx([1.0, 2.0, 2.0 * (0.1 + 0.9 / 2), 0.2, 0.2])
    quarter = 0.1 + 0.9 * (1 + 0.5**0.5) / 2
    assert schedule.rate(6, 12) == pytest.approx(2.0 * quarter)


@pytest.mark.parametrize("kind", [LinearSchedule, CosineSchedule])
def test_a_run_shorter_than_its_warm_up(kind: type[LinearSchedule | CosineSchedule]) -> None:
    schedule = kind(peak=1.0, warmup=100)
    assert [schedule.rate(t, 10) for t in (1, 10)] == pytest.approx([0.01, 0.1])


def test_chosen_by_kind() -> None:
    values = {"schedule": {"kind": "cosine", "peak": 0.1}}
    assert TrainingConfig.parse(values).schedule == CosineSchedule(peak=0.1)
    with pytest.raises(ConfigError, match="warmup"):
        TrainingConfig.parse({"schedule": {"kind": "cosine", "peak": 0.1, "warmpu": 3}})


# Rates of parts, and gradual thawing: what moves when, by how much, and after a restart.

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


# Adam and AdamW by hand and against torch's own, what is decayed, and the state and back.

RATES = [0.1, 0.03, 0.07, 0.0, 0.05, 0.02]  # a schedule goes up and down


class Small(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.positions = Positions("learned", 4, 3)
        self.linear = nn.Linear(3, 3)
        self.norm = nn.LayerNorm(3)
        self.table = nn.Embedding(5, 3)


class Flat:
    """A model whose weights an optimizer of ours updates."""

    def __init__(self, config: OptimizerConfig, model: nn.Module | None = None) -> None:
        self.model = Small() if model is None else model
        self.weights = MasterWeights(self.model, torch.float32)
        self.optimizer = config.build(self.weights)

    def update(self, gradients: Iterator[torch.Tensor], rate: float = 0.1) -> None:
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        for parameter, gradient in zip(self.model.parameters(), gradients, strict=True):
            parameter.grad = gradient.clone()
        self.weights.collect(add=False)
        self.optimizer.step()


def gradients_of(model: nn.Module, seed: int, scale: float = 1.0) -> Iterator[torch.Tensor]:
    chance = torch.Generator().manual_seed(seed)
    for parameter in model.parameters():
        yield scale * torch.randn(parameter.shape, generator=chance)


def test_adam_by_hand() -> None:
    model = nn.Linear(1, 1, bias=False)
    nn.init.constant_(model.weight, 1.0)
    flat = Flat(OptimizerConfig(kind="adam", betas=(0.9, 0.98), eps=1e-9), model)
    weight, first, second = 1.0, 0.0, 0.0
    for t, gradient in enumerate([0.5, -2.0, 1.0], start=1):
        flat.update(iter([torch.full((1, 1), gradient)]))
        first = 0.9 * first + 0.1 * gradient
        second = 0.98 * second + 0.02 * gradient**2
        weight -= 0.1 * (first / (1 - 0.9**t)) / ((second / (1 - 0.98**t)) ** 0.5 + 1e-9)
        assert model.weight.item() == pytest.approx(weight, abs=1e-6)


@pytest.mark.parametrize("decay", [0.0, 0.1])
@pytest.mark.parametrize("kind", ["adam", "adamw"])
def test_the_flat_optimizer_is_torchs_over_separate_parameters(kind: str, decay: float) -> None:
    flat, plain = Flat(OptimizerConfig(kind=kind, weight_decay=decay)), Small()
    matrices = [plain.linear.weight, plain.table.weight]
    others = [p for p in plain.parameters() if not any(p is m for m in matrices)]
    groups = [{"params": matrices, "weight_decay": decay}, {"params": others, "weight_decay": 0.0}]
    theirs = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[kind](
        groups, betas=(0.9, 0.98), eps=1e-9
    )
    for seed, rate in enumerate(RATES):
        scale = 10.0 ** (seed % 3 - 1)
        flat.update(gradients_of(plain, seed, scale), rate)
        for group in theirs.param_groups:
            group["lr"] = rate
        for parameter, gradient in zip(
            plain.parameters(), gradients_of(plain, seed, scale), strict=True
        ):
            parameter.grad = gradient
        theirs.step()
        for (name, one), other in zip(
            flat.model.named_parameters(), plain.parameters(), strict=True
        ):
            torch.testing.assert_close(
                one, other, atol=1e-6, rtol=1e-6, msg=lambda t, name=name: f"{name}: {t}"
            )


def test_only_matrices_decay() -> None:
    """Not norms, not biases, not position tables."""
    flat = Flat(OptimizerConfig(kind="adamw", weight_decay=0.5))
    before = {name: p.detach().clone() for name, p in flat.model.named_parameters()}
    flat.update(gradients_of(flat.model, 0, scale=0.0))  # no gradient: what moves is decayed
    moved = {n for n, p in flat.model.named_parameters() if not torch.equal(p, before[n])}
    assert moved == {"linear.weight", "table.weight"}
    for name in moved:
        after = dict(flat.model.named_parameters())[name]
        torch.testing.assert_close(after.detach(), before[name] * (1 - 0.1 * 0.5))


def test_adam_decays_through_the_gradient() -> None:
    flat = Flat(OptimizerConfig(kind="adam", weight_decay=0.5))
    before = flat.model.linear.weight.detach().clone()
    flat.update(gradients_of(flat.model, 0, scale=0.0))
    # L2: the gradient is 0.5 w, the first update of Adam is its sign
    torch.testing.assert_close(
        flat.model.linear.weight.detach(), before - 0.1 * before.sign(), atol=1e-5, rtol=0
    )


def test_every_weight_is_in_one_group() -> None:
    flat = Flat(OptimizerConfig(weight_decay=0.3))
    decayed, others = (group["params"] for group in flat.optimizer.param_groups)
    assert [g["weight_decay"] for g in flat.optimizer.param_groups] == [0.3, 0.0]
    held = [element for p in (*decayed, *others) for element in range(p.numel())]
    assert len(held) == flat.weights.master.numel()
    (one,), (other,) = decayed, others
    assert one.data_ptr() == flat.weights.master.data_ptr()
    assert other.data_ptr() == flat.weights.master.data_ptr() + 4 * one.numel()
    for p in (one, other):  # the gradient is never copied
        place = p.data_ptr() - flat.weights.master.data_ptr()
        assert p.grad.data_ptr() == flat.weights.gradient.data_ptr() + place


@pytest.mark.parametrize("model", [nn.Linear(3, 2, bias=False), nn.LayerNorm(4)])
def test_one_of_the_groups_may_be_empty(model: nn.Module) -> None:
    flat = Flat(OptimizerConfig(weight_decay=0.1), model)
    before = model.weight.detach().clone()
    flat.update(gradients_of(model, 1))
    assert not torch.equal(before, model.weight)
    state = {name: t.clone() for name, t in optimizer_tensors(flat.optimizer).items()}
    load_optimizer_tensors(flat.optimizer, state)
    flat.update(gradients_of(model, 2))
    assert torch.isfinite(model.weight).all()


@pytest.mark.parametrize("kind", ["adam", "adamw"])
def test_the_state_survives_as_tensors(kind: str) -> None:
    config = OptimizerConfig(kind=kind, weight_decay=0.1)
    straight, resumed = Flat(config), Flat(config)
    for seed in (1, 2):
        straight.update(gradients_of(straight.model, seed))
    tensors = {name: t.clone() for name, t in optimizer_tensors(straight.optimizer).items()}
    resumed.weights.master.copy_(straight.weights.master)
    load_optimizer_tensors(resumed.optimizer, tensors)
    for seed in (3, 4):
        straight.update(gradients_of(straight.model, seed))
        resumed.update(gradients_of(straight.model, seed))
    for one, two in zip(straight.model.parameters(), resumed.model.parameters(), strict=True):
        assert torch.equal(one, two)
    assert set(tensors) == {f"{i}.{n}" for i in (0, 1) for n in ("step", "exp_avg", "exp_avg_sq")}


def test_a_fresh_state_has_no_tensors() -> None:
    flat = Flat(OptimizerConfig())
    assert optimizer_tensors(flat.optimizer) == {}
    load_optimizer_tensors(flat.optimizer, {})
    flat.update(gradients_of(flat.model, 1))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("0.exp_avg", torch.zeros(3)),  # another model's
        ("1.exp_avg_sq", torch.zeros(2, 3)),  # one parameter's, as before release 0.3
        ("7.exp_avg", torch.zeros(3)),
    ],
)
def test_a_state_of_another_model_is_refused(name: str, value: torch.Tensor) -> None:
    flat = Flat(OptimizerConfig())
    flat.update(gradients_of(flat.model, 1))
    tensors = {key: t.clone() for key, t in optimizer_tensors(flat.optimizer).items()}
    with pytest.raises(CheckpointError, match="another model or release") as caught:
        load_optimizer_tensors(flat.optimizer, {**tensors, name: value})
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)
