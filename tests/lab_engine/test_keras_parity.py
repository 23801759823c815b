"""The reports' network against what Keras computes (stored by `bench/keras_parity.py`)."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.lab_engine.samples import SYMBOLS
from torch import Tensor

from dialogist_lab.models.generator import Batch, Targets
from dialogist_lab.models.transformer import Transformer, TransformerConfig
from dialogist_lab.recipe import read_recipe
from dialogist_lab.training.objective import CrossEntropy

FILE = Path(__file__).with_name("keras_parity.npz")
SMALL = {"d_model": 8, "key_width": 8, "feed_forward": 12, "dropout": 0, "attention_dropout": 0}
VOCABULARY, LAYERS = 40, 2

Stored = Mapping[str, np.ndarray]


@pytest.fixture(scope="module")
def stored() -> Stored:
    with np.load(FILE) as file:
        return {name: file[name] for name in file}


def keras_order() -> Iterator[str]:
    """Our names of the weights in the order of Keras' ``trainable_variables``."""
    for stack, attentions in (
        ("encoder", ("attention",)),
        ("decoder", ("self_attention", "cross_attention")),
    ):
        yield f"{'source' if stack == 'encoder' else 'target'}.table.weight"
        for layer in (f"{stack}.layers.{i}" for i in range(LAYERS)):
            for attention in attentions:
                yield from _dense(f"{layer}.{attention}", ("query", "key", "value", "output"))
            yield from _dense(f"{layer}.feed_forward", ("inner", "outer"))
            yield from _dense(layer, [f"norm{i + 1}" for i in range(1 + len(attentions))])
    yield from _dense("output", [""])


def _dense(block: str, parts: Sequence[str]) -> Iterator[str]:
    for part in parts:
        yield from (f"{block}.{part}.{kind}".replace("..", ".") for kind in ("weight", "bias"))


def in_our_layout(flat: np.ndarray, model: Transformer) -> dict[str, Tensor]:
    """Keras' matrices are (in, out), those of attention (D, H, d_k) and (H, d_k, D)."""
    shapes = {name: weight.shape for name, weight in model.named_parameters()}
    assert sorted(keras_order()) == sorted(shapes), "a weight has no counterpart"
    ends = np.cumsum([shapes[name].numel() for name in keras_order()])
    assert ends[-1] == len(flat)
    found = {}
    for name, part in zip(keras_order(), np.split(flat, ends[:-1]), strict=True):
        shape = shapes[name]
        turned = len(shape) == 2 and "table" not in name
        values = torch.from_numpy(part.copy())
        found[name] = values.view(*shape[::-1]).t() if turned else values.view(shape)
    return found


@pytest.fixture
def model(stored: Stored) -> Transformer:
    config = read_recipe("dialogsum-report-1").model.model_copy(update=SMALL)
    assert isinstance(config, TransformerConfig)
    built = config.build(VOCABULARY)
    built.load_state_dict(in_our_layout(stored["weights"], built))
    return built


@pytest.fixture
def batch(stored: Stored) -> Batch:
    source, target = (torch.from_numpy(stored[name]).long() for name in ("source", "target"))
    given, real = target[:, :-1], target[:, 1:]
    targets = Targets(given, real, real != 0)
    return Batch(source, source != 0, targets, torch.zeros_like(source))


def test_probabilities(model: Transformer, batch: Batch, stored: Stored) -> None:
    with torch.no_grad():
        found = model.eval().forward(batch).log_probs.all().exp().numpy()
    wanted = stored["probabilities"][batch.target.mask.numpy()]
    assert np.abs(found - wanted).max() < 5e-6  # 1.4e-6 on a CPU with AVX2


def test_masked_loss_and_its_gradients(model: Transformer, batch: Batch, stored: Stored) -> None:
    loss = CrossEntropy()(model.train(), batch, SYMBOLS)
    mean = loss.value / loss.count
    assert float(mean.detach()) == pytest.approx(float(stored["loss"]), abs=1e-6)
    mean.backward()
    wanted = in_our_layout(stored["gradients"], model)
    for name, weight in model.named_parameters():
        assert weight.grad is not None
        torch.testing.assert_close(weight.grad, wanted[name], rtol=1e-4, atol=2e-6, msg=name)


def test_greedy_tokens(model: Transformer, batch: Batch, stored: Stored) -> None:
    tokens = torch.ones(len(batch), dtype=torch.long)
    written = [tokens]
    with torch.no_grad():
        state = model.eval().start(batch)
        for _ in range(stored["greedy"].shape[1] - 1):
            found, state = model.step(tokens, state)
            tokens = found.argmax(dim=1)
            written.append(tokens)
    assert torch.stack(written, dim=1).tolist() == stored["greedy"].tolist()
    assert len({tuple(row) for row in stored["greedy"].tolist()}) == len(batch), "sources matter"
