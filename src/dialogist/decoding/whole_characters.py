"""`WholeCharacters`: no part of a character by itself, where a vocabulary has such parts.

A model that spells what it does not know by bytes can copy half of an emoji, and people read the
replacement character. So a character that was begun is finished, and none begins that could not
be: what is said is UTF-8 (Unicode 15, table 3-7) at any time.
"""

from functools import lru_cache

import torch
from torch import Tensor

from dialogist.decoding.filters import NEVER
from dialogist.tokenizers import Characters
from dialogist.tokenizers.characters import LONGEST_CHARACTER, continued, left_of
from dialogist.tokenizers.pieces import length_of

_BEGUN = (b"", b"\xc2", b"\xe1", b"\xf1", b"\xe0", b"\xed", b"\xf0", b"\xf4")
"""The states of a text by its end: one example for each set of bytes that may follow.

Nothing is begun; any 1, 2, 3 bytes are missing; some, of which the first is not any."""

_MISSING = (0, 1, 2, 3, 2, 2, 3, 3)


class WholeCharacters:
    """A filter for a vocabulary of ``size`` entries, some of which are parts of ``characters``.

    No text has more than ``max_tokens``. Stands behind `NoRepeatNgram`, which lets what ends a
    character be said again. Ids from ``size`` on are words of one dialogue, and whole.
    """

    def __init__(self, characters: Characters, size: int, max_tokens: int) -> None:
        self.characters = characters
        self.size = size
        self.max_tokens = max_tokens
        self._tables: _Tables | None = None

    def __call__(self, log_probs: Tensor, prefix: Tensor, owner: Tensor) -> Tensor:
        """Rule out what ends no character, and where one was begun, what does not go on with it."""
        if self._tables is None:
            self._tables = _tables(self.characters, self.size, log_probs.device)
        tables = self._tables
        state = tables.state(prefix)
        begun = state.nonzero()[:, 0]
        room = self.max_tokens - prefix.shape[1] - 1
        if room < LONGEST_CHARACTER - 1:  # none that could not be finished
            log_probs.index_fill_(1, (tables.misses > room).nonzero()[:, 0], NEVER)
        kept = log_probs[begun]
        log_probs.index_fill_(1, tables.wrong, NEVER)
        if len(begun):
            kept[:, : self.size].masked_fill_(~tables.fits[state[begun]], NEVER)
            kept[:, self.size :] = NEVER
            log_probs[begun] = kept
        return log_probs


class _Tables:
    """`Characters` as tensors over V entries.

    ``ends``: (V + 1,) how many bytes one adds to a character begun before; ``inner``: (V + 1,)
    whether it is nothing else; ``after``: (V + 1,) the state behind it, if it is not; ``open``:
    (V + 1,) whether a character may be begun behind it. The last are those of all ids beyond.
    ``misses``: (V,) bytes missing behind it. ``fits``: (8, V) what may follow on a state;
    ``wrong``: what may not where nothing is begun.
    """

    def __init__(self, characters: Characters, size: int) -> None:
        ids, parts = [list(one) for one in zip(*characters.parts, strict=True)]
        counts = [continued(part) for part in parts]
        lefts = [left_of(part[count:]) for part, count in zip(parts, counts, strict=True)]
        within = [count == len(part) for part, count in zip(parts, counts, strict=True)]
        able = [[left_of(begun + part) is not None for part in parts] for begun in _BEGUN]
        self.ends, self.after = (torch.zeros(size + 1, dtype=torch.long) for _ in range(2))
        self.inner = torch.zeros(size + 1, dtype=torch.bool)
        self.fits = torch.zeros(len(_BEGUN), size, dtype=torch.bool)
        self.fits[0] = True
        self.ends[ids] = torch.tensor(counts)
        self.after[ids] = torch.tensor([_state_of(left or b"") for left in lefts])
        self.inner[ids] = torch.tensor(within)
        self.open = self.inner | (self.after > 0)
        self.fits[:, ids] = torch.tensor(able)
        self.missing = torch.tensor(_MISSING)
        self.misses = self.missing[self.after[:size]]
        self.wrong = (~self.fits[0]).nonzero()[:, 0]

    def to(self, device: torch.device) -> "_Tables":
        """Moved."""
        for name, table in vars(self).items():
            setattr(self, name, table.to(device))
        return self

    def state(self, prefix: Tensor) -> Tensor:
        """(N, t) -> (N,): the state at the end of each row."""
        state = prefix.new_zeros(len(prefix))
        recent = prefix[:, -LONGEST_CHARACTER:].clamp(max=len(self.ends) - 1)
        if not self.open[recent[:, -1:]].any():  # as nearly always
            return state
        for said in recent.unbind(1):
            rest = (self.missing[state] - self.ends[said]).clamp_(min=0)  # any bytes: a state, too
            state = torch.where(self.inner[said], rest, self.after[said])
        return state


def _state_of(left: bytes) -> int:
    """The state of a text that ends with so much of a character."""
    if left in _BEGUN:
        return _BEGUN.index(left)
    return length_of(left[0]) - len(left)


@lru_cache(maxsize=8)
def _tables(characters: Characters, size: int, device: torch.device) -> _Tables:
    """Made once for a vocabulary: every search asks for them."""
    return _Tables(characters, size).to(device)
