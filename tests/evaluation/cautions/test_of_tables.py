import numpy as np
import pytest

from dialogist.evaluation.cautions.of_tables import chance_cautions, leakage_cautions
from dialogist.evaluation.cautions.overlap import Overlap, Overlaps
from dialogist.evaluation.scoring.scores import Scores
from dialogist.evaluation.statistics.resampling import Resampling
from dialogist.evaluation.statistics.significance import compare_all
from dialogist.metrics.base import mean_column, mean_of

QUICK = Resampling(samples=400, swaps=400)


def test_splits_that_share_nothing():
    assert leakage_cautions(Overlaps((), 100, 50)) == []


@pytest.mark.parametrize(("held", "severity"), [(50, "warning"), (20, "serious")])
def test_splits_that_share_dialogues(held, severity):
    pairs = [Overlap(f"t{n}", f"d{n // 2}", 30, 0.5, n < 2) for n in range(6)]
    [caution] = leakage_cautions(Overlaps(tuple(pairs), 100, held), "train", "test")
    assert (caution.kind, caution.severity) == ("overlap", severity)
    assert caution.text.startswith(
        f"3 of {held} test dialogues ({3 / held:.1%}) are in train, too, wholly or in part: "
        "6 pairs, 2 of them whole copies; leave 6 of 100 train dialogues out"
    )
    assert caution.examples == tuple(f"t{n} = d{n // 2} (50%)" for n in range(5))


def tables(outputs, *gains):
    generator = np.random.default_rng(1)
    columns = (mean_column("rouge1.f1", "R1", "higher"),)

    def made(name, gain):
        values = 30 + gain + 5 * generator.standard_normal(outputs)
        numbers = np.array([mean_of(value) for value in values])
        return Scores(name, tuple(map(str, range(outputs))), columns, numbers, {})

    systems = [made(f"s{gain}", gain) for gain in gains]
    return compare_all(systems, made("base", 0), QUICK)


def test_clear_differences():
    assert chance_cautions(tables(200, 5, 9), "rouge1.f1") == []
    assert chance_cautions(tables(200, 5, 9), "rouge2.f1") == []
    assert chance_cautions([], "rouge1.f1") == []


def test_differences_that_may_be_chance():
    found = tables(200, 0, 9)
    [caution] = chance_cautions(found, "rouge1.f1")
    one = found[0]["rouge1.f1"]
    assert (caution.kind, caution.severity) == ("may-be-chance", "note")
    assert caution.text.startswith(
        f"rouge1.f1: 1 of 2 differences may be chance: s0 and base ({one.difference:+.2f}, p "
    )
    assert f"by about {one.least:.2f} to be told apart" in caution.text
    [caution] = chance_cautions(tables(200, 0, 0.1), "rouge1.f1")
    assert caution.severity == "warning"


def test_many_are_counted_not_listed():
    [caution] = chance_cautions(
        tables(200, *range(1, 2), *[0.01 * n for n in range(7)]), "rouge1.f1"
    )
    assert " and 2 more" in caution.text or " and 3 more" in caution.text


def test_few_dialogues():
    [caution] = chance_cautions(tables(30, 20), "rouge1.f1")
    assert (caution.kind, caution.severity) == ("few-dialogues", "note")
    assert caution.text.startswith("30 dialogues are few")


def test_a_figure_that_nobody_has_is_no_difference():
    columns = (mean_column("m", "M", "higher"),)
    numbers = np.array([mean_of(None)] * 9)
    systems = [Scores(name, tuple("abcdefghi"), columns, numbers, {}) for name in "xyz"]
    assert chance_cautions(compare_all(systems[:2], systems[2], QUICK), "m") == []
