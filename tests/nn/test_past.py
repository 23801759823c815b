"""The past in memory with room: what is appended stays, and nobody writes over another's."""

import torch
from torch import Tensor

from dialogist.nn.attention import KeyValue
from dialogist.nn.kv_cache import KVCache, appended


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
