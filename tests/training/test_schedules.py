"""Learning-rate schedules: values by hand, peaks, ends."""

from itertools import pairwise

import pytest

from dialogist.errors import ConfigError
from dialogist.training.base import TrainingConfig
from dialogist.training.optimizer import (
    ConstantSchedule,
    CosineSchedule,
    InverseSquareRootSchedule,
    LinearSchedule,
)


def test_the_curve_of_report_1() -> None:
    """d = 128, warm = 4000: the peak is at update 4000."""
    schedule = InverseSquareRootSchedule(d_model=128, warmup=4000)
    rates = [schedule.rate(step, 0) for step in range(1, 12_001)]
    assert max(rates) == rates[3999] == pytest.approx(0.001398, abs=5e-7)
    assert rates[0] == pytest.approx(128**-0.5 * 4000**-1.5)
    assert rates[1999] == pytest.approx(rates[3999] / 2)  # linear up
    assert rates[11_999] == pytest.approx(rates[3999] / 3**0.5)  # then 1 / sqrt(t)
    assert all(a < b for a, b in pairwise(rates[:4000]))
    assert all(a > b for a, b in pairwise(rates[3999:]))


def test_scale_multiplies() -> None:
    one, two = (
        InverseSquareRootSchedule(d_model=64, warmup=9),
        InverseSquareRootSchedule(d_model=64, warmup=9, scale=2.0),
    )
    assert [two.rate(t, 0) for t in (1, 9, 36)] == [2 * one.rate(t, 0) for t in (1, 9, 36)]
    assert one.rate(9, 0) == pytest.approx(1 / 24)


def test_constant() -> None:
    assert [ConstantSchedule(peak=0.5).rate(t, 10) for t in (1, 10, 99)] == [0.5, 0.5, 0.5]
    warm = ConstantSchedule(peak=0.5, warmup=4)
    assert [warm.rate(t, 10) for t in (1, 2, 4, 5)] == [0.125, 0.25, 0.5, 0.5]


def test_linear_by_hand() -> None:
    schedule = LinearSchedule(peak=1.0, warmup=2, floor=0.2)
    found = [schedule.rate(t, 10) for t in (1, 2, 6, 10, 11, 50)]
    assert found == pytest.approx([0.5, 1.0, 0.6, 0.2, 0.2, 0.2])
    assert LinearSchedule(peak=1.0).rate(10, 10) == 0.0
    assert LinearSchedule(peak=1.0).rate(5, 10) == 0.5


def test_cosine_by_hand() -> None:
    schedule = CosineSchedule(peak=2.0, warmup=4, floor=0.1)
    found = [schedule.rate(t, 12) for t in (2, 4, 8, 12, 20)]
    assert found == pytest.approx([1.0, 2.0, 2.0 * (0.1 + 0.9 / 2), 0.2, 0.2])
    quarter = 0.1 + 0.9 * (1 + 0.5**0.5) / 2
    assert schedule.rate(6, 12) == pytest.approx(2.0 * quarter)


@pytest.mark.parametrize("kind", [LinearSchedule, CosineSchedule])
def test_a_run_shorter_than_its_warm_up(kind: type[LinearSchedule | CosineSchedule]) -> None:
    schedule = kind(peak=1.0, warmup=100)
    assert [schedule.rate(t, 10) for t in (1, 10)] == pytest.approx([0.01, 0.1])


def test_chosen_by_kind() -> None:
    values = {"schedule": {"kind": "cosine", "peak": 0.1}}
    assert TrainingConfig.parse(values).schedule == CosineSchedule(peak=0.1)
    with pytest.raises(ConfigError, match="warmup"):
        TrainingConfig.parse({"schedule": {"kind": "cosine", "peak": 0.1, "warmpu": 3}})
