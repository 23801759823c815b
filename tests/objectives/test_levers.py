"""R-Drop and corrupted summaries: the numbers by hand, and what they do to a model."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from dialogist.batch import Batch
from dialogist.data.collate import Pair, collate, differing
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
from dialogist.tokenizers import Symbols

SYMBOLS = Symbols(0, 1, 2, 3, 12)
BATCH = collate([Pair((1, 5, 2), (1, 0, 2))], SYMBOLS)


class Table:
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
        self.passes = [Table([0.5, 0.5]), Table([0.8, 0.2])]

    def forward(self, batch: Batch, need_weights: bool = False) -> Outputs:
        return Outputs(self.passes.pop(0), torch.tensor([0]))


def test_r_drop_by_hand() -> None:
    """KL(p||q) + KL(q||p) = (0.5-0.8) ln(0.5/0.8) + (0.5-0.2) ln(0.5/0.2)."""
    both = 0.3 * math.log(1.6) + 0.3 * math.log(2.5)
    apart = symmetric_divergence(Table([0.5, 0.5]), Table([0.8, 0.2]))
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
    batch = collate([Pair((1, 5, 6, 2), (1, 7, 8, 9, 2)), Pair((1, 6, 2), (1, 9, 2))], SYMBOLS)

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
    Pair((1, 5, 2), (1, 7, 8, 2)),
    Pair((1, 5, 6, 2), (1, 7, 8, 9, 2), corrupted=(1, 7, 10, 9, 2)),
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
        Pair((1, 5, 6, 2), (1, 7, 8, 2), corrupted=(1, 7, 9, 2)),
        Pair((1, 5, 6, 2), (1, 7, 9, 2)),
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


def test_configuration() -> None:
    values = {"r_drop": 1.5, "contrast": {"kind": "margin", "corruption": {"errors": ["name"]}}}
    objective = CrossEntropyConfig.parse(values).build(SYMBOLS)
    assert objective.r_drop == 1.5
    assert objective.contrast is not None
    assert objective.contrast.corruption.errors == ("name",)
