"""Tests of objectives.self_critical."""

import math
import random
from typing import Any

import pytest
import torch
from rouge_score.rouge_scorer import RougeScorer
from torch import Tensor, nn

from dialogist.data.collate import EncodedPair, collate
from dialogist.decoding.beam_search import forced_targets
from dialogist.decoding.search import Hypothesis
from dialogist.models.base import Outputs
from dialogist.models.transformer import TransformerConfig
from dialogist.nn.output_layer import LogProbs, VocabularyProjection
from dialogist.objectives import per_dialogue
from dialogist.tensors import FIRST_KEY_POINT, Batch
from dialogist.tokenizers import Symbols, TokenizerConfig, build_tokenizer, placeholder
from dialogist_lab.papers.leader_writer import (
    LeaderWriter,
    LeaderWriterConfig,
    LeaderWriterLossConfig,
)
from dialogist_lab.papers.self_critical import (
    SelfCriticalConfig,
    UnsupportedCounter,
    per_sequence,
    rollouts,
    rouge_l,
    target_ids,
)


def drawn(count: int, seed: int) -> list[list[int]]:
    chance = random.Random(seed)
    return [[chance.randrange(4) for _ in range(chance.randrange(9))] for _ in range(count)]


def test_rouge_l_is_rouge_scores() -> None:
    scorer = RougeScorer(["rougeL"])
    candidates, references = drawn(200, 3), drawn(200, 4)
    found = rouge_l(candidates, references).tolist()
    for candidate, reference, value in zip(candidates, references, found, strict=True):
        texts = [" ".join(f"w{i}" for i in ids) for ids in (reference, candidate)]
        assert value == pytest.approx(scorer.score(*texts)["rougeL"].fmeasure, abs=1e-6)


def test_nothing_scores_nothing() -> None:
    assert rouge_l([[], [1], []], [[1], [], []]).tolist() == [0, 0, 0]
    assert rouge_l([], []).tolist() == []


# Self-critical losses: signs and numbers of equations 19 to 23 (KDD 2019).

SYMBOLS = Symbols(0, 1, 2, 3, 12)
PAIRS = (
    EncodedPair((1, 5, 6, 7, 8, 2), (1, 9, 10, 5, 11, 2), "one", (1, 3), (3, 4), (3, 5)),
    EncodedPair((1, 5, 6, 7, 2), (1, 9, 2), "two", (1,), (5,), (2,)),
)


def said(*tokens: int, finished: bool = True) -> Hypothesis:
    return Hypothesis(tokens, 0.0, 0.0, finished)


def leader_writer() -> LeaderWriter:
    torch.manual_seed(0)
    sizes = {"embedding": 8, "width": 8, "heads": 2, "feed_forward": 8, "key_points": 3}
    layers = {"token_layers": 1, "utterance_layers": 1, "decoder_layers": 1, "leader_layers": 1}
    limits = {"utterance_tokens": 8, "target_tokens": 8, "pointer": True, "dropout": 0.0}
    return LeaderWriterConfig.parse({**sizes, **layers, **limits}).build(12)


def test_the_gap_is_greedy_less_sampled() -> None:
    greedy, sampled = [said(7, 8), said(7)], [said(7, 9), said(7, 8)]
    gap, reward = rollouts(greedy, sampled, [[7, 8], [7, 8]])
    torch.testing.assert_close(gap, torch.tensor([0.5, 2 / 3 - 1]))
    assert reward == pytest.approx(0.75)


def test_references_end_before_the_end_symbol() -> None:
    batch = collate(PAIRS, SYMBOLS)
    assert target_ids(batch.target_out, batch.target_mask) == [[9, 10, 5, 11], [9]]


def test_samples_as_targets() -> None:
    inputs, out, mask = forced_targets([said(7, 13), said(8, finished=False), said()], SYMBOLS)
    assert out.tolist() == [[7, 13, 2], [8, 0, 0], [2, 0, 0]]
    assert inputs.tolist() == [[1, 7, 3], [1, 8, 0], [1, 2, 0]]  # 13 is unknown: fed as such
    assert mask.tolist() == [[True] * 3, [True, False, False], [True, False, False]]


def test_means_by_hand() -> None:
    log_probs = torch.tensor([1.0, 2.0, 3.0, 4.0])
    mask = torch.tensor([[True, True, True], [True, False, False]])
    assert per_sequence(log_probs, mask).tolist() == [2, 4]
    owner = torch.tensor([1, 1])
    assert per_dialogue(log_probs, mask, owner, 2).tolist() == [0, 2.5]


class Fixed(nn.Module):
    """Says everything with the probabilities of one vector of logits."""

    longest_target = None

    def __init__(self) -> None:
        super().__init__()
        self.output = VocabularyProjection(1, 12)
        nn.init.zeros_(self.output.weight)
        nn.init.zeros_(self.output.bias)

    def forward(self, batch: Batch, need_weights: bool = False) -> Outputs:
        hidden = torch.zeros(batch.target_tokens, 1)
        return Outputs(LogProbs(self.output, hidden), batch.target_out[batch.target_mask])

    def start(self, batch: Batch) -> Any:
        return Rows(len(batch))

    def step(self, tokens: Tensor, state: Any) -> tuple[Tensor, Any]:
        return self.output.log_probs(torch.zeros(len(tokens), 1)), state


class Rows:
    def __init__(self, count: int) -> None:
        self.count = count

    def select(self, rows: Tensor) -> "Rows":
        return Rows(len(rows))


@pytest.mark.parametrize(("wanted", "sign"), [(7, 1), (8, -1)])
def test_a_better_sample_becomes_more_probable(
    monkeypatch: pytest.MonkeyPatch, wanted: int, sign: int
) -> None:
    """After equation 21: R(greedy) > R(sampled) lowers the sample's probability, < raises it."""
    model = Fixed().train()
    objective = SelfCriticalConfig(weight=1.0).build(SYMBOLS)
    monkeypatch.setattr(
        "dialogist_lab.papers.self_critical.roll_out", lambda *_: ([said(8)], [said(7)])
    )
    batch = collate([EncodedPair((1, 5, 2), (1, wanted, 2))], SYMBOLS)
    loss = objective(model, batch)  # type: ignore[arg-type]
    # gap * mean of log p(7), log p(end), both being log 1/12
    assert loss.value.item() == pytest.approx(-sign * math.log(1 / 12))
    loss.value.backward()
    assert model.output.bias.grad is not None
    gradient = model.output.bias.grad
    assert sign * gradient[7] < 0  # a step down the gradient raises what was better
    assert sign * gradient[4] > 0


def parts(model: LeaderWriter, batch: Batch, **weights: float) -> tuple[float, dict[str, float]]:
    config = {"key_points": 0.0, "sub_summaries": 0.0, **weights}
    loss = LeaderWriterLossConfig.parse(config).build(SYMBOLS)(model, batch)
    assert loss.count == len(batch)
    return float(loss.value.detach()), dict(loss.terms)


def test_cross_entropies_are_means_over_a_dialogue() -> None:
    """Equations 19 and 20, each from the distributions themselves."""
    model, batch = leader_writer().eval(), collate(PAIRS, SYMBOLS)
    outputs = model(batch)
    lead = outputs.plan.log_probs.of(outputs.plan.targets).target.tolist()
    write = outputs.log_probs.of(outputs.targets).target.tolist()
    # "one": 2 key points and the end; sub-summaries of 2 and 2 words and their ends
    wanted_lead = -sum(lead[:3]) / 3 - sum(lead[3:]) / 2
    wanted_write = -sum(write[:6]) / 6 - sum(write[6:]) / 2
    assert parts(model, batch, key_points=1.0)[0] == pytest.approx(wanted_lead, abs=1e-5)
    assert parts(model, batch, sub_summaries=1.0)[0] == pytest.approx(wanted_write, abs=1e-5)
    value, terms = parts(model, batch, key_points=0.25, sub_summaries=0.75)
    assert value == pytest.approx(0.25 * wanted_lead + 0.75 * wanted_write, abs=1e-5)
    assert terms["nll"] == pytest.approx(value)


def test_dialogues_add_up() -> None:
    model = leader_writer().eval()
    whole = parts(model, collate(PAIRS, SYMBOLS), key_points=0.5, sub_summaries=0.5)[0]
    alone = [
        parts(model, collate([p], SYMBOLS), key_points=0.5, sub_summaries=0.5)[0] for p in PAIRS
    ]
    assert whole == pytest.approx(sum(alone), abs=1e-5)


@pytest.mark.parametrize("which", ["key_points_reward", "sub_summaries_reward"])
def test_reinforcement_raises_the_reward(which: str) -> None:
    """The reinforcement loss alone, on one batch: rewards rise, though no target is ever shown."""
    model, batch = leader_writer(), collate(PAIRS * 16, SYMBOLS)
    config = {"key_points": 0, "sub_summaries": 0, which: 1.0, "longest_plan": 4, "longest_text": 6}
    objective = LeaderWriterLossConfig.parse(config).build(SYMBOLS)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    rewards = []
    for _ in range(150):
        model.train()
        loss = objective(model, batch)
        optimizer.zero_grad()
        (loss.value / loss.count).backward()
        optimizer.step()
        rewards.append(loss.terms[which] / loss.count)
    assert sum(rewards[-10:]) > sum(rewards[:10]) + 1


def test_reinforcement_alone_is_slow() -> None:
    """Section 4.5.3: at equal steps, cross-entropy is there when reinforcement is still far off."""
    reached = {}
    for name in ("cross-entropy", "reinforcement"):
        model, batch = leader_writer(), collate(PAIRS * 4, SYMBOLS)
        learned = name == "cross-entropy"
        weights = [0.5, 0.5, 0.0, 0.0] if learned else [0.0, 0.0, 0.5, 0.5]
        keys = ("key_points", "sub_summaries", "key_points_reward", "sub_summaries_reward")
        config = dict(zip(keys, weights, strict=True)) | {"longest_plan": 4, "longest_text": 6}
        objective = LeaderWriterLossConfig.parse(config).build(SYMBOLS)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(60):
            model.train()
            loss = objective(model, batch)
            optimizer.zero_grad()
            (loss.value / loss.count).backward()
            optimizer.step()
        model.eval()
        reached[name] = parts(model, batch, key_points=0.5, sub_summaries=0.5)[0] / len(batch)
    assert reached["cross-entropy"] < 0.2
    assert reached["reinforcement"] > 1.0


def test_nothing_is_sampled_in_validation() -> None:
    model = leader_writer().eval()
    config = {"key_points": 0.25, "sub_summaries": 0.25, "key_points_reward": 0.5}
    loss = LeaderWriterLossConfig.parse(config).build(SYMBOLS)(model, collate(PAIRS, SYMBOLS))
    assert "key_points_reward" not in loss.terms


def test_samples_repeat_with_the_seed_and_leave_training_mode_on() -> None:
    model = leader_writer().train()
    config = {"key_points": 0, "sub_summaries": 0, "key_points_reward": 0.5}
    objective = LeaderWriterLossConfig.parse(
        {**config, "sub_summaries_reward": 0.5, "longest_plan": 4, "longest_text": 6}
    ).build(SYMBOLS)
    values = []
    for seed in (3, 3, 4):
        torch.manual_seed(seed)
        values.append(objective(model, collate(PAIRS, SYMBOLS)).value.item())
    assert values[0] == values[1] != values[2]
    assert model.training


def test_a_flat_model_learns_from_its_reward() -> None:
    torch.manual_seed(0)
    sizes = {
        "d_model": 16,
        "heads": 2,
        "feed_forward": 16,
        "encoder_layers": 1,
        "decoder_layers": 1,
    }
    model = TransformerConfig.parse({**sizes, "dropout": 0, "attention_output_dropout": 0}).build(
        12
    )
    objective = SelfCriticalConfig(weight=1.0, max_tokens=6).build(SYMBOLS)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    rewards = []
    for _ in range(100):
        model.train()
        loss = objective(model, collate(PAIRS * 8, SYMBOLS))
        optimizer.zero_grad()
        (loss.value / loss.count).backward()
        optimizer.step()
        rewards.append(loss.terms["reward"] / loss.count)
    assert sum(rewards[-10:]) > sum(rewards[:10]) + 1
    assert FIRST_KEY_POINT == 3


def test_fines_are_taken_off_the_reward() -> None:
    fines = (torch.tensor([0.5]), torch.tensor([0.25]))
    gap, reward = rollouts([said(7, 8)], [said(7, 9)], [[7, 8]], fines)
    torch.testing.assert_close(gap, torch.tensor([(1 - 0.5) - (0.5 - 0.25)]))
    assert reward == pytest.approx(0.25)


def test_what_the_dialogue_does_not_bear_out_is_counted() -> None:
    texts = ["I will meet Peter at 5 o'clock on Monday.", "Fine, tell Lucy that too."] * 3
    tokenizer = build_tokenizer(TokenizerConfig(size=400), texts)
    ann, bo, cy = (placeholder(i) for i in range(3))
    source: list[int] = [tokenizer.bos_id]
    starts = []
    for speaker, text in zip((ann, bo), texts, strict=False):
        starts.append(len(source))
        source += tokenizer.encode(f"{speaker} {text}")
    pair = EncodedPair((*source, tokenizer.eos_id), (1, 2), "", tuple(starts))
    batch = collate([pair] * 4, tokenizer.symbols)
    summaries = (
        f"{ann} will meet Peter at 5.",
        f"{ann} will meet Steven at 7.",
        f"{bo} will tell {cy}.",
        "",
    )
    hypotheses = [said(*tokenizer.encode(text)) for text in summaries]
    assert UnsupportedCounter(tokenizer)(batch, hypotheses).tolist() == [0, 2, 1, 0]


def test_a_flat_pointer_model_learns_to_copy_from_its_reward() -> None:
    """Words beyond the vocabulary (12 and 13) are what the reward is for."""
    torch.manual_seed(0)
    sizes = {"d_model": 16, "heads": 2, "feed_forward": 16, "encoder_layers": 1}
    model = TransformerConfig.parse(
        {
            **sizes,
            "decoder_layers": 1,
            "pointer": True,
            "dropout": 0,
            "attention_output_dropout": 0,
        }
    ).build(12)
    pairs = [EncodedPair((1, 5, 12, 2), (1, 12, 2)), EncodedPair((1, 13, 6, 12, 2), (1, 13, 2))]
    objective = SelfCriticalConfig(weight=1.0, max_tokens=4).build(SYMBOLS)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    rewards = []
    for _ in range(100):
        model.train()
        loss = objective(model, collate(pairs * 8, SYMBOLS))
        optimizer.zero_grad()
        (loss.value / loss.count).backward()
        optimizer.step()
        rewards.append(loss.terms["reward"] / loss.count)
    assert sum(rewards[-10:]) > sum(rewards[:10]) + 2
