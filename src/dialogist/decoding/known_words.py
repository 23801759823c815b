"""`KnownWords`: no word that neither the dialogue nor the training texts hold.

A model that writes in pieces can put pieces together that no word has: "bridegroomgroom". Whoever
reads one such word believes nothing else. So a word may only go on as a known one does, and only
end where one ends.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import Tensor

from dialogist.decoding.filters import NEVER

Word: TypeAlias = tuple[int, ...]
"""The pieces of a word: one that begins it, and those that go on with it."""

_LAST_RESORT = -1e4
"""Log-probability of the end within a word: for a row that can go on in no other way."""


@dataclass(frozen=True, slots=True)
class WordTable:
    """Words, by what they begin with.

    ``after``: what can follow the first pieces of one. ``whole``: the words themselves.
    """

    after: Mapping[Word, tuple[int, ...]]
    whole: frozenset[Word]

    @classmethod
    def of(cls, words: Iterable[Word]) -> "WordTable":
        """From words in pieces."""
        whole = frozenset(words)
        after: dict[Word, set[int]] = defaultdict(set)
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

    def words_in(self, ids: Iterable[int]) -> Iterator[Word]:
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

    def is_word(self, begun: Word) -> bool:
        """Whether it may end here, whatever the dialogue: nothing, and what is no word, may."""
        return (
            not begun
            or begun in self.table.whole
            or (len(begun) == 1 and begun[0] not in self.letters)
        )


class KnownWords:
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

    def of(self, dialogues: Sequence[int]) -> "KnownWords":
        """The rule for some of the dialogues, in this order."""
        return KnownWords(self.lexicon, [self.spoken[i] for i in dialogues], self.eos)

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

    def _begun(self, said: Sequence[int]) -> Word:
        """The pieces of the last word."""
        start = len(said)
        while start and said[start - 1] in self.lexicon.inside:
            start -= 1
        return tuple(said[max(0, start - 1) :])
