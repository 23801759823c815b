"""What search carries from step to step: keys and values of the past, and decoder states."""

from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, Self, TypeVar

import torch
from torch import Tensor

from dialogist.nn.attention import KeyValue
from dialogist.nn.packing import Masks, Packing, additive_mask

# `State`: what search carries from step to step, whatever the model.


class State(Protocol):
    """The memory of N search rows (key-value caches, recurrent cells, coverage vectors ...)."""

    def select(self, rows: Tensor) -> Self:
        """The given rows (M,) in the given order: beam start, reordering, dropping the finished."""
        ...


def selected(part: Any, rows: Tensor) -> Any:
    """The given rows of a tensor, of what has a `select`, or of all in a tuple; else what it is."""
    if isinstance(part, Tensor):
        return part.index_select(0, rows)
    if hasattr(part, "select"):
        return part.select(rows)
    return tuple(selected(one, rows) for one in part) if isinstance(part, tuple) else part


# `KVCache`: keys and values of the positions before, in memory that has room for those to come.
#
# Appending writes one slice where concatenating would copy everything so far. A past can be
# continued from more than once: whoever finds the room behind it taken copies its own part first.

_FIRST_ROOM = 64
"""Positions that are allotted first; then twice as many whenever they do not suffice."""


class _Room:
    """Memory (2, M, H, capacity, d_k) for keys and values, and how many positions are taken."""

    __slots__ = ("held", "taken")

    def __init__(self, held: Tensor, taken: int) -> None:
        self.held, self.taken = held, taken


class KVCache:
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

    def append(self, later: KeyValue) -> "KVCache":
        """With further positions at the end; ``later``: (M, H, more, d_k) each."""
        end = self.length + later.key.shape[2]
        room = self._room
        if room is None or room.taken != self.length or room.held.shape[3] < end:
            room = self._new_room(end)
        room.held[0, :, :, self.length : end] = later.key
        room.held[1, :, :, self.length : end] = later.value
        room.taken = end
        return KVCache(KeyValue(room.held[0, :, :, :end], room.held[1, :, :, :end]), room)

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

    def select(self, sequences: Tensor) -> "KVCache":
        """The given sequences (n,), copied."""
        return KVCache(KeyValue(*self.known.select(sequences)))


def appended(past: KVCache | None, later: KeyValue) -> KVCache:
    """``past`` with further positions; None is the empty one, and costs nothing."""
    return KVCache(later) if past is None else past.append(later)


@dataclass(frozen=True, slots=True)
class LayerCache:
    """What one decoder layer needs of the past: the memory's keys and values, and its own."""

    memory: KeyValue
    past: KVCache | None = None

    def select(self, sequences: Tensor) -> "LayerCache":
        """The given sequences, in the given order."""
        return LayerCache(*selected((self.memory, self.past), sequences))


# `DecoderState`: what a Transformer decoder carries from step to step of a search.
#
# N rows are M groups of K that share one memory (a dialogue and its K beams). A step is computed as
# K positions of M sequences: the memory's keys and values are held, and read, once for K rows. Nor
# does the past of the rows move when beams are reordered: each group keeps everything its rows ever
# said, K slots for each step, and a mask, the ancestors, says which of these slots a row descends
# from. So reordering turns M * K rows of a mask instead of the keys and values of all layers.


_C = TypeVar("_C", bound=State)
"""What can be copied from M dialogues."""


@dataclass(frozen=True, slots=True)
class DecoderState(Generic[_C]):
    """N = M * ``each`` rows of search.

    Attributes:
        caches: of every layer, M sequences.
        memory_mask: (M, 1, 1, S) additive.
        each: K, how many rows belong to each memory; row n belongs to memory n // K.
        ancestors: (M, 1, K, slots) additive: the slots of the past that a row sees; None: all.
        copies: what can be said by copying, M rows.
        first: (M, D) what stands in place of the begin symbol's vector.
        named: (N, 2) of whom each row talks, where attention knows who speaks.
        position: how many steps were made.
    """

    caches: tuple[LayerCache, ...]
    memory_mask: Tensor
    each: int = 1
    ancestors: Tensor | None = None
    copies: _C | None = None
    first: Tensor | None = None
    named: Tensor | None = None
    position: int = 0

    @property
    def memories(self) -> int:
        """M."""
        return self.memory_mask.shape[0]

    def packing(self) -> Packing:
        """Where the rows of a step lie."""
        return Packing.dense(self.memories, self.each, self.memory_mask.device)

    def masks(self) -> Masks:
        """Of the next step: each row sees its ancestors and itself."""
        if self.each == 1 and self.ancestors is None:
            return Masks(None, self.memory_mask)
        like = self.memory_mask
        own = torch.eye(self.each, dtype=torch.bool, device=like.device)
        now = additive_mask(own, like.dtype).expand(self.memories, 1, -1, -1)
        before = self.ancestors
        if before is None:
            past = self.caches[0].past
            slots = 0 if past is None else past.length
            before = like.new_zeros((self.memories, 1, self.each, slots))
        return Masks(torch.cat([before, now], dim=3), self.memory_mask)

    def after(
        self, caches: tuple[LayerCache, ...], masks: Masks, named: Tensor | None = None
    ) -> "DecoderState[_C]":
        """The state behind a step that was made with ``masks``, talking of ``named``."""
        return replace(
            self,
            caches=caches,
            ancestors=masks.look_ahead,
            named=named,
            position=self.position + 1,
        )

    def select(self, rows: Tensor) -> "DecoderState[_C]":
        """The given rows; memories move only when whole dialogues leave, come or are repeated."""
        memory = rows // self.each if self.each > 1 else rows
        ancestors, named = self._of_rows(rows), selected(self.named, rows)
        if torch.equal(memory, self._memory_of_rows()):
            return replace(self, ancestors=self._grouped(ancestors, self.each), named=named)
        runs, counts = torch.unique_consecutive(memory, return_counts=True)
        each = int(counts[0]) if len(counts) else 1
        if bool((counts != each).any()):  # groups of unlike sizes: every row gets its own memory
            runs, each = memory, 1
        moved = replace(self, each=each, ancestors=self._grouped(ancestors, each), named=named)
        return moved if torch.equal(runs, self._every()) else moved._move(runs)

    def expand(self, memories: Tensor) -> "DecoderState[_C]":
        """A memory of its own for each of N rows, (N,) indices; before the first step only."""
        assert self.position == 0
        assert self.each == 1
        if torch.equal(memories, self._every()):
            return self
        return replace(self, named=selected(self.named, memories))._move(memories)

    def apart(self) -> "DecoderState[_C]":
        """The same rows, each with a memory of its own; before the first step only."""
        assert self.ancestors is None
        return self if self.each == 1 else replace(self, each=1)._move(self._memory_of_rows())

    def _move(self, memories: Tensor) -> "DecoderState[_C]":
        """The given memories (M',), and with them all that is theirs and not their rows'."""
        names = ("caches", "memory_mask", "copies", "first")
        return replace(self, **{n: selected(getattr(self, n), memories) for n in names})

    def _every(self) -> Tensor:
        return torch.arange(self.memories, device=self.memory_mask.device)

    def _memory_of_rows(self) -> Tensor:
        """(N,) the memory that each row has."""
        every = self._every()
        return every.repeat_interleave(self.each) if self.each > 1 else every

    def _of_rows(self, rows: Tensor) -> Tensor | None:
        """The ancestors of the given rows, (N', slots)."""
        if self.ancestors is None:
            return None
        return self.ancestors.flatten(0, 2).index_select(0, rows)

    @staticmethod
    def _grouped(ancestors: Tensor | None, each: int) -> Tensor | None:
        """(N', slots) -> (M', 1, K', slots)."""
        return None if ancestors is None else ancestors.view(-1, 1, each, ancestors.shape[1])
