"""A fixed random sample of a stream of dialogues, the same however the stream is read."""

import heapq
from collections.abc import Iterable, Iterator
from hashlib import blake2b

from dialogist.records import Dialogue


class FixedSample:
    """Keeps those ``size`` dialogues whose positions have the smallest hashes.

    So it needs no memory of what went before, and a smaller sample is the head of a larger one.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._position = 0
        self._kept: list[tuple[int, Dialogue]] = []  # a heap, the largest hash (negated) on top

    def offer(self, dialogue: Dialogue) -> None:
        """Take in the next dialogue of the stream."""
        hashed = blake2b(f"train sample {self._position}".encode(), digest_size=16).digest()
        entry = (-int.from_bytes(hashed, "big"), dialogue)
        self._position += 1
        if len(self._kept) < self.size:
            heapq.heappush(self._kept, entry)
        elif self._kept and entry > self._kept[0]:
            heapq.heapreplace(self._kept, entry)

    def watch(self, dialogues: Iterable[Dialogue]) -> Iterator[Dialogue]:
        """Pass a stream on, and offer all of it."""
        for dialogue in dialogues:
            self.offer(dialogue)
            yield dialogue

    def dialogues(self) -> list[Dialogue]:
        """The sample, in the order of the hashes."""
        return [dialogue for _, dialogue in sorted(self._kept, key=lambda entry: -entry[0])]
