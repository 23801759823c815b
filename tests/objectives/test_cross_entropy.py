"""Tests of objectives.cross_entropy."""

import math
from typing import Any, Self

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from dialogist.data.collate import EncodedPair, collate, differing
from dialogist.errors import ConfigError
from dialogist.models.base import Outputs
from dialogist.models.transformer import TransformerConfig
from dialogist.nn.output_layer import LogProbs, TokenLogProbs, VocabularyProjection
from dialogist.objectives.cross_entropy import (
    ContrastConfig,
    CrossEntropy,
    CrossEntropyConfig,
    margin_loss,
    symmetric_divergence,
    unlikelihood_loss,
)
from dialogist.recipe.recipe_config import Recipe
from dialogist.tensors import Batch
from dialogist.tokenizers import Symbols

# Cross-entropy by hand on three tokens, padding, label smoothing against torch.

NOTHING = torch.zeros(1, 0, dtype=torch.long)
EMPTY = Batch(NOTHING, NOTHING.bool(), NOTHING, NOTHING, NOTHING.bool())


class Table:
    """A `TokenDistribution` that is there already: (M, X) log-probabilities."""

    def __init__(self, log_probs: Tensor) -> None:
        self.log_probs = log_probs
        self.means_asked_for = 0

    def of(self, targets: Tensor, with_mean: bool = False) -> TokenLogProbs:
        self.means_asked_for += with_mean
        chosen = self.log_probs.gather(1, targets[:, None]).squeeze(1)
        return TokenLogProbs(chosen, self.log_probs.mean(1) if with_mean else None)

    def all(self) -> Tensor:
        raise AssertionError("the loss needs two numbers per target, not the distribution")


class Fixed:
    """A model that says the same whatever it is given."""

    longest_target = None

    def __init__(self, log_probs: Tensor, targets: Tensor) -> None:
        self.table = Table(log_probs)
        self.outputs = Outputs(self.table, targets)

    def forward(self, batch: Batch, need_weights: bool = False) -> Outputs:
        assert not need_weights
        return self.outputs

    def start(self, batch: Batch) -> None:
        raise NotImplementedError

    def step(self, tokens: Tensor, state: object) -> None:
        raise NotImplementedError

    def train(self, mode: bool = True) -> Self:
        return self

    def eval(self) -> Self:
        return self


def by_hand() -> Fixed:
    return Fixed(torch.tensor([[0.5, 0.25, 0.25], [0.1, 0.1, 0.8]]).log(), torch.tensor([0, 1]))


def test_by_hand() -> None:
    loss = CrossEntropy()(by_hand(), EMPTY)
    assert loss.value.item() == pytest.approx(math.log(2) + math.log(10))
    assert loss.count == 2
    assert loss.terms == {"nll": pytest.approx(math.log(20))}


def test_label_smoothing_by_hand() -> None:
    loss = CrossEntropy(0.3)(by_hand(), EMPTY)
    uniform = (math.log(2) + 2 * math.log(4) + 2 * math.log(10) + math.log(1.25)) / 3
    assert loss.value.item() == pytest.approx(0.7 * math.log(20) + 0.3 * uniform)
    assert loss.terms["nll"] == pytest.approx(math.log(20))


def test_the_mean_is_computed_only_for_smoothing() -> None:
    for smoothing, times in ((0.0, 0), (0.1, 1)):
        model = by_hand()
        CrossEntropy(smoothing)(model, EMPTY)
        assert model.table.means_asked_for == times


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
def test_same_as_torch_with_gradients(smoothing: float) -> None:
    torch.manual_seed(0)
    logits = torch.randn(9, 7, requires_grad=True)
    targets = torch.randint(0, 7, (9,))
    loss = CrossEntropy(smoothing)(Fixed(logits.log_softmax(-1), targets), EMPTY)
    (gradient,) = torch.autograd.grad(loss.value, logits)
    expected = functional.cross_entropy(logits, targets, reduction="sum", label_smoothing=smoothing)
    torch.testing.assert_close(loss.value, expected)
    torch.testing.assert_close(gradient, torch.autograd.grad(expected, logits)[0])


def test_padding_is_ignored_and_tokens_are_counted() -> None:
    torch.manual_seed(0)
    model = TransformerConfig(
        d_model=8,
        heads=2,
        feed_forward=8,
        encoder_layers=1,
        decoder_layers=1,
        dropout=0.0,
        attention_output_dropout=0.0,
    ).build(9)

    def batch(padding: int, tokens: list[int]) -> Batch:
        ids = torch.tensor([[*tokens, *[0] * padding]])
        mask = torch.arange(ids.shape[1])[None] < len(tokens)
        source = torch.tensor([[1, 5, 2]])
        return Batch(source, source > 0, ids, ids.roll(-1), mask)

    short = CrossEntropy(0.1)(model, batch(0, [1, 4, 6]))
    long = CrossEntropy(0.1)(model, batch(5, [1, 4, 6]))
    # the target of the last real place differs through the roll: compare the first two places
    assert short.count == long.count == 3
    outputs = model.forward(batch(5, [1, 4, 6]))
    table = outputs.log_probs.all()
    assert table.shape[0] == 3
    expected = functional.cross_entropy(
        table, outputs.targets, reduction="sum", label_smoothing=0.1
    )
    torch.testing.assert_close(long.value, expected)
    parameters = list(model.parameters())
    ours = torch.autograd.grad(long.value, parameters)
    for one, other in zip(ours, torch.autograd.grad(expected, parameters), strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)


def test_losses_of_batches_add_up() -> None:
    torch.manual_seed(0)
    log_probs, targets = torch.randn(6, 5).log_softmax(-1), torch.randint(0, 5, (6,))
    whole = CrossEntropy(0.1)(Fixed(log_probs, targets), EMPTY)
    parts = [
        CrossEntropy(0.1)(Fixed(log_probs[s], targets[s]), EMPTY)
        for s in (slice(0, 2), slice(2, 6))
    ]
    torch.testing.assert_close(sum(p.value for p in parts), whole.value)
    assert sum(p.count for p in parts) == whole.count
    assert sum(p.terms["nll"] for p in parts) == pytest.approx(whole.terms["nll"])


def test_configuration() -> None:
    assert CrossEntropyConfig(label_smoothing=0.2).build(Symbols(0, 1, 2)).label_smoothing == 0.2
    for wrong in (1.0, -0.1):
        with pytest.raises(ConfigError, match="label_smoothing"):
            CrossEntropyConfig.parse({"label_smoothing": wrong})


# The coverage loss (See et al. 2017, equations 12 and 13) by hand; who is refused it.


class CoverageTable:
    """A `TokenDistribution` that is there already: (M, X) log-probabilities."""

    def __init__(self, log_probs: Tensor) -> None:
        self.log_probs = log_probs

    def of(self, targets: Tensor, with_mean: bool = False) -> TokenLogProbs:
        chosen = self.log_probs.gather(1, targets[:, None])[:, 0]
        return TokenLogProbs(chosen, self.log_probs.mean(1) if with_mean else None)

    def all(self) -> Tensor:
        raise AssertionError("the loss needs two numbers per target, not the distribution")


class Attentive:
    """Says 1/2, 1/4, 1/4 twice; attended to two places by the given weights (T, 2)."""

    longest_target = None

    def __init__(self, weights: Tensor | None) -> None:
        self.weights = weights

    def forward(self, batch: Batch, need_weights: bool = False) -> Outputs:
        table = CoverageTable(torch.tensor([[0.5, 0.25, 0.25]] * 2).log())
        coverage = None
        if self.weights is not None:
            before = torch.stack([torch.zeros(2), self.weights[0]])
            coverage = torch.minimum(self.weights, before).sum(dim=1)
        return Outputs(table, torch.tensor([0, 2]), coverage=coverage)

    def start(self, batch: Batch) -> None:
        raise NotImplementedError

    def step(self, tokens: Tensor, state: object) -> None:
        raise NotImplementedError

    def train(self, mode: bool = True) -> Self:
        return self

    def eval(self) -> Self:
        return self


NLL = math.log(2) + math.log(4)


def test_by_hand_coverage_loss() -> None:
    """Second position: min(.1, .7) + min(.9, .3) = .4; the first has nothing before it."""
    weights = torch.tensor([[0.7, 0.3], [0.1, 0.9]], requires_grad=True)
    loss = CrossEntropy(coverage_weight=2.0)(Attentive(weights), EMPTY)
    assert loss.value.item() == pytest.approx(NLL + 2 * 0.4)
    assert loss.terms == {"nll": pytest.approx(NLL), "coverage": pytest.approx(0.4)}
    assert loss.count == 2
    loss.value.backward()  # lambda goes to the smaller of each pair
    torch.testing.assert_close(weights.grad, torch.tensor([[0.0, 2.0], [2.0, 0.0]]))


def test_beside_label_smoothing() -> None:
    weights = torch.tensor([[0.7, 0.3], [0.1, 0.9]])
    smooth = CrossEntropy(0.3)(Attentive(weights), EMPTY)
    both = CrossEntropy(0.3, coverage_weight=0.5)(Attentive(weights), EMPTY)
    assert both.value.item() == pytest.approx(smooth.value.item() + 0.2)
    assert both.terms["nll"] == smooth.terms["nll"] == pytest.approx(NLL)


def test_without_a_weight_it_does_not_count() -> None:
    weights = torch.tensor([[0.7, 0.3], [0.1, 0.9]], requires_grad=True)
    loss = CrossEntropy()(Attentive(weights), EMPTY)
    assert loss.value.item() == pytest.approx(NLL)
    assert loss.terms == {"nll": pytest.approx(NLL)}
    assert not loss.value.requires_grad


def test_a_model_without_coverage() -> None:
    with pytest.raises(AssertionError, match="without coverage"):
        CrossEntropy(coverage_weight=1.0)(Attentive(None), EMPTY)


def test_configuration_coverage_loss() -> None:
    objective = CrossEntropyConfig(coverage_weight=0.5).build(Symbols(0, 1, 2))
    assert (objective.label_smoothing, objective.coverage_weight) == (0.0, 0.5)
    for wrong in (-0.1, float("nan"), float("inf")):
        with pytest.raises(ConfigError, match="coverage_weight"):
            CrossEntropyConfig.parse({"coverage_weight": wrong})


def recipe(model: dict[str, object], weight: float) -> Recipe:
    data = {"train": [{"path": "a.jsonl"}]}
    objective = {"coverage_weight": weight}
    values = {"name": "r", "data": data, "model": model, "objective": objective}
    return Recipe.parse(values, "r.yaml")


@pytest.mark.parametrize(
    "model",
    [
        {"kind": "recurrent"},
        {"kind": "recurrent", "pointer": True},
        {"kind": "transformer", "pointer": True},
    ],
)
def test_recipes_of_models_without_coverage_are_refused_it(model: dict[str, object]) -> None:
    with pytest.raises(ConfigError) as caught:
        recipe(model, 1.0)
    assert str(caught.value) == (
        "r.yaml: objective.coverage_weight needs model.coverage: true, of a recurrent model or a "
        "Transformer with a pointer"
    )
    assert recipe(model, 0.0).objective.kind == "cross-entropy"


@pytest.mark.parametrize(
    "pointer", [{"kind": "recurrent"}, {"kind": "transformer", "pointer": True}]
)
def test_a_recipe_with_coverage(pointer: dict[str, object]) -> None:
    found = recipe({**pointer, "coverage": True}, 1.0)
    assert isinstance(found.objective, CrossEntropyConfig)
    assert found.objective.coverage_weight == 1.0


def test_coverage_of_a_transformer_needs_its_pointer() -> None:
    with pytest.raises(ConfigError, match="'pointer'"):
        recipe({"kind": "transformer", "coverage": True}, 0.0)


# R-Drop and corrupted summaries: the numbers by hand, and what they do to a model.

SYMBOLS = Symbols(0, 1, 2, 3, 12)
BATCH = collate([EncodedPair((1, 5, 2), (1, 0, 2))], SYMBOLS)


class RowTable:
    def __init__(self, *rows: list[float]) -> None:
        self.log_probs = torch.tensor(rows).log()

    def of(self, targets: Tensor, with_mean: bool = False) -> TokenLogProbs:
        return TokenLogProbs(self.log_probs.gather(1, targets[:, None])[:, 0], None)

    def all(self) -> Tensor:
        return self.log_probs


class Twofold(nn.Module):
    """Says one thing at the first pass, another at the second."""

    def __init__(self) -> None:
        super().__init__()
        self.passes = [RowTable([0.5, 0.5]), RowTable([0.8, 0.2])]

    def forward(self, batch: Batch, need_weights: bool = False) -> Outputs:
        return Outputs(self.passes.pop(0), torch.tensor([0]))


def test_r_drop_by_hand() -> None:
    """KL(p||q) + KL(q||p) = (0.5-0.8) ln(0.5/0.8) + (0.5-0.2) ln(0.5/0.2)."""
    both = 0.3 * math.log(1.6) + 0.3 * math.log(2.5)
    apart = symmetric_divergence(RowTable([0.5, 0.5]), RowTable([0.8, 0.2]))
    assert apart.item() == pytest.approx(both / 2)
    loss = CrossEntropy(r_drop=3.0)(Twofold().train(), BATCH)  # type: ignore[arg-type]
    nll = (math.log(2) + math.log(1.25)) / 2
    assert loss.terms == {
        "nll": pytest.approx(nll),
        "divergence": pytest.approx(both / 2),
    }
    assert loss.value.item() == pytest.approx(nll + 3.0 * (both / 2) / 2)
    assert loss.count == 1


def test_one_pass_where_nothing_is_dropped() -> None:
    model = Twofold().eval()
    loss = CrossEntropy(r_drop=3.0)(model, BATCH)  # type: ignore[arg-type]
    assert (len(model.passes), set(loss.terms)) == (1, {"nll"})


def transformer(**more: Any) -> Any:
    sizes = {"d_model": 16, "heads": 2, "feed_forward": 16, "encoder_layers": 1}
    torch.manual_seed(0)
    return TransformerConfig.parse({**sizes, "decoder_layers": 1, **more}).build(12)


@pytest.mark.parametrize("pointer", [False, True])
def test_r_drop_brings_two_passes_together(pointer: bool) -> None:
    batch = collate(
        [EncodedPair((1, 5, 6, 2), (1, 7, 8, 9, 2)), EncodedPair((1, 6, 2), (1, 9, 2))], SYMBOLS
    )

    def last(r_drop: float) -> float:
        model = transformer(pointer=pointer, dropout=0.3, attention_output_dropout=0.3)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
        apart = []
        for step in range(80):
            torch.manual_seed(step)
            loss = CrossEntropy(r_drop=r_drop)(model, batch)
            optimizer.zero_grad()
            (loss.value / loss.count).backward()
            optimizer.step()
            apart.append(loss.terms["divergence"])
        return sum(apart[-20:])

    assert last(5.0) < 0.7 * last(1e-9)


def test_where_a_corrupted_summary_is_wrong() -> None:
    right, other = (1, 5, 6, 7, 8, 2), (1, 5, 9, 10, 7, 8, 11, 2)
    assert differing(right, other) == [2, 3, 6]
    assert differing(right, right) == []


PAIRS = [
    EncodedPair((1, 5, 2), (1, 7, 8, 2)),
    EncodedPair((1, 5, 6, 2), (1, 7, 8, 9, 2), corrupted=(1, 7, 10, 9, 2)),
]


def test_the_batch_holds_corrupted_targets_of_some() -> None:
    wrong = collate(PAIRS, SYMBOLS).corrupted
    assert wrong is not None
    assert wrong.rows.tolist() == [1]
    assert wrong.target_in.tolist() == [[1, 7, 10, 9]]
    assert wrong.target_out.tolist() == [[7, 10, 9, 2]]
    assert wrong.wrong.tolist() == [[False, True, False, False]]
    assert collate(PAIRS[:1], SYMBOLS).corrupted is None


def test_unlikelihood_by_hand() -> None:
    wrong = collate(PAIRS, SYMBOLS).corrupted
    assert wrong is not None
    said = torch.tensor([0.9, 0.25, 0.5, 0.5]).log()
    assert unlikelihood_loss(said, wrong).item() == pytest.approx(-math.log(0.75), abs=1e-3)
    sure = torch.zeros(4, requires_grad=True)  # p = 1: the loss is finite, and so is its gradient
    unlikelihood_loss(sure, wrong).backward()
    assert sure.grad is not None
    assert 0 < sure.grad[1].item() < 1e5


def test_margin_by_hand() -> None:
    """Right: mean -0.5 of four; corrupted: mean -0.7; 0.5 above was wanted, 0.2 is there."""
    batch = collate(PAIRS, SYMBOLS)
    right = torch.tensor([-9.0, -9.0, -9.0, -0.5, -0.5, -0.5, -0.5])
    said = torch.tensor([-0.4, -1.6, -0.4, -0.4])
    assert margin_loss(said, right, batch, 0.5).item() == pytest.approx(4 * 0.3)
    assert margin_loss(said, right, batch, 0.1).item() == 0.0


class Same(nn.Module):
    """Says everything with the probabilities of one vector of logits."""

    def __init__(self) -> None:
        super().__init__()
        self.output = VocabularyProjection(1, 12)
        nn.init.zeros_(self.output.weight)
        nn.init.zeros_(self.output.bias)

    def start(self, batch: Batch) -> "Same":
        return self

    def select(self, rows: torch.Tensor) -> "Same":
        return self

    def force(self, batch: Batch, state: "Same", need_weights: bool = False) -> Outputs:
        return self.forward(batch)

    def forward(self, batch: Batch, need_weights: bool = False) -> Outputs:
        hidden = torch.zeros(batch.target_tokens, 1)
        return Outputs(LogProbs(self.output, hidden), batch.target_out[batch.target_mask])


def test_the_wrong_token_alone_is_pushed_down() -> None:
    model, batch = Same().train(), collate(PAIRS, SYMBOLS)
    config = ContrastConfig.parse({"weight": 2.0})
    loss = CrossEntropy(contrast=config)(model, batch)  # type: ignore[arg-type]
    plain = CrossEntropy()(model, batch)  # type: ignore[arg-type]
    assert loss.terms["unlikelihood"] == pytest.approx(-math.log(11 / 12 + 1e-4))
    more = loss.value - plain.value
    assert more.item() == pytest.approx(2 * loss.terms["unlikelihood"], rel=1e-5)
    (gradient,) = torch.autograd.grad(more, model.output.bias)
    assert gradient[10] > 0  # a step down the gradient makes it less probable
    assert (gradient[:10] < 0).all()
    assert CrossEntropy(contrast=config)(model.eval(), batch).terms.keys() == {"nll"}  # type: ignore[arg-type]
    right = collate(PAIRS[:1], SYMBOLS)  # no row of this batch has one: the same terms
    assert CrossEntropy(contrast=config)(model.train(), right).terms["unlikelihood"] == 0  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["unlikelihood", "margin"])
def test_what_is_wrong_becomes_rarer_than_without(kind: str) -> None:
    """A dialogue is seen with two summaries; one of them is said to be wrong."""
    pairs = [
        EncodedPair((1, 5, 6, 2), (1, 7, 8, 2), corrupted=(1, 7, 9, 2)),
        EncodedPair((1, 5, 6, 2), (1, 7, 9, 2)),
    ]

    def wrong(config: ContrastConfig | None) -> float:
        model = transformer(dropout=0.0, attention_output_dropout=0.0, pointer=True)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
        objective = CrossEntropy(contrast=config)
        for _ in range(60):
            loss = objective(model, collate(pairs, SYMBOLS))
            optimizer.zero_grad()
            (loss.value / loss.count).backward()
            optimizer.step()
        table = model.forward(collate(pairs[:1], SYMBOLS)).log_probs.all()
        return float(table[1, 9].detach().exp())

    assert wrong(ContrastConfig.parse({"kind": kind, "margin": 2.0})) < wrong(None) - 0.1


def test_configuration_levers() -> None:
    values = {"r_drop": 1.5, "contrast": {"kind": "margin", "corruption": {"errors": ["name"]}}}
    objective = CrossEntropyConfig.parse(values).build(SYMBOLS)
    assert objective.r_drop == 1.5
    assert objective.contrast is not None
    assert objective.contrast.corruption.errors == ("name",)
