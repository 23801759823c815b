"""The coverage loss (See et al. 2017, equations 12 and 13) by hand; who is refused it."""

import math
from typing import Self

import pytest
import torch
from torch import Tensor

from dialogist.batch import Batch
from dialogist.errors import ConfigError
from dialogist.models.base import Outputs
from dialogist.nn.output_layer import TokenLogProbs
from dialogist.objectives.cross_entropy import CrossEntropy, CrossEntropyConfig
from dialogist.recipe.config import Recipe
from dialogist.tokenizers import Symbols

NOTHING = torch.zeros(1, 0, dtype=torch.long)
EMPTY = Batch(NOTHING, NOTHING.bool(), NOTHING, NOTHING, NOTHING.bool())


class Table:
    """A `Distribution` that is there already: (M, X) log-probabilities."""

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
        table = Table(torch.tensor([[0.5, 0.25, 0.25]] * 2).log())
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


def test_by_hand() -> None:
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


def test_configuration() -> None:
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
        "r.yaml: objective.coverage_weight needs model.kind recurrent with model.coverage: true"
    )
    assert recipe(model, 0.0).objective.kind == "cross-entropy"


def test_a_recipe_with_coverage() -> None:
    found = recipe({"kind": "recurrent", "coverage": True}, 1.0)
    assert isinstance(found.objective, CrossEntropyConfig)
    assert found.objective.coverage_weight == 1.0
