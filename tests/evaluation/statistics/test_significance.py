"""Tests of a difference beside all swaps counted by hand, beside scipy's, and under the null."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import scipy.stats
from numpy.random import default_rng

from dialogist.errors import UsageError
from dialogist.evaluation.scoring.scores import Scores
from dialogist.evaluation.statistics.resampling import Resampling
from dialogist.evaluation.statistics.significance import compare, compare_all, holm
from dialogist.metrics.base import Column, mean_column, mean_of, percentage

COLUMNS = (mean_column("mean", "M", "higher"), Column("share", "S", "lower", 2, percentage))
QUICK = Resampling(samples=400, swaps=400)


def made(name, values, part=None, of=None):
    values = np.asarray(values, float)
    part, of = (np.ones(len(values)) if one is None else one for one in (part, of))
    numbers = np.column_stack([values, np.ones(len(values)), part, of])
    return Scores(name, tuple(map(str, range(len(values)))), COLUMNS, numbers, {"m": "1"})


def pair(outputs, seed, gain=0.0):
    """Two systems that find the same dialogues hard, and differ beyond that by chance alone."""
    generator = default_rng(seed)
    hard = generator.normal(30, 10, outputs)
    systems = []
    for name, more in (("one", gain), ("other", 0.0)):
        of = generator.integers(1, 30, outputs)
        values = hard + more + 8 * generator.standard_t(4, outputs)
        systems.append(made(name, values, generator.binomial(of, 0.3), of))
    return systems


def by_hand(one, other, key):
    """p by making every swap, one after the other, from the definition."""

    def difference(swaps):
        kept, given = [], []
        for swap, mine, theirs in zip(swaps, one.values, other.values, strict=True):
            kept.append(theirs if swap else mine)
            given.append(mine if swap else theirs)
        first, second = (replace(one, values=np.array(v)) for v in (kept, given))
        return first.figure(key) - second.figure(key)

    seen = abs(difference([0] * len(one.ids)))
    every = [difference(swaps) for swaps in product((0, 1), repeat=len(one.ids))]
    return np.mean([abs(found) >= seen - 1e-9 for found in every])


@pytest.mark.parametrize("outputs", [1, 2, 5, 8])
def test_few_outputs_are_enumerated(outputs):
    one, other = pair(outputs, seed=outputs)
    found = compare(one, other, QUICK)
    for key in ("mean", "share"):
        assert found[key].exact
        assert found[key].p == pytest.approx(by_hand(one, other, key))


def test_outputs_that_are_alike_are_not_swapped_and_change_nothing():
    one, other = pair(8, seed=3)
    alike = np.full((500, 4), 3.0)
    more, others = (
        made(s.system, *np.concatenate([s.values, alike])[:, [0, 2, 3]].T) for s in (one, other)
    )
    found = compare(more, others, QUICK)["mean"]
    assert found.exact
    assert found.p == compare(one, other, QUICK)["mean"].p


def test_random_swaps_come_to_what_all_swaps_come_to():
    one, other = pair(10, seed=1, gain=4)
    every = compare(one, other, Resampling(swaps=1024))["mean"]
    some = compare(one, other, Resampling(swaps=1023))["mean"]
    assert (every.exact, some.exact) == (True, False)
    assert some.p == pytest.approx(every.p, abs=4 * (every.p / 1023) ** 0.5)


def test_p_is_scipys():
    one, other = pair(9, seed=4, gain=6)
    known = scipy.stats.permutation_test(
        (one.values[:, 0], other.values[:, 0]),
        lambda a, b: a.mean() - b.mean(),
        permutation_type="samples",
        n_resamples=np.inf,
    )
    assert compare(one, other)["mean"].p == pytest.approx(known.pvalue)


def test_the_interval_of_a_difference_is_scipys_of_the_differences():
    one, other = pair(80, seed=5, gain=3)
    found = compare(one, other, Resampling(samples=20_000))["mean"]
    known = scipy.stats.bootstrap(
        (one.values[:, 0] - other.values[:, 0],),
        np.mean,
        n_resamples=20_000,
        method="percentile",
        batch=100,
        rng=default_rng(1),
    )
    assert found.low == pytest.approx(known.confidence_interval.low, abs=0.1)
    assert found.high == pytest.approx(known.confidence_interval.high, abs=0.1)
    assert found.least == pytest.approx(1.96 * known.standard_error, rel=0.03)
    assert found.difference == pytest.approx(np.mean(one.values[:, 0] - other.values[:, 0]))


def false_alarms(outputs, repeats, key="mean"):
    found = [compare(*pair(outputs, seed), QUICK)[key] for seed in range(repeats)]
    alarms = [(d.p <= 0.05, d.p_bootstrap <= 0.05, abs(d.difference) >= d.least) for d in found]
    return np.mean(alarms, axis=0)


@pytest.mark.parametrize("key", ["mean", "share"])
def test_false_alarms_are_one_in_twenty(key):
    # 400 repeats: a standard error of 1.1 points around 5.
    assert np.all(np.abs(false_alarms(60, 400, key) - 0.05) < 0.036)


@pytest.mark.slow
@pytest.mark.parametrize(("outputs", "bootstrap"), [(8, 0.14), (30, 0.075), (200, 0.065)])
def test_false_alarms_by_size(outputs, bootstrap):
    """Swaps keep to 5% even with 8 outputs; the bootstrap is too eager there."""
    swaps, samples, least = false_alarms(outputs, 3000)
    assert 0.03 < swaps < 0.062
    assert 0.035 < samples < bootstrap
    assert 0.035 < least < bootstrap


def test_a_gain_beyond_the_least_difference_noted_is_found():
    one, other = pair(200, seed=0, gain=6)
    found = compare(one, other)["mean"]
    assert found.least < 3
    assert found.difference > found.least
    assert found.p < 0.001
    assert found.low > 0
    assert found.wins > 0.99


def test_sides_can_be_exchanged():
    one, other = pair(50, seed=2, gain=1)
    there, back = compare(one, other)["mean"], compare(other, one)["mean"]
    assert (there.one, there.other, there.outputs) == ("one", "other", 50)
    assert there.difference == pytest.approx(-back.difference)
    assert there.low == pytest.approx(-back.high)
    assert there.wins == pytest.approx(1 - back.wins)
    assert there.p == pytest.approx(back.p, abs=0.02)


def test_a_system_beside_itself():
    one, _ = pair(50, seed=2)
    found = compare(one, replace(one, system="same"))["mean"]
    assert (found.difference, found.low, found.high, found.least) == (0, 0, 0, 0)
    assert (found.p, found.p_bootstrap, found.wins, found.exact) == (1, 1, 0.5, True)


def test_nothing_to_measure_is_nan():
    columns = (mean_column("never", "N", "higher"),)
    numbers = np.array([mean_of(None)] * 5)
    one = Scores("one", tuple("abcde"), columns, numbers, {})
    found = compare(one, replace(one, system="other"))["never"]
    values = (found.difference, found.p, found.p_bootstrap, found.low, found.wins, found.least)
    assert np.isnan(values).all()


def test_holm():
    # By hand: 4 x 0.01, 3 x 0.02 = 0.06, 2 x 0.03 = 0.06, 1 x 0.5.
    assert holm([0.03, 0.01, 0.5, 0.02]) == pytest.approx([0.06, 0.04, 0.5, 0.06])
    assert holm([0.4, 0.9]) == pytest.approx([0.8, 0.9])
    assert holm([0.7, 0.6]) == [1, 1]
    assert holm([]) == []
    nothing, something = holm([float("nan"), 0.04])
    assert np.isnan(nothing)
    assert something == 0.04


def test_several_systems_are_corrected_column_by_column():
    one, other = pair(40, seed=1, gain=4)
    third = made("third", other.values[:, 0] + 0.1)
    found = compare_all([one, third], other, QUICK)
    alone = [compare(system, other, QUICK) for system in (one, third)]
    for key in ("mean", "share"):
        assert [table[key].p for table in found] == [table[key].p for table in alone]
        assert [t[key].p_corrected for t in found] == holm([t[key].p for t in alone])
    assert alone[0]["mean"].p_corrected == alone[0]["mean"].p


def test_what_was_measured_otherwise_is_not_compared():
    one, other = pair(5, seed=1)
    with pytest.raises(UsageError, match=r"m was measured in two ways \(1; 2\)"):
        compare(one, replace(other, signatures={"m": "2"}))
