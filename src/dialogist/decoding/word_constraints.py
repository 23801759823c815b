"""Constraints on words and characters: only known words, only whole characters."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import torch
from torch import Tensor

from dialogist.decoding.constraints import NEVER
from dialogist.tokenizers import Characters
from dialogist.tokenizers.base import LONGEST_CHARACTER, continued, left_of
from dialogist.tokenizers.wordpiece_codec import utf8_length

# `LexiconConstraint`: no word that neither the dialogue nor the training texts hold.
#
# A model that writes in pieces can put pieces together that no word has: "bridegroomgroom". Whoever
# reads one such word believes nothing else. So a word may only go on as a known one does, and only
# end where one ends.

WordPieceIds: TypeAlias = tuple[int, ...]
"""The pieces of a word: one that begins it, and those that go on with it."""

_LAST_RESORT = -1e4
"""Log-probability of the end within a word: for a row that can go on in no other way."""


@dataclass(frozen=True, slots=True)
class WordTable:
    """Words, by what they begin with.

    ``after``: what can follow the first pieces of one. ``whole``: the words themselves.
    """

    after: Mapping[WordPieceIds, tuple[int, ...]]
    whole: frozenset[WordPieceIds]

    @classmethod
    def of(cls, words: Iterable[WordPieceIds]) -> "WordTable":
        """From words in pieces."""
        whole = frozenset(words)
        after: dict[WordPieceIds, set[int]] = defaultdict(set)
        for word in whole:
            for end in range(len(word)):
                after[word[:end]].add(word[end])
        return cls({begun: tuple(sorted(more)) for begun, more in after.items()}, whole)

    @property
    def longest(self) -> int:
        """Pieces of the longest word."""
        return max(map(len, self.whole), default=0)


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The words that a model knows from training, over a vocabulary of V entries.

    ``inside``: the entries that go on with a word. ``letters``: those that begin words and may not
    be one by themselves; all others (marks, figures, single letters, speakers) always are.
    ``spelt``: the entries of letters or figures, to which nothing is joined by ``join``, the mark
    that takes the space between two words. A character that is spelt by its bytes is a word.
    """

    table: WordTable
    inside: frozenset[int]
    letters: frozenset[int]
    spelt: frozenset[int]
    join: int
    size: int

    def words_in(self, ids: Iterable[int]) -> Iterator[WordPieceIds]:
        """The words of an encoded text, and what stands between them."""
        word: list[int] = []
        for index in ids:
            # A window can begin within a word: its speaker's token is no beginning of that.
            if word and not (index in self.inside and word[-1] in self.spelt):
                yield tuple(word)
                word = []
            word.append(index)
        if word:
            yield tuple(word)

    def is_word(self, begun: WordPieceIds) -> bool:
        """Whether it may end here, whatever the dialogue: nothing, and what is no word, may."""
        return (
            not begun
            or begun in self.table.whole
            or (len(begun) == 1 and begun[0] not in self.letters)
        )


class LexiconConstraint:
    """A filter: words of the ``lexicon``, and of each dialogue (``spoken[owner]``).

    Stands behind filters that let words be finished (`NoRepeatNgram` with `Symbols.inside`).
    """

    def __init__(self, lexicon: Lexicon, spoken: Sequence[WordTable], eos: int) -> None:
        self.lexicon = lexicon
        self.spoken = spoken
        self.eos = eos
        begins = set(lexicon.table.after.get((), ()))
        self._closed = torch.zeros(lexicon.size)
        self._closed[sorted(lexicon.inside | (lexicon.letters - begins))] = NEVER
        # What begins words of one dialogue alone.
        self._own = [
            tuple(i for i in table.after.get((), ()) if i in lexicon.letters and i not in begins)
            for table in spoken
        ]
        self._longest = max(lexicon.table.longest, *(table.longest for table in spoken), 1)

    def of(self, dialogues: Sequence[int]) -> "LexiconConstraint":
        """The rule for some of the dialogues, in this order."""
        return LexiconConstraint(self.lexicon, [self.spoken[i] for i in dialogues], self.eos)

    def __call__(self, log_probs: Tensor, prefix: Tensor, owner: Tensor) -> Tensor:
        """Rule out what begins no word, goes on with none, or follows an unfinished one."""
        rows: list[int] = []
        tokens: list[int] = []
        unfinished: list[int] = []
        spelt: list[int] = []
        said = prefix[:, -self._longest :].tolist()
        for row, dialogue in enumerate(owner.tolist()):
            begun, spoken = self._begun(said[row]), self.spoken[dialogue]
            may: list[int] = []
            if begun:
                spelt += [row] * (begun[-1] in self.lexicon.spelt)
                may += self.lexicon.table.after.get(begun, ())
                may += spoken.after.get(begun, ())
            if self.lexicon.is_word(begun) or begun in spoken.whole:
                may += self._own[dialogue]
            else:
                unfinished.append(row)
            rows += [row] * len(may)
            tokens += may
        kept = log_probs[rows, tokens]
        log_probs.narrow(1, 0, self.lexicon.size).add_(self._closed.to(log_probs))
        log_probs[spelt, self.lexicon.join] = NEVER
        log_probs[unfinished] = NEVER
        log_probs[rows, tokens] = kept
        if unfinished:
            # Never beside what goes on: where few tokens are left a beam would take both.
            stuck = log_probs[unfinished].amax(dim=1) == NEVER
            log_probs[torch.tensor(unfinished)[stuck.cpu()], self.eos] = _LAST_RESORT
        return log_probs

    def _begun(self, said: Sequence[int]) -> WordPieceIds:
        """The pieces of the last word."""
        start = len(said)
        while start and said[start - 1] in self.lexicon.inside:
            start -= 1
        return tuple(said[max(0, start - 1) :])


# `WholeCharacters`: no part of a character by itself, where a vocabulary has such parts.
#
# A model that spells what it does not know by bytes can copy half of an emoji, and people read the
# replacement character. So a character that was begun is finished, and none begins that could not
# be: what is said is UTF-8 (Unicode 15, table 3-7) at any time.

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
    return utf8_length(left[0]) - len(left)


@lru_cache(maxsize=8)
def _tables(characters: Characters, size: int, device: torch.device) -> _Tables:
    """Made once for a vocabulary: every search asks for them."""
    return _Tables(characters, size).to(device)
