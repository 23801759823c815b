import numpy as np
import pytest

from dialogist.errors import UsageError
from dialogist.evaluation.scoring.scores import Scores
from dialogist.evaluation.statistics.pairing import on_shared, paired
from dialogist.metrics.base import Column, mean_column, percentage

MEAN = mean_column("mean", "M", "higher")
SHARE = Column("share", "S", "lower", 2, percentage)


def made(name, ids, columns=(MEAN, SHARE), factor=1.0):
    numbers = [[factor * ord(i[0]) for _ in range(2 * len(columns))] for i in ids]
    return Scores(name, tuple(ids), columns, np.array(numbers), {})


def test_the_second_is_put_in_the_order_of_the_first():
    one, other = paired(made("a", "xyz"), made("b", "zxy", factor=2))
    assert one.ids == other.ids == ("x", "y", "z")
    assert np.array_equal(other.values, 2 * one.values)


def test_columns_of_both_in_the_order_of_the_first():
    own = mean_column("own", "O", "higher")
    first = Scores("a", ("x",), (own, MEAN, SHARE), np.array([[9.0, 9, 1, 2, 3, 4]]), {})
    second = Scores("b", ("x",), (SHARE, MEAN), np.array([[30.0, 40, 10, 20]]), {})
    one, other = paired(first, second)
    assert [c.key for c in one.columns] == [c.key for c in other.columns] == ["mean", "share"]
    assert one.values.tolist() == [[1, 2, 3, 4]]
    assert other.values.tolist() == [[10, 20, 30, 40]]


def test_ids_that_are_there_twice_do_no_harm_where_both_have_the_same():
    one, other = paired(made("a", "xxy"), made("b", "xxy"))
    assert one.ids == other.ids == ("x", "x", "y")


@pytest.mark.parametrize(
    ("ids", "said"),
    [
        ("xyw", r"a and b do not hold the same dialogues \(3 and 3, 2 in one only, such as 'z'\)"),
        ("xy", "3 and 2, 1 in one only, such as 'z'"),
        ("xyzz", "b: the id 'z' is there twice"),
    ],
)
def test_other_dialogues_are_not_compared(ids, said):
    with pytest.raises(UsageError, match=said):
        paired(made("a", "xyz"), made("b", ids))


def test_nothing_in_common():
    with pytest.raises(UsageError, match="no figure in common"):
        paired(made("a", "x", (MEAN,)), made("b", "x", (SHARE,)))


def test_what_all_hold():
    first, second, third = on_shared([made("a", "vxyz"), made("b", "zyx"), made("c", "xzw")])
    assert first.ids == second.ids == third.ids == ("x", "z")
    assert first.values.tolist() == third.values.tolist()
    same = [made("a", "xx"), made("b", "xx")]
    assert on_shared(same) == same


def test_nothing_that_all_hold():
    with pytest.raises(UsageError, match="no dialogue is held by all of a, b"):
        on_shared([made("a", "x"), made("b", "y")])
