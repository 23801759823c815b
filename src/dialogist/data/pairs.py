"""`MadePairs`: a sequence of training pairs that are made, or read, when they are asked for."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import overload

from dialogist.data.collate import Pair


class MadePairs(Sequence[Pair]):
    """What a list does with places and slices; subclasses say how one pair comes about."""

    @abstractmethod
    def _made(self, place: int) -> Pair:
        """The pair at ``place``, from 0 to below the length."""

    @overload
    def __getitem__(self, index: int) -> Pair: ...

    @overload
    def __getitem__(self, index: slice) -> list[Pair]: ...

    def __getitem__(self, index: int | slice) -> Pair | list[Pair]:
        places = range(len(self))[index]
        return [self._made(i) for i in places] if isinstance(places, range) else self._made(places)
