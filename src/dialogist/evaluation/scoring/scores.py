"""`Scores`: the numbers of one system's outputs, from which every figure is made."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dialogist.metrics.base import Column, Floats


@dataclass(frozen=True)
class Scores:
    """What was measured of N outputs.

    ``values`` (N, W) holds the numbers of all ``columns``, one column's beside the other's, W being
    the sum of their widths. ``signatures``: by metric, how its figures came about.
    """

    system: str
    ids: tuple[str, ...]
    columns: tuple[Column, ...]
    values: Floats
    signatures: Mapping[str, str]

    def __post_init__(self) -> None:
        wanted = (len(self.ids), sum(column.width for column in self.columns))
        if self.values.shape != wanted:
            raise ValueError(f"{self.system}: numbers of shape {self.values.shape}, not {wanted}")

    @cached_property
    def _places(self) -> dict[str, tuple[Column, slice]]:
        places, begin = {}, 0
        for column in self.columns:
            places[column.key] = (column, slice(begin, begin + column.width))
            begin += column.width
        return places

    def __contains__(self, key: str) -> bool:
        return key in self._places

    def column(self, key: str) -> Column:
        """The column of that key.

        Raises:
            KeyError: there is none.
        """
        return self._places[key][0]

    def figure(self, key: str) -> float:
        """The figure of all outputs, NaN where there is nothing to measure."""
        return float(self.resampled(key, np.ones((1, len(self.ids))))[0])

    def each(self, key: str) -> Floats:
        """(N,) the figure of every output alone, NaN where it has none."""
        column, place = self._places[key]
        return column.figure(self.values[:, place])

    def resampled(self, key: str, counts: Floats) -> Floats:
        """(R, N) how often each output is taken -> (R,) figures."""
        column, place = self._places[key]
        return column.figure(counts @ self.values[:, place])
