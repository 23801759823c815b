"""Tests of nn.kv_cache."""

from dataclasses import replace

import torch
from torch import Tensor

from dialogist.nn.attention import KeyValue
from dialogist.nn.kv_cache import DecoderState, KVCache, LayerCache, appended
from dialogist.nn.output_layer import CopyMemory

# The past in memory with room: what is appended stays, and nobody writes over another's.


def numbered(first: int, positions: int, sequences: int = 2) -> KeyValue:
    """(sequences, 3 heads, positions, 4): different everywhere."""
    size = sequences * 3 * positions * 4
    key = torch.arange(float(size)).view(sequences, 3, positions, 4) + 1000 * first
    return KeyValue(key, -key)


def joined(parts: list[KeyValue]) -> KeyValue:
    return KeyValue(*(torch.cat(list(part), dim=2) for part in zip(*parts, strict=True)))


def same(past: KVCache, expected: KeyValue) -> bool:
    return torch.equal(past.key, expected.key) and torch.equal(past.value, expected.value)


def test_appending_is_concatenating() -> None:
    """One position, several, and so many that the room has to grow twice."""
    parts = [numbered(i, positions) for i, positions in enumerate((1, 1, 4, 70, 1, 90, 2))]
    past: KVCache | None = None
    for count, part in enumerate(parts, start=1):
        past = appended(past, part)
        assert same(past, joined(parts[:count]))
        assert past.length == joined(parts[:count]).key.shape[2]
    assert past is not None
    assert same(past, KeyValue(*past.known))


def test_a_past_can_be_continued_twice() -> None:
    start = appended(appended(None, numbered(0, 2)), numbered(1, 1))
    one = start.append(numbered(2, 1))
    other = start.append(numbered(3, 1))  # in the same place as the one
    further = one.append(numbered(4, 1))
    assert same(start, joined([numbered(0, 2), numbered(1, 1)]))
    assert same(one, joined([numbered(i, p) for i, p in ((0, 2), (1, 1), (2, 1))]))
    assert same(other, joined([numbered(i, p) for i, p in ((0, 2), (1, 1), (3, 1))]))
    assert same(further, joined([numbered(i, p) for i, p in ((0, 2), (1, 1), (2, 1), (4, 1))]))


def test_nothing_is_copied_while_there_is_room() -> None:
    past = appended(appended(None, numbered(0, 1)), numbered(1, 1))
    longer = past.append(numbered(2, 1))
    assert longer.key.data_ptr() == past.key.data_ptr()
    assert longer.append(numbered(3, 200)).key.data_ptr() != past.key.data_ptr()


def test_selected_sequences_are_their_own() -> None:
    past = appended(appended(None, numbered(0, 2)), numbered(1, 1))
    rows: Tensor = torch.tensor([1, 1, 0])
    chosen = past.select(rows)
    before = chosen.key.clone()
    past.append(numbered(5, 1))
    assert torch.equal(chosen.key, before)
    assert torch.equal(chosen.value, past.value[rows])
    grown = chosen.append(numbered(7, 1, sequences=3))
    assert torch.equal(grown.key[:, :, :3], before)
    assert torch.equal(grown.key[:, :, 3:], numbered(7, 1, sequences=3).key)


# The state of search: one memory for all beams of a dialogue, ancestors instead of copies.

State = DecoderState[CopyMemory]
SEEN, HIDDEN = 0.0, -1e9


def fresh(memories: int) -> State:
    """One layer, one head of width 2, three source positions."""
    key = torch.arange(memories * 6.0).view(memories, 1, 3, 2)
    return DecoderState((LayerCache(KeyValue(key, key + 0.5)),), torch.zeros(memories, 1, 1, 3))


def stepped(state: State) -> State:
    """As a model steps: each of N rows leaves a slot that holds its own number."""
    masks = state.masks()
    rows = torch.arange(float(state.memories * state.each))
    slot = rows.view(state.memories, 1, state.each, 1).expand(-1, -1, -1, 2)
    caches = tuple(
        LayerCache(cache.memory, appended(cache.past, KeyValue(slot, slot)))
        for cache in state.caches
    )
    return state.after(caches, masks)


def seen(state: State) -> list[list[int]]:
    """Per row the slots that it will see in the next step, itself included."""
    mask = state.masks().look_ahead
    assert mask is not None
    assert set(mask.unique().tolist()) <= {SEEN, HIDDEN}
    return [(row == SEEN).nonzero()[:, 0].tolist() for row in mask.flatten(0, 2)]


def chosen(*rows: int) -> Tensor:
    return torch.tensor(rows)


def test_beams_share_their_dialogues_memory() -> None:
    start = fresh(2)
    state = start.select(chosen(0, 0, 0, 1, 1, 1))
    assert (state.memories, state.each) == (2, 3)
    assert state.caches[0].memory is start.caches[0].memory
    packing = state.packing()
    assert (packing.shape, packing.width, packing.count) == ((2, 3), 3, 6)


def test_reordered_beams_move_a_mask_alone() -> None:
    """By hand: rows 0 1 2 of one dialogue; then 2 0 0 go on; then 1 1 2 of these."""
    state = stepped(fresh(1).select(chosen(0, 0, 0)))
    assert seen(state) == [[0, 3], [1, 4], [2, 5]]
    turned = state.select(chosen(2, 0, 0))
    assert turned.caches is state.caches
    assert seen(turned) == [[2, 3], [0, 4], [0, 5]]
    later = stepped(turned).select(chosen(1, 1, 2))
    assert seen(later) == [[0, 4, 6], [0, 4, 7], [0, 5, 8]]


def test_a_dialogue_that_leaves_takes_its_memory_along() -> None:
    state = stepped(fresh(3).select(chosen(0, 0, 1, 1, 2, 2)))
    left = state.select(chosen(1, 0, 5, 5))
    assert (left.memories, left.each) == (2, 2)
    assert torch.equal(left.caches[0].memory.key, state.caches[0].memory.key[[0, 2]])
    past = left.caches[0].past
    assert past is not None
    assert past.key[:, 0, :, 0].tolist() == [[0, 1], [4, 5]]  # whole groups: slots keep places
    assert seen(left) == [[1, 2], [0, 3], [1, 2], [1, 3]]


def test_groups_of_unlike_sizes_get_a_memory_per_row() -> None:
    state = stepped(fresh(2).select(chosen(0, 0, 1, 1)))
    rows = state.select(chosen(3, 0, 1))
    assert (rows.memories, rows.each) == (3, 1)
    assert torch.equal(rows.caches[0].memory.key, state.caches[0].memory.key[[1, 0, 0]])
    assert seen(rows) == [[1, 2], [0, 2], [1, 2]]
    assert seen(stepped(rows)) == [[1, 2, 3], [0, 2, 3], [1, 2, 3]]


def test_one_row_per_dialogue_needs_no_mask() -> None:
    state = stepped(stepped(fresh(3)))
    assert state.masks().look_ahead is None
    assert state.position == 2
    state = state.select(chosen(2, 0))
    assert state.masks().look_ahead is None
    past = state.caches[0].past
    assert past is not None
    assert past.key[:, 0, :, 0].tolist() == [[2, 2], [0, 0]]
    assert seen(state.select(chosen(0, 0, 1, 1))) == [[0, 1, 2], [0, 1, 3]] * 2
    assert state.select(torch.tensor([], dtype=torch.int64)).memories == 0


def test_whom_rows_talk_of_goes_along() -> None:
    start = replace(fresh(2), named=torch.tensor([[0, 1], [2, 3]]))
    assert named(start.expand(chosen(0, 0, 1))) == [[0, 1], [0, 1], [2, 3]]
    beams = start.select(chosen(0, 0, 1, 1))
    assert named(beams) == [[0, 1], [0, 1], [2, 3], [2, 3]]
    said = beams.after(beams.caches, beams.masks(), torch.arange(8).view(4, 2))
    assert named(said.select(chosen(1, 0, 3, 3))) == [[2, 3], [0, 1], [6, 7], [6, 7]]
    assert named(said.select(chosen(2, 3))) == [[4, 5], [6, 7]]  # a dialogue leaves
    assert named(beams.apart()) == named(beams)


def named(state: State) -> list[list[int]]:
    assert state.named is not None
    assert len(state.named) == state.memories * state.each
    found: list[list[int]] = state.named.tolist()
    return found


def test_memories_of_ones_own() -> None:
    """The Writer: several texts of one dialogue, each with something of its own."""
    start = fresh(2)
    assert start.expand(chosen(0, 1)) is start
    wide = start.expand(chosen(0, 0, 1))
    assert (wide.memories, wide.each) == (3, 1)
    assert torch.equal(wide.caches[0].memory.value, start.caches[0].memory.value[[0, 0, 1]])
