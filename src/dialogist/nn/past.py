"""`Past`: keys and values of the positions before, in memory that has room for those to come.

Appending writes one slice where concatenating would copy everything so far. A past can be
continued from more than once: whoever finds the room behind it taken copies its own part first.
"""

from torch import Tensor

from dialogist.nn.attention import KeyValue

_FIRST_ROOM = 64
"""Positions that are allotted first; then twice as many whenever they do not suffice."""


class _Room:
    """Memory (2, M, H, capacity, d_k) for keys and values, and how many positions are taken."""

    __slots__ = ("held", "taken")

    def __init__(self, held: Tensor, taken: int) -> None:
        self.held, self.taken = held, taken


class Past:
    """``length`` positions of M sequences; ``key`` and ``value`` are (M, H, length, d_k)."""

    __slots__ = ("_room", "key", "length", "value")

    def __init__(self, known: KeyValue, room: _Room | None = None) -> None:
        self.key, self.value = known
        self.length = self.key.shape[2]
        self._room = room

    @property
    def known(self) -> KeyValue:
        """As what is attended to."""
        return KeyValue(self.key, self.value)

    def append(self, later: KeyValue) -> "Past":
        """With further positions at the end; ``later``: (M, H, more, d_k) each."""
        end = self.length + later.key.shape[2]
        room = self._room
        if room is None or room.taken != self.length or room.held.shape[3] < end:
            room = self._new_room(end)
        room.held[0, :, :, self.length : end] = later.key
        room.held[1, :, :, self.length : end] = later.value
        room.taken = end
        return Past(KeyValue(room.held[0, :, :, :end], room.held[1, :, :, :end]), room)

    def _new_room(self, wanted: int) -> _Room:
        """Room of one's own for ``wanted`` positions at least, this past copied into it."""
        capacity = _FIRST_ROOM
        while capacity < wanted:
            capacity *= 2
        sequences, heads, _, width = self.key.shape
        held = self.key.new_empty((2, sequences, heads, capacity, width))
        held[0, :, :, : self.length] = self.key
        held[1, :, :, : self.length] = self.value
        return _Room(held, self.length)

    def select(self, sequences: Tensor) -> "Past":
        """The given sequences (n,), copied."""
        return Past(KeyValue(*self.known.select(sequences)))


def appended(past: Past | None, later: KeyValue) -> Past:
    """``past`` with further positions; None is the empty one, and costs nothing."""
    return Past(later) if past is None else past.append(later)
