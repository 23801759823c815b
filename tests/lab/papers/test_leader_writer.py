"""The Leader-Writer net: what each part sees, and the paper's claims about it."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from dialogist.data.collate import EncodedPair, collate
from dialogist.decoding import DecodingOptions
from dialogist.decoding.generation import PlannedText, generate_plan, plan_of
from dialogist.errors import ConfigError
from dialogist.recipe.recipe_config import read_recipe
from dialogist.tensors import FIRST_KEY_POINT, Batch
from dialogist.tokenizers import Symbols
from dialogist_lab.papers.leader_writer import LeaderWriter, LeaderWriterConfig

SYMBOLS = Symbols(0, 1, 2, 3, 20)
A, B, C = range(FIRST_KEY_POINT, FIRST_KEY_POINT + 3)
ONE = EncodedPair((1, 5, 6, 20, 7, 8, 2), (1, 9, 10, 20, 11, 2), "one", (1, 4), (A, B), (3, 5))
TWO = EncodedPair((1, 5, 6, 7, 2), (1, 9, 2), "two", (1,), (C,), (2,))
TWICE = EncodedPair(
    (1, 4, 5, 6, 20, 7, 21, 8, 2),
    (1, 9, 10, 20, 11, 8, 8, 21, 2),
    "twice",
    (1, 3, 6),
    (A, B, A, B),
    (2, 4, 5, 8),
)
GREEDY = DecodingOptions(strategy="greedy", max_tokens=6, max_key_points=5)
BEAM = GREEDY.model_copy(update={"strategy": "beam", "beam_size": 3})


def model_of(**options: Any) -> LeaderWriter:
    torch.manual_seed(0)
    sizes = {"embedding": 12, "width": 16, "heads": 4, "feed_forward": 24, "key_points": 3}
    layers = {"token_layers": 1, "utterance_layers": 1, "decoder_layers": 2, "leader_layers": 2}
    limits = {"utterance_tokens": 8, "target_tokens": 8, "longest_plan": 6}
    values = {**sizes, **layers, **limits, "dropout": 0.0, **options}
    return LeaderWriterConfig.parse({"kind": "leader-writer", **values}).build(20).eval()


def batch_of(*pairs: EncodedPair) -> Batch:
    return collate(pairs, SYMBOLS)


def found(model: LeaderWriter, batch: Batch) -> tuple[Tensor, Tensor]:
    """Every distribution of the Leader and of the Writer, over the vocabulary alone."""
    outputs = model(batch)
    assert outputs.plan is not None
    return outputs.plan.log_probs.all(), outputs.log_probs.all()[:, :20]


POINTER = pytest.mark.parametrize("pointer", [False, True])


@POINTER
def test_a_dialogue_does_not_know_its_neighbours(pointer: bool) -> None:
    model = model_of(pointer=pointer)
    lead, write = found(model, batch_of(ONE, TWICE, TWO))
    alone_lead, alone_write = found(model, batch_of(TWICE))
    torch.testing.assert_close(lead[3:8], alone_lead)
    torch.testing.assert_close(write[6:17], alone_write)


@POINTER
def test_search_is_teacher_forcing(pointer: bool) -> None:
    """What greedy search says has the log-probabilities that the same text, forced, has."""
    model = model_of(pointer=pointer)
    batch = batch_of(ONE, TWICE, TWO)
    for options in (GREEDY, BEAM):
        texts = generate_plan(model, batch, options, SYMBOLS)
        plan = as_plan(texts)
        forced = model(replace(batch, plan=plan))
        for outputs, hypotheses in (
            (forced.plan, [text.plan for text in texts]),
            (forced, [part for text in texts for part in text.parts]),
        ):
            log_probs = outputs.log_probs.of(outputs.targets).target.split(
                [len(h.tokens) + 1 for h in hypotheses]
            )
            for hypothesis, one in zip(hypotheses, log_probs, strict=True):
                said = one if hypothesis.finished else one[:-1]
                assert float(said.detach().sum()) == pytest.approx(hypothesis.log_prob, abs=1e-4)


def as_plan(texts: list[PlannedText]) -> Any:
    plan = plan_of([text.plan.tokens for text in texts], torch.device("cpu"))
    parts = [(1, *h.tokens, 2) for text in texts for h in text.parts]
    whole = collate([EncodedPair((1, 5, 2), part) for part in parts], SYMBOLS)
    return replace(
        plan,
        target_in=whole.target_in,
        target_out=whole.target_out,
        target_mask=whole.target_mask,
    )


def test_each_dialogue_is_searched_alone() -> None:
    model = model_of(pointer=True)
    for options in (GREEDY, BEAM):
        together = generate_plan(model, batch_of(ONE, TWICE, TWO), options, SYMBOLS)
        for pair, text in zip((ONE, TWICE, TWO), together, strict=True):
            [alone] = generate_plan(model, batch_of(pair), options, SYMBOLS)
            assert alone.key_points == text.key_points
            assert [p.tokens for p in alone.parts] == [p.tokens for p in text.parts]
            assert 1 <= len(text.parts) == len(text.key_points) <= 5


def sub_summaries(model: LeaderWriter, key_points: list[int]) -> list[tuple[int, ...]]:
    """What the Writer says about given key points of one dialogue."""
    batch = batch_of(TWICE)
    plan = plan_of([key_points], torch.device("cpu"))
    memory = model.encoder(batch)
    state = model.start_writer(memory, plan)
    log_probs, _ = model.writer.step(torch.ones(len(key_points), dtype=torch.int64), state)
    return [tuple(row) for row in log_probs.tolist()]


def test_equal_key_points_get_different_texts_but_not_from_their_embedding() -> None:
    """Section 3.4.3: a Writer that starts from the key point's embedding cannot tell them apart."""
    first, _, again, _ = sub_summaries(model_of(pointer=True), [A, B, A, B])
    assert first != again
    embedded = model_of(pointer=True, writer_start="embedding")
    first, other, again, _ = sub_summaries(embedded, [A, B, A, B])
    assert first == again != other


def test_the_writer_starts_from_what_came_before_its_key_point() -> None:
    """p-hat of a place holds the key points before it, not its own and none after it."""
    model = model_of()
    base = sub_summaries(model, [A, B, A])
    other_last = sub_summaries(model, [A, B, C])
    other_first = sub_summaries(model, [C, B, A])
    assert base == other_last
    assert base[0] == other_first[0]
    torch.testing.assert_close(torch.tensor(base[0]), torch.tensor(sub_summaries(model, [A])[0]))
    assert base[1] != other_first[1]


def test_the_writers_loss_teaches_the_leader() -> None:
    model = model_of(pointer=True)
    outputs = model(batch_of(ONE, TWO))
    outputs.log_probs.of(outputs.targets).target.sum().backward()
    taught = {name for name, p in model.named_parameters() if p.grad is not None}
    assert any(name.startswith("leader.decoder") for name in taught)
    assert not any(name.startswith("leader.output") for name in taught)
    assert any(name.startswith("writer.pointer") for name in taught)


def test_unknown_words_are_copied_with_the_pointer_only() -> None:
    batch = batch_of(TWICE)
    assert batch.extra == 2
    outputs = model_of(pointer=True)(batch)
    log_probs = outputs.log_probs.all()
    assert log_probs.shape == (11, 22)
    torch.testing.assert_close(log_probs.exp().sum(dim=1), torch.ones(11))
    assert (log_probs[:, 20:].exp() > 1e-4).all()
    assert model_of()(batch_of(ONE)).log_probs.all().shape[1] == 20


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("kdd-hierarchical-transformer", 14_862_734),
        ("kdd-leader-writer", 17_288_900),
        ("kdd-leader-pointer-writer", 17_420_485),
        ("kdd-leader-pointer-writer-rl", 17_420_485),
    ],
)
def test_recipes_have_the_size_they_say(name: str, parameters: int) -> None:
    with torch.device("meta"):
        model = read_recipe(name).model.build(23_950)
    assert sum(p.numel() for p in model.parameters()) == parameters


@pytest.mark.parametrize(
    ("assignment", "said"),
    [
        ("model.key_points=50", "model.key_points must be 51"),
        ("preparation.key_points=null", "needs preparation.key_points"),
        ("preparation.key_points=nothing", "no such file and no pack of that name"),
        ("objective={kind: cross-entropy}", "need each other"),
        ("objective={kind: leader-writer, key_points: 0.9}", "must sum to 1"),
        ("model.heads=3", "no multiple of 'heads'"),
        ("model.utterance_tokens=10", "preparation.limits.utterance_tokens must be at most"),
        ("preparation.limits.sub_summary_tokens=51", "sub_summary_tokens and every"),
        ("decoding.max_tokens=51", "sub_summary_tokens and every"),
        ("model.pointer=false", "preparation.unknown: copied needs"),
    ],
)
def test_recipes_that_do_not_fit_are_refused(assignment: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        read_recipe("kdd-leader-pointer-writer", [assignment])
    assert "\n" not in str(caught.value)
