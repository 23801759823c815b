"""Intervals beside scipy's, beside the truth of simulated systems, and at the edges."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import scipy.stats
from numpy.random import Generator, default_rng

from dialogist.errors import UsageError
from dialogist.evaluation import significance
from dialogist.evaluation.scoring import Scores
from dialogist.evaluation.significance import (
    Resampling,
    align_scores,
    bootstrap_counts,
    compare_all,
    compare_scores,
    holm,
    intervals,
    resampled_figures,
)
from dialogist.metrics.base import Column, mean_column, mean_of, percentage

MEAN = mean_column("mean", "M", "higher")
SHARE = Column("share", "S", "lower", 2, percentage)


def made(name, ids, columns=(MEAN, SHARE), factor=1.0):
    numbers = [[factor * ord(i[0]) for _ in range(2 * len(columns))] for i in ids]
    return Scores(name, tuple(ids), columns, np.array(numbers), {})


def test_columns_of_both_in_the_order_of_the_first():
    own = mean_column("own", "O", "higher")
    first = Scores("a", ("x",), (own, MEAN, SHARE), np.array([[9.0, 9, 1, 2, 3, 4]]), {})
    second = Scores("b", ("x",), (SHARE, MEAN), np.array([[30.0, 40, 10, 20]]), {})
    one, other = align_scores(first, second)
    assert [c.key for c in one.columns] == [c.key for c in other.columns] == ["mean", "share"]
    assert one.values.tolist() == [[1, 2, 3, 4]]
    assert other.values.tolist() == [[10, 20, 30, 40]]


def test_ids_that_are_there_twice_do_no_harm_where_both_have_the_same():
    one, other = align_scores(made("a", "xxy"), made("b", "xxy"))
    assert one.ids == other.ids == ("x", "x", "y")


@pytest.mark.parametrize("ids", ["xyw", "xy", "zyx"])
def test_other_dialogues_are_not_compared(ids):
    with pytest.raises(UsageError, match="a and b do not hold the same dialogues"):
        align_scores(made("a", "xyz"), made("b", ids))


def test_nothing_in_common():
    with pytest.raises(UsageError, match="no figure in common"):
        align_scores(made("a", "x", (MEAN,)), made("b", "x", (SHARE,)))


COLUMNS = (mean_column("mean", "M", "higher"), Column("share", "S", "lower", 2, percentage))
TRUE_MEAN = 100 * 1.2 / 5.2
LENGTHS = np.arange(1, 30)
TRUE_SHARE = 100 * np.sum(LENGTHS * (0.2 + 0.005 * LENGTHS)) / np.sum(LENGTHS)


def made_resampling(values, part, of, name="x"):
    """Scores with a mean of ``values`` and the share of ``part`` in ``of``."""
    numbers = np.column_stack([values, np.ones(len(values)), part, of])
    return Scores(name, tuple(map(str, range(len(values)))), COLUMNS, numbers, {})


def simulated(generator: Generator, outputs: int) -> Scores:
    """Skewed scores as ROUGE-2 has them, and shares that grow with the length."""
    of = generator.integers(1, 30, outputs)
    part = generator.binomial(of, 0.2 + 0.005 * of)
    return made_resampling(100 * generator.beta(1.2, 4, outputs), part, of)


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
    found = intervals(
        made_resampling(values, values, values), Resampling(samples=20_000, method=ours)
    )["mean"]
    known = scipy.stats.bootstrap(
        (values,), np.mean, n_resamples=20_000, method=theirs, rng=default_rng(1), batch=100
    )
    # The same formula on other draws: the ends differ by what 20,000 samples leave open.
    assert found.low == pytest.approx(known.confidence_interval.low, abs=0.12)
    assert found.high == pytest.approx(known.confidence_interval.high, abs=0.12)
    assert found.error == pytest.approx(known.standard_error, rel=0.03)
    assert found.figure == pytest.approx(values.mean())


def test_bca_and_percentile_differ_where_scores_are_skewed():
    values = default_rng(2).lognormal(0, 1.2, 40)
    scores = made_resampling(values, values, values)
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
    monkeypatch.setattr(significance, "_CELLS", 100)
    parts = list(bootstrap_counts(30, Resampling(samples=200)))
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
        found = intervals(made_resampling(*[np.ones(outputs)] * 3))["mean"]
        assert np.isnan([found.low, found.high, found.error]).all()


def test_equal_outputs_have_no_width():
    found = intervals(made_resampling(*[np.full(9, 7.0)] * 3))
    assert (found["mean"].low, found["mean"].high, found["mean"].error) == (7, 7, 0)
    assert found["share"].high == 100


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
    found = intervals(made_resampling(values, values, values + 1))
    assert 0 <= found["mean"].low <= 25 <= found["mean"].high <= 100


def test_an_unknown_column():
    with pytest.raises(KeyError):
        intervals(simulated(default_rng(0), 9), keys=["rouge1.f1"])


def test_shares_that_are_alike_in_all_samples_have_wilsons_interval():
    part = Column("part", "P", "lower", 2, percentage)
    none, all_of = (
        Scores("x", tuple(map(str, range(30))), (part,), np.array([[n, 1.0]] * 30), {})
        for n in (0.0, 1.0)
    )
    found = intervals(none)["part"]
    assert (found.figure, found.low, found.high) == (0, 0, pytest.approx(11.35, abs=0.01))
    assert intervals(all_of)["part"].low == pytest.approx(88.65, abs=0.01)


def test_the_signature_says_how():
    assert Resampling(seed=3).signature == (
        "95% intervals: bca bootstrap over dialogues, 1000 samples, seed 3; "
        "Wilson's where all samples are alike"
    )


COLUMNS_SIGNIFICANCE = (
    mean_column("mean", "M", "higher"),
    Column("share", "S", "lower", 2, percentage),
)
QUICK = Resampling(samples=400, swaps=400)


def made_significance(name, values, part=None, of=None):
    values = np.asarray(values, float)
    part, of = (np.ones(len(values)) if one is None else one for one in (part, of))
    numbers = np.column_stack([values, np.ones(len(values)), part, of])
    return Scores(
        name, tuple(map(str, range(len(values)))), COLUMNS_SIGNIFICANCE, numbers, {"m": "1"}
    )


def pair(outputs, seed, gain=0.0):
    """Two systems that find the same dialogues hard, and differ beyond that by chance alone."""
    generator = default_rng(seed)
    hard = generator.normal(30, 10, outputs)
    systems = []
    for name, more in (("one", gain), ("other", 0.0)):
        of = generator.integers(1, 30, outputs)
        values = hard + more + 8 * generator.standard_t(4, outputs)
        systems.append(made_significance(name, values, generator.binomial(of, 0.3), of))
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
    found = compare_scores(one, other, QUICK)
    for key in ("mean", "share"):
        assert found[key].exact
        assert found[key].p == pytest.approx(by_hand(one, other, key))


def test_outputs_that_are_alike_are_not_swapped_and_change_nothing():
    one, other = pair(8, seed=3)
    alike = np.full((500, 4), 3.0)
    more, others = (
        made_significance(s.system, *np.concatenate([s.values, alike])[:, [0, 2, 3]].T)
        for s in (one, other)
    )
    found = compare_scores(more, others, QUICK)["mean"]
    assert found.exact
    assert found.p == compare_scores(one, other, QUICK)["mean"].p


def test_random_swaps_come_to_what_all_swaps_come_to():
    one, other = pair(10, seed=1, gain=4)
    every = compare_scores(one, other, Resampling(swaps=1024))["mean"]
    some = compare_scores(one, other, Resampling(swaps=1023))["mean"]
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
    assert compare_scores(one, other)["mean"].p == pytest.approx(known.pvalue)


def test_the_interval_of_a_difference_is_scipys_of_the_differences():
    one, other = pair(80, seed=5, gain=3)
    found = compare_scores(one, other, Resampling(samples=20_000))["mean"]
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
    found = [compare_scores(*pair(outputs, seed), QUICK)[key] for seed in range(repeats)]
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
    found = compare_scores(one, other)["mean"]
    assert found.least < 3
    assert found.difference > found.least
    assert found.p < 0.001
    assert found.low > 0
    assert found.wins > 0.99


def test_sides_can_be_exchanged():
    one, other = pair(50, seed=2, gain=1)
    there, back = compare_scores(one, other)["mean"], compare_scores(other, one)["mean"]
    assert (there.one, there.other, there.outputs) == ("one", "other", 50)
    assert there.difference == pytest.approx(-back.difference)
    assert there.low == pytest.approx(-back.high)
    assert there.wins == pytest.approx(1 - back.wins)
    assert there.p == pytest.approx(back.p, abs=0.02)


def test_a_system_beside_itself():
    one, _ = pair(50, seed=2)
    found = compare_scores(one, replace(one, system="same"))["mean"]
    assert (found.difference, found.low, found.high, found.least) == (0, 0, 0, 0)
    assert (found.p, found.p_bootstrap, found.wins, found.exact) == (1, 1, 0.5, True)


def test_nothing_to_measure_is_nan():
    columns = (mean_column("never", "N", "higher"),)
    numbers = np.array([mean_of(None)] * 5)
    one = Scores("one", tuple("abcde"), columns, numbers, {})
    found = compare_scores(one, replace(one, system="other"))["never"]
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
    third = made_significance("third", other.values[:, 0] + 0.1)
    found = compare_all([one, third], other, QUICK)
    alone = [compare_scores(system, other, QUICK) for system in (one, third)]
    for key in ("mean", "share"):
        assert [table[key].p for table in found] == [table[key].p for table in alone]
        assert [t[key].p_corrected for t in found] == holm([t[key].p for t in alone])
    assert alone[0]["mean"].p_corrected == alone[0]["mean"].p


def test_what_was_measured_otherwise_is_not_compared():
    one, other = pair(5, seed=1)
    with pytest.raises(UsageError, match=r"m was measured in two ways \(1; 2\)"):
        compare_scores(one, replace(other, signatures={"m": "2"}))
