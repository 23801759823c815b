"""Recurrent models with a pointer (See et al. 2017): mixture, loss, gradients, options."""

import pytest
import torch
from tests.models.pointer_samples import (
    BATCH,
    COVERED,
    FORMS,
    PAIRS,
    SYMBOLS,
    VOCABULARY,
    A,
    C,
    model_of,
)
from torch import Tensor, nn

from dialogist.data.collate import EncodedPair, collate
from dialogist.decoding import DecodingOptions
from dialogist.decoding.generation import generate
from dialogist.errors import ConfigError
from dialogist.objectives.cross_entropy import CrossEntropy
from dialogist.training.master_weights import MasterWeights
from dialogist.training.optimizer import OptimizerConfig
from dialogist_lab.papers.recurrent import RecurrentConfig


def wide(log_probs: Tensor, extra: int = 3) -> Tensor:
    """(M, X) with columns for unknown words that no dialogue of the batch has."""
    more = VOCABULARY + extra - log_probs.shape[1]
    return nn.functional.pad(log_probs.exp(), (0, more)).clamp(min=1e-30)


# --- the mixture ---


@pytest.mark.parametrize("form", FORMS)
def test_equations_8_and_9(form: str) -> None:
    """Each term of p_gen, and each word's probability, written out."""
    model = model_of(form)
    state = model.start(BATCH)
    decoded, _ = model.decoder(model.target_embedding(BATCH.target_in), state.cells, state.memory)
    assert model.gate is not None
    c, s, x = model.gate.gate.weight[0].split([model.encoder.width, 4, 6])
    at = 0
    log_probs = model.forward(BATCH).log_probs.all()
    for row, pair in enumerate(PAIRS):
        for t in range(len(pair.target) - 1):
            context, hidden = decoded.context[row, t], decoded.hidden[row, t]
            odds = c @ context + s @ hidden + x @ decoded.embedded[row, t] + model.gate.gate.bias
            p_gen = torch.sigmoid(odds)
            read_out = model.readout(torch.cat([hidden, context]))
            expected = p_gen * torch.softmax(model.output(read_out), dim=0)
            expected = nn.functional.pad(expected, (0, 3))
            for place, word in enumerate(pair.source):
                expected[word] += (1 - p_gen[0]) * decoded.weights[row, t, place]
            torch.testing.assert_close(log_probs[at].exp(), expected)
            torch.testing.assert_close(expected.sum(), torch.tensor(1.0))
            at += 1
    assert at == len(log_probs) == BATCH.target_tokens


@pytest.mark.parametrize("form", FORMS)
def test_the_loss_of_a_copied_unknown_word_trains_the_attention(form: str) -> None:
    model = model_of(form)
    outputs = model.forward(BATCH)
    assert outputs.targets.tolist() == [C, 5, A, 3, 2, A, 8, 2, 4, 2]
    found = outputs.log_probs.of(outputs.targets).target
    assert torch.isfinite(found).all()
    expected = outputs.log_probs.all().gather(1, outputs.targets[:, None])[:, 0]
    torch.testing.assert_close(found, expected)
    (-found[0]).backward()  # the first position has one word to say: the one at place 6
    assert model.decoder.attention is not None
    assert model.gate is not None
    for layer in (model.decoder.attention.energy, model.decoder.attention.memory, model.gate.gate):
        assert layer.weight.grad is not None
        assert layer.weight.grad.abs().max() > 1e-4


def test_it_learns_to_attend_to_the_word_it_shall_copy() -> None:
    model = model_of("lstm")
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
    for _ in range(60):
        loss = CrossEntropy()(model, BATCH)
        optimizer.zero_grad()
        loss.value.backward()
        optimizer.step()
    weights = model.forward(BATCH, need_weights=True).attention["decoder_attention"]
    assert weights[0, 0, 6] > 0.9  # C
    assert weights[1, 0, [1, 3]].sum() > 0.9  # A
    options = DecodingOptions(strategy="greedy", max_tokens=6)
    said = [found[0].tokens for found in generate(model, BATCH, options, SYMBOLS)]
    assert said == [pair.target[1:-1] for pair in PAIRS]


# --- rows do not know of each other ---


@pytest.mark.parametrize("form", FORMS)
def test_dialogues_do_not_see_each_others_words(form: str) -> None:
    model = model_of(form)
    together = model.forward(BATCH).log_probs.all()
    assert together.shape[1] == VOCABULARY + 3
    alone = [model.forward(collate([pair], SYMBOLS)).log_probs.all() for pair in PAIRS]
    assert [part.shape[1] for part in alone] == [VOCABULARY + extra for extra in (3, 1, 0)]
    expected = torch.cat([wide(part) for part in alone])
    torch.testing.assert_close(together.exp(), expected, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("form", FORMS)
def test_gradients_of_dialogues_add_up_with_coverage_loss(form: str) -> None:
    model = model_of(form)
    objective = CrossEntropy(0.1, coverage_weight=0.5 if form in COVERED else 0.0)

    def gradients(pairs: list[EncodedPair]) -> list[Tensor]:
        loss = objective(model, collate(pairs, SYMBOLS))
        return list(torch.autograd.grad(loss.value, list(model.parameters())))

    parts = [gradients([pair]) for pair in PAIRS]
    for expected, *each in zip(gradients(PAIRS), *parts, strict=True):
        torch.testing.assert_close(torch.stack(each).sum(dim=0), expected, atol=2e-5, rtol=1e-4)


# --- number formats, options ---


@pytest.mark.parametrize("form", FORMS)
def test_an_update_in_bf16(form: str) -> None:
    models = {f: model_of(form) for f in (torch.float32, torch.bfloat16)}
    objective = CrossEntropy(coverage_weight=1.0 if form in COVERED else 0.0)
    gradients = []
    for working, model in models.items():
        weights = MasterWeights(model, working)
        assert model.gate is not None
        assert model.gate.gate.weight.dtype == working
        loss = objective(model, BATCH)
        (loss.value / loss.count).backward()
        weights.collect(add=False)
        gradients.append(weights.gradient.clone())
        optimizer = OptimizerConfig(kind="adam").build(weights)
        for group in optimizer.param_groups:
            group["lr"] = 0.01
        optimizer.step()
        weights.refresh()
        assert objective(model, BATCH).value < loss.value
        weights.release()
    exact, rounded = gradients
    assert (exact - rounded).norm() < 0.05 * exact.norm()


def test_options() -> None:
    with pytest.raises(ConfigError, match="'pointer' needs attention") as caught:
        RecurrentConfig.parse({"attention": "none", "pointer": True})
    assert "\n" not in str(caught.value)
    assert RecurrentConfig(pointer=True).copies
    assert not RecurrentConfig().copies
    sizes = [
        sum(p.numel() for p in RecurrentConfig(pointer=pointer).build(50).parameters())
        for pointer in (False, True)
    ]
    assert sizes[1] - sizes[0] == 2 * 256 + 256 + 256 + 1
