"""All networks: no dialogue sees another, search is teacher forcing, equations by hand."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from tests.lab_engine.samples import SMALL
from torch import Tensor, nn

from dialogist_lab.data.batching import EncodedPair, collate
from dialogist_lab.decoding import DecodingOptions, Symbols
from dialogist_lab.models import generator
from dialogist_lab.models.generator import FIRST_KEY_POINT, Batch, Generator, Plan
from dialogist_lab.papers import hierarchical
from dialogist_lab.papers.leader_writer import LeaderWriter
from dialogist_lab.papers.recurrent import AdditiveAttention, initialise_lstm

SYMBOLS = Symbols(pad=0, unk=3, bos=1, eos=2, size=20)
A, B, C = range(FIRST_KEY_POINT, FIRST_KEY_POINT + 3)
ONE = EncodedPair((1, 5, 6, 20, 7, 8, 2), (1, 9, 10, 20, 11, 2), (1, 4), (A, B), (3, 5))
TWO = EncodedPair((1, 5, 6, 7, 2), (1, 9, 2), (1,), (C,), (2,))
_SOURCE, _TARGET = (1, 4, 5, 6, 20, 7, 21, 8, 2), (1, 9, 10, 20, 11, 8, 8, 21, 2)
TWICE = EncodedPair(_SOURCE, _TARGET, (1, 3, 6), (A, B, A, B), (2, 4, 5, 8))
PAIRS = (ONE, TWICE, TWO)

_WIDTHS = {"embedding": 12, "width": 16, "heads": 4, "feed_forward": 24, "utterance_tokens": 8}
_LAYERS = {"token_layers": 1, "utterance_layers": 1, "decoder_layers": 2, "target_tokens": 16}
_HIERARCHICAL = {**_WIDTHS, **_LAYERS, "dropout": 0.0}
_RECURRENT = {"kind": "recurrent", "embedding": 6, "hidden": 4, "dropout": 0.0}
_TRANSFORMER = {"kind": "transformer", **SMALL}
_POST_NORM = {**_TRANSFORMER, "norm": "post"}
_APART = {"share_embeddings": False, "tie_output": False}
_LEADER = _HIERARCHICAL | {"kind": "leader-writer", "key_points": 3, "longest_plan": 6}
KINDS: dict[str, dict[str, Any]] = {
    "transformer": _TRANSFORMER,
    "transformer-pointer": {**_TRANSFORMER, "pointer": True},
    "transformer-narrow": {**_TRANSFORMER, "embedding": 8, "tie_output": False},
    "transformer-of-reports": {**_POST_NORM, "reuse_second_norm": True, "key_width": 16},
    "transformer-two-tables": {**_POST_NORM, "activation": "gelu", **_APART},
    "seq2seq": {**_RECURRENT, "attention": False, "layers": 2},
    "seq2seq-attention": {**_RECURRENT, "layers": 2},
    "pointer-generator": {**_RECURRENT, "pointer": True},
    "hierarchical": {**_HIERARCHICAL, "kind": "hierarchical"},
    "hierarchical-pointer": {**_HIERARCHICAL, "kind": "hierarchical", "pointer": True},
    "leader-writer": _LEADER,
    "leader-pointer-writer": {**_LEADER, "pointer": True},
}
EVERY = pytest.mark.parametrize("kind", KINDS)
POINTERS = [kind for kind, options in KINDS.items() if options.get("pointer")]


def model_of(kind: str, **options: Any) -> Any:
    """Small, and decided enough that its distributions differ."""
    torch.manual_seed(0)
    make = generator.config_of_kind(generator.ModelConfig, generator.MODELS, "transformer")
    model: Generator = make({**KINDS[kind], **options}).build(20)
    if kind in ("seq2seq", "seq2seq-attention", "pointer-generator"):
        for parameter in model.parameters():
            nn.init.normal_(parameter, std=0.7)
    return model.eval()


def batch_of(*pairs: EncodedPair, copied: bool = True) -> Batch:
    batch = collate(pairs, SYMBOLS)
    if copied:
        return batch
    assert batch.plan is not None
    whole, texts = (
        replace(targets, labels=targets.labels.masked_fill(targets.labels >= 20, 3))
        for targets in (batch.target, batch.plan.texts)
    )
    plan = replace(batch.plan, texts=texts)
    return replace(batch, target=whole, copied=None, extra=0, plan=plan)


def log_probs(model: Generator, *pairs: EncodedPair) -> Tensor:
    """Of every token and key point that shall be written, and all others there."""
    copied = model.config.copies
    outputs = model(batch_of(*pairs, copied=copied))
    every = [outputs.log_probs.all()[:, :20]]
    if outputs.plan is not None:
        every.append(nn.functional.pad(outputs.plan.log_probs.all(), (0, 20 - FIRST_KEY_POINT - 3)))
    return torch.cat(every)


@EVERY
def test_a_dialogue_does_not_know_its_neighbours(kind: str) -> None:
    model = model_of(kind)
    together = log_probs(model, *PAIRS)
    alone = torch.cat([log_probs(model, pair) for pair in PAIRS])
    by_size = (t[t.sum(dim=1).argsort()] for t in (together, alone))  # plans stand elsewhere
    torch.testing.assert_close(*by_size, atol=2e-5, rtol=1e-4)


@EVERY
@pytest.mark.parametrize("strategy", ["greedy", "beam"])
def test_search_is_teacher_forcing(kind: str, strategy: Any) -> None:
    """What search writes has the log-probability that the same text, forced, has."""
    model = model_of(kind)
    batch = batch_of(*PAIRS, copied=model.config.copies)
    options = DecodingOptions(strategy=strategy, beam_size=3, max_tokens=6, max_key_points=4)
    hypotheses = model.generate(batch, options, SYMBOLS)
    for i, (pair, hypothesis) in enumerate(zip(PAIRS, hypotheses, strict=True)):
        alone = model.generate(batch_of(pair, copied=model.config.copies), options, SYMBOLS)[0]
        assert (alone.tokens, alone.key_points) == (hypothesis.tokens, hypothesis.key_points)
        if not hypothesis.finished:
            continue
        points = tuple(FIRST_KEY_POINT + label for label in hypothesis.key_points)
        ends = tuple(end + 1 for end in hypothesis.ends)
        forced = EncodedPair(pair.source, (1, *hypothesis.tokens, 2), pair.starts, points, ends)
        outputs = model(collate([forced], SYMBOLS))
        total = outputs.log_probs.of(outputs.targets).target.sum()
        if outputs.plan is not None:
            total = total + outputs.plan.log_probs.of(outputs.plan.targets).target.sum()
        assert float(total.detach()) == pytest.approx(hypothesis.log_prob, abs=1e-3), i


@EVERY
def test_everything_learns(kind: str) -> None:
    model = model_of(kind).train()
    outputs = model(batch_of(*PAIRS, copied=model.config.copies))
    loss = outputs.log_probs.of(outputs.targets).target.sum()
    if outputs.plan is not None:
        loss = loss + outputs.plan.log_probs.of(outputs.plan.targets).target.sum()
    loss.backward()
    assert [name for name, p in model.named_parameters() if p.grad is None] == []


@pytest.mark.parametrize("kind", POINTERS)
def test_unknown_words_can_be_copied(kind: str) -> None:
    outputs = model_of(kind)(batch_of(TWICE, TWO))
    every = outputs.log_probs.all()
    assert every.shape[1] == 22
    torch.testing.assert_close(every.exp().sum(dim=1), torch.ones(len(every)))
    assert (every[:-2, 20:].exp() > 1e-6).all()
    assert (every[-2:, 20:].exp() < 1e-20).all(), "the other dialogue has no unknown word"
    chosen = every.gather(1, outputs.targets[:, None])[:, 0]
    torch.testing.assert_close(outputs.log_probs.of(outputs.targets).target, chosen)


# Recurrent


def test_additive_attention_by_hand() -> None:
    """See et al. 2017, equations 1 to 3."""
    torch.manual_seed(1)
    attention = AdditiveAttention(3, 2, 4)
    states, query = torch.randn(1, 5, 3), torch.randn(1, 2)
    real = torch.tensor([[True, True, True, True, False]])
    context, weights = attention(query, attention.remember(states, real))
    w_h, w_s, v = attention.memory, attention.query, attention.energy.weight[0]
    energies = [v @ torch.tanh(w_h(states[0, i]) + w_s(query[0])) for i in range(4)]
    expected = torch.softmax(torch.stack(energies), dim=0)
    torch.testing.assert_close(weights[0], torch.cat([expected, torch.zeros(1)]))
    torch.testing.assert_close(context[0], expected @ states[0, :4])


def test_forget_gates_are_open() -> None:
    layer = nn.LSTM(5, 3)
    initialise_lstm(layer)
    assert layer.bias_ih_l0.tolist() == [0.0] * 3 + [1.0] * 3 + [0.0] * 6
    for gate in layer.weight_hh_l0.chunk(4):
        torch.testing.assert_close(gate @ gate.T, torch.eye(3))


def test_without_attention_the_dialogue_is_seen_through_final_states_alone() -> None:
    model = model_of("seq2seq")
    state = model.start(batch_of(ONE, copied=False))
    assert state.memory is None
    assert model(batch_of(ONE, copied=False), need_weights=True).attention == {}


# Hierarchical


def test_utterances_lie_where_their_tokens_are() -> None:
    layout = hierarchical.UtteranceLayout.of(batch_of(ONE, TWO))
    assert layout.ids.tolist() == [[5, 6, 3], [7, 8, 0], [5, 6, 7]]
    assert layout.real.sum(dim=1).tolist() == [3, 2, 3]
    assert layout.spoken.tolist() == [[True, True], [True, False]]


def test_pooling_by_hand() -> None:
    """Equations 7 and 8; padding has no share."""
    torch.manual_seed(2)
    pooling, x = hierarchical.AttentivePooling(4), torch.randn(1, 3, 4)
    real = torch.tensor([[True, True, False]])
    scores = [pooling.score(torch.tanh(pooling.inner(x[0, i]))) for i in range(2)]
    shares = torch.softmax(torch.cat(scores), dim=0)
    pooled, weights = pooling(x, real)
    torch.testing.assert_close(pooled[0], shares @ x[0, :2])
    torch.testing.assert_close(weights[0, 0], torch.cat([shares, torch.zeros(1)]))


def test_relative_positions(monkeypatch: pytest.MonkeyPatch) -> None:
    """floor(i K / M) for i = 1 .. M (section 3.6)."""
    encoder = model_of("hierarchical", relative_positions=10).encoder
    asked: list[list[int]] = []
    look_up = encoder.relative.forward

    def watched(places: Tensor) -> Tensor:
        asked.append(places.tolist())
        return look_up(places)

    monkeypatch.setattr(encoder.relative, "forward", watched)
    encoder(batch_of(TWICE, TWO))
    assert asked == [[3, 6, 10, 10]]


def test_the_pointer_chooses_an_utterance_and_a_token_in_it() -> None:
    """Equation 16: in each utterance the tokens' probabilities sum to one."""
    scores = torch.tensor([[[0.0, 1.0, 2.0, 1000.0, -1000.0]]])
    segments = torch.tensor([[[0, 0], [1, 0], [1, 0], [0, 1], [0, 1]]]).float()
    found = hierarchical.softmax_within(scores, segments)[0, 0]
    assert found[0] == 0
    torch.testing.assert_close(found @ segments[0], torch.ones(2))
    near = hierarchical.softmax_within(torch.tensor([[[9.0, 1.0, 2.0]]]), torch.ones(1, 3, 1))
    torch.testing.assert_close(near, torch.softmax(torch.tensor([[[9.0, 1.0, 2.0]]]), dim=2))


# Leader and Writer


def sub_summaries(model: LeaderWriter, key_points: list[int]) -> list[Tensor]:
    """How the Writer would begin about given key points of one dialogue."""
    plan = Plan.of([key_points], [()] * len(key_points), SYMBOLS)
    memory = model.encoder(batch_of(TWICE))
    state = model.start_writer(memory, plan, model.lead(memory, plan)[1])
    first, _ = model.writer.step(torch.ones(len(key_points), dtype=torch.int64), state)
    return list(first)


def test_equal_key_points_get_different_texts_but_not_from_their_embedding() -> None:
    """Section 3.4.3: a Writer that starts from the key point's embedding cannot tell them apart."""
    model = model_of("leader-pointer-writer")
    first, _, again, _ = sub_summaries(model, [A, B, A, B])
    assert not torch.allclose(first, again)
    memory = model.encoder(batch_of(TWICE)).select(torch.zeros(3, dtype=torch.int64))
    vectors = model.leader.embedding.table(torch.tensor([A, B, A]))
    state = model.writer.start(memory, vectors)
    first, other, again = model.writer.step(torch.ones(3, dtype=torch.int64), state)[0]
    torch.testing.assert_close(first, again)
    assert not torch.allclose(first, other)


def test_the_writer_starts_from_what_came_before_its_key_point() -> None:
    """p-hat of a place holds the key points before it, not its own and none after it."""
    model = model_of("leader-writer")
    base = sub_summaries(model, [A, B, A])
    other_last, other_first = sub_summaries(model, [A, B, C]), sub_summaries(model, [C, B, A])
    torch.testing.assert_close(base, other_last)
    torch.testing.assert_close(base[0], other_first[0])
    assert not torch.allclose(base[1], other_first[1])


def test_plans_have_at_least_one_key_point_and_a_text_each() -> None:
    model = model_of("leader-pointer-writer")
    options = DecodingOptions(strategy="greedy", max_tokens=5, max_key_points=3)
    for hypothesis in model.generate(batch_of(*PAIRS), options, SYMBOLS):
        assert 1 <= len(hypothesis.key_points) == len(hypothesis.ends) <= 3
        assert hypothesis.ends[-1] == len(hypothesis.tokens)
        assert all(0 <= label < 3 for label in hypothesis.key_points)
