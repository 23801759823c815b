"""The benchmark's own arithmetic: what is counted, how batches are made, what the figures mean."""

import importlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from dialogist.recipe.recipe_config import read_recipe


@pytest.fixture
def bench(monkeypatch):
    """Import a script of bench/, which is no package."""
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "bench"))
    return importlib.import_module


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize("name", ["report", "small", "bert"])
def test_flops_are_those_that_torch_counts(bench, name):
    """Without padding and dropout, the plain peer computes exactly what the formula counts."""
    net = replace(bench("nets").NETS[name], vocabulary=100, encoder_layers=3, decoder_layers=2)
    net = net.with_usual_keys()
    model = bench("torch_train").Plain(net, dropout=0.0)
    source, target = torch.randint(4, 100, (2, 31)), torch.randint(4, 100, (2, 12))
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        model(source, target[:, :-1]).sum().backward()
    counted = bench("flops").training_flops(net, np.array([31, 31]), np.array([11, 11]))
    assert counter.get_total_flops() == counted.sum()


def test_the_reports_net_is_the_recipes(bench):
    net, model = bench("nets").NETS["report"], read_recipe("dialogsum-report-1").model
    assert (net.width, net.heads, net.key_width) == (model.d_model, model.heads, model.key_width)
    assert net.feed_forward == model.feed_forward
    assert (net.encoder_layers, net.decoder_layers) == (model.encoder_layers, model.decoder_layers)


def test_bucketed_batches(bench):
    """Every row once, every batch within its tokens, and little padding."""
    batches = bench("batches")
    net = replace(bench("nets").NETS["small"], vocabulary=500)
    source, target = bench("arrays").random_words(net, 2000)
    lengths = batches.lengths_of(source, target)
    assert lengths[1].max() < net.target_tokens
    plan = batches.bucketed(lengths, 3000, seed=1)
    assert sorted(row for rows in plan for row in rows) == list(range(2000))
    padded = [len(rows) * (lengths[0][rows].max() + lengths[1][rows].max() + 1) for rows in plan]
    assert max(padded) <= 3000
    assert sum(padded) < 1.2 * (lengths[0] + lengths[1] + 1).sum()
    assert plan != batches.bucketed(lengths, 3000, seed=2)
    wanted = batches.tokens_for(lengths, 64)
    assert 2000 / len(batches.bucketed(lengths, wanted, seed=3)) == pytest.approx(64, rel=0.1)


def test_rates(bench):
    """Two steps of known rows and seconds."""
    figures, nets = bench("figures"), bench("nets")
    work = figures.Work(nets.NETS["small"], (np.array([10, 20, 30]), np.array([5, 5, 5])))
    run = figures.rates({"rows": [[0, 1], [2]], "step_seconds": [2.0, 1.0]}, work)
    assert run["examples_per_s_mean"] == pytest.approx(1.0)
    assert run["tokens_per_s_mean"] == pytest.approx(75 / 3)
    assert run["tokens_per_s_median"] == pytest.approx((40 / 2 + 35 / 1) / 2)
    assert run["examples_per_step"] == 1.5
    row = figures.summary([run | {"peak_mb": 9, "load_before": 0.1}], 100.0)
    assert row["share_of_bf16_peak"] == pytest.approx(run["gflops_median"] / 100)
    with pytest.raises(SystemExit, match="1 batches and 2 times"):
        figures.rates({"rows": [[0]], "step_seconds": [1.0, 1.0]}, work)


def test_flatness(bench):
    flatness = bench("figures").flatness
    sizes = [100, 900, 1000, 1010, 1000, 1005, 1000, 1030]
    assert flatness(list(enumerate(sizes)))["flat"] is True
    assert flatness(list(enumerate([*sizes[:-1], 1200])))["flat"] is False
    with pytest.raises(SystemExit, match="too few"):
        flatness([(1, 10.0)])
