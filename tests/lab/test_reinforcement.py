"""The Leader-Writer losses: signs and numbers of equations 19 to 23 (KDD 2019)."""

import random
from typing import Any

import pytest
import torch
from rouge_score.rouge_scorer import RougeScorer

from dialogist_lab.data.batching import EncodedPair, collate
from dialogist_lab.decoding import Hypothesis, Symbols
from dialogist_lab.models.generator import Batch
from dialogist_lab.papers import leader_writer
from dialogist_lab.papers.leader_writer import LeaderWriter, LeaderWriterConfig, LeaderWriterLoss

SYMBOLS = Symbols(pad=0, unk=3, bos=1, eos=2, size=12)
PAIRS = (
    EncodedPair((1, 5, 6, 7, 8, 2), (1, 9, 10, 5, 11, 2), (1, 3), (3, 4), (3, 5)),
    EncodedPair((1, 5, 6, 7, 2), (1, 9, 2), (1,), (5,), (2,)),
)


def hypothesis(*tokens: int, finished: bool = True) -> Hypothesis:
    return Hypothesis(tokens, 0.0, 0.0, finished)


def small_model() -> LeaderWriter:
    torch.manual_seed(0)
    sizes = {"embedding": 8, "width": 8, "heads": 2, "feed_forward": 8, "key_points": 3}
    layers = {"token_layers": 1, "utterance_layers": 1, "decoder_layers": 1, "leader_layers": 1}
    limits = {"utterance_tokens": 8, "target_tokens": 8, "pointer": True, "dropout": 0.0}
    return LeaderWriterConfig.parse({**sizes, **layers, **limits}).build(12)


def test_rouge_l_is_rouge_scores() -> None:
    scorer, chance = RougeScorer(["rougeL"]), random.Random(3)
    for _ in range(300):
        pair = [[chance.randrange(4) for _ in range(chance.randrange(9))] for _ in range(2)]
        texts = [" ".join(f"w{i}" for i in ids) for ids in pair]
        expected = scorer.score(*texts)["rougeL"].fmeasure
        assert leader_writer.rouge_l(pair[1], pair[0]) == pytest.approx(expected, abs=1e-6)


def test_references_end_before_the_end_symbol() -> None:
    batch = collate(PAIRS, SYMBOLS)
    assert leader_writer.target_ids(batch.target) == [[9, 10, 5, 11], [9]]


def test_samples_as_targets(monkeypatch: pytest.MonkeyPatch) -> None:
    """The gap is greedy less sampled; 13 is unknown and fed as such; what was cut has no end."""
    texts = {
        "greedy": [hypothesis(7, 8), hypothesis(7), hypothesis()],
        "sample": [hypothesis(7, 13), hypothesis(8, finished=False), hypothesis()],
    }
    monkeypatch.setattr(leader_writer, "search", lambda *given: texts[given[3].strategy])
    source: Any = torch.zeros(3, 1)
    wanted = [[7, 8], [8], []]
    samples = leader_writer.draw_samples(None, source, source, wanted, SYMBOLS, max_tokens=9)
    torch.testing.assert_close(samples.gap, torch.tensor([0.5, -1.0, 0.0]))
    assert samples.reward == pytest.approx(0.5)
    assert samples.targets.labels.tolist() == [[7, 13, 2], [8, 0, 0], [2, 0, 0]]
    assert samples.targets.inputs.tolist() == [[1, 7, 3], [1, 8, 0], [1, 2, 0]]
    assert samples.targets.mask.sum(dim=1).tolist() == [3, 1, 1]


def test_means_by_hand() -> None:
    mask = torch.tensor([[True, True, True], [True, False, False]])
    values, rows = torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.tensor([1, 1])
    means = leader_writer.dialogue_means(values, mask, rows, 2)
    assert means.tolist() == [0, 2.5]


def parts(model: LeaderWriter, batch: Batch, **weights: float) -> tuple[float, dict[str, float]]:
    config = {"key_points": 0.0, "sub_summaries": 0.0, **weights}
    loss = LeaderWriterLoss.parse(config)(model, batch, SYMBOLS)
    assert loss.count == len(batch)
    return float(loss.value.detach()), dict(loss.terms)


def test_cross_entropies_are_means_over_a_dialogue() -> None:
    """Equations 19 and 20, each from the distributions themselves."""
    model, batch = small_model().eval(), collate(PAIRS, SYMBOLS)
    outputs = model(batch)
    assert outputs.plan is not None
    lead = outputs.plan.log_probs.of(outputs.plan.targets).target.tolist()
    write = outputs.log_probs.of(outputs.targets).target.tolist()
    # the first: 2 key points and the end; sub-summaries of 2 and 2 words and their ends
    wanted_lead = -sum(lead[:3]) / 3 - sum(lead[3:]) / 2
    wanted_write = -sum(write[:6]) / 6 - sum(write[6:]) / 2
    assert parts(model, batch, key_points=1.0)[0] == pytest.approx(wanted_lead, abs=1e-5)
    assert parts(model, batch, sub_summaries=1.0)[0] == pytest.approx(wanted_write, abs=1e-5)
    value, terms = parts(model, batch, key_points=0.25, sub_summaries=0.75)
    assert value == pytest.approx(0.25 * wanted_lead + 0.75 * wanted_write, abs=1e-5)
    assert terms["nll"] == pytest.approx(value)


def train(objective: Any, model: Any, batch: Batch, updates: int) -> list[dict[str, float]]:
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    terms = []
    for _ in range(updates):
        model.train()
        loss = objective(model, batch, SYMBOLS)
        optimizer.zero_grad()
        (loss.value / loss.count).backward()
        optimizer.step()
        terms.append({name: value / loss.count for name, value in loss.terms.items()})
    return terms


@pytest.mark.parametrize("which", ["key_points_reward", "sub_summaries_reward"])
def test_reinforcement_raises_the_reward(which: str) -> None:
    """The reinforcement loss alone, on one batch: rewards rise, though no target is ever shown."""
    config = {"key_points": 0, "sub_summaries": 0, which: 1.0, "longest_plan": 4, "longest_text": 6}
    objective = LeaderWriterLoss.parse(config)
    terms = train(objective, small_model(), collate(PAIRS * 16, SYMBOLS), 150)
    rewards = [term[which] for term in terms]
    assert sum(rewards[-10:]) > sum(rewards[:10]) + 1


def test_reinforcement_alone_is_slow() -> None:
    """Section 4.5.3: at equal steps, cross-entropy is there when reinforcement is still far off."""
    reached = {}
    for name, learned in (("cross-entropy", 0.5), ("reinforcement", 0.0)):
        keys = ("key_points", "sub_summaries", "key_points_reward", "sub_summaries_reward")
        weights = dict(zip(keys, [learned, learned, 0.5 - learned, 0.5 - learned], strict=True))
        objective = LeaderWriterLoss.parse({**weights, "longest_plan": 4, "longest_text": 6})
        model, batch = small_model(), collate(PAIRS * 4, SYMBOLS)
        train(objective, model, batch, 60)
        value, _ = parts(model.eval(), batch, key_points=0.5, sub_summaries=0.5)
        reached[name] = value / len(batch)
    assert reached["cross-entropy"] < 0.2
    assert reached["reinforcement"] > 1.0


def test_samples_follow_torchs_seed_and_are_for_training_alone() -> None:
    model, batch = small_model().train(), collate(PAIRS, SYMBOLS)
    config = {"key_points": 0, "sub_summaries": 0, "key_points_reward": 0.5}
    objective = LeaderWriterLoss.parse(
        {**config, "sub_summaries_reward": 0.5, "longest_plan": 4, "longest_text": 6}
    )
    values = []
    for seed in (3, 3, 4):
        torch.manual_seed(seed)
        values.append(objective(model, batch, SYMBOLS).value.item())
        assert model.training
    assert values[0] == values[1] != values[2]
    assert "key_points_reward" not in objective(model.eval(), batch, SYMBOLS).terms
