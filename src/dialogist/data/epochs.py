"""`Epochs`: what each epoch makes of the training pairs, as a function of seed, epoch and row.

Pairs are stored once, in memory or in shards. An epoch takes each as often as its data set weighs,
and changes it on its way into a batch: noise, other names, a corrupted summary. Nothing of it is
kept, so a run goes on from the epoch's number alone, and every process sees the same pairs.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from dialogist.data.chance import Chance
from dialogist.data.collate import Lengths, Pair, lengths_of
from dialogist.data.pairs import MadePairs


class Change(Protocol):
    """Makes another pair of a pair; ``name`` tells its draws from those of other changes.

    ``keeps_lengths``: source and target keep their lengths, so nothing needs to be changed for a
    plan of batches.
    """

    name: ClassVar[str]
    keeps_lengths: ClassVar[bool]

    def __call__(self, pair: Pair, chance: Chance) -> Pair:
        """The pair as this epoch has it."""
        ...


@dataclass(frozen=True, slots=True)
class Share:
    """How many pairs a data set has, and how often an epoch takes each of them.

    ``begin``: the token that its targets begin with in place of the begin symbol.
    """

    pairs: int
    weight: float = 1.0
    begin: int | None = None

    @property
    def plain(self) -> bool:
        """Whether every epoch has the pairs as they are."""
        return self.weight == 1 and self.begin is None


@dataclass(frozen=True)
class Epochs:
    """``changes`` in turn; ``shares`` of the data sets in their order (none: each pair once).

    Of a weight's fraction as many pairs are taken, drawn anew in each epoch.
    """

    seed: int
    changes: tuple[Change, ...] = ()
    shares: tuple[Share, ...] = ()

    @property
    def keep_lengths(self) -> bool:
        """Whether no change needs to be made to know how long pairs are."""
        return all(change.keeps_lengths for change in self.changes)

    def rows(self, pairs: int, epoch: int) -> NDArray[np.int64]:
        """Which pairs the epoch has: each set's in their order, copies one after the other."""
        if all(share.weight == 1 for share in self.shares):
            return np.arange(pairs)
        assert sum(share.pairs for share in self.shares) == pairs
        found, first = [], 0
        for number, share in enumerate(self.shares):
            whole, rest = divmod(share.weight, 1)
            more = round(rest * share.pairs)
            drawn = Chance("weights", self.seed, epoch, number).order(share.pairs)[:more]
            for taken in (*[range(share.pairs)] * int(whole), sorted(drawn)):
                found.append(first + np.array(taken, dtype=np.int64))
            first += share.pairs
        return np.concatenate(found)

    def begun(self, pair: Pair, row: int) -> Pair:
        """The pair that stands in a row of the data, begun as its data set's are."""
        if all(share.begin is None for share in self.shares):
            return pair
        begin = self.shares[bisect_right(self._first_rows, row) - 1].begin
        return pair if begin is None else replace(pair, target=(begin, *pair.target[1:]))

    @cached_property
    def _first_rows(self) -> list[int]:
        return [0, *accumulate(share.pairs for share in self.shares)][:-1]

    def changed(self, pair: Pair, epoch: int, row: int) -> Pair:
        """The pair that stands in a row of the epoch."""
        for change in self.changes:
            pair = change(pair, Chance(change.name, self.seed, epoch, row))
        return pair


class EpochPairs(MadePairs):
    """The pairs of one epoch, made when they are asked for."""

    def __init__(
        self, pairs: Sequence[Pair], lengths: Lengths | None, epochs: Epochs, epoch: int
    ) -> None:
        """``lengths``: of ``pairs``, where they are at hand."""
        self._pairs, self._lengths = pairs, lengths
        self._epochs, self._epoch = epochs, epoch
        self._rows = epochs.rows(len(pairs), epoch)

    def __len__(self) -> int:
        return len(self._rows)

    def _made(self, place: int) -> Pair:
        row = int(self._rows[place])
        pair = self._epochs.begun(self._pairs[row], row)
        return self._epochs.changed(pair, self._epoch, place)

    @cached_property
    def lengths(self) -> Lengths:
        """(rows, 2): made by changing every pair once, unless no change needs it."""
        if self._epochs.keep_lengths and self._lengths is not None:
            return self._lengths[self._rows]
        return lengths_of(self)
