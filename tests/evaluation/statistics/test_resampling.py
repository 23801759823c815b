"""Intervals beside scipy's, beside the truth of simulated systems, and at the edges."""

import numpy as np
import pytest
import scipy.stats
from numpy.random import Generator, default_rng

from dialogist.errors import UsageError
from dialogist.evaluation.scoring.scores import Scores
from dialogist.evaluation.statistics import resampling
from dialogist.evaluation.statistics.resampling import (
    Resampling,
    draws,
    intervals,
    resampled_figures,
)
from dialogist.metrics.base import Column, mean_column, mean_of, percentage

COLUMNS = (mean_column("mean", "M", "higher"), Column("share", "S", "lower", 2, percentage))
TRUE_MEAN = 100 * 1.2 / 5.2
LENGTHS = np.arange(1, 30)
TRUE_SHARE = 100 * np.sum(LENGTHS * (0.2 + 0.005 * LENGTHS)) / np.sum(LENGTHS)


def made(values, part, of, name="x"):
    """Scores with a mean of ``values`` and the share of ``part`` in ``of``."""
    numbers = np.column_stack([values, np.ones(len(values)), part, of])
    return Scores(name, tuple(map(str, range(len(values)))), COLUMNS, numbers, {})


def simulated(generator: Generator, outputs: int) -> Scores:
    """Skewed scores as ROUGE-2 has them, and shares that grow with the length."""
    of = generator.integers(1, 30, outputs)
    part = generator.binomial(of, 0.2 + 0.005 * of)
    return made(100 * generator.beta(1.2, 4, outputs), part, of)


def coverage(outputs, repeats, method):
    """How often the intervals of the mean and of the share hold the true figures."""
    generator = default_rng(outputs)
    hits = np.zeros(2)
    for seed in range(repeats):
        options = Resampling(samples=400, seed=seed, method=method)
        found = intervals(simulated(generator, outputs), options)
        hits += [
            found["mean"].low <= TRUE_MEAN <= found["mean"].high,
            found["share"].low <= TRUE_SHARE <= found["share"].high,
        ]
    return hits / repeats


@pytest.mark.parametrize("method", ["bca", "percentile"])
def test_intervals_hold_the_truth_as_often_as_they_say(method):
    # 300 repeats: a standard error of 1.3 points around 95.
    assert np.all(coverage(150, 300, method) > 0.91)
    assert np.all(coverage(150, 300, method) < 0.985)


@pytest.mark.slow
@pytest.mark.parametrize(("outputs", "least"), [(20, 0.89), (50, 0.92), (100, 0.93), (500, 0.935)])
def test_coverage_by_size(outputs, least):
    """Few outputs: too narrow, which the documentation says."""
    found = coverage(outputs, 2000, "bca")
    assert np.all(found > least), found
    assert np.all(found < 0.97), found


@pytest.mark.parametrize(("ours", "theirs"), [("percentile", "percentile"), ("bca", "BCa")])
def test_the_mean_has_scipys_interval(ours, theirs):
    values = 100 * default_rng(5).beta(1.2, 4, 80)
    found = intervals(made(values, values, values), Resampling(samples=20_000, method=ours))["mean"]
    known = scipy.stats.bootstrap(
        (values,), np.mean, n_resamples=20_000, method=theirs, rng=default_rng(1), batch=100
    )
    # The same formula on other draws: the ends differ by what 20,000 samples leave open.
    assert found.low == pytest.approx(known.confidence_interval.low, abs=0.12)
    assert found.high == pytest.approx(known.confidence_interval.high, abs=0.12)
    assert found.error == pytest.approx(known.standard_error, rel=0.03)
    assert found.figure == pytest.approx(values.mean())
    assert found.half == (found.high - found.low) / 2


def test_bca_and_percentile_differ_where_scores_are_skewed():
    values = default_rng(2).lognormal(0, 1.2, 40)
    scores = made(values, values, values)
    plain = intervals(scores, Resampling(method="percentile"))["mean"]
    corrected = intervals(scores, Resampling(method="bca"))["mean"]
    assert corrected.low > plain.low
    assert corrected.high > plain.high


def test_the_same_seed_is_the_same_interval_whatever_else_is_measured():
    scores = simulated(default_rng(0), 60)
    alone = Scores("x", scores.ids, COLUMNS[:1], scores.values[:, :2], {})
    assert intervals(scores)["mean"] == intervals(alone)["mean"]
    assert intervals(scores, keys=["share"]) == {"share": intervals(scores)["share"]}
    assert intervals(scores) != intervals(scores, Resampling(seed=2))


def test_draws_in_pieces_are_whole_samples(monkeypatch):
    monkeypatch.setattr(resampling, "_CELLS", 100)
    parts = list(draws(30, Resampling(samples=200)))
    assert len(parts) == 67
    every = np.concatenate(parts)
    assert every.shape == (200, 30)
    assert np.all(every.sum(axis=1) == 30)
    # On average each output is taken once, as often missing as (1 - 1/30) ** 30 says.
    assert np.allclose(every.mean(axis=0), 1, atol=0.3)
    assert np.mean(every == 0) == pytest.approx((29 / 30) ** 30, abs=0.02)


def test_many_outputs_cost_little_memory(monkeypatch):
    seen = []
    monkeypatch.setattr(np, "bincount", lambda a, minlength, old=np.bincount: (
        seen.append(minlength), old(a, minlength=minlength)
    )[1])  # fmt: skip
    resampled_figures(simulated(default_rng(0), 20_000), Resampling(samples=200))
    assert max(seen) <= 1 << 20
    assert sum(seen) == 200 * 20_000


def test_one_output_tells_nothing_of_chance():
    for outputs in (0, 1):
        found = intervals(made(*[np.ones(outputs)] * 3))["mean"]
        assert np.isnan([found.low, found.high, found.error]).all()


def test_equal_outputs_have_no_width():
    found = intervals(made(*[np.full(9, 7.0)] * 3))
    assert (found["mean"].low, found["mean"].high, found["mean"].error) == (7, 7, 0)
    assert (found["share"].low, found["share"].high) == (100, 100)


def test_what_is_measured_nowhere_is_nan_and_what_is_here_and_there_is_not():
    columns = (mean_column("never", "N", "higher"), mean_column("rare", "R", "higher"))
    numbers = [[*mean_of(None), *mean_of(40.0 + i if i < 2 else None)] for i in range(12)]
    scores = Scores("x", tuple(map(str, range(12))), columns, np.array(numbers), {})
    for method in ("bca", "percentile"):
        found = intervals(scores, Resampling(method=method))
        assert np.isnan([found["never"].figure, found["never"].low]).all()
        assert found["rare"].figure == 40.5
        assert 40 <= found["rare"].low <= found["rare"].high <= 41


def test_a_handful_with_one_far_away_has_an_interval():
    values = np.array([0.0, 0.0, 0.0, 100.0])
    found = intervals(made(values, values, values + 1))
    assert 0 <= found["mean"].low <= 25 <= found["mean"].high <= 100


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"level": 1.0}, "level 1.0: say a part"),
        ({"level": 95}, "level 95: say a part"),
        ({"samples": 100}, "samples 100: level 0.95 needs at least 200"),
        ({"swaps": 0}, "swaps 0"),
        ({"samples": 900, "level": 0.99}, "needs at least 1000"),
        ({"seed": -1}, "seed -1"),
    ],
)
def test_wrong_settings(settings, said):
    with pytest.raises(UsageError, match=said):
        Resampling(**settings)


def test_an_unknown_column():
    with pytest.raises(KeyError):
        intervals(simulated(default_rng(0), 9), keys=["rouge1.f1"])


def test_the_signature_says_how():
    assert Resampling(seed=3).signature == (
        "95% intervals: bca bootstrap over dialogues, 1000 samples, seed 3"
    )
